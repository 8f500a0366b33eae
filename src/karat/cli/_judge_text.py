"""What judges say, as a terminal shows it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from karat.cli._table import escaped, number, printable, render
from karat.core import count_things
from karat.measures import BLIND

if TYPE_CHECKING:
    from karat.schema import JudgedMeasure, JudgeReport, JudgeSpending
    from karat.schema.judging import JudgeRequest, JudgeRequests, PoolJudging, PreferenceReport


def judge_text(report: JudgeReport) -> str:
    """Return the means with what they are over, why values are missing, what is not seen, and what it took."""
    if report.dry_run:
        would = "would ask no model"
        if report.spending.calls:
            would = f"would take about {describe_spending(report.spending)}, if nothing is in the cache"
        return "\n".join([would, *_list_spared(report)])
    rows = [["measure", "mean", "scored", "if the rest were worst", "if best"]]
    rows += [
        [row.measure, number(row.mean), f"{row.scored}/{row.total}", number(row.low), number(row.high)]
        for row in report.measures
    ]
    parts = [render(rows), *filter(None, map(_describe_missing, report.measures))]
    parts += [
        f"{row.measure}: votes differ on {row.disputed} of {row.voted} answers, with a standard deviation of "
        f"{number(row.spread)}"
        for row in report.measures
        if row.voted
    ]
    parts += [f"{BLIND[row.measure]}." for row in report.measures if row.measure in BLIND]
    parts += [
        f"{row.measure}: {count_things(row.misquoted, 'verdict')} did not count: the quoted words are not in the text"
        for row in report.measures
        if row.misquoted
    ]
    parts += _list_spared(report)
    parts += [f"caveat: {escaped(caveat)}" for caveat in report.caveats]
    holds = "has every verdict" if any(row.scored for row in report.measures) else "says why, for each answer"
    parts.append(f"{describe_spending(report.spending)}; {printable(report.opinions or '', 200)} {holds}")
    if report.kept:
        parts.append(f"kept what {', '.join(map(printable, report.kept))} said of this run before")
    now = {row.judge: row.fingerprint for row in report.measures}
    parts += [
        f"replaced what {escaped(before)} said: it is {escaped(now[judge])} now"
        for judge, before in report.changed.items()
    ]
    if report.replaced:
        parts.append(f"nothing was kept: {escaped(report.replaced)}")
    return "\n".join(parts)


def _list_spared(report: JudgeReport) -> list[str]:
    """Return lines on answers that no judge was asked about, because a verdict on them does not count."""
    return [
        f"{row.measure}: {count_things(row.spared, 'answer')} to questions that have none "
        f"{'is' if row.spared == 1 else 'are'} not judged: it leaves them out, and RightRefusal counts them"
        for row in report.measures
        if row.spared
    ]


def _describe_missing(row: JudgedMeasure) -> str:
    reasons = _describe_reasons(row.reasons)
    return f"{row.measure} is missing: {reasons}" if reasons else ""


def _describe_reasons(reasons: Mapping[str, int]) -> str:
    return "; ".join(f"{count} {escaped(reason)}" for reason, count in reasons.items())


def describe_spending(spending: JudgeSpending) -> str:
    """Return what judging took, in words."""
    if not spending.calls and not spending.cached:
        return "no model was asked"
    tokens = f"{spending.input_tokens:,} + {count_things(spending.output_tokens, 'token')}"
    money = f", {spending.money:.4f} in money" if spending.money else ""
    cached = f", {count_things(spending.cached, 'reply', 'replies')} from the cache" if spending.cached else ""
    unknown = (
        f"; {count_things(spending.unmetered, 'call')} did not say their tokens, and count as the most"
        if spending.unmetered
        else ""
    )
    return f"{count_things(spending.calls, 'call')}, {tokens}{money}{cached}{unknown}"


def requests_text(shown: JudgeRequests) -> str:
    """Return every message of every request as it is sent, each under a heading, with the schema of the reply."""
    if not shown.requests:
        if shown.reason:
            return f"{shown.judge} asks nothing about this answer: {shown.reason}"
        return f"{shown.judge} asks no model: {shown.describes}"
    total = len(shown.requests)
    parts = [_show_request(request, i, total) for i, request in enumerate(shown.requests, 1)]
    return "\n\n".join([*parts, *_show_probes(shown)])


def _show_probes(shown: JudgeRequests) -> list[str]:
    """Return what is sent before the first request, and when."""
    titles = ("# once before the first request to a server, to find out how it gives JSON", "# if it refuses that")
    return [part for title, body in zip(titles, shown.probes, strict=False) for part in (title, json.dumps(body))]


def _show_request(request: JudgeRequest, place: int, total: int) -> str:
    known = "; the reply is known" if request.known else ""
    parts = [f"# request {place} of {total}: {request.prompt}, version {request.version}, {request.digest}{known}"]
    for message in request.body["messages"]:
        parts += [f"## {message['role']}", message["content"]]
    settings = {key: value for key, value in request.body.items() if key not in ("messages", "response_format")}
    parts += ["## parameters", json.dumps(settings)]
    return "\n\n".join([*parts, "## schema of the reply", json.dumps(request.reply_schema)])


def preference_text(report: PreferenceReport) -> str:
    """Return which run answers better, how sure that is, and how far the judge contradicts itself."""
    names = [printable(run, 200) for run in report.runs]
    lines = [
        f"1: {names[0]}",
        f"2: {names[1]}",
        f"better in 1: {report.first}, in 2: {report.second}, in neither: {report.even}, "
        f"of {report.scored}/{report.total} queries",
    ]
    if report.difference is not None:
        interval = f" [{number(report.low)}, {number(report.high)}]" if report.low is not None else ""
        lines.append(f"difference {number(report.difference)}{interval}, from -1 to 1; p {number(report.p)}")
    lines.append(
        f"the judge contradicts itself on {report.unsteady} when answers change places; it preferred the first place "
        f"{report.first_place} times, the second {report.second_place} times"
    )
    if report.reasons:
        lines.append(f"missing: {_describe_reasons(report.reasons)}")
    return "\n".join([*lines, describe_spending(report.spending)])


def pool_judging_text(report: PoolJudging) -> str:
    """Return how many pairs a machine graded, and how."""
    grades = ", ".join(f"{count} x {grade}" for grade, count in report.grades.items()) or "none"
    lines = [
        f"{printable(report.output, 200)}: {report.judged} of {report.pairs} pairs graded by "
        f"{escaped(report.annotator)}, {report.kept} had a grade",
        f"grades: {grades}; their source is bootstrapped, and a person's grade of the same pair counts for more",
    ]
    if report.annotator == "overlap_grade":
        lines.append(f"{BLIND['OverlapGrade']}: a first look, and no gold.")
    if report.reasons:
        lines.append(f"without a grade: {_describe_reasons(report.reasons)}")
    return "\n".join([*lines, describe_spending(report.spending)])
