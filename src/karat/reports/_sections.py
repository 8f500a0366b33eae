"""The parts of a report as Markdown, without their headings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from karat.core import format_ms
from karat.reports._bounds import BOUNDS, NOTE_BOUNDS, list_bounds
from karat.reports._distribution import spread
from karat.reports._failures import gains_by_query
from karat.reports._floor import FLOOR, list_floor, note_floor
from karat.reports._verdict import (
    describe_operations,
    explain_outcome,
    find_observed_drops,
    name_outcome,
    name_policy,
)
from karat.reports._warnings import list_other_caveats
from karat.reports._words import (
    clean,
    count,
    describe_limits,
    describe_reason,
    describe_rule,
    format_difference,
    format_mean,
    format_number,
    format_part,
    format_percent,
    format_value,
    name_check,
)
from karat.schema import DecisionDocument, MeasureComparison, MeasureRow, QueryRow, SegmentRow

_ICONS = {"PASS": "✅", "DEGRADED": "⚠️", "FAIL": "❌", "INCONCLUSIVE": "⚠️", "ERROR": "❌", "UNCHECKED": "⬜"}
_MARKUP = re.compile(r"([\\`*_\[\]|~#$])")
_MENTION = re.compile(r"(?<!\w)@(?=\w)|@(?=[\w-]+\.\w)|\\#(?=\d)|\b[Gg][Hh]-(?=\d)|:(?=[\w+-]+:)")
_ADDRESS = re.compile(r"(?i)\b(https?|ftp)://|\bwww\.")
_SPECIAL = re.compile(r"[&<>\\`*_\[\]|~#$@:.-]")
"""A character without which none of these finds anything: a text without them is as it should be."""
_KEPT = 4096  # texts: a report names the same measures and documents again and again
_SHOWN = 10
MOST = 100
"""Rows of a table."""
_LEAST_MS = 1  # a percentage of less would be one of rounding errors
_PARTIAL = (
    "Current and Baseline are means over the questions that both were asked; thresholds apply to the mean over "
    "all questions."
)


def fold(title: str, text: str) -> str:
    """Return text behind its title; GitHub and GitLab show it when the title is clicked."""
    return f"<details><summary>{title}</summary>\n\n{text}\n</details>\n"


def markdown(value: object, width: int | None = None) -> str:
    r"""Return text of unknown origin as one line that Markdown shows as it is: no markup, no HTML, no mention, no link.

    >>> markdown("a|b <script> *c*")
    'a\\|b &lt;script&gt; \\*c\\*'
    """
    text = clean(value, width)
    return _escape(text) if _SPECIAL.search(text) else text


@lru_cache(maxsize=_KEPT)
def _escape(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = _MARKUP.sub(r"\\\1", text)
    # GitHub notifies people who are mentioned, and turns addresses, numbers and names between colons into links and
    # pictures; a space without width prevents it.
    text = _MENTION.sub(r"\g<0>&#8203;", text)
    return _ADDRESS.sub(lambda match: match[0][:-1] + "&#8203;" + match[0][-1], text)


def name_golden(document: DecisionDocument) -> str:
    """Return name and version of the golden set."""
    return markdown(document.golden.full_name)


def name_run(document: DecisionDocument) -> str:
    """Return the name of the run, with the number of its queries."""
    run = document.run
    queries = count(run.queries, "query", "queries")
    return f"{markdown(run.shown)}, {queries}, {run.failed:,} failed"


def format_configuration(document: DecisionDocument) -> str:
    """Return what the system is made of, with the baseline's value where that differs."""
    run, baseline = document.run, document.baseline
    changed = {change.key: change.was for change in baseline.changes} if baseline else {}
    lines = []
    for key, value in _flatten({**run.system, "settings": run.settings, "versions": run.versions}):
        was = ""
        if key in changed:
            before = changed[key]
            was = " (new)" if before is None else f" (was {markdown(format_part(before), 80)})"
        lines.append(f"- {markdown(key)}: {markdown(format_part(value), 200)}{was}\n")
    return "".join(lines)


def shorten_fingerprint(fingerprint: str) -> str:
    """Return the beginning of a fingerprint."""
    return markdown(fingerprint.removeprefix("sha256:")[:12])


def _flatten(values: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value if value not in (None, {}, "") else "none"


def format_summary(document: DecisionDocument) -> str:
    """Return the table of the measures, the verdict, and the caveats."""
    caveats = "".join(f"- {markdown(caveat)}\n" for caveat in list_other_caveats(document))
    operations = markdown(describe_operations(document))
    before = f"**Operations**: {operations}\n\n" if operations else ""
    overall = f"{format_measures(document)}\n**Overall**: {_overall(document)}\n"
    return before + overall + (f"\n{caveats}" if caveats else "")


def format_measures(document: DecisionDocument) -> str:
    """Return the table of the measures and the latency.

    Where the baseline lacks some questions, the means over all of them, which thresholds look at, are a column too.
    """
    partial = any(measure.is_partial for measure in document.measures)
    rows = [
        [
            markdown(measure.name),
            format_mean(measure),
            format_number(measure.baseline),
            *([format_number(measure.mean)] if partial else []),
            describe_limits(document.checks, measure),
            _status(
                measure.status, format_percent(measure.current, measure.baseline), _standing(document, measure.name)
            ),
        ]
        for measure in document.measures
    ]
    rows += [[*row[:3], *(["-"] if partial else []), *row[3:]] for row in _latency(document)]
    head = ["Metric", "Current", "Baseline", *(["All questions"] if partial else []), "Threshold", "Status"]
    return format_table(head, rows) + (f"\n{_PARTIAL}\n" if partial else "")


def _latency(document: DecisionDocument) -> Iterator[list[str]]:
    times, baseline = document.latency.stages.get("total"), document.latency.baseline.get("total")
    if times is None:
        return
    for key in ("p50", "p95"):
        now, was = getattr(times, key), getattr(baseline, key, None)
        names = (f"latency.{key}", f"latency.total.{key}")
        checks = [check for check in document.checks if check.metric in names]
        ceiling = next((check.limit for check in checks if check.kind == "max" and check.limit is not None), None)
        outcomes = {check.outcome.upper() for check in checks} or {"UNCHECKED"}
        status = next(status for status in ("ERROR", "FAIL", "INCONCLUSIVE", "PASS", "UNCHECKED") if status in outcomes)
        yield [
            f"Latency {key}",
            format_ms(now),
            "-" if was is None else format_ms(was),
            "-" if ceiling is None else f"{ceiling:g} ms",
            _status(status, "" if was is None or was < _LEAST_MS else format_percent(now, was), ""),
        ]


def _standing(document: DecisionDocument, name: str) -> str:
    """Return what the gate makes of a fall: within tolerance, inconclusive, or that no rule looks at it."""
    checks = [
        check
        for check in document.checks
        if check.metric == name and check.kind not in ("min", "max", "must_pass") and not check.where
    ]
    if any(check.outcome == "inconclusive" for check in checks):
        return "inconclusive"
    if any(check in checks for check in find_observed_drops(document)):
        return "more than tolerated, but not significant"
    return "within tolerance" if checks else "no rule on its fall"


def _status(status: str, change: str, standing: str) -> str:
    notes = [change] if change else []
    if status == "DEGRADED":
        notes.append(standing)
    return f"{_ICONS[status]} {status}" + (f" ({', '.join(notes)})" if notes else "")


def _overall(document: DecisionDocument) -> str:
    policy = markdown(name_policy(document.verdict))
    by = ", by policy" if document.verdict.outcome == "inconclusive" else " by policy"
    return f"{format_verdict(document)}{by} {policy} ({explain_verdict(document)})"


def format_verdict(document: DecisionDocument) -> str:
    """Return the outcome with its icon, which is no green tick if a drop beyond the tolerance was observed."""
    outcome = document.verdict.outcome.upper()
    icon = _ICONS["DEGRADED"] if outcome == "PASS" and find_observed_drops(document) else _ICONS[outcome]
    return f"{icon} {markdown(name_outcome(document))}"


def explain_verdict(document: DecisionDocument) -> str:
    """Return what the verdict rests on, and for an inconclusive one what is not known and what would decide."""
    outcome, checks = document.verdict.outcome, document.checks
    names = dict.fromkeys(name_check(check) for check in checks if check.outcome == "fail")
    sentences = [markdown(sentence) for sentence in explain_outcome(document, _first(names))]
    if outcome == "pass":
        sentences.insert(1, f"{count(len(checks), 'check')}, none failed")
        fallen = [measure.name for measure in document.measures if measure.status == "DEGRADED"]
        observed = {check.metric for check in find_observed_drops(document)}
        if within := [markdown(name) for name in fallen if name not in observed]:
            sentences.append(f"{_first(within)} fell within tolerance")
    return "; ".join(sentences)


def _first(names: Iterable[str], most: int = _SHOWN) -> str:
    every = list(names)
    return ", ".join(every[:most]) + (f" and {len(every) - most:,} more" if len(every) > most else "")


def format_checks(document: DecisionDocument) -> str:
    """Return the checks that did not pass, with their reasons; nothing if all passed."""
    checks = [check for check in document.checks if check.outcome != "pass"]
    if not checks:
        return ""
    rows = [
        [
            markdown(name_check(check), 120),
            markdown(describe_rule(check)),
            format_value(check, check.current),
            format_value(check, check.baseline),
            f"{_ICONS[check.outcome.upper()]} {check.outcome}",
            markdown(describe_reason(check), 400),
        ]
        for check in checks[:MOST]
    ]
    return format_table(["Check", "Rule", "Current", "Baseline", "Outcome", "Reason"], rows) + count_left_out(
        len(checks)
    )


def format_differences(document: DecisionDocument) -> str:
    """Return how each measure differs from the baseline; nothing without one."""
    head = [
        "Metric",
        "Current",
        "Baseline",
        "Change",
        "95 % interval",
        "p (two-sided, W-Y)",
        "Win",
        "Lose",
        "Same",
    ]
    rows = [_difference(measure, comparison) for measure in document.measures if (comparison := measure.comparison)]
    return format_table(head, rows) if rows else ""


def _difference(measure: MeasureRow, comparison: MeasureComparison) -> list[str]:
    low, high, p = comparison.low, comparison.high, comparison.p_corrected
    return [
        markdown(measure.name),
        format_number(measure.current),
        format_number(measure.baseline),
        format_difference(comparison.difference),
        "-" if low is None else f"{format_difference(low)} to {format_difference(high)}",
        "-" if p is None else f"{p:.3g}" + (" \\*" if comparison.significant else ""),
        *(f"{number:,}" for number in (comparison.wins, comparison.losses, comparison.ties)),
    ]


def format_bounds(document: DecisionDocument) -> str:
    """Return how far unjudged documents could move the means that rules look at; nothing if all are judged."""
    return _noted(BOUNDS, list_bounds(document), NOTE_BOUNDS)


def format_floor(document: DecisionDocument) -> str:
    """Return what words alone reach, or why that is not known; nothing for a document that does not tell."""
    note = note_floor(document)
    return _noted(FLOOR, list_floor(document), note) or (f"{markdown(note)}\n" if note else "")


def _noted(head: Sequence[str], rows: Iterable[Sequence[str]], note: str) -> str:
    """Return a table with a note below it; nothing without rows."""
    cells = [[markdown(cell) for cell in row] for row in rows]
    return f"{format_table(head, cells)}\n{markdown(note)}\n" if cells else ""


def format_distribution(document: DecisionDocument) -> str:
    """Return how the scores of the queries spread."""
    head = ["Metric", "n", "Mean", "95 % interval", "Std dev", "p50", "p95", "Min", "Max"]
    return format_table(head, [_spread(measure) for measure in document.measures])


def _spread(measure: MeasureRow) -> list[str]:
    interval = "-" if measure.interval is None else " to ".join(map(format_number, measure.interval))
    numbers = map(format_number, spread(measure.values))
    return [markdown(measure.name), f"{measure.n:,}", format_number(measure.mean), interval, *numbers]


def format_segments(document: DecisionDocument) -> str:
    """Return the means of the segments, a table for each field."""
    names, tables = [measure.name for measure in document.measures], []
    for field in dict.fromkeys(segment.field for segment in document.segments):
        segments = [segment for segment in document.segments if segment.field == field]
        rows = []
        for segment in segments:
            cells = [_segment_cell(segment, name) for name in names]
            rows.append([markdown(segment.value, 80), f"{segment.queries:,}", *cells])
        table = format_table([markdown(field).capitalize(), "Queries", *map(markdown, names)], rows)
        overlap = sum(segment.queries for segment in segments) > document.run.queries
        tables.append(table + (f"\nA query may have several of {markdown(field)}.\n" if overlap else ""))
    return "\n".join(tables)


def _segment_cell(segment: SegmentRow, name: str) -> str:
    """Return a mean and its change, over the questions of both runs, and the mean over all where that is another."""
    now, was, every = segment.current(name), (segment.baseline or {}).get(name), segment.means.get(name)
    if now is None or was is None:
        return format_number(now)
    whole = "" if every == now else f", all {format_number(every)}"
    return f"{format_number(now)} ({format_difference(now - was)}){whole}"


def find_changed(document: DecisionDocument) -> list[str]:
    """Return the queries that changed on any measure, the worst first."""
    worst: dict[str, float] = {}
    for measure in document.measures:
        for id_, gain in gains_by_query(document, measure.name).items():
            worst[id_] = min(gain, worst.get(id_, gain))
    return sorted(worst, key=lambda id_: worst[id_])


def format_query(document: DecisionDocument, query: QueryRow) -> str:
    """Return a query: what was found, what was expected, and its scores."""
    relevant = {row.document for row in query.expected}
    hits = [
        f"**{markdown(hit.document, 80)}**" if hit.document in relevant else markdown(hit.document, 80)
        for hit in query.hits[:_SHOWN]
    ]
    expected = [
        markdown(row.document, 80) + (f" (rank {row.rank})" if row.rank else " (not found)") for row in query.expected
    ]
    lines = [f"### Query {markdown(query.id, 80)}: {markdown(query.text, 200)}\n"]
    if query.error:
        lines.append(f"- Failed: {markdown(query.error, 300)}")
    lines += [f"- Retrieved: {', '.join(hits) or 'nothing'}", f"- Expected: {_first(expected) or _nothing(query)}"]
    lines += [f"- {_score(measure, query)}" for measure in document.measures if measure.name in query.scores]
    if query.ms is not None:
        lines.append(f"- Latency: {query.ms:,.1f} ms")
    return "\n".join(lines) + "\n"


def _nothing(query: QueryRow) -> str:
    return "nothing, since the query has no answer" if query.unanswerable else "nothing"


def _score(measure: MeasureRow, query: QueryRow) -> str:
    now, was = query.scores[measure.name], query.baseline.get(measure.name)
    text = f"{markdown(measure.name)}: {now:.3f}"
    if was is None or abs(now - was) <= 1e-9:
        return text
    return f"{text} (was {was:.3f}, {'better' if measure.gain(now - was) > 0 else 'worse'})"


def format_recommendations(document: DecisionDocument) -> str:
    """Return what to look at next, each with the queries that it rests on."""
    blocks = []
    for number, advice in enumerate(document.recommendations, 1):
        ids = _first(markdown(id_, 60) for id_ in advice.queries)
        finding, todo = markdown(advice.finding), markdown(advice.advice)
        blocks.append(f"{number}. {finding}.\n   - {todo}.\n   - Queries: {ids}\n")
    return "\n".join(blocks) or "None: no rule found anything in these numbers.\n"


def count_left_out(rows: int) -> str:
    """Return how many rows a table does not show; nothing if it shows all."""
    return f"\n{rows - MOST:,} more are left out.\n" if rows > MOST else ""


def format_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; its cells are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def cut(text: str, limit: int) -> str:
    """Return text of at most ``limit`` bytes, cut at the end of a line, with a note and with no fold left open."""
    if len(text.encode()) <= limit:
        return text
    note, close = "\n\nThe rest is left out: it does not fit here.\n", "\n</details>\n"
    head = text.encode()[: limit - len((note + close).encode())].decode(errors="ignore")
    head = head[: head.rfind("\n")]
    return head + (close if head.count("<details>") > head.count("</details>") else "") + note
