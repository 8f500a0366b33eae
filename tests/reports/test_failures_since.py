"""Which failures are new: what the baseline's file tells of its own, whatever its measures are."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest

from karat.config import Config
from karat.core import Document, GoldenSet, Hit, Judgment, Provenance, Query, Run, Target, Trace
from karat.evaluation import score_run
from karat.gate import Baseline, read_baseline, write_baseline
from karat.projects import GateResult, Project, gate_run, report_document
from karat.reports import render_text

NAMES = tuple(f"q{i}" for i in range(1, 7))


def make_golden(names: Collection[str] = NAMES) -> GoldenSet:
    """A set in which one document answers everything."""
    return GoldenSet(
        documents=(Document(id="a", text="a"), Document(id="b", text="b")),
        queries=tuple(Query(id=name, text=name) for name in names),
        judgments=tuple(Judgment(query=name, target=Target(document="a"), grade=3) for name in names),
    )


def answer(
    *,
    failed: Collection[str] = (),
    lost: Collection[str] = (),
    refused: Collection[str] = (),
    names: Collection[str] = NAMES,
) -> Run:
    """A run in which some questions fail, find something else, or are refused; all others find what they should."""
    traces = tuple(
        Trace(
            query=name,
            text=name,
            hits=() if name in failed else (Hit("b" if name in lost else "a", 1.0),),
            error="boom" if name in failed else "",
            refused=name in refused,
            answer="" if name in refused or not refused else "So.",
        )
        for name in names
    )
    return Run(provenance=Provenance(name="mine"), traces=traces)


def decide(folder: Path, before: Run, now: Run, measures: list[str]) -> GateResult:
    """Decide on a run beside a baseline that was written to a file and read again."""
    golden = make_golden()
    scored = score_run(make_golden([trace.query for trace in before.traces]), before, measures)
    write_baseline(Baseline(evaluation=scored), folder / "baseline.json")
    project = Project(config=Config(folder=Path(), golden=Path()), golden=golden)
    result = gate_run(project, now, policy="default", alone=True, measures=measures)
    return replace(result, baseline=read_baseline(folder / "baseline.json"))


def render_both(result: GateResult) -> list[str]:
    """The lines about failures, as a report and a terminal have them."""
    texts = [render_text(report_document(result, brief=brief)) for brief in (False, True)]
    return [line for text in texts for line in text.splitlines() if line.startswith("failures:")]


@pytest.mark.parametrize("measures", [["R@5"], ["RR@10"], ["R@5", "RR@10"]])
def test_what_failed_is_new_where_the_baseline_answered(tmp_path: Path, measures: list[str]) -> None:
    """q1 and q2 fail now and q3 is lost; q4 was lost before and is again; q5 failed and is fixed; q6 was not asked."""
    before = answer(lost=["q4"], failed=["q5"], names=NAMES[:5])
    result = decide(tmp_path, before, answer(failed=["q1", "q2", "q6"], lost=["q3", "q4"]), measures)
    line = "failures: 5 of 6 queries (3 new, 1 old, 1 unknown); new: q1, q2, q3; fixed: q5"
    assert render_both(result) == [line, line]


def test_a_wrong_refusal_is_a_failure(tmp_path: Path) -> None:
    """Of five refused questions one was refused before; what was refused before and is not now is fixed."""
    result = decide(tmp_path, answer(refused=["q1", "q6"]), answer(refused=NAMES[:5]), ["R@5", "WrongRefusal"])
    line = "failures: 5 of 6 queries (4 new, 1 old); new: q2, q3, q4, q5; fixed: q6"
    assert render_both(result) == [line, line]
    document = report_document(result)
    assert {failure.reasons for failure in document.failures} == {("it has an answer, and was refused",)}


def test_a_refusal_is_not_called_new_without_its_measure(tmp_path: Path) -> None:
    """The file does not say who was refused."""
    result = decide(tmp_path, answer(refused=["q1"]), answer(refused=["q1", "q2"]), ["RR@10"])
    assert render_both(result) == ["failures: 2 of 6 queries"] * 2


def test_a_right_refusal_is_none(tmp_path: Path) -> None:
    """It has no answer."""
    golden = replace(
        make_golden(), queries=tuple(Query(id=name, text=name, answerable=False) for name in NAMES), judgments=()
    )
    project = Project(config=Config(folder=Path(), golden=Path()), golden=golden)
    result = gate_run(project, answer(refused=NAMES), policy="default", alone=True, measures=["RightRefusal"])
    assert not report_document(result).failures
