"""The hotel broken in each of the twelve ways: explain names what was broken."""

from __future__ import annotations

import pytest
from tests.diagnosis.planted.faults import FAULTS
from tests.diagnosis.planted.hotel import Hotel, Planted, explain, hotel
from tests.diagnosis.planted.table import PAGE, _describe, results

from karat.diagnosis import CAUSES


def test_every_cause_is_planted_at_least_three_times() -> None:
    """The table of faults has every cause."""
    assert FAULTS.keys() == CAUSES.keys()
    assert min(map(len, FAULTS.values())) >= 3


def test_the_page_lists_every_fault() -> None:
    """The page has been written since the last fault was added."""
    page = PAGE.read_text(encoding="utf-8")
    faults = [(cause, _describe(fault)) for cause, faults in FAULTS.items() for fault in faults]
    assert [fault for fault in faults if f"- {fault[0]}: {fault[1]}" not in page] == []


@pytest.mark.slow(40)
def test_nine_of_ten_planted_faults_are_named_first() -> None:
    """The first line about a broken system says what is broken, in at least 90 % of all ways to break it.

    What single queries show agrees with what was planted, in at least three of four.
    """
    rows = results()
    wrong = {row.fault.__name__: row.named for row in rows if not row.is_right}
    assert len(wrong) <= 0.1 * len(rows), wrong
    right = sum(row.queries[row.planted] for row in rows)
    assert right >= 0.75 * sum(row.queries.total() for row in rows)


@pytest.mark.slow
def test_a_healthy_system_has_none_of_the_faults_of_data() -> None:
    """Nothing is planted, and nothing of what can be proven is found."""
    groups = explain(Planted(golden=hotel(), system=Hotel())).groups
    assert {group.cause for group in groups} & {"ids", "stale", "outside", "offsets", "flips", "tables"} == set()
