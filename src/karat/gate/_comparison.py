"""Two runs side by side: for every measure the difference, how sure it is, and which queries made it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from karat.core import Measure
from karat.gate._snapshot import Snapshot, check_comparable
from karat.stats import bootstrap, effect_size, holm, paired_t, permutation, win_tie_loss

RESAMPLES = 10_000
Segment = tuple[str, str]
"""A field of the queries and its value, such as category and cold-start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One measure on the queries that both runs have a value for; a positive difference is a rise of the number."""

    measure: str
    segment: Segment | None = None
    n: int
    baseline: float
    """Mean over the shared queries, as are the others."""
    candidate: float
    difference: float
    low: float | None
    """Of the 95 % interval of the difference (BCa bootstrap); None where there are too few queries."""
    high: float | None
    p: float | None
    """Of the two-sided sign-flip test."""
    p_holm: float | None = None
    """Corrected for all measures that were compared."""
    p_t: float | None = None
    """Of the paired t-test, beside it."""
    effect: float | None = None
    """Cohen's d_z: the mean difference in standard deviations."""
    wins: int
    ties: int
    losses: int
    """Wins and losses are by what is better, which for some measures is less."""

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON has it."""
        found = asdict(self)
        found["segment"] = None if self.segment is None else dict([self.segment])
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in found.items()
        }


def compare(
    candidate: Snapshot,
    baseline: Snapshot,
    measures: Iterable[str] | None = None,
    *,
    segments: Mapping[Segment, Sequence[str]] | None = None,
    seed: int = 0,
) -> tuple[Compared, ...]:
    """Compare two runs on every measure that both have, and on segments of the queries.

    Holm's correction is over the measures on all queries; segments are for looking, and each is corrected among its
    own. The same seed gives the same numbers, whatever else is compared.
    """
    check_comparable(candidate, baseline)
    wanted = list(measures if measures is not None else (name for name in candidate.values if name in baseline.values))
    found = [*_family(candidate, baseline, wanted, None, None, seed)]
    for segment, queries in (segments or {}).items():
        found += _family(candidate, baseline, wanted, segment, queries, seed)
    return tuple(found)


def _family(
    candidate: Snapshot, baseline: Snapshot, measures: Sequence[str], segment: Segment | None,
    queries: Sequence[str] | None, seed: int,
) -> list[Compared]:  # fmt: skip
    found = [_compared(candidate, baseline, measure, segment, queries, seed) for measure in measures]
    tested = [one for one in found if one.p is not None]
    adjusted = dict(
        zip((one.measure for one in tested), holm([one.p for one in tested if one.p is not None]), strict=True)
    )
    return [replace(one, p_holm=float(adjusted[one.measure])) if one.measure in adjusted else one for one in found]


def differences(
    candidate: Snapshot, baseline: Snapshot, measure: str, queries: Sequence[str] | None = None
) -> dict[str, tuple[float, float]]:
    """Give (baseline, candidate) of each query that has a value in both, in the order of the baseline."""
    now, then = candidate.scores(measure, queries), baseline.scores(measure, queries)
    return {query: (value, now[query]) for query, value in then.items() if query in now}


def _compared(
    candidate: Snapshot, baseline: Snapshot, measure: str, segment: Segment | None,
    queries: Sequence[str] | None, seed: int,
) -> Compared:  # fmt: skip
    pairs = np.array(list(differences(candidate, baseline, measure, queries).values()), float).reshape(-1, 2)
    change = pairs[:, 1] - pairs[:, 0]
    counts = win_tie_loss(-change if lower_is_better(measure) else change)
    before, after = (math.fsum(column) / len(column) if len(column) else math.nan for column in pairs.T)
    found = Compared(
        measure=measure, segment=segment, n=len(change), baseline=before, candidate=after,
        difference=math.fsum(change) / len(change) if len(change) else math.nan,
        low=None, high=None, p=None, wins=counts.wins, ties=counts.ties, losses=counts.losses,
    )  # fmt: skip
    if len(change) < 2:
        return found
    rng = generator(seed, measure, segment)
    interval = bootstrap(change, rng=rng, resamples=RESAMPLES, method="bca")
    return replace(
        found,
        low=interval.low,
        high=interval.high,
        p=permutation(change, rng=rng, resamples=RESAMPLES - 1).p,
        p_t=paired_t(change).p,
        effect=effect_size(change).d_z,
    )


def lower_is_better(measure: str) -> bool:
    """Say whether less of a measure is better, as of DupRate."""
    return Measure.parse(measure).definition.higher_is_better is False


def generator(seed: int, measure: str, segment: Segment | None = None) -> np.random.Generator:
    """Give a source of chance of its own to each measure, so that one more changes nothing for the others."""
    words = hashlib.sha256(f"{seed}\0{measure}\0{segment}".encode()).digest()
    return np.random.default_rng(np.frombuffer(words, np.uint32).tolist())
