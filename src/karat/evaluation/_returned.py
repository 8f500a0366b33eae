"""What a system returned, as it is scored: the documents that ids name, and the score from which on a hit counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import ge

from karat.core import GoldenSet, Hit, Ids, Trace, document_of, list_scores, shorten
from karat.runs import Parts


def read_returned(
    golden: GoldenSet, traces: Iterable[Trace], ids: Ids = "chunk", min_score: float | None = None
) -> tuple[Trace, ...]:
    """Return the traces with the hits that count, each with the document and part that its id names.

    A hit whose system named its document keeps it. So does a hit of another program's run, which was resolved when it
    was read.

    >>> trace = Trace(query="q", text="?", hits=(Hit("wifi#S.2", 0.9), Hit("spa#S.1", 0.2)))
    >>> [(hit.document, hit.section) for hit in read_returned(GoldenSet(), [trace], "path", 0.5)[0].hits]
    [('wifi', 'S.2')]
    """
    if min_score is None and ids == "chunk":  # which is how a Hit reads its id
        return tuple(traces)
    parts = Parts(golden)
    return tuple(
        replace(
            trace,
            hits=tuple(
                _resolve(hit, trace.query, parts, ids)
                for hit in trace.hits
                if min_score is None or hit.score >= min_score
            ),
        )
        for trace in traces
    )


def _resolve(hit: Hit, query: str, parts: Parts, ids: Ids) -> Hit:
    if ids == "chunk" or hit.document != document_of(hit.id):
        return hit
    part = parts.of(hit.id, query) if ids == "auto" else parts.by_scheme(hit.id, ids)
    return replace(hit, document=part.document, section=hit.section or part.section, block=hit.block or part.block)


def is_sorted(hits: Iterable[Hit]) -> bool:
    """Return whether no hit has a higher score than the one before it."""
    scores = list_scores(hits)
    return all(map(ge, scores, scores[1:]))


def keep_order(hits: Sequence[Hit]) -> Sequence[Hit]:
    """Return the hits with scores that keep the system's order, in case its own scores do not."""
    if is_sorted(hits):
        return hits
    return tuple(replace(hit, score=float(len(hits) - i)) for i, hit in enumerate(hits))


def describe_order(traces: Iterable[Trace]) -> list[str]:
    """Return a note if the scores of some lists contradict their order, which is the one that counts.

    >>> describe_order([Trace(query="q1", text="?", hits=(Hit("wifi", 0.2), Hit("pool", 0.9)))])
    ["the hits of 1 query are not in the order of their scores, such as those of 'q1': the order of the list counts"]
    """
    queries = list(dict.fromkeys(trace.query for trace in traces if not is_sorted(trace.listed)))
    if not queries:
        return []
    many = "1 query" if len(queries) == 1 else f"{len(queries):,} queries"
    unsorted = f"the hits of {many} are not in the order of their scores, such as those of {shorten(queries[0])}"
    return [f"{unsorted}: the order of the list counts"]
