"""The report for GitHub Actions: annotations on the run, and a summary of the step."""

from __future__ import annotations

from collections.abc import Iterator

from karat.reports._markdown import render_markdown
from karat.reports._verdict import explain_outcome, find_observed_drops, lets_pass, name_outcome, name_policy
from karat.reports._warnings import list_warnings
from karat.reports._words import (
    clean,
    count,
    describe_reason,
    format_change,
    format_difference,
    format_mean,
    format_number,
    format_value,
    name_check,
)
from karat.schema import CheckRow, DecisionDocument, MeasureRow

SUMMARY = 1_000_000
"""Bytes that fit into the summary of a step; GitHub's limit is 1 MiB, and a larger summary is not shown at all."""
_MOST = 10  # annotations of a kind that GitHub shows for a step
_TITLE, _MESSAGE = 250, 4000  # characters; GitHub takes 255 of a title, and its runner cuts a message at 4096


def render_github(document: DecisionDocument) -> str:
    """Return the annotations: an error for each failed check, a warning for each inconclusive one and each caveat that
    is a warning, and a notice.

    GitHub shows ten of a kind; if there are more, the last one says how many. An inconclusive check is an error if the
    policy does not let it pass.
    """
    kinds: dict[str, list[tuple[str, str]]] = {"error": [], "warning": [], "notice": []}
    observed = find_observed_drops(document)
    for check in document.checks:
        if check.outcome != "pass":
            kind = "error" if check.outcome in ("fail", "error") or not lets_pass(document, check) else "warning"
            kinds[kind].append((f"karat {check.outcome}: {name_check(check)}", _message(check)))
        elif check in observed:
            title = f"karat pass, but worse than tolerated: {name_check(check)}"
            kinds["warning"].append((title, _message(check)))
    kinds["warning"] += [("karat: read with care", warning) for warning in list_warnings(document)]
    kinds["notice"].append((f"karat {name_outcome(document).lower()}", _verdict(document)))
    return "".join(f"{line}\n" for kind, entries in kinds.items() for line in _lines(kind, entries))


def render_summary(document: DecisionDocument) -> str:
    """Return the summary of the step: the report as Markdown, as much as GitHub takes."""
    return render_markdown(document, limit=SUMMARY)


def annotation(kind: str, title: str, message: str) -> str:
    r"""Return a workflow command; nothing in title or message can end it or begin another.

    >>> annotation("error", "a: b", "50 %\n::warning::x")
    '::error title=a%3A b::50 %25%0A::warning::x'
    """
    name = _escape(_cut(title, _TITLE)).replace(":", "%3A").replace(",", "%2C")
    return f"::{kind} title={name}::{_escape(_cut(message, _MESSAGE))}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _lines(kind: str, entries: list[tuple[str, str]]) -> Iterator[str]:
    shown = entries if len(entries) <= _MOST else entries[: _MOST - 1]
    for title, message in shown:
        yield annotation(kind, title, message)
    if rest := entries[len(shown) :]:
        names = ", ".join(title.partition(": ")[2] for title, _ in rest)
        yield annotation(kind, f"karat: {len(rest):,} more", clean(names, 1000))


def _message(check: CheckRow) -> str:
    words = describe_reason(check)
    if check.baseline is not None and check.difference is not None:
        now, was = format_value(check, check.current), format_value(check, check.baseline)
        words += f" (now {now}, baseline {was}, {format_change(check)})"
    return words


def _verdict(document: DecisionDocument) -> str:
    means = ", ".join(map(_mean, document.measures[:_MOST]))
    # A verdict of failure counts the checks itself.
    checks = "" if document.verdict.outcome == "fail" else f"{count(len(document.checks), 'check')} "
    sentences = "; ".join(explain_outcome(document))
    policy = clean(name_policy(document.verdict), 200)
    return f"{checks}by policy {policy}: {sentences}" + (f"; {means}" if means else "")


def _mean(measure: MeasureRow) -> str:
    whole = f", over all questions {format_number(measure.mean)}" if measure.is_partial else ""
    change = "" if measure.comparison is None else f" ({format_difference(measure.comparison.difference)}{whole})"
    return f"{clean(measure.name)} {format_mean(measure)}{change}"
