"""What runs answered: lines of run files, of which the index knows where they begin."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from karat.core import InputError, Trace
from karat.files import open_file
from karat.index._columns import SIZE, Mark, unpack_columns
from karat.traces import decode_trace

_LONGEST = 64 << 20  # bytes of a line of a run file
_MANY = 500  # ids in a statement
_SOON = "it is read again within seconds"


def read_lines(
    connection: sqlite3.Connection, folder: Path, name: str, run: str, measures: int, positions: Sequence[int]
) -> dict[int, bytes]:
    """Return what a run answered to the queries at some positions, as JSON; those that it was not asked are left out.

    ``name`` is the file of the run. Raise InputError if it cannot be read.
    """
    row = connection.execute("select key from run where id = ?", (run,)).fetchone()
    if row is None:
        return {}
    (key,) = row
    offsets = _find_offsets(connection, key, measures, positions)
    lines: dict[int, bytes] = {}
    kept = [position for position, offset in offsets.items() if offset < 0]
    for position, body in select(
        connection, "select position, body from line where run = ? and position in", kept, key
    ):
        lines[position] = zlib.decompress(body)
    places = sorted((offset, position) for position, offset in offsets.items() if offset >= 0)
    if places:
        with open_file(folder / "runs" / Path(name).name) as file:
            for offset, position in places:
                file.seek(offset)
                lines[position] = file.readline(_LONGEST)
    return lines


def _find_offsets(connection: sqlite3.Connection, key: int, measures: int, positions: Sequence[int]) -> dict[int, int]:
    """Return where the lines of some queries begin, of those that were asked; -1 for one that the index has itself."""
    numbers = sorted({position // SIZE for position in positions})
    statement = "select number, body from block where run = ? and number in"
    blocks = {number: unpack_columns([body], measures) for number, body in select(connection, statement, numbers, key)}
    offsets = {}
    for position in positions:
        number, place = divmod(position, SIZE)
        block = blocks.get(number)
        if block is not None and place < len(block.marks) and block.marks[place] & Mark.ASKED:
            offsets[position] = int(block.offsets[place])
    return offsets


def decode_line(line: bytes, name: str, query: str) -> Trace:
    """Return the trace on a line of a run file; raise InputError if the file is another by now."""
    changed = InputError("has changed since it was read", source=name, hint=_SOON)
    try:
        trace = decode_trace(line, name, 1)
    except InputError:
        raise changed from None
    if trace.query != query:
        raise changed
    return trace


def select(
    connection: sqlite3.Connection, statement: str, values: Sequence[Any], *before: Any
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a statement that ends with ``in``, for some values, however many there are."""
    for start in range(0, len(values), _MANY):
        part = values[start : start + _MANY]
        marks = ", ".join("?" * len(part))
        yield from connection.execute(f"{statement} ({marks})", (*before, *part))
