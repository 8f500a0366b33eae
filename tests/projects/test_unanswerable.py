"""Questions that have no answer, from the golden set through the gate to the reports."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from karat import evaluate, golden
from karat.cli._eval_text import evaluation_text
from karat.cli._show_text import query_text
from karat.core import Document, GoldenSet, InputError, Judgment, Query, Target
from karat.evaluation import evaluation_report, score_run
from karat.gate import Baseline, write_baseline
from karat.golden import check, diff, fingerprint
from karat.projects import GateResult, check_row, gate_run, open_project, report_document, show_query
from karat.projects.baselines import accept_run
from karat.reports import render_csv, render_html, render_markdown, render_text, summarise_check
from karat.runs import make_run
from karat.schema import to_plain

SET = GoldenSet(
    name="hotel",
    documents=tuple(Document(id=name, text=f"All about the {name}.") for name in ("pool", "wifi", "spa")),
    queries=(
        Query(id="pool", text="When does the pool open?"),
        Query(id="wifi", text="How do I get online?"),
        Query(id="helipad", text="Where is the helipad?", answerable=False),
        Query(id="casino", text="Is there a casino?", answerable=False),
    ),
    judgments=tuple(
        Judgment(query=name, target=Target(document=name), grade=grade)
        for name, grade in (("pool", 3), ("wifi", 3))
    ),
)  # fmt: skip


def rightly(query: str, k: int) -> list[str]:
    """Answer what can be answered, and nothing else."""
    return {"When": ["pool"], "How": ["wifi"]}.get(query.split()[0], [])


def eagerly(query: str, k: int) -> list[str]:
    """Return something for the casino."""
    return ["spa"] if "casino" in query else rightly(query, k)


def failing(query: str, k: int) -> list[str]:
    """Fail at the casino."""
    if "casino" in query:
        raise RuntimeError("shard down")
    return rightly(query, k)


def decide(folder: Path, system: object, toml: str = '[gate]\nmust_pass = ["casino", "pool"]\n') -> GateResult:
    golden.write(SET, folder / "set")
    (folder / "karat.toml").write_text(f'[golden]\npath = "set"\n{toml}')
    project = open_project(folder)
    return gate_run(project, make_run(project.golden, system))


def outcome(result: GateResult, query: str) -> tuple[str, str]:
    (check_,) = (check_ for check_ in result.decision.checks if check_.query == query)
    return check_.outcome.value, check_.reason


def test_an_empty_list_is_the_right_answer(tmp_path: Path) -> None:
    """A rightly empty answer passes must_pass, stands in no list of failures, and is said to be right."""
    result = decide(tmp_path, rightly)
    assert outcome(result, "casino") == ("pass", "it has no answer, and nothing was returned")
    assert result.evaluation.means["TrueEmpty"] == 1.0
    assert result.evaluation.means["FalseHits@10"] == 0.0
    assert result.evaluation.means["RR@10"] == 1.0  # of the two queries that have an answer
    document = report_document(result)
    assert not document.failures
    assert not document.run.unfound
    assert not document.run.false_answers
    assert "nothing relevant was found" not in render_markdown(document)
    assert [line.split(",")[6] for line in render_csv(document).splitlines()[1:]] == ['"yes"'] * 4
    assert '"unanswerable":true' in render_html(document).replace(" ", "")


def test_a_hit_for_what_has_no_answer_fails_must_pass(tmp_path: Path) -> None:
    """It is a false answer, which is not the same as finding nothing relevant."""
    result = decide(tmp_path, eagerly)
    assert outcome(result, "casino") == ("fail", "it has no answer, and hits were returned")
    assert (result.evaluation.means["TrueEmpty"], result.evaluation.means["FalseHits@10"]) == (0.5, 0.5)
    document = report_document(result)
    assert (document.run.unfound, document.run.false_answers) == ((), ("casino",))
    assert "Expected: nothing, since the query has no answer" in render_markdown(document)
    (failure,) = document.failures
    assert "it has no answer, and hits were returned" in failure.reasons


def test_a_query_without_judgments_is_no_query_that_found_nothing(tmp_path: Path) -> None:
    """It fails in the decision, for its own reason, and eval and gate count the same ones as unfound."""
    added = (Query(id="bar", text="Is there a bar?"), Query(id="spa", text="Where is the spa?"))
    judged = Judgment(query="spa", target=Target(document="spa"), grade=3)
    grown = replace(SET, queries=(*SET.queries, *added), judgments=(*SET.judgments, judged))
    golden.write(grown, tmp_path / "set")
    (tmp_path / "karat.toml").write_text('[golden]\npath = "set"\n')
    project = open_project(tmp_path)
    result = gate_run(project, make_run(project.golden, rightly))
    (run,) = evaluation_report(result.evaluation).runs
    for brief in (False, True):
        document = report_document(result, brief=brief)
        assert list(document.run.unfound) == run.unfound == ["spa"]
        assert {failure.query: failure.reasons for failure in document.failures} == {
            "bar": ("the golden set has nothing relevant for it",),
            "spa": ("nothing relevant was found",),
        }
    text = evaluation_text(result.evaluation, by=None, per_query=False, success=1.0)
    assert "1 of 3 found nothing relevant: spa" in text
    assert "for 1 of 6 queries the golden set has nothing relevant: bar" in text


@pytest.mark.parametrize("system", [rightly, eagerly, failing])
def test_must_pass_asks_for_nothing_where_there_is_no_answer(tmp_path: Path, system: object) -> None:
    """The rule of an unanswerable query does not ask it to find something relevant."""
    rules = {check_.query: check_ for check_ in map(check_row, decide(tmp_path, system).decision.checks)}
    assert summarise_check(rules["casino"]).startswith("casino, must return nothing: ")
    assert summarise_check(rules["pool"]).startswith("pool, must find something relevant at any rank: ")


def test_a_false_answer_is_not_to_be_judged(tmp_path: Path) -> None:
    """An undecided gate advises to judge hits, but not those of a query that has no answer."""
    right = decide(tmp_path, rightly, '[eval]\nmeasures = ["TrueEmpty", "R@5"]\n')
    write_baseline(Baseline(evaluation=right.evaluation), tmp_path / "baseline.json")
    text = render_text(report_document(gate_run(right.project, make_run(SET, eagerly))))
    assert "what would decide: about " in text
    assert "karat golden pool" not in text


def test_one_question_without_an_answer_is_shown_as_such(tmp_path: Path) -> None:
    """Nothing is expected; a hit is the mistake, and no hit is right, as text and as JSON."""
    project = decide(tmp_path, rightly).project
    for name, system in (("right", rightly), ("eager", eagerly)):
        make_run(project.golden, system, output=tmp_path / f"{name}.jsonl")
    shown = show_query(tmp_path / "eager.jsonl", "casino")
    assert (shown.answerable, shown.reasons) == (False, ("the question has no answer, and 1 hit was returned",))
    assert "\n\nexpected: nothing, since the question has no answer\n\nreturned " in query_text(shown)
    assert query_text(show_query(tmp_path / "right.jsonl", "casino")).endswith("\nnothing was returned")
    assert show_query(tmp_path / "right.jsonl", "pool").answerable


def test_a_failure_is_not_a_right_answer(tmp_path: Path) -> None:
    """A system that breaks on a question without an answer has not refused it."""
    result = decide(tmp_path, failing)
    assert outcome(result, "casino") == ("fail", "it failed: RuntimeError: shard down")
    assert (result.evaluation.means["TrueEmpty"], result.evaluation.means["FalseHits@10"]) == (0.5, 5.0)


def test_hits_below_the_systems_threshold_are_not_returned(tmp_path: Path) -> None:
    """With min_score a hit that nobody would be shown is no false answer, and no right one either."""

    def scored(query: str, k: int) -> list[tuple[str, float]]:
        return [(name, 0.2) for name in eagerly(query, k)]

    result = decide(tmp_path, scored, '[eval]\nmin_score = 0.5\n[gate]\nmust_pass = ["casino"]\n')
    assert outcome(result, "casino")[0] == "pass"
    assert result.evaluation.means["R@5"] == 0.0
    assert result.evaluation.provenance.settings["min_score"] == 0.5


def test_eval_names_false_answers_and_no_right_ones() -> None:
    """The document of an evaluation lists what was wrongly answered, and never calls a right answer unfound."""
    run = to_plain(evaluation_report(score_run(SET, make_run(SET, eagerly))))["runs"][0]
    assert (run["unfound"], run["false_answers"]) == ([], ["casino"])
    assert run["measures"]["R@5"]["missing"] == {"unanswerable: the right answer is no answer": 2}
    assert run["measures"]["TrueEmpty"]["missing"] == {"the query has an answer": 2}


def test_the_linter_lets_them_be() -> None:
    """Queries without an answer are neither unjudged nor to be removed, and no ceiling sinks by them."""
    named = {finding.rule for finding in check(SET).findings}
    assert not named & {"unjudged-query", "no-relevant-document", "no-judgments", "answered-unanswerable"}
    assert check(replace(SET, gate={"R@5": 1.0, "TrueEmpty": 0.9})).ok


@pytest.mark.parametrize(
    "change", [{"must_show": ("pool",)}, {"chain": ("pool", "spa")}, {"top_chunk": "pool:chunk:0"}]
)
def test_the_linter_finds_contradictions(change: dict[str, object]) -> None:
    """A query that has no answer and names documents that must be found contradicts itself."""
    wrong = replace(SET, queries=(*SET.queries[:3], replace(SET.queries[3], **change)))  # type: ignore[arg-type]
    (error,) = check(wrong).errors
    assert (error.rule, error.where) == ("answered-unanswerable", ("casino",))


def test_a_relevant_judgment_of_an_unanswerable_query_is_refused() -> None:
    """Neither number would be right, so there is none."""
    wrong = replace(SET, judgments=(*SET.judgments, Judgment(query="casino", target=Target(document="spa"), grade=2)))
    assert [error.rule for error in check(wrong).errors] == ["answered-unanswerable"]
    with pytest.raises(InputError, match="answered-unanswerable: 1 unanswerable query with an answer"):
        evaluate(wrong, rightly)


def test_it_is_part_of_what_scores_depend_on() -> None:
    """A query that becomes unanswerable changes the fingerprint, and the version; the default changes neither."""
    before = replace(SET, queries=tuple(replace(query, answerable=True) for query in SET.queries))
    assert fingerprint(before) != fingerprint(SET)
    changes = diff(before, SET)
    assert (changes.bump, changes.queries.changed) == ("major", {"helipad": ("answerable",), "casino": ("answerable",)})
    known = GoldenSet(queries=(Query(id="q", text="?"),))
    assert fingerprint(known) == "sha256:a90e6300b4ead5c154adb9350630b5f788c9560074cf19fdff364db1e6e7e8c8"


@pytest.mark.parametrize("outcome", ["pass", "fail"])
def test_the_first_unanswerable_question_of_a_set_can_be_taken_in(tmp_path: Path, outcome: str) -> None:
    """The baseline was asked none, so that it has no TrueEmpty: that is unknown, and the next baseline has it."""
    more = (Query(id="pool-2", text="When is it closed?"), Query(id="wifi-2", text="How fast is it?"))
    judgments = tuple(Judgment(query=query.id, target=Target(document=query.id[:4]), grade=3) for query in more)
    first = replace(SET, queries=(*SET.queries[:2], *more), judgments=(*SET.judgments, *judgments))
    (tmp_path / "karat.toml").write_text(f'[golden]\npath = "set"\n[gate]\non_inconclusive = "{outcome}"\n')
    golden.write(first, tmp_path / "set")
    project = open_project(tmp_path)
    accept_run(project, make_run(first, rightly))
    shutil.rmtree(tmp_path / "set")
    golden.write(replace(first, queries=(*first.queries, SET.queries[2])), tmp_path / "set")
    project = open_project(tmp_path)
    run = make_run(project.golden, rightly)
    decision = gate_run(project, run).decision
    unknown = {check.metric for check in decision.checks if check.outcome.value == "inconclusive"}
    assert "TrueEmpty" in unknown
    assert not decision.failures
    text = render_text(report_document(gate_run(project, run)))
    assert "all questions that have a value are new; karat baseline update RUN takes them in" in text
    accept_run(project, run)
    assert all(check.baseline == 1 for check in gate_run(project, run).decision.checks if check.metric == "TrueEmpty")
