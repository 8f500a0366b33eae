"""Windows: each query is in exactly one, and they depend on the log alone."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.monitoring import Window, count_cells, partition
from karat.store import open_store
from monitoring.logs import DAY, look, make_query, make_window, write

TIMES = st.lists(st.floats(0, 3 * 86_400 - 1, allow_nan=False), max_size=60)


def cut(times: list[float], samples: int = 5, until: float = 1e9) -> tuple[Window, ...]:
    return partition(count_cells(times, 300), seconds=300, samples=samples, until=until)


def test_windows_by_hand() -> None:
    """Two hundred samples or five minutes, whichever is more; a day begins a new one."""
    times = [
        *(10.0 + i for i in range(250)),  # 250 in five minutes: complete after five minutes
        *(900.0 + 2 * i for i in range(199)),  # 199 in seven minutes: not enough
        *(2000.0,),  # the 200th, which ends it at 2100
        *(80_000.0,),  # one more in this day: thin
        *(86_400.0 + i for i in range(200)),
    ]
    assert [(w.start, w.end, w.samples, w.state) for w in cut(times, samples=200)] == [
        (0, 300, 250, "complete"),
        (900, 2100, 200, "complete"),
        (79_800, 80_100, 1, "thin"),
        (86_400, 86_700, 200, "complete"),
    ]


def test_a_window_is_open_until_all_of_it_is_there() -> None:
    """One with enough samples may get more until it ends; one without may get them until the day ends."""
    times = [10.0, 11.0, 12.0, 400.0]
    states = [[w.state for w in cut(times, samples=3, until=until)] for until in (299, 300, 86_399, 86_400)]
    assert states == [["open", "open"], ["complete", "open"], ["complete", "open"], ["complete", "thin"]]


@given(TIMES, st.integers(1, 8), st.randoms())
def test_a_partition_of_the_queries(times: list[float], samples: int, random: object) -> None:
    """Every query is in exactly one window, windows do not overlap, and the order of arrival does not matter."""
    windows = cut(times, samples)
    for time in times:
        assert sum(w.start <= time < w.end for w in windows) == 1
    assert all(first.end <= second.start for first, second in pairwise(windows))
    assert sum(w.samples for w in windows) == len(times)
    for window in windows:
        own = [time for time in times if window.start <= time < window.end]
        assert (len(own), window.start // 86_400) == (window.samples, (window.end - 1) // 86_400)
        assert window.state == "thin" or (window.samples >= samples and window.minutes >= 5)
        if window.state == "complete":  # without its last five minutes it would not be
            assert sum(time < window.end - 300 for time in own) < samples
    shuffled = times[:]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert cut(shuffled, samples) == windows


@given(TIMES, st.floats(0, 86_399, allow_nan=False))
def test_a_late_query_changes_the_windows_of_its_day_only(times: list[float], late: float) -> None:
    """Windows of other days stay as they were, whatever comes late, or expires."""
    before = [w for w in cut(times) if w.start >= 86_400]
    assert [w for w in cut([*times, late]) if w.start >= 86_400] == before
    assert list(cut([time for time in times if time >= 86_400])) == before


@pytest.mark.parametrize("order", [1, -1])
def test_the_store_counts_as_the_function_does(path: Path, order: int) -> None:
    """However records came into it."""
    queries = [*make_window(0, 20), *make_window(1, 7), *make_window(3, 30), make_query("old", DAY - 5)]
    write(path, queries[::order])
    times = [query.time for query in queries]
    with open_store(path) as store:
        assert store.alerts.count_cells(0, 2e9, 300) == count_cells(times, 300)
    report = look(path, 5)
    assert [(w.samples, w.state) for w in report.windows] == [(20, "complete"), (37, "complete")]


def test_late_records_count_when_they_are_there(path: Path) -> None:
    """The same log gives the same windows: a look after late records is the look that never missed them."""
    other = path.with_name("other.db")
    queries = [*make_window(0, 40), *make_window(1, 40)]
    write(path, queries[::2])
    early = look(path, 2, record=False)
    write(path, queries[1::2])
    write(other, queries)
    late, whole = look(path, 2, record=False), look(other, 2, record=False)
    assert early.windows != late.windows
    assert (late.windows, late.alerts) == (whole.windows, whole.alerts)
