"""Which of two runs has the better answers, asked about each query in both orders."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from karat.chat import Subject, asking_about
from karat.core import InputError, Run, SystemFailed, Trace
from karat.judges import PREFERENCE, BudgetSpent, Duel, NotMeasurable, Preferred, prefer
from karat.projects._project import Project
from karat.projects.judging._bench import Setup, describe_failures, fingerprint_judge, open_bench, write_spending
from karat.projects.judging._recording import Recording
from karat.runs import read_any_run
from karat.schema.judging import PreferenceReport, PreferredAnswer
from karat.telemetry import JudgedAnswer

Key = tuple[str, int, int]
_MEASURE = "Preference"
"""From 1, the first answer is better, to -1, the second one is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    duel: Duel
    preferred: Preferred | None
    reason: str = ""


def prefer_run(
    project: Project,
    first: Path,
    second: Path,
    *,
    cache: bool = True,
    progress: Callable[[str, int, int], None] | None = None,
    recording: Recording | None = None,
) -> PreferenceReport:
    """Return which of two run files has the better answers, over the questions that both were asked.

    A query counts once: of several wordings and repeats, the mean counts. An answer that only one order prefers is no
    better than the other. A question that one of them did not answer is counted as missing, with the reason. It is
    SystemFailed if no question could be judged.
    """
    runs = [read_any_run(path, project.golden) for path in (first, second)]
    duels = _pair(project, runs, (first, second))
    if recording is not None:
        recording.begin(first, runs[0], other=second)
    with ExitStack() as stack:
        setup = open_bench(project, [PREFERENCE], stack, cache=cache, recording=recording)
        judge = fingerprint_judge(project, setup, PREFERENCE)
        outcomes = _ask(setup, duels, project.config.judges.concurrency, progress)
        report = _report((str(first), str(second)), judge, outcomes, setup)
        if not report.scored:
            raise SystemFailed(f"no question could be judged: {describe_failures(report.reasons)}")
        if recording is not None:
            recording.add(_list_judged(outcomes, judge))
            recording.finish([report.spending], {_MEASURE: report.difference})
        return report


def _list_judged(outcomes: Sequence[_Outcome], judge: str) -> list[JudgedAnswer]:
    return [
        JudgedAnswer(
            query=outcome.duel.query,
            measure=_MEASURE,
            value=None if outcome.preferred is None else outcome.preferred.value,
            reason=outcome.reason,
            judge=judge,
            is_model=True,
            explanation="; ".join(outcome.preferred.reasons) if outcome.preferred else "",
            paraphrase=outcome.duel.paraphrase,
            repeat=outcome.duel.repeat,
        )
        for outcome in outcomes
    ]


def _pair(project: Project, runs: Sequence[Run], paths: Sequence[Path]) -> list[Duel]:
    answers = [{_identify(trace): trace for trace in run.traces} for run in runs]
    shared = [key for key in answers[0] if key in answers[1]]
    if not any(answers[0][key].answer and answers[1][key].answer for key in shared):
        hint = "both need a system with answer(query, k), and the same queries"
        raise InputError("no question has an answer in both runs", source=f"{paths[0]}, {paths[1]}", hint=hint)
    duels = []
    for key in shared:
        first, other = answers[0][key], answers[1][key]
        query = project.golden.query_by_id.get(first.query)
        duels.append(
            Duel(
                query=first.query,
                question=first.text,
                answers=(first.answer, other.answer),
                reference=query.answer if query else "",
                paraphrase=first.paraphrase,
                repeat=first.repeat,
            )
        )
    return duels


def _identify(trace: Trace) -> Key:
    return trace.query, trace.paraphrase, trace.repeat


def _ask(
    setup: Setup, duels: Sequence[Duel], concurrency: int, progress: Callable[[str, int, int], None] | None
) -> list[_Outcome]:
    outcomes = []
    with ThreadPoolExecutor(concurrency, thread_name_prefix="karat-judge") as pool:
        for done, outcome in enumerate(pool.map(lambda duel: _decide(setup, duel), duels), 1):
            outcomes.append(outcome)
            if progress is not None:
                progress("judging", done, len(duels))
    return outcomes


def _decide(setup: Setup, duel: Duel) -> _Outcome:
    subject = Subject(
        query=duel.query, judge=PREFERENCE.name, paraphrase=duel.paraphrase, repeat=duel.repeat
    )  # fmt: skip
    try:
        with asking_about(subject):
            return _Outcome(duel=duel, preferred=prefer(setup.bench, duel))
    except NotMeasurable as error:
        return _Outcome(duel=duel, preferred=None, reason=str(error))
    except BudgetSpent:
        return _Outcome(duel=duel, preferred=None, reason="not asked: the budget is spent")


def _report(runs: tuple[str, str], judge: str, outcomes: Sequence[_Outcome], setup: Setup) -> PreferenceReport:
    from karat.stats import bootstrap, permutation

    values, reasons = _average(outcomes), _list_reasons(outcomes)
    rng = np.random.default_rng(0)
    known = list(values.values())
    interval = bootstrap(known, rng=rng) if len(known) > 1 else None
    preferred = [outcome.preferred for outcome in outcomes if outcome.preferred is not None]
    places = Counter(place for answer in preferred for place in answer.places)
    return PreferenceReport(
        runs=runs,
        judge=judge,
        first=sum(value > 0 for value in known),
        second=sum(value < 0 for value in known),
        even=sum(value == 0 for value in known),
        scored=len(known),
        total=len({outcome.duel.query for outcome in outcomes}),
        difference=math.fsum(known) / len(known) if known else None,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        p=permutation(known, rng=rng).p if known else None,
        unsteady=sum(not answer.steady for answer in preferred),
        first_place=places["first"],
        second_place=places["second"],
        reasons=dict(Counter(outcome.reason for outcome in outcomes if outcome.preferred is None).most_common()),
        queries=[PreferredAnswer(query=query, value=value, reasons=reasons[query]) for query, value in values.items()],
        spending=write_spending(setup.spending),
    )


def _average(outcomes: Sequence[_Outcome]) -> dict[str, float]:
    votes: dict[str, list[float]] = {}
    for outcome in outcomes:
        if outcome.preferred is not None and outcome.preferred.value is not None:
            votes.setdefault(outcome.duel.query, []).append(outcome.preferred.value)
    return {query: math.fsum(own) / len(own) for query, own in votes.items()}


def _list_reasons(outcomes: Sequence[_Outcome]) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for outcome in outcomes:
        if outcome.preferred is not None:
            reasons.setdefault(outcome.duel.query, []).extend(outcome.preferred.reasons)
    return reasons
