"""The weekly holdout: which queries are held out, what each week says, and that it is a read-out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.gate_project import main
from karat.core import GoldenSet, Judgment, Query, Target, UsageError
from karat.feedback.trials import hold_out, read_holdout
from karat.online._shadow_records import LoggedShadow
from karat.online._stored import shadow_row
from karat.store import open_store

MONDAY = 1_762_732_800.0  # 2025-11-10
WEEK = 7 * 86_400.0
QUERIES = tuple(Query(id=f"q{n}", text=f"question {n}", category="ab"[n >= 40]) for n in range(50))
GOLDEN = GoldenSet(
    queries=QUERIES,
    judgments=tuple(Judgment(query=query.id, target=Target(document="good"), grade=3) for query in QUERIES),
)
BETTER: dict[str, Any] = {"control": ("x", "good"), "treatment": ("good", "x")}
WORSE: dict[str, Any] = {"control": ("good", "x"), "treatment": ("x", "good")}
SAME: dict[str, Any] = {"control": ("good",), "treatment": ("good",)}


def test_a_fifth_of_each_stratum_is_held_out_always_the_same() -> None:
    """Eight of forty and two of ten; another seed holds out others."""
    held = hold_out(GOLDEN, seed=1)
    assert Counter(query.category for query in held.queries) == {"a": 8, "b": 2}
    assert {judgment.query for judgment in held.judgments} == {query.id for query in held.queries}
    assert hold_out(GOLDEN, seed=1).queries == held.queries
    assert hold_out(GOLDEN, seed=2).queries != held.queries
    with pytest.raises(UsageError, match="a fifth of 2 queries is less than one"):
        hold_out(GoldenSet(queries=QUERIES[:2]))


def put(path: Path, weeks: list[dict[str, Any] | None]) -> None:
    """Write shadow runs of every question in each of the weeks before MONDAY."""
    first = MONDAY - WEEK * len(weeks) + 5
    runs = [
        LoggedShadow(f"{week}-{query.id}", first + WEEK * week, "f", query.text, session=query.id, **lists)
        for week, lists in enumerate(weeks)
        if lists is not None
        for query in QUERIES
    ]  # fmt: skip
    with open_store(path, write=True) as store, store.transaction():
        store.add_shadow_runs([shadow_row(run) for run in runs])


@pytest.mark.parametrize(
    ("weeks", "promote"),
    [
        ([BETTER, BETTER], True),
        ([SAME, SAME], True),
        ([WORSE, BETTER, SAME], True),
        ([BETTER, WORSE], False),
        ([BETTER, BETTER, WORSE], False),
        ([BETTER], False),
        ([BETTER, None, BETTER], False),
        ([BETTER, BETTER, None], False),
        ([], False),
    ],
)
def test_two_weeks_in_a_row(tmp_path: Path, weeks: list[dict[str, Any] | None], promote: bool) -> None:
    """The last two that are over, one after the other; a week without anything measured breaks the row."""
    path = tmp_path / "karat.db"
    put(path, weeks)
    shown = read_holdout(path, "f", GOLDEN, now=MONDAY + 1000)
    assert shown.promote is promote
    assert [row.sessions for row in shown.weeks] == [10] * sum(lists is not None for lists in weeks)


def test_what_a_week_says_by_hand(tmp_path: Path) -> None:
    """nDCG@10 of a good document at rank 2 is 1 / log2(3); this week is not over, and does not count."""
    path = tmp_path / "karat.db"
    put(path, [BETTER])
    shown = read_holdout(path, "f", GOLDEN, now=MONDAY + 1000)
    (week,) = shown.weeks
    assert week.week == "2025-11-03"
    assert week.mean == pytest.approx(1 - 1 / np.log2(3))
    assert (shown.queries, shown.of, shown.cycles) == (10, 50, 2)
    assert read_holdout(path, "f", GOLDEN, now=MONDAY - 1000).weeks == ()


def test_the_rule_has_no_error_rate() -> None:
    """Why it never decides: a change that is no better is promoted in a quarter of all fortnights."""
    means = np.random.default_rng(1).normal(0, 0.3, size=(4000, 2, 10)).mean(axis=2)
    assert (means >= 0).all(axis=1).mean() == pytest.approx(0.25, abs=0.03)


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table by week, and that it decides nothing; exit code 0 whatever it says."""
    put(tmp_path / "karat.db", [BETTER, SAME])
    options = ("--golden", "examples/hotel", "--store", str(tmp_path / "karat.db"))
    assert main(("trial", "holdout", "f", *options)) == 0
    text = capsys.readouterr().out
    assert "hold: the last weeks are not 2 weeks in a row without a loss. It is shown, and never decides" in text
    assert "2025-11-03         0" in text
