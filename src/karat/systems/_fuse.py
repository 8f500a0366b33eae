"""Fusion: one ranking from the rankings of several channels, with the rank and score in each.

In all formulas the sum is over the channels that have the document, ``n`` is their number, ``rank`` is the rank in the
channel, from 1, and ``norm`` normalises the scores of one channel for one query:

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

A channel adds nothing to a document that it does not have. So normalised scores are at least 0, and z is counted from
the lowest score: the usual standard score is negative for half of a list, and would rank a document that was found
below one that was not. Where all scores of a list are equal, minmax and z are 1, so that being found counts.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from statistics import fmean
from typing import Any, Generic, Literal, TypeVar, get_args

from karat.core import InputError, Place, UsageError, did_you_mean, shorten
from karat.schema import FusionSummary

Method = Literal["rrf", "isr", "weighted", "combsum", "combmnz"]
Norm = Literal["minmax", "z", "rank"]
K = TypeVar("K", int, str)
Ranking = Sequence[tuple[K, float]]
"""The hits of a channel, best first: numbers of chunks or ids of documents, with scores."""

_BY_RANK = ("rrf", "isr")
_WEIGHTED = ("rrf", "weighted")
_HEAVIEST = 1e9
_SAFE = 400  # scores below 2**400 can be squared and added without overflow
_BLANK = re.compile(r"[\t-\r ]")


@dataclass(frozen=True, slots=True)
class Fused(Generic[K]):
    """A chunk or document that at least one channel found."""

    id: K
    score: float
    channels: Mapping[str, Place]
    """The channels that found it, with its rank and score in each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """A way to fuse rankings; the docstring of this module has the formulas.

    >>> fused = Fusion()({"lexical": [("a", 7.1), ("b", 3.0)], "dense": [("b", 0.9), ("c", 0.8)]})
    >>> [(hit.id, round(hit.score, 4), sorted(hit.channels)) for hit in fused]
    [('b', 0.0325, ['dense', 'lexical']), ('a', 0.0164, ['lexical']), ('c', 0.0161, ['dense'])]
    """

    method: Method = "rrf"
    k: float = 60
    """For rrf: the larger, the less the first ranks stand out."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """For rrf and weighted: by channel; 1 for a channel without one."""
    norm: Norm = "minmax"
    """For weighted, combsum and combmnz: how scores are normalised."""

    def __post_init__(self) -> None:
        for name, value, choices in (("method", self.method, get_args(Method)), ("norm", self.norm, get_args(Norm))):
            if value not in choices:
                hint = did_you_mean(str(value), choices) or f"; known: {', '.join(choices)}"
                raise UsageError(f"unknown {name} {value!r} of fusion{hint}")
        if not (math.isfinite(self.k) and self.k >= 0):
            raise UsageError(f"k={self.k}; choose a number of at least 0, usually 60")
        if self.weights and self.method not in _WEIGHTED:
            raise UsageError(f"{self.method} takes no weights; choose {' or '.join(_WEIGHTED)}")
        if not all(0 <= weight <= _HEAVIEST for weight in self.weights.values()):
            raise UsageError(f"weights {dict(self.weights)}; a channel's weight is a number from 0 to {_HEAVIEST:.0e}")

    def describe(self) -> dict[str, Any]:
        """Return the parameters that the method uses."""
        parameters: dict[str, Any] = {"method": self.method}
        if self.method == "rrf":
            parameters["k"] = self.k
        if self.method in _WEIGHTED:
            parameters["weights"] = dict(sorted(self.weights.items()))
        if self.method not in _BY_RANK:
            parameters["norm"] = self.norm
        return parameters

    def __call__(self, channels: Mapping[str, Ranking[K]], depth: int | None = None) -> list[Fused[K]]:
        """Return the fused ranking of one query, or its first ``depth``.

        Of equal scores, the chunk with the lower number comes first, as in karat's indexes, and the document with the
        higher id, compared as bytes, as in trec_eval.
        """
        best = list(islice(self.rank(channels), depth))
        places = find_places(channels, [key for key, _ in best])
        return [Fused(key, score, places[key]) for key, score in best]

    def rank(self, channels: Mapping[str, Ranking[K]]) -> Iterator[tuple[K, float]]:
        """Yield the ids and scores of the fused ranking, without the places in the channels."""
        self._check_weights(channels)
        parts: list[dict[K, float]] = []
        for name, ranking in channels.items():
            values = self._values(name, ranking)
            parts.append(dict(zip([key for key, _ in ranking], values, strict=True)))
            if len(parts[-1]) < len(ranking):
                raise _repeated(name, ranking)
        scores: dict[K, float] = {}
        for part in parts:
            scores.update(part)
        for key in _shared(parts):
            scores[key] = self._total([part[key] for part in parts if key in part])
        return _ordered(scores)

    def _check_weights(self, channels: Mapping[str, Any]) -> None:
        for name in self.weights:
            if name not in channels:
                raise UsageError(f"a weight for {name!r}, which is not a channel{did_you_mean(name, channels)}")
        if channels and not any(self.weights.get(name, 1.0) for name in channels):
            raise UsageError("all weights are 0; at least one should be above 0")

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
        # Exact, so that the order of the channels does not matter; it never does for two.
        total = values[0] + values[1] if len(values) == 2 else math.fsum(values)
        return total * len(values) if self.method in ("isr", "combmnz") else total


def minmax(scores: Sequence[float]) -> list[float]:
    """Return scores scaled to 0 for the lowest and 1 for the highest; all 1 if they are equal.

    >>> minmax([3.0, 1.0, -1.0]), minmax([5.0])
    ([1.0, 0.5, 0.0], [1.0])
    """
    scaled = _scaled(scores)
    low = min(scaled, default=0.0)
    width = max(scaled, default=0.0) - low
    return [(score - low) / width for score in scaled] if width else [1.0] * len(scaled)


def _z(scores: Sequence[float]) -> list[float]:
    scaled = _scaled(scores)
    low, mean = min(scaled, default=0.0), fmean(scaled) if scaled else 0.0
    # Equal scores have no deviation, even if their mean is rounded.
    equal = all(score == low for score in scaled)
    deviation = math.sqrt(fmean((score - mean) ** 2 for score in scaled)) if not equal else 0.0
    return [(score - low) / deviation if deviation else 1.0 for score in scaled]


def _rank(scores: Sequence[float]) -> list[float]:
    return [1 - place / len(scores) for place in range(len(scores))]


NORMS: Mapping[str, Callable[[Sequence[float]], list[float]]] = {"minmax": minmax, "z": _z, "rank": _rank}


def _scaled(scores: Sequence[float]) -> Sequence[float]:
    """Divide by a power of two, which changes no quotient, so that differences and squares do not overflow."""
    exponent = math.frexp(max(map(abs, scores), default=0.0))[1]
    if abs(exponent) < _SAFE:
        return scores
    return [math.ldexp(score, -exponent) for score in scores]


def find_places(channels: Mapping[str, Ranking[K]], keys: Iterable[K]) -> dict[K, dict[str, Place]]:
    """Return the rank and score of each key in the channels that have it.

    >>> find_places({"lexical": [("a", 7.1), ("b", 3.0)]}, ["b"])
    {'b': {'lexical': Place(rank=2, score=3.0)}}
    """
    places: dict[K, dict[str, Place]] = {key: {} for key in keys}
    for name, ranking in channels.items():
        for rank, (key, score) in enumerate(ranking, 1):
            if key in places:
                places[key][name] = Place(rank, score)
    return places


def _repeated(name: str, ranking: Ranking[K]) -> InputError:
    counts = Counter(key for key, _ in ranking)
    repeated = next(key for key, count in counts.items() if count > 1)
    return InputError(f"channel {name} has {shorten(repeated)} twice")


def _shared(parts: Sequence[Mapping[K, float]]) -> set[K]:
    """Return the keys that more than one channel has."""
    seen: set[K] = set()
    shared: set[K] = set()
    for part in parts:
        shared |= seen & part.keys()
        seen |= part.keys()
    return shared


def _ordered(scores: Mapping[K, float]) -> Iterator[tuple[K, float]]:
    """Yield the keys and scores by score; for equal scores see ``Fusion.__call__``."""
    if isinstance(next(iter(scores), None), str):
        return iter(sorted(scores.items(), key=lambda item: (item[1], item[0]), reverse=True))
    return iter([(key, -score) for score, key in sorted([(-score, key) for key, score in scores.items()])])


def fuse(
    runs: Mapping[str, Mapping[str, Mapping[str, float]]], fusion: Fusion | None = None, *, depth: int = 1000
) -> dict[str, list[Fused[str]]]:
    """Fuse runs, ``{name: {query: {document: score}}}``, query by query; return the first ``depth`` of each.

    A run is ranked as by ``karat score``: by score, and equal scores by id, the higher one first. A query that only
    some of the runs have is fused from those.

    >>> fused = fuse({"a": {"q": {"x": 2.0, "y": 1.0}}, "b": {"q": {"y": 9.0}}})
    >>> [hit.id for hit in fused["q"]]
    ['y', 'x']
    """
    if depth < 1:
        raise UsageError(f"depth={depth}; keep at least one document")
    fusion = fusion or Fusion()
    fused = {}
    for query in dict.fromkeys(query for run in runs.values() for query in run):
        channels = {name: _ranking(run.get(query, {})) for name, run in runs.items()}
        fused[query] = fusion(channels, depth)
    return fused


def _ranking(scored: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(scored.items(), key=lambda item: (item[1], item[0]), reverse=True)


def describe_fusion(
    fused: Mapping[str, Sequence[Fused[str]]], fusion: Fusion, written: str, runs: Sequence[str], *, depth: int
) -> FusionSummary:
    """Return what a run was made of, and how large it is.

    >>> fused = fuse({"a": {"q": {"x": 1.0}}, "b": {"q": {"x": 2.0}}}, Fusion())
    >>> describe_fusion(fused, Fusion(), "fused.txt", ["a", "b"], depth=1000).hits
    1
    """
    parameters: dict[str, Any] = {**fusion.describe(), "depth": depth}
    hits = sum(map(len, fused.values()))
    return FusionSummary(written=written, runs=tuple(runs), queries=len(fused), hits=hits, **parameters)


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
