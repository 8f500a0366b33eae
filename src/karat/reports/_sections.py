"""The parts of a report as Markdown, without their headings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from karat.reports._distribution import spread
from karat.reports._failures import limits, moves
from karat.reports._words import check_name, counted, figure, gain, percent, plain, reason, rule_words, signed

_ICONS = {"PASS": "✅", "DEGRADED": "⚠️", "FAIL": "❌", "INCONCLUSIVE": "⚠️", "UNCHECKED": "⬜"}
_SHOWN = 10
_MOST = 100  # rows of a table
Document = Mapping[str, Any]


def folded(title: str, text: str) -> str:
    """Give text behind its title, which GitHub and GitLab show when the title is clicked."""
    return f"<details><summary>{title}</summary>\n\n{text}\n</details>\n"


def markdown(value: object, width: int | None = None) -> str:
    r"""Give text of unknown origin as one line that Markdown shows as it is: no markup, no HTML, no mention, no link.

    >>> markdown("a|b <script> *c*")
    'a\\|b &lt;script&gt; \\*c\\*'
    """
    text = plain(value, width).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\`*_\[\]|~#$])", r"\\\1", text)
    # GitHub tells people that they are mentioned, and makes links and pictures of addresses, numbers and names between
    # colons; a space without width prevents it.
    text = re.sub(r"(?<!\w)@(?=\w)|@(?=[\w-]+\.\w)|\\#(?=\d)|\b[Gg][Hh]-(?=\d)|:(?=[\w+-]+:)", r"\g<0>&#8203;", text)
    return re.sub(r"(?i)\b(https?|ftp)://|\bwww\.", lambda found: found[0][:-1] + "&#8203;" + found[0][-1], text)


def version(document: Document) -> str:
    """Name the golden set."""
    golden = document["golden"]
    return markdown(f"{golden['name']} {golden.get('version', '')}".strip())


def run_words(document: Document) -> str:
    """Name the run, with the number of its queries."""
    run = document["run"]
    asked = counted(run["queries"], "query", "queries")
    return f"{markdown(run['name'])} ({short(run['fingerprint'])}), {asked}, {run['failed']:,} failed"


def configuration(document: Document) -> str:
    """Give what the system is made of, with what it was in the baseline where that differs."""
    run, baseline = document["run"], document["baseline"]
    changed = {one["key"]: one["was"] for one in baseline["changes"]} if baseline else {}
    lines = []
    for key, value in _flat({**run["system"], "settings": run["settings"], "versions": run["versions"]}):
        was = "" if key not in changed else " (new)" if changed[key] is None else f" (was {markdown(changed[key], 80)})"
        lines.append(f"- {markdown(key)}: {markdown(value, 200)}{was}\n")
    return "".join(lines)


def short(fingerprint: object) -> str:
    """Give the beginning of a fingerprint."""
    return markdown(str(fingerprint).removeprefix("sha256:")[:12])


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value if value not in (None, {}, "") else "none"


def summary(document: Document) -> str:
    """Give the table of the measures, the verdict, and what has to be known of it."""
    noted = "".join(f"- {markdown(one)}\n" for one in document["caveats"])
    return f"{measures(document)}\n**Overall**: {overall(document)}\n" + (f"\n{noted}" if noted else "")


def measures(document: Document) -> str:
    """Give the table of the measures and of the latency."""
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
    return _table(["Metric", "Current", "Baseline", "Threshold", "Status"], [*rows, *_latency(document)])


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
            f"{figure(now[key])} ms",
            f"{figure(was[key])} ms" if key in was else "-",
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


def overall(document: Document) -> str:
    """Give the verdict, and in brackets what it rests on."""
    return f"{verdict(document)} by policy {markdown(document['verdict']['policy'])} ({why(document)})"


def verdict(document: Document) -> str:
    """Give the verdict in one word."""
    outcome = document["verdict"]["outcome"].upper()
    return f"{_ICONS[outcome]} {outcome}"


def why(document: Document) -> str:
    """Give what the verdict rests on."""
    outcome, checks = document["verdict"]["outcome"], document["checks"]
    named = {
        kind: list(dict.fromkeys(markdown(check_name(one), 80) for one in checks if one["outcome"] == kind))
        for kind in ("fail", "inconclusive")
    }
    fell = [markdown(one["name"]) for one in document["measures"] if one["status"] == "DEGRADED"]
    if outcome == "fail":
        count = sum(one["outcome"] == "fail" for one in checks)
        return f"{count:,} of {counted(len(checks), 'check')} failed: {_some(named['fail'])}"
    if outcome == "inconclusive" and document["baseline"] is None:
        passes = "; the policy lets this pass" if document["verdict"]["passed"] else ""
        return f"there is no baseline to compare {_some(named['inconclusive'])} with{passes}"
    if outcome == "inconclusive":
        passes = "; the policy lets this pass" if document["verdict"]["passed"] else ""
        return f"too little is known of {_some(named['inconclusive'])}{passes}"
    if fell:
        return f"{counted(len(checks), 'check')}; {_some(fell)} fell within tolerance"
    return f"{counted(len(checks), 'check')}, none failed"


def _some(names: Sequence[str], most: int = _SHOWN) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def checks(document: Document) -> str:
    """Give the checks that did not pass, with their reasons; nothing if all did."""
    wanting = [one for one in document["checks"] if one["outcome"] != "pass"]
    if not wanting:
        return ""
    rows = [
        [
            markdown(check_name(one), 120),
            markdown(rule_words(one)),
            figure(one.get("current")),
            figure(one.get("baseline")),
            f"{_ICONS[one['outcome'].upper()]} {one['outcome']}",
            markdown(reason(one), 400),
        ]
        for one in wanting[:_MOST]
    ]
    return _table(["Check", "Rule", "Current", "Baseline", "Outcome", "Reason"], rows) + _left_out(len(wanting))


def differences(document: Document) -> str:
    """Give how each measure differs from the baseline; nothing without one."""
    compared = [one for one in document["measures"] if one.get("difference") is not None]
    head = ["Metric", "Current", "Baseline", "Change", "95 % interval", "p (two-sided, Holm)", "Win", "Lose", "Same"]
    return _table(head, [_difference(one) for one in compared]) if compared else ""


def distribution(document: Document) -> str:
    """Give how the scores of the queries spread."""
    head = ["Metric", "n", "Mean", "95 % interval", "Std dev", "p50", "p95", "Min", "Max"]
    return _table(head, [_spread(one) for one in document["measures"]])


def _spread(one: Mapping[str, Any]) -> list[str]:
    interval = "-" if one["interval"] is None else " to ".join(map(figure, one["interval"]))
    return [markdown(one["name"]), f"{one['n']:,}", figure(one["mean"]), interval, *map(figure, spread(one["values"]))]


def _difference(one: Mapping[str, Any]) -> list[str]:
    interval = "-" if one.get("low") is None else f"{signed(one['low'])} to {signed(one['high'])}"
    p = "-" if one.get("p_corrected") is None else f"{one['p_corrected']:.3g}" + (" \\*" if one["significant"] else "")
    counts = [f"{one[key]:,}" for key in ("wins", "losses", "ties")]
    means = [figure(one["mean"]), figure(one["baseline"]), signed(one["difference"])]
    return [markdown(one["name"]), *means, interval, p, *counts]


def segments(document: Document) -> str:
    """Give the means of the parts of the queries, a table for each field."""
    names, tables = [one["name"] for one in document["measures"]], []
    for field in dict.fromkeys(one["field"] for one in document["segments"]):
        rows = []
        for one in document["segments"]:
            if one["field"] == field:
                was = one["baseline"] or {}
                cells = [_segment_cell(one["means"].get(name), was.get(name)) for name in names]
                rows.append([markdown(one["value"], 80), f"{one['queries']:,}", *cells])
        table = _table([markdown(field).capitalize(), "Queries", *map(markdown, names)], rows)
        within = sum(one["queries"] for one in document["segments"] if one["field"] == field)
        several = f"\nA query may have several of {markdown(field)}.\n" if within > document["run"]["queries"] else ""
        tables.append(table + several)
    return "\n".join(tables)


def _segment_cell(now: float | None, was: float | None) -> str:
    return figure(now) if now is None or was is None else f"{figure(now)} ({signed(now - was)})"


def moved(document: Document) -> list[str]:
    """Give the queries that moved, the worst first."""
    worst: dict[str, float] = {}
    for measure in document["measures"]:
        for id_, change in moves(document, measure["name"]).items():
            worst[id_] = min(change, worst.get(id_, change))
    return sorted(worst, key=lambda id_: worst[id_])


def one_query(document: Document, query: Mapping[str, Any]) -> str:
    """Give a query: what came, what was expected, and its scores."""
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
        lines.append(f"- Latency: {query['ms']:,.1f} ms")
    return "\n".join(lines) + "\n"


def _score(measure: Mapping[str, Any], query: Mapping[str, Any]) -> str:
    name, now, was = measure["name"], query["scores"][measure["name"]], query["baseline"].get(measure["name"])
    shown = f"{markdown(name)}: {now:.3f}"
    if was is None or abs(now - was) <= 1e-9:
        return shown
    return f"{shown} (was {was:.3f}, {'better' if gain(measure, now - was) > 0 else 'worse'})"


def failures(document: Document) -> str:
    """Give the queries that failed, and say by what a query fails."""
    failed = document["failures"]
    below = ", ".join(f"{markdown(name)} below {limit:g}" for name, limit in limits(document).items())
    asked = "an error, nothing relevant found, a must-pass that is missed" + (f", {below}" if below else "")
    if not failed:
        return f"No query failed ({asked}).\n"
    texts = {one["id"]: one["text"] for one in document["queries"]}
    rows = [
        [
            markdown(one["query"], 80),
            markdown(texts.get(one["query"], ""), 120),
            "; ".join(markdown(why) for why in one["reasons"]),
        ]
        for one in failed[:_MOST]
    ]
    return f"A query fails by {asked}.\n\n{_table(['Query', 'Text', 'Why'], rows)}{_left_out(len(failed))}"


def recommendations(document: Document) -> str:
    """Give what to look at next, each with the queries that it rests on."""
    blocks = []
    for number, one in enumerate(document["recommendations"], 1):
        ids = _some([markdown(id_, 60) for id_ in one["queries"]])
        blocks.append(f"{number}. {markdown(one['finding'])}.\n   - {markdown(one['advice'])}.\n   - Queries: {ids}\n")
    return "\n".join(blocks) or "None: no rule found anything in these numbers.\n"


def _left_out(count: int) -> str:
    return f"\n{count - _MOST:,} more are left out.\n" if count > _MOST else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def cut(text: str, limit: int) -> str:
    """Cut text at the end of a line where it is too long; that is said, and nothing stays folded."""
    if len(text.encode()) <= limit:
        return text
    note, close = "\n\nThe rest is left out: it does not fit here.\n", "\n</details>\n"
    kept = text.encode()[: limit - len((note + close).encode())].decode(errors="ignore")
    kept = kept[: kept.rfind("\n")]
    return kept + (close if kept.count("<details>") > kept.count("</details>") else "") + note
