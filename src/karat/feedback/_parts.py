"""Kernel: what the sessions of a part of the log add up to.

It gets the records of whole sessions, and yields rows of partial sums: one of traffic, and those of live queries,
whenever it holds many. What they add up to is the same however sessions are divided into parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import polars as pl

from karat.core import GoldenSet
from karat.feedback._columns import add_traffic, list_plain
from karat.feedback._counting import encode
from karat.feedback._exported import complete_records, rebuild_groups
from karat.feedback._gathering import Gathering
from karat.feedback._plain import split_sessions
from karat.feedback._rows import PARTIAL, PIECE, TRAFFIC, add_rows, join_frames, list_gathered
from karat.feedback._traffic import TrafficCounter, index_golden
from karat.feedback._wordings import Wordings

_MOST_COUNTS = 500_000
"""So many rows are held before they are added up and handed on: about 100 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """How sessions are counted."""

    golden: GoldenSet | None = None
    lists: bool = False
    """Whether to take note of what came back, and of what people did with it."""
    traffic: bool = True
    """Whether to add up what a report shows of traffic."""
    most: int = _MOST_COUNTS
    rows: int = PIECE
    """Records that are counted at once, at least."""


def count_sessions(frames: Iterable[pl.DataFrame], *, counting: Counting) -> Iterator[pl.DataFrame]:
    """Yield the partial sums of sessions."""
    counter = SessionCounter(counting)
    for frame in join_frames(frames, counting.rows):
        yield from counter.add(complete_records(frame))
    yield from counter.finish()


@dataclass(slots=True)
class SessionCounter:
    """Adds sessions, and hands on rows of live queries when it holds many."""

    counting: Counting
    _traffic: TrafficCounter = field(init=False)
    _wordings: Wordings = field(default_factory=Wordings)
    _held: list[pl.DataFrame] = field(default_factory=list)
    _texts: dict[str, str] | None = None
    _known: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        golden = self.counting.golden
        self._traffic = TrafficCounter(golden)
        self._texts = {document.id: document.text for document in golden.documents} if golden else None
        self._known = index_golden(golden)

    def add(self, frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Add the sessions of a frame; yield rows of live queries if there are many."""
        counting, sums = self.counting, self._traffic.sums
        judged = self._known if counting.traffic else ()
        plain, others = split_sessions(frame, self._wordings, searched=bool(self._texts), judged=judged)
        queries = plain.queries
        if counting.traffic:
            add_traffic(sums, plain, counting.golden, self._known)
        sums.total += len(queries)
        sums.wordless += int((queries["key"] == "").sum())
        self._held += list_plain(plain, lists=counting.lists, known=self._known)
        yield from self._hand_on(counting.most)
        yield from self._add_others(others)

    def finish(self) -> Iterator[pl.DataFrame]:
        """Yield what is left."""
        yield from self._hand_on(0)
        yield pl.DataFrame({"kind": [TRAFFIC], "key": [""], "body": [encode(self._traffic.sums)]}).select(
            (pl.col(name) if name in ("kind", "key", "body") else pl.lit(None)).cast(type_).alias(name)
            for name, type_ in PARTIAL.items()
        )

    def _add_others(self, frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Add sessions one by one."""
        sums, lists = self._traffic.sums, self.counting.lists
        gathering = Gathering(lists=lists, known=self._known)
        for session in rebuild_groups([frame], sums.oddities, self._texts):
            if self.counting.traffic:
                self._traffic.add(session)
            gathering.add(session)
            if gathering.size > self.counting.most:
                yield from self._take(gathering)
                gathering = Gathering(lists=lists, known=self._known)
        yield from self._take(gathering)

    def _take(self, gathering: Gathering) -> Iterator[pl.DataFrame]:
        sums = self._traffic.sums
        sums.total, sums.wordless = sums.total + gathering.total, sums.wordless + gathering.wordless
        if gathering.queries or gathering.said:
            self._held.append(list_gathered(gathering))
        yield from self._hand_on(self.counting.most)

    def _hand_on(self, most: int) -> Iterator[pl.DataFrame]:
        """Yield the rows that are held, added up, if there are more than so many."""
        if sum(map(len, self._held)) <= most:
            return
        rows = add_rows(pl.concat(self._held))
        self._held.clear()
        if len(rows) > most // 2:
            yield rows
        else:
            self._held.append(rows)
