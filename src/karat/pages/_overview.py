"""The page of the whole project: is it good, did it get worse, and what is next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from karat.core import KaratError, count_things
from karat.files import name_paths
from karat.index import Index
from karat.labelling import Desk, list_proposals, measure_status
from karat.online.trials import page_trials
from karat.pages._addresses import link_run
from karat.pages._live import read_traffic
from karat.pages._store import LiveStore
from karat.pages._trials import link_trial
from karat.projects.saved_runs import find_variants
from karat.reports import describe_alert
from karat.schema import DecisionDocument, GoldenReport, MeasureRow
from karat.schema.labelling import LabelQueue, LabelStatus
from karat.schema.pages import (
    ChecklistItem,
    GatedMeasure,
    GoldenLine,
    IndexState,
    NextStep,
    OverviewPage,
    RunLine,
    TrafficLine,
    TrendPoint,
    TrialLine,
)
from karat.schema.trials import TrialStatus

_POINTS = 40  # runs of the trend
_FINDINGS = 8
_STEPS = 5
_REASONS = 3
_TRIALS = 20  # of which those that are not over are shown
_RATES = ("failed", "nothing found", "asked again", "used")


class OverviewRequest(Struct, frozen=True, kw_only=True):
    """Nothing can be chosen."""


def show_overview(index: Index, store: LiveStore, desk: Desk, request: OverviewRequest) -> OverviewPage:  # noqa: ARG001
    """Return a project at a glance."""
    lines = [run.line for run in index.list_runs()]
    complete = [line for line in lines if line.state in ("complete", "undecided")]
    variants = find_variants(index.folder)
    latest = next((line for line in complete if line.file not in variants), complete[0] if complete else None)
    report = index.read_report(latest.id) if latest else None
    lint = index.read_kept("lint", "", GoldenReport)
    gated = msgspec.json.decode(index.meta.get("gated", "[]"), type=tuple[str, ...])
    state, baseline = index.find_state(), index.meta.get("baseline", "")
    traffic = _describe_traffic(index, store) if store.has_store else None
    trials, problem = _list_trials(store)
    problem = name_paths(problem, index.folder)
    status = None if state.problem else measure_status(desk)
    is_judged = lint is None or all(finding.rule != "no-judgments" for finding in lint.findings)
    queues = status.queues if status is not None else ()
    steps = (
        *_list_repairs(lint, state, status),
        *_list_live_steps(traffic, trials),
        *(_list_steps(latest, report, baseline) if is_judged else _list_first_steps(latest, queues)),
        *(_list_desk_steps(desk, status) if status is not None else ()),
        *_list_lint_steps(lint, gated),
    )
    # While the index is made for the first time, nothing is known: neither what is there, nor what is left to do.
    is_unread = not lines and not state.problem and bool(index.sign().runs)
    return OverviewPage(
        project=index.meta.get("name", index.folder.name),
        policy=index.meta.get("policy", ""),
        baseline=baseline,
        golden=_describe_golden(index, lint),
        latest=latest,
        newer=complete.index(latest) if latest else 0,
        unknown=_explain_unknown(report),
        measures=_list_measures(gated, report, lint),
        trend=tuple(_make_point(line, gated) for line in reversed(complete[:_POINTS])),
        runs=len(lines),
        next=() if is_unread else steps[:_STEPS],
        checklist=() if is_unread else _list_checks(index, lint, baseline, queues, is_asked=bool(complete)),
        unread=is_unread,
        traffic=traffic,
        trials=trials,
        live_problem=problem,
        index=state,
    )


def _describe_golden(index: Index, lint: GoldenReport | None) -> GoldenLine | None:
    if lint is None or "fingerprint" not in index.meta:
        return None
    return GoldenLine(
        name=index.meta.get("golden", ""),
        version=index.meta.get("golden_version", ""),
        fingerprint=index.meta["fingerprint"],
        queries=index.count_queries(),
        documents=int(index.meta.get("documents", "0")),
        judgments=int(index.meta.get("judgments", "0")),
        errors=lint.errors,
        warnings=lint.warnings,
        findings=lint.findings[:_FINDINGS],
        resolution=lint.resolution,
    )


def _list_measures(
    gated: tuple[str, ...], report: DecisionDocument | None, lint: GoldenReport | None
) -> tuple[GatedMeasure, ...]:
    rows = {row.name: row for row in report.measures} if report else {}
    return tuple(_describe_measure(rows[name], lint) for name in gated if name in rows)


def _describe_measure(row: MeasureRow, lint: GoldenReport | None) -> GatedMeasure:
    ceiling = lint.ceilings.get(row.name) if lint else None
    return GatedMeasure(
        name=row.name,
        mean=row.mean,
        low=row.interval[0] if row.interval else None,
        high=row.interval[1] if row.interval else None,
        n=row.n,
        baseline=row.baseline,
        floor=row.floor,
        ceiling=ceiling.best if ceiling else None,
        why_no_ceiling="" if ceiling and ceiling.best is not None else ceiling.because if ceiling else "",
        status=row.status,
        lower_is_better=row.lower_is_better,
    )


def _make_point(line: RunLine, gated: tuple[str, ...]) -> TrendPoint:
    rows = {measure.name: measure for measure in line.measures if measure.name in gated}
    return TrendPoint(
        run=line.id,
        title=line.title,
        date=line.begun or line.date,
        outcome=line.outcome,
        means={name: row.mean for name, row in rows.items()},
        low={name: row.low for name, row in rows.items()},
        high={name: row.high for name, row in rows.items()},
    )


def _describe_traffic(index: Index, store: LiveStore) -> TrafficLine | None:
    """Return live traffic as it was last looked at; None if nobody did yet."""
    snapshot = read_traffic(index, store)
    if snapshot is None:
        return None
    report, watch = snapshot.report, snapshot.watch
    return TrafficLine(
        span=snapshot.span,
        as_of=snapshot.as_of,
        queries=report.queries,
        sessions=report.sessions,
        rates=tuple(rate for rate in report.rates if rate.name in _RATES),
        p95=report.latency.p95 if report.latency else None,
        status=watch.status,
        firing=tuple(describe_alert(alert) for alert in watch.alerts if alert.state == "firing"),
        beyond=tuple(alert.name for alert in watch.alerts if alert.state == "beyond"),
    )


def _list_trials(store: LiveStore) -> tuple[tuple[TrialLine, ...], str]:
    """Return the trials that are not over, and why they cannot be read."""
    if not store.has_store:
        return (), ""
    try:
        listed, _ = page_trials(store.place, most=_TRIALS)
    except KaratError as error:
        return (), str(error)
    return tuple(_describe_trial(own) for own in listed.trials if own.status in ("running", "paused")), ""


def _describe_trial(status: TrialStatus) -> TrialLine:
    measure = status.measures[0]
    return TrialLine(
        feature=status.feature,
        number=status.number,
        status=status.status,
        decision=status.decision,
        reason=status.reason,
        measure=measure.measure,
        mean=measure.mean,
        low=measure.low,
        high=measure.high,
        samples=status.samples,
    )


def _list_repairs(lint: GoldenReport | None, state: IndexState, status: LabelStatus | None) -> Iterator[NextStep]:
    """Yield what has to be mended before anything else."""
    if state.problem:
        yield NextStep(title="Mend the project", why=state.problem, address="/#golden")
    for finding in lint.findings if lint else ():
        if finding.severity == "error" and finding.message != state.problem and finding.rule != "no-judgments":
            yield NextStep(title="Mend the golden set", why=f"{finding.message}. {finding.fix}", address="/#golden")
    for problem in status.left_out if status else ():
        yield NextStep(title="Mend what people labelled", why=problem, address="/judge/agreement")


def _list_live_steps(traffic: TrafficLine | None, trials: tuple[TrialLine, ...]) -> Iterator[NextStep]:
    """Yield what live traffic asks for: alerts first, then trials that can be decided."""
    if traffic is not None and traffic.firing:
        title = "Look at live traffic: an alert fires"
        yield NextStep(title=title, why=f"{'; '.join(traffic.firing[:3])}.", address="/live#alerts")
    for trial in trials:
        if trial.decision != "continue":
            why = f"The evidence allows {trial.decision}: {trial.reason}."
            yield NextStep(title=f"Decide on the trial of {trial.feature}", why=why, address=link_trial(trial.feature))


def _list_desk_steps(desk: Desk, status: LabelStatus) -> Iterator[NextStep]:
    """Yield what people proposed, and nobody has decided on, and the queues that are not finished."""
    is_counted = False
    for queue in status.queues:
        missing = queue.needed - queue.labels
        if queue.kind == "disputes":  # all queues of this kind ask about the same pairs
            missing, is_counted = 0 if is_counted else missing, True
        if missing > 0:
            title = f"Judge: {count_things(missing, 'label is', 'labels are')} missing in the queue {queue.queue}"
            yield NextStep(title=title, why=queue.about, address=f"/judge?queue={queue.queue}")
    waiting = [own for own in list_proposals(desk).proposals if own.state == "open"]
    if waiting:
        title = f"Decide on {count_things(len(waiting), 'proposal', 'proposals')} for the golden set"
        why = f"The latest is by {waiting[0].by}: {waiting[0].reason or 'no reason was given'}."
        yield NextStep(title=title, why=why, address="/proposals?state=open")


def _list_lint_steps(lint: GoldenReport | None, gated: tuple[str, ...]) -> Iterator[NextStep]:
    """Yield the warnings of the linter, without those on floors of measures that the gate does not look at."""
    for finding in lint.findings if lint else ():
        # Its message begins with the measure.
        is_ours = finding.rule != "unreachable-floor" or finding.message.split(" ", 1)[0] in gated
        if finding.severity != "error" and is_ours:
            yield NextStep(title=f"Golden set: {finding.message}", why=finding.fix, address="/#golden")


def _list_first_steps(latest: RunLine | None, queues: Sequence[LabelQueue]) -> Iterator[NextStep]:
    """Yield how the first judgments are made; where there is a queue, it says itself what is missing."""
    if latest is not None and not queues:
        why = (
            "Nothing is judged yet, so nothing can be decided: `karat label queue first RUN...` makes a queue of pairs."
        )
        yield NextStep(title="Judge what the runs returned", why=why, address="/judge")


def _explain_unknown(report: DecisionDocument | None) -> tuple[str, ...]:
    """Return the first reasons why a run is inconclusive, each once; nothing of any other run."""
    if report is None or report.verdict.outcome != "inconclusive":
        return ()
    reasons = [
        f"{check.name or check.kind}: {check.reason}" for check in report.checks if check.outcome == "inconclusive"
    ]
    return tuple(dict.fromkeys(reasons))[:_REASONS]


def _list_steps(latest: RunLine | None, report: DecisionDocument | None, baseline: str) -> Iterator[NextStep]:
    """Yield what the newest run asks for, the most urgent first."""
    if latest is None:
        return
    address = link_run(latest.id)
    if latest.outcome in ("fail", "error") and report is not None:
        failed = [f"{check.name}: {check.reason}" for check in report.checks if check.outcome in ("fail", "error")]
        yield NextStep(title="Find out why the newest run fails", why="; ".join(failed[:2]), address=address)
    if latest.state == "undecided":
        yield NextStep(title="Let the gate decide again", why=latest.note, address=address)
    if not baseline:
        why = "Without a baseline nothing tells whether a change made it worse: karat baseline update RUN records one."
        yield NextStep(title="Record a baseline", why=why, address=address)
    new = [failure for failure in (report.failures if report else ()) if failure.since == "new"]
    if new:
        why = f"The baseline did not fail there; the first is {new[0].query}: {next(iter(new[0].reasons), '')}"
        yield NextStep(
            title=f"Look at {count_things(len(new), 'new failure', 'new failures')}",
            why=why,
            address=link_run(latest.id, show="new") + "#queries",
        )
    old = latest.failures - len(new)
    if old > 0:
        title = f"Look at {count_things(old, 'query that fails', 'queries that fail')}" + (
            " as before" if baseline else ""
        )
        why = "They failed in the baseline, too." if baseline else "The page of the run says why."
        yield NextStep(title=title, why=why, address=link_run(latest.id, show="failed") + "#queries")
    for advice in report.recommendations if report else ():
        yield NextStep(title=advice.finding, why=advice.advice, address=f"{address}#advice")


def _list_checks(
    index: Index, lint: GoldenReport | None, baseline: str, queues: Sequence[LabelQueue], *, is_asked: bool
) -> tuple[ChecklistItem, ...]:
    """Return the checklist of a new project; nothing once all is done."""
    has_set = lint is not None and "fingerprint" in index.meta and bool(index.count_queries())
    make = "Judge the pairs of the queues" if queues else "`karat label queue first RUN...`; then judge its pairs"
    items = (
        ChecklistItem(title="A golden set with queries", done=has_set, how="`karat init`"),
        ChecklistItem(title="A first run", done=is_asked, how="`karat eval .`"),
        ChecklistItem(
            title="Judgments of what runs return",
            done=has_set and index.meta.get("judgments", "0") != "0",
            how=f"{make} in `karat serve`, propose the labels, and accept the proposal",
        ),
        ChecklistItem(
            title="A golden set without errors",
            done=has_set and lint is not None and lint.ok,
            how="`karat golden check .`",
        ),
        ChecklistItem(title="A baseline to compare with", done=bool(baseline), how="`karat baseline update RUN`"),
    )
    return () if all(item.done for item in items) else items
