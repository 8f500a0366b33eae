"""The stored lists of an evaluation: the documents that decided its scores, so far as they can be scored again."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from karat.config import SCORING
from karat.core import GoldenSet, Hit, Measure, MeasureError, Scores, Unit
from karat.evaluation._evaluation import Evaluation
from karat.golden import restrict_queries
from karat.measures import score_hits
from karat.text import resolver

_BY_CHUNKS = ("SpanR", "SpanP", "SpanIoU", "DupRate")
"""Measures that look at the chunks, of which a list of documents knows nothing."""
_LISTED = 100
"""At most this many documents of each query are stored, whatever the measures need."""


def needed_depth(measures: Iterable[str], least: int) -> int:
    """Return how many documents of each list the measures need to be computed again, from ``least`` to 100.

    >>> needed_depth(["nDCG@5", "R@20"], 10), needed_depth(["RR@10", "AP"], 10)
    (20, 100)
    """
    cutoffs = [cutoff for name in measures if (cutoff := find_depth(name)) is not None]
    return min(_LISTED, max(least, *(cutoff or _LISTED for cutoff in cutoffs), 0))


def stored_lists(evaluation: Evaluation, queries: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the lists that decided the scores; {} if other lists did too: of chunks, wordings or repeats."""
    settings = evaluation.provenance.settings
    if unit_of(evaluation) != "document" or evaluation.repeats or settings.get("paraphrases"):
        return {}
    lists = evaluation.lists
    return _SomeLists(lists, [query for query in queries if query in lists])


class _SomeLists(Mapping[str, tuple[str, ...]]):
    """Some of the lists of an evaluation, in another order; none is made before somebody asks for it."""

    def __init__(self, lists: Mapping[str, tuple[str, ...]], queries: Iterable[str]) -> None:
        self._lists, self._queries = lists, dict.fromkeys(queries)

    def __getitem__(self, query: str) -> tuple[str, ...]:
        if query not in self._queries:
            raise KeyError(query)
        return self._lists[query]

    def __iter__(self) -> Iterator[str]:
        return iter(self._queries)

    def __len__(self) -> int:
        return len(self._queries)

    def __contains__(self, query: object) -> bool:
        return query in self._queries


def score_lists(
    golden: GoldenSet, lists: Mapping[str, Sequence[str]], measures: Collection[str], evaluation: Evaluation
) -> Scores:
    """Return the scores of lists of documents by query, the best first, computed as those of an evaluation were."""
    return score_ranked(golden, make_hits(lists), measures, evaluation)


def make_hits(lists: Mapping[str, Sequence[str]]) -> dict[str, tuple[Hit, ...]]:
    """Return lists of documents as hits with falling scores."""
    return {
        query: tuple(Hit(document, float(len(documents) - i), document) for i, document in enumerate(documents))
        for query, documents in lists.items()
    }


def score_ranked(
    golden: GoldenSet,
    hits: Mapping[str, Sequence[Hit]],
    measures: Collection[str],
    evaluation: Evaluation,
    *,
    bounds: bool = False,
    others: Mapping[str, Sequence[str]] | None = None,
) -> Scores:
    """Return the scores of hits by query, computed as those of an evaluation were.

    With ``bounds`` they have bounds over unjudged documents; with ``others``, the lists of another run, over those of
    both.
    """
    undefined = evaluation.provenance.settings.get("undefined") or SCORING["undefined"]
    return score_hits(
        restrict_golden(golden, hits.keys()), hits, measures,
        unit=unit_of(evaluation), resolve=None if bounds else resolver(golden), name=evaluation.name,
        undefined=undefined, bounds=bounds, others=others,
    )  # fmt: skip


def restrict_golden(golden: GoldenSet, queries: Set[str]) -> GoldenSet:
    """Return a golden set with only the queries that were asked, and their judgments."""
    # A set is compared with the keys of a dict: the view of another mapping would be gone through in Python.
    if golden.query_by_id.keys() <= queries and golden.grades_by_query.rows.keys() <= queries:
        return golden
    return restrict_queries(golden, queries)


def unit_of(evaluation: Evaluation) -> Unit:
    return "target" if evaluation.provenance.settings.get("unit") == "target" else "document"


def is_complete(evaluation: Evaluation, query: str) -> bool:
    """Return whether a stored list is all that the system returned."""
    k: Any = evaluation.provenance.settings.get("k")
    depth = evaluation.depth
    return depth is None or len(evaluation.lists[query]) < depth or (isinstance(k, int) and k <= depth)


def suffices(name: str, golden: GoldenSet, documents: Sequence[str], complete: bool) -> bool:
    """Return whether a measure can be computed from the beginning of a list as from the whole of it."""
    cutoff = find_depth(name)
    units = len({golden.class_of.get(document, document) for document in documents})
    return complete or bool(cutoff and cutoff <= units)


def find_depth(name: str) -> int | None:
    """Return how many units a measure looks at: 0 for all of them, None if a list of documents does not tell it."""
    try:
        measure = Measure.parse(name)
    except MeasureError:  # of a package that is not installed here
        return None
    if measure.name in _BY_CHUNKS or measure.definition.traced:
        return None
    if measure.definition.cutoff in ("none", "recall") or measure.arguments().get("judged_only"):
        return 0
    return math.ceil(measure.cutoff or 0)
