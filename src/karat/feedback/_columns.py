"""Sums over plain sessions, by column: those of traffic, and rows of live queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl

from karat.core import GoldenSet
from karat.feedback._counting import add_counts
from karat.feedback._plain import PlainSessions, find_task_values
from karat.feedback._rows import (
    CELL,
    CHOSEN,
    CITED,
    DOCUMENT,
    FORM,
    INTENT,
    LINK,
    LIST,
    LIVE,
    NOT_USEFUL,
    OUTCOME,
    SAID,
    TEXT,
    USED,
    USEFUL,
    WORDING,
    make_rows,
)
from karat.feedback._traffic import BY_ANSWER, COVERED, VALIDATED, Traffic, name_day

_DAY = 86_400
_OUTCOMES = ("asked again", "not useful", "used", "unknown")


def add_traffic(sums: Traffic, plain: PlainSessions, golden: GoldenSet | None, known: Mapping[str, str]) -> None:
    """Add plain sessions to the sums of traffic; see :class:`TrafficCounter`."""
    queries, events = plain.queries, plain.events
    if queries.is_empty():
        return
    sums.queries += len(queries)
    sums.events += len(events)
    sums.weight.add_all(queries["weight"].to_numpy())
    ended = find_task_values(events)["value"]
    sums.outcomes += len(ended)
    sums.outcome.add_all(ended.to_numpy())
    times = queries["time"].to_numpy()
    sums.first, sums.last = min(sums.first, float(times.min())), max(sums.last, float(times.max()))
    latencies = queries["latency"].drop_nulls()
    sums.oddities.negative_latencies += int((latencies < 0).sum())
    sums.latencies.add_all(latencies.filter(latencies >= 0).to_numpy())
    sums.ranks.add_all(_find_ranks(plain).drop_nulls().cast(pl.Float64).to_numpy())
    spans = pl.concat([queries.select("part", "time"), events.select("part", "time")]).group_by("part")
    seconds = spans.agg(pl.col("time").max() - pl.col("time").min())["time"]
    sums.sessions += len(seconds)
    sums.seconds.add_all(seconds.to_numpy())
    _add_groups(sums, queries)
    _add_rates(sums, queries, golden, known)


def _add_groups(sums: Traffic, queries: pl.DataFrame) -> None:
    """Add how many queries there are of each day and intent."""
    day = queries.group_by((pl.col("time") // _DAY).cast(pl.Int64).alias("day")).agg(pl.len(), pl.col("failed").sum())
    for number, count, failed in day.iter_rows():
        add_counts(sums.days, {name_day(number): count})
        if failed:
            add_counts(sums.failures, {name_day(number): failed})
    for intent, outcome, count in queries.group_by("intent", "outcome").len().iter_rows():
        add_counts(sums.intents.setdefault(intent, {}), {outcome: count})


def _add_rates(sums: Traffic, queries: pl.DataFrame, golden: GoldenSet | None, known: Mapping[str, str]) -> None:
    """Add how many queries of each session a rate counts, and of how many."""
    always = pl.lit(value=True)
    is_known = pl.col("count").is_not_null() | pl.col("has_hits") | pl.col("is_error")
    facts = {
        "nothing found": ("is_empty", is_known),
        "error": ("is_error", always),
        "failed": ("failed", always),
        BY_ANSWER: ("is_used_by_answer", always),
        VALIDATED: ("useful", pl.col("useful") | pl.col("not_useful")),
        **{name: (f"is {name}", always) for name in _OUTCOMES},
    }
    table = queries.with_columns((pl.col("outcome") == name).alias(f"is {name}") for name in _OUTCOMES)
    if golden is not None:
        facts[COVERED] = ("is_covered", always)
        table = table.with_columns(is_covered=pl.col("key").is_in(list(known)))
        sums.met.update(known[key] for key in table.filter("is_covered")["key"].unique())
    wanted = [
        expression.cast(pl.Int64).sum().alias(f"{place}{name}")
        for name, (fact, is_counted) in facts.items()
        for place, expression in (
            ("count", pl.col(fact) & is_counted),
            ("total", pl.col("row").is_not_null() & is_counted),
        )
    ]
    sessions = table.group_by("part").agg(wanted)
    for name in facts:
        sums.rates[name].add_all(sessions[f"count{name}"].to_numpy(), sessions[f"total{name}"].to_numpy())


def _find_ranks(plain: PlainSessions) -> pl.Series:
    """Return the rank at which each document was read: that of the event, or else that of the list."""
    unknown = plain.reads.filter(pl.col("rank").fill_null(0) == 0)
    known = plain.reads.filter(pl.col("rank").fill_null(0) != 0)["rank"]
    return pl.concat([known, rank_documents(plain, unknown)])


def rank_documents(plain: PlainSessions, pairs: pl.DataFrame) -> pl.Series:
    """Return the rank at which the list of a query, by ``row``, has a document; null if it does not have it."""
    if pairs.is_empty():
        return pl.Series("rank", [], pl.Int64)
    shown = _list_hits(plain.queries.join(pairs.select("row").unique(), on="row", how="semi"))
    shown = shown.unique(["row", "document"], keep="first", maintain_order=True)
    ranked = pairs.select("row", "document").join(shown, on=["row", "document"], how="left", maintain_order="left")
    return ranked["rank"]


def _list_hits(queries: pl.DataFrame) -> pl.DataFrame:
    """Return the hits of queries, in their order: row, document, rank, chunk."""
    return queries.filter("has_hits").select("row", "hits").explode("hits").unnest("hits")


def list_plain(plain: PlainSessions, *, lists: bool, known: Mapping[str, str]) -> Iterator[pl.DataFrame]:
    """Yield the rows of the live queries of plain sessions; see :class:`Gathering`."""
    worded = plain.queries.filter(pl.col("key") != "").with_columns(text_key=TEXT + pl.col("key"))
    worded = worded.rename({"key": "folded", "text_key": "key"})
    yield make_rows(
        LIVE,
        worded.group_by("key").agg(
            pl.col("part").n_unique().alias("count"), pl.col("time").max().clip(lower_bound=0.0)
        ),
    )
    for kind, name in ((FORM, "form"), (INTENT, "intent"), (OUTCOME, "outcome")):
        own = worded.filter(pl.col(name) != "") if kind == INTENT else worded
        yield _count(kind, own.select("key", name=name))
    if lists:
        yield from _list_lists(plain, worded)
        yield from _list_said(plain)
        if known:
            yield from _list_used(plain, worded, known)


def _count(kind: int, rows: pl.DataFrame) -> pl.DataFrame:
    return make_rows(kind, rows.group_by("key", "name").len("count"))


def _list_lists(plain: PlainSessions, worded: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield the rows about documents: the latest lists, and what each session did with one list."""
    latest = worded.filter("has_hits").sort("time", "id").unique(["key", "system"], keep="last")
    documents = pl.col("hits").list.eval(pl.element().struct.field("document")).list.unique(maintain_order=True)
    yield make_rows(LIST, latest.select("key", "time", name="system", query="id", documents=documents))
    groups = worded.sort("row").group_by("part", "key", maintain_order=True)
    row, is_read = pl.col("row"), pl.col("read")
    chosen = groups.agg(
        pl.coalesce(row.filter(is_read).first(), row.last()).alias("row"), pl.col("text").last().alias("name")
    )
    yield _count(WORDING, chosen.select("key", "name"))
    own = worded.select("row", "part", "key")
    votes, reads = plain.votes.select("row", "document", "useful"), plain.reads.select("row", "document")
    useful, not_useful = votes.filter("useful").drop("useful"), votes.filter(~pl.col("useful")).drop("useful")
    for kind, pairs in (
        (USEFUL, useful),
        (NOT_USEFUL, not_useful),
        (CITED, find_helpful(plain)),
        (CHOSEN, pl.concat([reads, useful])),
    ):
        sessions = pairs.join(own, on="row").unique(["part", "key", "document"])
        yield _count(kind, sessions.select("key", name="document"))
    yield _list_cells(worded.join(chosen.select("row"), on="row", how="semi"), reads)


def _list_cells(queries: pl.DataFrame, reads: pl.DataFrame) -> pl.DataFrame:
    """Return how often documents were shown and read, by rank; see :meth:`QueryPairs.add`."""
    shown = _list_hits(queries).filter(pl.col("rank") >= 1).select("row", "document")
    shown = shown.unique(maintain_order=True)
    rows = shown["row"].to_numpy()
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    lengths = np.diff(starts, append=len(rows))
    rank = np.arange(len(rows)) - np.repeat(starts, lengths) + 1
    read = shown.join(reads.with_columns(is_read=True), on=["row", "document"], how="left", maintain_order="left")
    is_read = read["is_read"].fill_null(value=False).to_numpy()
    deepest = np.maximum.reduceat(np.where(is_read, rank, 0), starts) if len(rows) else rank
    last = np.repeat(deepest, lengths)
    keys = shown.select("row").join(queries.select("row", "key"), on="row", how="left", maintain_order="left")["key"]
    table = pl.DataFrame(
        {
            "key": keys,
            "name": shown["document"],
            "rank": rank,
            "clicks": is_read.astype(np.int64),
            "examined": ((last == 0) | (rank <= last)).astype(np.int64),
            "last": (rank == last).astype(np.int64),
        }
    )
    counts = table.group_by("key", "name", "rank").agg(
        pl.len().alias("count"), pl.col("clicks", "examined", "last").sum()
    )
    return make_rows(CELL, counts)


def find_helpful(plain: PlainSessions) -> pl.DataFrame:
    """Return the documents that were cited or reused, by ``row``, unless the task failed."""
    queries = plain.queries.filter(~pl.col("task_failed"))
    cited = queries.filter("is_cited")
    names = cited.select("row", "citations").explode("citations").rename({"citations": "id"})
    hits = _list_hits(cited).with_columns(
        id=pl.when(pl.col("chunk").fill_null("") != "").then("chunk").otherwise("document")
    )
    parts = hits.unique(["row", "id"], keep="last").select("row", "id", "document")
    documents = names.join(parts, on=["row", "id"], how="left").select(
        "row", pl.coalesce("document", "id").alias("document")
    )
    referred = plain.references.select("row", "document").join(queries.select("row"), on="row", how="semi")
    return pl.concat([documents, referred]).unique()


def _list_said(plain: PlainSessions) -> Iterator[pl.DataFrame]:
    """Yield the rows of what people said: what is useful first, and then what is not, in the order of time."""
    votes = plain.votes.sort("row", "useful", descending=[False, True], maintain_order=True)
    votes = votes.with_columns(rank=rank_documents(plain, votes), last=pl.int_range(pl.len()).over("row"))
    queries = plain.queries.select("row", "text", "key", time="time", query="id")
    said = votes.drop("time", "id").join(queries, on="row", how="left", maintain_order="left")
    said = said.with_columns(pl.col("useful").cast(pl.Int64).alias("count"), name=pl.col("document"))
    yield make_rows(SAID, said.with_columns(key=TEXT + pl.col("key")))
    yield make_rows(SAID, said.with_columns(key=DOCUMENT + pl.col("name")))


def _list_used(plain: PlainSessions, worded: pl.DataFrame, known: Mapping[str, str]) -> Iterator[pl.DataFrame]:
    """Yield what says that a wording means the same as a golden query."""
    names = pl.DataFrame(
        {"key": list(known), "golden": list(known.values())}, schema={"key": pl.String, "golden": pl.String}
    )
    again = plain.queries.filter(pl.col("before") >= 0).select("key", row="before")
    both = again.join(plain.queries.select("row", other="key"), on="row")
    ways = pl.concat([both.select("key", "other"), both.select(key="other", other="key")]).unique()
    ways = (
        ways.filter(pl.col("key") != "").join(names, on="key", how="anti").join(names, left_on="other", right_on="key")
    )
    yield make_rows(LINK, ways.select(TEXT + pl.col("key"), count=pl.lit(1), name="golden").unique())
    own = worded.join(names, left_on="folded", right_on="key", how="anti").select("row", "part", "key")
    votes = plain.votes.select("row", "document", "useful")
    used = pl.concat(
        [plain.reads.select("row", "document"), votes.filter("useful").drop("useful"), find_helpful(plain)]
    )
    used = used.join(votes.filter(~pl.col("useful")), on=["row", "document"], how="anti")
    sessions = used.join(own, on="row").unique(["part", "key", "document"])
    yield _count(USED, sessions.select("key", name="document"))
