"""A query under diagnosis: what was expected, what came back, and what was lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from karat.core import GoldenSet, Hit, Query, Run, Span, Trace, Unit
from karat.measures import Overlap
from karat.text import resolver

_HOLDS = Overlap()


class Found(NamedTuple):
    """A document, or a part of one, in the list of a system, a channel or a stage."""

    document: str
    span: Span | None = None


@dataclass(frozen=True, kw_only=True)
class Case:
    """One query of a run."""

    query: Query
    trace: Trace
    """The answer to the query's own text, in the first repeat."""
    others: tuple[Trace, ...]
    """The answers to its paraphrases, and those of further repeats."""
    cut: int
    """What stands below this rank is lost."""
    expected: Mapping[str, int]
    """The grades of the relevant documents."""
    grades: Mapping[str, int]
    """The grades of all judged documents."""
    parts: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)
    """The judged parts of each document, if a hit has to hold one of them."""
    before: Mapping[str, int] = field(default_factory=dict)
    """The ranks of the relevant documents that an earlier run, such as the baseline, had found for the question."""

    @cached_property
    def hits(self) -> tuple[Hit, ...]:
        """The hits above the cut; of further chunks of a document only the first counts."""
        return _first(self.trace.hits, self.cut)

    @cached_property
    def found(self) -> frozenset[str]:
        """The relevant documents among the hits."""
        return self.find(Found(hit.document, hit.span) for hit in self.trace.hits)

    @cached_property
    def lost(self) -> dict[str, int]:
        """The grades of the relevant documents that are not among the hits."""
        known = self.found
        return {document: grade for document, grade in self.expected.items() if document not in known}

    @property
    def fallen(self) -> dict[str, int]:
        """The grades of the relevant documents that are found, and that the earlier run had found at a higher rank."""
        grades = {}
        for document, was in self.before.items():
            rank = self.rank_of(document)
            if document in self.found and rank is not None and rank > was:
                grades[document] = self.expected[document]
        return grades

    @property
    def loss(self) -> float:
        """The share of the expected grades that is lost; 1 if there are hits, and no refusal, where none is right.

        A query for which nothing is judged relevant, and that is not marked as unanswerable, has nothing to lose.
        """
        if not self.query.answerable:
            return float(bool(self.trace.hits) and not self.trace.refused)
        if not self.expected:
            return 0.0
        return sum(self.lost.values()) / sum(self.expected.values())

    @property
    def is_unjudged(self) -> bool:
        """Whether the query has nothing to lose, since nothing is judged relevant and it is not marked unanswerable."""
        return self.query.answerable and not self.expected

    @property
    def was_found(self) -> bool:
        """Whether the earlier run had found a document that is lost now: then question and judgments are sound."""
        return not self.before.keys().isdisjoint(self.lost)

    def find(self, ranking: Iterable[Found]) -> frozenset[str]:
        """Return the relevant documents in a list, above the cut, by any hit that holds what was judged."""
        ranks: dict[str, int] = {}
        documents = set()
        for document, span in ranking:
            if ranks.setdefault(document, len(ranks) + 1) <= self.cut and self.holds(document, span):
                documents.add(document)
        return frozenset(documents & self.expected.keys())

    def holds(self, document: str, span: Span | None) -> bool:
        """Whether a hit holds a judged part of its document, or no part is asked for."""
        parts = self.parts.get(document)
        return not parts or span is None or any(_HOLDS.holds(span, part) for part in parts)

    def rank_of(self, document: str) -> int | None:
        """Return the rank of a document in the answer."""
        documents = list(dict.fromkeys(hit.document for hit in self.trace.hits))
        return documents.index(document) + 1 if document in documents else None

    def share(self, documents: Iterable[str]) -> float:
        """Return the share of the loss that some of the lost documents make up.

        >>> from karat.core import Query, Trace
        >>> case = Case(query=Query(id="q", text="?"), trace=Trace(query="q", text="?"), others=(), cut=5,
        ...             expected={"a": 3, "b": 1}, grades={})
        >>> case.share(["a", "x"])
        0.75
        """
        lost = self.lost
        total = sum(lost.values())
        return sum(lost.get(document, 0) for document in {*documents}) / total if total else 0.0


def _first(hits: Sequence[Hit], cut: int) -> tuple[Hit, ...]:
    seen: dict[str, None] = {}
    first = []
    for hit in hits:
        seen.setdefault(hit.document)
        if len(seen) > cut:
            break
        first.append(hit)
    return tuple(first)


def _rank_found(case: Case, trace: Trace) -> dict[str, int]:
    """Return the ranks of the relevant documents that a trace has found."""
    relevant = case.find(Found(hit.document, hit.span) for hit in trace.hits)
    documents = dict.fromkeys(hit.document for hit in trace.hits)
    return {document: rank for rank, document in enumerate(documents, 1) if document in relevant}


def make_cases(
    golden: GoldenSet, run: Run, *, cut: int, unit: Unit = "document", before: Run | None = None
) -> list[Case]:
    """Return the queries of a run that the golden set has, in its order; ``before`` is an earlier run."""
    earlier = {t.query: t for t in reversed(before.traces) if not t.paraphrase and not t.repeat} if before else {}
    traces: dict[str, list[Trace]] = {}
    for trace in run.traces:
        traces.setdefault(trace.query, []).append(trace)
    place = resolver(golden)
    cases = []
    for query in golden.queries:
        own = sorted(traces.get(query.id, ()), key=lambda trace: (trace.paraphrase, trace.repeat))
        if not own or own[0].paraphrase:
            continue
        grades: dict[str, int] = {}
        parts: dict[str, tuple[Span, ...]] = {}
        for target, grade in golden.grades_by_query.get(query.id, {}).items():
            grades[target.document] = max(grade, grades.get(target.document, grade))
            if unit == "target" and not target.whole and grade >= golden.relevant and (span := place(target)):
                parts[target.document] = (*parts.get(target.document, ()), span)
        relevant = {id_: grade for id_, grade in grades.items() if grade >= golden.relevant}
        case = Case(
            query=query,
            trace=own[0],
            others=tuple(own[1:]),
            cut=cut,
            expected=relevant if query.answerable else {},
            grades=grades,
            parts=parts,
        )
        if query.id in earlier:
            case = replace(case, before=_rank_found(case, earlier[query.id]))
        cases.append(case)
    return cases
