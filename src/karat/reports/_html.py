"""The HTML report: one file that carries its style, its script and its data, and asks nothing of the network."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

from karat.reports._failures import failures
from karat.reports._recommendations import recommendations
from karat.reports._words import check_name, rule_words

_SCRIPTS = ("dom.js", "plots.js", "query.js", "table.js", "report.js")  # in this order: each uses those before it
_REASONS = 12  # that the verdict gives; the section of the checks has all
_HITS = 20  # of a query; what is expected carries its rank, however deep it came
_SNIPPETS = 1_000_000  # bytes for all of them: a report of 300 queries stays below 2 MB
_LONGEST, _SHORTEST, _STEP = 300, 80, 20  # characters of a snippet
_TAGS = ("category", "type", "intent")
_SIGNS = {"pass": "✓", "fail": "✗", "inconclusive": "?"}
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def render_html(document: Mapping[str, Any]) -> str:
    """Give the report as one HTML page that opens offline; the same document gives the same page.

    Nothing of the document is markup: what the page says at once is escaped, and the rest travels as JSON, from which
    the script makes text nodes only. The policy in the head lets no other script or style run and nothing be loaded.
    """
    style, script = _asset("report.css"), "".join(map(_asset, _SCRIPTS))
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
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
</head>
<body>
{_opening(document)}
<main id="report"><noscript><p>The plots, the failures and the table of queries need JavaScript.</p></noscript></main>
<dialog id="query" aria-labelledby="query-title"></dialog>
<script type="application/json" id="data">{_json(_payload(document))}</script>
<script>{script}</script>
</body>
</html>
"""


def _asset(name: str) -> str:
    return files("karat.reports").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _json(value: object) -> str:
    r"""Give JSON that can stand inside a script element, whatever the strings are.

    >>> _json(["</script>"])
    '["\\u003c/script\\u003e"]'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _text(value: object) -> str:
    return html.escape(str(value).encode(errors="replace").decode())


def _title(document: Mapping[str, Any]) -> str:
    outcome = _text(document["verdict"]["outcome"].capitalize())
    return f"{outcome}: {_text(document['run']['name'])} on {_text(document['golden']['name'])}"


def _opening(document: Mapping[str, Any]) -> str:
    """Give the verdict and why, as markup: it is there before any script has run, and where none may."""
    verdict, run, golden, checks = document["verdict"], document["run"], document["golden"], document["checks"]
    outcome = _text(verdict["outcome"])
    counts = Counter(check["outcome"] for check in checks)
    told = ", ".join(f"{counts[name]} {name}" for name in ("fail", "inconclusive", "pass") if counts[name])
    against = f"baseline of {_text(document['baseline']['recorded'])}" if document["baseline"] else "no baseline"
    reasons = [_reason(check) for worse in ("fail", "inconclusive") for check in checks if check["outcome"] == worse]
    if len(reasons) > _REASONS:
        reasons[_REASONS:] = [f"<li>and {len(reasons) - _REASONS} more, under Checks</li>"]
    shown = f'<ul class="reasons">{"".join(reasons)}</ul>' if reasons else ""
    return f"""<header class="top">
<p class="brand">karat report</p>
<p class="facts"><b>{_text(run["name"])}</b> on {_text(golden["name"])} {_text(golden.get("version", ""))},
{_text(run["queries"])} queries, {against}, report of {_text(document["created"])}</p>
</header>
<section class="verdict {outcome}" aria-labelledby="verdict">
<h1 id="verdict"><span class="sign" aria-hidden="true">{_SIGNS.get(verdict["outcome"], "")}</span> \
{outcome.capitalize()}</h1>
<p>{len(checks)} checks of policy {_text(verdict["policy"])}: {told or "none"}. \
Exit code {_text(verdict["exit_code"])}.</p>
{shown}
</section>"""


def _reason(check: Mapping[str, Any]) -> str:
    sign = _SIGNS.get(check["outcome"], "")
    return f"<li>{sign} {_text(check['outcome'])}: <b>{_text(check_name(check))}</b> {_text(check['reason'])}</li>"


def _payload(document: Mapping[str, Any]) -> dict[str, Any]:
    """Give the document as the page reads it: the same facts, with lists where the document repeats its keys."""
    measures = [{key: value for key, value in one.items() if key != "values"} for one in document["measures"]]
    passages, snippets = document["passages"], _shortened(document["passages"])
    channels = sorted({name for hit in _hits(document) for name in hit.get("channels", ())})
    documents = _documents(document)
    places = {id_: place for place, id_ in enumerate(documents)}
    numbers = {id_: number for number, id_ in enumerate(passages)}
    names = [one["name"] for one in measures]
    failed = {one.query: "; ".join(one.reasons) for one in failures(document)}
    return {
        **{key: value for key, value in document.items() if key not in ("measures", "queries", "passages")},
        "measures": measures,
        "checks": [{**check, "name": check_name(check), "rule": rule_words(check)} for check in document["checks"]],
        "recommendations": [
            {"finding": one.finding, "advice": one.advice, "queries": one.queries} for one in recommendations(document)
        ],
        "channels": channels,
        "documents": list(documents.items()),
        "passages": list(zip(passages, snippets, strict=True)),
        "queries": [
            _query(query, names, channels, places, numbers) | {"failure": failed.get(query["id"], "")}
            for query in document["queries"]
        ],
    }


def _query(
    query: Mapping[str, Any], names: Sequence[str], channels: Sequence[str],
    places: Mapping[str, int], numbers: Mapping[str, int],
) -> dict[str, Any]:  # fmt: skip
    return {
        "id": query["id"],
        "text": query["text"],
        "tags": {name: query[name] for name in _TAGS if query.get(name)},
        "scores": [_round(query["scores"].get(name)) for name in names],
        "baseline": [_round(query["baseline"].get(name)) for name in names],
        "error": query["error"],
        "unfound": query["unfound"],
        "ms": _round(query["ms"]),
        "found": len(query["hits"]),
        "hits": [
            [numbers.get(hit["id"]), places[hit["document"]], _round(hit["score"]), hit["grade"], hit["was"]]
            + [hit.get("channels", {}).get(name) for name in channels]
            for hit in query["hits"][:_HITS]
        ],
        "left": [[places[one["document"]], one["was"], one["grade"]] for one in query.get("left", ())],
        "expected": [[places[one["document"]], one["grade"], one["rank"]] for one in query["expected"]],
    }


def _hits(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return (hit for query in document["queries"] for hit in query["hits"][:_HITS])


def _documents(document: Mapping[str, Any]) -> dict[str, str]:
    """Give the title of every document that a query found, expected or lost."""
    found: dict[str, str] = {}
    for query in document["queries"]:
        for hit in query["hits"][:_HITS]:
            found.setdefault(hit["document"], document["passages"].get(hit["id"], {}).get("title", ""))
        for one in (*query["expected"], *query.get("left", ())):
            found[one["document"]] = found.get(one["document"]) or one.get("title", "")
    return found


def _shortened(passages: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Give the snippets, all cut to the greatest length at which they fit into the page together."""
    snippets = [passage["snippet"] for passage in passages.values()]
    for length in range(_LONGEST, _SHORTEST, -_STEP):
        if _size(snippet[:length] for snippet in snippets) <= _SNIPPETS:
            return [_cut(snippet, length) for snippet in snippets]
    return [_cut(snippet, _SHORTEST) for snippet in snippets]


def _size(texts: Iterable[str]) -> int:
    return sum(len(text.encode(errors="replace")) for text in texts)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _round(value: float | None) -> float | None:
    """Give four decimals, which is more than the page shows; a number that is none is left out."""
    return None if value is None or math.isnan(value) else round(value, 4)
