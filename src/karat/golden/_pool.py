"""What to judge next: the union of the best of every run, what nobody judged first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from karat.core import GoldenSet, UsageError

_CHUNK = re.compile(r"(.+):chunk:\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pooled:
    """A pair to judge."""

    query: str
    document: str
    rank: int
    """The best rank that any run gives it."""
    runs: int
    """How many runs have it in their pool."""
    grade: int | None
    """What it was judged before, if it was."""


def pool(golden: GoldenSet, runs: Iterable[Mapping[str, Mapping[str, float]]], *, depth: int = 20) -> list[Pooled]:
    """Give the pairs that the runs have in their first ``depth``, each once.

    Queries and documents that the set does not have are left out, where it has any: nobody could judge them.
    Unjudged pairs come first, then the others; within both the best rank decides, then the number of runs, so that
    whoever stops early has judged the top of every query. Chunk ids such as ``wifi:chunk:3`` count as their document,
    and documents of one equivalence class as the first of them that a run gives.

    >>> pairs = pool(GoldenSet(), [{"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 1.0}}], depth=1)
    >>> [(pair.document, pair.rank, pair.runs) for pair in pairs]
    [('a', 1, 1), ('b', 1, 1)]
    """
    if depth < 1:
        raise UsageError(f"depth={depth}; pool at least one document")
    judged = golden.qrels()
    known = set(golden.document_by_id)
    best: dict[tuple[str, str], tuple[int, int]] = {}
    for run in runs:
        for query, scored in run.items():
            if golden.queries and query not in judged:
                continue
            ranking = sorted(scored, key=lambda document: (scored[document], document), reverse=True)
            for rank, document in enumerate(_distinct(ranking, known, golden.class_of)[:depth], 1):
                top, seen = best.get((query, document), (rank, 0))
                best[query, document] = (min(top, rank), seen + 1)
    pairs = [
        Pooled(query=query, document=document, rank=rank, runs=seen, grade=judged.get(query, {}).get(document))
        for (query, document), (rank, seen) in best.items()
    ]
    place = {query: i for i, query in enumerate(judged)}
    return sorted(
        pairs,
        key=lambda p: (p.grade is not None, p.rank, -p.runs, place.get(p.query, len(place)), p.query, p.document),
    )


def read_runs(paths: Iterable[str]) -> list[Mapping[str, Mapping[str, float]]]:
    """Read the runs of several systems, in any format that ``karat score`` reads."""
    from karat.measures import read_run

    return [read_run(path).table() for path in paths]


def _distinct(ranking: Sequence[str], known: set[str], class_of: Mapping[str, str]) -> list[str]:
    """Give each document once, where its first chunk, or the first of its class, stands."""
    found: dict[str, str] = {}
    for name in ranking:
        chunk = None if name in known else _CHUNK.fullmatch(name)
        document = chunk[1] if chunk and (chunk[1] in known or not known) else name
        found.setdefault(class_of.get(document, document), document)
    return [document for document in found.values() if not known or document in known]
