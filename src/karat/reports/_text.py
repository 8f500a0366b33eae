"""The decision as a terminal shows it."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET

from karat.core import count_things
from karat.reports._failures import describe_failures, list_failure_kinds
from karat.reports._floor import describe_floor
from karat.reports._terminal import PLAIN, Style, align, escaped, printable
from karat.reports._verdict import (
    OPERATIONS,
    describe_operations,
    explain_outcome,
    find_observed_drops,
    may_be_intended,
    name_outcome,
    name_policy,
)
from karat.reports._warnings import list_other_caveats, list_warnings
from karat.reports._words import (
    count,
    describe_need,
    describe_rule,
    format_change,
    format_part,
    format_value,
    is_timed,
    name_other_system,
)
from karat.schema import BaselineFacts, CheckRow, DecisionDocument, MoverRow, QueryRow

_MOVERS = 5  # of each kind
_MOVED = 4  # documents of a query
_CHANGES = 10
_BELOW = 20  # queries below a limit
_HEAD = ("metric", "rule", "current", "baseline", "delta", "status")


def render_text(document: DecisionDocument, *, run: str = ".", style: Style = PLAIN) -> str:
    """Return the decision for a terminal: the checks, why some did not pass, what changed, and the verdict.

    ``run`` is the file of the run, or else the project's folder, as it would be typed after ``karat baseline update``;
    empty if the run has no file.
    A document of ``karat check`` begins with a line on the golden set.
    """
    parts = [
        "\n".join(map(escaped, list_warnings(document))),
        _golden(document, style),
        _operations(document, style),
        _checks(tuple(check for check in document.checks if check.kind not in OPERATIONS), style),
        "\n".join(_reasons(document.checks, style)),
        _movers(document, style),
        _changes(document.baseline, style),
        "\n".join(_below_limits(document)),
        _failures(document, style),
        _label("keywords alone", escaped(describe_floor(document)), style),
        "\n".join(map(escaped, list_other_caveats(document))),
        _verdict(document, run, style),
    ]
    return "\n\n".join(part for part in parts if part)


def _golden(document: DecisionDocument, style: Style) -> str:
    if document.lint is UNSET:
        return ""
    golden, warnings = document.golden, document.lint.warnings
    size = (
        f"{count_things(golden.documents, 'document')}, "
        f"{count_things(golden.queries, 'query', 'queries')}, {count_things(golden.judgments, 'judgment')}"
    )
    problems = f"{count(warnings, 'warning')}, which karat golden check lists" if warnings else "nothing wrong"
    return f"{style.bold('golden set')} {escaped(golden.full_name)}: {size}; {problems}"


def _operations(document: DecisionDocument, style: Style) -> str:
    """Return the results of the operational rules, which come before everything else."""
    line = describe_operations(document)
    return f"{style.bold('operations')} {escaped(line)}" if line else ""


def _checks(checks: tuple[CheckRow, ...], style: Style) -> str:
    if not checks:
        return ""
    head, *lines = align([_HEAD, *map(_row, checks)], left=2)
    # The status comes last, and is coloured after the columns are aligned.
    rows = [
        line.removesuffix(check.outcome) + _colour(check.outcome, check.outcome, style)
        for line, check in zip(lines, checks, strict=True)
    ]
    return "\n".join([style.bold(head), *rows])


def _row(check: CheckRow) -> tuple[str, ...]:
    numbers = format_value(check, check.current), format_value(check, check.baseline), _delta(check)
    return printable(check.name), describe_rule(check), *numbers, check.outcome


def _delta(check: CheckRow) -> str:
    if check.difference is None:
        return "-"
    if is_timed(check):
        return format_change(check)
    if check.high is not None:
        return f"{check.difference:+.4f} (< {check.high:+.3f})"
    bound = "" if check.low is None else f" (> {check.low:+.3f})"
    return f"{check.difference:+.4f}{bound}"


def _colour(text: str, outcome: str, style: Style) -> str:
    colours = {"pass": style.green, "fail": style.red, "error": style.red, "inconclusive": style.yellow}
    return colours[outcome](text)


def _reasons(checks: Iterable[CheckRow], style: Style) -> list[str]:
    """Return a line for each reason why checks did not pass, with all checks that share it."""
    names: dict[tuple[str, str], list[str]] = {}
    for check in checks:
        if check.outcome != "pass":
            reason = f"{escaped(check.reason)}{describe_need(check)}"
            names.setdefault((check.outcome, reason), []).append(printable(check.name))
    return [
        f"{_colour(outcome, outcome, style)}  {', '.join(dict.fromkeys(same))}: {reason}"
        for (outcome, reason), same in names.items()
    ]


def _movers(document: DecisionDocument, style: Style) -> str:
    measures = {measure.name: measure for measure in document.measures}
    queries = {query.id: query for query in document.queries}
    lost: list[MoverRow] = []
    won: list[MoverRow] = []
    for mover in document.movers:
        difference = mover.candidate - mover.baseline
        measure = measures.get(mover.measure)
        gain = difference if measure is None else measure.gain(difference)
        (lost if gain < 0 else won).append(mover)
    parts = []
    for title, movers in (("lost most", lost), ("won most", won[::-1])):
        if movers:
            lines = [_mover(mover, queries.get(mover.query)) for mover in movers[:_MOVERS]]
            parts.append("\n".join([style.bold(f"{title} ({len(movers):,} in all)"), *lines]))
    return "\n".join(parts)


def _mover(mover: MoverRow, query: QueryRow | None) -> str:
    text = escaped(query.text)[:80] if query else ""
    head = f"  {printable(mover.query)}  {mover.measure} {mover.baseline:.3f} to {mover.candidate:.3f}  {text}"
    if query and query.error:
        return f"{head}\n      failed: {escaped(query.error)[:120]}"
    moved = "; ".join(printable(words, 80) for words in mover.moved[:_MOVED])
    return f"{head}\n      {moved}{' ...' if len(mover.moved) > _MOVED else ''}" if moved else head


def _changes(baseline: BaselineFacts | None, style: Style) -> str:
    if baseline is None or not baseline.changes:
        return ""
    if systems := name_other_system(baseline.changes):
        now, was = map(printable, systems)
        return style.bold(f"another system than the baseline's: {now}, was {was}")
    lines = [
        f"  {printable(change.key)}: {printable(format_part(change.now))}, was {printable(format_part(change.was))}"
        for change in baseline.changes[:_CHANGES]
    ]
    rest = len(baseline.changes) - _CHANGES
    return "\n".join([style.bold("the system changed in"), *lines, *([f"  and {rest:,} more"] if rest > 0 else [])])


def _below_limits(document: DecisionDocument) -> Iterable[str]:
    for name, limit in document.verdict.list_below.items():
        scores = [(query.scores[name], query.id) for query in document.queries if name in query.scores]
        below = sorted((row for row in scores if row[0] < limit), key=lambda row: row[0])
        if below:
            shown = ", ".join(f"{printable(query)} {score:.2f}" for score, query in below[:_BELOW])
            more = " ..." if len(below) > _BELOW else ""
            yield f"{len(below):,} below {limit:g} of {name}: {shown}{more}"


def _failures(document: DecisionDocument, style: Style) -> str:
    """Return how many queries failed, and below that what a failure is: the operations above count errors only."""
    line = _label("failures", describe_failures(document, printable), style)
    return "\n  ".join([line, *list_failure_kinds(document, printable)]) if line else ""


def _label(name: str, line: str, style: Style) -> str:
    return f"{style.bold(name)}: {line}" if line else ""


def _verdict(document: DecisionDocument, run: str, style: Style) -> str:
    verdict = document.verdict
    update = f"karat baseline update {escaped(run)}"
    first, *others = (escaped(sentence) for sentence in explain_outcome(document))
    if run and may_be_intended(document):
        others.append(f"if that is intended: {update} --force 'why', and commit the baseline")
    if document.baseline is None and verdict.outcome in ("pass", "inconclusive"):
        others.append(f"{update} records this run as the first")
    colour = "inconclusive" if verdict.outcome == "pass" and find_observed_drops(document) else verdict.outcome
    word, comma, effect = name_outcome(document).partition(",")
    head = f"{style.bold(_colour(word, colour, style))} by policy {escaped(name_policy(verdict))}{comma}{effect}"
    return "\n".join([f"{head}: {first}", *others])
