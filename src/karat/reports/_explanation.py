"""Why checks did not pass, in a few lines: for the message of a failed test, or of an exception."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from karat.core import count_things, format_ms
from karat.reports._failures import gains_by_query
from karat.reports._terminal import escaped
from karat.reports._verdict import OPERATIONS, name_policy
from karat.reports._words import describe_aim, describe_rule
from karat.schema import CheckRow, DecisionDocument, QueryRow

_SHOWN = 5
_WIDTH = 200


def render_refusal(document: DecisionDocument) -> str:
    """Return the outcome, and an explanation of the checks that failed, or of the inconclusive ones if none did."""
    verdict, checks = document.verdict, document.checks
    wrong = [check for check in checks if check.outcome in ("error", "fail")]
    wrong = wrong or [check for check in checks if check.outcome == "inconclusive"]
    outcome = "no decision" if verdict.outcome == "error" else verdict.outcome
    head = f"{outcome} by policy {_safe(name_policy(verdict))}: {len(wrong)} of {len(checks)} checks"
    return f"{head}\n{explain_checks(document, wrong)}"


def explain_checks(document: DecisionDocument, checks: Iterable[CheckRow]) -> str:
    """Return what checks ask for, why they hold or not, their numbers, and the queries that they rest on.

    The queries follow once for each metric. Text from the golden set or the system has no line breaks and no control
    characters, so that it cannot act on a terminal or a log.
    """
    groups: dict[tuple[str, str], list[CheckRow]] = {}
    for check in checks:
        groups.setdefault((check.name, check.query), []).append(check)
    queries = {query.id: query for query in document.queries}
    lines = []
    for group in groups.values():
        for check in group:
            lines += [summarise_check(check), *(f"  {line}" for line in _numbers(check))]
        first = group[0]
        rows = _one_query(queries.get(first.query)) if first.query else _queries(document, first)
        lines += [f"  {row}" for row in rows]
    return "\n".join(lines)


def summarise_check(check: CheckRow) -> str:
    """Return what a check asks for, and why it holds or not, in one line."""
    return f"{_safe(check.name)}, {describe_rule(check)}: {_safe(check.reason)}"


def _numbers(check: CheckRow) -> Iterator[str]:
    values = (("current", check.current), ("baseline", check.baseline))
    parts = [f"{name} {_format(check, value)}" for name, value in values if value is not None]
    if check.difference is not None:
        parts.append(f"change {check.difference:+.4f}")
    if check.p is not None:
        parts.append(f"p {check.p:.3g}")
    if check.n is not None:
        parts.append(count_things(check.n, "query", "queries"))
    if check.needed:
        parts.append(f"about {check.needed:,} would {describe_aim(check)}")
    if parts:
        yield ", ".join(parts)


def _format(check: CheckRow, value: float) -> str:
    """Return a number of a check: operational rules count queries, or milliseconds."""
    if check.kind not in OPERATIONS:
        return f"{value:.4f}"
    return format_ms(value) if check.kind == "slow" else f"{value:,.0f}"


def _queries(document: DecisionDocument, check: CheckRow) -> Iterator[str]:
    """Yield the queries that fell most, or, if the baseline has no scores, those that are lowest."""
    metric, queries = check.metric, _queries_of(document, check)
    if any(metric in query.baseline for query in document.queries):
        gains = sorted((gain, id_) for id_, gain in gains_by_query(document, metric).items())
        title, losers = "lost most", [queries[id_] for gain, id_ in gains if gain < 0 and id_ in queries]
        rows = [(query, f"{query.baseline[metric]:.3f} to {query.scores[metric]:.3f}") for query in losers]
    else:
        scores = sorted((query.scores[metric], id_) for id_, query in queries.items() if metric in query.scores)
        title, rows = "lowest", [(queries[id_], f"{score:.3f}") for score, id_ in scores]
    if rows:
        yield f"{title} ({min(_SHOWN, len(rows))} of {len(rows):,}):"
    for query, numbers in rows[:_SHOWN]:
        yield f"  {_safe(query.id)}  {numbers}  {_text(query)}"


def _queries_of(document: DecisionDocument, check: CheckRow) -> dict[str, QueryRow]:
    """Return the queries that a check looks at, by id: all of them, or those of its segment."""
    queries = {query.id: query for query in document.queries}
    if check.segment is None:
        return queries
    ids = next((segment.ids for segment in document.segments if segment.key == check.segment), ())
    return {id_: queries[id_] for id_ in ids if id_ in queries}


def _one_query(query: QueryRow | None) -> Iterator[str]:
    """Yield what one query asked for, what was expected and what was found."""
    if query is None:
        return
    yield _text(query)
    for title, rows in (("expected", query.expected), ("found", query.hits)):
        ids = list(dict.fromkeys(row.document for row in rows))
        shown = ", ".join(map(_safe, ids[:_SHOWN])) + (" ..." if len(ids) > _SHOWN else "")
        yield f"{title}: {shown or 'nothing'}"


def _text(query: QueryRow) -> str:
    return f"failed: {_safe(query.error)}" if query.error else _safe(query.text)


def _safe(text: str) -> str:
    return escaped(text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}...")
