"""The gate on mirrored questions: the live system is the baseline, and what is not answered does not pass."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from in_process import run_karat
from karat import online
from karat.core import Answer, Citation, GoldenSet, Hit, InputError, Judgment, Query, Span, Target
from karat.golden import write
from karat.online import Log, ingest
from karat.online._shadow_records import ShadowDraft
from karat.online.answers import MOST_REPEATS, GivenAnswer, make_live_run
from karat.online.shadow import Replayed, gate_shadow, list_golden, replay, report_shadow
from karat.projects import gate_run, open_project
from karat.runs import Settings, make_run
from karat.systems import adapt

PAGES = {
    "router": "Hold the small button for ten seconds to reset the router.",
    "printer": "The lower tray of the printer holds 250 sheets of paper.",
}
QUESTIONS = {
    "router": ("How do I reset the router?", "Which button resets the router?", "reset router button"),
    "printer": ("How much paper does the printer hold?", "Sheets of paper in the tray?", "paper tray of the printer"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with two questions in three wordings each."""
    folder = tmp_path_factory.mktemp("manual")
    (folder / "pages").mkdir()
    for name, text in PAGES.items():
        (folder / "pages" / f"{name}.md").write_text(text)
    golden = GoldenSet(
        name="manual",
        queries=tuple(
            Query(id=name, text=first, paraphrases=tuple(others)) for name, (first, *others) in QUESTIONS.items()
        ),
        judgments=tuple(Judgment(query=name, target=Target(document=name), grade=3) for name in PAGES),
    )
    write(golden, folder / "gold", "karat")
    (folder / "karat.toml").write_text('[golden]\npath = "gold"\ndocuments = "pages"\n[eval]\nparaphrases = true\n')
    return folder


class Good:
    """Answers by the right page."""

    name = "good"

    def choose(self, query: str) -> str:
        return "router" if "router" in query else "printer"

    def answer(self, query: str, k: int) -> Answer:
        page = self.choose(query)
        other = next(name for name in PAGES if name != page)
        hits = [Hit(page, 0.9, content=PAGES[page]), Hit(other, 0.1, content=PAGES[other])]
        return Answer(PAGES[page], [Citation(page, span=Span(0, len(PAGES[page])))], hits[:k])


class Wrong(Good):
    """Answers two wordings of a question by the other page."""

    name = "wrong"

    def choose(self, query: str) -> str:
        right = super().choose(query)
        return "printer" if query in QUESTIONS["router"][1:] else right


def replay_into(store: Path, folder: Path, treatment: object, *, paraphrases: bool = True) -> None:
    golden = open_project(folder).golden
    queries = list_golden(golden, paraphrases=paraphrases)
    replay(queries, Good(), treatment, feature="f", store=store, golden=golden)


@pytest.mark.slow
def test_the_gate_says_what_it_says_of_a_run(folder: Path, path: Path) -> None:
    """On the same questions, checks have the values of a run that asks the system itself."""
    project = open_project(folder)
    replay_into(path, folder, Wrong())
    result = gate_shadow(path, project)
    settings = Settings(paraphrases=True)
    runs = [make_run(project.golden, adapt(system), settings) for system in (Good(), Wrong())]
    before, after = (gate_run(project, run, policy="blocks", alone=True) for run in runs)
    mirrored, direct = (
        {check.metric: check.current for check in gated.decision.checks if check.kind in ("min", "max")}
        for gated in (result, after)
    )
    assert {"CiteCoverage", "CiteAccuracy", "Lambda(repeats=1)", "delta_s.p90"} <= set(mirrored)
    assert mirrored == pytest.approx(direct)
    assert result.baseline is not None
    assert result.baseline.evaluation.means["R@5"] == before.evaluation.means["R@5"]
    assert result.decision.outcome == "fail"
    assert result.evaluation.means["CiteCoverage"] == pytest.approx((1 / 3 + 1) / 2)  # two of three wordings are wrong
    assert result.evaluation.means["Lambda(repeats=1)"] == 0.5


@pytest.mark.slow
def test_a_system_that_equals_the_live_one_passes(folder: Path, path: Path) -> None:
    """By the command line, as text, JSON and a page."""
    replay_into(path, folder, Good())
    page = path.with_suffix(".html")
    done = run_karat("shadow", "gate", path, folder, "--feature", "f", "--html", page)
    assert (done.returncode, done.stdout.decode().splitlines()[-1]) == (0, "PASS by policy blocks: it may ship")
    assert "baseline update" not in done.stdout.decode()
    assert page.read_text().startswith("<!doctype html>")
    report = json.loads(run_karat("shadow", "gate", path, folder, "--json").stdout)
    assert (report["verdict"]["outcome"], report["run"]["name"]) == ("pass", "f")


@pytest.mark.slow
def test_what_was_asked_in_one_wording_does_not_converge(folder: Path, path: Path) -> None:
    """Lambda needs three wordings: without them it has no number, and does not pass."""
    replay_into(path, folder, Good(), paraphrases=False)
    done = run_karat("shadow", "gate", path, folder)
    assert done.returncode == 1
    assert b"Lambda(repeats=1): the run has no number for it" in done.stdout


@pytest.mark.slow
def test_a_treatment_that_fails_or_only_searches_does_not_pass(folder: Path, path: Path) -> None:
    """A question that it failed is one that it failed; calls that it was not asked are left out."""
    project = open_project(folder)
    replay_into(path, folder, lambda query, k: list(PAGES)[:k])
    searched = {check.name: check.outcome for check in gate_shadow(path, project).decision.checks}
    assert searched["CiteCoverage"] == "fail"

    def fail(query: str, k: int) -> Answer:
        raise RuntimeError("no index")

    other = path.with_name("failed.db")
    queries = [*list_golden(project.golden), Replayed(id="x", text="something else")]
    replay(queries, Good(), lambda query, k: Good().answer(query, k) if "else" in query else fail(query, k),
           feature="f", store=other)  # fmt: skip
    assert len(gate_shadow(other, project).evaluation.failures) == 2
    assert run_karat("shadow", "gate", other, folder).returncode == 3


def test_questions_without_an_answer_count(tmp_path: Path, path: Path) -> None:
    """What the set says nobody can answer is mirrored and gated, as in a run; nobody judged it, and nobody has to."""
    golden = GoldenSet(
        name="manual",
        queries=(
            Query(id="reset", text="How do I reset the router?"),
            Query(id="bike", text="Where can I rent a bike?", answerable=False),
            Query(id="new", text="Is there a scanner?"),
        ),
        judgments=(Judgment(query="reset", target=Target(document="router"), grade=3),),
    )
    write(golden, tmp_path / "gold", "karat")
    (tmp_path / "karat.toml").write_text('[golden]\npath = "gold"\n')
    project = open_project(tmp_path)

    def find(query: str, k: int) -> list[str]:
        return ["router"] if "router" in query else []

    queries = list(list_golden(project.golden))
    replay(queries, find, lambda query, k: ["router"], feature="f", store=path)
    result = gate_shadow(path, project, policy="default")
    assert result.evaluation.means["TrueEmpty"] == 0
    assert result.baseline is not None
    assert result.baseline.evaluation.means["TrueEmpty"] == 1
    (check,) = (check for check in result.decision.checks if check.metric == "TrueEmpty")
    assert (check.current, check.baseline, check.outcome) == (0, 1, "inconclusive"), "of one question"
    assert result.caveats[0] == "2 of 3 questions of manual were compared: nothing is known of the rest"


def test_what_was_not_compared_is_told(folder: Path, path: Path, log: Log) -> None:
    """How much of the set the decision is about, and why the rest is not in it."""
    reset, print_ = QUESTIONS["router"][0], QUESTIONS["printer"][0]
    log.write(ShadowDraft("1", 1.7e9, "f", reset, control=("router",), treatment=("router",)))
    for number in range(3):
        log.write(ShadowDraft(f"2{number}", 1.7e9, "f", print_, status="control failed"))
    log.write(ShadowDraft("3", 1.7e9, "f", reset, control=("router",), status="queue full"))
    log.write(ShadowDraft("4", 1.7e9, "f", "where is the bar?", control=("bar",), status="queue full"))
    log.close()
    run_karat("online", "ingest", path)
    text = run_karat("shadow", "gate", path, folder, "--policy", "default").stdout.decode()
    assert "1 of 2 questions of manual were compared: nothing is known of the rest" in text
    assert (
        "4 calls with its questions were not compared (control failed 3, queue full 1): the others may be easier ones"
    ) in text


def test_no_mirrored_question_is_told(folder: Path, path: Path, log: Log) -> None:
    """Queries that the set does not have decide nothing; neither do calls that were not compared."""
    log.write(ShadowDraft("1", 1.7e9, "f", "where is the bar?", control=("bar",), treatment=("bar",)))
    log.write(ShadowDraft("2", 1.7e9, "f", QUESTIONS["router"][0], control=("router",), status="queue full"))
    log.close()
    run_karat("online", "ingest", path)
    with pytest.raises(InputError, match="no shadow run of 'f' asks a question of"):
        gate_shadow(path, open_project(folder))
    assert run_karat("shadow", "gate", path, folder).returncode == 2


def test_answers_to_one_wording_are_its_repeats(folder: Path) -> None:
    """In their order, up to five; case and spaces do not matter, and a question without judgments is left out."""
    golden = open_project(folder).golden
    answers = [GivenAnswer(text=f" {QUESTIONS['router'][1].upper()}  ", answer=str(number)) for number in range(8)]
    live = make_live_run(golden, [GivenAnswer(text="?"), *answers], "live")
    assert live is not None
    assert [(trace.paraphrase, trace.repeat, trace.answer) for trace in live.run.traces] == [
        (1, number, str(number)) for number in range(MOST_REPEATS)
    ]
    assert (live.total, [query.id for query in live.golden.queries]) == (8, ["router"])
    bare = GoldenSet(queries=golden.queries)
    assert make_live_run(bare, answers, "live") is None


def test_wordings_are_those_of_a_set(folder: Path, path: Path) -> None:
    """--paraphrases asks them all, and needs a set."""
    done = run_karat(
        "shadow", "replay", path, "--paraphrases", "--control", "a:b", "--treatment", "a:b", "--feature", "f"
    )
    assert (done.returncode, b"--golden" in done.stderr) == (2, True)
    golden = open_project(folder).golden
    assert [query.id for query in list_golden(golden, paraphrases=True)][:3] == ["router", "router~1", "router~2"]


@pytest.mark.slow
def test_a_treatment_that_is_left_alone_has_failed(folder: Path, path: Path) -> None:
    """Its breaker opened because it failed: what it was not asked then is no better than what it failed before."""
    project = open_project(folder)
    with online.open(path) as log:
        for number, (text, *_) in enumerate(QUESTIONS.values()):
            status = ("answered", "breaker open")[number]
            draft = ShadowDraft(f"r{number}", 1.0 + number, "f", text, status=status)
            draft.control, draft.treatment = tuple(PAGES), () if number else tuple(PAGES)
            log.write(draft)
    ingest(path)
    assert len(gate_shadow(path, project).evaluation.failures) == 1
    judged = report_shadow(path, "f", project.golden).judged
    assert judged is not None
    assert (judged.runs, judged.failed) == (2, 1)
