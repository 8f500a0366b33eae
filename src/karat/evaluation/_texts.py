"""What a system returned, in notes: unknown and repeated ids, lists out of order, and what is in no document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from karat.core import GoldenSet, Trace, shorten
from karat.evaluation._evaluation import Evaluation
from karat.evaluation._hit_texts import find_altered
from karat.evaluation._returned import describe_invented, describe_order, describe_repeated_ids, describe_types
from karat.evaluation._unknown_ids import describe_unknown_ids
from karat.evaluation._worst import UNKNOWN

_NAMED = 5


def describe_returned(golden: GoldenSet, evaluation: Evaluation) -> list[str]:
    """Return notes on what a system returned: unknown or repeated ids, a wrong order, invented citations and texts."""
    own = evaluation.texts
    return [
        *describe_unknown_ids(golden, evaluation.traces),
        *describe_repeated_ids(evaluation.traces),
        *describe_order(evaluation.traces),
        *describe_types(evaluation.traces),
        *describe_invented(evaluation.invented),
        *describe_unknown_texts(evaluation),
        *_describe_altered(find_altered(golden, evaluation.traces) if own is None else own.altered),
    ]


def describe_unknown_texts(evaluation: Evaluation) -> list[str]:
    """Return the measures in which answers count as worst because a text is unknown, and what to do about it."""
    notes = []
    for measure, counts in evaluation.unmeasured.items():
        if by_query := counts.get(UNKNOWN):
            total = sum(by_query.values())
            answers = "1 answer counts" if total == 1 else f"{total:,} answers count"
            notes.append(
                f"{measure}: {answers} as worst in a gate, because a text is not known ({_name(by_query)}); let the "
                "system return hits with their content, or add the documents to the golden set"
            )
    return notes


def describe_altered(golden: GoldenSet, traces: Sequence[Trace]) -> list[str]:
    """Return a note if hits have texts that their documents do not have, with the first of the queries."""
    return _describe_altered(find_altered(golden, traces))


def _describe_altered(altered: Mapping[str, int]) -> list[str]:
    if not altered:
        return []
    count = sum(altered.values())
    hits = "1 hit" if count == 1 else f"{count:,} hits"
    queries = "1 query" if len(altered) == 1 else f"{len(altered):,} queries"
    verb = "has" if count == 1 else "have"
    return [
        f"{hits} of {queries} {verb} a text that is not in the document, and judges believe such texts: "
        f"{_name(altered)}"
    ]


def _name(queries: Iterable[str]) -> str:
    """Return the first queries, in one line."""
    names = list(queries)
    return ", ".join(map(shorten, names[:_NAMED])) + (", ..." if len(names) > _NAMED else "")
