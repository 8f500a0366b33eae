"""What measures of traces look at: one question after the other, with its trace and what the golden set says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from karat.core import (
    MEASURES,
    Definition,
    Document,
    Floats,
    GoldenSet,
    Hit,
    InputError,
    Parameter,
    Query,
    Span,
    Target,
    Trace,
)

NOTHING = "nothing retrieved"
"""Why a share of the results has no value; the gate counts a lost answer with this reason as the worst."""
Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Returns one row for each text."""
_NO_TRACE = Trace(query="", text="")
_DIGITS = 4
"""Of a distance of meanings: which other texts a model embeds at the same time changes the sixth digit of a vector."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The traces of a run in one wording and repeat, and the golden set that they are held against."""

    golden: GoldenSet
    traces: Mapping[str, Trace]
    """By query."""
    variants: Mapping[str, Sequence[Trace]] = field(default_factory=dict)
    """All traces of each query, in all of its wordings and repeats; {} if nothing is known of others."""
    embed: Embed | None = None
    """The embedder that measures distances of meanings; None if there is none."""

    @cached_property
    def grades(self) -> Mapping[str, Mapping[str, int]]:
        """The grade of each judged document, by query; that of a document is the best of its parts."""
        return self.golden.qrels()

    @cached_property
    def sessions(self) -> Mapping[str, Sequence[str]]:
        """The queries of each session, in the order of their turns."""
        sessions: dict[str, list[str]] = {}
        for query in self.traces:
            if session := self.ask(query).session:
                sessions.setdefault(session, []).append(query)
        return {name: sorted(queries, key=lambda query: self.ask(query).turn) for name, queries in sessions.items()}

    @cached_property
    def newest(self) -> Mapping[str, str]:
        """The version family of each document that has versions: its ``version_key``, or the id of the newest version.

        A document that nothing replaces, and that replaces nothing, has none.
        """
        heirs = {document.id: document.superseded_by for document in self.golden.documents if document.superseded_by}
        families: dict[str, str] = {}
        for name in heirs:
            _follow(heirs, name, families)
        keys = {
            document.id: str(key) for document in self.golden.documents if (key := document.metadata.get("version_key"))
        }
        return families | keys

    @cached_property
    def stale(self) -> frozenset[str]:
        """The documents that another one replaces, or that a later one of the same version key makes out of date."""
        stale = {document.id for document in self.golden.documents if document.superseded_by}
        latest: dict[str, str] = {}
        dated = [
            (document.id, str(key), str(time))
            for document in self.golden.documents
            if (key := document.metadata.get("version_key")) and (time := document.metadata.get("effective_timestamp"))
        ]
        for _, key, time in dated:
            latest[key] = max(time, latest.get(key, time))
        return frozenset(stale | {name for name, key, time in dated if time < latest[key]})

    @cached_property
    def tiers(self) -> frozenset[str]:
        """The tiers that documents of the golden set have."""
        return frozenset(document.tier for document in self.golden.documents)

    @cached_property
    def has_answers(self) -> bool:
        """Whether any question was answered or refused, in any wording or repeat."""
        traces = chain(self.traces.values(), *self.variants.values())
        return any(trace.answer or trace.citations or trace.refused for trace in traces)

    @cached_property
    def _resolve(self) -> Callable[[Target], Span | None]:
        from karat.text import resolver  # outlines are needed by few measures, and take a while to import

        return resolver(self.golden)

    def place(self, target: Target) -> Span | None:
        """Return the bytes of a part of a document; None if it is not known where it is, or beyond the end."""
        try:
            span, whole = self._resolve(target), self._resolve(Target(document=target.document))
        except InputError:  # a section or a block that the document does not have
            return None
        return None if span and whole and len(whole) and span.start >= whole.end else span

    def section(self, target: Target) -> str:
        """Return the id of the section that a part belongs to, by its own words or by its place; "" if not known."""
        from karat.text import canonical, outline, section_of_block

        with suppress(InputError):
            if target.section or target.block:
                return target.section or section_of_block(target.block)
        document, span = self.golden.document_by_id.get(target.document), target.span
        if document is None or not span:
            return ""
        parts = outline(canonical(document.text))
        return parts.section_of(span.start).id if 0 <= span.start <= parts.size else ""

    def text(self, target: Target) -> str:
        """Return the text of a part of a document, or of all of it; "" if the golden set does not have it."""
        from karat.text import canonical

        document, span = self.golden.document_by_id.get(target.document), self.place(target)
        if document is None or span is None:
            return ""
        return canonical(document.text).encode()[span.start : span.end].decode(errors="ignore").strip()

    def measure_distances(self, text: str, others: Sequence[str]) -> list[float | None]:
        """Return 1 - cosine of a text and each of the others, to four digits; None if a text has no meaning."""
        if self.embed is None or not others:
            return [None] * len(others)
        vectors = np.asarray(self.embed([text, *others]), np.float64)
        squares = np.einsum("ij,ij->i", vectors, vectors)
        return [
            round(min(2.0, max(0.0, 1.0 - product / np.sqrt(squares[0] * square))), _DIGITS)
            if squares[0] * square > 0
            else None
            for product, square in zip((vectors[1:] @ vectors[0]).tolist(), squares[1:].tolist(), strict=True)
        ]

    @cached_property
    def _kept(self) -> dict[tuple[object, ...], float]:
        return {}

    def cache(self, name: str, k: object, rel: int, compute: Callable[[], float]) -> float:
        """Return a number of the whole run, computed once."""
        key = (name, k, rel)
        if key not in self._kept:
            self._kept[key] = compute()
        return self._kept[key]

    def ask(self, query: str) -> Case:
        """Return what is known about one question."""
        return Case(evidence=self, query=query, trace=self.traces.get(query, _NO_TRACE))

    def ask_all(self, query: str) -> list[Case]:
        """Return what is known about one question in each of its wordings and repeats."""
        return [Case(evidence=self, query=query, trace=trace) for trace in self.variants.get(query, ())]

    def __iter__(self) -> Iterator[Case]:
        return map(self.ask, self.traces)


def _follow(heirs: Mapping[str, str], name: str, families: dict[str, str]) -> None:
    """Enter a document and all that replace it, one after the other, as one family; a circle ends where it began."""
    path: dict[str, None] = {}
    while name not in families and name not in path:
        path[name] = None
        name = heirs.get(name, name)
    families |= dict.fromkeys(path, families.get(name, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question of a run: its trace, and what the golden set says of it."""

    evidence: Evidence
    query: str
    trace: Trace

    @property
    def gold(self) -> Query:
        """The query of the golden set; an empty one if it is only judged there."""
        return self.evidence.golden.query_by_id.get(self.query) or Query(id=self.query, text="")

    @property
    def session(self) -> str:
        """The id of its session; "" if it has none."""
        session = self.gold.session
        return session.id if session is not None else self.trace.context.session

    @property
    def turn(self) -> int:
        """The number of the question in its session, from 1; 0 if it has no session."""
        session = self.gold.session
        return session.turn if session is not None else self.trace.context.turn or int(bool(self.session))

    def hits(self, k: int | None) -> tuple[Hit, ...]:
        """Return the first k hits, as they were returned."""
        return self.trace.hits[:k]

    def documents(self, k: int | None) -> list[str]:
        """Return the first k documents, each at the place of its best hit."""
        return list(dict.fromkeys(hit.document for hit in self.trace.hits))[:k]

    def document(self, name: str) -> Document:
        """Return a document of the golden set; an empty one if the set does not have it."""
        return self.evidence.golden.document_by_id.get(name) or Document(id=name)

    def relevant(self, rel: int) -> list[str]:
        """Return the documents that are relevant to the query."""
        return [name for name, grade in self.evidence.grades.get(self.query, {}).items() if grade >= max(rel, 0)]

    def is_stale(self, name: str) -> bool:
        """Return whether a document is out of date when the question is asked; its successor may be stored later."""
        successor = self.document(name).superseded_by
        known = not successor or self.evidence.golden.is_stored(successor, self.gold)
        return known and name in self.evidence.stale

    def reciprocal_rank(self, k: int | None, rel: int) -> float:
        """Return 1 / the rank of the first relevant document, 0 if there is none."""
        relevant = set(self.relevant(rel))
        ranks = (rank for rank, name in enumerate(self.documents(k), 1) if name in relevant)
        return 1 / rank if (rank := next(ranks, 0)) else 0.0


class Judge(Protocol):
    """Returns the value of a measure for one question, or the reason why it has none."""

    def __call__(self, case: Case, k: Any, /, **params: Any) -> float | str: ...


def trace_measure(
    name: str,
    *parameters: Parameter,
    undefined: str,
    aliases: tuple[str, ...] = (),
    cutoff: Literal["none", "optional", "required"] = "required",
    higher_is_better: bool | None = True,
    low: float = 0.0,
    high: float | None = 1.0,
    queries: Literal["answerable", "unanswerable", "all"] = "answerable",
    independent: bool = True,
) -> Callable[[Any], Any]:
    """Register the decorated function, a :class:`Judge`, as a measure of traces.

    ``undefined`` is the reason for a run without traces or a golden set without what the measure needs. A measure that
    looks at judgments is not ``independent``. No convention puts a number where such a measure has no value.
    """

    def register(judge: Any) -> Any:
        definition = Definition(
            name=name,
            kernel=judge,
            aliases=aliases,
            cutoff=cutoff,
            parameters=parameters,
            undefined=undefined,
            higher_is_better=higher_is_better,
            low=low,
            high=high,
            queries=queries,
            unjudged="independent" if independent else None,
            traced=True,
        )
        MEASURES.add(name, definition, aliases)
        return judge

    return register


def judge_each(
    judge: Judge, evidence: Evidence | None, queries: Sequence[str], undefined: str, k: Any, **params: Any
) -> tuple[Floats, list[str]]:
    """Return the value of each query, NaN where it has none, and the reason for it, "" where it has one."""
    if evidence is None:
        return np.full(len(queries), np.nan), [undefined] * len(queries)
    answers = [judge(evidence.ask(query), k, **params) for query in queries]
    values = np.array([np.nan if isinstance(answer, str) else answer for answer in answers], np.float64)
    return values, [answer if isinstance(answer, str) else "" for answer in answers]


def share(matching: int, items: Sequence[object]) -> float | str:
    """Return a share of the results, or why there is none."""
    return matching / len(items) if items else NOTHING
