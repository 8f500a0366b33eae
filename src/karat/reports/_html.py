"""The HTML report: one file that carries its style, its script and its data, and asks nothing of the network."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from urllib.parse import quote

import msgspec

from karat.reports._bounds import BOUNDS, NOTE_BOUNDS, list_bounds
from karat.reports._floor import FLOOR, describe_floor, list_floor, note_floor
from karat.reports._html_data import payload
from karat.reports._verdict import (
    describe_operations,
    explain_outcome,
    find_observed_drops,
    name_outcome,
    name_policy,
)
from karat.reports._warnings import list_other_caveats, list_warnings
from karat.reports._words import count, describe_reason, describe_rule, name_check, name_other_system
from karat.schema import BaselineFacts, CheckRow, DecisionDocument, plain_value, to_plain

_SCRIPTS = (  # in this order: each uses those before it
    "dom.js", "numbers.js", "scales.js", "measures.js", "dots.js", "plots.js", "rankings.js", "query.js", "table.js",
    "failures.js", "sections.js", "report.js",
)  # fmt: skip
_CHECKS = 12  # of an outcome that are shown at once; the rest is folded
_CHANGES = 8
_WIDE = 200  # characters of a setting
_SIGNS = {"pass": "✓", "fail": "✗", "inconclusive": "?", "error": "✗"}
_HEADS = {"error": "without a decision", "fail": "failed", "inconclusive": "inconclusive", "pass": "passed"}
"""What is said of the checks with an outcome, the worst first."""
_TONES = {"error": "fail"}
"""The classes of outcomes that have no style of their own."""
_UNSAFE = "<>&\u2028\u2029"
_ACTING = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters, lone surrogates, and characters that change the direction of writing."""
_ESCAPED = re.compile(r"\\[ubf]")
"""How JSON has the control characters among them; a backslash before such a letter looks the same, and does no harm."""


def render_html(document: DecisionDocument) -> str:
    """Return the report as one HTML page that opens offline; the same document gives the same page.

    Nothing in the document can act as markup: the static part of the page is escaped, and the rest is embedded as JSON,
    from which the script makes text nodes only. The content security policy allows no other script or style, and no
    requests.
    """
    style, early, script = read_asset("report.css"), read_asset("theme.js"), "".join(map(read_asset, _SCRIPTS))
    policy = (
        f"default-src 'none'; script-src {hash_source(early)} {hash_source(script)}; style-src {hash_source(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{_title(document)}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
<script>{early}</script>
</head>
<body>
<header class="bar"><p class="brand">karat</p></header>
<main>
{_warnings(document)}{_verdict(document)}
{_checks(document)}
{_caveats(document)}
<div id="report"><noscript><p class="callout">The measures, the plots and the queries need JavaScript: \
open this file in a browser.</p></noscript></div>
{_about(document)}
</main>
<dialog id="query" aria-labelledby="query-title"></dialog>
<script type="application/json" id="data">{_json(payload(document))}</script>
<script>{script}</script>
</body>
</html>
"""


def read_asset(name: str) -> str:
    """Return a style or script of the report."""
    return files("karat.reports").joinpath("assets", name).read_text(encoding="utf-8")


def hash_source(text: str) -> str:
    """Return what a content security policy calls a style or script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _json(value: object) -> str:
    r"""Return JSON that can stand inside a script element, whatever its strings are.

    >>> _json(["</script>"])
    '["\\u003c/script\\u003e"]'
    """
    encode = msgspec.json.Encoder(enc_hook=plain_value).encode
    try:
        text = encode(value).decode()
        is_safe = not (_ACTING.search(text) or _ESCAPED.search(text))
    except UnicodeEncodeError:  # half of a surrogate pair
        is_safe = False
    if not is_safe:
        text = encode(_sanitise(value)).decode()
    for character in _UNSAFE:
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def escape_text(value: object) -> str:
    """Return a text that cannot act as markup, nor change the direction of writing."""
    return html.escape(_ACTING.sub("\ufffd", str(value)))


def _sanitise(value: object) -> object:
    """Return a value in whose texts nothing changes the direction of writing or controls a terminal."""
    if isinstance(value, str):
        return _ACTING.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {_sanitise(key): _sanitise(inner) for key, inner in value.items()}
    return list(map(_sanitise, value)) if isinstance(value, list | tuple) else value


# The static part of the page, which needs no script: the verdict and why, the checks, the caveats and the facts.


def _title(document: DecisionDocument) -> str:
    outcome = name_outcome(document).partition(",")[0].capitalize()
    return f"{outcome}: {escape_text(document.run.shown)} on {escape_text(document.golden.name)}"


def _verdict(document: DecisionDocument) -> str:
    outcome = document.verdict.outcome
    word, _, effect = name_outcome(document).partition(", ")
    if outcome == "pass" and find_observed_drops(document):
        outcome = "inconclusive"  # its colour and sign: a drop beyond the tolerance has no green tick
    facts = "".join(f"<div><dt>{name}</dt><dd>{escape_text(fact)}</dd></div>" for name, fact in _facts(document))
    return f"""<section class="verdict {_TONES.get(outcome, outcome)}" aria-labelledby="verdict">
<div class="said">
<h1 id="verdict"><span class="sign" aria-hidden="true">{_SIGNS[outcome]}</span> \
{escape_text(word.capitalize())}</h1>
{f'<p class="effect">{escape_text(effect)}</p>' if effect else ""}
<p class="lead">{escape_text(_lead(document))}</p>
{_changes(document.baseline)}
</div>
<dl class="facts">{facts}</dl>
</section>"""


def _lead(document: DecisionDocument) -> str:
    """Return the verdict in a few sentences."""
    if not document.checks:
        return "The policy has no rule, so nothing was checked."
    sentences = list(explain_outcome(document))
    if document.verdict.outcome == "pass":
        number = len(document.checks)
        sentences.insert(0, f"all {number:,} checks passed" if number > 1 else "the one check passed")
    return " ".join(
        f"{sentence[0].upper()}{sentence[1:]}{'' if sentence.endswith('...') else '.'}" for sentence in sentences
    )


def _facts(document: DecisionDocument) -> Iterator[tuple[str, str]]:
    run, golden, baseline = document.run, document.golden, document.baseline
    yield "Candidate", run.shown
    yield "Baseline", f"{baseline.shown}, recorded {baseline.recorded}" if baseline else "none yet"
    size = f"{count(golden.queries, 'query', 'queries')}, {count(golden.documents, 'document')}"
    yield "Golden set", f"{golden.name} {golden.version or ''} ({size})".strip()
    yield "Asked", ", ".join(_describe_asked(document))
    verdict = document.verdict
    yield (
        "Policy",
        f"{name_policy(verdict)}, on_inconclusive = {verdict.on_inconclusive}, exit code {verdict.exit_code}",
    )
    if operations := describe_operations(document):
        yield "Operations", operations
    if floor := describe_floor(document):
        yield "Keywords alone", floor
    if run.id:
        yield "Run", run.id
    yield "Report of", document.created


def _describe_asked(document: DecisionDocument) -> Iterator[str]:
    """Yield how many questions were asked, how many failed, and how many with an answer returned nothing."""
    yield count(document.run.queries, "query", "queries")
    yield f"{document.run.failed:,} failed"
    empty = [query for query in document.queries if not (query.hits or query.error or query.unanswerable)]
    unjudged = sum(query.unjudged is True for query in empty)
    yield f"{len(empty):,} returned nothing{f', {unjudged:,} of them with nothing to find' if unjudged else ''}"


def _changes(baseline: BaselineFacts | None) -> str:
    """Return what differs in the system, which is the first question after the verdict."""
    if baseline is None or not baseline.changes:
        return ""
    if systems := name_other_system(baseline.changes):
        now, was = map(escape_text, systems)
        return f"<h2>Changed since the baseline</h2><p>Another system: <b>{now}</b>, was {was}.</p>"
    shown = "".join(
        f"<li><code>{escape_text(change.key)}</code> {_value(change.was)} <span aria-label='became'>→</span> "
        f"<b>{_value(change.now)}</b></li>"
        for change in baseline.changes[:_CHANGES]
    )
    rest = len(baseline.changes) - _CHANGES
    more = f"<li>and {rest:,} more, under Run</li>" if rest > 0 else ""
    return f'<h2>Changed since the baseline</h2><ul class="changes">{shown}{more}</ul>'


def _value(value: object) -> str:
    text = value if isinstance(value, str) else "not set" if value is None else json.dumps(value, ensure_ascii=False)
    return escape_text((text or "empty") if len(text) <= _WIDE else f"{text[: _WIDE - 1]}…")


def _checks(document: DecisionDocument) -> str:
    """Return every check, the failed ones first; only those that passed are folded away."""
    groups = [(name, [check for check in document.checks if check.outcome == name]) for name in _HEADS]
    shown = "".join(_group(outcome, list(map(_check, checks))) for outcome, checks in groups if checks)
    return (
        shown
        and f"""<section id="checks" aria-labelledby="checks-title">
<h2 id="checks-title">Checks</h2>
<div class="checks">{shown}</div>
</section>"""
    )


def _group(outcome: str, items: Sequence[str]) -> str:
    sign = f'<span class="sign" aria-hidden="true">{_SIGNS[outcome]}</span>'
    first, rest = "".join(items[:_CHECKS]), "".join(items[_CHECKS:])
    more = f"<details><summary>{len(items) - _CHECKS:,} more</summary><ul>{rest}</ul></details>" if rest else ""
    return (
        f'<details class="{_TONES.get(outcome, outcome)}"{"" if outcome == "pass" else " open"}>'
        f"<summary>{sign} {len(items):,} {_HEADS[outcome]}</summary><ul>{first}</ul>{more}</details>"
    )


def _check(check: CheckRow) -> str:
    outcome, name = check.outcome, escape_text(name_check(check))
    if check.query:
        address = quote(_ACTING.sub("\ufffd", check.query), safe="")
        name = f'<a href="#q={address}">{name}</a>'
    return (
        f'<li><span class="sign" role="img" aria-label="{outcome}">{_SIGNS[outcome]}</span>'
        f'<span class="what"><b>{name}</b> {escape_text(describe_rule(check))}</span> '
        f'<span class="why">{escape_text(describe_reason(check))}</span></li>'
    )


def _warnings(document: DecisionDocument) -> str:
    return "".join(
        f'<p class="callout" role="alert">{escape_text(warning)}</p>\n' for warning in list_warnings(document)
    )


def _caveats(document: DecisionDocument) -> str:
    caveats = list_other_caveats(document)
    if not caveats:
        return ""
    shown = "".join(f"<li>{escape_text(text)}</li>" for text in caveats)
    return f"""<section id="caveats" class="callout" aria-labelledby="caveats-title">
<h2 id="caveats-title">Read with care</h2>
<ul>{shown}</ul>
</section>"""


def _about(document: DecisionDocument) -> str:
    run, baseline = document.run, document.baseline
    facts: dict[str, object] = {
        "run": {key: getattr(run, key) for key in ("name", "fingerprint", "queries", "failed", "coverage")},
        "golden": to_plain(document.golden),
    }
    tables = []
    if baseline:
        facts["baseline"] = {key: getattr(baseline, key) or "no" for key in ("name", "recorded", "forced")}
        if changes := [(change.key, _value(change.was), _value(change.now)) for change in baseline.changes]:
            tables.append(_table("Changed since the baseline", ("Setting", "Baseline", "Candidate"), changes))
    if bounds := [(name, *map(escape_text, cells)) for name, *cells in list_bounds(document)]:
        tables.append(
            _table("Unjudged documents", BOUNDS, bounds) + f'<p class="caption">{escape_text(NOTE_BOUNDS)}</p>'
        )
    if floor := [(name, *map(escape_text, cells)) for name, *cells in list_floor(document)]:
        tables.append(
            _table("Keywords alone", FLOOR, floor) + f'<p class="caption">{escape_text(note_floor(document))}</p>'
        )
    parts = {
        "Run, golden set and baseline": facts,
        "System": run.system,
        "Settings": run.settings,
        "Versions": run.versions,
    }
    for name, part in parts.items():
        if rows := [(key, _value(value)) for key, value in _flatten(part)]:
            tables.append(_table(name, ("Name", "Value"), rows))
    return f"""<section id="about" aria-labelledby="about-title">
<h2 id="about-title">Run</h2>
<p class="caption">What was measured, exactly enough to do it again.</p>
{"".join(tables)}
</section>"""


def _table(name: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a folded table. The first cell of a row is text, the others are markup."""
    body = "".join(
        f'<tr><th scope="row"><code>{escape_text(first)}</code></th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    )
    head = "".join(f'<th scope="col">{head}</th>' for head in heads)
    return f"""<details><summary>{name}</summary>
<div class="scroll" tabindex="0" role="group" aria-label="{name}"><table><thead><tr>{head}</tr></thead>\
<tbody>{body}</tbody></table></div></details>
"""


def _flatten(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Yield nested settings as dotted names and values.

    >>> list(_flatten({"chunk": {"size": 256}, "dense": None}))
    [('chunk.size', 256), ('dense', None)]
    """
    if not isinstance(value, Mapping):
        yield name, value
        return
    for key, inner in value.items():
        yield from _flatten(inner, f"{name}.{key}" if name else str(key))
