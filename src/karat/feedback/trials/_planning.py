"""How many sessions a trial will need, from the log: earlier sessions are replayed as if they had been in a trial."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict

import numpy as np

from karat.core import GoldenSet, InputError, UsageError
from karat.feedback._rebuild import read_sessions
from karat.feedback._sessions import Session
from karat.feedback.trials._blocks import find_ratio
from karat.feedback.trials._evidence import Evidence, describe_session, read_shadows
from karat.feedback.trials._measuring import Measuring
from karat.online import LogReader, read_log
from karat.online.flags import CONTROL
from karat.online.interleaving import compare_session, interleave
from karat.online.shadow import LoggedShadow
from karat.online.trials import TrialPlan
from karat.schema.trials import TrialForecast
from karat.stats.sequential import Tally, plan_sessions
from karat.text import folded

_TREATMENT = "treatment"
_Rates = Mapping[tuple[str, str], float]


def plan_from_log(
    path: str | os.PathLike[str],
    plan: TrialPlan,
    *,
    golden: GoldenSet | None = None,
    since: float | None = None,
    until: float | None = None,
    most: int = 20_000,
    seed: int = 0,
) -> TrialForecast:
    """Return how many sessions a trial will need to find the effect of the plan's rule.

    How much sessions differ is taken from the log, by the source of the plan:

    - ``sessions``: earlier sessions are dealt to two variants by chance, in the planned shares, and compared as in a
      trial: a forecast counts differences, each of which takes a ``block`` of sessions;
    - ``judgments``: both lists of the shadow runs of the feature, live or replayed, are scored;
    - ``interleaving``: both lists of the shadow runs are put into one, and people choose from it as often as they read
      the same documents after the same query.
    """
    if set(plan.planned) != {CONTROL, _TREATMENT}:
        raise UsageError(f"a forecast is of two variants: name the shares of {CONTROL} and {_TREATMENT}")
    rng = np.random.default_rng(seed)
    measuring = Measuring(plan, golden, {})
    with read_log(path) as log:
        listed = list(_replay(log, plan, since, until, rng, measuring.measures))
    for evidence in listed:
        measuring.add(evidence)
    measuring.score()
    earlier = Tally.merge(own.tally(plan.measure) for own in measuring.observations().values())
    if not earlier.n:
        problem = f"has no sessions that tell anything about {plan.measure}"
        raise InputError(problem, source=str(path), hint=_HINTS[plan.source])
    forecast = plan_sessions(earlier, plan.rule.effect, rng=rng, rule=plan.rule, most=most)
    ratio = find_ratio(plan.planned[CONTROL], plan.planned[_TREATMENT])
    return TrialForecast(
        measure=plan.measure,
        sessions=earlier.n,
        source=plan.source,
        replayed=earlier.mean,
        block=sum(ratio) if plan.source == "sessions" else 1,
        **asdict(forecast),
    )


_HINTS = {
    "sessions": "a log of sessions is written by karat.online.open, in the host",
    "judgments": "karat shadow replay asks both systems what people asked, and --golden has the judgments",
    "interleaving": "karat shadow replay asks both systems what people asked",
    "clicks": "",
}


def _replay(
    log: LogReader,
    plan: TrialPlan,
    since: float | None,
    until: float | None,
    rng: np.random.Generator,
    measures: Iterable[str],
) -> Iterator[Evidence]:
    """Yield what earlier sessions would have said in a trial."""
    if plan.source == "clicks":
        raise UsageError("a trial by clicks on the control's list never graduates: there is nothing to plan")
    if plan.source == "sessions":
        share = plan.planned[CONTROL] / sum(plan.planned.values())
        for session in read_sessions(log, since, until, idle=plan.idle):
            if session.queries:
                yield describe_session(session, CONTROL if rng.random() < share else _TREATMENT, measures)
        return
    runs = _group(log.shadow_runs(plan.feature, since, until))
    if plan.source == "judgments":
        yield from (read_shadows(own, CONTROL, _TREATMENT) for own in runs)
        return
    rates = _find_rates(read_sessions(log, since, until, idle=plan.idle))
    for own in runs:
        yield _interleave(own, plan, rates, rng)


def _group(runs: Iterable[LoggedShadow]) -> list[list[LoggedShadow]]:
    """Return shadow runs by session; one without a session is a session of its own."""
    sessions: dict[str, list[LoggedShadow]] = {}
    for run in runs:
        sessions.setdefault(f"s{run.session}" if run.session else f"r{run.id}", []).append(run)
    return list(sessions.values())


def _find_rates(sessions: Iterable[Session]) -> _Rates:
    """Return how often each document was read, of the times that it was shown, by query and document."""
    shown: dict[tuple[str, str], int] = {}
    read: dict[tuple[str, str], int] = {}
    for session in sessions:
        for search in session.queries:
            text = folded(search.query.text)
            for document in dict.fromkeys(search.query.documents):
                shown[text, document] = shown.get((text, document), 0) + 1
                read[text, document] = read.get((text, document), 0) + (document in search.read)
    return {pair: read[pair] / count for pair, count in shown.items()}


def _interleave(runs: list[LoggedShadow], plan: TrialPlan, rates: _Rates, rng: np.random.Generator) -> Evidence:
    """Return what a session would have said if it had seen both lists in one."""
    both = read_shadows(runs, CONTROL, _TREATMENT)
    pages = []
    for old, new in zip(both.lists[CONTROL], both.lists[_TREATMENT], strict=True):
        rankings = {CONTROL: old.documents, _TREATMENT: new.documents}
        shown = interleave(rankings, session=runs[0].session or runs[0].id, query=old.text, salt=plan.feature)
        text = folded(old.text)
        chosen = [name for name in shown.documents if rng.random() < rates.get((text, name), 0.0)]
        pages.append((shown, chosen))
    return Evidence(end=both.end, values={plan.measure: compare_session(pages, _TREATMENT, CONTROL)}, lists=both.lists)
