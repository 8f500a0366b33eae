"""What the script of the HTML report draws from: the document, made small and harmless."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

_HITS = 20  # of a query; what is expected carries its rank, however deep it came
_SNIPPETS = 1_000_000  # bytes for all of them: a report of 300 queries stays below 2 MB
_LONGEST, _SHORTEST, _STEP = 300, 80, 20  # characters of a snippet
_TAGS = ("category", "type", "intent")
Document = Mapping[str, Any]


def payload(document: Document) -> dict[str, Any]:
    """Give the document as the page reads it: lists where the document has names that others chose.

    In a list ``__proto__`` is a name like any other; as the key of an object it would not be.
    """
    queries, passages, latency = document["queries"], document["passages"], document["latency"]
    names = [one["name"] for one in document["measures"]]
    documents = _documents(document)
    channels = sorted({name for hit in _hits(document) for name in hit.get("channels", ())})
    places = {id_: place for place, id_ in enumerate(documents)}
    numbers = {id_: number for number, id_ in enumerate(passages)}
    index = {query["id"]: place for place, query in enumerate(queries)}
    failed = {one["query"]: one["reasons"] for one in document["failures"]}
    missed = {check.get("query") for check in document["checks"] if check["outcome"] == "fail"}
    return {
        "baseline": document["baseline"] is not None,
        "measures": [_measure(one, document) for one in document["measures"]],
        "recommendations": [
            {
                "finding": one["finding"],
                "advice": one["advice"],
                "queries": [index[id_] for id_ in one["queries"] if id_ in index],
            }
            for one in document["recommendations"]
        ],
        "segments": [_segment(one, names) for one in document["segments"]],
        "stages": [[name, now, latency["baseline"].get(name)] for name, now in latency["stages"].items()],
        "channels": channels,
        "documents": list(documents.items()),
        "passages": list(zip(passages, _shortened(passages), strict=True)),
        "queries": [
            _query(query, names, channels, places, numbers)
            | {"failure": failed.get(query["id"], []), "grave": bool(query["error"]) or query["id"] in missed}
            for query in queries
        ],
    }


def _measure(measure: Mapping[str, Any], document: Document) -> dict[str, Any]:
    """Give a measure with the limits that its card draws and with words for where it stands."""
    kept = (
        "name", "definition", "mean", "interval", "n", "baseline", "low", "high", "p_corrected", "wins", "ties",
        "losses",
    )  # fmt: skip
    checks = [
        check for check in document["checks"]
        if check.get("metric") == measure["name"] and not check.get("where") and not check.get("query")
    ]  # fmt: skip
    lower = bool(measure.get("lower_is_better"))
    return {
        **{key: measure.get(key) for key in kept},
        "lower": lower,
        "limit": next(
            ([one["kind"], one["limit"]] for one in checks if one["kind"] in ("min", "max") and "limit" in one), None
        ),
        "tolerated": _tolerated(measure["baseline"], checks, lower=lower),
        "standing": _standing(measure, checks, compared=document["baseline"] is not None),
    }


def _tolerated(baseline: float | None, checks: Sequence[Mapping[str, Any]], *, lower: bool) -> float | None:
    """Give the number to which a measure may get worse, as the first rule on that says."""
    found = next((one for one in checks if one["kind"] not in ("min", "max") and "limit" in one), None)
    if found is None or baseline is None:
        return None
    by = found["limit"] * abs(baseline) if found["kind"].endswith("_rel") else found["limit"]
    return _round(baseline + by if lower else baseline - by)


def _standing(measure: Mapping[str, Any], checks: Sequence[Mapping[str, Any]], *, compared: bool) -> list[str]:
    """Give a kind and words; what nothing was proved of is not called a pass."""
    status, unsure = measure["status"], any(one["outcome"] == "inconclusive" for one in checks)
    if status == "DEGRADED":
        gated = any(one["kind"] not in ("min", "max") for one in checks)
        word = "inconclusive" if unsure else "within tolerance" if gated else "no rule on it"
        return [
            "inconclusive" if unsure else "degraded",
            f"{'rose' if measure.get('lower_is_better') else 'fell'}, {word}",
        ]
    if status == "INCONCLUSIVE":
        return ["inconclusive", "inconclusive" if compared else "no baseline"]
    return ["none", "no rule"] if status == "UNCHECKED" else [status.lower(), status.lower()]


def _segment(segment: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    means, baseline = segment["means"] or {}, segment["baseline"] or {}
    return {
        **{key: segment[key] for key in ("field", "value", "queries")},
        "means": [_round(means.get(name)) for name in names],
        "baseline": [_round(baseline.get(name)) for name in names],
    }


def _query(
    query: Mapping[str, Any], names: Sequence[str], channels: Sequence[str],
    places: Mapping[str, int], numbers: Mapping[str, int],
) -> dict[str, Any]:  # fmt: skip
    return {
        "id": query["id"],
        "text": query["text"],
        "tags": [[name, query[name]] for name in _TAGS if query.get(name)],
        "scores": [_round(query["scores"].get(name)) for name in names],
        "baseline": [_round(query["baseline"].get(name)) for name in names],
        "error": query["error"],
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


def _hits(document: Document) -> Iterator[Mapping[str, Any]]:
    return (hit for query in document["queries"] for hit in query["hits"][:_HITS])


def _documents(document: Document) -> dict[str, str]:
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
    """Cut a snippet, and show it; one of full length was cut where it comes from."""
    return text if len(text) <= length and len(text) < _LONGEST else f"{text[: length - 1]}…"


def _round(value: float | None) -> float | None:
    """Give four decimals, which is more than the page shows; a number that is none is left out."""
    return None if value is None or math.isnan(value) else round(value, 4)
