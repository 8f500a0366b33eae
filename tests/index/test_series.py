"""Values of all queries come back as they were kept, and the first of them are those of a whole sort."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from each import each
from karat.index import Indexer, open_index
from karat.index._columns import RANKED, SIZE, Columns, pack_columns, pack_series, unpack_columns, unpack_series
from karat.pages._run import choose_first, find_later
from server.served import NEW, make_indexed_project

VALUES = st.lists(st.sampled_from([0.0, 0.5, 1.0, math.nan, -2.5]) | st.floats(width=16), max_size=40)
SCORES = st.lists(st.sampled_from([0.0, 0.5, 1.0, math.nan, -2.5]) | st.floats(-9, 9, width=16), max_size=40)


@given(VALUES)
def test_a_series_is_kept_exactly(values: list[float]) -> None:
    kept = unpack_series(pack_series(np.array(values)))
    assert kept.tolist() == pytest.approx(values, abs=0, rel=0, nan_ok=True)


@each("distinct", [1, 256, 257, 65_536, 65_537])
def test_a_series_of_any_number_of_distinct_values_is_kept(distinct: int) -> None:
    """Numbers of one byte, of two, and the values themselves."""
    values = np.arange(distinct, dtype=np.float64)[::-1] / 7
    assert np.array_equal(unpack_series(pack_series(values)), values)


@given(SCORES, st.integers(1, 12), st.data())
def test_the_first_are_those_of_a_whole_sort(values: list[float], limit: int, data: st.DataObject) -> None:
    """A page at a time, from any place: the order is by value, then by position, and what has none comes last."""
    keys = np.array(values)
    positions = np.flatnonzero(np.array(data.draw(st.lists(st.booleans(), min_size=len(keys), max_size=len(keys)))))
    whole = sorted(positions.tolist(), key=lambda place: (math.isnan(keys[place]), keys[place], place))
    pages: list[int] = []
    rest = positions
    while len(rest):
        page = choose_first(keys, rest, limit).tolist()
        pages += page
        rest = rest[find_later(keys, rest, page[-1])]
    plain = [place for place in whole if not math.isnan(keys[place])]
    assert pages[: len(plain)] == plain
    assert pages[len(plain) :] == sorted(set(whole) - set(plain))


def test_queries_are_read_without_the_others() -> None:
    """Some queries of several blocks, in the order in which they were asked for."""
    size = 3 * SIZE + 5
    columns = Columns(
        values=np.arange(3 * size, dtype=np.float64).reshape(3, size),
        codes=np.zeros((2, size), np.uint8),
        marks=np.ones(size, np.uint8),
        offsets=np.arange(size),
        ranks=np.tile(np.arange(size, dtype=np.uint16), (RANKED, 1)),
    )
    whole = unpack_columns([body for _, body in pack_columns(columns)], 2)
    for name in ("values", "codes", "marks", "offsets", "ranks"):
        assert np.array_equal(getattr(whole, name), getattr(columns, name))
    assert whole.take([size - 1, 3]).offsets.tolist() == [size - 1, 3]


def test_series_marks_and_ranks_are_those_of_the_columns(tmp_path: Path) -> None:
    """Each value is kept twice, and both say the same; ranks are where the relevant document stands."""
    folder = make_indexed_project(tmp_path)
    with open_index(folder) as index:
        run, broken = index.find_run("new"), index.find_run("broken")
        assert run is not None
        assert broken is not None
        columns = index.read_columns(run)
        for row, name in enumerate([*run.measures, None]):
            assert np.array_equal(index.read_series(run, name), columns.values[row], equal_nan=True)
        assert index.read_marks(run).tolist() == columns.marks.tolist()
        expected = [max(place, 0) for place in NEW]
        expected[8] = 0  # the system failed
        assert columns.ranks[0].tolist() == expected
        assert not columns.ranks[1:].any()
        some = index.read_columns(run, [11, 0, 5])
        assert some.offsets.tolist() == columns.offsets[[11, 0, 5]].tolist()
        assert (index.read_series(broken, None).size, index.read_marks(broken).size) == (0, 0)


def test_texts_are_found_with_and_without_trigrams(tmp_path: Path) -> None:
    """A text of one or two letters, and any text where SQLite has no trigrams, is looked for in all."""
    import sqlite3

    folder = make_indexed_project(tmp_path)

    def search(text: str, category: str = "") -> list[int]:
        with open_index(folder) as index:
            found = index.search_queries(text, category)
            assert found is not None
            return found.tolist()

    wanted = {"OF 1": [9, 10, 11], "q1": [9, 10, 11], "what": list(range(12)), 'no "such': [], "\ud800": []}
    for text, positions in wanted.items():
        assert search(text) == positions
    assert search("of 1", "prices") == [9, 11]
    assert search("", "times") == [0, 2, 4, 6, 8, 10]
    assert search("", "none") == []
    with sqlite3.connect(folder / ".karat" / "index.db") as connection:
        connection.execute("drop table trigrams")
    connection.close()
    for text, positions in wanted.items():
        assert search(text) == positions
    (folder / "karat.toml").write_text((folder / "karat.toml").read_text() + "[gate]\nextends = 'strict'\n")
    Indexer(folder).update()
    assert search("of 12") == [11]
