"""Candidates: chunks on their way through the stages of the pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from karat.systems._fuse import minmax
from karat.systems._mmr import Variety, mmr
from karat.systems.index import VectorIndex


class Candidate(NamedTuple):
    """A chunk on its way through the stages. There are hundreds for a query, and a tuple is made quickly."""

    number: int
    score: float
    stages: Mapping[str, float]


_NO_STAGES: Mapping[str, float] = MappingProxyType({})
make_candidate = Candidate._make  # half the time of Candidate(...)


def make_candidates(ranking: Iterable[tuple[int, float]]) -> Iterator[Candidate]:
    """Yield the candidates of a channel's ranking: often only the first are needed."""
    return (make_candidate((number, score, _NO_STAGES)) for number, score in ranking)


def diversify(how: Variety, index: VectorIndex, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Order candidates so that each adds something to those before it.

    The new scores count down the places, since the criterion depends on the hits before and is not a score of one hit.
    """
    if not candidates:
        return []
    scores = minmax([candidate.score for candidate in candidates])
    order = mmr(scores, index.rows([candidate.number for candidate in candidates]), balance=how.balance)
    return [
        candidates[place]._replace(
            score=float(len(order) - rank),
            stages={**candidates[place].stages, "relevance": candidates[place].score},
        )
        for rank, place in enumerate(order)
    ]
