"""The data that the script of the HTML report draws from: the document in a compact form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import chain, islice

from msgspec import UNSET

from karat.schema import (
    CheckRow,
    DecisionDocument,
    ExpectedRow,
    LeftRow,
    MeasureRow,
    Passage,
    QueryRow,
    SegmentRow,
    StageTimes,
    to_plain,
)

_RANKED = 5_000  # queries with their rankings, which take most of a page; the others have texts and scores
_HITS = 20  # of a query; an expected document carries its rank, however deep it was found
_FIRST = 500  # failures, as far as anybody reads on in their list
_LINKED = 20  # queries of an advice
_SNIPPETS = 1_000_000  # bytes for all of them: a report of 300 queries stays below 2 MB
_LONGEST, _SHORTEST, _STEP = 300, 80, 20  # characters of a snippet


def payload(document: DecisionDocument) -> dict[str, object]:
    """Return the document as the page reads it: with lists where the document has mappings by a name that others chose.

    In a list ``__proto__`` is a name like any other; as the key of a JavaScript object it is not. Of more than 5,000
    queries only those that people look at first have their rankings.
    """
    latency, ranked = document.latency, _choose_ranked(document)
    queries = [query for query in document.queries if query.id in ranked]
    passages = _passages(document, queries)
    names = [measure.name for measure in document.measures]
    documents = _titles(queries, document.passages)
    channels = sorted({name for query in queries for hit in query.hits[:_HITS] for name in hit.channels})
    places = {id_: place for place, id_ in enumerate(documents)}
    numbers = {id_: number for number, id_ in enumerate(passages)}
    index = {query.id: place for place, query in enumerate(document.queries)}
    reasons = {failure.query: failure.lines for failure in document.failures}
    grave = _find_grave(document)
    rounded = _Rounded()
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
        "fixed": [index[id_] for id_ in document.fixed or () if id_ in index],
        "new": sum(failure.since == "new" for failure in document.failures),
        "old": sum(failure.since == "old" for failure in document.failures),
        "segments": [_segment(segment, names) for segment in document.segments],
        "stages": [[name, _times(times), _times(latency.baseline.get(name))] for name, times in latency.stages.items()],
        "channels": channels,
        "documents": list(documents.items()),
        "passages": list(zip(passages, _shorten(passages.values()), strict=True)),
        "queries": [
            _query(query, names, channels, places, numbers, rounded)
            | {"failure": reasons.get(query.id, ()), "grave": query.id in grave}
            if query.id in ranked
            else _brief(query, names, reasons.get(query.id, ()), query.id in grave, rounded)
            for query in document.queries
        ],
        **(_describe_rest(document, len(ranked)) if len(queries) < len(document.queries) else {}),
    }


def _choose_ranked(document: DecisionDocument) -> Set[str]:
    """Return the queries whose rankings the page has: all, or of very many those that people look at first.

    They are those that the page links to, the first failures, and the greatest losses and gains.
    """
    ids = dict.fromkeys(query.id for query in document.queries)
    if len(ids) <= _RANKED:
        return ids.keys()
    movers, failures = document.movers, [failure.query for failure in document.failures]
    order = chain(
        (check.query for check in document.checks if check.query and check.outcome != "pass"),
        chain.from_iterable(advice.queries[:_LINKED] for advice in document.recommendations),
        _find_grave(document),
        failures[:_FIRST],
        (mover.query for pair in zip(movers, reversed(movers), strict=True) for mover in pair),
        failures,
        ids,
    )
    return set(islice(dict.fromkeys(id_ for id_ in order if id_ in ids), _RANKED))


def _find_grave(document: DecisionDocument) -> dict[str, None]:
    """Return the queries that got an error or missed what they must reach, in the order of the document."""
    missed = {check.query for check in document.checks if check.query and check.outcome == "fail"}
    return dict.fromkeys(query.id for query in document.queries if query.error or query.id in missed)


def _describe_rest(document: DecisionDocument, ranked: int) -> dict[str, object]:
    """Return what the page says of queries without rankings, and the least grade that counts as relevant."""
    grades = {row.grade for query in document.queries for row in query.expected}
    return {"ranked": ranked, "run": document.run.file or "RUN", "relevant": min(grades, default=None)}


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
        **_by_labels(measure),
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


def _by_labels(measure: MeasureRow) -> dict[str, object]:
    """Return a judge's mean as people's labels correct it: the mean, its interval, and how many labels; {} if none."""
    own = measure.by_labels
    if own is UNSET or own.mean is None:
        return {}
    return {"labels": [_round(own.mean), _round(own.low), _round(own.high), own.labels]}


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


class _Rounded(dict[float | None, float | None]):
    """Rounded scores: most queries share theirs with others."""

    def __missing__(self, value: float | None) -> float | None:
        rounded = self[value] = _round(value)
        return rounded


def _query(
    query: QueryRow, names: Sequence[str], channels: Sequence[str],
    places: Mapping[str, int], numbers: Mapping[str, int], rounded: _Rounded,
) -> dict[str, object]:  # fmt: skip
    return {
        "id": query.id,
        "text": query.text,
        "tags": list(query.fields.items()),
        "scores": [rounded[query.scores.get(name)] for name in names],
        "baseline": [rounded[query.baseline.get(name)] for name in names],
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


def _brief(
    query: QueryRow, names: Sequence[str], failure: Sequence[str], grave: bool, rounded: _Rounded
) -> list[object]:
    """Return a query without its rankings, as a list: there are very many."""
    return [
        query.id,
        _cut(query.text, _LONGEST),
        list(query.fields.items()),
        [rounded[query.scores.get(name)] for name in names],
        [rounded[query.baseline.get(name)] for name in names],
        _round(query.ms),
        *((failure, query.error, grave) if failure or grave else ()),
    ]


def _passages(document: DecisionDocument, queries: Iterable[QueryRow]) -> Mapping[str, Passage]:
    """Return the passages that rankings show, in the order of the document."""
    if len(document.queries) <= _RANKED:
        return document.passages
    shown = {hit.id for query in queries for hit in query.hits[:_HITS]}
    return {id_: passage for id_, passage in document.passages.items() if id_ in shown}


def _titles(queries: Iterable[QueryRow], passages: Mapping[str, Passage]) -> dict[str, str]:
    """Return the title of every document that a query found, expected or lost, by its id."""
    titles: dict[str, str] = {}
    for query in queries:
        for hit in query.hits[:_HITS]:
            if hit.document not in titles:
                passage = passages.get(hit.id)
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
