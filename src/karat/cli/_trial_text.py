"""Trials as text."""

from __future__ import annotations

import math

from karat.cli._table import escaped, render
from karat.schema.trials import TrialForecast, TrialList, TrialMeasure, TrialOutcome, TrialStatus, TrialTransition

_LARGEST = 6.9
"""The logarithm of the evidence above which it is "over 1,000 to 1"."""


def status_text(status: TrialStatus) -> str:
    """Return what is known about a trial."""
    title = f"{escaped(status.feature)}, trial {status.number}: {status.status}, {status.decision}"
    lines = [title, escaped(status.reason), ""]
    rows = [["measure", "sessions", "mean", "interval at any look", "better", "worse"]]
    rows += [_row(measure) for measure in status.measures]
    lines += [render(rows), ""]
    lines += [
        f"{'met    ' if condition.met else 'not met'}  {condition.name}: {escaped(condition.detail)}"
        for condition in status.conditions
    ]
    if shown := status.read_out:
        interval = "-"
        if shown.bootstrap_low is not None and shown.bootstrap_high is not None:
            interval = f"{shown.bootstrap_low:+.4f} to {shown.bootstrap_high:+.4f}"
        lines += [
            "",
            f"Shown, and never decisive: {shown.wins:,} wins, {shown.ties:,} ties, {shown.losses:,} losses; "
            f"P(better) = {shown.probability_better:.3f}; bootstrap {interval}",
        ]
    lines.append(f"Looked at {status.looks:,} times: that changes nothing")
    return "\n".join(lines)


def outcome_text(outcome: TrialOutcome) -> str:
    """Return what was decided, and on what evidence."""
    head = "the trial goes on" if outcome.transition is None else transition_text(outcome.transition)
    return f"{head}\n\n{status_text(outcome.status)}"


def transition_text(done: TrialTransition) -> str:
    """Return a decision in one line."""
    who = f"by {escaped(done.author)}: {escaped(done.reason)}"
    return f"{done.time}  {escaped(done.feature)}, trial {done.number}: {done.before} -> {done.after}; {who}"


def forecast_text(forecast: TrialForecast) -> str:
    """Return how many sessions a trial will need."""
    rows = [["trials that have found it", "sessions"]]
    for share, sessions in (("50 %", forecast.half), ("80 %", forecast.most_of_them), ("95 %", forecast.nearly_all)):
        rows.append([share, f"over {forecast.most:,}" if sessions is None else f"{sessions:,}"])
    title = f"An effect of {forecast.effect:g} in {escaped(forecast.measure)}, with the spread of"
    return f"{title} {forecast.sessions:,} earlier sessions (sd {forecast.sd:.3f}):\n{render(rows)}"


def list_text(document: TrialList) -> str:
    """Return all trials as a table."""
    if not document.trials:
        return f"{escaped(document.store)} has no trials; karat trial start begins one"
    rows = [["feature", "trial", "status", "sessions", "looks", "the evidence allows"]]
    for trial in document.trials:
        row = [trial.feature, str(trial.number), trial.status, f"{trial.samples:,}", f"{trial.looks:,}", trial.decision]
        rows.append(row)
    return render(rows)


def _row(measure: TrialMeasure) -> list[str]:
    name = escaped(measure.measure) + (" (guardrail)" if measure.guardrail else "")
    mean = "-" if measure.mean is None else f"{measure.mean:+.4f}"
    interval = f"{measure.low:+.4f} to {measure.high:+.4f}"
    return [name, f"{measure.n:,}", mean, interval, _odds(measure.log_better), _odds(measure.log_worse)]


def _odds(log_evidence: float) -> str:
    """Return evidence as odds: 20 to 1 is enough at a level of 5 %."""
    return "over 1,000:1" if log_evidence > _LARGEST else f"{math.exp(log_evidence):.3g}:1"
