"""What a Parquet file unpacks to is known before it is unpacked."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from each import each
from karat.core import InputError
from karat.measures import _frames, read_field
from karat.measures._files import find
from karat.measures._parquet_size import group_sizes, unpacked_size

WRITERS = [{}, {"compression": "zstd"}, {"use_dictionary": False}, {"data_page_version": "2.0"}]


def write_parquet(path: Path, rows: int, **options: object) -> None:
    """Write a run of one value, which takes next to nothing."""
    columns = {"query_id": ["q01"] * rows, "doc_id": ["d01"] * rows, "score": [1.0] * rows}
    pq.write_table(pa.table(columns), path, **options)


@pytest.mark.parametrize("options", WRITERS, ids=str)
def test_parquet_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, object]) -> None:
    """A file in which one value stands for a million rows is small, and what it unpacks to is counted before."""
    path = tmp_path / "run.parquet"
    write_parquet(path, 20_000, **options)
    monkeypatch.setenv("KARAT_MAX_BYTES", "64K")
    message = r"run\.parquet: unpacks to more than 65,536 bytes, the most that karat reads"
    with pytest.raises(InputError, match=message):
        karat.read_run(path).table()
    with pytest.raises(InputError, match=message):
        read_field(path, "score")


@each("options", WRITERS, ids=str)
def test_the_size_of_a_parquet_file_is_that_of_its_pages(tmp_path: Path, options: dict[str, object]) -> None:
    """As pyarrow tells it, plus what each value takes in memory, for the columns that are read."""
    path = tmp_path / "run.parquet"
    pq.write_table(pa.table({"a": [f"x{i}" for i in range(10_000)], "b": list(range(10_000))}), path,
                   row_group_size=3000, **options)  # fmt: skip
    metadata = pq.ParquetFile(path).metadata
    for column, name in enumerate("ab"):
        chunks = [metadata.row_group(group).column(column) for group in range(metadata.num_row_groups)]
        with path.open("rb") as file:
            size = unpacked_size(file, [name]) - 16 * 10_000
        told = sum(chunk.total_uncompressed_size for chunk in chunks)
        assert 0.95 * told <= size <= told  # which counts the headers of the pages, too


def test_a_parquet_file_that_lies_about_its_pages_is_refused(tmp_path: Path) -> None:
    """Bytes that are no header of a page are a mistake, and not a way around the limit."""
    path = tmp_path / "run.parquet"
    write_parquet(path, 1000, compression="none", use_dictionary=False)
    data = bytearray(path.read_bytes())
    data[4:24] = b"\xff" * 20
    path.write_bytes(data)
    with pytest.raises(InputError, match="is not a valid Parquet file: "):
        karat.score({"q01": {"d01": 1}}, path, ["P@1"])


def test_a_damaged_footer_is_one_message(tmp_path: Path) -> None:
    """Whatever byte is changed, the file is read or refused."""
    path = tmp_path / "run.parquet"
    write_parquet(path, 2)
    whole = path.read_bytes()
    for place in range(9, 600, 7):
        data = bytearray(whole)
        data[-place] ^= 0x55
        path.write_bytes(data)
        with contextlib.suppress(InputError):
            karat.score({"q01": {"d01": 1}}, path, ["P@1"])


@pytest.mark.parametrize("size", [1, 7, 40, 1_000])
def test_row_groups_of_any_size_are_read_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """In pieces of some groups, of all of them, or as Polars cuts them: every row once, in its order."""
    monkeypatch.setattr(_frames, "ROWS", 10)
    monkeypatch.setattr(_frames, "_MOST_OF_GROUP", 40)
    monkeypatch.setattr(_frames, "_LEAST_OF_GROUP", 2)
    rows = [(f"q{n // 30:02}", f"d{n}", float(-n)) for n in range(95)]
    path = tmp_path / "run.parquet"
    columns = dict(zip(("query_id", "doc_id", "score"), map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(columns), path, row_group_size=size)
    source = find(path)
    assert group_sizes(source) == [min(size, 95 - start) for start in range(0, 95, size)]
    pieces = list(_frames.parquet_frames(source, "run")())
    assert [row for piece in pieces for row in piece.iter_rows()] == rows
    if size == 7:
        assert [len(piece) for piece in pieces] == [14] * 6 + [11]
