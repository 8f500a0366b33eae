"""Partial sums of live queries as rows, which add up by their columns: those of sessions, of parts, and of all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from karat.feedback._gathering import Gathering, LatestList, LiveQuery, Said
from karat.text import folded

TRAFFIC, LIVE, FORM, INTENT, OUTCOME, LIST, WORDING, USEFUL, NOT_USEFUL, CITED, CHOSEN, CELL, LINK, USED, SAID = range(
    15
)
"""What a row has: sums of traffic; a live query; how often it has a form, an intent, an outcome; the latest list of a
system; how sessions word it; in how many of them a document was called useful, or not, cited, chosen; how often it was
shown at a rank; a golden query that is asked along with it; a document that was used; and what somebody said."""
PARTIAL: dict[str, Any] = {
    "kind": pl.Int8,
    "key": pl.String,
    "name": pl.String,
    "rank": pl.Int64,
    "count": pl.Int64,
    "clicks": pl.Int64,
    "examined": pl.Int64,
    "last": pl.Int64,
    "time": pl.Float64,
    "query": pl.String,
    "text": pl.String,
    "documents": pl.List(pl.String),
    "body": pl.Binary,
}
TEXT, DOCUMENT = "t", "d"
"""How the key of a live query begins, and that of a document."""
PIECE = 50_000
_COUNTS = ("count", "clicks", "examined", "last")
_PAIRS = {USEFUL: "useful", NOT_USEFUL: "not_useful", CITED: "cited", CHOSEN: "chosen"}


def join_frames(frames: Iterable[pl.DataFrame], rows: int = PIECE) -> Iterator[pl.DataFrame]:
    """Yield frames of at least ``rows`` rows, and one of the rest: a small one costs nearly as much as a large one."""
    held, size = list[pl.DataFrame](), 0
    for frame in frames:
        held.append(frame)
        size += len(frame)
        if size >= rows:
            yield pl.concat(held)
            held, size = [], 0
    if size:
        yield pl.concat(held)


def make_rows(kind: int, frame: pl.DataFrame) -> pl.DataFrame:
    """Return rows of a kind; a column that the frame does not have is null."""
    return _complete(frame.with_columns(pl.lit(kind, pl.Int8).alias("kind")))


def _complete(frame: pl.DataFrame) -> pl.DataFrame:
    missing = [pl.lit(None, type_).alias(name) for name, type_ in PARTIAL.items() if name not in frame.columns]
    return frame.with_columns(missing).select(list(PARTIAL)).cast(pl.Schema(PARTIAL))


def add_rows(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with those of the same key, name and rank added up. What people said stays as it is."""
    said = frame.filter(pl.col("kind") == SAID)
    lists = frame.filter(pl.col("kind") == LIST).sort("time", "query").unique(["key", "name"], keep="last")
    counts = (
        frame.filter(~pl.col("kind").is_in([SAID, LIST]))
        .group_by("kind", "key", "name", "rank")
        .agg(*(pl.col(name).sum() for name in _COUNTS), pl.col("time").max())
    )
    return pl.concat([said, lists, _complete(counts)])


def list_gathered(gathering: Gathering) -> pl.DataFrame:
    """Return what was gathered from sessions as rows."""
    rows: list[dict[str, Any]] = []
    for live in gathering.queries.values():
        rows += _list_live(live)
    for said in gathering.said:
        own = {
            "kind": SAID, "name": said.document, "rank": said.rank, "count": int(said.useful), "last": said.place,
            "time": said.time, "query": said.query, "text": said.text,
        }  # fmt: skip
        rows += [own | {"key": f"{TEXT}{folded(said.text)}"}, own | {"key": f"{DOCUMENT}{said.document}"}]
    return pl.DataFrame(rows, schema=PARTIAL)


def _list_live(live: LiveQuery) -> Iterable[dict[str, Any]]:
    key, pairs = f"{TEXT}{live.key}", live.pairs
    yield {"kind": LIVE, "key": key, "count": live.sessions, "time": live.latest}
    counted: dict[int, Mapping[Any, int]] = {
        FORM: live.forms, INTENT: live.intents, OUTCOME: live.outcomes, WORDING: pairs.forms, USED: live.used,
        LINK: dict.fromkeys(live.links, 1), **{kind: getattr(pairs, name) for kind, name in _PAIRS.items()},
    }  # fmt: skip
    for kind, counts in counted.items():
        for name, count in counts.items():
            yield {"kind": kind, "key": key, "name": name, "count": count}
    for system, shown in live.lists.items():
        yield {
            "kind": LIST, "key": key, "name": system, "time": shown.time, "query": shown.query,
            "documents": list(shown.documents),
        }  # fmt: skip
    for document, ranks in pairs.cells.items():
        for rank, (count, clicks, examined, last) in ranks.items():
            yield {
                "kind": CELL, "key": key, "name": document, "rank": rank, "count": count, "clicks": clicks,
                "examined": examined, "last": last,
            }  # fmt: skip


def read_live(rows: pl.DataFrame) -> dict[str, LiveQuery]:
    """Return the live queries that rows add up to, by their keys. Rows have been added up, by :func:`add_rows`."""
    queries: dict[str, LiveQuery] = {}
    columns = ("kind", "key", "name", "rank", *_COUNTS, "time", "query", "documents")
    for kind, key, name, rank, *cells in rows.filter(pl.col("kind") != SAID).select(columns).iter_rows():
        text = key.removeprefix(TEXT)
        live = queries.get(text)
        if live is None:
            live = queries[text] = LiveQuery(text)
        *counts, time, query, documents = cells
        if kind == LIVE:
            live.sessions, live.latest = counts[0], time
        elif kind == LIST:
            live.lists[name] = LatestList(time, query, tuple(documents))
        elif kind == CELL:
            live.pairs.cells.setdefault(name, {})[rank] = counts
        elif kind == LINK:
            live.links.add(name)
        else:
            _find_counts(live, kind)[name] = counts[0]
    return queries


def _find_counts(live: LiveQuery, kind: int) -> dict[str, int]:
    """Return the counts of a live query that rows of a kind are about."""
    if kind in _PAIRS:
        return getattr(live.pairs, _PAIRS[kind])  # type: ignore[no-any-return]
    own: dict[int, Any] = {
        FORM: live.forms, INTENT: live.intents, OUTCOME: live.outcomes, WORDING: live.pairs.forms, USED: live.used,
    }  # fmt: skip
    return own[kind]  # type: ignore[no-any-return]


def read_said(rows: pl.DataFrame) -> list[Said]:
    """Return what people said, from rows."""
    names = ("time", "query", "last", "text", "name", "count", "rank")
    return [
        Said(time, query, place, text, document, bool(useful), rank)
        for time, query, place, text, document, useful, rank in rows.select(names).iter_rows()
    ]
