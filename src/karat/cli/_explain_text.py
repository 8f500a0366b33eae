"""Why queries fail, as a terminal shows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from karat.causes import LIKELY
from karat.cli._table import bold, escaped, printable, render
from karat.core import is_missing

if TYPE_CHECKING:
    from karat.schema import DocumentStanding, ExplainDocument, ExplainedQuery

_NONE = "-"
_QUERIES = 6
_CHANGES = 8
_WIDTH = 40
_FIRST_MOVES = 3
_WORSE = 20
_FALLS = 2
_SINCE = "baseline"
_UNRECORDED = (
    "which stage moved them is not known: the runs have no list of the same stage; a run of the pipeline records its "
    "channels, and a system of your own can return its stages"
)


def explain_text(document: ExplainDocument, *, single: bool) -> str:
    """Return the summary, then the groups and what would help, or all about one query."""
    head = [bold(escaped(document.summary)), f"run  {printable(document.run, 80)} ({escaped(document.file)})"]
    if document.against is not None:
        head.append(f"against  {printable(document.against, 80)}")
    head += _changes(document)
    if document.baseline is not None and document.worse == 0:
        old = bool(document.groups) and all(group.change == "old" for group in document.groups)
        head.append(f"no query is worse than in the baseline{'; these failed before, too' if old else ''}")
    if document.note:
        head.append(escaped(document.note))
    parts = ["\n".join(head)]
    if single:
        parts += [part for query in document.explained for part in _query(query)]
    else:
        parts += [
            _groups(document),
            _worse(document),
            _what_if(document),
            "\n".join(f"- {escaped(hint)}" for hint in document.hints),
        ]
        if document.against is not None:
            shown = document.explained[:_QUERIES]
            parts += [_moves(query) for query in shown]
            parts += [_UNRECORDED] if any(not move.stage for query in shown for move in query.moved) else []
    return "\n\n".join(part for part in parts if part)


def _changes(document: ExplainDocument) -> Iterator[str]:
    """Yield in what the runs differ: often that is the reason."""
    parts = [
        f"{printable(change.key, 60)} {_part(change.now)}, was {_part(change.was)}"
        for change in document.changes[:_CHANGES]
    ]
    rest = len(document.changes) - _CHANGES
    if parts:
        other = "they differ" if document.against is not None else "it differs from the baseline"
        yield f"{other} in  {'; '.join(parts)}{f'; and {rest:,} more' if rest > 0 else ''}"


def _part(value: object) -> str:
    return "off" if value is None else printable(str(value), _WIDTH)


def _groups(document: ExplainDocument) -> str:
    if not document.groups:
        return ""
    changes = len({group.change for group in document.groups}) > 1
    rows = [["cause", *([_SINCE] if changes else []), "such as", "queries", "lost"]]
    for group in document.groups:
        some = ", ".join(printable(query, 20) for query in group.queries[:_QUERIES])
        more = " ..." if len(group.queries) > _QUERIES else ""
        since = [group.change] if changes else []
        rows.append([group.title, *since, some + more, str(len(group.queries)), f"{group.lost:.2f}"])
    lines = render(rows, left=3 if changes else 2)
    kept = f"lost: the sum over queries of the share of relevant grades that is not among the first {document.cut}"
    needless = sum(len(group.queries) for group in document.groups if group.cause == "unanswerable")
    note = (
        f"; {needless:,} without an answer got hits, and {'counts' if needless == 1 else 'count'} 1" if needless else ""
    )
    return f"{lines}\n{kept}; {document.failed - needless:,} of {document.queries:,} queries lost something{note}"


def _worse(document: ExplainDocument) -> str:
    """Show the queries that became worse: by which measures, and from which rank to which their documents fell."""
    worse = [query for query in document.explained if query.change == "worse"]
    if not worse:
        return ""
    rows = [["became worse", "by", "relevant documents"]]
    for query in worse[:_WORSE]:
        falls = list(_falls(query))
        by = "; ".join([*falls[:_FALLS], *([f"{len(falls) - _FALLS:,} more"] if len(falls) > _FALLS else [])])
        fallen = "; ".join(map(_fall, filter(_is_lower, query.expected)))
        rows.append([printable(query.query, _WIDTH), by or _NONE, fallen or _NONE])
    rest = len(worse) - _WORSE
    return render(rows, left=3) + (f"\n... and {rest:,} more, which --json has" if rest > 0 else "")


def _falls(query: ExplainedQuery) -> Iterator[str]:
    for measure, (was, now) in query.falls.items():
        yield f"{printable(measure, 30)} {was:.3f} to {now:.3f}"


def _is_lower(standing: DocumentStanding) -> bool:
    return standing.was is not None and (standing.rank is None or standing.rank > standing.was)


def _fall(standing: DocumentStanding) -> str:
    name = printable(standing.document, _WIDTH)
    return f"{name} out, was {standing.was}" if standing.rank is None else f"{name} {standing.was} to {standing.rank}"


def _what_if(document: ExplainDocument) -> str:
    if not document.what_if:
        return ""
    rows = [["what if", "found", "lost", "balance"]]
    rows += [[row.change, f"+{row.found}", f"-{row.lost}", f"{row.net:+.0%}"] for row in document.what_if]
    return render(rows) + "\nfound and lost are relevant documents; the balance is in shares of all that is lost now"


def _query(query: ExplainedQuery) -> Iterator[str]:
    yield bold(f"{printable(query.query)}  {escaped(query.text)}")
    if query.falls:
        yield f"became worse: {'; '.join(_falls(query))}"
    if query.error:
        yield f"{'' if is_missing(query.error) else 'the system failed: '}{escaped(query.error)[:400]}"
    if query.lost and not query.error and not (query.causes and query.causes[0].strength >= LIKELY):
        yield "no known cause" + ("; what might have to do with it:" if query.causes else "")
    for place, finding in enumerate(query.causes, 1):
        yield (
            f"{place}. {finding.title} ({finding.strength:.2f})\n   {escaped(finding.evidence)}\n   fix: {finding.fix}"
        )
    if query.expected:
        yield _standings(query)
    lost = [standing for standing in query.expected if standing.state != "found"]
    yield from (_passage(standing) for standing in lost[:_QUERIES])
    yield _moves(query, whole=True)
    yield _UNRECORDED if any(not move.stage for move in query.moved) else ""


def _standings(query: ExplainedQuery) -> str:
    stages = list(dict.fromkeys(place.stage for standing in query.expected for place in standing.places))
    before = any(standing.was for standing in query.expected)
    rows = [["expected", "state", "grade", *stages, *(["before"] if before else [])]]
    for standing in query.expected:
        ranks = {place.stage: _place(place.rank) for place in standing.places}
        state = [printable(standing.document, _WIDTH), standing.state, str(standing.grade)]
        was = [_place(standing.was)] if before else []
        rows.append([*state, *(ranks.get(stage, "") for stage in stages), *was])
    return render(rows, left=2)


def _passage(standing: DocumentStanding) -> str:
    lines = [bold(f"{printable(standing.document, 80)}: {standing.state}")]
    if places := ", ".join(
        f"{printable(place.stage, 30)} {place.rank} of {place.size} (score {place.score:.4g})"
        for place in standing.places
        if place.rank is not None and place.score is not None
    ):
        lines.append(f"stands at {places}")
    if standing.beaten_by:
        others = (
            printable(other, _WIDTH) + (" (a hard negative)" if other in standing.hard_negatives else "")
            for other in standing.beaten_by
        )
        lines.append(f"beaten by {', '.join(others)}")
    if standing.matched or standing.unmatched:
        lines.append(f"matched: {_words(standing.matched)}; not matched: {_words(standing.unmatched)}")
    if standing.passage is not None:
        start, end = standing.passage.span
        lines.append(f"should have matched: {printable(standing.passage.id, 60)}, bytes {start} to {end}:")
        lines.append(f"  {printable(' '.join(standing.passage.text.split()), 300)}")
    return "\n".join(lines)


def _words(words: tuple[str, ...]) -> str:
    return ", ".join(printable(word, 30) for word in words) or _NONE


def _moves(query: ExplainedQuery, *, whole: bool = False) -> str:
    """Show what moved, and by which stage if the runs have recorded any; the first ones only if none is known."""
    if not query.moved:
        return ""
    recorded = any(move.stage for move in query.moved)
    head = [f"{printable(query.query)}: moved", "grade", "rank before", "rank now"]
    rows = [[*head, "by stage", "in that stage before", "now"] if recorded else head]
    for move in query.moved if recorded or whole else query.moved[:_FIRST_MOVES]:
        row = [printable(move.document, _WIDTH), "?" if move.grade is None else str(move.grade)]
        row += [_place(move.was), _place(move.rank)]
        if recorded:
            row += [printable(move.stage or "not recorded", 30), _place(move.stage_was), _place(move.stage_rank)]
        rows.append(row)
    rest = len(query.moved) - len(rows) + 1
    return render(rows) + (f"\n... and {rest:,} more" if rest else "")


def _place(rank: int | None) -> str:
    return _NONE if rank is None else str(rank)
