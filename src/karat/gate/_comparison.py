"""Runs side by side: for every measure the difference, how sure it is, and which queries made it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from karat.core import Measure, UsageError, did_you_mean, shorten
from karat.evaluation import Evaluation, Segment, Segments, require_comparable
from karat.stats import (
    benjamini_hochberg,
    bonferroni,
    bootstrap,
    effect_size,
    holm,
    paired_t,
    permutation,
    win_tie_loss,
)

RESAMPLES = 10_000
ALPHA = 0.05
LEVEL = 0.95
Correction = Literal["holm", "bonferroni", "bh", "none"]
"""How p-values are corrected for the number of tests; ``bh`` is Benjamini and Hochberg's."""

_FLIPS_FOR_A_TEST = 100
"""So many sign flips for each test that is corrected with others: else no p of many tests could stay below 0.05."""
_CORRECTIONS: Mapping[Correction, Callable[[ArrayLike], NDArray[np.float64]]] = {
    "holm": holm,
    "bonferroni": bonferroni,
    "bh": benjamini_hochberg,
    "none": lambda p: np.asarray(p, dtype=np.float64),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One measure on the queries that both runs have a value for; a positive difference is a rise of the number.

    The unit is the query: what it scored in its paraphrases and repeats is averaged before differences are taken.
    """

    measure: str
    segment: Segment | None = None
    n: int
    """How many queries both runs have; 0 where one of them has means only, and then there are no tests."""
    baseline: float
    """Mean over the shared queries, as are the others."""
    candidate: float
    difference: float
    low: float | None = None
    """Of the 95 % interval of the difference (BCa bootstrap); None where there are too few queries."""
    high: float | None = None
    p: float | None = None
    """Of the two-sided sign-flip test."""
    p_corrected: float | None = None
    """Corrected for all that was tested with it."""
    p_t: float | None = None
    """Of the paired t-test, beside it; not corrected."""
    effect: float | None = None
    """Cohen's d_z: the mean difference in standard deviations."""
    wins: int = 0
    ties: int = 0
    losses: int = 0
    """Wins and losses are by what is better, which for some measures is less."""

    @property
    def significant(self) -> bool:
        """Whether the corrected p is at most 0.05."""
        return self.p_corrected is not None and self.p_corrected <= ALPHA

    @property
    def gain(self) -> float:
        """How much better the candidate is; negative when worse, whichever way the measure points."""
        return -self.difference if lower_is_better(self.measure) else self.difference

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON has it."""
        found = asdict(self) | {"significant": self.significant}
        found["segment"] = None if self.segment is None else dict([self.segment])
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in found.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two of several runs, by their places, and how they compare."""

    baseline: int
    candidate: int
    measures: tuple[Compared, ...]
    segments: tuple[Compared, ...] = ()


def compare(
    candidate: Evaluation,
    baseline: Evaluation,
    measures: Iterable[str] | None = None,
    *,
    segments: Segments | None = None,
    correction: Correction = "holm",
    seed: int = 0,
) -> tuple[Compared, ...]:
    """Compare two runs on every measure that both have, and then on segments of the queries.

    See :func:`compare_all`, which this is for two.
    """
    (pair,) = compare_all([baseline, candidate], measures, segments=segments, correction=correction, seed=seed)
    return (*pair.measures, *pair.segments)


def compare_all(
    evaluations: Sequence[Evaluation],
    measures: Iterable[str] | None = None,
    *,
    segments: Segments | None = None,
    correction: Correction = "holm",
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Pair, ...]:
    """Compare every run with every later one, on every measure that all have.

    p is corrected over all pairs and measures. Segments are for looking, and corrected by themselves: over all of them,
    all pairs and measures. The same seed gives the same numbers, whatever else is compared; only p has more flips where
    more than a hundred tests are corrected together.

    >>> from karat.core import Provenance, Scores
    >>> def made(name, *values):
    ...     scores = Scores.from_columns(name, {"RR": {f"q{i}": value for i, value in enumerate(values)}})
    ...     return Evaluation(provenance=Provenance(name=name), scores=scores)
    >>> pairs = compare_all([made("a", 0, 0, 0.5), made("b", 1, 0.5, 1), made("c", 1, 1, 0.5)])
    >>> [(pair.baseline, pair.candidate, round(pair.measures[0].difference, 3)) for pair in pairs]
    [(0, 1, 0.667), (0, 2, 0.667), (1, 2, 0.0)]
    >>> [pair.measures[0].p_corrected for pair in pairs]  # 0.25, 0.5 and 1 alone
    [0.75, 1.0, 1.0]
    """
    if correction not in get_args(Correction):
        raise UsageError(f"unknown correction {shorten(correction)}{did_you_mean(str(correction), _CORRECTIONS)}")
    if len(evaluations) < 2:
        raise UsageError(f"{len(evaluations)} run: a comparison needs two")
    places = list(combinations(range(len(evaluations)), 2))
    for one, other in places:
        require_comparable(evaluations[other], evaluations[one])
    wanted = list(measures) if measures is not None else shared_measures(evaluations)
    whole = [(place, None, measure) for place in places for measure in wanted]
    parts = [(place, segment, measure) for place in places for segment in segments or {} for measure in wanted]
    found: dict[tuple[tuple[int, int], Segment | None, str], Compared] = {}
    for family in (whole, parts):
        tests = []
        for (one, other), segment, measure in family:
            queries = None if segment is None else (segments or {})[segment]
            flips = _flips(len(family))
            tests.append(_compared(evaluations[other], evaluations[one], measure, segment, queries, seed, flips))
            if progress:
                progress(len(found) + len(tests), len(whole) + len(parts))
        found |= dict(zip(family, corrected(tests, correction), strict=True))
    return tuple(
        Pair(
            baseline=place[0],
            candidate=place[1],
            measures=tuple(found[place, None, measure] for measure in wanted),
            segments=tuple(found[place, segment, measure] for segment in segments or {} for measure in wanted),
        )
        for place in places
    )


def shared_measures(evaluations: Sequence[Evaluation]) -> list[str]:
    """Give the measures that all runs have, in the order of the last."""
    return [
        name for name in evaluations[-1].means or evaluations[-1].scores.measures if all(map(_has(name), evaluations))
    ]


def _has(measure: str) -> Callable[[Evaluation], bool]:
    return lambda evaluation: measure in (evaluation.scores.measures if evaluation.has_queries else evaluation.means)


def _flips(tests: int) -> int:
    """Give how many sign flips a test needs that is corrected with so many."""
    return max(RESAMPLES, _FLIPS_FOR_A_TEST * tests) - 1


def corrected(tests: Sequence[Compared], correction: Correction = "holm") -> list[Compared]:
    """Correct the p-values of tests for their number; what was not tested does not count."""
    tested = [(i, one.p) for i, one in enumerate(tests) if one.p is not None]
    adjusted = _CORRECTIONS[correction]([p for _, p in tested]).tolist() if tested else []
    by_place = dict(zip((i for i, _ in tested), adjusted, strict=True))
    return [replace(one, p_corrected=by_place.get(i)) for i, one in enumerate(tests)]


def differences(
    candidate: Evaluation, baseline: Evaluation, measure: str, queries: Sequence[str] | None = None
) -> dict[str, tuple[float, float]]:
    """Give (baseline, candidate) of each query that has a value in both, in the order of the baseline."""
    now, then = candidate.values(measure, queries), baseline.values(measure, queries)
    return {query: (value, now[query]) for query, value in then.items() if query in now}


def _compared(
    candidate: Evaluation, baseline: Evaluation, measure: str, segment: Segment | None,
    queries: Sequence[str] | None, seed: int, flips: int,
) -> Compared:  # fmt: skip
    if not (candidate.has_queries and baseline.has_queries):
        return _of_means(candidate, baseline, measure, segment)
    pairs = np.array(list(differences(candidate, baseline, measure, queries).values()), float).reshape(-1, 2)
    change = pairs[:, 1] - pairs[:, 0]
    counts = win_tie_loss(-change if lower_is_better(measure) else change)
    before, after = (math.fsum(column) / len(column) if len(column) else math.nan for column in pairs.T)
    found = Compared(
        measure=measure, segment=segment, n=len(change), baseline=before, candidate=after,
        difference=math.fsum(change) / len(change) if len(change) else math.nan,
        wins=counts.wins, ties=counts.ties, losses=counts.losses,
    )  # fmt: skip
    if len(change) < 2:
        return found
    rng = generator(seed, measure, segment)
    interval = bootstrap(change, rng=rng, resamples=RESAMPLES, level=LEVEL, method="bca")
    return replace(
        found,
        low=interval.low,
        high=interval.high,
        p=permutation(change, rng=rng, resamples=flips).p,
        p_t=paired_t(change).p,
        effect=effect_size(change).d_z,
    )


def _of_means(candidate: Evaluation, baseline: Evaluation, measure: str, segment: Segment | None) -> Compared:
    """Compare what is known of a run without single scores; of its segments nothing is."""
    before, after = (math.nan if segment else one.mean(measure) for one in (baseline, candidate))
    return Compared(measure=measure, segment=segment, n=0, baseline=before, candidate=after, difference=after - before)


def lower_is_better(measure: str) -> bool:
    """Say whether less of a measure is better, as of DupRate."""
    return Measure.parse(measure).definition.higher_is_better is False


def generator(seed: int, measure: str, segment: Segment | None = None) -> np.random.Generator:
    """Give a source of chance of its own to each measure, so that one more changes nothing for the others."""
    words = hashlib.sha256(f"{seed}\0{measure}\0{segment}".encode()).digest()
    return np.random.default_rng(np.frombuffer(words, np.uint32).tolist())
