"""Scoring a run, which makes an evaluation of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain, compress
from typing import Any, Unpack

import numpy as np

from karat.config import SCORING, Scoring, choose_scoring
from karat.core import (
    GoldenSet,
    InputError,
    Measure,
    Run,
    Scores,
    Trace,
    TraceTable,
    find_table_rows,
    list_hits,
    map_hits,
    select_detailed,
    shorten,
)
from karat.evaluation._averages import average_by, average_tables, select_asked, select_shared, split_wordings
from karat.evaluation._distances import PinnedEmbedder, name_embedder
from karat.evaluation._evaluation import Evaluation, Variant
from karat.evaluation._hit_texts import HitTexts
from karat.evaluation._latency import latency_by_stage
from karat.evaluation._lists import restrict_golden
from karat.evaluation._ranked import RankedLists
from karat.evaluation._returned import keep_order, list_invented, read_returned
from karat.evaluation._revision import Revision, describe_asked, revise_run
from karat.evaluation._segments import QuerySegments
from karat.evaluation._unknown_ids import describe_mismatch
from karat.evaluation._worst import count_unmeasured, fill_worst
from karat.measures import name_judge, pass_at_k, score_hits
from karat.text import resolver

MEASURES = ("R@5", "P@5", "RR@10", "nDCG@5", "nDCG@10", "Judged@10", "DupRate@10")
UNANSWERABLE = ("TrueEmpty", "FalseHits@10")
"""The measures of unanswerable queries that are computed by default."""
_EMPTY = "TrueEmpty"
COUNTS = ("NumRet", "NumRelRet", "RR", "P@1")
"""What is kept of every query besides the measures that were asked for."""


class UnknownDocuments(InputError):
    """A run has no document of the golden set: it uses other ids."""


def default_measures(golden: GoldenSet) -> tuple[str, ...]:
    """Return the default measures of a golden set: more of them if some of its queries are unanswerable."""
    return MEASURES + UNANSWERABLE if golden.unanswerable else MEASURES


def score_run(
    golden: GoldenSet,
    run: Run,
    measures: Iterable[str | Measure] | None = None,
    *,
    bounds: bool = False,
    cache: bool = True,
    **scoring: Unpack[Scoring],
) -> Evaluation:
    """Return the evaluation of a run on a golden set, which may have grown since the run was made.

    Then the answers to the questions that it still has are scored with its judgments, and ``revision`` says how the
    run differs from the set. A run that has no question of the set is an error. With ``bounds`` the scores have bounds
    over unjudged documents. Without ``cache`` the vectors of measures that compare meanings are not kept on disk. The
    options are those of ``Scoring``.

    >>> from karat.core import Hit, Judgment, Provenance, Query, Target
    >>> golden = GoldenSet(queries=(Query(id="q", text="When does the pool open?"),),
    ...                    judgments=(Judgment(query="q", target=Target(document="pool"), grade=3),))
    >>> trace = Trace(query="q", text="When does the pool open?", hits=(Hit("wifi", 0.9), Hit("pool", 0.8)))
    >>> score_run(golden, Run(provenance=Provenance(name="mine"), traces=(trace,)), ["RR@10"]).means
    {'RR@10': 0.5}
    """
    if not run.traces:
        raise InputError(
            f"run {shorten(run.provenance.name)} has no queries",
            hint="make it again: nothing was asked, or all was cut off",
        )
    _require_times(run)
    run, revision = revise_run(run, golden)
    options = choose_scoring(scoring)
    traces = read_returned(golden, run.traces, options["ids"], options["min_score"])
    # Named by the canonical name, but computed as written: R(rel=1)@5 is called R@5, and must not become R(rel=2)@5
    # because the golden set counts grades from 2 as relevant.
    requested = {str(Measure.parse(measure)): measure for measure in measures or default_measures(golden)}
    tables = _score_tables(golden, run, traces, requested, options, bounds=bounds, cache=cache)
    return _describe(golden, run, traces, tables, requested, options, revision)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tables:
    """The scores of a run: by wording and repeat, by repeat, and of all."""

    subset: GoldenSet
    """The golden set with the questions that were asked."""
    by_variant: Mapping[Variant, Mapping[str, Trace]]
    variants: dict[Variant, Scores]
    repeats: list[Scores]
    everything: Scores
    success: str
    """The measure that says whether a query found anything relevant."""


def _score_tables(
    golden: GoldenSet,
    run: Run,
    traces: Sequence[Trace],
    requested: Mapping[str, str | Measure],
    options: Scoring,
    *,
    bounds: bool,
    cache: bool,
) -> _Tables:
    by_variant = _traces_by_variant(traces)
    subset = restrict_golden(golden, set().union(*by_variant.values()))
    success = f"Success@{max(1, run.provenance.settings.get('k', 0), _find_longest(traces))}"
    chosen = dict.fromkeys((*requested.values(), success, _EMPTY, *COUNTS))
    with closing(PinnedEmbedder(cache=cache)) as embed:
        variants = _score_variants(
            golden, subset, traces, by_variant, chosen, options, embed, run.provenance.name, bounds
        )  # fmt: skip
    repeats = average_by(variants, lambda variant: variant[1])
    everything = average_tables(repeats)
    _require_known_documents(subset, traces, everything)
    return _Tables(
        subset=subset, by_variant=by_variant, variants=variants, repeats=repeats, everything=everything, success=success
    )


def _find_longest(traces: Sequence[Trace]) -> int:
    """Return how many hits the longest list has."""
    lists = list_hits(traces)
    rows = find_table_rows(lists)
    return max(map(len, lists)) if rows is None else int(rows.lengths.max())


def _describe(
    golden: GoldenSet,
    run: Run,
    traces: Sequence[Trace],
    tables: _Tables,
    requested: Mapping[str, str | Measure],
    options: Scoring,
    revision: Revision | None,
) -> Evaluation:
    """Return the evaluation that tables of scores are."""
    settings, several = run.provenance.settings, len(tables.variants) > 1
    scores = name_embedder(_name_judges(tables.everything.only(requested), settings.get("judged_by")))
    unanswerable = golden.unanswerable.intersection(scores.queries)
    unjudged = frozenset(scores.queries) - golden.findable - unanswerable
    lost = _lost_by_variant(traces, unanswerable | unjudged) if several else {}
    failures = {trace.query: trace.error for trace in select_detailed(traces) if trace.error}
    with_success, successes = tables.everything.present(tables.success)
    missed = compress(with_success, (successes == 0).tolist())
    return Evaluation(
        provenance=replace(run.provenance, settings={**settings, **_record(options), "normaliser": golden.normaliser}),
        scores=replace(scores, not_judged=scores.not_judged + settings.get("not_in_golden", 0)),
        repeats=select_shared([table.only(requested) for table in tables.repeats]),
        wordings=split_wordings(tables.variants, requested),
        variants=_fill_variants(tables.variants, lost, requested),
        counts=tables.variants[min(tables.variants)].only(COUNTS),
        means=scores.mean(),
        latency=latency_by_stage(traces),
        queries=scores.queries,
        total=len(golden.queries),
        lists=RankedLists(map_hits(tables.by_variant.get((0, 0), {}))),
        empties=_count_empty(traces, unanswerable | unjudged) if several else {},
        successes=_count_successes(tables.variants, tables.success, unanswerable) if several else {},
        failures=failures,
        unfound=frozenset((*missed, *failures)) - unanswerable | unjudged,
        unanswerable=unanswerable,
        invented=list_invented(golden, traces),
        texts=HitTexts(golden, traces),
        unmeasured=count_unmeasured(tables.variants.values(), requested),
        must_show={query.id: query.must_show for query in tables.subset.queries if query.must_show},
        false_answers=_find_false_answers(traces, unanswerable, tables.everything) - failures.keys(),
        unjudged=unjudged,
        segments=QuerySegments(golden),
        traces=traces,
        questions=describe_asked(golden, scores.queries, revision, settings, traces),
        revision=revision,
    )


def _find_false_answers(traces: Iterable[Trace], unanswerable: frozenset[str], everything: Scores) -> frozenset[str]:
    """Return the unanswerable queries that got hits, and were not refused."""
    if not unanswerable:
        return frozenset()
    empty = everything.column(_EMPTY, unanswerable)
    return frozenset(
        trace.query for trace in traces if trace.query in unanswerable and empty[trace.query] < 1 and not trace.refused
    )


def _score_variants(
    golden: GoldenSet,
    asked_golden: GoldenSet,
    traces: Sequence[Trace],
    by_variant: Mapping[Variant, Mapping[str, Trace]],
    measures: Iterable[str | Measure],
    options: Scoring,
    embed: PinnedEmbedder,
    name: str,
    bounds: bool,
) -> dict[Variant, Scores]:
    """Return a table for each wording and repeat."""
    failed = _failed_by_variant(traces)
    by_query = _traces_by_query(traces) if len(by_variant) > 1 else {}
    return {
        variant: score_hits(
            asked_golden, keep_order(own), measures,
            unit=options["unit"], undefined=options["undefined"], resolve=resolver(golden), name=name,
            failed=failed.get(variant, ()), bounds=bounds, traces=own, variants=by_query, embed=embed,
        )
        for variant, own in by_variant.items()
    }  # fmt: skip


def _name_judges(scores: Scores, judged_by: Any) -> Scores:
    """Return scores whose judged measures say by whom: those of different judges are not compared."""
    judges = judged_by if isinstance(judged_by, Mapping) else {}
    named = {name: judge for name in scores.measures if (judge := judges.get(name_judge(name)))}
    return replace(
        scores, definitions={**scores.definitions, **{name: f"{name} by {judge}" for name, judge in named.items()}}
    )


def _require_times(run: Run) -> None:
    """Refuse a time that no clock shows: a negative one would make the latency better than it is."""
    if isinstance(run.traces, TraceTable):
        times = np.array(list(run.traces.timings.values()))
    else:
        times = np.fromiter(chain.from_iterable([trace.timings.values() for trace in run.traces]), np.float64)
    if ((times >= 0) & (times < math.inf)).all():
        return
    for trace in run.traces:
        for stage, milliseconds in trace.timings.items():
            if not 0 <= milliseconds < math.inf:
                raise InputError(
                    f"run {shorten(run.provenance.name)} has {milliseconds:g} ms for stage {shorten(stage)} of query "
                    f"{shorten(trace.query)}",
                    hint="a time is a finite number, 0 or above; make the run again",
                )


def pass_rates(evaluation: Evaluation, k: int, threshold: float = 1.0) -> Scores:
    """Return pass@k and pass^k over the repeats of a run, for all measures except those where lower is better."""
    rated = rated_measures(evaluation.scores)
    repeats = evaluation.repeats or (evaluation.scores,)
    return pass_at_k([scores.only(rated) for scores in repeats], k, threshold=threshold)


def rated_measures(scores: Scores) -> list[str]:
    """Return the measures of which a high value is a success: all except those where lower is better."""
    return [name for name in scores.measures if Measure.parse(name).definition.higher_is_better is not False]


def _record(options: Scoring) -> dict[str, object]:
    """Return the options as a run's settings have them: the unit always, the others if they are not the default."""
    return {name: value for name, value in options.items() if name == "unit" or value != SCORING.get(name)}


def _failed_by_variant(traces: Sequence[Trace]) -> dict[Variant, set[str]]:
    failed: dict[Variant, set[str]] = {}
    for trace in select_detailed(traces):
        if trace.error:
            failed.setdefault((trace.paraphrase, trace.repeat), set()).add(trace.query)
    return failed


def _lost_by_variant(traces: Iterable[Trace], may_be_empty: Set[str]) -> dict[Variant, set[str]]:
    """Return the queries without an answer in each wording and repeat; some may rightly have none."""
    lost: dict[Variant, set[str]] = {}
    for trace in traces:
        if trace.error or (not trace.listed and trace.query not in may_be_empty):
            lost.setdefault((trace.paraphrase, trace.repeat), set()).add(trace.query)
    return lost


def _fill_variants(
    tables: Mapping[Variant, Scores], lost: Mapping[Variant, Set[str]], measures: Iterable[str]
) -> dict[Variant, Scores]:
    """Return the tables with the worst values of what was lost; {} if every question was asked once."""
    if len(tables) == 1:
        return {}
    return {variant: fill_worst(table.only(measures), lost.get(variant, ())) for variant, table in tables.items()}


def _count_empty(traces: Iterable[Trace], may_be_empty: Set[str]) -> dict[str, tuple[int, int]]:
    """Return in how many of its wordings and repeats a query returned nothing, and how many there are."""
    tries = Counter(trace.query for trace in traces)
    empty = Counter(trace.query for trace in traces if not trace.listed and not trace.error)
    return {query: (count, tries[query]) for query, count in empty.items() if query not in may_be_empty}


def _count_successes(
    tables: Mapping[Variant, Scores], success: str, unanswerable: Set[str]
) -> dict[str, tuple[int, int]]:
    """Return in how many of its wordings and repeats each query succeeded, and how many there are."""
    won: Counter[str] = Counter()
    tries: Counter[str] = Counter()
    for table in tables.values():
        present = select_asked(table)
        for query, value in present.column(success, set(present.queries) - unanswerable).items():
            tries[query] += 1
            won[query] += value == 1
        for query, value in present.column(_EMPTY, unanswerable & set(present.queries)).items():
            tries[query] += 1
            won[query] += value == 1
    return {query: (won[query], count) for query, count in tries.items()}


def _traces_by_variant(traces: Sequence[Trace]) -> Mapping[Variant, Mapping[str, Trace]]:
    if isinstance(traces, TraceTable):
        return {(0, 0): traces.by_query}
    first = {trace.query: trace for trace in traces if not trace.paraphrase and not trace.repeat}
    if first and len(first) == len(traces):  # everything was asked once
        return {(0, 0): first}
    variants: dict[Variant, dict[str, Trace]] = {}
    for trace in traces:
        variants.setdefault((trace.paraphrase, trace.repeat), {})[trace.query] = trace
    return variants


def _traces_by_query(traces: Iterable[Trace]) -> dict[str, list[Trace]]:
    queries: dict[str, list[Trace]] = {}
    for trace in traces:
        queries.setdefault(trace.query, []).append(trace)
    return queries


def _require_known_documents(golden: GoldenSet, traces: Iterable[Trace], scores: Scores) -> None:
    """Refuse a run without any document of the golden set: it uses other ids."""
    if scores.judged_retrieved or not golden.judgment_count:
        return
    hits = [hit for trace in traces for hit in trace.hits]
    # A run that returned only unjudged documents of the set is accepted: a score of 0 is true.
    if hits and golden.document_by_id.keys().isdisjoint(hit.document for hit in hits):
        judged = dict.fromkeys(judgment.target.document for judgment in golden.judgments)
        raise UnknownDocuments(
            "no document that the system returned is judged",
            source=golden.name,
            hint=describe_mismatch(hits, judged, {*judged, *golden.document_by_id}),
        )
