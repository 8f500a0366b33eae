"""The lexical floor: what the lexical channel of a run reaches alone, beside the whole system."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Literal

from karat.core import GoldenSet, Hit, HitList, Measure, MeasureError, Trace, select_detailed
from karat.evaluation._evaluation import Evaluation
from karat.evaluation._lists import score_ranked
from karat.evaluation._returned import keep_order, read_returned
from karat.schema import FloorRatio, LexicalFloor

LEXICAL = frozenset({"lexical", "bm25", "fts", "fts5", "keyword", "keywords"})
"""The names of channels that search words."""
LIMITS = (0.80, 0.50)
"""From 0.80 up words alone nearly do it: PAUSE. From 0.50 up the rest has to be worth its cost: RATIONALIZE."""
_LOOKED_AT = 1_000  # traces
NOT_RECORDED = "no lexical channel recorded"
ONLY_WORDS = "the lexical channel is the only one"


def advise(ratio: float | None) -> Literal["PAUSE", "RATIONALIZE", "PROCEED", ""]:
    """Return what the ratio of words alone to the whole system says about working on the rest of it.

    >>> advise(0.9), advise(0.5), advise(0.2), advise(None)
    ('PAUSE', 'RATIONALIZE', 'PROCEED', '')
    """
    if ratio is None:
        return ""
    pause, rationalize = LIMITS
    return "PAUSE" if ratio >= pause else "RATIONALIZE" if ratio >= rationalize else "PROCEED"


def find_floor(evaluation: Evaluation, golden: GoldenSet) -> LexicalFloor:
    """Return what the lexical channel of a run reaches, as a share of what the run reaches.

    Both are scored on the queries, in their original wording, whose channel the run recorded to the depth of the
    answer; failed queries are among them, and have the worst value in both. Where the run has no such channel, a note
    says so.
    """
    traces = [trace for trace in select_detailed(evaluation.traces) if not trace.paraphrase and not trace.repeat]
    words = {trace.query: hits for trace in traces if (hits := _find_words(trace)) is not None}
    if not words:
        return LexicalFloor(queries=0, measures=(), note=_describe_absence(traces))
    by_query = {trace.query: trace for trace in traces if trace.query in words or trace.error}
    names = [name for name in evaluation.means if _is_comparable(name)]
    ids = evaluation.provenance.settings.get("ids", "chunk")
    floors = [replace(trace, hits=words.get(query, ()), stages=()) for query, trace in by_query.items()]
    floor = _means(read_returned(golden, floors, ids), names, golden, evaluation)
    if evaluation.variants or len(by_query) < len(evaluation.queries):
        full = _means(by_query.values(), names, golden, evaluation)
    else:
        full = {name: evaluation.means[name] for name in names}
    rows = tuple(compare_floor(name, floor[name], full[name]) for name in names)
    return LexicalFloor(queries=len(by_query), measures=rows, note="")


def compare_floor(measure: str, floor: float, full: float) -> FloorRatio:
    """Return the mean that words alone reach beside that of the whole system.

    >>> row = compare_floor("R@5", 0.3, 0.5)
    >>> row.ratio, row.advice
    (0.6, 'RATIONALIZE')
    """
    ratio = floor / full if full > 0 and math.isfinite(floor) else None
    return FloorRatio(measure=measure, floor=_number(floor), full=_number(full), ratio=ratio, advice=advise(ratio))


def _find_words(trace: Trace) -> tuple[Hit, ...] | None:
    """Return the list of the lexical channel; None if it was not recorded, or not as far as the answer."""
    for stage in trace.stages:
        if stage.channel.lower() in LEXICAL:
            is_enough = len(stage.hits) >= min(stage.count, len(trace.listed))
            return stage.hits if is_enough else None
    return None


def _describe_absence(traces: Iterable[Trace]) -> str:
    # A HitList has ids and scores only, and a large run is not made into objects to find that out.
    looked_at = islice((trace for trace in traces if not isinstance(trace.listed, HitList)), _LOOKED_AT)
    channels = {name.lower() for trace in looked_at for hit in trace.hits for name in hit.channels}
    return ONLY_WORDS if channels and channels <= LEXICAL else NOT_RECORDED


def _is_comparable(name: str) -> bool:
    """Whether a measure tells how good a list is: not a count, nor one of traces or of queries without an answer."""
    try:
        definition = Measure.parse(name).definition
    except MeasureError:  # of a package that is not installed here
        return False
    is_judged = definition.unjudged not in ("independent", "counted")
    is_score = definition.higher_is_better is True and definition.queries == "answerable"
    return is_judged and is_score and not definition.traced


def _means(
    traces: Iterable[Trace], names: Sequence[str], golden: GoldenSet, evaluation: Evaluation
) -> dict[str, float]:
    return score_ranked(golden, keep_order(traces), names, evaluation).mean()


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
