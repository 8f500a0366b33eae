"""``karat gate``: whether a run may ship."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from karat.cli._progress import say
from karat.cli._table import bold, coloured, emit, escaped, printable, quantity, render

if TYPE_CHECKING:
    from karat.gate import Check, Mover
    from karat.projects import GateResult

_SHOWN = 5
_CHANGES = 10
_COLOURS = {"pass": "green", "fail": "red", "inconclusive": "yellow"}


@click.command("gate", short_help="Decide whether a run may ship: pass, fail or inconclusive.")
@click.argument("run", metavar="RUN")
@click.option(
    "--golden", "folder", metavar="DIR", help="The project of the run.  [default: the folder that it lies in]"
)
@click.option("--baseline", metavar="FILE", help="What to compare with.  [default: baseline.json of the project]")
@click.option("--policy", metavar="NAME|FILE", help="A policy by name, or a TOML file.  [default: that of karat.toml]")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed, the same numbers.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the decision, which karat report renders.")
@click.pass_context
def command(context: click.Context, /, run: str, **options: Any) -> None:
    """Decide on RUN, a file that karat eval wrote, by the rules of a policy and against a baseline.

    Exits with 0 for pass, 1 for fail, and for inconclusive with 0 or 4, as the policy says. Policies with a name:
    default, fit, beluga, rig, blocks, threshold.

    Example: karat gate examples/hotel/runs/pipeline-2026-11-16-0a1b2c3d.jsonl --policy threshold
    """
    from karat.projects import find_project, gate_run, open_project, report_document
    from karat.reports import render_json
    from karat.runs import read_answers

    project = open_project(options["folder"] or find_project(run))
    answers = read_answers(run, project.golden, say=say)
    gated = gate_run(project, answers, policy=options["policy"], baseline=options["baseline"], seed=options["seed"])
    emit(render_json(report_document(gated)).rstrip() if options["as_json"] else gate_text(gated))
    context.exit(gated.decision.exit_code)


def gate_text(gated: GateResult) -> str:
    """Give the decision as a terminal shows it."""
    decision = gated.decision
    rows = [["metric", "rule", "current", "baseline", "delta", "status"]]
    rows += [_row(check) for check in decision.checks]
    head, *lines = render(rows, left=2).split("\n")
    table = [head, *(_with_colour(line, check) for line, check in zip(lines, decision.checks, strict=True))]
    parts = ["\n".join(table), "\n".join(_reasons(decision.checks))]
    if decision.baseline is not None:
        parts += [_movers(gated), _changed(gated)]
    parts += [_listed(gated), "\n".join(map(escaped, gated.caveats)), _verdict(gated)]
    return "\n\n".join(part for part in parts if part)


def _row(check: Check) -> list[str]:
    return [
        printable(check.name),
        _rule(check),
        quantity(check.current),
        quantity(check.baseline),
        _delta(check),
        check.outcome.value,
    ]


def _with_colour(line: str, check: Check) -> str:
    """Colour the status, which stands last, when the columns are aligned."""
    status = check.outcome.value
    return line.removesuffix(status) + coloured(status, _COLOURS[status])


def _rule(check: Check) -> str:
    if check.kind == "must_pass":
        return "must pass" if check.limit is None else f"must pass, min {check.limit:g}"
    if check.kind in ("significant_drop", "non_inferior"):
        margin = "" if check.limit is None else f" within {check.limit:.3g}"
        return {"significant_drop": "no significant drop", "non_inferior": "not worse"}[check.kind] + margin
    if check.limit is None:
        return "has to be there"
    limit = f"{check.limit:.1%}" if check.kind.endswith("rel") else f"{check.limit:g}"
    return f"{check.kind.removesuffix('_abs').removesuffix('_rel').replace('_', ' ')} {limit}"


def _delta(check: Check) -> str:
    if check.difference is None:
        return "-"
    if check.high is not None:
        return f"{check.difference:+.4f} (< {check.high:+.3f})"
    bound = "" if check.low is None else f" (> {check.low:+.3f})"
    return f"{check.difference:+.4f}{bound}"


def _reasons(checks: tuple[Check, ...]) -> list[str]:
    """Give what did not pass and why; those with one and the same reason on one line."""
    found: dict[tuple[str, str], list[str]] = {}
    for check in checks:
        if check.outcome.value != "pass":
            more = f"; about {check.needed:,} queries would tell" if check.needed else ""
            found.setdefault((check.outcome.value, f"{escaped(check.reason)}{more}"), []).append(printable(check.name))
    return [
        f"{coloured(status, _COLOURS[status])}  {', '.join(dict.fromkeys(names))}: {reason}"
        for (status, reason), names in found.items()
    ]


def _movers(gated: GateResult) -> str:
    from karat.gate import movers

    assert gated.baseline is not None
    found = movers(gated.evaluation, gated.baseline.evaluation, gated.decision.policy.measures)
    lost, won = [one for one in found if one.gain < 0], [one for one in reversed(found) if one.gain > 0]
    parts = []
    for title, ones in (("lost most", lost), ("won most", won)):
        if ones:
            parts.append(
                "\n".join([bold(f"{title} ({len(ones):,} in all)"), *(_mover(gated, one) for one in ones[:_SHOWN])])
            )
    return "\n".join(parts)


def _mover(gated: GateResult, one: Mover) -> str:
    from karat.gate import moved

    assert gated.baseline is not None
    texts = {query.id: query.text for query in gated.project.golden.queries}
    text = escaped(texts.get(one.query, ""))[:80]
    head = f"  {printable(one.query)}  {one.measure} {one.baseline:.3f} to {one.candidate:.3f}  {text}"
    if one.query in gated.evaluation.failures:
        return f"{head}\n      failed: {escaped(gated.evaluation.failures[one.query])[:120]}"
    found = moved(gated.evaluation.lists.get(one.query, ()), gated.baseline.evaluation.lists.get(one.query, ()))
    shown = "; ".join(printable(words, 80) for words in found[:4]) + (" ..." if len(found) > 4 else "")
    return f"{head}\n      {shown}" if found else head


def _changed(gated: GateResult) -> str:
    from karat.evaluation import system_changes

    assert gated.baseline is not None
    found = system_changes(gated.evaluation.provenance.system, gated.baseline.evaluation.provenance.system)
    shown = [
        f"  {printable(key)}: {printable(str(now))}, was {printable(str(was))}" for key, now, was in found[:_CHANGES]
    ]
    shown += [f"  and {len(found) - _CHANGES:,} more"] if len(found) > _CHANGES else []
    return "\n".join([bold("the system changed in"), *shown]) if found else ""


def _below(gated: GateResult) -> dict[str, list[tuple[str, float]]]:
    limits = gated.decision.policy.list_below
    return {
        name: sorted((row for row in gated.evaluation.values(name).items() if row[1] < limit), key=lambda row: row[1])
        for name, limit in limits.items()
    }


def _listed(gated: GateResult) -> str:
    lines = []
    for name, rows in _below(gated).items():
        if rows:
            shown = ", ".join(f"{printable(query)} {value:.2f}" for query, value in rows[:20])
            limit, more = gated.decision.policy.list_below[name], " ..." if len(rows) > 20 else ""
            lines.append(f"{len(rows):,} below {limit:g} of {name}: {shown}{more}")
    return "\n".join(lines)


def _place(folder: Path) -> str:
    """Name a folder as it would be typed here."""
    here, there = Path.cwd(), folder.resolve()
    return shlex.quote(str(there.relative_to(here) if there.is_relative_to(here) else there))


def _verdict(gated: GateResult) -> str:
    decision = gated.decision
    outcome = decision.outcome.value
    update = f"karat baseline update {printable(_place(gated.project.config.folder), 200)}"
    if outcome == "fail":
        text = f"{len(decision.failures)} of {len(decision.checks)} checks failed"
        if any(check.baseline is not None for check in decision.failures):
            text += f"\nif that is intended: {update} --force 'why', and commit the baseline"
    elif outcome == "inconclusive":
        known = decision.baseline is not None
        text = "too little is known: more queries, or repeats, would tell" if known else "there is no baseline yet"
        text += " (policy: this passes with a warning)" if decision.exit_code == 0 else ""
    else:
        text = "it may ship"
    if decision.baseline is None and outcome != "fail":
        text += f"\n{update} records this run as the first"
    return f"{bold(coloured(outcome.upper(), _COLOURS[outcome]))} by policy {printable(decision.policy.name)}: {text}"
