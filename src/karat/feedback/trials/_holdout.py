"""The weekly holdout: a part of the golden set that nobody tunes on, read every week. A read-out, and never a decision.

Promote after two weeks in a row in which the treatment lost nothing on it. The rule has no error rate: one that changes
nothing is promoted always, and one that is no better, but different, in one fortnight of four. So it decides nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from karat import golden as sets
from karat.core import GoldenSet, UsageError
from karat.feedback.trials._evidence import Evidence, read_shadows
from karat.feedback.trials._measuring import average_scores, score_evidence
from karat.online import read_log
from karat.online.flags import CONTROL
from karat.online.shadow import LoggedShadow
from karat.schema.trials import HoldoutWeek, TrialHoldout

WEEK = 7 * 86_400
SHARE, CYCLES = 0.2, 2
_FIRST_MONDAY = 4 * 86_400  # 1970 began on a Thursday
_TREATMENT = "treatment"


def read_holdout(
    path: str | os.PathLike[str],
    feature: str,
    golden: GoldenSet,
    *,
    measure: str = "nDCG@10",
    stratify: str = "category",
    seed: int = 0,
    now: float,
) -> TrialHoldout:
    """Return how the treatment did on the holdout in each week that is over, by the shadow runs of a feature.

    The holdout is a fifth of the golden set's queries, in each stratum, always the same for a seed. ``promote`` is
    whether the mean difference was 0 or more in the last two weeks, one after the other, with something measured in
    both.
    """
    held = hold_out(golden, stratify=stratify, seed=seed)
    with read_log(path) as log:
        weeks = _group(log.shadow_runs(feature, None, _start_of_week(now)))
    evidence = {week: [read_shadows(own, CONTROL, _TREATMENT) for own in sessions] for week, sessions in weeks.items()}
    rows = tuple(_measure(week, own, held, measure) for week, own in sorted(evidence.items()))
    return TrialHoldout(
        feature=feature,
        measure=measure,
        queries=len(held.queries),
        of=len(golden.queries),
        seed=seed,
        weeks=rows,
        cycles=CYCLES,
        promote=_is_promoted(rows, _start_of_week(now)),
    )


def hold_out(golden: GoldenSet, *, stratify: str = "category", seed: int = 0) -> GoldenSet:
    """Return a fifth of the queries of a golden set, with their judgments; each stratum keeps its share."""
    count = round(SHARE * len(golden.queries))
    if count < 1:
        raise UsageError(f"a fifth of {len(golden.queries)} queries is less than one: the holdout needs more")
    return sets.sample(golden, count, stratify=stratify, seed=seed)


def _group(runs: Iterable[LoggedShadow]) -> dict[float, list[list[LoggedShadow]]]:
    """Return shadow runs by the Monday of their week, and by session."""
    weeks: dict[float, dict[str, list[LoggedShadow]]] = {}
    for run in runs:
        own = weeks.setdefault(_start_of_week(run.time), {})
        own.setdefault(run.session or run.id, []).append(run)
    return {week: list(own.values()) for week, own in weeks.items()}


def _start_of_week(time: float) -> float:
    """Return when the week of a time began: on Monday, in UTC."""
    return (time - _FIRST_MONDAY) // WEEK * WEEK + _FIRST_MONDAY


def _measure(week: float, evidence: Sequence[Evidence], held: GoldenSet, measure: str) -> HoldoutWeek:
    scores = score_evidence(evidence, held, [measure])
    differences = []
    for own in evidence:
        judged = {variant: average_scores(scores, lists) for variant, lists in own.lists.items()}
        if all(measure in values for values in judged.values()):
            differences.append(judged[_TREATMENT][measure] - judged[CONTROL][measure])
    mean = sum(differences) / len(differences) if differences else None
    return HoldoutWeek(week=_name(week), start=week, sessions=len(differences), mean=mean)


def _name(week: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(week, UTC).strftime("%Y-%m-%d")


def _is_promoted(weeks: Sequence[HoldoutWeek], this_week: float) -> bool:
    good = {row.start for row in weeks if row.mean is not None and row.mean >= 0}
    return all(this_week - WEEK * back in good for back in range(1, CYCLES + 1))
