"""What the scores of two runs show about one measure: the drop, its bound, and the drop that is tolerated."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from karat.core import LOWEST_FOR_GEOMETRIC_MEAN, UsageError, average, did_you_mean
from karat.stats._lost import find_worst_case
from karat.stats._paired import bounds
from karat.stats._permutation import permutation
from karat.stats._power import LEAST_ALPHA, sample_size
from karat.stats._sample import ROUNDING, TIE, Floats, Sample, check_resamples, pairs, sample
from karat.stats._student import above

Scale = Literal["mean", "geometric"]
"""What a measure is over its queries. A geometric mean is tested as the mean of logarithms."""

_FLIPS_BELOW_ALPHA = 20
"""Among all sign flips, how many may be as extreme as the data at a p of alpha: with fewer, p would be coarse."""
_MOST_FLIPS = 999_999
_MOST_SPREAD = 400
"""Standard deviations per effect beyond which no realistic number of queries, some 1,000,000, is enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DropRule:
    """The tolerated drop, and the level at which a larger one is tested."""

    relative: float = 0.05
    """The tolerated drop as a share of the baseline's mean."""
    absolute: float = 0.01
    """The least margin. Half of the baseline's mean is used instead where that is less."""
    alpha: float = 0.05
    """The level of the test for a drop, and of the bound that rules one out."""
    resamples: int = 9_999
    """The least number of sign flips; see ``flips``."""

    def __post_init__(self) -> None:
        if not 0 <= self.relative < 1:
            raise UsageError(f"relative tolerance {self.relative} should be a share: 0 or above, and below 1")
        if not 0 <= self.absolute < math.inf:
            raise UsageError(f"absolute tolerance {self.absolute} should be a finite number, 0 or above")
        if not LEAST_ALPHA <= self.alpha < 0.5:
            raise UsageError(
                f"alpha {self.alpha} should lie between {LEAST_ALPHA:g} and 0.5: no number of sign flips that karat "
                "tries can reach less"
            )
        check_resamples(self.resamples)

    def margin(self, baseline: float, *, lower_is_better: bool = False) -> float:
        """Return the tolerated drop from a mean: a share of it, but at least ``absolute``.

        A drop to nothing is never tolerated: ``absolute`` counts up to half of the mean. From a mean of 0 nothing can
        drop. Where lower is better, a drop is a rise, which has no such end.

        >>> DropRule().margin(0.8), DropRule().margin(0.1), DropRule().margin(0.005)
        (0.04000000000000001, 0.01, 0.0025)
        """
        mean = abs(baseline)
        least = self.absolute if lower_is_better or not mean else min(self.absolute, mean / 2)
        return max(self.relative * mean, least)

    @property
    def flips(self) -> int:
        """The number of sign flips where there are too many to try all: at least 20 / alpha, up to a million."""
        return min(max(self.resamples, math.ceil(_FLIPS_BELOW_ALPHA / self.alpha) - 1), _MOST_FLIPS)

    @property
    def least_changed(self) -> int:
        """The least number of changed queries with which a test of one measure can reach the level: 5 for 0.05."""
        return math.ceil(-math.log2(self.alpha))


@dataclass(frozen=True, slots=True, eq=False)
class PairedScores:
    """The scores of two runs on one measure, in the same order of queries.

    NaN in both runs marks a query that the measure is not defined for, or that a rule is not about.
    """

    baseline: ArrayLike
    candidate: ArrayLike
    lower_is_better: bool = False
    scale: Scale = "mean"
    lost: ArrayLike | None = None
    """Which queries have no answer in the candidate and one in the baseline. Their score there is the worst possible,
    and what it would have been is not known."""

    def __post_init__(self) -> None:
        if self.scale not in get_args(Scale):
            raise UsageError(f"unknown scale {self.scale!r}{did_you_mean(str(self.scale), get_args(Scale))}")
        if self.scale == "geometric" and self.lower_is_better:
            raise UsageError("a geometric mean is tested only where higher is better")

    def differences(self) -> Floats:
        """Return how much better each query became, on the scale of the test; NaN where nothing is scored.

        Scores that differ by less than 1e-9 count as equal.
        """
        before, after = self._arrays()
        if self.scale == "geometric":
            before, after = (np.log(np.maximum(values, LOWEST_FOR_GEOMETRIC_MEAN)) for values in (before, after))
        change = before - after if self.lower_is_better else after - before
        return np.where(np.abs(change) <= TIE, 0.0, change)

    def lost_now(self) -> NDArray[np.bool_]:
        """Return which of the queries that have a score are lost."""
        before, _ = self._arrays()
        lost = np.zeros(len(before), bool) if self.lost is None else np.asarray(self.lost, bool)
        return lost[~np.isnan(before)]

    def spread_lost(self, differences: Sample, alpha: float) -> Sample | None:
        """Return the differences with those of the lost queries as they make the lower bound lowest.

        It is None if scores leave [0, 1], so that nobody knows how good the lost ones could have been.
        """
        lost, (before, after) = self.lost_now(), self.scored()
        if not lost.any():
            return differences
        if before.min() < 0 or max(before.max(), after.max()) > 1 or after.min() < 0:
            return None
        ends = [
            PairedScores(before, np.full(len(before), end), self.lower_is_better, self.scale).differences()
            for end in ((1.0, 0.0) if self.lower_is_better else (0.0, 1.0))
        ]
        return find_worst_case(differences.values, lost, ends[0], ends[1], alpha)

    def scored(self) -> tuple[Floats, Floats]:
        """Return the scores of the queries that have one."""
        before, after = self._arrays()
        present = ~np.isnan(before)
        return before[present], after[present]

    def _arrays(self) -> tuple[Floats, Floats]:
        before, after = np.asarray(self.baseline), np.asarray(self.candidate)
        if before.shape != after.shape or not {before.dtype.kind, after.dtype.kind} <= set("fiu"):
            return pairs(self.baseline, self.candidate)  # which says what is wrong, or converts it
        missing = np.isnan(before) & np.isnan(after)
        pairs(np.where(missing, 0.0, before), np.where(missing, 0.0, after))  # refuses a score that one run only lacks
        return before.astype(np.float64), after.astype(np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The comparison of two runs on one measure; a drop is negative, also where lower is better."""

    n: int
    clusters: int | None
    changed: int
    """The number of queries, or clusters, whose score changed."""
    baseline: float
    candidate: float
    difference: float
    margin: float
    p: float
    """The p-value of the one-sided sign-flip test for a drop."""
    low: float | None
    """The lower bound of the difference, whatever the lost queries would have scored; None for a single query or
    cluster, which has no spread, and if the lost queries could have had any score."""
    shift: float
    """The mean difference on the scale of the test: ``difference``, or the mean difference of logarithms."""
    tolerance: float
    """The margin on the scale of the test."""
    sd: float | None
    """The standard deviation of the differences, on the scale of the test; with clusters, that of independent queries
    with the same error."""
    rule: DropRule
    lost: int = 0
    """The number of lost queries."""
    worst: tuple[float, float | None] = (0.0, None)
    """The mean and standard deviation of the differences that ``low`` is computed from."""
    lower_is_better: bool = False

    @property
    def loss(self) -> str:
        """What getting worse is called: a drop, or a rise where lower is better."""
        return "rise" if self.lower_is_better else "drop"

    @property
    def units(self) -> int:
        """The number of independent units: clusters, or queries."""
        return self.clusters or self.n

    @property
    def dropped(self) -> bool:
        """Whether the mean fell by more than the margin."""
        return self.shift < -self.tolerance - TIE

    @property
    def ruled_out(self) -> bool:
        """Whether a drop by more than the margin is ruled out."""
        if self.lost:
            return self.low is not None and self.low > -self.margin + TIE
        return self.changed == 0 or (self.low is not None and self.low > -self.margin)

    @property
    def p_worse(self) -> float:
        """The p-value of the t-test that rules out a drop by more than the margin.

        It is below alpha where the lower bound is above the margin.

        >>> weighed = evidence([1, 1, 0.5, 1, 1, 1], [1, 1, 0.5, 0.5, 1, 1], rng=np.random.default_rng(1))
        >>> round(weighed.p_worse, 3), weighed.ruled_out
        (0.664, False)
        """
        mean, sd = self.worst
        if self.changed == 0 and not self.lost:
            return 0.0
        if sd is None:
            return 1.0
        distance = mean + self.tolerance
        if not sd:
            return 0.0 if distance > 0 else 1.0
        return above(distance / (sd / math.sqrt(self.n)), self.units - 1)

    @property
    def needed(self) -> int | None:
        """The number of queries with this spread that would decide in 80 % of the cases.

        It rules out a drop beyond the margin if the true drop is the observed one, or there is none: about
        6.18 sd^2 / (margin - drop)^2 for alpha = 0.05. Where the mean fell by more than the margin, it shows a drop of
        that size. None without a spread or a margin, where no realistic number is enough, or where it is no more than
        there are.
        """
        effect = -self.shift if self.dropped else self.tolerance + min(self.shift, 0.0)
        if not self.sd or self.sd > _MOST_SPREAD * effect:
            return None
        queries = sample_size(effect, self.sd, alpha=self.rule.alpha, sides=1)
        return queries if queries > self.n else None


def evidence(
    baseline: ArrayLike,
    candidate: ArrayLike,
    *,
    rng: np.random.Generator,
    rule: DropRule | None = None,
    lower_is_better: bool = False,
    clusters: Iterable[object] | None = None,
) -> Evidence:
    """Compare the scores of two runs on the same queries, in the same order.

    Include failed queries with their score of 0. Scores that differ by less than 1e-9 count as equal.

    >>> rng = np.random.default_rng(1)
    >>> weighed = evidence([1, 1, 0.5, 1, 1, 1], [0.5, 0, 0.5, 0, 0.5, 0], rng=rng)
    >>> weighed.p == 1 / 32, round(weighed.difference, 2), weighed.dropped, weighed.ruled_out
    (True, -0.67, True, False)
    """
    rule = rule or DropRule()
    pair = PairedScores(baseline=baseline, candidate=candidate, lower_is_better=lower_is_better)
    labels = None if clusters is None else list(clusters)
    differences = sample(pair.differences(), labels)
    tested = permutation(differences.values, rng=rng, resamples=rule.flips, alternative="less", clusters=labels)
    return weigh(pair, differences, tested.p, rule)


def weigh(pair: PairedScores, differences: Sample, p: float, rule: DropRule) -> Evidence:
    """Return the evidence of a measure whose p-value for a drop is known."""
    before, after = pair.scored()
    was, now = average(before, pair.scale), average(after, pair.scale)
    margin = rule.margin(was, lower_is_better=pair.lower_is_better)
    worst = pair.spread_lost(differences, rule.alpha)
    bound = None if worst is None else bounds(worst, rule.alpha)[0]
    logs = pair.scale == "geometric"
    return Evidence(
        n=differences.n,
        clusters=differences.clusters,
        changed=int((np.abs(differences.sums) > ROUNDING * differences.scale).sum()),
        baseline=was,
        candidate=now,
        difference=now - was if logs else differences.mean,
        margin=margin,
        p=p,
        low=bound if bound is None or not logs else was * math.expm1(bound),
        shift=differences.mean,
        tolerance=-math.log1p(-margin / was) if logs else margin,
        sd=differences.sd,
        rule=rule,
        lost=int(pair.lost_now().sum()),
        worst=(0.0, None) if worst is None else (worst.mean, worst.sd),
        lower_is_better=pair.lower_is_better,
    )
