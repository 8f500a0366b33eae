"""A report on the shadow runs of a feature: how lists differ, what moves, what judgments say, what it costs."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from karat.core import Floats, GoldenSet, InputError, UsageError, count_things, did_you_mean
from karat.online import describe_missing, read_log
from karat.online._shadow_records import ANSWERED, CLASSES, STATUSES, LoggedShadow
from karat.online.shadow._judged import judge_runs
from karat.online.shadow._movers import find_movers
from karat.schema.shadow import ShadowJudged, ShadowLatency, ShadowReport, ShadowShare, ShadowSimilarity
from karat.stats.clicks import crossed_share
from karat.text import folded

SHOWN = 10
MEASURES = ("RR@10", "nDCG@10")
_RESAMPLES = 1000
_LEAST_UNITS = 20
_MOST_MISSING = 0.05


def report_shadow(
    store: str | os.PathLike[str] = "karat.db",
    feature: str = "",
    golden: GoldenSet | None = None,
    *,
    since: float | None = None,
    until: float | None = None,
    measures: Sequence[str] = MEASURES,
    shown: int = SHOWN,
) -> ShadowReport:
    """Return a report on the shadow runs of a feature; without a name, of the only one that a store has.

    ``since`` is included and ``until`` is not, in seconds since 1970. ``golden`` has the judgments. What is
    still in the journal is not read, and a note says so.
    """
    with read_log(store) as log:
        features = log.shadow_features()
        name = choose_feature(feature, features, os.fspath(store))
        runs = list(log.shadow_runs(name, since, until))
    report = report_runs(runs, golden, store=os.fspath(store), feature=name, measures=measures, shown=shown)
    return replace(report, notes=(*report.notes, *describe_missing(store)))


def choose_feature(feature: str, features: dict[str, int], store: str) -> str:
    """Return the feature that is meant: the one that is named, or the only one that a store has."""
    if not features:
        hint = "karat.online.shadow.Shadow and karat shadow replay write them; karat online ingest brings them in"
        raise InputError("has no shadow runs", source=store, hint=hint)
    if feature in features:
        return feature
    listed = ", ".join(features)
    if feature:
        raise UsageError(f"no feature {feature!r} in {store}{did_you_mean(feature, features) or '; it has ' + listed}")
    if len(features) > 1:
        raise UsageError(f"{store} has several features; name one of them with --feature: {listed}")
    return next(iter(features))


def report_runs(
    runs: Sequence[LoggedShadow],
    golden: GoldenSet | None = None,
    *,
    store: str = "",
    feature: str = "",
    measures: Sequence[str] = MEASURES,
    shown: int = SHOWN,
) -> ShadowReport:
    """Return a report on shadow runs."""
    answered = [run for run in runs if run.status == ANSWERED]
    units = _list_units(runs)
    rising, falling = find_movers(runs, shown)
    judged = None if golden is None else judge_runs(runs, units, golden, measures)
    statuses = Counter(run.status for run in runs)
    return ShadowReport(
        store=store,
        feature=feature,
        first=_format_time(min((run.time for run in runs), default=math.inf)),
        last=_format_time(max((run.time for run in runs), default=math.inf)),
        runs=len(runs),
        estimated=round(sum(run.weight for run in runs)),
        units=len(set(units)),
        sources=dict(sorted(Counter(run.source for run in runs).items())),
        systems=tuple(sorted({run.systems for run in runs})),
        statuses={status: statuses[status] for status in STATUSES if statuses[status]},
        texts=len(set(_list_texts(runs))),
        classes=tuple(_share(name, [run.difference == name for run in runs], runs) for name in CLASSES),
        similarity=ShadowSimilarity(
            runs=len(answered),
            rbo=_mean([run.rbo for run in answered]),
            overlap=_mean([run.overlap for run in answered]),
            tau=_mean([run.tau for run in answered]),
            top_changed=_share(
                "another first document",
                [bool(run.top_changed) for run in answered],
                answered,
            ),
        ),
        latency=_summarise_latency(answered),
        rising=rising,
        falling=falling,
        judged=judged,
        notes=tuple(_list_notes(runs, units, judged)),
    )


def _format_time(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if math.isfinite(time) else ""


def _list_units(runs: Sequence[LoggedShadow]) -> list[str]:
    """Return the session of each run; where there is none, the text stands for it."""
    return [run.session or f"text:{run.text}" for run in runs]


def _list_texts(runs: Sequence[LoggedShadow]) -> list[str]:
    return [folded(run.text) for run in runs]


def _share(name: str, counts: Sequence[bool], runs: Sequence[LoggedShadow]) -> ShadowShare:
    """Return a share with its interval; runs of one session are alike, and so are those with the same text."""
    share, low, high = crossed_share(counts, _list_units(runs), _list_texts(runs))
    return ShadowShare(
        name=name,
        count=sum(counts),
        total=len(counts),
        share=None if math.isnan(share) else share,
        low=low,
        high=high,
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _summarise_latency(runs: Sequence[LoggedShadow]) -> ShadowLatency | None:
    timed = [run for run in runs if run.control_latency is not None and run.treatment_latency is not None]
    if not timed:
        return None
    control = np.array([run.control_latency for run in timed], float)
    treatment = np.array([run.treatment_latency for run in timed], float)
    (old50, old95), (new50, new95) = (np.percentile(values, (50, 95)).tolist() for values in (control, treatment))
    low, high = _resample_ratio(control, treatment, timed)
    return ShadowLatency(
        n=len(timed),
        control_p50=old50,
        control_p95=old95,
        treatment_p50=new50,
        treatment_p95=new95,
        ratio=new95 / old95 if old95 else None,
        low=low,
        high=high,
    )


def _resample_ratio(
    control: Floats, treatment: Floats, runs: Sequence[LoggedShadow]
) -> tuple[float | None, float | None]:
    """Return the percentile bootstrap interval of the ratio of both p95; None with few units.

    Whole sessions are drawn, and then whole texts: the interval holds both.
    """
    kinds = [np.unique(np.array(labels), return_inverse=True) for labels in (_list_units(runs), _list_texts(runs))]
    if min(len(names) for names, _ in kinds) < _LEAST_UNITS or not control.any():
        return None, None
    ratios = [_draw_ratios(control, treatment, unit_of, len(names)) for names, unit_of in kinds]
    ends = [np.quantile(own, (0.025, 0.975), method="nearest").tolist() for own in ratios]
    low, high = min(own[0] for own in ends), max(own[1] for own in ends)
    return low, high if math.isfinite(high) else None


def _draw_ratios(control: Floats, treatment: Floats, unit_of: NDArray[np.intp], units: int) -> list[float]:
    """Return the ratio of both p95 in each of a thousand samples of whole units."""
    rng = np.random.default_rng(0)
    sides = [(values[order := np.argsort(values)], unit_of[order]) for values in (control, treatment)]
    ratios = []
    for _ in range(_RESAMPLES):
        times = np.bincount(rng.integers(units, size=units), minlength=units)
        before, after = (_weighted_p95(values, times[owners]) for values, owners in sides)
        ratios.append(after / before if before else math.inf)
    return ratios


def _weighted_p95(values: Floats, weights: NDArray[np.int64]) -> float:
    """Return the first of ascending values at which 95 % of the weight is reached."""
    reached = np.cumsum(weights)
    return float(values[np.searchsorted(reached, 0.95 * reached[-1])])


def _list_notes(runs: Sequence[LoggedShadow], units: Sequence[str], judged: ShadowJudged | None) -> Iterator[str]:
    if not runs:
        yield "there are no shadow runs in this span of time"
        return
    count = sum(run.status in (ANSWERED, "failed", "timeout") for run in runs)
    if len(runs) - count > _MOST_MISSING * len(runs):
        missing = f"{len(runs) - count:,} of {len(runs):,}"
        yield f"nothing was compared in {missing} runs, such as at times of high load: the others may be easier ones"
    texts = len(set(_list_texts(runs)))
    few = len(set(units)) < _LEAST_UNITS
    if few:
        some = count_things(len(set(units)), "session or query is", "sessions or queries are")
        yield f"{some} few: look at the intervals"
    if texts < _LEAST_UNITS and not few:
        yield (
            f"only {count_things(texts, 'different text was', 'different texts were')} "
            "asked, however often: look at the intervals"
        )
    if len({run.systems for run in runs}) > 1:
        yield "runs of several systems are taken together; use a feature for each, or --since"
    if len({run.k for run in runs}) > 1:
        yield "runs were compared down to different ranks"
    if any(not run.lists for run in runs):
        number = sum(not run.lists for run in runs)
        yield (
            f"{count_things(number, 'run has', 'runs have')} no lists "
            "(level diff): of them nothing is known about documents"
        )
    if judged is not None:
        yield from _list_judged_notes(judged)


def _list_judged_notes(judged: ShadowJudged) -> Iterator[str]:
    if not judged.runs:
        yield f"no run asks a query of {judged.golden} in the same words: nothing is judged"
        return
    yield "unjudged is not irrelevant: a document that only the treatment returns has had no chance to be judged"
    if judged.failed:
        yield (
            f"in {count_things(judged.failed, 'judged run')} the treatment failed, which counts as if it had returned "
            "nothing"
        )
    for row in judged.measures:
        if row.worst is not None and row.best is not None and row.worst < 0 < row.best:
            yield f"{row.measure}: judging more documents could turn the sign of the difference"
