"""Comparisons as documents: what JSON prints, and what tables are rendered from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from karat.core import GoldenSet, Measure, average
from karat.evaluation import (
    Evaluation,
    Segments,
    describe_definitions,
    describe_failed,
    describe_unknown_texts,
    find_other_judges,
    list_changes,
    list_tables,
)
from karat.gate._bounds import bound_differences
from karat.gate._comparison import (
    ALPHA,
    LEVEL,
    RESAMPLES,
    Comparison,
    Correction,
    Pair,
    compare_all,
    shared_measures,
)
from karat.gate._corrected import correct_measures
from karat.gate._growth import describe_growth
from karat.gate._lists import compare_lists, describe_list, rr_deltas, summarise_lists
from karat.gate._movers import KEPT, describe_moves, find_movers
from karat.gate._names import label, name_run
from karat.gate._pairing import pair_scores, pair_with_lost, scale_of
from karat.gate._unanswered import count_failures, count_refusals, count_silent, describe_refusals
from karat.schema import (
    AnsweredChange,
    AnsweredMean,
    ComparedMeasure,
    ComparedPair,
    ComparedRun,
    ComparisonDocument,
    MovedQuery,
    QueryComparison,
    QueryValues,
)
from karat.stats.ranks import RankSimilarity

_FEW = 50  # with fewer queries bootstrap intervals are too short, and only large changes can be found
_NAMED = 20  # losses, and gains, of a brief document; a terminal shows fewer
_LEAST_CHANGED = 6  # the two-sided p of five sign flips is 2/32 at best


def compare_document(
    evaluations: Sequence[Evaluation],
    golden: GoldenSet,
    *,
    measures: Sequence[str] | None = None,
    segments: Segments | None = None,
    correction: Correction = "westfall-young",
    seed: int = 0,
    per_query: bool = False,
    bounds: bool = False,
    brief: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> ComparisonDocument:
    """Compare every run with every later one, and return everything that is known about the differences.

    Whole ranked lists are compared; with a baseline file, which keeps no more, only the first ten documents.
    ``golden`` provides the texts of the queries, and with ``bounds`` the judgments: then each difference has the worst
    and the best that it could be, whatever the grades of unjudged documents are. As in the gate, a query without an
    answer has the worst value, and so has one that was refused where the baseline answers; the same without them is
    beside it. With ``brief`` only the queries that changed most have how their documents moved.
    Measures that not the same judge scored are left out, which a note says; if no other is left, that is an error.
    """
    evaluations = [count_failures(evaluation) for evaluation in evaluations]
    names = _choose_measures(evaluations, list(measures) if measures is not None else shared_measures(evaluations))
    pairs = compare_all(
        evaluations, names, segments=segments, correction=correction, seed=seed, as_gate=True, progress=progress
    )
    texts = {query.id: query.text for query in golden.queries}
    documents = [_pair(pair, evaluations, texts, names, per_query=per_query, brief=brief) for pair in pairs]
    if bounds:
        documents = [_bound(*args, evaluations, golden) for args in zip(documents, pairs, strict=True)]
    return ComparisonDocument(
        runs=tuple(_run(place, evaluation, names) for place, evaluation in enumerate(evaluations)),
        golden=dict(evaluations[-1].provenance.golden),
        measures=tuple(names),
        correction=correction,
        tests=sum(test.p is not None for pair in pairs for test in pair.measures),
        alpha=ALPHA,
        level=LEVEL,
        resamples=RESAMPLES,
        seed=seed,
        pairs=tuple(documents),
    )


def _choose_measures(evaluations: Sequence[Evaluation], measures: list[str]) -> list[str]:
    """Return the measures that one judge scored in all runs, or all of them if there is none, which is then refused."""
    judges = {
        measure
        for baseline, candidate in combinations(evaluations, 2)
        for measure in find_other_judges(candidate, baseline)
    }
    return [measure for measure in measures if measure not in judges] or measures


def _bound(document: ComparedPair, pair: Pair, evaluations: Sequence[Evaluation], golden: GoldenSet) -> ComparedPair:
    """Return a pair whose differences have bounds over unjudged documents."""
    names = [test.measure for test in document.measures]
    bounds = bound_differences(evaluations[pair.candidate], evaluations[pair.baseline], names, golden)
    return replace(document, measures=tuple(replace(test, bounds=bounds[test.measure]) for test in document.measures))


def _run(place: int, evaluation: Evaluation, measures: Sequence[str]) -> ComparedRun:
    counted = count_refusals(evaluation)
    return ComparedRun(
        label=label(place),
        name=evaluation.name,
        title=evaluation.provenance.title,
        fingerprint=evaluation.provenance.fingerprint,
        queries=len(evaluation.queries),
        failed=len(evaluation.failures),
        means={name: _null(counted.mean(name)) for name in measures},
        latency={
            stage: {name: _null(value) for name, value in times.items()} for stage, times in evaluation.latency.items()
        },
        answered={name: _describe_answered(evaluation, name) for name in measures if _is_silent(evaluation, name)},
    )


def _is_silent(evaluation: Evaluation, measure: str) -> bool:
    """Return whether a mean leaves answers out that say nothing."""
    return measure in evaluation.scores.columns and bool(count_silent(evaluation, measure))


def _describe_answered(evaluation: Evaluation, measure: str) -> AnsweredMean:
    return AnsweredMean(
        mean=_null(evaluation.mean(measure)),
        answers=sum(len(table.column(measure)) for table in list_tables(evaluation, measure)),
        unanswered=sum(count_silent(evaluation, measure).values()),
    )


def _compare_answered(candidate: Evaluation, baseline: Evaluation, measure: str) -> AnsweredChange | UnsetType:
    """Return how a measure changed on what both runs answered; UNSET if nothing was left unanswered."""
    if not (_is_silent(candidate, measure) or _is_silent(baseline, measure)):
        return UNSET
    pairs, scale = pair_scores(candidate, baseline, measure), scale_of(measure)
    before, after = average(pairs.before, scale), average(pairs.after, scale)
    return AnsweredChange(
        n=len(pairs), baseline=_null(before), candidate=_null(after), difference=_null(after - before)
    )


def _pair(
    pair: Pair, evaluations: Sequence[Evaluation], texts: Mapping[str, str], measures: Sequence[str],
    *, per_query: bool, brief: bool,
) -> ComparedPair:  # fmt: skip
    baseline, candidate = evaluations[pair.baseline], evaluations[pair.candidate]
    similarities = _similarities(candidate, baseline)
    by_labels = correct_measures(candidate, baseline)
    counted = count_refusals(candidate, baseline, whole=True)
    document = ComparedPair(
        baseline=label(pair.baseline),
        candidate=label(pair.candidate),
        measures=tuple(
            replace(
                _measure(test),
                by_labels=by_labels.get(test.measure, UNSET),
                answered=_compare_answered(candidate, baseline, test.measure),
            )
            for test in pair.measures
        ),
        segments=tuple(map(_measure, pair.segments)),
        changes=list_changes(candidate.provenance, baseline.provenance),
        lists=summarise_lists(similarities) if similarities else None,
        movers=_movers(counted, baseline, texts, measures, _NAMED if brief else None),
        notes=tuple(_notes(pair, baseline, candidate, similarities)),
    )
    if not per_query:
        return document
    return replace(document, queries=_queries(counted, baseline, measures, similarities))


def _measure(test: Comparison) -> ComparedMeasure:
    return ComparedMeasure(
        measure=test.measure,
        segment=None if test.segment is None else dict([test.segment]),
        n=test.n,
        baseline=_null(test.baseline),
        candidate=_null(test.candidate),
        difference=_null(test.difference),
        low=_null(test.low),
        high=_null(test.high),
        p=_null(test.p),
        p_corrected=_null(test.p_corrected),
        p_t=_null(test.p_t),
        effect=_null(test.effect),
        wins=test.wins,
        ties=test.ties,
        losses=test.losses,
        significant=test.significant,
    )


def _similarities(candidate: Evaluation, baseline: Evaluation) -> dict[str, RankSimilarity]:
    """Compare whole lists if both runs have them, else as many documents as a baseline file keeps."""
    depth = None if candidate.traces and baseline.traces else KEPT
    return compare_lists(candidate.lists, baseline.lists, k=depth, rr_deltas=rr_deltas(candidate, baseline))


def _movers(
    candidate: Evaluation, baseline: Evaluation, texts: Mapping[str, str], measures: Sequence[str], named: int | None
) -> tuple[MovedQuery, ...]:
    """Return the queries that changed, the greatest losses first, by the measures that have a better and a worse.

    Where ``named`` is given, only so many losses and gains have how their documents moved.
    """
    rated = [name for name in measures if Measure.parse(name).definition.higher_is_better is not None]
    movers = find_movers(candidate, baseline, rated)
    hidden = range(0) if named is None else range(named, len(movers) - named)
    return tuple(
        MovedQuery(
            query=mover.query,
            text=texts.get(mover.query, ""),
            measure=mover.measure,
            baseline=mover.baseline,
            candidate=mover.candidate,
            gain=mover.gain,
            failed=candidate.failures.get(mover.query, ""),
            moved=()
            if place in hidden
            else describe_moves(candidate.lists.get(mover.query, ()), baseline.lists.get(mover.query, ())),
        )
        for place, mover in enumerate(movers)
    )


def _queries(
    candidate: Evaluation, baseline: Evaluation, measures: Sequence[str], similarities: Mapping[str, RankSimilarity]
) -> tuple[QueryComparison, ...]:
    """Return every query that has a value in both runs, those that changed most on any measure first."""
    values: dict[str, dict[str, QueryValues]] = {}
    for measure in measures:
        for query, before, after in pair_with_lost(candidate, baseline, measure):
            row = QueryValues(baseline=before, candidate=after, difference=after - before)
            values.setdefault(query, {})[measure] = row
    rows = [
        QueryComparison(
            query=query,
            measures=columns,
            list=describe_list(similarities[query]) if query in similarities else None,
        )
        for query, columns in values.items()
    ]
    # Rounded, so that noise in the last digits does not reorder ties: these stay in the order of the golden set.
    return tuple(
        sorted(rows, key=lambda row: -round(max(abs(values.difference) for values in row.measures.values()), 9))
    )


def _notes(
    pair: Pair,
    baseline: Evaluation,
    candidate: Evaluation,
    similarities: Mapping[str, RankSimilarity],
) -> Iterator[str]:
    runs = (label(pair.baseline), baseline), (label(pair.candidate), candidate)
    for name, run in runs:
        if not run.has_queries:
            yield f"{name} has means only, so nothing can be tested and no lists are compared"
        for note in describe_growth(run, "run" if run.traces else "baseline"):
            yield f"{name}: {note}"
        if run.failures:
            yield f"{name}: {describe_failed(run)} and count as 0"
        compared = {test.measure for test in pair.measures}
        for measure, note in describe_refusals(run):
            if measure in compared:
                yield f"{name}: {note}"
        yield from (f"{name}: {note}" for note in describe_unknown_texts(run))
    if not (baseline.has_queries and candidate.has_queries):
        return
    yield from describe_definitions(candidate, [test.measure for test in pair.measures])
    names = name_run(pair.candidate), name_run(pair.baseline)
    for measure, why in find_other_judges(candidate, baseline, names).items():
        yield f"{measure} is not compared: {why}"
    yield from _unshared(runs)
    yield from _weak(pair.measures)
    if not similarities:
        without = " and ".join(name for name, run in runs if not run.lists)
        yield f"lists are not compared: {f'there are none for {without}' if without else 'no query has one in both'}"
    elif next(iter(similarities.values())).k:
        yield f"only the first {KEPT} documents of the lists are compared: a baseline file holds no more"


def _unshared(runs: Sequence[tuple[str, Evaluation]]) -> Iterator[str]:
    """Note how many queries only one of the runs was asked."""
    for (name, run), (_, other) in (runs, tuple(reversed(runs))):
        count = len(run.query_set - other.query_set)
        if count:
            yield f"{count:,} {'query is' if count == 1 else 'queries are'} in {name} only and left out"


def _weak(tests: Sequence[Comparison]) -> Iterator[str]:
    """Note where there is too little for a test to find anything."""
    most = max((test.n for test in tests), default=0)
    if 0 < most < _FEW:
        yield f"with {most} queries bootstrap intervals are somewhat too short, and only large changes are found"
    few = [test.measure for test in tests if 0 < test.wins + test.losses < _LEAST_CHANGED]
    if few:
        yield (
            f"fewer than {_LEAST_CHANGED} queries changed in {', '.join(few)}: the two-sided sign-flip test cannot "
            f"reach {ALPHA}"
        )


def _null(value: float | None) -> float | None:
    """Return None for what JSON cannot hold."""
    return None if value is None or not math.isfinite(value) else value
