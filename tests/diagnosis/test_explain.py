"""Explain: losses by hand, places in every stage, moves between runs, and what is said without the system."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from evaluations import make_evaluation
from karat.causes._case import make_cases
from karat.causes._diagnosis import ORDER
from karat.causes._reference import reference
from karat.cli._explain_text import explain_text
from karat.cli._main import cli
from karat.config import Settings
from karat.core import (
    Answer,
    Context,
    Document,
    GoldenSet,
    Hit,
    InputError,
    Judgment,
    Origin,
    Place,
    Provenance,
    Query,
    Run,
    Session,
    Span,
    Stage,
    Target,
    Trace,
)
from karat.diagnosis import CAUSES, diagnose, explain, make_document
from karat.diagnosis._worse import find_falls
from karat.evaluation import list_changes, score_run
from karat.runs import make_run, prepare_system
from karat.schema import from_plain, to_plain
from karat.systems import Pipeline, Stages, adapt

ROOT = Path(__file__).parents[2]
TEXTS = {
    "pool": "The pool opens at six, and the pool closes at ten.",
    "sauna": "The sauna beside the pool is for adults, from noon until late in the evening.",
    "wifi": "The network is free for guests in every room.",
    "dogs": "Dogs are welcome in rooms on the ground floor.",
    "bar": "The bar by the pool is open until midnight.",
}


def judge(query: str, **grades: int) -> list[Judgment]:
    return [Judgment(query=query, target=Target(document=id_), grade=grade) for id_, grade in grades.items()]


GOLDEN = GoldenSet(
    documents=tuple(Document(id=id_, title=id_.title(), text=text) for id_, text in TEXTS.items()),
    queries=(
        Query(
            id="q1", text="When does the pool open?", paraphrases=("pool hours",), negatives=(Target(document="bar"),)
        ),
        Query(id="q2", text="internet", paraphrases=("Is the network free for guests?",)),
    ),
    judgments=tuple(judge("q1", pool=3, dogs=1, sauna=2) + judge("q2", wifi=3)),
)


def run_of(lists: dict[str, Sequence[str | Hit]], k: int = 2, **provenance: object) -> Run:
    texts = {query.id: query.text for query in GOLDEN.queries}
    traces = [
        Trace(
            query=id_,
            text=texts[id_],
            hits=tuple(hit if isinstance(hit, Hit) else Hit(hit, float(-rank)) for rank, hit in enumerate(hits)),
        )
        for id_, hits in lists.items()
    ]
    return Run(provenance=Provenance(name="test", settings={"k": k}), traces=tuple(traces))


def test_the_loss_is_the_share_of_the_relevant_grades_below_the_cut() -> None:
    """Of grades 3 and 2 the second is lost: 2/5. A document below the cut is lost, too."""
    first, second = make_cases(GOLDEN, run_of({"q1": ["bar", "pool", "sauna"], "q2": []}, k=3), cut=2)
    assert (first.lost, first.loss) == ({"sauna": 2}, 0.4)
    assert (second.lost, second.loss) == ({"wifi": 3}, 1.0)


def test_every_cause_is_on_the_page_and_in_the_order() -> None:
    """The page is what the table gives; a cause says why, by what evidence, with an example, and how to fix it."""
    assert (ROOT / "docs" / "causes.md").read_text(encoding="utf-8") == reference()
    assert sorted(ORDER) == sorted(CAUSES)
    assert all(set(cause.sections) == {"Summary", "Why", "Evidence", "Example", "Fix"} for cause in CAUSES.values())


def lexical() -> Pipeline:
    return Pipeline(Stages(chunk="whole", dense=False, depth=3))


def test_one_query_shows_where_its_documents_stand() -> None:
    """The sauna is third in the lexical channel, beaten by the bar, which is a hard negative; its words are shown."""
    system = adapt(lexical())
    run = make_run(GOLDEN, system, Settings(k=2, warm_up=0))
    document = make_document(diagnose(GOLDEN, run, system=system), run, query="q1")
    (query,) = document.explained
    pool, sauna = query.expected
    assert (pool.document, pool.state, pool.rank) == ("pool", "found", 1)
    assert (sauna.document, sauna.state, sauna.rank, sauna.beaten_by) == ("sauna", "cut by k", None, ("bar",))
    assert sauna.hard_negatives == ("bar",)
    shown = explain_text(document, single=True)
    assert "beaten by bar (a hard negative)" in shown
    assert f"stands at lexical 3 of 3 (score {sauna.places[0].score:.4g})" in shown
    assert [(place.stage, place.rank) for place in sauna.places] == [("lexical", 3), ("result", None)]
    assert (sauna.matched, sauna.passage is not None and sauna.passage.text) == (("pool",), TEXTS["sauna"])
    assert document.method == "counterfactual"


def test_the_right_document_in_another_section_is_told() -> None:
    """Where documents count it is found; the hit holds the first words, and the last ones were judged."""
    size = len(TEXTS["pool"])
    target = Target(document="pool", span=Span(size - 10, size))
    golden = replace(GOLDEN, judgments=(Judgment(query="q1", target=target, grade=3),))
    states = []
    for span in (Span(0, 10), Span(size - 20, size)):
        run = run_of({"q1": [Hit("pool:chunk:0", 1.0, span=span)]})
        (query,) = make_document(diagnose(golden, run), run, query="q1").explained
        states.append(query.expected[0].state)
    assert states == ["in another section", "found"]


def test_a_channel_that_the_run_recorded_is_tried_without_asking() -> None:
    """Words alone have the pool, which the vectors do not: the run itself shows that the embedding confuses."""
    stages = tuple(
        Stage(name="candidate", channel=channel, hits=(Hit(id_, 1.0),))
        for channel, id_ in (("bm25", "pool"), ("dense", "dogs"))
    )
    trace = Trace(query="q1", text="?", hits=(Hit("dogs", 1.0),), stages=stages)
    diagnosis = diagnose(GOLDEN, Run(provenance=Provenance(name="test", settings={"k": 1}), traces=(trace,)))
    (first, *_) = diagnosis.causes["q1"]
    assert (first.cause, first.evidence) == ("embedding", "words alone find 'pool', which the vectors have nowhere")
    assert {row.change: row.found for row in diagnosis.what_if}["lexical alone"] == 1


def test_a_paraphrase_that_finds_it_is_a_gap_in_wording() -> None:
    """No document has the word, so the list is empty; the paraphrase finds all of it."""
    system = adapt(lexical())
    run = make_run(GOLDEN, system, Settings(k=2, warm_up=0))
    diagnosis = diagnose(GOLDEN, run, system=system)
    (first, *_) = diagnosis.causes["q2"]
    assert (first.cause, "100%" in first.evidence) == ("wording", False)
    changes = {row.change: (row.found, row.lost) for row in diagnosis.what_if}
    assert changes["paraphrases"] == (1, 0)
    assert changes["k x 10"] == (1, 0)  # the sauna; nothing finds the network by "internet"


def test_without_the_system_the_run_alone_is_read() -> None:
    """Ids in another spelling are found in the trace; the document says that nothing was asked."""
    run = run_of({"q1": ["docs/pool.md", "docs/sauna.md"], "q2": ["docs/wifi.md"]})
    document = make_document(diagnose(GOLDEN, run), run)
    assert (document.method, [group.cause for group in document.groups]) == ("trace", ["ids"])
    assert document.summary.startswith("the ids do not match: 2 of the 2 queries")
    assert any("no query found anything relevant" in hint for hint in document.hints)
    assert from_plain(to_plain(document), type(document)) == document


def test_the_stage_that_moved_a_document_is_named() -> None:
    """The dense channel has it second instead of first, the lexical one as before: dense moved it."""

    def hit(id_: str, rank: int, dense: int) -> Hit:
        return Hit(
            id_, float(-rank), channels={"lexical": Place(1 if id_ == "pool" else 2, 1.0), "dense": Place(dense, 1.0)}
        )

    now = run_of({"q1": [hit("bar", 1, 1), hit("pool", 2, 2)], "q2": ["wifi"]}, k=1)
    before = run_of({"q1": [hit("pool", 1, 1), hit("bar", 2, 2)], "q2": ["wifi"]}, k=1)
    document = make_document(diagnose(GOLDEN, now), now, against=before)
    (query,) = document.explained  # q2 did not become worse
    move = query.moved[0]
    assert (move.document, move.was, move.rank) == ("pool", 1, 2)
    assert (move.stage, move.stage_was, move.stage_rank) == ("dense", 1, 2)
    head = explain_text(document, single=False).split("q1: moved")[1].splitlines()[0]
    assert head.split("  ")[1:] == ["grade", "rank before", "rank now", "by stage", "in that stage before", "now"]


def test_a_failed_query_is_a_group_of_its_own() -> None:
    """An error is named as such, before any other cause."""
    run = run_of({"q1": ["pool", "sauna"], "q2": []})
    failed = replace(run.traces[1], error="timed out")
    run = replace(run, traces=(run.traces[0], failed))
    assert [(group.cause, group.queries) for group in diagnose(GOLDEN, run).groups] == [("error", ("q2",))]
    missing = replace(run, traces=(run.traces[0], replace(failed, error="not in the run")))
    assert [group.title for group in diagnose(GOLDEN, missing).groups] == ["not in the run"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    from karat.golden import write

    write(GOLDEN, tmp_path / "golden")
    config = (
        '[golden]\npath = "golden"\n[pipeline]\nchunk = "whole"\ndense = false\n[eval]\nk = 2\nmeasures = ["R@2"]\n'
    )
    (tmp_path / "karat.toml").write_text(config, encoding="utf-8")
    assert CliRunner().invoke(cli, ["eval", str(tmp_path)]).exit_code == 0
    return tmp_path


def test_the_verb_explains_the_newest_run(project: Path) -> None:
    """The first line says what to fix; one query has its places; an unknown one is refused with near misses."""
    result = CliRunner().invoke(cli, ["explain", str(project)])
    assert result.exit_code == 0, result.output
    assert "a gap in wording: 1 of the 2 queries" in result.output
    result = CliRunner().invoke(cli, ["explain", str(project), "--query", "q1"])
    assert "should have matched: sauna:chunk:0" in result.output
    assert CliRunner().invoke(cli, ["explain", str(project), "q1"]).output == result.output
    (run,) = (project / "runs").glob("*.jsonl")
    result = CliRunner().invoke(cli, ["explain", str(run), "--against", str(run), "--json"])
    assert json.loads(result.stdout)["groups"] == [], "nothing is worse than in the same run"
    with pytest.raises(InputError, match="no query 'q11', did you mean 'q1'"):
        explain(project, query="q11")
    assert explain(project, ask=False).method == "trace"
    config = project / "karat.toml"
    config.write_text(config.read_text(encoding="utf-8").replace("whole", "sentence"), encoding="utf-8")
    assert "another system than the one that is configured (chunk.chunker" in explain(project).note


def test_what_the_baseline_had_found_is_not_blamed_on_the_words(project: Path) -> None:
    """The baseline found the network for "internet"; now it is lost, and a paraphrase that finds it is no cause."""
    good = project / "good.trec"
    good.write_text("q1 Q0 pool 1 9 x\nq1 Q0 sauna 2 8 x\nq2 Q0 bar 1 9 x\nq2 Q0 wifi 2 8 x\n", encoding="utf-8")
    update = ["baseline", "update", str(good), "--golden", str(project), "--force", "a test"]
    assert CliRunner().invoke(cli, update).exit_code == 0
    document = explain(project)
    assert document.baseline == "good.trec"
    assert [(group.cause, group.queries) for group in document.groups] == [("unknown", ("q2",)), ("cut", ("q1",))]
    assert "the baseline had found what is lost: look at what changed since, the system" in document.summary
    (standing,) = explain(project, query="q2").explained[0].expected
    assert (standing.document, standing.rank, standing.was) == ("wifi", None, 2)
    (project / "baseline.json").write_text("{", encoding="utf-8")
    assert "the baseline was not used: " in explain(project).note


@pytest.fixture
def fallen(project: Path) -> Path:
    """A project of five documents, of which five are returned; of the newest run, the bar and the wifi changed."""
    config = project / "karat.toml"
    text = config.read_text(encoding="utf-8").replace("k = 2", "k = 5").replace('["R@2"]', '["R@2", "RR@5", "R@5"]')
    config.write_text(text, encoding="utf-8")
    for name, lists in {
        "good": ("pool sauna bar dogs wifi", "wifi bar pool dogs sauna"),
        "bad": ("pool sauna bar wifi dogs", "bar pool dogs wifi sauna"),
    }.items():
        lines = [
            f"q{place} Q0 {document} 0 {9 - rank} x"
            for place, documents in enumerate(lists, 1)
            for rank, document in enumerate(documents.split())
        ]
        (project / f"{name}.trec").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return project


def test_a_query_is_worse_if_a_measure_fell_although_nothing_can_fall_out(fallen: Path) -> None:
    """The wifi falls from rank 1 to 4: R@2 1 to 0, RR@5 1 to 1/4. With five documents, all are among the first five."""
    document = explain(fallen / "bad.trec", golden=fallen, against=fallen / "good.trec")
    assert (document.worse, [query.query for query in document.explained]) == (1, ["q2"])
    (query,) = document.explained
    assert list(query.falls.items()) == [("R@2", (1.0, 0.0)), ("RR@5", (1.0, 0.25))]
    assert [(standing.document, standing.was, standing.rank) for standing in query.expected] == [("wifi", 1, 4)]
    assert document.summary.startswith("found, but lower than before: 1 of the 1 queries that became worse; look at")
    shown = explain_text(document, single=False)
    assert "q2            R@2 1.000 to 0.000; RR@5 1.000 to 0.250  wifi 1 to 4" in shown
    same = explain(fallen / "good.trec", golden=fallen, against=fallen / "good.trec")
    assert (same.worse, same.explained) == (0, ())
    assert same.summary.startswith("no query became worse by a measure of the project")


def test_what_is_worse_than_the_baseline_comes_first_and_what_failed_before_is_old(fallen: Path) -> None:
    """Of q1 the sauna had not been found, and is not now; q2 fell, and is named first, also if asked for alone."""
    good, bad = (fallen / f"{name}.trec" for name in ("good", "bad"))
    for path in (good, bad):
        text = path.read_text(encoding="utf-8")
        path.write_text(
            "".join(line for line in text.splitlines(keepends=True) if "q1 Q0 sauna" not in line), encoding="utf-8"
        )
    update = ["baseline", "update", str(good), "--golden", str(fallen), "--force", "a test"]
    assert CliRunner().invoke(cli, update).exit_code == 0
    document = explain(bad, golden=fallen, ask=False)
    assert [(query.query, query.change) for query in document.explained] == [("q2", "worse"), ("q1", "old")]
    assert [(group.change, group.queries) for group in document.groups] == [("worse", ("q2",)), ("old", ("q1",))]
    assert "1 of the 1 queries that became worse than the baseline" in document.summary
    assert "no query is worse than in the baseline; these failed before, too" in explain_text(
        explain(good, golden=fallen, ask=False), single=False
    )
    one = explain(bad, golden=fallen, ask=False, query="q2")
    assert one.summary.startswith("found, but lower than before: 'wifi' fell from rank 1 to 4; look at what changed")
    assert "became worse: R@2 1.000 to 0.000; RR@5 1.000 to 0.250" in explain_text(one, single=True)


def test_what_was_lost_before_does_not_explain_a_fall() -> None:
    """The sauna is lost in both runs; the query is worse since the pool fell, and failing as before is not worse."""
    before = run_of({"q1": ["pool", "bar", "dogs"], "q2": []}, k=3)
    now = run_of({"q1": ["bar", "dogs", "pool"], "q2": []}, k=3)
    before, now = (replace(run, traces=(run.traces[0], replace(run.traces[1], error="down"))) for run in (before, now))
    scored = [score_run(GOLDEN, run, ["RR@3", "DupRate@3"]) for run in (now, before)]
    falls = find_falls(*scored, ["RR@3", "DupRate@3"])
    assert falls == {"q1": {"RR@3": (1.0, pytest.approx(1 / 3))}}
    document = make_document(diagnose(GOLDEN, now, against=before), now, baseline=before, falls=falls)
    assert [(group.cause, group.change) for group in document.groups] == [("lower", "worse"), ("error", "old")]
    assert document.explained[0].causes[0].evidence == "'pool' fell from rank 1 to 3"


@pytest.mark.parametrize(("then", "now", "falls"), [(0.2, 0.5, ["q"]), (0.5, 0.2, []), (0.2, 0.2, [])])
def test_more_of_what_should_be_low_is_a_fall(then: float, now: float, falls: list[str]) -> None:
    """DupRate is better when it is lower."""
    runs = [make_evaluation(values={"DupRate@10": {"q": value}}) for value in (now, then)]
    assert list(find_falls(*runs, ["DupRate@10"])) == falls


def test_the_largest_group_is_named_first_also_if_its_cause_is_not_known() -> None:
    """The network is lost in other words (loss 1); two queries of which nothing is known lose 1 each."""
    extra = tuple(Query(id=id_, text="When does the pool open?") for id_ in ("q3", "q4"))
    golden = replace(
        GOLDEN,
        queries=(*GOLDEN.queries[1:], *extra),
        judgments=tuple(judge("q2", wifi=3) + judge("q3", pool=3, bar=0) + judge("q4", pool=3, bar=0)),
    )
    traces = [Trace(query=query.id, text=query.text, hits=(Hit("bar", 1.0),)) for query in golden.queries]
    run = Run(provenance=Provenance(name="test", settings={"k": 1}), traces=tuple(traces))
    document = make_document(diagnose(golden, run), run)
    assert [(group.cause, len(group.queries)) for group in document.groups] == [("unknown", 2), ("wording", 1)]
    assert document.summary.startswith(
        "no known cause: 2 of the 3 queries that lost something relevant; next is a gap in wording: 1; "
    )


def test_changed_code_is_named_by_its_commit() -> None:
    """A clean commit can be checked out; of code with changes, only a new run helps."""
    from karat.diagnosis._project import _describe_other_system

    old = Provenance(name="find", system={"source": f"sha256:{'a' * 64}"}, origin=Origin(commit="0a1b2c3d4e"))
    new = replace(old, system={"source": f"sha256:{'b' * 64}"}, origin=Origin(commit="1111111111", dirty=True))
    assert _describe_other_system(new, old) == (
        "the code of the system has changed since; check out 0a1b2c3, or evaluate again"
    )
    assert _describe_other_system(old, new) == "the code of the system has changed since; evaluate again"
    (change,) = list_changes(new, old)
    assert (change.part, change.now, change.was) == ("the code of the system", "1111111-dirty", "0a1b2c3")


def test_parameters_of_the_command_line_are_those_of_the_run(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that was made with --parameter is asked again with the same; with another one, only the run is read."""
    config = '[golden]\npath = "golden"\n[eval]\nsystem = "explained_system:find"\nk = 2\nmeasures = ["R@2"]\n'
    (project / "karat.toml").write_text(config, encoding="utf-8")
    (tmp_path / "explained_system.py").write_text("def find(query, k, *, best='pool'):\n    return [best]\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "path", [*sys.path])
    run = CliRunner().invoke
    assert run(cli, ["eval", str(project), "--parameter", "best=sauna"]).exit_code == 0
    outcome = run(cli, ["explain", str(project), "--parameter", "best=sauna", "--json"])
    assert json.loads(outcome.stdout)["method"] == "counterfactual", outcome.output
    other = json.loads(run(cli, ["explain", str(project), "--json"]).stdout)
    assert other["method"] == "trace"
    assert "--parameter" in other["note"]
    assert explain(project, parameters={"best": "sauna"}).method == "counterfactual"


class Memory:
    """A retriever that needs the context, and finds a memory only after it was stored."""

    def __init__(self, broken: bool = False) -> None:
        self.broken, self.names, self.sessions = broken, [], []

    def ingest(self, documents: Sequence[Document]) -> None:
        self.names = [document.id for document in documents]

    def start_session(self, context: Context) -> None:
        """Nothing is kept between sessions."""

    def remember(self, documents: Sequence[Document], context: Context) -> None:
        self.names += [document.id for document in documents]

    def retrieve(self, query: str, k: int, context: Context) -> list[str]:
        self.sessions.append(context.session)
        if self.broken:
            raise RuntimeError("no room left")
        return self.names[:k]


@pytest.mark.parametrize("broken", [False, True])
def test_turns_of_a_session_are_not_asked_again_and_a_failure_is_no_cause(broken: bool) -> None:
    """Asked alone, a turn lacks what was stored before it; an answer that failed is not one that flipped."""
    session = Session(id="ana", turn=1, remember=("wifi",))
    golden = replace(GOLDEN, queries=(GOLDEN.queries[0], replace(GOLDEN.queries[1], session=session)))
    run = make_run(golden, Memory(), Settings(k=1, warm_up=0))
    memory = Memory(broken)
    system = adapt(memory)
    prepare_system(system, golden, Settings())
    diagnosis = diagnose(golden, run, system=system)
    assert "wifi" not in memory.names
    assert set(memory.sessions) == {""}
    assert "flips" not in {finding.cause for findings in diagnosis.causes.values() for finding in findings}
    assert {row.change: row.queries for row in diagnosis.what_if}.get("k x 10", 0) == (0 if broken else 1)
    assert bool(diagnosis.lab.failed) == broken


def test_a_relevant_document_of_the_corpus_is_not_outside_of_it_but_worded_otherwise() -> None:
    """Words are named as they are written, and "handled" is a form of "handling"; a baseline that has it decides."""
    query = Query(id="q2", text="nodejs handling")
    texts = {"wifi": "Requests are handled by a runtime.", "bar": "Drinks until midnight."}
    golden = GoldenSet(
        documents=tuple(Document(id=id_, text=text) for id_, text in texts.items()),
        queries=(query,),
        judgments=tuple(judge("q2", wifi=3)),
    )
    run, before = run_of({"q2": ["bar"]}), run_of({"q2": ["wifi"]})
    (finding,) = diagnose(golden, run).causes["q2"]
    assert (finding.cause, finding.evidence) == ("wording", "of the question's words 'wifi' lacks 'nodejs'")
    assert diagnose(golden, run, against=before).causes["q2"] == ()


def test_a_weak_cause_is_a_hint_and_nothing_is_lost_where_nothing_is_relevant() -> None:
    """An unjudged hit with the words of the question says little where only relevant documents are listed."""
    golden = replace(GOLDEN, judgments=tuple(judge("q1", pool=3)))
    run = run_of({"q1": ["sauna"], "q2": ["wifi"]}, k=1)
    golden = replace(golden, queries=(replace(golden.queries[0], text="the pool"), golden.queries[1]))
    diagnosis = diagnose(golden, run)
    assert [(f.cause, f.strength) for f in diagnosis.causes["q1"]] == [("gold", 0.2)]
    document = make_document(diagnosis, run)
    assert [(group.cause, group.queries, group.lost) for group in document.groups] == [
        ("unknown", ("q1",), 1.0),
        ("gold", ("q2",), 0.0),
    ]
    assert "1 of 2 queries lost something" in explain_text(document, single=False)
    assert any("1 of 2 queries, such as 'q2', have no document of grade" in hint for hint in document.hints)


def test_a_query_without_an_answer_loses_nothing_and_comes_last() -> None:
    """It is marked already, so that it is not told to be; its hits are a failure that is not a loss."""
    none = Query(id="q3", text="Where is the helipad?", answerable=False)
    golden = replace(GOLDEN, queries=(*GOLDEN.queries, none))
    run = run_of({"q1": ["pool", "sauna"], "q2": ["dogs"]})
    run = replace(run, traces=(*run.traces, Trace(query="q3", text=none.text, hits=(Hit("pool", 1.0),))))
    document = make_document(diagnose(golden, run), run)
    assert [group.cause for group in document.groups][-1] == "unanswerable"
    assert "1 of the 1 queries that lost something relevant" in document.summary
    assert "1 of 3 queries lost something; 1 without an answer got hits" in explain_text(document, single=False)
    (query,) = make_document(diagnose(golden, run), run, query="q3").explained
    assert [finding.evidence for finding in query.causes] == ["the question has no answer, and 1 hit was returned"]


def test_a_system_that_answers_is_asked_again() -> None:
    """Its hits are in its answer; a paraphrase finds the network."""

    class Desk:
        def answer(self, query: str, k: int) -> Answer:
            return Answer("See the page.", hits=["wifi" if "network" in query else "bar"][:k])

    system = adapt(Desk())
    diagnosis = diagnose(GOLDEN, make_run(GOLDEN, system, Settings(k=2, warm_up=0)), system=system)
    assert diagnosis.lab.failed == ""
    assert {row.change: row.found for row in diagnosis.what_if}["paraphrases"] == 1


@pytest.mark.parametrize("size", [1, 8])
def test_small_chunks_can_be_made_larger(size: int) -> None:
    """The overlap of larger chunks is not more than half of them, which a chunker refuses."""
    system = adapt(Pipeline(Stages(chunk={"name": "fixed", "size": size, "overlap": 0}, dense=False)))
    run = make_run(GOLDEN, system, Settings(k=2, warm_up=0))
    assert "larger chunks" in {row.change for row in diagnose(GOLDEN, run, system=system).what_if}


def test_a_run_with_a_smaller_k_and_without_a_channel_is_worse_for_these_reasons() -> None:
    """The sauna was second, by the dense channel alone; now k is 1, and there is no dense channel."""
    hits = [Hit("pool", 2.0, channels={"lexical": Place(1, 1.0)}), Hit("sauna", 1.0, channels={"dense": Place(1, 1.0)})]
    before = run_of({"q1": hits, "q2": ["wifi"]})
    now = run_of({"q1": hits[:1], "q2": ["wifi"]}, k=1)
    parts = {"kind": "pipeline", "dense": {"method": "auto", "links": 16}}
    before = replace(before, provenance=replace(before.provenance, system=parts))
    now = replace(now, provenance=replace(now.provenance, system={**parts, "dense": None}))
    document = make_document(diagnose(GOLDEN, now), now, against=before)
    assert [query.query for query in document.explained] == ["q1"]
    (move,) = document.explained[0].moved
    assert (move.document, move.stage, move.stage_was, move.stage_rank) == ("sauna", "dense", 1, None)
    assert [(change.key, change.now, change.was) for change in document.changes] == [("k", 1, 2), ("dense", None, "on")]
    assert "they differ in  k 1, was 2; dense off, was on" in explain_text(document, single=False)


def test_a_channel_that_is_as_before_moved_nothing() -> None:
    """The other run recorded its lexical channel as a stage, three deep; now k is 1, and the channel is the same."""
    system = adapt(lexical())
    before, now = (make_run(GOLDEN, system, Settings(k=k, warm_up=0)) for k in (3, 1))
    traces = (
        replace(trace, stages=(Stage(name="candidate", channel="lexical", hits=trace.hits),)) for trace in before.traces
    )
    document = make_document(diagnose(GOLDEN, now, system=system), now, against=replace(before, traces=tuple(traces)))
    (query,) = document.explained
    assert [(move.document, move.was, move.rank, move.stage) for move in query.moved] == [
        ("sauna", 3, None, "result"),
        ("bar", 2, None, "result"),
    ]
