"""Sessions in which nothing is odd, as columns: what :func:`rebuild_sessions` finds out, for all of them at once.

In such a session every event names a query that was asked before it in the same session, with a document where it
needs one, or is a free action or an outcome; no id comes twice, and nobody says twice what they think of a document.
All other sessions are left to :func:`rebuild_sessions`, which knows every case; what both count is equal.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from karat.feedback._detectors import LOOK_BACK, REPEAT_SECONDS
from karat.feedback._wordings import Flags, Ints, Wordings
from karat.online import (
    EVENT_KINDS,
    IDLE_SECONDS,
    IMPRESSION,
    RE_SEARCH,
    READ_AFTER_SEARCH,
    REFERENCE,
    TASK_OUTCOME,
    VALIDATE_NOT_USEFUL,
    VALIDATE_USEFUL,
)

_VALIDATIONS = (VALIDATE_USEFUL, VALIDATE_NOT_USEFUL)
_ABOUT = [kind for kind in EVENT_KINDS if kind != TASK_OUTCOME]
"""Events that belong to a query."""
_WHOLE = (RE_SEARCH, IMPRESSION)
"""Those among them that need no document: what others without one say is decided by :class:`AskedQueries`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainSessions:
    """The queries and events of sessions in which nothing is odd."""

    queries: pl.DataFrame
    """In the order of sessions and of time: ``row`` is their place, ``part`` the number of their session, ``key`` the
    folded text, ``before`` the row of the query that they ask again, or -1; and what became of them."""
    events: pl.DataFrame
    """``row`` is that of their query, null if they name none."""
    reads: pl.DataFrame
    """By ``row`` and ``document``, each once; ``rank`` is what the event says."""
    votes: pl.DataFrame
    """By ``row`` and ``document``, in the order of time: whether it was called ``useful``."""
    references: pl.DataFrame
    """Documents that events say were reused, by ``row``."""


def split_sessions(
    frame: pl.DataFrame, wordings: Wordings, *, searched: bool, judged: Collection[str]
) -> tuple[PlainSessions, pl.DataFrame]:
    """Return the sessions of a frame in which nothing is odd, and the records of all others.

    ``searched`` says that answers are searched for the words of documents. Answers to the queries with the keys
    ``judged`` are looked at one by one, too.
    """
    numbered = _number(frame)
    queries = numbered.filter(pl.col("kind").is_null()).with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    queries = queries.with_columns(wordings.describe(queries["text"]).drop("text"))
    events = _match(numbered.filter(pl.col("kind").is_not_null()), queries)
    odd = np.zeros(int(numbered["home_number"].max() or 0) + 1, np.bool_)  # type: ignore[arg-type]
    odd[_find_odd_queries(queries, searched, judged)] = True
    odd[_find_odd_events(events)] = True
    if odd.any():
        keep = ~odd[queries["home_number"].to_numpy()]
        queries = queries.filter(pl.Series(keep)).with_columns(row=pl.int_range(pl.len(), dtype=pl.Int64))
        events = events.filter(pl.Series(~odd[events["home_number"].to_numpy()]))
        places = np.cumsum(keep) - 1
        rows = events["row"].fill_null(0).to_numpy()
        events = events.with_columns(
            row=pl.when(pl.col("row").is_not_null()).then(pl.Series(places[rows] if len(places) else rows))
        )
    others = frame.filter(pl.Series(odd[numbered["home_number"].to_numpy()])) if odd.any() else frame.clear()
    return _follow(queries, events, wordings), others


def _number(frame: pl.DataFrame) -> pl.DataFrame:
    """Number homes, and the sessions that the records of a home make: one ends when nothing happens for long."""
    home, time = pl.col("home"), pl.col("time")
    starts = home.ne_missing(home.shift(1)) | (pl.int_range(pl.len()) == 0)
    ends = time.shift(1) < time - IDLE_SECONDS
    return frame.with_columns(
        home_number=starts.cum_sum().cast(pl.Int64) - 1,
        part=(starts | ends.fill_null(value=False)).cum_sum().cast(pl.Int64) - 1,
    )


def _match(events: pl.DataFrame, queries: pl.DataFrame) -> pl.DataFrame:
    """Return events with the row, the time and the session of the query that they name, if it is in their home."""
    names = queries.select("home_number", "row", query="id", query_time="time", query_part="part")
    first = queries.group_by("part").agg(first_time=pl.col("time").min())
    columns = ("home", "home_number", "part", "time", "id", "session", "kind", "query", "document", "rank", "value")
    return (
        events.select(columns)
        .join(names, on=["home_number", "query"], how="left", maintain_order="left")
        .join(first, on="part", how="left", maintain_order="left")
    )


def _find_odd_queries(queries: pl.DataFrame, searched: bool, judged: Collection[str]) -> Ints:
    """Return the homes with queries that have to be looked at one by one."""
    own = pl.when(pl.col("session") != "").then("s" + pl.col("session")).otherwise("q" + pl.col("id"))
    odd = (own != pl.col("home")) | ~pl.col("time").is_finite() | pl.struct("home_number", "id").is_duplicated()
    if searched:
        odd |= pl.col("answer").fill_null("") != ""
    if judged:
        odd |= pl.col("answer").is_not_null() & pl.col("key").is_in(list(judged))
    return queries.filter(odd)["home_number"].to_numpy()


def _find_odd_events(events: pl.DataFrame) -> Ints:
    """Return the homes with events that have to be looked at one by one."""
    named, time, query_time = pl.col("query") != "", pl.col("time"), pl.col("query_time")
    own = pl.when(pl.col("session") != "").then("s" + pl.col("session")).otherwise("e" + pl.col("id"))
    is_own = own == pl.col("home")
    follows = (
        (pl.col("query_part") == pl.col("part")) & (query_time <= time) & (is_own | (query_time >= time - IDLE_SECONDS))
    )
    is_free = ~pl.col("kind").is_in(_ABOUT) & (pl.col("session") != "") & is_own & (pl.col("first_time") <= time)
    is_plain = pl.when(named).then(follows).otherwise(is_free).fill_null(value=False) & time.is_finite()
    is_plain &= (pl.col("kind") != TASK_OUTCOME) | pl.col("value").is_null() | pl.col("value").is_between(0, 1)
    says_of_query = pl.col("kind").is_in(_WHOLE) | ~pl.col("kind").is_in(_ABOUT)
    is_plain &= says_of_query | (pl.col("document") != "")
    odd = events.filter(~is_plain | pl.struct("home_number", "id").is_duplicated())["home_number"]
    said = events.filter(pl.col("kind").is_in(_VALIDATIONS), pl.col("document") != "")
    again = said.filter(said.select("row", "document").is_duplicated())["home_number"]
    return np.concatenate([odd.to_numpy(), again.to_numpy()])


def _follow(queries: pl.DataFrame, events: pl.DataFrame, wordings: Wordings) -> PlainSessions:
    """Find out what became of queries."""
    about = events.filter(pl.col("document") != "").select("row", "document", "kind", "rank", "time", "id")
    reads = about.filter(pl.col("kind") == READ_AFTER_SEARCH).unique(
        ["row", "document"], keep="first", maintain_order=True
    )
    votes = about.filter(pl.col("kind").is_in(_VALIDATIONS)).with_columns(useful=pl.col("kind") == VALIDATE_USEFUL)
    references = about.filter(pl.col("kind") == REFERENCE)
    before = _find_repeats(queries, wordings)
    facts = {
        "before": before,
        "task_failed": _find_failed(queries, events),
        "read": _mark(queries, reads["row"]),
        "useful": _mark(queries, votes.filter("useful")["row"]),
        "not_useful": _mark(queries, votes.filter(~pl.col("useful"))["row"]),
        "referred": _mark(queries, references["row"]),
        "repeated": _mark(queries, events.filter(pl.col("kind") == RE_SEARCH)["row"])
        | _mark(queries, pl.Series(before[before >= 0])),
    }
    rows = queries.with_columns(pl.Series(name, values) for name, values in facts.items())
    return PlainSessions(
        queries=_find_outcomes(rows), events=events, reads=reads, votes=votes.drop("kind"), references=references
    )


def _mark(queries: pl.DataFrame, rows: pl.Series) -> Flags:
    """Return which queries are among some rows."""
    marked = np.zeros(len(queries), np.bool_)
    marked[rows.drop_nulls().to_numpy()] = True
    return marked


def find_task_values(events: pl.DataFrame) -> pl.DataFrame:
    """Return the ``part`` of each session of which was said how its task ended, and the ``value`` that was said last.

    See :func:`karat.feedback._matching.find_task_value`.
    """
    said = events.filter(pl.col("kind") == TASK_OUTCOME, pl.col("value").is_not_null())
    return said.unique("part", keep="last", maintain_order=True).select("part", "value")


def _find_failed(queries: pl.DataFrame, events: pl.DataFrame) -> Flags:
    """Return whether the task of each query failed; see :func:`karat.feedback._matching.has_failed`."""
    ended = find_task_values(events)
    parts = queries["part"].to_numpy()
    failed = np.zeros(int(parts[-1]) + 1 if len(parts) else 0, np.bool_)
    failed[ended["part"].to_numpy()] = ended["value"].to_numpy() <= 0
    flags: Flags = failed[parts]
    return flags


def _find_repeats(queries: pl.DataFrame, wordings: Wordings) -> Ints:
    """Return for each query the row of the one before it that it asks again, or -1; see :func:`find_repeats`."""
    part, time, number = (queries[name].to_numpy() for name in ("part", "time", "number"))
    before = np.full(len(queries), -1, np.int64)
    for back in range(1, LOOK_BACK + 1):
        later = np.flatnonzero(before < 0)
        later = later[later >= back]
        later = later[part[later] == part[later - back]]
        passed = time[later] - time[later - back]
        later = later[(passed >= 0) & (passed <= REPEAT_SECONDS)]
        later = later[wordings.compare(number[later - back], number[later])]
        before[later] = later - back
    return before


def _find_outcomes(queries: pl.DataFrame) -> pl.DataFrame:
    """Add what :class:`AskedQuery` says: whether nothing was found, the outcome, and whether that is a failure."""
    col: Any = pl.col
    has_hits = col("hits").list.len().fill_null(0) > 0
    is_error, is_cited = col("error") != "", col("citations").list.len().fill_null(0) > 0
    helpful = (col("referred") | is_cited) & ~col("task_failed")
    outcome = (
        pl.when("is_error").then(pl.lit("error"))
        .when("is_empty").then(pl.lit("nothing found"))
        .when(~col("useful") & col("not_useful")).then(pl.lit("not useful"))
        .when(~col("useful") & col("repeated")).then(pl.lit("asked again"))
        .when(col("read") | helpful | col("useful")).then(pl.lit("used"))
        .otherwise(pl.lit("unknown"))
    )  # fmt: skip
    return (
        queries.with_columns(has_hits=has_hits, is_error=is_error, is_cited=is_cited)
        .with_columns(is_empty=(~col("has_hits") & (col("count") == 0) & ~col("is_error")).fill_null(value=False))
        .with_columns(outcome=outcome)
        .with_columns(
            failed=~col("outcome").is_in(["used", "unknown"]),
            is_used_by_answer=(col("outcome") == "used") & ~col("read") & ~col("useful"),
        )
    )
