"""Sweeps as a terminal shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.cli._table import bold, coloured, escaped, number, printable, render
from karat.core import count_things

if TYPE_CHECKING:
    from collections.abc import Sequence

    from karat.schema import SweepPlan, SweepReport, VariantResult

_WIDTH = 60  # of a name
_COLOURS = {"ACCEPTED": "green", "REJECTED": "red"}
_LATENCY = "latency.p95"
_NAMED = 3  # variants in a note


def plan_text(plan: SweepPlan) -> str:
    """Render the variants of a sweep that was not run."""
    names = [f"  {escaped(variant.name)}" for variant in plan.variants]
    return "\n".join([f"{count_things(len(names), 'variant')} of {escaped(plan.project)}", *names])


def sweep_text(report: SweepReport) -> str:
    """Render a sweep: a row for each variant, the reasons, quality beside latency, and a summary."""
    parts = [_table(report), "\n".join(map(_reason, report.variants)), _front(report), _summary(report)]
    return "\n\n".join(part for part in parts if part)


def _table(report: SweepReport) -> str:
    names = dict.fromkeys(name for variant in report.variants for name in variant.results if name != _LATENCY)
    measures = list(names)
    rows = [["variant", *measures, f"delta {report.objective}", "95 % interval", "p", "p95 ms", "verdict"]]
    if report.baseline is not None:
        results = report.baseline.results
        means = [number(results.get(name)) for name in measures]
        rows.append(["baseline", *means, "-", "-", "-", _time(results.get(_LATENCY)), "-"])
    rows += [_row(variant, measures) for variant in report.variants]
    head, *lines = render(rows).split("\n")
    return "\n".join([head, *map(_with_colour, lines)])


def _row(variant: VariantResult, measures: Sequence[str]) -> list[str]:
    change = variant.objective
    interval = isinstance(change.low, float) and isinstance(change.high, float)
    return [
        printable(variant.name, _WIDTH),
        *(number(variant.results.get(name)) for name in measures),
        f"{change.difference:+.4f}" if isinstance(change.difference, float) else "-",
        f"{change.low:+.3f} to {change.high:+.3f}" if interval else "-",
        "-" if variant.p_corrected is None else f"{variant.p_corrected:.4f}",
        _time(variant.results.get(_LATENCY)),
        "failed" if variant.error else variant.verdict,
    ]


def _with_colour(line: str) -> str:
    """Colour the verdict at the end of a line; before the columns are aligned it would change their width."""
    rest, _, verdict = line.rpartition(" ")
    return f"{rest} {coloured(verdict, _COLOURS[verdict])}" if verdict in _COLOURS else line


def _time(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _reason(variant: VariantResult) -> str:
    word = coloured(variant.verdict, _COLOURS[variant.verdict])
    return f"{word}  {printable(variant.name, _WIDTH)}: {escaped(variant.reason)}"


def _front(report: SweepReport) -> str:
    """Show quality beside latency, the fastest first, with a mark where no other is as good and as fast."""
    timed = [(variant, time) for variant in report.variants if (time := variant.results.get(_LATENCY)) is not None]
    if len(timed) < 2:
        return ""
    rows = [["quality and latency", report.objective, "p95 ms", "best"]]
    for variant, time in sorted(timed, key=lambda pair: pair[1]):
        quality = number(variant.results.get(report.objective))
        rows.append([printable(variant.name, _WIDTH), quality, _time(time), "*" if variant.pareto else ""])
    return render(rows)


def _summary(report: SweepReport) -> str:
    variants, tested, earlier = report.variants, report.correction.variants, report.correction.not_counted
    accepted = sum(variant.verdict == "ACCEPTED" for variant in variants)
    gain = f" and better by {report.objective}" if report.require_gain else ""
    lines = [bold(f"{accepted} of {len(variants):,} accepted: not worse by policy {printable(report.policy)}{gain}")]
    if tested > 1:
        lines.append(f"p is corrected for {count_things(tested, 'variant')} (Westfall-Young); intervals are not")
    elif report.baseline is not None and not _has_tests(report):
        lines.append("the policy makes no test: of many variants some pass it by chance")
    if apart := _explain_intervals(report):
        lines.append(apart)
    if before := sum(variant.answered_before for variant in variants):
        lines.append(
            f"{before:,} of the latencies were measured earlier, under another load; --again measures them again"
        )
    if below := _below_floor(report):
        names = ", ".join(map(printable, below))
        lines.append(f"the baseline itself is below the floors of {names}: to be accepted a variant has to reach them")
    if earlier:
        lines.append(
            f"{earlier:,} other variant{'s were' if earlier > 1 else ' was'} compared with this baseline before "
            "and not corrected for"
        )
    ids = variants[0].id if len(variants) == 1 else f"{variants[0].id} to {variants[-1].id}"
    lines.append(f"{escaped(report.log)} has them as {escaped(ids)}")
    return "\n".join(lines)


def _has_tests(report: SweepReport) -> bool:
    """Return whether a variant has to show anything, apart from staying within limits."""
    checks = (check for variant in report.variants for check in variant.checks)
    return report.require_gain or any(check.kind == "non_inferior" for check in checks)


def _explain_intervals(report: SweepReport) -> str:
    """Return of which variants the interval and the p of a gain seem to contradict each other; "" for none."""
    from karat.core import Measure

    less = Measure.parse(report.objective).definition.higher_is_better is False
    apart = []
    for variant in report.variants:
        change = variant.objective
        low, high, p = change.low, change.high, change.p_gain
        if not (isinstance(low, float) and isinstance(high, float) and isinstance(p, float)):
            continue
        rises = high < 0 if less else low > 0
        # The interval has two sides, and the test of a gain one.
        if p > report.alpha if rises else p <= report.alpha / 2:
            where = "leaves out" if rises else "includes"
            apart.append(f"{printable(variant.name, _WIDTH)} {where} 0 with p {p:.4f} for a gain, before correction")
    more = f"; and {len(apart) - _NAMED:,} more" if len(apart) > _NAMED else ""
    listed = "; that of ".join(apart[:_NAMED])
    return f"trust p, and not the interval, where they disagree: that of {listed}{more}" if apart else ""


def _below_floor(report: SweepReport) -> list[str]:
    """Return the measures on which the baseline itself is below a floor of the policy."""
    results = report.baseline.results if report.baseline else {}
    floors = {
        check.metric: check.limit
        for variant in report.variants
        for check in variant.checks
        if check.kind == "min" and check.where is None and check.limit is not None and check.metric != _LATENCY
    }
    return [name for name, floor in floors.items() if (mean := results.get(name)) is not None and mean < floor]
