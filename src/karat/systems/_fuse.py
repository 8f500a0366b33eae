"""Fusion: one ranking from those of several channels, which keeps the rank and score of each channel.

In all formulas the sum is over the channels that have the document, ``n`` is their number, ``rank`` counts from 1 in
the channel's order, and ``norm`` makes the scores of one channel for one query comparable:

========  ==================================  =================================================
rrf       sum of weight / (k + rank)          Cormack, Clarke & Buettcher 2009 (weights are 1 there)
isr       n * sum of 1 / rank^2               Mourao, Martins & Magalhaes 2014
weighted  sum of weight * norm(score)         Fox & Shaw 1994, with weights
combsum   sum of norm(score)                  Fox & Shaw 1994
combmnz   n * sum of norm(score)              Fox & Shaw 1994; n as in Lee 1997
minmax    (score - lowest) / (highest - lowest)
z         (score - lowest) / standard deviation
rank      1 - (rank - 1) / length of the list
========  ==================================  =================================================

A channel adds nothing for a document that it does not have. So every normalised score is at least 0, and z counts from
the lowest score: the plain standard score is negative for half of a list, and would rank a retrieved document below one
that was not. In a list whose scores are all equal, or that has one document, minmax and z are 1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Generic, Literal, TypeVar, get_args

from karat.core import InputError, Place, UsageError, did_you_mean, shorten

Method = Literal["rrf", "isr", "weighted", "combsum", "combmnz"]
Norm = Literal["minmax", "z", "rank"]
K = TypeVar("K", int, str)
Ranking = Sequence[tuple[K, float]]
"""The hits of a channel, best first: numbers of chunks or ids of documents, with scores."""

_BY_RANK = ("rrf", "isr")
_WEIGHTED = ("rrf", "weighted")
_HEAVIEST = 1e9
_BLANK = re.compile(r"[\t-\r ]")


@dataclass(frozen=True, slots=True)
class Fused(Generic[K]):
    """A hit of at least one channel."""

    id: K
    score: float
    channels: Mapping[str, Place]
    """The channels that have it, with its rank and score there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """A method of fusion; the formulas are in the docstring of this module.

    >>> fused = Fusion()({"lexical": [("a", 7.1), ("b", 3.0)], "dense": [("b", 0.9), ("c", 0.8)]})
    >>> [(hit.id, round(hit.score, 4), sorted(hit.channels)) for hit in fused]
    [('b', 0.0325, ['dense', 'lexical']), ('a', 0.0164, ['lexical']), ('c', 0.0161, ['dense'])]
    """

    method: Method = "rrf"
    k: float = 60
    """For rrf: the larger, the less the first ranks stand out."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """For rrf and weighted: the weight of each channel; 1 by default."""
    norm: Norm = "minmax"
    """For weighted, combsum and combmnz: how scores are made comparable."""

    def __post_init__(self) -> None:
        for name, value, choices in (("method", self.method, get_args(Method)), ("norm", self.norm, get_args(Norm))):
            if value not in choices:
                hint = did_you_mean(str(value), choices) or f"; known: {', '.join(choices)}"
                raise UsageError(f"unknown {name} {value!r} of fusion{hint}")
        if not (math.isfinite(self.k) and self.k >= 0):
            raise UsageError(f"k={self.k}; choose a number from 0 up, usually 60")
        if self.weights and self.method not in _WEIGHTED:
            raise UsageError(f"{self.method} takes no weights; choose {' or '.join(_WEIGHTED)}")
        if not all(0 <= weight <= _HEAVIEST for weight in self.weights.values()):
            raise UsageError(f"weights {dict(self.weights)}; a channel's weight is a number from 0 to {_HEAVIEST:.0e}")

    def describe(self) -> dict[str, Any]:
        """Return everything that decides the result, without options that the method does not use."""
        described: dict[str, Any] = {"method": self.method}
        if self.method == "rrf":
            described["k"] = self.k
        if self.method in _WEIGHTED:
            described["weights"] = dict(sorted(self.weights.items()))
        if self.method not in _BY_RANK:
            described["norm"] = self.norm
        return described

    def __call__(self, channels: Mapping[str, Ranking[K]], depth: int | None = None) -> list[Fused[K]]:
        """Return the fused channels of one query, the first ``depth`` hits or all.

        Equal scores are ordered as in karat's indexes and in trec_eval: chunks by rising number, documents by falling
        id, compared as bytes.
        """
        self._check_weights(channels)
        parts: dict[K, list[float]] = {}
        ranks: dict[str, dict[K, int]] = {}
        for name, ranking in channels.items():
            for (key, _), value in zip(ranking, self._values(name, ranking), strict=True):
                parts.setdefault(key, []).append(value)
            ranks[name] = _ranks(name, ranking)
        scores = {key: self._total(values) for key, values in parts.items()}
        keys = _order(scores)[:depth]
        return [Fused(key, scores[key], _places(key, channels, ranks)) for key in keys]

    def _check_weights(self, channels: Mapping[str, Any]) -> None:
        for name in self.weights:
            if name not in channels:
                raise UsageError(f"a weight for {name!r}, which is not a channel{did_you_mean(name, channels)}")
        if channels and not any(self.weights.get(name, 1.0) for name in channels):
            raise UsageError("all weights are 0; give at least one channel a weight above 0")

    def _values(self, name: str, ranking: Ranking[K]) -> list[float]:
        """Return what a channel adds to the score of each of its documents."""
        scores = [score for _, score in ranking]
        if not all(map(math.isfinite, scores)):
            raise InputError(f"channel {name} has a score that is not a finite number")
        weight = self.weights.get(name, 1.0)
        if self.method == "rrf":
            return [weight / (self.k + rank) for rank in range(1, len(scores) + 1)]
        if self.method == "isr":
            return [1 / rank**2 for rank in range(1, len(scores) + 1)]
        return [weight * value for value in NORMS[self.norm](scores)]

    def _total(self, values: list[float]) -> float:
        total = math.fsum(values)  # exact, so that the order of the channels does not matter
        return total * len(values) if self.method in ("isr", "combmnz") else total


def minmax(scores: Sequence[float]) -> list[float]:
    """Return scores from 0 for the lowest to 1 for the highest; 1 for all if they are equal.

    >>> minmax([3.0, 1.0, -1.0]), minmax([5.0])
    ([1.0, 0.5, 0.0], [1.0])
    """
    scaled = _scaled(scores)
    low, width = min(scaled, default=0.0), max(scaled, default=0.0) - min(scaled, default=0.0)
    return [(score - low) / width if width else 1.0 for score in scaled]


def _z(scores: Sequence[float]) -> list[float]:
    scaled = _scaled(scores)
    low, mean = min(scaled, default=0.0), fmean(scaled) if scaled else 0.0
    # A list of equal scores has no deviation, although that from its rounded mean may not be 0.
    equal = all(score == low for score in scaled)
    deviation = math.sqrt(fmean((score - mean) ** 2 for score in scaled)) if not equal else 0.0
    return [(score - low) / deviation if deviation else 1.0 for score in scaled]


def _rank(scores: Sequence[float]) -> list[float]:
    return [1 - place / len(scores) for place in range(len(scores))]


NORMS: Mapping[str, Callable[[Sequence[float]], list[float]]] = {"minmax": minmax, "z": _z, "rank": _rank}


def _scaled(scores: Sequence[float]) -> list[float]:
    """Return scores divided by a power of two: quotients stay the same, differences and squares do not overflow."""
    exponent = math.frexp(max(map(abs, scores), default=0.0))[1]
    return [math.ldexp(score, -exponent) for score in scores]


def _ranks(name: str, ranking: Ranking[K]) -> dict[K, int]:
    ranks = {key: rank for rank, (key, _) in enumerate(ranking, 1)}
    if len(ranks) < len(ranking):
        twice = next(key for place, (key, _) in enumerate(ranking, 1) if ranks[key] != place)
        raise InputError(f"channel {name} has {shorten(twice)} twice")
    return ranks


def _places(key: K, channels: Mapping[str, Ranking[K]], ranks: Mapping[str, Mapping[K, int]]) -> dict[str, Place]:
    return {name: Place(rank, channels[name][rank - 1][1]) for name in channels if (rank := ranks[name].get(key, 0))}


def _order(scores: Mapping[K, float]) -> list[K]:
    """Return the keys by falling score; equal scores as described in :meth:`Fusion.__call__`."""
    text = any(isinstance(key, str) for key in scores)
    return sorted(sorted(scores, reverse=text), key=lambda key: -scores[key])


def fuse(
    runs: Mapping[str, Mapping[str, Mapping[str, float]]], fusion: Fusion | None = None, *, depth: int = 1000
) -> dict[str, list[Fused[str]]]:
    """Return fused runs, ``{name: {query: {document: score}}}``, with the first ``depth`` hits of each query.

    A run is ranked as in ``karat score``: by falling score, equal scores by falling id. A query that only some of the
    runs have is fused from those.

    >>> fused = fuse({"a": {"q": {"x": 2.0, "y": 1.0}}, "b": {"q": {"y": 9.0}}})
    >>> [hit.id for hit in fused["q"]]
    ['y', 'x']
    """
    if depth < 1:
        raise UsageError(f"depth={depth}; keep at least one document")
    how = fusion or Fusion()
    fused = {}
    for query in dict.fromkeys(query for run in runs.values() for query in run):
        channels = {name: _ranking(run.get(query, {})) for name, run in runs.items()}
        fused[query] = how(channels, depth)
    return fused


def _ranking(scored: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(scored.items(), key=lambda item: (item[1], item[0]), reverse=True)


def format_trec(fused: Mapping[str, Sequence[Fused[str]]], *, tag: str) -> Iterator[str]:
    r"""Yield the lines of a run in TREC's format, with scores at full precision, so that no new ties arise.

    >>> list(format_trec({"q": [Fused("d", 0.5, {})]}, tag="rrf"))
    ['q Q0 d 1 0.5 rrf\n']
    """
    for query, hits in fused.items():
        for rank, hit in enumerate(hits, 1):
            if blank := next(filter(_BLANK.search, (query, hit.id)), None):
                hint = "TREC's format separates columns by blanks; rename it"
                raise InputError(f"id {shorten(blank)} holds a blank", hint=hint)
            yield f"{query} Q0 {hit.id} {rank} {hit.score!r} {tag}\n"
