"""Patterns of means that point to a cause, with their words: for an evaluation alone, and for a decision."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from karat.reports._words import count, format_number

CUT = re.compile(r"(P|R|RR|nDCG|Success)(?:\(.*\))?@(\d{1,9})")
_OF_RELEVANCE = re.compile(r"(P|R|RR|nDCG|Success|AP|CiteCoverage|CiteAccuracy)\b")
NOTHING_FOUND = "no query found anything relevant"
COMPARE_IDS = "compare the ids that the system gives with those of the golden set"
ASK_FOR_MORE = "what is found is right, but most is missed: ask for more hits, or look at what is missed"
_HIGH, _LOW, _WEAK = 0.6, 0.4, 0.5
_NEARLY_NONE = 0.1


def hints(means: Mapping[str, float], unfound: int, queries: int, *, empty: int = 0) -> list[str]:
    """Return a line for each pattern that is worth a look; none is a verdict.

    ``unfound`` is how many of the ``queries`` found nothing relevant, and ``empty`` how many of them got an empty list.

    >>> hints({"P@5": 0.7, "R@5": 0.2}, 0, 120)[0][:47]
    'P@5 is high (0.7000) and R@5 is low (0.2000): w'
    """
    if not queries:
        return []
    if empty == queries:
        return [describe_no_hits(queries)]
    # A query counts as unfound if one of its wordings found nothing: then others may have.
    if unfound == queries and not any(means[name] > 0 for name in means if _OF_RELEVANCE.match(name)):
        return [f"{NOTHING_FOUND}: {COMPARE_IDS} (karat eval --per-query, and the run file)"]
    lines = [
        f"{describe_incomplete(means, precision, recall)}: {ASK_FOR_MORE}"
        for _, precision, recall in find_incomplete(means)
    ]
    if name := find_weak_order(means, unfound, queries):
        lines.append(f"{describe_weak_order(means, name)}: the order is weak; try a reranker")
    return lines


def describe_no_hits(queries: int) -> str:
    """Return that a system has returned nothing at all, and what to check."""
    check = "check that the index is filled, and that no filter, threshold or tenant removes everything"
    return f"the system returned no hits for any of {count(queries, 'query', 'queries')}: {check}"


def find_incomplete(means: Mapping[str, float]) -> Iterator[tuple[int, str, str]]:
    """Yield cut-off, precision and recall where precision is high and recall is low at the same cut-off."""
    for cut, names in names_by_cut(means).items():
        precision, recall = names.get("P"), names.get("R")
        if precision and recall and means[precision] >= _HIGH and means[recall] <= _LOW:
            yield cut, precision, recall


def describe_incomplete(means: Mapping[str, float], precision: str, recall: str) -> str:
    """Return high precision and low recall in words."""
    return (
        f"{precision} is high ({format_number(means[precision])}) and {recall} is low ({format_number(means[recall])})"
    )


def is_precise_but_incomplete(scores: Mapping[str, float], precision: str, recall: str) -> bool:
    """Return whether the scores of a query show high precision and low recall; a missing score does not."""
    return scores.get(precision, 0) >= _HIGH and scores.get(recall, 1) <= _LOW


def find_weak_order(means: Mapping[str, float], unfound: int, queries: int) -> str | None:
    """Return the reciprocal rank that is low although nearly every query finds something, or None."""
    name = next((name for name in means if re.match(r"RR\b", name)), None)
    if name is None or not queries or unfound > _NEARLY_NONE * queries or not means[name] < _WEAK:
        return None
    return name


def describe_weak_order(means: Mapping[str, float], name: str) -> str:
    """Return a low reciprocal rank in words."""
    return f"{name} is low ({format_number(means[name])}) although nearly every query finds something"


def names_by_cut(names: Mapping[str, object]) -> dict[int, dict[str, str]]:
    """Return the names of measures by cut-off and kind.

    >>> names_by_cut({"P@5": 0.5, "R@5": 0.5, "RR": 0.5})
    {5: {'P': 'P@5', 'R': 'R@5'}}
    """
    by_cut: dict[int, dict[str, str]] = {}
    for name in names:
        if match := CUT.fullmatch(name):
            by_cut.setdefault(int(match[2]), {})[match[1]] = name
    return by_cut
