"""Failures in a report: what their lists show of the cause, and whether they are new, old or fixed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from karat.config import Config
from karat.core import Document, GoldenSet, Hit, Judgment, Provenance, Query, Run, Target, Trace
from karat.evaluation import score_run
from karat.gate import Baseline
from karat.projects import Project, gate_run, report_document
from karat.reports import render_markdown
from karat.reports._causes import name_cause
from karat.schema import ExpectedRow, HitRow, LeftRow, QueryRow


def row(*hits: HitRow, **changes: Any) -> QueryRow:
    expected = (ExpectedRow(document="wifi", title="", grade=3, rank=None),)
    facts = {"scores": {}, "baseline": {}, "error": "", "unfound": True, "ms": None, "expected": expected}
    return QueryRow(id="q", text="?", hits=hits, **(facts | changes))


def hit(document: str, rank: int, grade: int | None = 0, **channels: int) -> HitRow:
    return HitRow(
        rank=rank, id=f"{document}:{rank}", document=document, score=1.0, grade=grade, was=None, channels=channels
    )


@pytest.mark.parametrize(
    ("query", "cause"),
    [
        (row(hit("x", 1, None)), "ids or gold: none of the hits is judged"),
        (row(hit("x", 1), hit("x", 2), hit("y", 3)), "copies: 1 of 3 hits repeat a document"),
        (
            row(hit("x", 1), left=(LeftRow(document="wifi", title="", was=2, grade=3),)),
            "changed: the baseline had wifi at rank 2",
        ),
        (
            row(*(hit(f"d{i}", i) for i in range(1, 5)), hit("wifi", 5, 3, lexical=1, dense=30)),
            "fusion: lexical has wifi at rank 1, the list at 5",
        ),
        (
            row(hit("x", 1, None), hit("y", 2), hit("wifi", 3, 3)),
            "gold: 1 of the 2 hits above the first relevant one are not judged",
        ),
        (row(hit("x", 1), hit("y", 2)), ""),
        (row(), ""),
    ],
)
def test_what_the_lists_of_a_query_show(query: QueryRow, cause: str) -> None:
    """Each rule by hand, from what can be seen to what can only be guessed."""
    assert name_cause(query) == cause


def run(**lists: str) -> Run:
    traces = [
        Trace(query=q, text=q, hits=tuple(Hit(d, -float(i)) for i, d in enumerate(ids.split())))
        for q, ids in lists.items()
    ]
    return Run(provenance=Provenance(name="run", settings={"k": 5}), traces=tuple(traces))


def test_failures_are_new_or_old_and_others_are_fixed() -> None:
    """A query fails with a reciprocal rank below 0.3: q1 did not before, q2 did, q3 did and no longer does."""
    documents = tuple(Document(id=id_, text=id_) for id_ in "abcdef")
    golden = GoldenSet(
        documents=documents,
        queries=tuple(Query(id=id_, text=id_) for id_ in ("q1", "q2", "q3")),
        judgments=tuple(Judgment(query=q, target=Target(document="a"), grade=3) for q in ("q1", "q2", "q3")),
    )
    project = Project(config=Config(folder=Path(), golden=Path()), golden=golden)
    before = score_run(golden, run(q1="a b c", q2="b c d e a", q3="b c d"), ["RR@10"])
    result = gate_run(
        project, run(q1="b c d", q2="b c d e f", q3="a b"), policy="default", alone=True, measures=["RR@10"]
    )
    document = report_document(replace(result, baseline=Baseline(evaluation=before, recorded="2026-11-17")))
    assert {failure.query: failure.since for failure in document.failures} == {"q1": "new", "q2": "old"}
    assert document.fixed == ("q3",)
    assert document.failures[0].cause == "changed: the baseline had a at rank 1"
    page = render_markdown(document)
    assert "new: the baseline did not fail it" in page
    assert "Fixed since the baseline (1): q3" in page
    alone = report_document(result)
    assert (alone.failures[0].since, alone.fixed) == (UNSET, UNSET)
