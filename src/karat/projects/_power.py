"""Planning: how many queries find a difference, and what the queries of a golden set can find."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from karat.core import InputError, UsageError, count_things
from karat.evaluation import require_comparable
from karat.gate import decide
from karat.gate.power import (
    SPREADS,
    Aim,
    GateRates,
    Reach,
    compute_reach,
    compute_reach_of_repeats,
    compute_reach_of_runs,
    describe_rates,
    simulate_losses,
    simulate_noise,
)
from karat.projects._evaluations import read_evaluations
from karat.projects._gating import baseline_path, find_baseline, find_project, project_policy, revise_baseline
from karat.projects._project import open_project
from karat.projects.saved_runs import find_run
from karat.schema import GatePower, GateRate, PowerPlan, PowerRow

_Source = Literal["given", "repeats", "runs"]
_AIM = Aim()
_FEWEST = 2
_NAMED = 5
_UNJUDGED = '; unjudged documents are not simulated: with on_unjudged = "bounds", fewer runs pass'


def plan_power(
    run: str | Path | None = None,
    aim: Aim = _AIM,
    *,
    sd: float | None = None,
    n: int | None = None,
    against: str | Path | None = None,
    golden: str | Path | None = None,
    measures: Sequence[str] = (),
    say: Callable[[str], None] | None = None,
) -> PowerPlan:
    """Return how many queries find a difference, and what ``n`` queries find.

    The answer depends on how much differences vary from query to query. With ``run`` that is measured: against another
    run, or the baseline of the project, or between the repeats of the run. Else it is ``sd``, or three guesses, and
    ``n`` is by default the number of queries with something to find in the project ``golden``.

    >>> plan = plan_power(sd=0.15, n=15, aim=Aim(effect=0.1))
    >>> plan.rows[0].needed, round(plan.rows[0].power, 2)
    (20, 0.67)
    """
    if run is not None:
        if sd is not None:
            raise UsageError("sd is measured where there is a run; give one of them")
        return _plan_by_runs(run, aim, n, against, golden, measures, say)
    for name, value in (("against", against), ("measures", measures)):
        if value:
            raise UsageError(f"{name} is of use with a run only; name one")
    if n is None and golden is not None:
        n = _count_queries(golden)
    return _plan(aim, [compute_reach(spread, n, aim) for spread in (SPREADS if sd is None else (sd,))], "given", [])


def _count_queries(folder: str | Path) -> int:
    """Return how many queries of a project can show a difference: those with something to find."""
    golden = open_project(folder).golden
    count = len(golden.findable - golden.unanswerable)
    if count < _FEWEST:
        many = count_things(count, "query", "queries")
        raise InputError(
            f"has {many} with something to find", source=str(folder), hint="name how many there will be, as n"
        )
    return count


def plan_gate_power(
    folder: str | Path = ".",
    *,
    policy: str | None = None,
    run: str | Path | None = None,
    runs: int = 200,
    seed: int = 0,
    say: Callable[[str], None] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> PowerPlan:
    """Return how often the gate of a project is wrong: false alarms, and losses of queries that it does not see.

    Both are simulated from the scores of the project's baseline. With ``run``, another run of the project, false alarms
    are those of the differences between the two. ``progress`` is called with what is simulated, how many runs of it are
    done, and how many there are at most.
    """
    project = open_project(folder)
    chosen = project_policy(project, policy)
    recorded = find_baseline(project)
    if recorded is None:
        raise InputError(
            "has no baseline, whose scores the simulation needs",
            source=str(folder),
            hint="'karat baseline update RUN' records one",
        )
    # As the gate sees it: on today's golden set, and with the measures of the policy.
    baseline, other = revise_baseline(project, recorded, chosen.measures).evaluation, None
    if run is not None:
        (other,) = read_evaluations([run], baseline.scores.measures, project=project, say=say).evaluations
        require_comparable(other, baseline)
    failing = tuple(dict.fromkeys(check.name for check in decide(baseline, baseline, chosen, seed=seed).failures))
    chance, lost = (progress and partial(progress, stage) for stage in ("chance", "losses"))
    noise = simulate_noise(baseline, chosen, other, runs=runs, seed=seed, progress=chance)
    losses = simulate_losses(baseline, chosen, runs=runs, seed=seed, progress=lost)
    aim = Aim(alpha=chosen.drop.alpha, sides=1)
    plan = _plan(aim, [], "given", [baseline.name, *([other.name] if other else [])])
    return replace(
        plan,
        meaning=(_describe_own_failures(failing) if failing else describe_rates(noise, losses))
        + (_UNJUDGED if chosen.on_unjudged == "bounds" else ""),
        gate=GatePower(
            policy=chosen.name,
            baseline_fails=failing,
            n=noise.n,
            runs=runs,
            noise_from="queries" if other is None else "run",
            noise=_rate(noise),
            losses=tuple(map(_rate, losses)),
        ),
    )


def _describe_own_failures(names: Sequence[str]) -> str:
    """Return what the table means where the baseline itself fails: it says nothing about chance, nor about losses."""
    shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else "")
    return f"the baseline itself fails {shown}: these failures are neither false alarms nor losses that were seen"


def _rate(rates: GateRates) -> GateRate:
    return GateRate(lost=rates.lost, fail=rates.fail, inconclusive=rates.inconclusive, passed=rates.passed)


def _plan_by_runs(
    run: str | Path, aim: Aim, n: int | None, against: str | Path | None, golden: str | Path | None,
    measures: Sequence[str], say: Callable[[str], None] | None,
) -> PowerPlan:  # fmt: skip
    """Measure the spread between two runs, or where there is only one, between its repeats."""
    project = open_project(golden or find_project(find_run(run)))
    if against is None and baseline_path(project).exists():
        against = baseline_path(project)
    runs = read_evaluations([run] if against is None else [against, run], measures, project=project, say=say)
    names = [evaluation.name for evaluation in runs.evaluations]
    if against is None:
        rows = compute_reach_of_repeats(runs.evaluations[0], runs.measures, aim, n=n)
        if all(row.sd is None for row in rows):
            raise InputError(
                "there is nothing to compare the run with",
                source=str(run),
                hint="name another with --against, record a baseline, or repeat a system whose answers vary",
            )
        return _plan(aim, rows, "repeats", names)
    baseline, candidate = runs.evaluations
    require_comparable(candidate, baseline)
    if not (baseline.has_queries and candidate.has_queries):
        raise InputError("has means only, and no spread", source=baseline.name, hint="name a run with --against")
    return _plan(aim, compute_reach_of_runs(candidate, baseline, runs.measures, aim, n=n), "runs", names)


def _plan(aim: Aim, rows: Sequence[Reach], source: _Source, runs: Sequence[str]) -> PowerPlan:
    return PowerPlan(
        effect=aim.effect,
        power=aim.power,
        alpha=aim.alpha,
        sides=aim.sides,
        spread_from=source,
        runs=tuple(runs),
        rows=tuple(
            PowerRow(
                sd=row.sd,
                n=row.n,
                measure=row.measure,
                needed=row.needed,
                power=row.power,
                detectable=row.detectable,
            )
            for row in rows
        ),
        meaning=_meaning(aim, rows, source),
    )


def _meaning(aim: Aim, rows: Sequence[Reach], source: _Source) -> str:
    """Return in one sentence what the numbers mean."""
    measured = [row for row in rows if row.sd is not None]
    if not measured:
        return "the runs do not differ on any query, so nothing can be planned with them: name another with --against"
    change, sides = ("drop", "one side") if aim.sides == 1 else ("difference", "two sides")
    share = f"{100 * aim.power:g} of 100"
    least = "at least " if source == "repeats" else ""
    needed = _range([row.needed for row in measured], "{:,}")
    task = f"find a {change} of {aim.effect:g} (alpha {aim.alpha:g}, {sides})"
    text = f"{share} comparisons {task} with {least}{needed} queries"
    if source == "given":
        text += f", where the differences have an sd of {_range([row.sd for row in measured], '{:g}')}"
    sized = [row for row in measured if row.power is not None and row.detectable is not None]
    if sized:
        queries = _range([row.n for row in sized], "{:,}")
        chance = _range([min(99, 100 * row.power) for row in sized if row.power is not None], "{:.0f}")
        smallest = _range([row.detectable for row in sized], "{:.2g}")
        text += f"; with {queries} queries {chance} of 100 do, and {share} find one of {smallest}"
    if source == "repeats":
        text += "; this is the noise between repeats of one system, and a change of the system adds to it"
    return text


def _range(values: Sequence[float | None], form: str) -> str:
    numbers = [value for value in values if value is not None]
    low, high = form.format(min(numbers)), form.format(max(numbers))
    return low if low == high else f"{low} to {high}"
