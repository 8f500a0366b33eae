"""Citations of two indexes, compared through a table."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from each import each
from karat.core import Answer, Citation, Hit, InputError, Provenance, Trace, UsageError
from karat.migration import Cited, ShadowedQuery, Targets, judge_rollout, map_blocks, read_shadowed
from karat.online.shadow import Replayed, replay
from karat.runs import RunWriter
from migration.editing import make_edition

TEXTS = [f"Room {n} has a bed by window {n * 3}, a lamp of kind {n * 7} and towel {n * 11}." for n in range(8)]
TABLE = map_blocks(
    [make_edition("d", [f"{TEXTS[0]} {TEXTS[1]}", *TEXTS[2:6], "Gone for good, and for all to see."])],
    [make_edition("d", [TEXTS[0], TEXTS[1], f"{TEXTS[2]} {TEXTS[3]}", TEXTS[4], TEXTS[5], "Something new."], "n")],
)
"""b0 is n0 and n1 now; b1 and b2 are n2; b3 is n3, b4 is n4; b5 is gone, and n5 is new."""


def ask(control: str, treatment: str, error: str = "") -> ShadowedQuery:
    sides = [tuple(Cited(id=name) for name in side.split()) for side in (control, treatment)]
    return ShadowedQuery(query="q", control=sides[0], treatment=sides[1], error=error)


@each(
    ("control", "treatment", "lost", "unmapped", "added"),
    [
        ("b3", "n3", None, (), ()),
        ("b0", "n1", None, (), ()),
        ("b0", "n0 n1", None, (), ()),
        ("b1 b2", "n2", None, (), ()),
        ("", "", None, (), ()),
        ("b3", "n4", ("b3",), (), ("n4",)),
        ("b3 b4", "n3", ("b4",), (), ()),
        ("b3", "n3 n5", (), (), ("n5",)),
        ("b5", "", ("b5",), ("b5",), ()),
        ("unknown", "unknown", ("unknown",), ("unknown",), ("unknown",)),
    ],
)
def test_citations_by_hand(
    control: str, treatment: str, lost: tuple[str, ...] | None, unmapped: tuple[str, ...], added: tuple[str, ...]
) -> None:
    """Any part of a split will do, a merged block stands for both; what is only on one side is a mismatch."""
    report = judge_rollout(TABLE, [ask(control, treatment)], targets=Targets(least=1))
    assert report.identical == (lost is None)
    if lost is not None:
        (row,) = report.mismatches
        assert (row.lost, row.unmapped, row.added) == (lost, unmapped, added)


def test_the_rule_of_two_percent() -> None:
    """98 of 100 may go on, 97 may not; 100 are enough only if so many were asked for."""
    good, bad, enough = ask("b3", "n3"), ask("b3", "n4"), Targets(least=100)
    report = judge_rollout(TABLE, [good] * 98 + [bad] * 2, targets=enough)
    assert (report.verdict, report.stage, report.mismatch, report.canary_percent) == ("pass", "canary", 0.02, 5.0)
    assert (round(report.low, 4), round(report.high, 4)) == (0.0024, 0.0704)  # Clopper and Pearson, by R's binom.test
    report = judge_rollout(TABLE, [good] * 97 + [bad] * 3, targets=enough)
    assert (report.verdict, report.stage) == ("fail", "shadow")
    assert judge_rollout(TABLE, [good] * 100).verdict == "inconclusive"


def test_everything_cited_needs_a_place() -> None:
    """One cited block that is gone stops the rollout, even if 99 % of the queries are identical."""
    report = judge_rollout(TABLE, [ask("b3", "n3")] * 199 + [ask("b5 b3", "n3")])
    assert report.checks[0].verdict == "pass"
    assert (report.unmapped, report.verdict, report.stage) == (("b5",), "fail", "shadow")


def test_what_could_not_be_compared_counts_as_different() -> None:
    """A side that failed is told, and is no reason to go on."""
    report = judge_rollout(TABLE, [ask("b3", "n3")] * 3 + [ask("", "", "timeout")], targets=Targets(least=1))
    assert (report.identical, report.verdict) == (3, "fail")
    assert report.notes == ("1 of 4 queries could not be compared, and count as different",)
    empty = judge_rollout(TABLE, [ask("", "")], targets=Targets(least=1))
    assert empty.verdict == "inconclusive"
    assert "neither index cites anything" in empty.notes[0]
    with pytest.raises(UsageError, match="no queries"):
        judge_rollout(TABLE, [])


def test_queries_that_cite_nothing_do_not_make_the_others_right() -> None:
    """The share is that of the queries with a citation: a log without citations says nothing."""
    report = judge_rollout(TABLE, [ask("", "")] * 199 + [ask("b3", "n3")])
    assert (report.checks[0].n, report.verdict, report.stage) == (1, "inconclusive", "shadow")
    report = judge_rollout(TABLE, [ask("", "")] * 980 + [ask("b3", "n3")] * 10 + [ask("b3", "n4")] * 10)
    assert (report.checks[0].value, report.mismatch, report.verdict) == (0.5, 0.5, "fail")


def test_the_same_id_in_another_document_is_another_block() -> None:
    """Ids that begin anew in every document say nothing without it."""
    editions = [make_edition("d", TEXTS[:3]), make_edition("e", TEXTS[3:6])]
    table = map_blocks(editions, editions)
    for document, same in (("d", 1), ("e", 0)):
        for former in ((), ("b1",)):
            new = Cited(id="b1", document=document, former=former)
            query = ShadowedQuery(query="q", control=(Cited(id="b1", document="d"),), treatment=(new,))
            assert judge_rollout(table, [query]).identical == same


def test_records_with_former_ids(tmp_path: Path) -> None:
    """An index that keeps id_prev beside id says itself what a block was."""
    rows = [
        {"query": "q1", "control": ["b3"], "treatment": [{"id": "x9", "id_prev": ["b3"], "offsets": [0, 9]}]},
        {"query": "q2", "control": [{"id": "b4", "document": "d"}], "treatment": ["n4"]},
        {"query": "q3", "control": [], "treatment": [], "error": "timeout"},
    ]
    file = tmp_path / "shadow.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    queries = read_shadowed(file)
    assert queries[0].treatment == (Cited(id="x9", former=("b3",)),)
    report = judge_rollout(TABLE, queries, targets=Targets(least=1))
    assert [row.query for row in report.mismatches] == ["q3"]


@each(
    ("row", "problem"),
    [
        ('{"query": "q", "control": []}', "'treatment' is missing"),
        ('{"query": "q", "control": "b1", "treatment": []}', "not a list"),
        ('{"query": "q", "control": [[]], "treatment": []}', "control"),
        ('{"control": [], "treatment": []}', "'query'"),
        ('{"query": "q", "control": [{"id_prev": ["a"]}], "treatment": []}', "'id' is missing"),
    ],
)
def test_records_that_cannot_be_read(tmp_path: Path, row: str, problem: str) -> None:
    """The message says what is wrong with which line."""
    (tmp_path / "shadow.jsonl").write_text(row)
    with pytest.raises(InputError, match=problem):
        read_shadowed(tmp_path / "shadow.jsonl")


def write_run(path: Path, traces: list[Trace]) -> Path:
    with RunWriter(path, Provenance(name=path.stem)) as writer:
        for trace in traces:
            writer.write(trace)
    return path


def test_run_files_of_both_indexes(tmp_path: Path) -> None:
    """Citations of answers by query; a query that one side was not asked, failed or has no answer is no match."""
    old = [
        Trace(query="q1", text="?", answer="yes", citations=(Citation("b3", "d"),), hits=(Hit("b4", 1.0, "d"),)),
        Trace(query="q2", text="?", answer="yes", citations=(Citation("b4", "d"),)),
        Trace(query="q3", text="?", error="boom"),
        Trace(query="q4", text="?", hits=(Hit("b3", 1.0, "d"),)),
    ]
    new = [
        Trace(query="q1", text="?", answer="yes", citations=(Citation("n3", "d"),), hits=(Hit("n4", 1.0, "d"),)),
        Trace(query="q3", text="?", answer="yes"),
        Trace(query="q4", text="?", hits=(Hit("n3", 1.0, "d"),)),
    ]
    control, treatment = write_run(tmp_path / "old.jsonl", old), write_run(tmp_path / "new.jsonl", new)
    report = judge_rollout(TABLE, read_shadowed(control, treatment), targets=Targets(least=1))
    reasons = {row.query: row.reason for row in report.mismatches}
    assert reasons["q2"] == "the treatment was not asked"
    assert reasons["q3"] == "the control failed: boom"
    assert "--hits compares hits instead" in reasons["q4"]
    assert report.identical == 1
    by_hits = judge_rollout(TABLE, read_shadowed(control, treatment, hits=1), targets=Targets(least=1))
    assert {row.query for row in by_hits.mismatches} == {"q2", "q3"}
    other = write_run(tmp_path / "other.jsonl", [Trace(query="q9", text="?")])
    with pytest.raises(InputError, match="answers none of the queries"):
        read_shadowed(control, other)


def test_shadow_runs_of_a_store(tmp_path: Path) -> None:
    """Both systems are asked for real: the same text under another id is identical, a failure and a list are not."""
    store = tmp_path / "karat.db"

    def answer(blocks: dict[str, str]) -> Callable[[str, int], object]:
        def call(query: str, k: int) -> object:
            if query == "fails" and blocks["bed"] == "n3":
                raise RuntimeError("no index")
            if query == "lists":
                return ["d"]
            hit = Hit(blocks.get(query, blocks["bed"]), 1.0, "d")
            return Answer("yes", citations=[Citation(hit.id, "d")], hits=[hit])

        return call

    queries = [Replayed(id=text, text=text) for text in ("bed", "lamp", "fails", "lists")]
    replay(queries, answer({"bed": "b3"}), answer({"bed": "n3", "lamp": "n4"}), feature="index-v2", store=store)
    pairs = read_shadowed(store)
    report = judge_rollout(TABLE, pairs, targets=Targets(least=1))
    assert {row.query: (row.lost, row.added) for row in report.mismatches if not row.reason} == {
        "lamp": (("b3",), ("n4",))
    }
    reasons = {row.query: row.reason for row in report.mismatches if row.reason}
    assert reasons["lists"] == "the record has no answers of both systems, only lists of documents"
    assert "no index" in reasons["fails"]
    assert (
        judge_rollout(TABLE, read_shadowed(store, hits=1, feature="index-v2"), targets=Targets(least=1)).identical == 1
    )
    with pytest.raises(UsageError, match="no feature 'index-v3'"):
        read_shadowed(store, feature="index-v3")
