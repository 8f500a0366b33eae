"""What judgments say of shadow runs whose query is in a golden set."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from karat.core import Floats, GoldenSet, Judgment, Measure, Query, Scores, Trace, make_hits
from karat.measures import score_hits
from karat.online._shadow_records import ANSWERED, LoggedShadow
from karat.schema.shadow import ShadowJudged, ShadowMeasure
from karat.stats import crossed_interval
from karat.text import folded

UNJUDGED = "unjudged"


def judge_runs(
    runs: Sequence[LoggedShadow], units: Sequence[str], golden: GoldenSet, measures: Sequence[str]
) -> ShadowJudged:
    """Score both lists of the runs whose query a golden set has, in the same words.

    ``units`` has the session of each run, or what stands for it: runs of one depend on each other, and so do those that
    ask the same. A treatment that failed, or was left alone
    because it did, has returned nothing; calls that it was not asked for another reason are left out.
    """
    known = _index_queries(golden)
    rows = {
        run.id: (run, unit, name)
        for run, unit in zip(runs, units, strict=True)
        if run.is_comparable and (name := known.get(folded(run.text)))
    }
    pairs = _Pairs(
        own=_name_by_run(golden, {key: name for key, (_, _, name) in rows.items()}),
        control={key: run.control[: run.k] for key, (run, _, _) in rows.items()},
        treatment={key: run.treatment[: run.k] for key, (run, _, _) in rows.items()},
        units={key: unit for key, (_, unit, _) in rows.items()},
        texts={key: folded(run.text) for key, (run, _, _) in rows.items()},
        failed=frozenset(key for key, (run, _, _) in rows.items() if run.status != ANSWERED),
    )
    return ShadowJudged(
        golden=golden.name,
        runs=len(rows),
        failed=len(pairs.failed),
        measures=tuple(pairs.compare(list(measures))) if rows else (),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredQuery:
    """A query that was asked, and the documents that came back."""

    text: str
    documents: tuple[str, ...]
    failed: bool = False


def score_lists(
    queries: Mapping[str, AnsweredQuery], golden: GoldenSet, measures: Sequence[str], k: int = 10
) -> dict[str, dict[str, float]]:
    """Return the scores of the lists whose query a golden set has, in the same words, by the caller's id and measure.

    A measure that is not defined for a query is left out; ``unjudged`` is the share of the first k documents without a
    judgment. A query that failed has returned nothing.
    """
    known = _index_queries(golden, {query.id for query in golden.queries if query.must_show})
    names = {key: name for key, answer in queries.items() if (name := known.get(folded(answer.text)))}
    if not names:
        return {}
    lists = {key: () if queries[key].failed else queries[key].documents for key in names}
    failed = frozenset(key for key in names if queries[key].failed)
    hits = _to_hits(lists)
    traces = {key: Trace(query=key, text=queries[key].text, hits=own) for key, own in hits.items()}
    scores = score_hits(_name_by_run(golden, names), hits, list(measures), failed=failed, traces=traces)
    grades, values = golden.qrels(), {key: dict[str, float]() for key in names}
    for row, key in enumerate(scores.queries):
        own = zip(measures, scores.values[row].tolist(), strict=True)
        values[key] |= {measure: value for measure, value in own if not math.isnan(value)}
    for key, name in names.items():
        values[key][UNJUDGED] = _find_unjudged(lists[key][:k], grades.get(name, {}))
    return values


def _find_unjudged(documents: Sequence[str], grades: Mapping[str, int]) -> float:
    return sum(document not in grades for document in documents) / len(documents) if documents else 0.0


def _to_hits(lists: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    return {
        key: make_hits(list(names), [float(len(names) - rank) for rank in range(len(names))], list(names))
        for key, names in lists.items()
    }


def _index_queries(golden: GoldenSet, others: Collection[str] = ()) -> dict[str, str]:
    """Return the queries that have judgments, and the ``others``, by their folded wordings."""
    judged = {*others, *(query for query, grades in golden.qrels().items() if grades)}
    forms = ((form, query.id) for query in golden.queries for form in (*query.paraphrases, query.text))
    return {folded(form): name for form, name in forms if name in judged}


def _name_by_run(golden: GoldenSet, names: Mapping[str, str]) -> GoldenSet:
    """Return a set in which each run is a query with the judgments of its own: one query may be asked many times."""
    by_query: dict[str, list[Judgment]] = {}
    for judgment in golden.judgments:
        by_query.setdefault(judgment.query, []).append(judgment)
    texts: Mapping[str, Query] = golden.query_by_id
    return replace(
        golden,
        documents=(),
        queries=tuple(replace(texts[name], id=run, session=None) for run, name in names.items()),
        judgments=tuple(
            replace(judgment, query=run) for run, name in names.items() for judgment in by_query.get(name, ())
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pairs:
    """Both lists of runs, and what is judged of them."""

    own: GoldenSet
    control: Mapping[str, tuple[str, ...]]
    treatment: Mapping[str, tuple[str, ...]]
    units: Mapping[str, str]
    texts: Mapping[str, str]
    failed: frozenset[str]
    """The runs in which the treatment failed."""

    def compare(self, measures: list[str]) -> list[ShadowMeasure]:
        before = self._score(self.control, self.treatment, measures)
        after = self._score(self.treatment, self.control, measures, self.failed)
        return [self._compare(before, after, column) for column in range(len(before.measures))]

    def _score(
        self,
        lists: Mapping[str, tuple[str, ...]],
        others: Mapping[str, tuple[str, ...]],
        measures: list[str],
        failed: frozenset[str] = frozenset(),
    ) -> Scores:
        return score_hits(self.own, _to_hits(lists), measures, bounds=True, others=others, failed=failed)

    def _compare(self, before: Scores, after: Scores, column: int) -> ShadowMeasure:
        assert before.bounds is not None
        assert after.bounds is not None
        ids = list(before.queries)
        row_of = {key: row for row, key in enumerate(after.queries)}
        rows = [row_of[key] for key in ids]
        old, new = before.values[:, column], after.values[rows, column]
        kept = ~(np.isnan(old) | np.isnan(new))
        same = np.array([self.control[key] == self.treatment[key] for key in ids])
        worst = np.where(same, 0.0, after.bounds.worst[rows, column] - before.bounds.best[:, column])[kept]
        best = np.where(same, 0.0, after.bounds.best[rows, column] - before.bounds.worst[:, column])[kept]
        delta, scored = (new - old)[kept], [key for key, keep in zip(ids, kept, strict=True) if keep]
        units = [self.units[key] for key in scored]
        low, high = crossed_interval(delta, units, [self.texts[key] for key in scored]) or (None, None)
        cutoff = Measure.parse(before.measures[column]).cutoff
        depth = int(cutoff) if cutoff else None
        lengths = [sum(len(lists[key][:depth]) for key in ids) for lists in (self.control, self.treatment)]
        unjudged = [int(scores.bounds.unjudged[:, column].sum()) for scores in (before, after) if scores.bounds]
        return ShadowMeasure(
            measure=before.measures[column],
            runs=int(kept.sum()),
            units=len(set(units)),
            control=_mean(old[kept]),
            treatment=_mean(new[kept]),
            delta=_mean(delta),
            low=low,
            high=high,
            worst=_mean(worst),
            best=_mean(best),
            control_unjudged=unjudged[0] / lengths[0] if lengths[0] else None,
            treatment_unjudged=unjudged[1] / lengths[1] if lengths[1] else None,
        )


def _mean(values: Floats) -> float | None:
    mean = float(np.mean(values)) if len(values) else math.nan
    return None if math.isnan(mean) else mean
