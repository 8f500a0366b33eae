"""What judges say, as a terminal shows it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from karat.cli._table import escaped, number, printable, render

if TYPE_CHECKING:
    from karat.schema import JudgedMeasure, JudgeReport
    from karat.schema.judging import JudgeRequest, JudgeRequests

BLIND = {
    "LexicalSupport": "LexicalSupport compares words: a contradiction in the same words scores high.",
    "AnswerSimilarity": "AnswerSimilarity compares vectors: the opposite in the same words scores high.",
}
"""What a judge without a model cannot see."""


def judge_text(report: JudgeReport) -> str:
    """Return the means with what they are over, why values are missing, what is not seen, and what it took."""
    if report.dry_run:
        return f"would take about {_describe_spending(report)}, if nothing is in the cache"
    rows = [["measure", "mean", "scored", "if the rest were worst", "if best"]]
    rows += [
        [row.measure, number(row.mean), f"{row.scored}/{row.total}", number(row.low), number(row.high)]
        for row in report.measures
    ]
    parts = [render(rows), *filter(None, map(_describe_missing, report.measures))]
    parts += [BLIND[row.measure] for row in report.measures if row.measure in BLIND]
    parts.append(f"{_describe_spending(report)}; {printable(report.opinions or '', 200)} has every verdict")
    return "\n".join(parts)


def _describe_missing(row: JudgedMeasure) -> str:
    reasons = "; ".join(f"{count} {escaped(reason)}" for reason, count in row.reasons.items())
    return f"{row.measure} is missing: {reasons}" if reasons else ""


def _describe_spending(report: JudgeReport) -> str:
    spending = report.spending
    tokens = f"{spending.input_tokens:,} + {spending.output_tokens:,} tokens"
    money = f", {spending.money:.4f} in money" if spending.money else ""
    cached = f", {spending.cached:,} replies from the cache" if spending.cached else ""
    return f"{spending.calls:,} calls, {tokens}{money}{cached}"


def requests_text(shown: JudgeRequests) -> str:
    """Return every message of every request as it is sent, each under a heading, with the schema of the reply."""
    if not shown.requests:
        return f"{shown.judge} asks no model: {shown.describes}"
    total = len(shown.requests)
    return "\n\n".join(_show_request(request, i, total) for i, request in enumerate(shown.requests, 1))


def _show_request(request: JudgeRequest, place: int, total: int) -> str:
    known = "; the reply is known" if request.known else ""
    parts = [f"# request {place} of {total}: {request.prompt}, version {request.version}, {request.digest}{known}"]
    for message in request.body["messages"]:
        parts += [f"## {message['role']}", message["content"]]
    settings = {key: value for key, value in request.body.items() if key not in ("messages", "response_format")}
    parts += ["## parameters", json.dumps(settings)]
    return "\n\n".join([*parts, "## schema of the reply", json.dumps(request.reply_schema)])
