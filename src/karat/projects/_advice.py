"""What numbers that stand together often mean, and what to look at next."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_CUT = re.compile(r"(P|R|RR|Success)@(\d+)")


def advice(means: Mapping[str, float], unfound: int, queries: int) -> list[str]:
    """Give a line for each pattern that is worth a look; none is a verdict.

    >>> advice({"P@5": 0.7, "R@5": 0.2}, 0, 120)
    ['P@5 is high and R@5 is low: what is found is right, but most is missed; ask for more hits, or look at the gold']
    """
    return list(_lines(means, unfound, queries))


def _lines(means: Mapping[str, float], unfound: int, queries: int) -> Iterator[str]:
    if not queries:
        return
    if unfound == queries:
        yield (
            "no query found anything relevant: compare the ids that the system gives with those of the golden set "
            "(karat eval --per-query, and the run file)"
        )
        return
    by = {(match[1], match[2]): name for name in means if (match := _CUT.fullmatch(name))}
    for (kind, cut), name in by.items():
        precision = by.get(("P", cut))
        if kind == "R" and precision and means[precision] >= 0.6 and means[name] <= 0.4:
            yield (
                f"{precision} is high and {name} is low: what is found is right, but most is missed; "
                "ask for more hits, or look at the gold"
            )
        if kind == "RR" and means[name] < 0.5 and unfound <= 0.1 * queries:
            yield f"{name} is low although nearly every query finds something: the order is weak; try a reranker"
