"""Why a query failed, by rules over what its report shows; ``karat explain`` asks the system, too."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile

from karat.reports._words import clean
from karat.schema import QueryRow

_CROWDED = 0.3  # the share of hits that repeat a document above them
_FIRST = 3
_MANY = 0.5


def name_cause(query: QueryRow, *, judges_all: bool = True) -> str:
    """Return the first cause that the lists of a query show, under its name in ``karat explain``; "" if none.

    With ``judges_all`` the set has judgments of what is not relevant, so that a hit without one says something.

    >>> from karat.schema import ExpectedRow, HitRow
    >>> hit = HitRow(rank=1, id="docs/wifi.md", document="docs/wifi.md", score=1, grade=None, was=None)
    >>> row = QueryRow(id="q", text="?", scores={}, baseline={}, error="", unfound=True, ms=None, hits=(hit,),
    ...                expected=(ExpectedRow(document="wifi", title="", grade=3, rank=None),))
    >>> name_cause(row)
    'ids or gold: none of the hits is judged'
    """
    if query.error or not query.hits or not query.expected:
        return ""
    rules = (*_RULES, *(_UNJUDGED if judges_all else ()))
    return next((text for rule in rules if (text := rule(query))), "")


def _unjudged(query: QueryRow) -> str:
    return "ids or gold: none of the hits is judged" if all(hit.grade is None for hit in query.hits) else ""


def _copies(query: QueryRow) -> str:
    repeated = len(query.hits) - len({hit.document for hit in query.hits})
    return (
        f"copies: {repeated} of {len(query.hits)} hits repeat a document"
        if repeated >= _CROWDED * len(query.hits)
        else ""
    )


def _gone(query: QueryRow) -> str:
    """A relevant document that the baseline had, and that is no longer there."""
    relevant = {row.document for row in query.expected}
    gone = next((left for left in query.left if left.document in relevant), None)
    return "" if gone is None else f"changed: the baseline had {clean(gone.document, 60)} at rank {gone.was}"


def _hidden(query: QueryRow) -> str:
    """A relevant document that a channel has among its first, and the list does not."""
    relevant = {row.document for row in query.expected}
    for hit in query.hits:
        best = min(hit.channels.items(), key=lambda item: (item[1], item[0]), default=None)
        if best is not None and hit.document in relevant and 0 < best[1] <= _FIRST < hit.rank and len(hit.channels) > 1:
            return (
                f"fusion: {clean(best[0], 40)} has {clean(hit.document, 60)} at rank {best[1]}, the list at {hit.rank}"
            )
    return ""


def _doubtful(query: QueryRow) -> str:
    relevant = {row.document for row in query.expected}
    above = list(takewhile(lambda hit: hit.document not in relevant, query.hits))
    unjudged = sum(hit.grade is None for hit in above)
    if not above or unjudged < _MANY * len(above):
        return ""
    return f"gold: {unjudged} of the {len(above)} hits above the first relevant one are not judged"


_RULES: tuple[Callable[[QueryRow], str], ...] = (_copies, _gone, _hidden)
_UNJUDGED: tuple[Callable[[QueryRow], str], ...] = (_unjudged, _doubtful)
