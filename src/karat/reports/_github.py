"""The report for GitHub Actions: annotations on the run, and a summary of the step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from karat.reports._markdown import render_markdown
from karat.reports._words import check_name, counted, figure, plain, reason, signed

SUMMARY = 1_000_000
"""Bytes that the summary of a step may take for certain; the limit is 1 MiB, and what is larger is not shown at all."""
_MOST = 10  # annotations of a kind that GitHub shows for a step
_TITLE, _MESSAGE = 250, 4000  # characters; GitHub takes 255 of a title, and its runner cuts a message at 4096
Document = Mapping[str, Any]


def render_github(document: Document) -> str:
    """Give the annotations: an error for each check that failed, a warning for each that is inconclusive, a notice.

    GitHub shows ten of a kind; where there are more, the last one says how many. What is inconclusive is an error where
    the policy does not let it pass.
    """
    kinds: dict[str, list[tuple[str, str]]] = {"error": [], "warning": [], "notice": []}
    strict = document["verdict"]["on_inconclusive"] != "pass"
    for check in document["checks"]:
        if check["outcome"] != "pass":
            kind = "error" if check["outcome"] == "fail" or strict else "warning"
            kinds[kind].append((f"karat {check['outcome']}: {check_name(check)}", _message(check)))
    kinds["notice"].append((f"karat {document['verdict']['outcome']}", _verdict(document)))
    return "".join(f"{line}\n" for kind, ones in kinds.items() for line in _lines(kind, ones))


def render_summary(document: Document) -> str:
    """Give the summary of the step: the report as Markdown, as much as GitHub takes."""
    return render_markdown(document, limit=SUMMARY)


def annotation(kind: str, title: str, message: str) -> str:
    r"""Give a workflow command; nothing in title or message can end it or begin another.

    >>> annotation("error", "a: b", "50 %\n::warning::x")
    '::error title=a%3A b::50 %25%0A::warning::x'
    """
    name = _escaped(_cut(title, _TITLE)).replace(":", "%3A").replace(",", "%2C")
    return f"::{kind} title={name}::{_escaped(_cut(message, _MESSAGE))}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _lines(kind: str, ones: list[tuple[str, str]]) -> Iterator[str]:
    shown = ones if len(ones) <= _MOST else ones[: _MOST - 1]
    for title, message in shown:
        yield annotation(kind, title, message)
    if left := ones[len(shown) :]:
        names = ", ".join(title.partition(": ")[2] for title, _ in left)
        yield annotation(kind, f"karat: {len(left):,} more", plain(names, 1000))


def _message(check: Mapping[str, Any]) -> str:
    words = reason(check)
    if check.get("baseline") is not None and check.get("difference") is not None:
        now, was = figure(check.get("current")), figure(check["baseline"])
        words += f" (now {now}, baseline {was}, {signed(check['difference'])})"
    return words


def _verdict(document: Document) -> str:
    means = ", ".join(
        f"{plain(one['name'])} {figure(one['mean'])}"
        + ("" if one.get("difference") is None else f" ({signed(one['difference'])})")
        for one in document["measures"][:_MOST]
    )
    count = counted(len(document["checks"]), "check")
    return f"{count} by policy {plain(document['verdict']['policy'], 60)}" + (f"; {means}" if means else "")
