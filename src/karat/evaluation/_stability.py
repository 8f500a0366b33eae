"""How the scores of a run differ from wording to wording, and from repeat to repeat."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

from msgspec import UNSET

from karat.core import GoldenSet, Measure, Scores
from karat.evaluation._evaluation import Evaluation, Variant
from karat.measures import ASKED_LESS, STATES, observe_traces
from karat.schema.stability import MeasureStability, QueryStability, StabilityReport, StabilitySpread, ValueStability

_Key = Callable[[Variant], int]


def stability_report(evaluation: Evaluation, golden: GoldenSet) -> StabilityReport:
    """Return the stability of each measure and query of a run that asked in several wordings or repeats.

    Values are those that the gate counts: an answer that failed has the worst one.
    """
    states = observe_traces(golden, evaluation.traces)
    answers = Counter(trace.query for trace in evaluation.traces)
    tables = {
        variant: table.select(table.rows.keys() - set(table.not_in_run))
        for variant, table in sorted(evaluation.variants.items())
    }
    rows = [_describe_query(tables, query, states.get(query, ""), answers[query]) for query in evaluation.queries]
    wordings, repeats = ({variant[place] for variant in evaluation.variants} for place in (0, 1))
    return StabilityReport(
        run=evaluation.name,
        queries=len(rows),
        wordings=len(wordings),
        repeats=len(repeats),
        measures={
            name: MeasureStability(
                wordings=_summarise([row.wordings[name] for row in rows if name in row.wordings]),
                repeats=_summarise([row.repeats[name] for row in rows if name in row.repeats]),
                missing=_count_missing(evaluation.scores, name) or UNSET,
            )
            for name in evaluation.scores.measures
        },
        states={state: count for state in STATES if (count := sum(row.state == state for row in rows))},
        rows=rows,
    )


def _count_missing(scores: Scores, measure: str) -> dict[str, int]:
    """Return how many queries have no value of a measure, by reason."""
    reasons = Counter(filter(None, (scores.reason(query, measure) for query in scores.queries)))
    return {_explain(reason, measure): count for reason, count in reasons.items()}


def _explain(reason: str, measure: str) -> str:
    """Return a reason, with how often a question has to be asked if it was not asked often enough."""
    needed = Measure.parse(measure).arguments()
    if reason != ASKED_LESS or "wordings" not in needed:
        return reason
    return f"{reason} than {needed['wordings']} wordings, each {needed['repeats']} times"


def _describe_query(tables: Mapping[Variant, Scores], query: str, state: str, answers: int) -> QueryStability:
    known = next((name for name in STATES if name == state), None)
    own = {variant: table for variant, table in tables.items() if query in table.rows}
    return QueryStability(
        query=query,
        answers=answers,
        state=known,
        reason="" if known else state,
        wordings=_compare(own, query, lambda variant: variant[0]),
        repeats=_compare(own, query, lambda variant: variant[1]),
    )


def _compare(tables: Mapping[Variant, Scores], query: str, key: _Key) -> dict[str, ValueStability]:
    """Return the values of a query by measure, one for each wording or repeat; of which there have to be two."""
    groups = [[tables[variant] for variant in group] for _, group in groupby(sorted(tables, key=key), key)]
    measures = groups[0][0].measures if groups else ()
    rows = {name: [_average(table.value(query, name) for table in group) for group in groups] for name in measures}
    return {
        name: _spread(values, Measure.parse(name).definition.higher_is_better is False)
        for name, values in rows.items()
        if sum(value is not None for value in values) > 1
    }


def _average(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _spread(values: Sequence[float | None], lower_is_better: bool) -> ValueStability:
    known = [value for value in values if value is not None]
    return ValueStability(
        values=list(values),
        worst=max(known) if lower_is_better else min(known),
        mean=math.fsum(known) / len(known),
        spread=max(known) - min(known),
    )


def _summarise(rows: Sequence[ValueStability]) -> StabilitySpread:
    return StabilitySpread(
        queries=len(rows),
        worst=_average(row.worst for row in rows),
        mean=_average(row.mean for row in rows),
        spread=_average(row.spread for row in rows),
        most=max((row.spread for row in rows), default=None),
    )
