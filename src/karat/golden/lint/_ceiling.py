"""The ceiling: the best mean that any ranking can reach on a set, before any system is asked.

The best ranking has the judged documents in the order of their grades. For the measures of :data:`EXACT` no other list
of documents, shorter, longer or in another order, is better for any query. Two exchanges prove it: swapping two
neighbours so that the better one comes first never lowers the value, nor does appending a document or replacing one by
a better one. The tests try all lists of small random sets instead. Other measures are refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from karat.core import Floats, GoldenSet, Measure, UsageError
from karat.measures import score

_BINARY = ("P", "R", "R_cap", "F1", "AP", "GMAP", "RR", "Success", "Rprec", "IPrec", "IPrec11", "SetR", "RBP")
Unit = Literal["document", "target"]

EXACT = frozenset([*_BINARY, "Bpref", "GBpref", "nDCG", "DCG", "ERR", "INSQ"])
"""The measures that are best for the list sorted by grade."""

_COUNTED = frozenset(["P", "R", "R_cap", "F1", "AP", "GMAP", "Success"])
"""The measures whose best value depends on the number of relevant documents."""
_BELOW = 1 - 1e-12

NONE = "no relevant document"
FEW = "fewer than {k} relevant documents"
MANY = "more than {k} relevant documents"
BY_DEFINITION = "by definition"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """The best mean of a measure on a set, and why it is not higher."""

    measure: str
    """The measure as the caller wrote it."""
    computed: str
    """The measure with the set's lowest relevant grade filled in."""
    best: float | None
    """None where no query has a value."""
    scored: int
    """The number of queries that have a value."""
    total: int
    below: Mapping[str, int]
    """The number of queries that cannot reach 1, by reason."""
    because: str = ""
    """The same in words."""


def ceiling(
    golden: GoldenSet, measures: Iterable[str | Measure], *, unit: Unit = "document", known_only: bool = False
) -> tuple[Ceiling, ...]:
    """Return the best mean that any ranking can reach, for each measure.

    A measure for which that is not known is refused, or left out with ``known_only``. Documents of one class count
    once, and the lowest relevant grade is the set's unless the measure states one. ``unit`` is what a system returns:
    documents, or the judged parts of them.

    >>> from karat.core import Judgment, Query, Target
    >>> golden = GoldenSet(queries=(Query(id="q", text="reset?"),),
    ...                    judgments=(Judgment(query="q", target=Target(document="wifi"), grade=3),))
    >>> [(top.measure, top.best, top.because) for top in ceiling(golden, ["R@5", "P@5"])]
    [('R@5', 1.0, ''), ('P@5', 0.2, 'each query has one relevant document')]
    """
    wanted = {str(text): measure_for(golden, text) for text in measures}
    grades = set(golden.grades_by_query.grade.tolist()) if wanted else set()
    unknown = {name: reason for name, measure in wanted.items() if (reason := refusal(measure, grades))}
    if unknown and not known_only:
        name, reason = next(iter(unknown.items()))
        raise UsageError(f"no ceiling for {wanted[name]}: {reason}")
    wanted = {name: measure for name, measure in wanted.items() if name not in unknown}
    if not wanted:
        return ()
    judged = golden.qrels(unit)
    qrels = {query.id: judged[query.id] for query in golden.queries if query.answerable}
    if not qrels:
        return tuple(_none(name, measure) for name, measure in wanted.items())
    counting = {measure: Measure.of("NumRel", None, {"rel": _rel(measure)}) for measure in wanted.values()}
    # The judgments are their own best run, with the grades as scores.
    scores = score(qrels, qrels, [*wanted.values(), *counting.values()], classes=golden.class_of or None)
    means, columns = scores.mean(), dict(zip(scores.measures, scores.values.T, strict=True))
    return tuple(
        _best(name, measure, columns[str(measure)], columns[str(counting[measure])], means[str(measure)])
        for name, measure in wanted.items()
    )


def measure_for(golden: GoldenSet, text: str | Measure) -> Measure:
    """Return a measure with the set's lowest relevant grade, if it takes one and states none.

    >>> print(measure_for(GoldenSet(relevant=2), "P@5"), measure_for(GoldenSet(relevant=2), "P(rel=1)@5"))
    P(rel=2)@5 P@5
    """
    measure = Measure.parse(text)
    takes = any(p.name == "rel" and p.default is not None for p in measure.definition.parameters)
    if not takes or any(name == "rel" for name, _ in measure.written(text)):
        return measure
    return Measure.of(measure.name, measure.cutoff, {**dict(measure.params), "rel": max(0, golden.relevant)})


def refusal(measure: Measure, grades: Collection[int]) -> str:
    """Return why no ceiling is known for a measure on these grades; empty if one is known."""
    if measure.definition.higher_is_better is False:
        return "lower is better"
    if measure.definition.higher_is_better is None:
        return "it is a count, neither good nor bad"
    if measure.name not in EXACT:
        return "sorting by grade is not known to be its best ranking"
    gains = measure.arguments().get("gains")
    if isinstance(gains, tuple) and not _rises(gains, str(measure.arguments()["gain"]), grades):
        return "its gains do not rise with the grades"
    return ""


def _rises(gains: tuple[tuple[int, float], ...], gain: str, grades: Collection[int]) -> bool:
    """Return whether gains are not negative and never fall as the grade rises."""
    named = dict(gains)
    used = [grade for grade in sorted(grades) if grade >= 0]
    values = [named.get(grade, 2.0**grade - 1 if gain == "exp" else float(grade)) for grade in used]
    return all(after >= before for before, after in pairwise([0.0, *values]))


def _none(name: str, measure: Measure) -> Ceiling:
    return Ceiling(
        measure=name, computed=str(measure), best=None, scored=0, total=0, below={}, because="there is no query"
    )


def _rel(measure: Measure) -> int:
    """Return the lowest grade that counts as relevant; for a measure of gains, the lowest that has a gain."""
    rel = measure.arguments().get("rel")
    return rel if isinstance(rel, int) else 1


def _best(name: str, measure: Measure, values: Floats, counts: Floats, mean: float) -> Ceiling:
    """Return the ceiling from the best value of each query, and how many relevant documents each has."""
    scored = ~np.isnan(values)
    below: dict[str, int] = {}
    if measure.name != "DCG":  # which has no top
        below = _reasons(measure, counts[scored & (np.nan_to_num(values) < _BELOW)])
    best = mean if scored.any() else None
    return Ceiling(
        measure=name,
        computed=str(measure),
        best=best,
        scored=int(scored.sum()),
        total=len(values),
        below=below,
        because=_because(measure, counts[scored], below) if best is not None else "no query has a relevant document",
    )


def _reasons(measure: Measure, counts: Floats) -> dict[str, int]:
    k = measure.cutoff
    none = int((counts == 0).sum())
    if measure.name not in _COUNTED or k is None:
        reasons = {NONE: none, BY_DEFINITION: len(counts) - none}
    else:
        few, many = int(((counts > 0) & (counts < k)).sum()), int((counts > k).sum())
        reasons = {NONE: none, FEW.format(k=k): few, MANY.format(k=k): many}
    return {reason: n for reason, n in reasons.items() if n}


def _because(measure: Measure, counts: Floats, below: Mapping[str, int]) -> str:
    """Return in words why not every query reaches 1."""
    if not below:
        return ""
    total, same = len(counts), len(set(counts.tolist())) == 1
    if same and not counts[0]:
        return "no query has a relevant document"
    if same and BY_DEFINITION not in below:
        n = int(counts[0])
        return "each query has " + ("one relevant document" if n == 1 else f"{n} relevant documents")
    parts = []
    for reason, n in below.items():
        if reason == BY_DEFINITION:
            parts.append(f"{measure.name} stays below 1 by definition")
        else:
            who = "each query has" if n == total else f"{n:,} of {total:,} queries {'has' if n == 1 else 'have'}"
            parts.append(f"{who} {reason}")
    return " and ".join(parts)
