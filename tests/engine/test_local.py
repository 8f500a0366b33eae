"""The engine that is this process: streaming, bringing together, limits, and files that are not right."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernels import COUNT, SUMMARY, count_parts, pass_on, refuse_negative, sum_up
from polars.testing import assert_frame_equal
from rows import draw_rows, expect, run, write

from karat import score
from karat.core import InputError, UsageError
from karat.engine import LocalEngine, Operation, Source, collect_results, open_engine
from karat.engine._groups import cut_groups
from karat.engine._local import is_grouped

DAY = dt.date(2026, 11, 1)


@pytest.mark.parametrize("memory", [1 << 30, 200_000, 20_000])
@pytest.mark.parametrize("grouped", [True, False])
def test_the_result_depends_neither_on_memory_nor_on_the_order_of_rows(
    tmp_path: Path, memory: int, grouped: bool
) -> None:
    """In memory, streamed or by way of the disk: the same rows, to the last bit."""
    frame = draw_rows(1, 20_000, 700)
    rows = frame.sort(pl.col("session").str.reverse(), "value") if grouped else frame
    engine = LocalEngine(memory=memory, folder=tmp_path)
    source = write(rows, tmp_path / "rows", files=3)
    assert_frame_equal(run(engine, sum_up(), source), expect(frame), check_exact=True)
    assert [path.name for path in tmp_path.iterdir()] == ["rows"]  # what was on the disk is gone


def test_rows_that_lie_together_need_no_disk_and_others_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part is a call of the kernel: one where rows are streamed, many where they were brought together."""
    frame = draw_rows(2, 20_000, 700)
    engine = LocalEngine(memory=100_000, folder=tmp_path)
    together = run(engine, sum_up(count_parts, COUNT), write(frame.sort("session"), tmp_path / "a"))
    assert together.rows() == [(20_000, 700)]
    apart = run(engine, sum_up(count_parts, COUNT), write(frame, tmp_path / "b"))
    assert len(apart) > 10
    assert apart.sum().rows() == [(20_000, 700)]


@given(st.lists(st.sampled_from(["a", "b", None]), max_size=30), st.integers(1, 5), st.integers(1, 10))
def test_groups_are_cut_where_they_end(keys: list[str | None], width: int, rows: int) -> None:
    """No group is in two frames, no row is lost, and rows that do not stand together are noticed."""
    column = pl.Series("key", keys, pl.String)
    frames = [column[start : start + width].to_frame() for start in range(0, len(keys), width)]
    pieces = list(cut_groups(frames, "key", rows))
    assert [key for piece in pieces for key in piece["key"].to_list()] == keys
    starts = [key for i, key in enumerate(keys) if not i or keys[i - 1] != key]
    assert sum(len(piece["key"].rle()) for piece in pieces) == len(starts)
    assert is_grouped(frame["key"] for frame in frames) == (len(starts) == len(set(starts)))


def test_a_group_larger_than_a_frame_is_not_cut() -> None:
    """Its rows are put together a few times, not once for each frame."""
    frames = (pl.DataFrame({"key": ["a"] * 10}) for _ in range(1000))
    assert [len(frame) for frame in cut_groups(frames, "key", 10)] == [10_000]


def test_folders_give_values_and_limits_skip_them(tmp_path: Path) -> None:
    """Days are folders; files of other days are not opened, and a value of no folder is null."""
    for name in ("day=2026-11-01", "day=2026-11-02", "day=2026-11-03", "_temporary", ".hidden", "other"):
        (tmp_path / name).mkdir()
        pl.DataFrame({"q": ["x", "y"], "n": [1, 2]}).write_parquet(tmp_path / name / "a.parquet")
    (tmp_path / "day=2026-11-03" / "a.parquet").write_bytes(b"not opened")
    (tmp_path / "day=__HIVE_DEFAULT_PARTITION__").mkdir()
    pl.DataFrame({"q": ["z"]}).write_parquet(tmp_path / "day=__HIVE_DEFAULT_PARTITION__" / "a.pq")
    columns = {"query": pl.String, "day": pl.Date, "n": pl.Int8}
    operation = Operation(name="look", key="query", columns=columns, schema=columns, kernel=pass_on)
    names = {"query": "q"}
    source = Source(paths=(str(tmp_path),), names=names, within={"day": (DAY, dt.date(2026, 11, 3))})
    rows = collect_results(LocalEngine(), operation, source).sort("day", "query").rows()
    second = dt.date(2026, 11, 2)
    assert rows == [("x", DAY, 1), ("y", DAY, 2), ("x", second, 1), ("y", second, 2)]
    undated = Source(paths=(str(tmp_path / "day=__HIVE_DEFAULT_PARTITION__"),), names=names)
    with pytest.raises(InputError, match="there is no column 'day'"):
        collect_results(LocalEngine(), operation, undated)
    (tmp_path / "day=2026-11-03" / "a.parquet").unlink()
    every = Source(paths=(str(tmp_path),), names=names)
    assert collect_results(LocalEngine(), operation, every).filter(query="z").rows() == [("z", None, None)]
    (tmp_path / "day=today").mkdir()
    pl.DataFrame({"q": ["x"], "n": [1]}).write_parquet(tmp_path / "day=today" / "a.parquet")
    with pytest.raises(
        InputError, match=r"day=today/a\.parquet: cannot be read as Parquet: conversion from `str` to `date`"
    ):
        collect_results(LocalEngine(), operation, source)
    schema = LocalEngine().read_schema((str(tmp_path),))
    assert schema == {"day": pl.Null, "q": pl.String, "n": pl.Int64}


def test_a_name_with_a_star_is_that_of_a_file(tmp_path: Path) -> None:
    """Polars would take it for a pattern, and read another file, or the same one twice."""
    for name in ("ra.parquet", "r[a].parquet", "*.parquet"):
        pl.DataFrame({"q": [name], "n": [1]}).write_parquet(tmp_path / name)
    columns = {"q": pl.String, "n": pl.Int8}
    operation = Operation(name="look", key="q", columns=columns, schema=columns, kernel=pass_on)
    for path, expected in ((tmp_path / "r[a].parquet", ["r[a].parquet"]), (tmp_path, None)):
        rows = collect_results(LocalEngine(), operation, Source(paths=(str(path),)))
        assert sorted(rows["q"]) == (expected or sorted(["ra.parquet", "r[a].parquet", "*.parquet"]))
    assert score({"q": {"d": 1}}, str(_write_run(tmp_path / "x[y].parquet", "d")), ["P@1"]).mean() == {"P@1": 1.0}
    _write_run(tmp_path / "xy.parquet", "other")
    assert score({"q": {"d": 1}}, str(tmp_path / "x[y].parquet"), ["P@1"]).mean() == {"P@1": 1.0}


def _write_run(path: Path, document: str) -> Path:
    pl.DataFrame({"q_id": ["q"], "doc_id": [document], "score": [1.0]}).write_parquet(path)
    return path


def test_a_folder_within_itself_is_refused(tmp_path: Path) -> None:
    """Two links would make a path for each order in which they are followed."""
    pl.DataFrame({"session": ["a"], "at": [1], "value": [1.0]}).write_parquet(tmp_path / "x.parquet")
    for name in ("a=1", "b=1"):
        (tmp_path / name).symlink_to(tmp_path)
    with pytest.raises(InputError, match="a=1: this folder is a link to one that it lies in"):
        list(LocalEngine().process(sum_up(), Source(paths=(str(tmp_path),))))


def test_limits_are_those_of_a_column_that_nobody_reads(tmp_path: Path) -> None:
    """The first limit is included, the second is not, and either may be missing."""
    pl.DataFrame({"q": ["a", "b", "c"], "n": [1, 2, 3]}).write_parquet(tmp_path / "a.parquet")
    columns = {"q": pl.String}
    operation = Operation(name="look", key="q", columns=columns, schema=columns, kernel=pass_on)
    for limits, expected in (((2, 3), "b"), ((None, 2), "a"), ((2, None), "bc"), ((9, None), "")):
        source = Source(paths=(str(tmp_path / "a.parquet"),), within={"n": limits})
        rows = collect_results(LocalEngine(), operation, source)
        assert "".join(rows["q"].sort()) == expected


def test_bad_input_is_one_clear_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong, and where."""
    good, bad, empty = tmp_path / "good.parquet", tmp_path / "bad.parquet", tmp_path / "empty"
    pl.DataFrame({"session": ["a"], "at": ["x"], "value": [-1.0]}).write_parquet(good)
    bad.write_bytes(b"PAR1 no")
    empty.mkdir()
    for path, message in (
        (tmp_path / "none.parquet", "none.parquet: no such file"),
        (bad, "bad.parquet: cannot be read as Parquet"),
        (good, "good.parquet: cannot be read as Parquet: conversion"),
        (empty, "no Parquet files in this folder; files end in .parquet"),
    ):
        with pytest.raises(InputError, match=message):
            list(LocalEngine().process(sum_up(), Source(paths=(str(path),))))
    with pytest.raises(UsageError, match="s3a://bucket/rows: this process reads files and folders only"):
        list(LocalEngine().process(sum_up(), Source(paths=("s3a://bucket/rows",))))
    monkeypatch.setenv("KARAT_MAX_BYTES", "10")
    with pytest.raises(InputError, match="unpacks to more than 10 bytes"):
        list(LocalEngine().process(sum_up(), Source(paths=(str(good),))))


def test_errors_of_kernels_come_out_as_they_are(tmp_path: Path) -> None:
    """A kernel may refuse rows; one that yields other columns than it promises is a bug."""
    source = write(draw_rows(3, 50, 5), tmp_path / "rows")
    with pytest.raises(InputError, match=r"session s\d has a negative value; mend it"):
        list(LocalEngine().process(sum_up(refuse_negative), source))
    with pytest.raises(TypeError, match="operation sum up yields"):
        list(LocalEngine().process(sum_up(schema={"rows": pl.Int8}), source))
    with pytest.raises(ValueError, match="operation x: no column b"):
        Operation(name="x", key="b", columns={"a": pl.String}, schema={}, kernel=refuse_negative)


def test_no_rows_are_no_results(tmp_path: Path) -> None:
    """The kernel is not called."""
    write(draw_rows(4, 10, 3)[:0], tmp_path / "rows")
    with open_engine() as engine:
        assert collect_results(engine, sum_up(), Source(paths=(str(tmp_path / "rows"),))).schema == SUMMARY


def test_an_unknown_engine_is_refused() -> None:
    """The message names those that are known."""
    for address in ("yarn", "spark://", "spark://host", "spark://host:0", "spark://host:99999", "spark://u@host:1",
                    "local-cluster[0,1,1024]", "local-cluster[2,1]", "local[2]", ""):  # fmt: skip
        with pytest.raises(UsageError, match=r"is unknown; karat knows local, spark://HOST:PORT"):
            open_engine(address)
    for address in ("spark://a:1,b:2", "spark://[::1]:7077", "local-cluster[2,1,1024]"):
        assert open_engine(address).address == address  # nothing is started
