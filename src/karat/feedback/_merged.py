"""Kernels: what the rows of live queries and documents, from all parts of a log, add up to.

They get all rows of each live query and document. Only the queries that are listed or chosen become objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from karat.core import GoldenSet
from karat.feedback._choosing import draw_place
from karat.feedback._counting import encode, trim
from karat.feedback._learning import LEAST_SESSIONS, TriggerPhrase, order_confidences, rate_document
from karat.feedback._picking import HarvestPicker, HarvestPlan, HarvestSums
from karat.feedback._report import Ranking
from karat.feedback._rows import (
    CELL,
    CHOSEN,
    DOCUMENT,
    FORM,
    INTENT,
    LINK,
    LIVE,
    NOT_USEFUL,
    OUTCOME,
    PARTIAL,
    SAID,
    TEXT,
    USED,
    USEFUL,
    add_rows,
    join_frames,
    read_live,
    read_said,
)
from karat.feedback._sessions import OUTCOMES
from karat.feedback._traffic import index_golden
from karat.stats.clicks import Cells, ClickTotals

MERGED: dict[str, Any] = {"body": pl.Binary}
_LIVE: dict[str, Any] = {
    "key": pl.String,
    "sessions": pl.Int64,
    "failures": pl.Int64,
    "used": pl.Int64,
    "outcome": pl.String,
    "intent": pl.String,
}
_CHOSEN: dict[str, Any] = {**_LIVE, "place": pl.Binary}


def rank_queries(frames: Iterable[pl.DataFrame], *, shown: int, known: Mapping[str, str]) -> Iterator[pl.DataFrame]:
    """Yield what a report lists of some live queries."""
    ranking = Ranking(shown)
    names = pl.Series([f"{TEXT}{key}" for key in known], dtype=pl.String)
    for frame in join_frames(frames):
        rows = add_rows(frame)
        live = describe_live(rows)
        unseen = live.filter(~pl.col("key").is_in(names.implode()))
        worst = live.filter(pl.col("failures") > 0)
        worst = worst.sort("failures", "sessions", "key", descending=[True, True, False]).head(shown)
        frequent = unseen.sort("sessions", "failures", "key", descending=[True, True, False]).head(shown)
        listed = rows.filter(pl.col("key").is_in(pl.concat([worst["key"], frequent["key"]]).implode()))
        queries = read_live(listed)
        lists = ([queries[key[1:]] for key in own["key"]] for own in (worst, frequent))
        ranking.merge(Ranking(shown, len(unseen), *lists))
    yield wrap(ranking)


def describe_live(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the live queries among rows: their sessions and failures, and the outcome and intent of most."""
    live = rows.filter(pl.col("kind") == LIVE).select("key", sessions="count")
    order = {outcome: place for place, outcome in enumerate(OUTCOMES)}
    ended = rows.filter(pl.col("kind") == OUTCOME).with_columns(
        place=pl.col("name").replace_strict(order, return_dtype=pl.Int64)
    )
    failed = ~pl.col("name").is_in(["used", "unknown"])
    outcomes = (
        ended.sort("count", "place", descending=[True, False])
        .group_by("key", maintain_order=True)
        .agg(
            pl.col("count").filter(failed).sum().alias("failures"),
            pl.col("count").filter(pl.col("name") == "used").sum().alias("used"),
            pl.col("name").first().alias("outcome"),
        )
    )
    intents = rows.filter(pl.col("kind") == INTENT).sort("count", "name", descending=[True, False])
    intents = intents.unique("key", keep="first", maintain_order=True).select("key", intent="name")
    both = live.join(outcomes, on="key", how="left").join(intents, on="key", how="left")
    return both.with_columns(pl.col("intent").fill_null(""), pl.col("failures", "used").fill_null(0)).select(
        pl.col(name).cast(type_) for name, type_ in _LIVE.items()
    )


def make_cells(rows: pl.DataFrame) -> tuple[Cells, pl.DataFrame]:
    """Return how often each pair of query and document was shown and read at each rank, and the pairs."""
    rows = rows.filter(pl.col("kind") == CELL).sort("key", "name", "rank")
    key, name = pl.col("key"), pl.col("name")
    starts = rows.select((key != key.shift(1)) | (name != name.shift(1))).to_series().fill_null(value=True)
    items = np.cumsum(starts.to_numpy()) - 1
    ranks, shown, clicks, examined, last = (
        rows[column].to_numpy() for column in ("rank", "count", "clicks", "examined", "last")
    )
    pairs = rows.filter(starts).select(key.str.slice(1).alias("query"), name.alias("document"))
    return Cells(items=items, ranks=ranks, shown=shown, clicks=clicks, examined=examined, last=last), pairs


def pick_queries(
    frames: Iterable[pl.DataFrame], *, golden: GoldenSet | None, plan: HarvestPlan, most: int
) -> Iterator[pl.DataFrame]:
    """Yield what a harvest takes of some live queries and documents."""
    picker = RowPicker(golden, plan, most)
    for frame in join_frames(frames):
        picker.add(add_rows(frame))
    yield wrap(picker.finish())


@dataclass(slots=True)
class RowPicker:
    """Adds the rows of live queries to the sums of a harvest, as :class:`HarvestPicker` adds live queries."""

    golden: GoldenSet | None
    plan: HarvestPlan
    most: int
    _picker: HarvestPicker = field(init=False)
    _known: pl.Series = field(init=False)
    _said: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PARTIAL))
    _phrases: pl.DataFrame | None = None
    _chosen: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_CHOSEN))
    _rows: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PARTIAL))
    """All rows of those that are chosen."""

    def __post_init__(self) -> None:
        self._picker = HarvestPicker(self.golden, self.plan, self.most)
        self._known = pl.Series([f"{TEXT}{key}" for key in index_golden(self.golden)], dtype=pl.String)

    def add(self, rows: pl.DataFrame) -> None:
        """Add rows, which have been added up."""
        sums, live = self._picker.sums, describe_live(rows)
        is_rare, is_known = pl.col("sessions") < self.plan.least_sessions, pl.col("key").is_in(self._known.implode())
        sums.distinct += len(live)
        sums.known += len(live.filter(is_known))
        sums.rare += len(live.filter(is_rare & ~is_known))
        said = rows.filter(pl.col("kind") == SAID)
        is_text = pl.col("key").str.starts_with(TEXT)
        self._add_said(said.filter(is_text).join(live.filter(is_rare), on="key", how="anti"))
        self._add_documents(said.filter(~is_text))
        self._add_phrases(rows)
        sums.totals.merge(ClickTotals.of(make_cells(rows)[0]))
        self._choose(live.filter(~is_rare & ~is_known), rows.filter(pl.col("kind") != SAID))

    def finish(self) -> HarvestSums:
        """Return the sums."""
        sums, phrases = self._picker.sums, self._phrases
        sums.said = read_said(self._said)
        if phrases is not None:
            sums.phrases = [TriggerPhrase(**row) for row in phrases.iter_rows(named=True)]
        queries, choice = read_live(self._rows), sums.choice
        for key, intent, outcome, place in self._chosen.select("key", "intent", "outcome", "place").iter_rows():
            live = queries[key[1:]]
            own = choice.failing if place is None else choice.others.setdefault(intent, {}).setdefault(outcome, [])
            own.append(live)
        return sums

    def _add_said(self, said: pl.DataFrame) -> None:
        """Keep the newest of what people said."""
        self._picker.sums.said_count += len(said)
        both = pl.concat([self._said, said])
        self._said = both.sort("time", "query", "last", descending=[True, False, False]).head(self.most)

    def _add_documents(self, said: pl.DataFrame) -> None:
        """Add how far all that was said of each document confirms it."""
        sums = self._picker.sums
        ordered = said.sort("time", "query", "last").group_by("key", maintain_order=True)
        for key, useful in ordered.agg(pl.col("count").cast(pl.Boolean)).iter_rows():
            sums.document_count += 1
            sums.confidence.append(rate_document(key.removeprefix(DOCUMENT), useful))
            trim(sums.confidence, self.most, order_confidences)

    def _add_phrases(self, rows: pl.DataFrame) -> None:
        """Keep the phrases of most sessions; see :func:`list_phrases`."""
        phrases = rows.filter(pl.col("kind") == CHOSEN).select("key", "name", sessions="count")
        phrases = phrases.filter(pl.col("sessions") >= max(LEAST_SESSIONS, self.plan.least_sessions))
        for kind, column in ((USEFUL, "useful"), (NOT_USEFUL, "not_useful")):
            votes = rows.filter(pl.col("kind") == kind).select("key", "name", pl.col("count").alias(column))
            phrases = phrases.join(votes, on=["key", "name"], how="left").with_columns(pl.col(column).fill_null(0))
        phrases = phrases.filter(pl.col("not_useful") <= pl.col("useful")).select(
            pl.col("name").alias("document"),
            pl.col("key").str.slice(1).alias("phrase"),
            "sessions",
            "useful",
            "not_useful",
        )
        self._picker.sums.phrase_count += len(phrases)
        both = phrases if self._phrases is None else pl.concat([self._phrases, phrases])
        order = {"sessions": True, "document": False, "phrase": False}
        self._phrases = both.sort(list(order), descending=list(order.values())).head(self.most)

    def _choose(self, live: pl.DataFrame, rows: pl.DataFrame) -> None:
        """Keep the queries that may be chosen: as many of each kind as could be taken; see :class:`Choice`."""
        choice, size = self._picker.sums.choice, self.plan.size
        fails = (pl.col("failures") > 0) & (pl.col("failures") >= pl.col("used"))
        failing, others = live.filter(fails), live.filter(~fails)
        choice.failing_count += len(failing)
        _add_groups(choice.counts, live)
        _add_groups(choice.other_counts, others)
        if self.golden is not None and self.golden.queries:
            self._propose(live, rows)
        places = [draw_place(self.plan.seed, key[1:]) for key in others["key"]]
        drawn = others.with_columns(pl.Series("place", places, pl.Binary))
        both = pl.concat([self._chosen, failing.with_columns(place=pl.lit(None, pl.Binary)), drawn])
        first = both.filter(pl.col("place").is_null())
        first = first.sort("sessions", "failures", "key", descending=[True, True, False]).head(size)
        rest = both.filter(pl.col("place").is_not_null()).sort("place").group_by("intent", "outcome").head(size)
        self._chosen = pl.concat([first, rest.select(list(_CHOSEN))])
        self._rows = pl.concat([self._rows, rows]).join(self._chosen, on="key", how="semi")

    def _propose(self, live: pl.DataFrame, rows: pl.DataFrame) -> None:
        """Look whether queries ask the same as golden ones."""
        needed = rows.filter(pl.col("kind").is_in([LIVE, FORM, LINK, USED])).join(live, on="key", how="semi")
        for own in read_live(needed).values():
            self._picker.propose(own)


def _add_groups(counts: dict[str, dict[str, int]], live: pl.DataFrame) -> None:
    for intent, outcome, count in live.group_by("intent", "outcome").len().iter_rows():
        own = counts.setdefault(intent, {})
        own[outcome] = own.get(outcome, 0) + count


def wrap(value: object) -> pl.DataFrame:
    """Return a frame with one row that holds a value."""
    return pl.DataFrame({"body": [encode(value)]}, schema=MERGED)
