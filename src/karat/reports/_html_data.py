"""The data that the script of the HTML report draws from: the document in a compact form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import UNSET

from karat.schema import (
    CheckRow,
    DecisionDocument,
    ExpectedRow,
    HitRow,
    LeftRow,
    MeasureRow,
    Passage,
    QueryRow,
    SegmentRow,
    StageTimes,
    to_plain,
)

_HITS = 20  # of a query; an expected document carries its rank, however deep it was found
_SNIPPETS = 1_000_000  # bytes for all of them: a report of 300 queries stays below 2 MB
_LONGEST, _SHORTEST, _STEP = 300, 80, 20  # characters of a snippet


def payload(document: DecisionDocument) -> dict[str, object]:
    """Return the document as the page reads it: with lists where the document has mappings by a name that others chose.

    In a list ``__proto__`` is a name like any other; as the key of a JavaScript object it is not.
    """
    queries, passages, latency = document.queries, document.passages, document.latency
    names = [measure.name for measure in document.measures]
    documents = _titles(document)
    channels = sorted({name for hit in _shown_hits(document) for name in hit.channels})
    places = {id_: place for place, id_ in enumerate(documents)}
    numbers = {id_: number for number, id_ in enumerate(passages)}
    index = {query.id: place for place, query in enumerate(queries)}
    reasons = {failure.query: failure.reasons for failure in document.failures}
    missed = {check.query for check in document.checks if check.query and check.outcome == "fail"}
    return {
        "baseline": document.baseline is not None,
        "measures": [_measure(measure, document) for measure in document.measures],
        "recommendations": [
            {
                "finding": advice.finding,
                "advice": advice.advice,
                "queries": [index[id_] for id_ in advice.queries if id_ in index],
            }
            for advice in document.recommendations
        ],
        "segments": [_segment(segment, names) for segment in document.segments],
        "stages": [[name, _times(times), _times(latency.baseline.get(name))] for name, times in latency.stages.items()],
        "channels": channels,
        "documents": list(documents.items()),
        "passages": list(zip(passages, _shorten(passages.values()), strict=True)),
        "queries": [
            _query(query, names, channels, places, numbers)
            | {"failure": reasons.get(query.id, ()), "grave": bool(query.error) or query.id in missed}
            for query in queries
        ],
    }


def _measure(measure: MeasureRow, document: DecisionDocument) -> dict[str, object]:
    """Return a measure with the limits that its card draws, and with words for where it stands."""
    checks = [
        check for check in document.checks if check.metric == measure.name and not check.where and not check.query
    ]
    return {
        "name": measure.name,
        "definition": measure.definition,
        "mean": measure.current,
        "interval": measure.interval,
        "n": measure.n_compared if measure.is_partial else measure.n,
        **({"all": [measure.mean, measure.n]} if measure.is_partial else {}),
        "baseline": measure.baseline,
        **{
            key: None if (value := getattr(measure, key)) is UNSET else value
            for key in ("low", "high", "p_corrected", "wins", "ties", "losses")
        },
        "lower": measure.lower_is_better,
        "limit": next(
            ([check.kind, check.limit] for check in checks if check.kind in ("min", "max") and check.limit is not None),
            None,
        ),
        "tolerated": _tolerated(measure, checks),
        "standing": _standing(measure, checks, compared=document.baseline is not None),
    }


def _tolerated(measure: MeasureRow, checks: Sequence[CheckRow]) -> float | None:
    """Return the value down (or up) to which a measure may get worse, by the first rule on that; None without one."""
    for check in checks:
        if check.kind not in ("min", "max") and check.limit is not None and measure.baseline is not None:
            by = check.limit * abs(measure.baseline) if check.kind.endswith("_rel") else check.limit
            return _round(measure.baseline + by if measure.lower_is_better else measure.baseline - by)
    return None


def _standing(measure: MeasureRow, checks: Sequence[CheckRow], *, compared: bool) -> list[str]:
    """Return a kind and words; a measure of which nothing was proved is not called a pass."""
    status, unsure = measure.status, any(check.outcome == "inconclusive" for check in checks)
    if status == "DEGRADED":
        gated = any(check.kind not in ("min", "max") for check in checks)
        beyond = any(_exceeds(measure, check) for check in checks)
        within = "more than tolerated, not significant" if beyond else "within tolerance"
        word = "inconclusive" if unsure else within if gated else "no rule on it"
        return [
            "inconclusive" if unsure else "degraded",
            f"{'rose' if measure.lower_is_better else 'fell'}, {word}",
        ]
    if status == "INCONCLUSIVE":
        return ["inconclusive", "inconclusive" if compared else "no baseline"]
    return ["none", "no rule"] if status == "UNCHECKED" else [status.lower(), status.lower()]


def _exceeds(measure: MeasureRow, check: CheckRow) -> bool:
    """Return whether a mean got worse by more than a test tolerates."""
    if check.kind not in ("non_inferior", "significant_drop") or check.difference is None or check.limit is None:
        return False
    return -measure.gain(check.difference) > check.limit


def _times(times: StageTimes | None) -> dict[str, object] | None:
    return None if times is None else to_plain(times)


def _segment(segment: SegmentRow, names: Sequence[str]) -> dict[str, object]:
    baseline = segment.baseline or {}
    return {
        "field": segment.field,
        "value": segment.value,
        "queries": segment.queries,
        "means": [_round(segment.current(name)) for name in names],
        "baseline": [_round(baseline.get(name)) for name in names],
        **({"all": [_round(segment.means.get(name)) for name in names]} if segment.compared else {}),
    }


def _query(
    query: QueryRow, names: Sequence[str], channels: Sequence[str],
    places: Mapping[str, int], numbers: Mapping[str, int],
) -> dict[str, object]:  # fmt: skip
    return {
        "id": query.id,
        "text": query.text,
        "tags": list(query.fields.items()),
        "scores": [_round(query.scores.get(name)) for name in names],
        "baseline": [_round(query.baseline.get(name)) for name in names],
        "error": query.error,
        "ms": _round(query.ms),
        "found": len(query.hits),
        "hits": [
            [
                *(numbers.get(hit.id), places[hit.document], _round(hit.score), hit.grade, hit.was),
                *map(hit.channels.get, channels),
            ]
            for hit in query.hits[:_HITS]
        ],
        "left": [[places[row.document], row.was, row.grade] for row in query.left],
        "expected": [[places[row.document], row.grade, row.rank] for row in query.expected],
        **({"unanswerable": True} if query.unanswerable else {}),
    }


def _shown_hits(document: DecisionDocument) -> Iterator[HitRow]:
    return (hit for query in document.queries for hit in query.hits[:_HITS])


def _titles(document: DecisionDocument) -> dict[str, str]:
    """Return the title of every document that a query found, expected or lost, by its id."""
    titles: dict[str, str] = {}
    for query in document.queries:
        for hit in query.hits[:_HITS]:
            if hit.document not in titles:
                passage = document.passages.get(hit.id)
                titles[hit.document] = passage.title if passage else ""
        rows: tuple[ExpectedRow | LeftRow, ...] = (*query.expected, *query.left)
        for row in rows:
            titles[row.document] = titles.get(row.document) or row.title
    return titles


def _shorten(passages: Iterable[Passage]) -> list[str]:
    """Return the snippets, all cut to the greatest length at which they fit into the page together."""
    snippets = [passage.snippet for passage in passages]
    for length in range(_LONGEST, _SHORTEST, -_STEP):
        if _size(snippet[:length] for snippet in snippets) <= _SNIPPETS:
            return [_cut(snippet, length) for snippet in snippets]
    return [_cut(snippet, _SHORTEST) for snippet in snippets]


def _size(texts: Iterable[str]) -> int:
    return sum(len(text.encode(errors="replace")) for text in texts)


def _cut(text: str, length: int) -> str:
    """Return a snippet, cut with an ellipsis; one of full length was cut already when the document was built."""
    return text if len(text) <= length and len(text) < _LONGEST else f"{text[: length - 1]}…"


def _round(value: float | None) -> float | None:
    """Return four decimals, which is more than the page shows; NaN becomes None."""
    return None if value is None or math.isnan(value) else round(value, 4)
