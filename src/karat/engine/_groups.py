"""Frames cut where a group ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import polars as pl

PIECE = 100_000
"""Rows of a frame that a kernel gets, and as many more as its last group has."""


def cut_groups(frames: Iterable[pl.DataFrame], key: str, rows: int = PIECE) -> Iterator[pl.DataFrame]:
    """Yield frames of about ``rows`` rows that end where a group does, from frames in which groups are together."""
    held: list[pl.DataFrame] = []
    size, enough = 0, rows
    for frame in frames:
        if frame.is_empty():
            continue
        held.append(frame)
        size += len(frame)
        if size < enough:
            continue
        whole = pl.concat(held)
        last = find_last_start(whole[key])  # more rows of this group may come
        if last:
            yield whole[:last]
            held, size, enough = [whole[last:]], size - last, rows
        else:  # a large group; looking for its end again and again would take quadratic time
            held, enough = [whole], 2 * size
    if size:
        yield pl.concat(held)


def find_last_start(keys: pl.Series) -> int:
    """Return the row at which the last group begins."""
    starts = find_starts(keys)
    return int(starts[-1]) + 1 if len(starts) else 0


def find_starts(keys: pl.Series) -> pl.Series:
    """Return the rows after which another group begins."""
    return keys[1:].ne_missing(keys[:-1]).arg_true()
