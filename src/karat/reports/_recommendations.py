"""What to look at next: rules over the numbers of a decision, each of which names the queries that it rests on."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from karat.core import count_things, format_ms
from karat.reports._failures import losers
from karat.reports._patterns import (
    ASK_FOR_MORE,
    COMPARE_IDS,
    CUT,
    NOTHING_FOUND,
    describe_incomplete,
    describe_no_hits,
    describe_weak_order,
    find_incomplete,
    find_weak_order,
    is_precise_but_incomplete,
)
from karat.reports._words import clean, count, describe_aim, format_number
from karat.schema import CheckRow, DecisionDocument, MeasureRow, QueryRow, Recommendation

_FEW = 3  # fewer queries are shown one by one in the report
_FIELDS = ("category", "type", "intent")
_TIE = 1e-9

Rule = Callable[[DecisionDocument], Iterable[Recommendation]]
RULES: dict[str, Rule] = {}
"""The rules by name, in the order in which a report shows them; :func:`rule` adds one."""


def rule(name: str) -> Callable[[Rule], Rule]:
    """Add a function to the rules; it takes the document and yields recommendations."""

    def add(function: Rule) -> Rule:
        RULES[name] = function
        return function

    return add


def recommend(document: DecisionDocument) -> tuple[Recommendation, ...]:
    """Return the recommendations of all rules."""
    return tuple(advice for function in RULES.values() for advice in function(document) if advice.queries)


@rule("failed-queries")
def _failed(document: DecisionDocument) -> Iterator[Recommendation]:
    """Queries with an error count as 0, so every other number is too low until they are fixed."""
    by_error: dict[str, list[str]] = {}
    for query in document.queries:
        if query.error:
            by_error.setdefault(clean(query.error, 120), []).append(query.id)
    for error, ids in sorted(by_error.items(), key=lambda item: -len(item[1]))[:_FEW]:
        yield Recommendation(
            rule="failed-queries",
            finding=f"{count(len(ids), 'query', 'queries')} failed with the same error: {error}",
            advice="fix this first: a query that failed counts as 0 in every mean",
            queries=tuple(ids),
        )


@rule("nothing-found")
def _nothing(document: DecisionDocument) -> Iterator[Recommendation]:
    """All measures are 0: perhaps the ids that come back are not those of the golden set."""
    answered = [query for query in document.queries if not query.error and not query.unanswerable]
    if not answered or not all(query.unfound for query in answered):
        return
    returned = next((hit.document for query in answered for hit in query.hits), None)
    expected = next((row.document for query in answered for row in query.expected), None)
    advice = COMPARE_IDS
    if returned is None:
        advice = describe_no_hits(len(answered))
    elif expected is not None:
        advice += f": it gave {clean(returned, 60)!r} where {clean(expected, 60)!r} is expected"
    yield Recommendation(
        rule="nothing-found",
        finding=NOTHING_FOUND,
        advice=advice,
        queries=tuple(query.id for query in answered),
    )


@rule("precise-but-incomplete")
def _incomplete(document: DecisionDocument) -> Iterator[Recommendation]:
    """Precision is high and recall is low: more is relevant than is asked for, or it is not found."""
    means = _means(document)
    for cut, precision, recall in find_incomplete(means):
        short = [query for query in document.queries if is_precise_but_incomplete(query.scores, precision, recall)]
        crowded = [query for query in short if len(query.expected) > cut]
        advice = ASK_FOR_MORE
        if 2 * len(crowded) > len(short):
            advice = f"{len(crowded):,} of them have more than {cut} relevant documents, which {cut} hits cannot hold: "
            advice += "measure at a larger cut-off, or hand more hits on"
        yield Recommendation(
            rule="precise-but-incomplete",
            finding=describe_incomplete(means, precision, recall),
            advice=advice,
            queries=tuple(query.id for query in short),
        )


@rule("weak-order")
def _order(document: DecisionDocument) -> Iterator[Recommendation]:
    """The reciprocal rank is low although nearly every query finds something: the order is weak."""
    answered = [query for query in document.queries if not query.error and not query.unanswerable]
    means = _means(document)
    name = find_weak_order(means, sum(query.unfound for query in answered), len(answered))
    if name is None:
        return
    late = [
        query.id for query in answered if (ranks := [row.rank for row in query.expected if row.rank]) and min(ranks) > 2
    ]
    advice = "look at the hits above the first relevant one, and at the reranker's depth and weight"
    if document.run.system.get("rerank") is None:
        advice = "a reranker orders what is found; the pipeline has none"
    yield Recommendation(
        rule="weak-order",
        finding=f"{describe_weak_order(means, name)}: "
        f"in {count(len(late), 'query', 'queries')} the first relevant hit is third or later",
        advice=advice,
        queries=tuple(late),
    )


@rule("precision-fell")
def _precision(document: DecisionDocument) -> Iterator[Recommendation]:
    """Precision fell: what came in that is not relevant, and whether a threshold would keep it out."""
    for measure, cut, lost in _fallen(document, "P"):
        intruders = Counter(new for query in document.queries if query.id in lost for new in _intruders(query, cut))
        advice = f"review the false positives among the first {cut}"
        if intruders:
            id_, times = _most_frequent(intruders)
            advice += f": {clean(id_, 60)!r} is new in {times:,} of them" if times > 1 else ""
        rerank = document.run.system.get("rerank")
        threshold = rerank.get("threshold") if isinstance(rerank, Mapping) else None
        if isinstance(threshold, int | float):
            advice += f"; raise the reranker's threshold (it is {threshold:g}, try {threshold + 0.1:g})"
        yield _fall("precision-fell", measure, lost, advice)


@rule("recall-fell")
def _recall(document: DecisionDocument) -> Iterator[Recommendation]:
    """Recall fell: which relevant documents are no longer there."""
    for measure, cut, lost in _fallen(document, "R"):
        gone = Counter(
            row.document
            for query in document.queries
            if query.id in lost
            for row in query.expected
            if row.rank is None or row.rank > cut
        )
        advice = f"look at what is missing among the first {cut}"
        if gone:
            id_, times = _most_frequent(gone)
            advice += f": {clean(id_, 60)!r} is missing from {times:,} of them" if times > 1 else ""
        changes = document.baseline.changes if document.baseline else ()
        if keys := [clean(change.part, 40) for change in changes]:
            advice += f"; what changed in the system: {', '.join(keys[:5])}{' ...' if len(keys) > 5 else ''}"
        yield _fall("recall-fell", measure, lost, advice)


@rule("segment-fell")
def _segment(document: DecisionDocument) -> Iterator[Recommendation]:
    """One segment of the queries fell much more than all of them did."""
    worst: dict[tuple[str, str], dict[str, tuple[MeasureRow, float]]] = {}
    for measure in document.measures:
        if falls := _falls(document, measure):
            segment = min(falls, key=lambda segment: (falls[segment], segment))
            worst.setdefault(segment, {})[measure.name] = measure, falls[segment]
    for (field, value), measures in worst.items():
        within = {query.id for query in document.queries if query.fields.get(field) == value}
        lost = dict.fromkeys(id_ for name in measures for id_ in losers(document, name) if id_ in within)
        shown = ", ".join(f"{name} by {-fall:.3f} ({_overall(measure)})" for name, (measure, fall) in measures.items())
        yield Recommendation(
            rule="segment-fell",
            finding=f"{field} {clean(value, 40)} fell more than the rest: {shown}",
            advice=f"look at this {field} first: {len(lost):,} of its {count(len(within), 'query', 'queries')} lost",
            queries=tuple(lost),
        )


def _overall(measure: MeasureRow) -> str:
    gain = measure.overall_gain
    return f"on all by {-gain:.3f}" if gain < 0 else "on all it did not fall"


@rule("fusion-hides")
def _fusion(document: DecisionDocument) -> Iterator[Recommendation]:
    """A relevant document that one channel has among its first three stands low in the fused list."""
    hidden: dict[str, dict[str, None]] = {}
    for query in document.queries:
        for hit in query.hits:
            ranks = hit.channels
            if len(ranks) > 1 and hit.rank > 5 and any(hit.document == row.document for row in query.expected):
                best = min(ranks, key=lambda channel: (ranks[channel], channel))
                if ranks[best] <= 3:
                    hidden.setdefault(best, {})[query.id] = None
    first, *others = sorted(hidden.items(), key=lambda item: (-len(item[1]), item[0])) or [("", {})]
    channel, ids = first
    # If it happens to both channels about as often, no weight helps.
    if len(ids) >= max(_FEW, 0.05 * len(document.queries)) and all(len(ids) >= 2 * len(more) for _, more in others):
        yield Recommendation(
            rule="fusion-hides",
            finding=f"in {count(len(ids), 'query', 'queries')} {clean(channel, 40)} has a relevant document among "
            "its first three that the fused list has sixth or later",
            advice=f"try more weight for {clean(channel, 40)}, or a smaller k of the fusion",
            queries=tuple(ids),
        )


@rule("unjudged")
def _unjudged(document: DecisionDocument) -> Iterator[Recommendation]:
    """Much of what is found was never judged, and counts as not relevant although nobody looked at it."""
    if not any(hit.grade == 0 for query in document.queries for hit in query.hits):
        return  # in a set that lists relevant documents only, all others are not relevant
    ids = tuple(
        query.id
        for query in document.queries
        if query.unanswerable is not True  # nothing is relevant to it, and nobody has to look
        and query.hits
        and 2 * [hit.grade for hit in query.hits[:5]].count(None) > len(query.hits[:5])
    )
    if len(ids) >= _FEW:
        yield Recommendation(
            rule="unjudged",
            finding=f"in {count(len(ids), 'query', 'queries')} most of the first five hits were never judged",
            advice="judge them before the numbers are believed: karat golden pool lists them",
            queries=ids,
        )


@rule("slower")
def _slower(document: DecisionDocument) -> Iterator[Recommendation]:
    """The 95th percentile rose by more than a fifth, or a limit on latency failed: which stage, and which queries."""
    latency = document.latency
    now, was = (times["total"].p95 if "total" in times else None for times in (latency.stages, latency.baseline))
    failed = any(check.metric.startswith("latency.") and _exceeds(check) for check in document.checks)
    rose = bool(now and was and now > 1.2 * was and now - was >= 10)
    if now is None or not (rose or failed):
        return
    stages = {name: times.p95 for name, times in latency.stages.items() if name != "total"}
    slow = sorted(
        ((query.ms, query.id) for query in document.queries if query.ms is not None and query.ms >= now),
        key=lambda row: (-row[0], row[1]),
    )
    slowest = min(stages, key=lambda name: (-stages[name], name)) if stages else ""
    yield Recommendation(
        rule="slower",
        finding=f"95 % of the queries took at most {format_ms(now)}"
        + (f", {format_ms(was)} in the baseline" if was else ""),
        advice=(f"{clean(slowest, 40)} takes most of it ({format_ms(stages[slowest])}); " if slowest else "")
        + "look at the slowest queries, and measure again on the same machine",
        queries=tuple(id_ for _, id_ in slow),
    )


def _exceeds(check: CheckRow) -> bool:
    """Return whether a check failed because its number is too high, and not because the number is not known."""
    if check.outcome != "fail" or check.current is None or check.limit is None:
        return False
    if check.kind == "max":
        return check.current > check.limit
    return check.baseline is not None and check.current > check.baseline * (check.limit if check.kind == "slow" else 1)


_ANSWERS = {
    "CiteCoverage": "look at where sections and chunks begin, and whether code and tables are chunks of their own",
    "CitePrecision": "too much is cited beside what answers: cite fewer and shorter parts",
    "CiteAccuracy": "the right section, but other bytes: compare the normaliser of the index with the golden set's",
    "CiteDeltaS": "similar words with another meaning: look at the embedder, and at chunks that mix subjects",
    "Lambda": "other words, other order: look at the reranker, and at what rewrites questions; see karat stability",
    "CiteStability": "other words, other citations: look at the reranker, and at what rewrites questions",
}
"""Where to look if a check of what answers cite fails, by measure."""


def _find_silent(document: DecisionDocument, name: str) -> int:
    """Return how many answers count as worst in a check of a measure that failed, because they say nothing."""
    names = (name, *(f"delta_s.{end}" for end in ("median", "p90", "max") if name == "CiteDeltaS"))
    failed = (check for check in document.checks if check.outcome == "fail" and check.metric in names)
    return max((check.unanswered or 0 for check in failed), default=0)


@rule("answers-cite-wrong")
def _cited(document: DecisionDocument) -> Iterator[Recommendation]:
    """A check of what answers cite failed: which answers, and what part of the index to look at."""
    failed = dict.fromkeys(check.metric for check in document.checks if check.outcome == "fail")
    measures = dict.fromkeys("CiteDeltaS" if name.startswith("delta_s.") else name for name in failed)
    for name in measures:
        advice = _ANSWERS.get(name.partition("(")[0])
        row = next((measure for measure in document.measures if measure.name == name), None)
        if advice is None or row is None or row.mean is None:
            continue
        if silent := _find_silent(document, name):
            advice = (
                f"{count(silent, 'answer', 'answers')} that say nothing count as worst: answer them, or, if the "
                + (f"documents do not answer the questions, mark these as unanswerable; {advice}")
            )
        mean, sign = row.mean, -1 if row.lower_is_better else 1
        scores = {query.id: sign * query.scores[name] for query in document.queries if name in query.scores}
        worse = sorted((id_ for id_, score in scores.items() if score <= sign * mean), key=lambda id_: scores[id_])
        yield Recommendation(
            rule="answers-cite-wrong",
            finding=f"{name} is {format_number(mean)}; {count(len(worse), 'query is', 'queries are')} no better",
            advice=advice,
            queries=tuple(worse),
        )


@rule("too-few-queries")
def _few(document: DecisionDocument) -> Iterator[Recommendation]:
    """The gate cannot decide: how many queries would, and which ones speak against the run."""
    unsure = [check for check in document.checks if check.outcome == "inconclusive" and check.needed]
    if not unsure:
        return
    most = max(unsure, key=lambda check: check.needed or 0)
    names = list(dict.fromkeys(check.metric for check in unsure))
    lost = dict.fromkeys(id_ for name in names for id_ in losers(document, name))
    compared = {check.n for check in unsure if check.n is not None}
    many = count_things(compared.pop(), "query", "queries") if len(compared) == 1 else "the queries"
    subject = "it" if len(names) == 1 else "they"
    # That there is some drop may well be shown: what nobody knows is whether it is larger than the rule tolerates.
    yield Recommendation(
        rule="too-few-queries",
        finding=f"{', '.join(names)}: {many} cannot tell whether {subject} got worse by more than is tolerated",
        advice=f"about {most.needed:,} would {describe_aim(most, most.metric)}; until then look at those that lost",
        queries=tuple(lost),
    )


def _intruders(query: QueryRow, cut: int) -> set[str]:
    """Return the documents that are new among the first hits and not relevant."""
    relevant = {row.document for row in query.expected}
    new = {hit.document for hit in query.hits[:cut] if hit.was is None or hit.was > cut}
    return new - relevant


def _most_frequent(counts: Counter[str]) -> tuple[str, int]:
    return min(counts.items(), key=lambda item: (-item[1], item[0]))


def _falls(document: DecisionDocument, measure: MeasureRow) -> dict[tuple[str, str], float]:
    """Return the segments of at least five queries that fell by 0.05 or more, and twice as much as all queries did."""
    falls = {}
    for segment in document.segments:
        now, was = segment.current(measure.name), (segment.baseline or {}).get(measure.name)
        if now is None or was is None or segment.field not in _FIELDS or segment.queries < 5:
            continue
        gain = measure.gain(now - was)
        if gain <= min(-0.05, 2 * measure.overall_gain):
            falls[segment.key] = gain
    return falls


def _means(document: DecisionDocument) -> dict[str, float]:
    """Return the means by name, NaN where there is none, so that it is neither high nor low."""
    return {measure.name: math.nan if measure.mean is None else measure.mean for measure in document.measures}


def _fallen(document: DecisionDocument, kind: str) -> Iterator[tuple[MeasureRow, int, dict[str, float]]]:
    """Yield the measures of a kind that fell below the baseline, with cut-off and the queries that lost."""
    for measure in document.measures:
        match = CUT.fullmatch(measure.name)
        if match and match[1] == kind and measure.overall_gain < -_TIE:
            yield measure, int(match[2]), losers(document, measure.name)


def _fall(name: str, measure: MeasureRow, lost: Collection[str], advice: str) -> Recommendation:
    before, after = format_number(measure.baseline), format_number(measure.current)
    return Recommendation(
        rule=name,
        finding=f"{measure.name} fell from {before} to {after}: {count(len(lost), 'query', 'queries')} lost",
        advice=advice,
        queries=tuple(lost),
    )
