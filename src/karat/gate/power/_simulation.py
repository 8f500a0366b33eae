"""How often a gate is wrong, by simulation: false alarms where nothing changed, and losses that it does not see.

The runs are made from the scores of a real one, so that the numbers are those of this golden set and this policy. Each
is decided by the same function as a real run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from karat.core import Floats, Measure, UsageError
from karat.evaluation import Evaluation
from karat.gate._decision import decide
from karat.gate._policy import Policy
from karat.stats import make_generator

Progress = Callable[[int, int], None]
"""Called with the number of simulated runs, and of all of them."""
LOSSES = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30)
"""Numbers of lost queries that are tried by default."""
CHANGED = 0.3
"""The share of the queries that change by chance, if there is no second run to take it from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRates:
    """How often a gate decides which way on simulated runs of one kind."""

    lost: int
    """How many queries lost their answer; 0 where nothing changed but by chance."""
    n: int
    """How many queries there are."""
    runs: int
    """How many runs were simulated."""
    fail: float
    inconclusive: float
    passed: float


def simulate_losses(
    baseline: Evaluation,
    policy: Policy,
    losses: Iterable[int] = LOSSES,
    *,
    runs: int = 200,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[GateRates, ...]:
    """Return how often a policy sees the loss of some queries: their measures fall to 0, and all others stay.

    The queries are drawn from those that worked. Numbers that are larger than theirs are left out, and so are those
    above the first loss that every run shows. ``progress`` is called with the number of simulated runs, and of all that
    may be needed.
    """
    _require_queries(baseline)
    rated = _rated_columns(baseline)
    working = np.flatnonzero((baseline.scores.values[:, rated] > 0).any(axis=1))
    rates: list[GateRates] = []
    possible = [lost for lost in losses if 0 < lost <= len(working)]
    for lost in possible:
        if rates and rates[-1].fail == 1:
            if progress is not None:
                progress(len(possible) * runs, len(possible) * runs)
            break
        rng = make_generator(seed, f"lost {lost}")
        outcomes: Counter[str] = Counter()
        for number in range(runs):
            rows = rng.choice(working, lost, replace=False)
            values = baseline.scores.values.copy()
            for column in rated:
                values[rows, column] *= 0.0  # NaN stays
            queries = {baseline.scores.queries[row] for row in rows}
            candidate = replace(_rescore(baseline, values), unfound=baseline.unfound | queries)
            outcomes[decide(candidate, baseline, policy, seed=seed).outcome.value] += 1
            if progress is not None:
                progress(len(rates) * runs + number + 1, len(possible) * runs)
        rates.append(_rate(outcomes, lost, len(baseline.scores.queries), runs))
    return tuple(rates)


def simulate_noise(
    baseline: Evaluation,
    policy: Policy,
    other: Evaluation | None = None,
    *,
    changed: float = CHANGED,
    runs: int = 200,
    seed: int = 0,
    progress: Progress | None = None,
) -> GateRates:
    """Return how often a policy fails where neither of two runs is better.

    With ``other``, a second run on the same queries, each query has the scores of both, and chance decides which of
    them is the baseline's. Without it, a share of the queries changes, each to the scores of another query or from
    them.
    """
    _require_queries(baseline)
    rng = make_generator(seed, "noise")
    first = baseline.scores.values
    outcomes: Counter[str] = Counter()
    for number in range(runs):
        second = _exchange(first, changed, rng) if other is None else _align(other, baseline)
        swapped = rng.random(len(first)) < 0.5
        before, after = (np.where(side[:, None], second, first) for side in (swapped, ~swapped))
        decision = decide(_rescore(baseline, after), _rescore(baseline, before), policy, seed=seed)
        outcomes[decision.outcome.value] += 1
        if progress is not None:
            progress(number + 1, runs)
    return _rate(outcomes, 0, len(first), runs)


def _exchange(values: Floats, changed: float, rng: np.random.Generator) -> Floats:
    """Return scores in which a share of the queries has those of another query, where both have one."""
    n = len(values)
    others = values[rng.integers(0, n, n)]
    move = (rng.random(n) < changed)[:, None] & ~np.isnan(values) & ~np.isnan(others)
    return np.where(move, others, values)


def _align(other: Evaluation, baseline: Evaluation) -> Floats:
    """Return the scores of a second run in the order of the first, or the first's own where the second has none."""
    values = baseline.scores.values.copy()
    for j, measure in enumerate(baseline.scores.measures):
        column = other.values(measure)
        for i, query in enumerate(baseline.scores.queries):
            if not np.isnan(values[i, j]):
                values[i, j] = column.get(query, values[i, j])
    return values


def _rescore(evaluation: Evaluation, values: Floats) -> Evaluation:
    scores = replace(evaluation.scores, values=values)
    return replace(evaluation, scores=scores, means={**evaluation.means, **scores.mean()}, repeats=(), wordings=())


def _rated_columns(evaluation: Evaluation) -> list[int]:
    """Return the columns of the measures where higher is better."""
    return [j for j, name in enumerate(evaluation.scores.measures) if Measure.parse(name).definition.higher_is_better]


def _require_queries(evaluation: Evaluation) -> None:
    if not evaluation.has_queries or not len(evaluation.scores.queries):
        raise UsageError(f"{evaluation.name} has no scores of single queries to simulate from; record it again")


def _rate(outcomes: Counter[str], lost: int, n: int, runs: int) -> GateRates:
    fail, inconclusive, passed = (outcomes[name] / runs for name in ("fail", "inconclusive", "pass"))
    return GateRates(lost=lost, n=n, runs=runs, fail=fail, inconclusive=inconclusive, passed=passed)


def describe_rates(noise: GateRates, losses: Sequence[GateRates]) -> str:
    """Return in one sentence how often a gate is wrong on both sides."""
    parts = [f"false alarms: {_percent(noise.fail)} of runs without a real change fail"]
    seen = next((rates for rates in losses if rates.fail >= 0.8), None)
    missed = next((rates for rates in reversed(losses) if rates.fail < 0.5), None)
    if missed is not None:
        parts.append(f"missed: a loss of {missed.lost} of {missed.n} queries is seen in {_percent(missed.fail)}")
    if seen is not None:
        parts.append(f"seen: a loss of {seen.lost} of {seen.n} in {_percent(seen.fail)}")
    return "; ".join(parts)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
