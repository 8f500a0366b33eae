"""What to look at next: rules over the numbers of a report, each of which names the queries that it rests on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from karat.reports._failures import moves
from karat.reports._words import counted, figure, gain, plain

Document = Mapping[str, Any]
_CUT = re.compile(r"(P|R|RR|nDCG|Success)(?:\(.*\))?@(\d+)")
_FEW = 3  # what fewer queries show is told query by query in the report
_FIELDS = ("category", "type", "intent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """Something worth doing, why, and the queries that show it."""

    rule: str
    finding: str
    advice: str
    queries: tuple[str, ...]


Rule = Callable[[Document], Iterable[Recommendation]]
RULES: dict[str, Rule] = {}
"""The rules by name, in the order in which they are told; :func:`rule` adds one."""


def rule(name: str) -> Callable[[Rule], Rule]:
    """Add a function to the rules; it takes the document and yields recommendations."""

    def add(function: Rule) -> Rule:
        RULES[name] = function
        return function

    return add


def recommendations(document: Document) -> tuple[Recommendation, ...]:
    """Give what every rule has to say; nothing where there is nothing to be said."""
    return tuple(one for function in RULES.values() for one in function(document) if one.queries)


@rule("failed-queries")
def _failed(document: Document) -> Iterator[Recommendation]:
    """Queries with an error count as 0, so every other number is too low until they are mended."""
    by: dict[str, list[str]] = {}
    for query in document["queries"]:
        if query["error"]:
            by.setdefault(plain(query["error"], 120), []).append(query["id"])
    for error, ids in sorted(by.items(), key=lambda item: -len(item[1]))[:_FEW]:
        yield Recommendation(
            rule="failed-queries",
            finding=f"{counted(len(ids), 'query', 'queries')} failed with the same error: {error}",
            advice="mend this first: a query that failed counts as 0 in every mean",
            queries=tuple(ids),
        )


@rule("nothing-found")
def _nothing(document: Document) -> Iterator[Recommendation]:
    """All metrics are 0: the ids that come back are perhaps not those of the golden set."""
    asked = [query for query in document["queries"] if not query["error"]]
    if not asked or not all(query["unfound"] for query in asked):
        return
    gave = next((hit["document"] for query in asked for hit in query["hits"]), None)
    wants = next((one["document"] for query in asked for one in query["expected"]), None)
    advice = "compare the ids that the system gives with those of the golden set"
    if gave is None:
        advice = "the system gave no hits at all: is the index empty, or is everything filtered out?"
    elif wants is not None:
        advice += f": it gave {plain(gave, 60)!r} where {plain(wants, 60)!r} is expected"
    yield Recommendation(
        rule="nothing-found",
        finding="no query found anything relevant",
        advice=advice,
        queries=tuple(query["id"] for query in asked),
    )


@rule("precise-but-incomplete")
def _incomplete(document: Document) -> Iterator[Recommendation]:
    """Precision is high and recall is low: more is relevant than is asked for, or it is not found."""
    for cut, names in _cuts(document).items():
        precision, recall = names.get("P"), names.get("R")
        if not precision or not recall or _mean(document, precision) < 0.6 or _mean(document, recall) > 0.4:
            continue
        short = [
            query
            for query in document["queries"]
            if query["scores"].get(precision, 0) >= 0.6 and query["scores"].get(recall, 1) <= 0.4
        ]
        crowded = [query for query in short if len(query["expected"]) > cut]
        if 2 * len(crowded) > len(short):
            advice = f"{len(crowded):,} of them have more than {cut} relevant documents, which {cut} hits cannot hold: "
            advice += "measure at a larger cut-off, or hand more hits on"
        else:
            advice = "what is found is right, but most is missed: ask for more hits, or look at what is missed"
        yield Recommendation(
            rule="precise-but-incomplete",
            finding=f"{precision} is high ({figure(_mean(document, precision))}) and "
            f"{recall} is low ({figure(_mean(document, recall))})",
            advice=advice,
            queries=tuple(query["id"] for query in short),
        )


@rule("weak-order")
def _order(document: Document) -> Iterator[Recommendation]:
    """The reciprocal rank is low although nearly every query finds something: the order is weak."""
    queries = [query for query in document["queries"] if not query["error"]]
    if not queries or sum(query["unfound"] for query in queries) > 0.1 * len(queries):
        return
    name = next((one["name"] for one in document["measures"] if re.match(r"RR\b", one["name"])), None)
    if name is None or _mean(document, name) >= 0.5:
        return
    late = [
        query["id"]
        for query in queries
        if (ranks := [one["rank"] for one in query["expected"] if one["rank"]]) and min(ranks) > 2
    ]
    rerank = document["run"]["system"].get("rerank")
    advice = "a reranker orders what is found; the pipeline has none" if rerank is None else (
        "look at what stands above the first relevant hit, and at the reranker's depth and weight"
    )  # fmt: skip
    yield Recommendation(
        rule="weak-order",
        finding=f"{name} is low ({figure(_mean(document, name))}) although nearly every query finds something: "
        f"in {counted(len(late), 'query', 'queries')} the first relevant hit is third or later",
        advice=advice,
        queries=tuple(late),
    )


@rule("precision-fell")
def _precision(document: Document) -> Iterator[Recommendation]:
    """Precision fell: what came in that is not relevant, and whether a threshold would keep it out."""
    for name, cut, lost in _fallen(document, "P"):
        intruders = Counter(
            new for query in document["queries"] if query["id"] in lost for new in _intruders(query, cut)
        )
        advice = f"review the false positives among the first {cut}"
        if intruders:
            document_, times = min(intruders.items(), key=lambda item: (-item[1], item[0]))
            advice += f": {plain(document_, 60)!r} is new in {times:,} of them" if times > 1 else ""
        rerank = document["run"]["system"].get("rerank")
        threshold = rerank.get("threshold") if isinstance(rerank, Mapping) else None
        if isinstance(threshold, int | float):
            advice += f"; raise the reranker's threshold (it is {threshold:g}, try {threshold + 0.1:g})"
        yield _fall("precision-fell", document, name, lost, advice)


@rule("recall-fell")
def _recall(document: Document) -> Iterator[Recommendation]:
    """Recall fell: which relevant documents are no longer there."""
    for name, cut, lost in _fallen(document, "R"):
        gone = Counter(
            one["document"]
            for query in document["queries"]
            if query["id"] in lost
            for one in query["expected"]
            if one["rank"] is None or one["rank"] > cut
        )
        advice = f"look at what is missing among the first {cut}"
        if gone:
            document_, times = min(gone.items(), key=lambda item: (-item[1], item[0]))
            advice += f": {plain(document_, 60)!r} is missing from {times:,} of them" if times > 1 else ""
        changed = [plain(one["key"], 40) for one in (document["baseline"] or {}).get("changes", ())]
        if changed:
            advice += f"; what changed in the system: {', '.join(changed[:5])}{' ...' if len(changed) > 5 else ''}"
        yield _fall("recall-fell", document, name, lost, advice)


@rule("segment-fell")
def _segment(document: Document) -> Iterator[Recommendation]:
    """One part of the queries fell much more than all of them did."""
    worst: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for measure in document["measures"]:
        falls = _falls(document, measure)
        if falls:
            worst.setdefault(min(falls, key=lambda segment: (falls[segment], segment)), []).append(measure)
    for (field, value), measures in worst.items():
        within = {query["id"] for query in document["queries"] if query.get(field) == value}
        lost = dict.fromkeys(
            id_
            for measure in measures
            for id_, change in moves(document, measure["name"]).items()
            if change < 0 and id_ in within
        )
        shown = ", ".join(
            f"{measure['name']} by {-_falls(document, measure)[field, value]:.3f} ({_overall(measure)})"
            for measure in measures
        )
        yield Recommendation(
            rule="segment-fell",
            finding=f"{field} {plain(value, 40)} fell more than the rest: {shown}",
            advice=f"look at this {field} first: {len(lost):,} of its {counted(len(within), 'query', 'queries')} lost",
            queries=tuple(lost),
        )


def _overall(measure: Mapping[str, Any]) -> str:
    change = gain(measure, measure.get("difference"))
    return f"on all by {-change:.3f}" if change < 0 else "on all it did not fall"


@rule("fusion-hides")
def _fusion(document: Document) -> Iterator[Recommendation]:
    """A relevant document that one channel has among its first three stands low in the fused list."""
    hidden: dict[str, dict[str, None]] = {}
    for query in document["queries"]:
        relevant = {one["document"] for one in query["expected"]}
        for hit in query["hits"]:
            channels = hit.get("channels") or {}
            if len(channels) > 1 and hit["document"] in relevant and hit["rank"] > 5:
                best = min(channels, key=lambda channel: (channels[channel], channel))
                if channels[best] <= 3:
                    hidden.setdefault(best, {})[query["id"]] = None
    first, *others = sorted(hidden.items(), key=lambda item: (-len(item[1]), item[0])) or [("", {})]
    channel, ids = first
    # Where it happens to both channels about as often, no weight mends it.
    if len(ids) >= max(_FEW, 0.05 * len(document["queries"])) and all(len(ids) >= 2 * len(more) for _, more in others):
        yield Recommendation(
            rule="fusion-hides",
            finding=f"in {counted(len(ids), 'query', 'queries')} {plain(channel, 40)} has a relevant document among "
            "its first three that the fused list has sixth or later",
            advice=f"try more weight for {plain(channel, 40)}, or a smaller k of the fusion",
            queries=tuple(ids),
        )


@rule("unjudged")
def _unjudged(document: Document) -> Iterator[Recommendation]:
    """Much of what is found was never judged, so it counts as not relevant without anybody having looked."""
    judged = any(hit["grade"] == 0 for query in document["queries"] for hit in query["hits"])
    if not judged:  # a set with relevant documents only means that all others are not
        return
    ids = tuple(
        query["id"]
        for query in document["queries"]
        if query["hits"] and 2 * sum(hit["grade"] is None for hit in query["hits"][:5]) > len(query["hits"][:5])
    )
    if len(ids) >= _FEW:
        yield Recommendation(
            rule="unjudged",
            finding=f"in {counted(len(ids), 'query', 'queries')} most of the first five hits were never judged",
            advice="judge them before the numbers are believed: karat golden pool lists them",
            queries=ids,
        )


@rule("slower")
def _slower(document: Document) -> Iterator[Recommendation]:
    """The 95th percentile rose by more than a fifth, or a limit on latency failed: which stage, and which queries."""
    now, was = (document["latency"][key].get("total", {}).get("p95") for key in ("stages", "baseline"))
    failed = any(
        one.get("metric", "").startswith("latency.") and one["outcome"] == "fail" for one in document["checks"]
    )
    rose = bool(now and was and now > 1.2 * was and now - was >= 10)
    if now is None or not (rose or failed):
        return
    stages = {name: one["p95"] for name, one in document["latency"]["stages"].items() if name != "total"}
    slow = sorted(
        (query for query in document["queries"] if (query["ms"] or 0) >= now), key=lambda q: (-q["ms"], q["id"])
    )
    most = min(stages, key=lambda name: (-stages[name], name)) if stages else ""
    yield Recommendation(
        rule="slower",
        finding=f"95 % of the queries took at most {now:,.0f} ms" + (f", {was:,.0f} ms in the baseline" if was else ""),
        advice=(f"{plain(most, 40)} takes most of it ({stages[most]:,.0f} ms); " if most else "")
        + "look at the slowest queries, and measure again on the same machine",
        queries=tuple(query["id"] for query in slow),
    )


@rule("too-few-queries")
def _few(document: Document) -> Iterator[Recommendation]:
    """The gate cannot decide: how many queries would, and which ones speak against the run."""
    open_ = [check for check in document["checks"] if check["outcome"] == "inconclusive" and check.get("needed")]
    if not open_:
        return
    most = max(open_, key=lambda check: (check["needed"], check.get("metric", "")))
    names = list(dict.fromkeys(check.get("metric", "") for check in open_))
    lost = dict.fromkeys(
        id_ for name in names for id_, change in moves(document, name).items() if change < 0
    )  # fmt: skip
    yield Recommendation(
        rule="too-few-queries",
        finding=f"{', '.join(names)}: no drop is shown, and none ruled out, by {document['run']['queries']:,} queries",
        advice=f"about {most['needed']:,} would decide on {most['metric']}; until then look at those that lost",
        queries=tuple(lost),
    )


def _intruders(query: Mapping[str, Any], cut: int) -> set[str]:
    """Give the documents that are new among the first hits, and not relevant."""
    relevant = {one["document"] for one in query["expected"]}
    new = {hit["document"] for hit in query["hits"][:cut] if hit["was"] is None or hit["was"] > cut}
    return new - relevant


def _falls(document: Document, measure: Mapping[str, Any]) -> dict[tuple[str, str], float]:
    """Give the parts with at least five queries that fell by 0.05 or more, and twice as much as all queries did."""
    whole, found = gain(measure, measure.get("difference")), {}
    for segment in document["segments"]:
        now, was = segment["means"].get(measure["name"]), (segment["baseline"] or {}).get(measure["name"])
        if now is None or was is None or segment["field"] not in _FIELDS or segment["queries"] < 5:
            continue
        change = gain(measure, now - was)
        if change <= min(-0.05, 2 * whole):
            found[segment["field"], segment["value"]] = change
    return found


def _cuts(document: Document) -> dict[int, dict[str, str]]:
    """Give the names of the measures by cut-off and kind."""
    found: dict[int, dict[str, str]] = {}
    for measure in document["measures"]:
        if match := _CUT.fullmatch(measure["name"]):
            found.setdefault(int(match[2]), {})[match[1]] = measure["name"]
    return found


def _mean(document: Document, name: str) -> float:
    return next((one["mean"] or 0.0 for one in document["measures"] if one["name"] == name), 0.0)


def _fallen(document: Document, kind: str) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    """Give the measures of a kind that fell below the baseline, with cut-off and the queries that lost."""
    for measure in document["measures"]:
        match = _CUT.fullmatch(measure["name"])
        if match and match[1] == kind and gain(measure, measure.get("difference")) < -1e-9:
            lost = tuple(id_ for id_, change in moves(document, measure["name"]).items() if change < 0)
            yield measure["name"], int(match[2]), lost


def _fall(name: str, document: Document, measure: str, lost: Sequence[str], advice: str) -> Recommendation:
    one = next(one for one in document["measures"] if one["name"] == measure)
    finding = f"{measure} fell from {figure(one['baseline'])} to {figure(one['mean'])}: "
    return Recommendation(
        rule=name,
        finding=finding + f"{counted(len(lost), 'query', 'queries')} lost",
        advice=advice,
        queries=tuple(lost),
    )
