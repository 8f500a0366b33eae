"""A policy as a terminal shows it."""

from __future__ import annotations

from collections.abc import Iterator

from karat.reports._terminal import PLAIN, Style, align, escaped, printable
from karat.schema import PolicyDocument, PolicyRule

_CODES = {"pass": "exit code 0 with a warning", "fail": "exit code 4"}


def describe_policy(policy: PolicyDocument, *, style: Style = PLAIN) -> str:
    """Return a policy for a terminal: what it is for, the operational rules, the rules, and what it changes."""
    extends = f", extends {printable(policy.extends)}" if policy.extends else ""
    head = f"{style.bold(printable(policy.name))}{extends}: {escaped(policy.purpose)}"
    rows = [("operations", text) for text in _describe_operations(policy)]
    rows += [(_name(rule), escaped(rule.asks)) for rule in policy.rules]
    rows += [("must pass", printable(str(must["query"]))) for must in policy.must_pass]
    rows += _describe_tolerance(policy)
    rows.append(("inconclusive", f"{policy.on_inconclusive} (on_inconclusive): {_CODES[policy.on_inconclusive]}"))
    rows.append(("not compared", f"{policy.on_changed_questions} (on_changed_questions)"))
    if policy.on_unjudged == "bounds":
        rows.append(("unjudged", "nothing passes unless it does whatever their grades are (on_unjudged)"))
    rows += [("listed", f"{printable(name)} below {limit:g}") for name, limit in policy.list_below.items()]
    parts = [head, "\n".join(align(rows, left=2))]
    if policy.changes:
        parts.append(
            "\n".join([style.bold(f"changed from {policy.extends}"), *(f"  {escaped(c)}" for c in policy.changes)])
        )
    return "\n\n".join([*parts, *map(escaped, policy.notes)])


def _describe_tolerance(policy: PolicyDocument) -> list[tuple[str, str]]:
    """Return the tolerated drop and the level of the tests; nothing if no rule makes a test."""
    tolerance = policy.tolerance
    if tolerance is None:
        return []
    return [
        ("tolerated drop", f"{tolerance.relative:.3g} of the baseline's mean, at least {tolerance.absolute:g}"),
        ("level of tests", f"{tolerance.alpha:g}"),
    ]


def _describe_operations(policy: PolicyDocument) -> Iterator[str]:
    limits = policy.operations
    yield (
        "failed: off"
        if limits.failed is None
        else f"failed: no decision if more than 1 query and {limits.failed:.3g} of them fail"
    )
    yield "unscored: inconclusive if the golden set has nothing relevant for more than 0.5 of a mean's questions"
    yield (
        "removed: inconclusive if more than 1 question and 0.02 of the baseline's left the golden set, until karat "
        "baseline rebase"
    )
    yield "new: inconclusive if more than 0.2 of the questions have no baseline"
    yield "moved: inconclusive if more than 1 question and 0.02 of a segment with a rule left it since the baseline"
    yield (
        "empty: off"
        if limits.empty is None
        else f"empty: at most 1 query or {limits.empty:.3g} of the answerable ones lose all their results"
    )
    yield (
        "latency: off"
        if limits.latency is None
        else f"latency: p95 at most {limits.latency:g} times the baseline's, from 50 ms on"
    )
    yield (
        "texts: off"
        if limits.texts is None
        else f"texts: where the system answers, at most 1 query or {limits.texts:.3g} of them have a hit with a text "
        "that is not in its document"
    )


def _name(rule: PolicyRule) -> str:
    where = "".join(f" {field}={value}" for field, value in (rule.where or {}).items())
    return printable(f"{rule.metric}{where}", 60)
