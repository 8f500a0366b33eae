"""The report as Markdown, for a file, a step summary or a comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from karat.reports._distribution import spread
from karat.reports._failures import limits, moves
from karat.reports._words import check_name, counted, figure, gain, percent, plain, rule_words, signed

COMMENT = 60_000
"""Bytes that a comment on GitHub may take for certain; the limit is 65,536 characters."""
MARK = "karat-report"
_ICONS = {"PASS": "✅", "DEGRADED": "⚠️", "FAIL": "❌", "INCONCLUSIVE": "⚠️", "UNCHECKED": "⬜"}
_SHOWN = 10
_AROUND = 500  # bytes for the headings around the queries
Document = Mapping[str, Any]


def render_markdown(document: Document, *, marker: bool = False, limit: int | None = None) -> str:
    """Give the report as Markdown.

    With ``marker`` it begins with a comment that nobody sees, by which a comment on a pull request is found again, and
    is short enough for one: of the queries it shows those that failed or moved. ``limit`` is the most bytes it may
    take; queries are left out where not all fit, first those of which there is least to say.
    """
    if marker and limit is None:
        limit = COMMENT
    head = [mark(document) + "\n"] if marker else []
    head += [*_head(document), *_summary(document), *_checks(document), *_differences(document), *_segments(document)]
    tail = [*_failures(document), *_recommendations(document)]
    room = None if limit is None else limit - len("\n".join([*head, *tail]).encode()) - _AROUND
    queries = _queries(document, room, few=marker)
    text = "\n".join([*head, *queries, *tail])
    return text if limit is None or len(text.encode()) <= limit else _cut(text, limit)


def mark(document: Document) -> str:
    """Give the hidden line by which the comment of one golden set is found again."""
    name = re.sub(r"[^A-Za-z0-9._]+", "-", str(document["golden"].get("name", ""))).strip("-")
    return f"<!-- {MARK} {name} -->".replace("  ", " ")


def markdown(value: object, width: int | None = None) -> str:
    r"""Give text of unknown origin as one line that Markdown shows as it is: no markup, no HTML, no mention, no link.

    >>> markdown("a|b <script> *c*")
    'a\\|b &lt;script&gt; \\*c\\*'
    """
    text = plain(value, width).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\`*_\[\]|~#$])", r"\\\1", text)
    # GitHub tells people that they are mentioned, and makes links of addresses; a space without width prevents both.
    text = re.sub(r"(?<!\w)@(?=\w)", "@&#8203;", text)
    return re.sub(r"(?i)\b(https?|ftp)://|\bwww\.", lambda found: found[0][:-1] + "&#8203;" + found[0][-1], text)


def _head(document: Document) -> Iterator[str]:
    golden, run, baseline = document["golden"], document["run"], document["baseline"]
    version = f"{golden.get('name', '')} {golden.get('version', '')}".strip()
    yield "# RAG Evaluation Report\n"
    yield f"**Date**: {markdown(document['created'])}  "
    yield f"**Golden set**: {markdown(version)}, {golden['queries']:,} queries, {golden['documents']:,} documents, " + (
        f"{golden['judgments']:,} judgments ({_short(golden.get('fingerprint', ''))})  "
    )
    if baseline is None:
        yield "**Baseline**: none yet  "
    else:
        forced = f", forced: {markdown(baseline['forced'])}" if baseline["forced"] else ""
        yield f"**Baseline**: {markdown(baseline['name'])}, recorded {markdown(baseline['recorded'])}{forced}  "
    asked = counted(run["queries"], "query", "queries")
    yield f"**Run**: {markdown(run['name'])} ({_short(run['fingerprint'])}), {asked}, {run['failed']:,} failed\n"
    changed = {one["key"]: one["was"] for one in baseline["changes"]} if baseline else {}
    yield "<details><summary>Configuration</summary>\n"
    for key, value in _flat({**run["system"], "settings": run["settings"], "versions": run["versions"]}):
        was = "" if key not in changed else " (new)" if changed[key] is None else f" (was {markdown(changed[key], 80)})"
        yield f"- {markdown(key)}: {markdown(value, 200)}{was}"
    yield "\n</details>\n"


def _short(fingerprint: object) -> str:
    return markdown(str(fingerprint).removeprefix("sha256:")[:12])


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value if value not in (None, {}, "") else "none"


def _summary(document: Document) -> Iterator[str]:
    yield "## Metrics Summary\n"
    rows = [
        [
            markdown(one["name"]),
            figure(one["mean"]),
            figure(one["baseline"]),
            "-" if one["floor"] is None else f"{one['floor']:g}",
            _status(one["status"], percent(one["mean"], one["baseline"]), _standing(document, one["name"])),
        ]
        for one in document["measures"]
    ]
    yield _table(["Metric", "Current", "Baseline", "Threshold", "Status"], [*rows, *_latency(document)])
    yield f"**Overall**: {_overall(document)}\n"
    if document["caveats"]:
        yield "".join(f"- {markdown(one)}\n" for one in document["caveats"])


def _latency(document: Document) -> Iterator[list[str]]:
    now, was = (document["latency"][key].get("total", {}) for key in ("stages", "baseline"))
    for key in ("p50", "p95"):
        if key not in now:
            continue
        names = (f"latency.{key}", f"latency.total.{key}")
        checks = [one for one in document["checks"] if one.get("metric") in names]
        ceiling = next((one["limit"] for one in checks if one["kind"] == "max" and one.get("limit") is not None), None)
        outcomes = {one["outcome"].upper() for one in checks} or {"UNCHECKED"}
        status = next(one for one in ("FAIL", "INCONCLUSIVE", "PASS", "UNCHECKED") if one in outcomes)
        yield [
            f"Latency {key}",
            f"{now[key]:.1f} ms",
            f"{was[key]:.1f} ms" if key in was else "-",
            "-" if ceiling is None else f"{ceiling:g} ms",
            _status(status, percent(now[key], was.get(key)), ""),
        ]


def _standing(document: Document, name: str) -> str:
    """Say what the gate makes of a fall: within tolerance, inconclusive, or that no rule looks at it."""
    checks = [
        one
        for one in document["checks"]
        if one.get("metric") == name and one["kind"] not in ("min", "max", "must_pass") and not one.get("where")
    ]
    if any(one["outcome"] == "inconclusive" for one in checks):
        return "inconclusive"
    return "within tolerance" if checks else "no rule on its fall"


def _status(status: str, change: str, standing: str) -> str:
    notes = [change] if change else []
    if status == "DEGRADED":
        notes.append(standing)
    return f"{_ICONS[status]} {status}" + (f" ({', '.join(notes)})" if notes else "")


def _overall(document: Document) -> str:
    """Give the verdict, and in brackets what it rests on."""
    outcome, checks = document["verdict"]["outcome"], document["checks"]
    named = {
        kind: list(dict.fromkeys(markdown(check_name(one), 80) for one in checks if one["outcome"] == kind))
        for kind in ("fail", "inconclusive")
    }
    fell = [markdown(one["name"]) for one in document["measures"] if one["status"] == "DEGRADED"]
    if outcome == "fail":
        count = sum(one["outcome"] == "fail" for one in checks)
        why = f"{count:,} of {counted(len(checks), 'check')} failed: {_some(named['fail'])}"
    elif outcome == "inconclusive":
        why = f"too little is known of {_some(named['inconclusive'])}"
        why += "; the policy lets this pass" if document["verdict"]["exit_code"] == 0 else ""
    else:
        why = f"{counted(len(checks), 'check')}; {_some(fell)} fell within tolerance" if fell else (
            f"{counted(len(checks), 'check')}, none failed"
        )  # fmt: skip
    return f"{_ICONS[outcome.upper()]} {outcome.upper()} by policy {markdown(document['verdict']['policy'])} ({why})"


def _some(names: Sequence[str], most: int = _SHOWN) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def _checks(document: Document) -> Iterator[str]:
    """Give every check that did not pass, with its reason, and count the others."""
    wanting = [one for one in document["checks"] if one["outcome"] != "pass"]
    if not wanting:
        return
    yield "## Checks that did not pass\n"
    rows = [
        [
            markdown(check_name(one), 120),
            markdown(rule_words(one)),
            figure(one.get("current")),
            figure(one.get("baseline")),
            f"{_ICONS[one['outcome'].upper()]} {one['outcome']}",
            markdown(one["reason"], 300)
            + (f"; about {one['needed']:,} queries would tell" if one.get("needed") else ""),
        ]
        for one in wanting[:100]
    ]
    yield _table(["Check", "Rule", "Current", "Baseline", "Outcome", "Reason"], rows)
    if len(wanting) > 100:
        yield f"{len(wanting) - 100:,} more are left out.\n"


def _differences(document: Document) -> Iterator[str]:
    compared = [one for one in document["measures"] if one.get("difference") is not None]
    if compared:
        yield "## Differences from the baseline\n"
        head = ["Metric", "Current", "Baseline", "Change", "95 % interval", "p (Holm)", "Win", "Lose", "Same"]
        yield _table(head, [_difference(one) for one in compared])
    yield "## Distribution\n"
    head = ["Metric", "n", "Mean", "95 % interval", "Std dev", "p50", "p95", "Min", "Max"]
    yield _table(head, [_spread(one) for one in document["measures"]])


def _spread(one: Mapping[str, Any]) -> list[str]:
    interval = "-" if one["interval"] is None else " to ".join(map(figure, one["interval"]))
    return [markdown(one["name"]), f"{one['n']:,}", figure(one["mean"]), interval, *map(figure, spread(one["values"]))]


def _difference(one: Mapping[str, Any]) -> list[str]:
    interval = "-" if one.get("low") is None else f"{signed(one['low'])} to {signed(one['high'])}"
    p = "-" if one.get("p_corrected") is None else f"{one['p_corrected']:.3g}" + (" \\*" if one["significant"] else "")
    counts = [f"{one[key]:,}" for key in ("wins", "losses", "ties")]
    means = [figure(one["mean"]), figure(one["baseline"]), signed(one["difference"])]
    return [markdown(one["name"]), *means, interval, p, *counts]


def _segments(document: Document) -> Iterator[str]:
    if not document["segments"]:
        return
    names = [one["name"] for one in document["measures"]]
    yield "## Segments\n"
    for field in dict.fromkeys(one["field"] for one in document["segments"]):
        rows = []
        for one in document["segments"]:
            if one["field"] == field:
                was = one["baseline"] or {}
                cells = [_segment_cell(one["means"].get(name), was.get(name)) for name in names]
                rows.append([markdown(one["value"], 80), f"{one['queries']:,}", *cells])
        yield _table([markdown(field).capitalize(), "Queries", *map(markdown, names)], rows)


def _segment_cell(now: float | None, was: float | None) -> str:
    return figure(now) if now is None or was is None else f"{figure(now)} ({signed(now - was)})"


def _queries(document: Document, room: int | None, *, few: bool) -> Iterator[str]:
    """Give the queries one by one; where few are wanted, or not all fit, those that failed or lost, as many as fit."""
    every: list[Mapping[str, Any]] = list(document["queries"])
    yield "## Per-Query Analysis\n"
    if not few:
        blocks = [_query(document, one) for one in every]
        if room is None or sum(len(block.encode()) + 1 for block in blocks) <= room:
            yield from blocks
            return
    shown = _fitting((_query(document, one) for one in _telling(document)), room or 0)
    yield f"<details><summary>{len(shown):,} of {counted(len(every), 'query', 'queries')}</summary>\n"
    yield from shown
    yield "</details>\n"


def _telling(document: Document) -> list[Mapping[str, Any]]:
    """Give the queries that failed, then those that moved, the worst first."""
    by = {one["id"]: one for one in document["queries"]}
    worst: dict[str, float] = {}
    for measure in document["measures"]:
        for id_, change in moves(document, measure["name"]).items():
            worst[id_] = min(change, worst.get(id_, change))
    order = dict.fromkeys([one["query"] for one in document["failures"]] + sorted(worst, key=lambda id_: worst[id_]))
    return [by[id_] for id_ in order if id_ in by]


def _fitting(blocks: Iterable[str], room: int) -> list[str]:
    found = []
    for block in blocks:
        room -= len(block.encode()) + 1
        if room < 0:
            break
        found.append(block)
    return found


def _query(document: Document, query: Mapping[str, Any]) -> str:
    relevant = {one["document"] for one in query["expected"]}
    hits = [
        f"**{markdown(hit['document'], 80)}**" if hit["document"] in relevant else markdown(hit["document"], 80)
        for hit in query["hits"][:_SHOWN]
    ]
    expected = [
        markdown(one["document"], 80) + (f" (rank {one['rank']})" if one["rank"] else " (not found)")
        for one in query["expected"]
    ]
    lines = [f"### Query {markdown(query['id'], 80)}: {markdown(query['text'], 200)}\n"]
    if query["error"]:
        lines.append(f"- Failed: {markdown(query['error'], 300)}")
    lines += [f"- Retrieved: {', '.join(hits) or 'nothing'}", f"- Expected: {_some(expected) or 'nothing'}"]
    lines += [f"- {_score(one, query)}" for one in document["measures"] if one["name"] in query["scores"]]
    if query["ms"] is not None:
        lines.append(f"- Latency: {query['ms']:.0f} ms")
    return "\n".join(lines) + "\n"


def _score(measure: Mapping[str, Any], query: Mapping[str, Any]) -> str:
    name, now, was = measure["name"], query["scores"][measure["name"]], query["baseline"].get(measure["name"])
    shown = f"{markdown(name)}: {now:.3f}"
    if was is None or abs(now - was) <= 1e-9:
        return shown
    return f"{shown} (was {was:.3f}, {'better' if gain(measure, now - was) > 0 else 'worse'})"


def _failures(document: Document) -> Iterator[str]:
    failed = document["failures"]
    yield f"## Failures ({len(failed):,})\n"
    below = ", ".join(f"{markdown(name)} below {limit:g}" for name, limit in limits(document).items())
    asked = "an error, nothing relevant found, a must-pass that is missed" + (f", {below}" if below else "")
    if not failed:
        yield f"No query failed ({asked}).\n"
        return
    yield f"A query fails by {asked}.\n"
    texts = {one["id"]: one["text"] for one in document["queries"]}
    rows = [
        [
            markdown(one["query"], 80),
            markdown(texts.get(one["query"], ""), 120),
            "; ".join(markdown(why) for why in one["reasons"]),
        ]
        for one in failed[:100]
    ]
    yield _table(["Query", "Text", "Why"], rows)
    if len(failed) > 100:
        yield f"{len(failed) - 100:,} more are left out.\n"


def _recommendations(document: Document) -> Iterator[str]:
    found = document["recommendations"]
    yield "## Recommendations\n"
    if not found:
        yield "None: no rule found anything in these numbers.\n"
    for number, one in enumerate(found, 1):
        ids = _some([markdown(id_, 60) for id_ in one["queries"]])
        yield f"{number}. {markdown(one['finding'])}.\n   - {markdown(one['advice'])}.\n   - Queries: {ids}\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cut(text: str, limit: int) -> str:
    """Cut at the end of a line; what is left out is said."""
    note = "\n\nThe rest is left out: it does not fit here.\n"
    kept = text.encode()[: limit - len(note.encode())].decode(errors="ignore")
    return kept[: kept.rfind("\n")] + note
