"""Comparing runs: for every measure the difference, its interval and p-value, and how many queries changed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, combinations
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from karat.core import Floats, UsageError, average, did_you_mean, draw_interval, shorten, show_table
from karat.evaluation import Evaluation, Segment, Segments, require_comparable
from karat.gate._names import name_run
from karat.gate._pairing import Match, Pairs, lower_is_better, match_queries, scale_of
from karat.gate._unanswered import count_refusals
from karat.stats import (
    PairedScores,
    benjamini_hochberg,
    bonferroni,
    bootstrap,
    effect_size,
    holm,
    make_generator,
    paired_t,
    permutation,
    westfall_young,
    win_tie_loss,
)

RESAMPLES = 10_000
ALPHA = 0.05
LEVEL = 0.95
Correction = Literal["westfall-young", "holm", "bonferroni", "bh", "none"]
"""How p-values are corrected for the number of tests: from the same sign flips of all of them (Westfall and Young), or
from the p-values alone. ``bh`` is the procedure of Benjamini and Hochberg."""

Changes = tuple[Sequence[str], Floats]
"""Queries, and by how much each of them changed."""

_FLIPS_PER_TEST = 100
"""Sign flips for each test where p-values alone are corrected: with fewer, no corrected p could be below 0.05."""
_CORRECTIONS: Mapping[str, Callable[[ArrayLike], Floats]] = {
    "holm": holm,
    "bonferroni": bonferroni,
    "bh": benjamini_hochberg,
    "none": lambda p: np.asarray(p, dtype=np.float64),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs on one measure, over the queries that have a value in both.

    The value of a query is its mean over paraphrases and repeats. A positive difference means that the number rose,
    which is not an improvement for a measure where lower is better.
    """

    measure: str
    segment: Segment | None = None
    n: int
    """How many queries have a value in both runs; 0 if a run has means only, and then nothing is tested."""
    baseline: float
    """The mean of the baseline over these queries."""
    candidate: float
    """The mean of the candidate over these queries."""
    difference: float
    """The candidate's mean minus the baseline's."""
    low: float | None = None
    """The lower end of the 95 % interval of the difference (BCa bootstrap); None if there are too few queries."""
    high: float | None = None
    """The upper end of the interval."""
    p: float | None = None
    """The p-value of the two-sided sign-flip test."""
    p_corrected: float | None = None
    """The same, corrected for all tests of the comparison."""
    p_t: float | None = None
    """The p-value of the paired t-test, not corrected."""
    effect: float | None = None
    """Cohen's d_z: the mean difference in standard deviations."""
    wins: int = 0
    """How many queries became better, which for some measures means lower."""
    ties: int = 0
    losses: int = 0
    """How many queries became worse."""

    @property
    def significant(self) -> bool:
        """Whether the corrected p is at most 0.05."""
        return self.p_corrected is not None and self.p_corrected <= ALPHA

    @property
    def gain(self) -> float:
        """How much better the candidate is; negative if it is worse, also for a measure where lower is better."""
        return -self.difference if lower_is_better(self.measure) else self.difference

    def _repr_html_(self) -> str:
        """Return what a notebook shows: both means, the difference with its interval, and how many queries changed."""
        picture = "-"
        if self.low is not None and self.high is not None:
            picture = draw_interval(self.difference, self.low, self.high, max(abs(self.low), abs(self.high)))
        p = "-" if self.p_corrected is None else f"{self.p_corrected:.4f}"
        numbers = [f"{value:.4f}" for value in (self.baseline, self.candidate)]
        row = [
            self.measure,
            *numbers,
            f"{self.difference:+.4f}",
            picture,
            p,
            f"{self.wins:,} / {self.ties:,} / {self.losses:,}",
        ]
        heads = ["measure", "baseline", "candidate", "difference", "95 % interval", "p", "better / same / worse"]
        where = "" if self.segment is None else f", {self.segment[0]} {self.segment[1]}"
        return show_table(f"{self.n:,} queries{where}", heads, [row])

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data for JSON; a number that is not finite is None."""
        fields = asdict(self) | {"significant": self.significant}
        fields["segment"] = None if self.segment is None else dict([self.segment])
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in fields.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """How two of several runs compare."""

    baseline: int
    """The index of the run that is the baseline."""
    candidate: int
    """The index of the run that is the candidate."""
    measures: tuple[Comparison, ...]
    segments: tuple[Comparison, ...] = ()


def compare(
    candidate: Evaluation,
    baseline: Evaluation,
    measures: Iterable[str] | None = None,
    *,
    segments: Segments | None = None,
    correction: Correction = "westfall-young",
    seed: int = 0,
) -> tuple[Comparison, ...]:
    """Return the comparisons of two runs: one for every measure that both have, then those of the segments.

    This is :func:`compare_all` for two runs.
    """
    (pair,) = compare_all([baseline, candidate], measures, segments=segments, correction=correction, seed=seed)
    return (*pair.measures, *pair.segments)


def _check_arguments(runs: int, correction: Correction) -> None:
    if correction not in get_args(Correction):
        raise UsageError(
            f"unknown correction {shorten(correction)}{did_you_mean(str(correction), get_args(Correction))}"
        )
    if runs < 2:
        raise UsageError(f"{runs} run: a comparison needs two")


def compare_all(
    evaluations: Sequence[Evaluation],
    measures: Iterable[str] | None = None,
    *,
    segments: Segments | None = None,
    correction: Correction = "westfall-young",
    seed: int = 0,
    as_gate: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Pair, ...]:
    """Return how every run compares with every later one, on every measure that all of them have.

    The p-values are corrected over all pairs and measures; those of segments are corrected separately, over all
    segments, pairs and measures. The same seed gives the same p, whatever else is compared, except that p uses more
    sign flips if more than a hundred tests are corrected by Holm's method or another that sees p-values only.
    ``progress`` is called with the number of finished and of all comparisons. With ``as_gate``, a query that the
    baseline has a value for, and to which the candidate's answer says nothing, has the worst value.

    >>> from karat.core import Provenance, Scores
    >>> def make(name, *values):
    ...     scores = Scores.from_columns(name, {"RR": {f"q{i}": value for i, value in enumerate(values)}})
    ...     return Evaluation(provenance=Provenance(name=name), scores=scores)
    >>> pairs = compare_all([make("a", 0, 0, 0.5), make("b", 1, 0.5, 1), make("c", 1, 1, 0.5)])
    >>> [(pair.baseline, pair.candidate, round(pair.measures[0].difference, 3)) for pair in pairs]
    [(0, 1, 0.667), (0, 2, 0.667), (1, 2, 0.0)]
    >>> [pair.measures[0].p_corrected for pair in pairs]  # uncorrected: 0.25, 0.5 and 1
    [0.25, 0.75, 1.0]
    """
    _check_arguments(len(evaluations), correction)
    places = list(combinations(range(len(evaluations)), 2))
    names = list(measures) if measures is not None else shared_measures(evaluations)
    for baseline, candidate in places:
        others = set(evaluations[candidate].means).difference(names)
        called = name_run(candidate), name_run(baseline)
        require_comparable(evaluations[candidate], evaluations[baseline], apart_from=others, names=called)
    whole = [(place, None, measure) for place in places for measure in names]
    by_segment = [(place, segment, measure) for place in places for segment in segments or {} for measure in names]
    comparisons: dict[tuple[tuple[int, int], Segment | None, str], Comparison] = {}
    for family in (whole, by_segment):
        tests, rows = [], []
        matches: dict[tuple[tuple[int, int], Segment | None], Match] = {}  # the same for all measures
        counted: dict[tuple[int, int], Evaluation] = {}
        flips = RESAMPLES - 1 if correction == "westfall-young" else _count_flips(len(family))
        for place, segment, measure in family:
            queries = None if segment is None else (segments or {})[segment]
            runs = evaluations[place[1]], evaluations[place[0]]
            if as_gate:
                counted[place] = counted.get(place) or count_refusals(*runs, whole=True)
                runs = counted[place], runs[1]
            if (place, segment) not in matches:
                matches[place, segment] = match_queries(*runs, queries)
            pairs = matches[place, segment].pair(*runs, measure, count_lost=as_gate)
            rows.append((pairs.queries, _measure_changes(measure, pairs)))
            tests.append(_compare_measure(*runs, measure, segment, pairs, seed, flips))
            if progress:
                progress(len(comparisons) + len(tests), len(whole) + len(by_segment))
        comparisons |= dict(zip(family, _correct(tests, rows, correction, seed), strict=True))
    return tuple(
        Pair(
            baseline=place[0],
            candidate=place[1],
            measures=tuple(comparisons[place, None, measure] for measure in names),
            segments=tuple(comparisons[place, segment, measure] for segment in segments or {} for measure in names),
        )
        for place in places
    )


def shared_measures(evaluations: Sequence[Evaluation]) -> list[str]:
    """Return the measures that all runs have, in the order of the last run."""
    return [
        name for name in evaluations[-1].means or evaluations[-1].scores.measures if all(map(_has(name), evaluations))
    ]


def _has(measure: str) -> Callable[[Evaluation], bool]:
    return lambda evaluation: measure in (evaluation.scores.measures if evaluation.has_queries else evaluation.means)


def _count_flips(tests: int) -> int:
    """Return how many sign flips each of several tests needs if they are corrected together."""
    return max(RESAMPLES, _FLIPS_PER_TEST * tests) - 1


def _correct(
    comparisons: Sequence[Comparison], rows: Sequence[Changes], correction: Correction, seed: int
) -> list[Comparison]:
    """Return the comparisons with corrected p-values. Comparisons without a p-value do not count as tests."""
    tested = [i for i, comparison in enumerate(comparisons) if comparison.p is not None]
    p = np.array([comparisons[i].p for i in tested], float)
    if correction != "westfall-young":
        adjusted = _CORRECTIONS[correction](p) if tested else p
    elif len(tested) > 1:
        rng = make_generator(seed, "compare")
        joint = westfall_young(align_changes([rows[i] for i in tested]), rng=rng, resamples=RESAMPLES - 1)
        adjusted = np.maximum(joint.adjusted, p)  # p has its own flips, which may fall a little higher
    else:
        adjusted = p
    by_index = dict(zip(tested, adjusted.tolist(), strict=True))
    return [replace(comparison, p_corrected=by_index.get(i)) for i, comparison in enumerate(comparisons)]


def align_changes(rows: Sequence[Changes]) -> Floats:
    """Return the changes of several measures over the same queries, a row for each; NaN where a query has none.

    >>> align_changes([(("q1", "q2"), np.array([0.5, 0.0])), (("q2",), np.array([1.0]))]).tolist()
    [[0.5, 0.0], [nan, 1.0]]
    """
    if all(queries == rows[0][0] for queries, _ in rows):
        return np.array([changes for _, changes in rows])
    lists = {id(queries): queries for queries, _ in rows}  # measures have the same queries, or nearly
    places = {query: i for i, query in enumerate(dict.fromkeys(chain.from_iterable(lists.values())))}
    columns = {key: np.array([places[query] for query in queries]) for key, queries in lists.items()}
    table = np.full((len(rows), len(places)), math.nan)
    for values, (queries, changes) in zip(table, rows, strict=True):
        values[columns[id(queries)]] = changes
    return table


def _measure_changes(measure: str, pairs: Pairs) -> Floats:
    """Return how much each query rose, on the scale on which the measure is tested."""
    return PairedScores(pairs.before, pairs.after, scale=scale_of(measure)).differences()


def _compare_measure(
    candidate: Evaluation, baseline: Evaluation, measure: str, segment: Segment | None,
    pairs: Pairs, seed: int, flips: int,
) -> Comparison:  # fmt: skip
    if not (candidate.has_queries and baseline.has_queries):
        return _compare_means(candidate, baseline, measure, segment)
    rise = pairs.after - pairs.before
    counts = win_tie_loss(-rise if lower_is_better(measure) else rise)
    scale = scale_of(measure)
    before, after = average(pairs.before, scale), average(pairs.after, scale)
    comparison = Comparison(
        measure=measure, segment=segment, n=len(rise), baseline=before, candidate=after,
        difference=after - before if scale == "geometric" else average(rise, scale),
        wins=counts.wins, ties=counts.ties, losses=counts.losses,
    )  # fmt: skip
    if len(rise) < 2:
        return comparison
    change = _measure_changes(measure, pairs) if scale == "geometric" else rise
    rng = make_generator(seed, measure, segment)
    interval = bootstrap(change, rng=rng, resamples=RESAMPLES, level=LEVEL, method="bca")
    ends = interval.low, interval.high
    low, high = (before * math.expm1(end) for end in ends) if scale == "geometric" else ends
    return replace(
        comparison,
        low=low,
        high=high,
        p=permutation(change, rng=rng, resamples=flips).p,
        p_t=paired_t(change).p,
        effect=effect_size(change).d_z,
    )


def _compare_means(candidate: Evaluation, baseline: Evaluation, measure: str, segment: Segment | None) -> Comparison:
    """Compare the means of runs of which one has no single scores, and therefore no segments either."""
    before, after = (math.nan if segment else evaluation.mean(measure) for evaluation in (baseline, candidate))
    return Comparison(
        measure=measure, segment=segment, n=0, baseline=before, candidate=after, difference=after - before
    )
