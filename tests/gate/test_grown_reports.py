"""Reports on a golden set that grew or shrank: what stands side by side was measured on the same questions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cli.gate_project import make_gated_project, make_project, make_run, make_set
from karat.projects import gate_run, open_project, report_document
from karat.projects.baselines import rebase_baseline
from karat.reports import (
    render_comment,
    render_github,
    render_html,
    render_junit,
    render_latex,
    render_markdown,
    render_text,
)
from karat.reports._verdict import explain_outcome
from karat.runs import read_any_run
from karat.schema import DecisionDocument, from_plain, to_plain

SIZE = 12


def decide_on(folder: Path, places: Sequence[int], size: int, toml: str = "") -> DecisionDocument:
    """Return the decision on a run over the first ``size`` questions, against a baseline over twelve of them."""
    make_gated_project(folder, [1] * SIZE)
    golden_set = make_project(folder, toml, golden_set=make_set(size))
    project = open_project(folder)
    run = read_any_run(make_run(folder, golden_set, places), project.golden)
    return report_document(gate_run(project, run), created="2026-11-17")


@pytest.fixture
def grown(tmp_path: Path) -> DecisionDocument:
    """Three of twelve questions are lost, and four new ones are found: 9/12 instead of 12/12, and 13/16 on all."""
    return decide_on(tmp_path, [0, 0, 0, *[1] * 13], 16)


def test_a_measure_is_compared_on_the_questions_of_both(grown: DecisionDocument) -> None:
    """By hand: the mean of the run over the twelve is 0.75, over all sixteen 0.8125; the baseline's is 1."""
    (row,) = grown.measures
    assert (row.compared, row.n_compared, row.baseline, row.difference) == (0.75, 12, 1.0, -0.25)
    assert (row.mean, row.n, row.current, row.is_partial) == (0.8125, 16, 0.75, True)


def test_a_segment_is_compared_on_the_questions_of_both(grown: DecisionDocument) -> None:
    """By hand: q01 and q03 of six questions on times are lost, q13 and q15 are new; of those on prices q02 is lost."""
    rows = {segment.value: segment for segment in grown.segments}
    times, prices = rows["times"], rows["prices"]
    assert (times.current("RR@10"), times.means["RR@10"], times.baseline) == (4 / 6, 6 / 8, {"RR@10": 1.0})
    assert (prices.current("RR@10"), prices.means["RR@10"], prices.baseline) == (5 / 6, 7 / 8, {"RR@10": 1.0})


def test_every_format_shows_the_same_pair_and_the_mean_over_all_apart(grown: DecisionDocument) -> None:
    """The percentage belongs to the numbers beside it, and no format sets 0.8125 against the baseline."""
    row = "| RR@10 | 0.7500 | 1.0000 | 0.8125 | not worse by more than 0.05 |"
    for text in (render_markdown(grown), render_comment(grown)):
        (summary,) = [line for line in text.splitlines() if line.startswith(row)]
        assert "-25.0%" in summary
        assert "| RR@10 | 0.7500 | 1.0000 | -0.2500 |" in text
        assert "| times | 8 | 0.6667 (-0.3333), all 0.7500 |" in text
    assert "RR@10 0.7500 (-0.2500, over all questions 0.8125)" in render_github(grown)
    latex = render_latex(grown)
    assert r"RR@10 & \textbf{1.0000} & 0.7500 & $-0.2500$" in latex
    assert "Means over the 12 that the baseline has, too." in latex
    assert '"mean":0.75,' in render_html(grown)
    assert '"all":[0.8125,16]' in render_html(grown)


def test_new_questions_that_fail_are_no_fall(tmp_path: Path) -> None:
    """Nothing changed for the twelve; that four new questions find nothing shows in the mean over all, 12/16."""
    document = decide_on(tmp_path, [*[1] * SIZE, 0, 0, 0, 0], 16, "[gate]\nrules = [{metric = 'RR@10', min = 0.8}]\n")
    (row,) = document.measures
    assert (row.current, row.baseline, row.mean) == (1.0, 1.0, 0.75)
    line = "| RR@10 | 1.0000 | 1.0000 | 0.7500 | 0.8 | ❌ FAIL (+0.0%) |"  # the floor is held against all questions
    assert line in render_markdown(document)
    assert "| times | 8 | 1.0000 (+0.0000), all 0.7500 |" in render_markdown(document)


def test_without_new_questions_there_is_one_mean(tmp_path: Path) -> None:
    """The table has no more columns than it needs, and old documents without the new fields are read."""
    document = decide_on(tmp_path, [0, *[1] * 11], SIZE)
    assert "| Metric | Current | Baseline | Threshold | Status |" in render_markdown(document)
    assert not document.segments[0].compared
    plain = to_plain(document)
    for key in ("compared", "n_compared"):
        del plain["measures"][0][key]
    assert from_plain(plain, DecisionDocument).measures[0].current == pytest.approx(11 / 12)


def test_deleting_the_questions_that_a_change_breaks_is_inconclusive(tmp_path: Path) -> None:
    """Three of twelve questions that a run would lose are gone: every format says so, and none says PASS."""
    document = decide_on(tmp_path, [1] * 9, 9)
    assert document.verdict.outcome == "inconclusive"
    gone = "3 of 12 questions that the baseline scored are no longer in the golden set: q10, q11, q12"
    remedy = "the questions and judgments again, or a reviewed 'karat baseline rebase', which shows what goes"
    assert list(explain_outcome(document)) == [gone, f"what would decide: {remedy}"]
    assert f"::error title=karat inconclusive%3A removed::{gone}" in render_github(document)
    junit = ElementTree.fromstring(render_junit(document))
    assert [case.get("name") for case in junit.iter("testcase") if case.find("failure") is not None] == [
        "removed: at most 1"
    ]
    assert document.verdict.exit_code == 4
    for render in (render_text, render_markdown, render_comment, render_html, render_github, render_junit):
        text = render(document)
        assert "INCONCLUSIVE" in text.upper()
        assert gone in text


def test_one_removed_question_passes_and_is_told(tmp_path: Path) -> None:
    """max(1, 2 %) of the questions may leave the set with an edit."""
    document = decide_on(tmp_path, [1] * 11, 11)
    assert document.verdict.outcome == "pass"
    assert "1 of 12 questions that the baseline scored are no longer" in render_text(document)


def test_a_rebase_accepts_the_smaller_set(tmp_path: Path) -> None:
    """It writes what was removed out of the baseline, as a change that people review; then the run passes."""
    decide_on(tmp_path, [1] * 9, 9)
    project = open_project(tmp_path)
    rebase_baseline(project)
    run = read_any_run(tmp_path / "runs" / "new.jsonl", project.golden)
    assert gate_run(project, run).decision.outcome.value == "pass"


def test_new_questions_that_return_nothing_ask_for_a_baseline_with_them(tmp_path: Path) -> None:
    """More queries would not decide whether the new ones ever had results."""
    document = decide_on(tmp_path, [*[1] * SIZE, -1, -1], 14)
    *_, remedy = explain_outcome(document)
    assert remedy == (
        "what would decide: a baseline that has these questions ('karat baseline rebase --from RUN', or "
        "'karat baseline update')"
    )
