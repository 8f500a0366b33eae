"""Batches of observations in JSON files: recorded in a trial, or used to plan one."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict

import numpy as np

from karat.core import InputError, UsageError, did_you_mean
from karat.files import decode, parse_json, read_bytes
from karat.online.trials._observations import Observations
from karat.online.trials._trial import record_batch
from karat.schema import Mismatch, from_plain
from karat.schema.trials import TrialForecast, TrialObservations, TrialRecorded
from karat.stats.sequential import StoppingRule, Tally, plan_sessions


def record_file(path: str | os.PathLike[str], feature: str, source: str) -> TrialRecorded:
    """Record a batch from a JSON file, ``-`` for standard input: a :class:`karat.schema.trials.TrialObservations`."""
    document = _read(source)
    new = record_batch(path, feature, document.batch, _to_observations(document))
    return TrialRecorded(feature=feature, batch=document.batch, new=new)


def plan_trial(
    source: str, effect: float = 0.05, *, measure: str = "RR@10", alpha: float = 0.05, most: int = 20_000
) -> TrialForecast:
    """Return how many sessions a trial will need to find an effect, from a file with a batch of earlier sessions."""
    differences = _to_observations(_read(source)).differences
    if measure not in differences:
        raise InputError(f"has no differences in {measure!r}{did_you_mean(measure, differences)}", source=source)
    earlier, rule = differences[measure], StoppingRule(alpha=alpha)
    plan = plan_sessions(earlier, effect, rng=np.random.default_rng(0), rule=rule, most=most)
    return TrialForecast(measure=measure, sessions=earlier.n, **asdict(plan))


def _read(source: str) -> TrialObservations:
    try:
        return from_plain(parse_json(decode(read_bytes(source), source), source, strict=True), TrialObservations)
    except Mismatch as error:
        hint = "karat.schema.json_schema('trial-observations') has the fields"
        raise InputError(f"is not a batch of observations: {error}", source=source, hint=hint) from None


def _to_observations(document: TrialObservations) -> Observations:
    return Observations(
        differences={name: Tally.from_counts(_add_up(pairs)) for name, pairs in document.differences.items()},
        latencies={name: _add_up(pairs) for name, pairs in document.latencies.items()},
        units=document.units,
    )


def _add_up(pairs: Iterable[tuple[float, int]]) -> dict[float, int]:
    counts: dict[float, int] = {}
    for value, count in pairs:
        if count < 0:
            raise UsageError(f"a count of {count} is negative")
        counts[value] = counts.get(value, 0) + count
    return counts
