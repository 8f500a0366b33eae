"""A run in parts, each with whole queries: aligned wherever they are, and joined to the same alignment.

What a part says is whole numbers only, so that no order and no cut can change what comes out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from karat.core import InputError, shorten
from karat.measures._alignment import Alignment, Judgments, align
from karat.measures._classes import collapse_run
from karat.measures._columns import bad_value, find_columns
from karat.measures._frames import _three_columns, frames_table
from karat.measures._stream import NotUnderstood, align_pieces, with_pieces

PART_COLUMNS = {"query": pl.String, "document": pl.String, "value": pl.Float64}
"""The columns of a part's rows; those of a query stand together."""
PART_SCHEMA = {"kind": pl.String, "index": pl.Int64, "value": pl.Int64}
"""What is said of a part: how many documents a query has, the rank of a judged pair, how many queries have none."""


def find_run_columns(schema: Mapping[str, Any], source: str) -> dict[str, str]:
    """Return what the columns of a part are called in files; raise InputError if one is missing or of a wrong type."""
    names = find_columns(list(schema), "run", source)
    _three_columns(pl.DataFrame(schema=dict(schema)).lazy(), names, source)
    return dict(zip(PART_COLUMNS, names, strict=True))


def align_part(
    frames: Iterator[pl.DataFrame], *, judgments: Judgments, source: str, classes: Mapping[str, str] | None = None
) -> Iterator[pl.DataFrame]:
    """Yield what a part of a run contributes to an alignment with judgments, or with judgments of ``classes``."""
    checked = (_check(frame, source) for frame in frames)
    if classes is not None:
        alignment = align(judgments, collapse_run(frames_table(lambda: checked, source), classes))
    else:
        try:
            alignment = with_pieces(lambda: checked, source, lambda pieces: align_pieces(judgments, pieces))
        except NotUnderstood:  # two judged pairs have one hash, which is seen before any row is read
            alignment = align(judgments, frames_table(lambda: checked, source))
    ranked, present = np.flatnonzero(alignment.ranks), np.flatnonzero(alignment.in_run)
    yield _table("rank", ranked, alignment.ranks[ranked])
    yield _table("retrieved", present, alignment.retrieved[present])
    yield _table("not judged", np.zeros(1, np.int64), np.array([alignment.not_judged]))


def join_parts(judgments: Judgments, parts: Iterable[pl.DataFrame]) -> tuple[Alignment, int]:
    """Return the alignment of a run whose parts hold whole queries, and how many queries the run has."""
    ranks = np.zeros(len(judgments.grades), np.int64)
    retrieved = np.zeros(len(judgments.queries), np.int64)
    in_run = np.zeros(len(judgments.queries), np.bool_)
    not_judged = 0
    for part in parts:
        for (kind,), rows in part.partition_by("kind", as_dict=True).items():
            index, value = rows["index"].to_numpy(), rows["value"].to_numpy()
            if kind == "rank":
                ranks[index] = value
            elif kind == "retrieved":
                retrieved[index], in_run[index] = value, True
            else:
                not_judged += int(value.sum())
    alignment = judgments.alignment(ranks=ranks, retrieved=retrieved, in_run=in_run, not_judged=not_judged)
    return alignment, int(in_run.sum()) + not_judged


def _table(kind: str, index: Any, value: Any) -> pl.DataFrame:
    columns = {"kind": pl.Series([kind], dtype=pl.String).new_from_index(0, len(index)), "index": index, "value": value}
    return pl.DataFrame(columns, schema=PART_SCHEMA)


def _check(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return rows, or raise InputError for one without an id or without a finite score."""
    for name in ("query", "document"):
        bad = frame[name].is_null() | (frame[name] == "")
        if bad.any():
            other = "document" if name == "query" else "query"
            beside = frame[other][bad.arg_max() or 0]
            raise InputError(f"a row with the {other} {shorten(beside)} has no {name} id", source=source)
    good = frame["value"].is_finite().fill_null(value=False)
    if not good.all():
        query, document, value = frame.row((~good).arg_max() or 0)
        where = f"{source}, query {shorten(query)}, document {shorten(document)}"
        raise bad_value("run", value, where, None)
    return frame
