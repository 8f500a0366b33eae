"""The queries that failed, and the queries that changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from msgspec import UNSET, UnsetType

from karat.core import is_missing
from karat.reports._words import clean
from karat.schema import DecisionDocument, ExpectedRow, LeftRow, QueryFailure, QueryRow

BELOW = 0.3
"""The limit on reciprocal rank if the policy names none: below it, the first relevant hit is fourth or later."""
CAUSES = "A cause is what the run alone shows; karat explain asks the system again, and finds more."
OF_UNANSWERABLE = ("RightRefusal", "TrueEmpty")
"""The measures that tell whether a query without an answer failed: not if one of them is 1."""
OF_REFUSED = "WrongRefusal"
"""The measure that tells whether the baseline refused a query that has an answer: not if it is 0."""
_ORDER = {"new": 0, "": 1, "old": 2}
_TIE = 1e-9
_NAMED = 20
_EXAMPLES = 5
_OF_LIMIT = re.compile(r"(.+) \S+ is below (\S+)")
_RECIPROCAL_RANK = re.compile(r"RR(\(.*\))?(@\d+)?")


class QueryStanding(NamedTuple):
    """What tells whether a query fails: what a terminal needs of a :class:`QueryRow`."""

    id: str
    error: str
    unfound: bool
    false_answer: bool
    scores: Mapping[str, float]
    baseline: Mapping[str, float]
    left: tuple[LeftRow, ...] = ()
    expected: tuple[ExpectedRow, ...] = ()
    unjudged: bool | UnsetType = False
    had_hits: bool = False
    """Whether the baseline had hits for it."""
    refused: bool | UnsetType = False
    was_failed: bool | UnsetType = UNSET


def query_limits(document: DecisionDocument) -> dict[str, float]:
    """Return the limits for a single query: those of the policy (``list_below``), or 0.3 for each reciprocal rank."""
    if document.verdict.list_below:
        return dict(document.verdict.list_below)
    return {measure.name: BELOW for measure in document.measures if _RECIPROCAL_RANK.fullmatch(measure.name)}


def find_failures(document: DecisionDocument, queries: Iterable[QueryRow | QueryStanding]) -> tuple[QueryFailure, ...]:
    """Return those of the queries of a run that failed, and why.

    They got an error, found nothing relevant, were refused although they have an answer, got hits although they have
    none, missed a must-pass, or lie below a limit. New failures come first, and those of which the baseline says
    nothing before the old ones.
    """
    limits = query_limits(document)
    missed: dict[str, list[str]] = {}
    for check in document.checks:
        if check.query and check.outcome == "fail":
            missed.setdefault(check.query, []).append(f"must pass: {clean(check.reason, 200)}")
    failures = []
    for query in queries:
        reasons = list(missed.get(query.id, ()))
        if is_missing(query.error):
            reasons.append("not in the run")
        elif query.error:
            reasons.append(f"failed: {clean(query.error, 200)}")
        elif query.unjudged:
            reasons.append("the golden set has nothing relevant for it")
        elif query.unfound:
            reasons.append("nothing relevant was found")
        elif query.false_answer:
            reasons.append("it has no answer, and hits were returned")
        elif query.refused:
            reasons.append("it has an answer, and was refused")
        else:
            reasons += [
                f"{name} {value:.2f} is below {limit:g}"
                for name, limit in limits.items()
                if (value := query.scores.get(name)) is not None and value < limit
            ]
        if reasons:
            since = _since(query, limits)
            had = _find_gone(query) if since == "new" else ""
            failures.append(QueryFailure(query=query.id, reasons=tuple(reasons), since=since, had=had or UNSET))
    return tuple(sorted(failures, key=lambda failure: _ORDER[failure.since or ""]))  # otherwise in their order


def _find_gone(query: QueryRow | QueryStanding) -> str:
    """Return the first relevant document that the baseline had, and that is no longer there; "" if there is none."""
    relevant = {row.document for row in query.expected}
    gone = next((left for left in query.left if left.document in relevant), None)
    return "" if gone is None else f"{clean(gone.document, 60)} at rank {gone.was}"


def find_fixed(
    document: DecisionDocument, queries: Iterable[QueryRow | QueryStanding], failures: Iterable[QueryFailure]
) -> tuple[str, ...]:
    """Return the queries that failed in the baseline, as far as its measures tell, and do not fail now."""
    limits, failed = query_limits(document), {failure.query for failure in failures}
    return tuple(query.id for query in queries if query.id not in failed and _since(query, limits) == "old")


def describe_fixed(document: DecisionDocument, show: Callable[[str], str]) -> str:
    """Return a line with the queries that no longer fail; "" if there are none."""
    if not document.fixed:
        return ""
    return f"\nFixed since the baseline ({len(document.fixed):,}): {_list(document.fixed, show)}\n"


def describe_failures(document: DecisionDocument, show: Callable[[str], str]) -> str:
    """Return in one line how many failures there are, which are new, and which are fixed; "" if there are none."""
    failures = document.failures
    if not failures and not document.fixed:
        return ""
    new = [failure.query for failure in failures if failure.since == "new"]
    old = sum(failure.since == "old" for failure in failures)
    line = f"{len(failures):,} of {document.run.queries:,} queries"
    if new or old:
        unknown = len(failures) - len(new) - old
        rest = f", {unknown:,} unknown" if unknown else ""
        line += f" ({len(new):,} new, {old:,} old{rest})"
    if new:
        line += f"; new: {_list(new, show)}"
    return line + (f"; fixed: {_list(document.fixed, show)}" if document.fixed else "")


def list_failure_kinds(document: DecisionDocument, show: Callable[[str], str]) -> list[str]:
    """Return a line for each reason why queries failed, with how many did and the first of them.

    A query with several reasons counts for the first one.
    """
    kinds: dict[str, list[str]] = {}
    for failure in document.failures:
        kind = _name_kind(failure.reasons[0]) if failure.reasons else "no reason given"
        kinds.setdefault(kind, []).append(failure.query)
    return [
        f"{clean(kind, 200)}: {len(queries):,} ({_list(queries, show, _EXAMPLES)})" for kind, queries in kinds.items()
    ]


@lru_cache(maxsize=1024)  # thousands of queries have the same few reasons
def _name_kind(reason: str) -> str:
    """Return a reason without what is said of one query only."""
    if below := _OF_LIMIT.fullmatch(reason):
        return f"{below[1]} is below {below[2]}"
    head = reason.partition(":")[0]
    return {"failed": "an error", "must pass": "a must-pass was missed"}.get(head, reason)


def _list(queries: Sequence[str], show: Callable[[str], str], most: int = _NAMED) -> str:
    return ", ".join(map(show, queries[:most])) + (" ..." if len(queries) > most else "")


def _since(query: QueryRow | QueryStanding, limits: Mapping[str, float]) -> Literal["new", "old"] | UnsetType:
    """Return whether a query failed in the baseline, as far as its measures tell; UNSET if the baseline has none.

    It was below a limit, got an error, found nothing relevant, or has no answer, and was neither refused nor without
    hits. Where no measure tells that, hits in the baseline do. Refusals are known by their measure alone.
    """
    refusals = [query.baseline[name] for name in OF_UNANSWERABLE if name in query.baseline]
    if refusals:
        return "new" if max(refusals) == 1 else "old"
    refusal = query.baseline.get(OF_REFUSED)
    if query.was_failed is True or refusal or (query.false_answer and _had_hits(query)):
        return "old"
    by_itself = query.unfound or query.false_answer or (query.refused and refusal is not None)
    is_known = query.was_failed is False and bool(query.error or by_itself)
    for name, limit in limits.items():
        value = query.baseline.get(name)
        if value is not None:
            if value < limit:
                return "old"
            is_known = not query.refused or is_known
    return "new" if is_known else UNSET


def _had_hits(query: QueryRow | QueryStanding) -> bool:
    if isinstance(query, QueryStanding):
        return query.had_hits
    return bool(query.left) or any(hit.was is not None for hit in query.hits)


def gains_by_query(document: DecisionDocument, name: str) -> dict[str, float]:
    """Return how much better each query became on a measure, the worst first; unchanged queries are left out."""
    measure = next((measure for measure in document.measures if measure.name == name), None)
    gains = {}
    for query in document.queries:
        if name in query.scores and name in query.baseline:
            difference = query.scores[name] - query.baseline[name]
            gain = difference if measure is None else measure.gain(difference)
            if abs(gain) > _TIE:
                gains[query.id] = gain
    return dict(sorted(gains.items(), key=lambda item: item[1]))


def losers(document: DecisionDocument, name: str) -> dict[str, float]:
    """Return the queries that became worse on a measure, the worst first, and by how much."""
    return {id_: gain for id_, gain in gains_by_query(document, name).items() if gain < 0}
