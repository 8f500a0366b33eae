"""Trials as text."""

from __future__ import annotations

from karat.cli._table import escaped, render
from karat.core import count_things
from karat.schema.trials import (
    TrialCollected,
    TrialForecast,
    TrialHoldout,
    TrialList,
    TrialLog,
    TrialMeasure,
    TrialOutcome,
    TrialReadOut,
    TrialReport,
    TrialStatus,
    TrialTransition,
)

_POINTS = 10
_UNREADABLE = "are left out: their variant, or the value of their task_outcome, cannot be read"


def status_text(status: TrialStatus) -> str:
    """Return what is known about a trial."""
    from karat.reports import describe_wins, explain_futility

    title = f"{escaped(status.feature)}, trial {status.number}: {status.status}, {status.decision}"
    lines = [title, escaped(status.reason), ""]
    rows = [["measure", "n", "mean", "interval at any look", "better", "worse"]]
    rows += [_row(measure) for measure in status.measures]
    lines += [render(rows), ""]
    for sentence in explain_futility(status):
        lines += [escaped(sentence), ""]
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
            f"Shown, and never decisive: {describe_wins(shown)}P(better) = {shown.probability_better:.3f}; "
            f"bootstrap {interval}{_wald_text(shown)}",
        ]
    lines += map(_log_text, status.logs)
    if status.not_from_log:
        lines.append(
            f"{status.not_from_log:,} of {status.samples:,} differences are not from the log: nothing has checked them"
        )
    if status.number > 1:
        lines.append(
            f"Trial {status.number} of this feature: error rates are those of one trial, and a useless feature "
            "that is tried again and again graduates in the end"
        )
    lines.append(f"Looks: {status.looks:,}; looking changes nothing")
    return "\n".join(lines)


def _wald_text(shown: TrialReadOut) -> str:
    return "" if shown.wald is None else f"; Wald's test {shown.wald:+.2f}: {shown.wald_says}"


def _log_text(log: TrialLog) -> str:
    """Return what was taken from a log, and what was not."""
    counts = (
        ("went on after they were measured", log.late),
        ("got both variants, and count for the first", log.mixed),
        ("began before the trial, and are left out", log.before),
        (_UNREADABLE, log.unreadable),
        ("were measured in another log, and are left out", log.repeated),
    )
    notes = "".join(f"; {count:,} {what}" for what, count in counts if count)
    return f"Log {escaped(log.log[:8])}: {_over_by(log.over, log.until)}{notes}"


def _over_by(sessions: int, until: str) -> str:
    return f"{count_things(sessions, 'session that was', 'sessions that were')} over by {until}"


def collected_text(seen: TrialCollected) -> str:
    """Return what was taken from a log just now."""
    counts = ", ".join(f"{count:,} in {escaped(name)}" for name, count in seen.differences.items()) or "none"
    waiting = f"; {seen.open:,} may go on" if seen.open else ""
    late = f"; {seen.late:,} went on after they were measured" if seen.late else ""
    late += f"; {seen.unreadable:,} {_UNREADABLE}" if seen.unreadable else ""
    late += f"; {seen.repeated:,} were measured in another log, and count once" if seen.repeated else ""
    early = "" if seen.sessions or seen.repeated else f"; what began before the trial, {seen.since}, does not count"
    title = f"{escaped(seen.feature)}: {_over_by(seen.sessions, seen.until)}{waiting}{late}{early}"
    return f"{title}\ndifferences: {counts}"


def report_text(report: TrialReport) -> str:
    """Return a trial over time: at most ten points, and every decision."""
    from karat.reports import format_odds

    step = -(-len(report.points) // _POINTS) or 1
    rows = [["until", "n", "mean", "interval at any look", "better", "worse"]]
    for point in report.points[::-1][::step][::-1]:
        interval = f"{point.low:+.4f} to {point.high:+.4f}"
        odds = [format_odds(point.log_better), format_odds(point.log_worse)]
        rows.append([point.time[:16], f"{point.n:,}", f"{point.mean:+.4f}", interval, *odds])
    moves = "\n".join(transition_text(move) for move in report.transitions)
    return "\n\n".join(filter(None, [render(rows), moves, status_text(report.status)]))


def holdout_text(shown: TrialHoldout) -> str:
    """Return the weekly holdout, and that it does not decide."""
    rows = [["week from", "sessions", f"mean difference in {escaped(shown.measure)}"]]
    means = ("-" if row.mean is None else f"{row.mean:+.4f}" for row in shown.weeks)
    rows += [[row.week, f"{row.sessions:,}", mean] for row, mean in zip(shown.weeks, means, strict=True)]
    title = (
        f"{escaped(shown.feature)} on {shown.queries:,} of {shown.of:,} queries that are held out (seed {shown.seed})"
    )
    rule = f"{shown.cycles} weeks in a row without a loss"
    said = f"promote: {rule}" if shown.promote else f"hold: the last weeks are not {rule}"
    return f"{title}\n{render(rows)}\n{said}. It is shown, and never decides: karat trial decide does"


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
    units = "sessions" if forecast.block == 1 else f"blocks of {forecast.block} sessions"
    rows = [["trials that have found it", "pairs of sessions" if forecast.block == 2 else units]]
    for share, sessions in (("50 %", forecast.half), ("80 %", forecast.most_of_them), ("95 %", forecast.nearly_all)):
        rows.append([share, f"over {forecast.most:,}" if sessions is None else f"{sessions:,}"])
    title = f"An effect of {forecast.effect:g} in {escaped(forecast.measure)}, with the spread of"
    units = "differences of earlier sessions" if forecast.source == "sessions" else "earlier sessions"
    return f"{title} {forecast.sessions:,} {units} (sd {forecast.sd:.3f}):\n{render(rows)}"


def list_text(document: TrialList) -> str:
    """Return all trials as a table."""
    if not document.trials:
        return f"{escaped(document.store)} has no trials; karat trial start begins one"
    rows = [["feature", "trial", "status", "differences", "looks", "the evidence allows"]]
    for trial in document.trials:
        row = [trial.feature, str(trial.number), trial.status, f"{trial.samples:,}", f"{trial.looks:,}", trial.decision]
        rows.append(row)
    return render(rows)


def _row(measure: TrialMeasure) -> list[str]:
    from karat.reports import format_odds

    which = f"{escaped(measure.treatment)}: " if measure.treatment else ""
    name = which + escaped(measure.measure) + (" (guardrail)" if measure.guardrail else "")
    mean = "-" if measure.mean is None else f"{measure.mean:+.4f}"
    interval = f"{measure.low:+.4f} to {measure.high:+.4f}"
    return [name, f"{measure.n:,}", mean, interval, format_odds(measure.log_better), format_odds(measure.log_worse)]
