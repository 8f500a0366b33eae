"""What answers tell of a window: coverage, citations, delta-S and lambda, by a golden set or as hosts log them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from zlib import crc32

from karat.core import Citation, GoldenSet, Hit, KaratError, Provenance, Query, Run, Span, Trace, count_things
from karat.evaluation import score_run
from karat.measures import STATES, interpolate, observe_traces
from karat.monitoring._traffic import make_share, missing
from karat.online import LoggedQuery
from karat.online.answers import AnswerCount, GivenAnswer, count_answers, make_counted_run
from karat.projects import Project
from karat.schema.watch import WatchValue

NO_ANSWER = "no answer is logged: q.answer(text, citations) logs it"
NO_CITATION = (
    "no answer cites anything; if yours never do, [online.alerts] in karat.toml switches coverage, citation and "
    "divergent off"
)
NO_GOLDEN = "there is no golden set to tell: name its project"
_MIXED = "its queries have several normalisers: offsets under them do not compare"
_DISTANCE_NAMES = ("delta_s", "ΔS")
_STATE_NAMES = ("lambda", "λ_state")
_ARROWS = {"→": "convergent", "<>": "split", "←": "divergent", "\u00d7": "chaotic"}
_APART = ("divergent", "chaotic")
_MOST_DISTANCES = 200
"""So many answers of a window are embedded, chosen by their ids: always the same."""
_MOST_UNKNOWN = 0.1
_FARTHEST = 2.0
_JUDGED = {"coverage": "CiteCoverage", "citation": "CiteAccuracy", "recall": "R@5"}


def measure_answers(
    queries: Sequence[LoggedQuery],
    project: Project | None,
    normaliser: str | None,
    least: int,
    cites: Callable[[], bool],
) -> dict[str, WatchValue]:
    """Return the signals of the answers in a window; ``normaliser`` is None if its queries have several.

    ``cites`` says whether any answer of the history cites anything. If none does, its hosts do not log citations, and
    nobody can tell what their answers rest on.
    """
    golden = None if project is None else project.golden
    counts = () if golden is None else count_answers(golden, map(_read_given, queries))
    silent = _find_silence(queries, cites)
    signals = dict.fromkeys(_JUDGED, missing(NO_GOLDEN))
    if project is not None and normaliser is None:
        signals = dict.fromkeys(_JUDGED, missing(_MIXED))
    elif project is not None:
        signals = _measure_gold(counts, project, least)
    if silent:
        signals |= dict.fromkeys(("coverage", "citation"), missing(silent))
    return {
        **signals,
        **_measure_distances(queries, golden, least),
        "divergent": _measure_states(queries, golden, counts, silent, least),
    }


def _find_silence(queries: Sequence[LoggedQuery], cites: Callable[[], bool]) -> str:
    """Return why the answers of a window say nothing of what they rest on; empty if they do.

    Hosts whose answers cite elsewhere in the history, and nothing in this window, say that they cite nothing.
    """
    if all(query.answer is None for query in queries):
        return NO_ANSWER
    return "" if any(query.citations for query in queries) or cites() else NO_CITATION


def _read_given(query: LoggedQuery) -> GivenAnswer:
    hits = tuple(
        Hit(
            hit.id,
            float(len(query.hits) - place),
            hit.document,
            None if hit.span is None else Span(*hit.span),
            section=hit.section,
        )
        for place, hit in enumerate(query.hits)
    )
    return GivenAnswer(
        text=query.text,
        hits=hits,
        answer=query.answer or "",
        citations=tuple(map(Citation, query.citations)),
        error=query.error,
        latency=query.latency,
    )


def _measure_gold(counts: Sequence[AnswerCount], project: Project, least: int) -> dict[str, WatchValue]:
    """Return what a golden set says of the queries that ask what it asks, in the same words.

    Coverage and recall are over all of them, however often one question is asked: what failed, was refused or has no
    answer covers nothing. Citations are over the answers that cite.
    """
    total = sum(count.times for count in counts)
    if total < max(least, 1):
        what = (
            f"{count_things(total, 'query asks', 'queries ask')} what the "
            f"golden set asks, in the same words; {max(least, 1):,} are needed"
        )
        return dict.fromkeys(_JUDGED, missing(what, total))
    golden, run = make_counted_run(project.golden, counts, "live")
    try:
        scores = score_run(golden, run, list(_JUDGED.values()), **project.scoring).scores
    except KaratError as error:
        return dict.fromkeys(_JUDGED, missing(str(error), total))
    columns = {signal: scores.column(name) for signal, name in _JUDGED.items()}
    times = {trace.query: count.times for trace, count in zip(run.traces, counts, strict=True)}
    cited = {trace.query: times[trace.query] for trace in run.traces if trace.citations}
    known = {query: number for query, number in cited.items() if query in columns["citation"]}
    what = "queries of the golden set"
    return {
        "coverage": _make_mean(columns["coverage"], times, least, f"{what} have answers that cite what is relevant"),
        "citation": _make_mean(columns["citation"], known, least, "answers that cite anything cite the right place"),
        "recall": _make_mean(columns["recall"], times, least, f"{what}, summed recall of the first five"),
    }


def _make_mean(values: Mapping[str, float], times: Mapping[str, int], least: int, what: str) -> WatchValue:
    """Return a mean over answers, each as often as it was given; those without a value count as 0."""
    total = sum(times.values())
    if total < max(least, 1):
        return missing(f"{total:,} {what}; {max(least, 1):,} are needed", total)
    summed = math.fsum(values.get(query, 0.0) * number for query, number in times.items())
    return WatchValue(value=summed / total, n=total, evidence=(f"{summed:g} of {total:,} {what}",))


def _measure_distances(queries: Sequence[LoggedQuery], golden: GoldenSet | None, least: int) -> dict[str, WatchValue]:
    """Return the median and p90 of delta-S: as the host logged it, or of what answers cite."""
    logged = [distance for query in queries if (distance := _read_distance(query.attributes)) is not None]
    distances, unknown, how = logged, 0, "as it was logged"
    if not logged:
        cited = [query for query in queries if query.answer is not None and query.citations and not query.error]
        if not cited:
            none = NO_ANSWER if all(query.answer is None for query in queries) else "no answer cites anything"
            return dict.fromkeys(("delta_s_p90", "delta_s_median"), missing(none))
        if golden is None or not golden.documents:
            reason = "no delta-S is logged, and there are no documents to measure it: name a project that has them"
            return dict.fromkeys(("delta_s_p90", "delta_s_median"), missing(reason))
        distances, unknown, how = _embed(cited, golden)
    total = len(distances) + unknown
    if unknown > _MOST_UNKNOWN * total or len(distances) < max(least, 1):
        reason = f"the distance of {len(distances):,} of {total:,} answers is known; {max(least, 1):,} are needed"
        if unknown > _MOST_UNKNOWN * total:
            reason = f"{unknown:,} of {total:,} answers cite documents that the project does not have"
        return dict.fromkeys(("delta_s_p90", "delta_s_median"), missing(reason, len(distances)))
    note = (f"{unknown:,} of {total:,} answers cite unknown texts",) if unknown else ()
    return {
        name: WatchValue(value=interpolate(distances, share), n=len(distances), evidence=(how, *note))
        for name, share in (("delta_s_p90", 0.9), ("delta_s_median", 0.5))
    }


def _read_distance(attributes: Mapping[str, Any]) -> float | None:
    """Return the delta-S that a host logged: a number, or a list of which the first is that of the chosen citation."""
    value = next((attributes[name] for name in _DISTANCE_NAMES if name in attributes), None)
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _FARTHEST:
        return float(value)
    return None


def _embed(cited: Sequence[LoggedQuery], golden: GoldenSet) -> tuple[list[float], int, str]:
    """Return the distances of what answers cite from their questions, and of how many it is not known."""
    chosen = sorted(cited, key=lambda query: (crc32(query.id.encode()), query.id))[:_MOST_DISTANCES]
    traces = tuple(_make_trace(query) for query in chosen)
    questions = replace(golden, queries=tuple(Query(id=query.id, text=query.text) for query in chosen), judgments=())
    try:
        evaluation = score_run(questions, Run(provenance=Provenance(name="live"), traces=traces), ["CiteDeltaS"])
    except KaratError as error:
        return [], len(chosen), str(error)
    distances = list(evaluation.scores.column("CiteDeltaS").values())
    return distances, len(chosen) - len(distances), f"of what {len(chosen):,} answers cite, by karat's embedder"


def _make_trace(query: LoggedQuery) -> Trace:
    live = _read_given(query)
    return Trace(query=query.id, text=query.text, hits=live.hits, answer=live.answer, citations=live.citations)


def _measure_states(
    queries: Sequence[LoggedQuery],
    golden: GoldenSet | None,
    counts: Sequence[AnswerCount],
    silent: str,
    least: int,
) -> WatchValue:
    """Return the share of questions whose answers diverge: as the host logged it, or by all answers in the window."""
    logged = [state for query in queries if (state := _read_state(query.attributes))]
    if logged:
        apart = sum(state in _APART for state in logged)
        return make_share(apart, len(logged), least, "answers, as their states were logged")
    if silent:
        return missing(silent)
    if golden is None:
        return missing(f"no state is logged, and {NO_GOLDEN}")
    # Twice the same answer is enough to tell that a question was asked again; more of them change no state.
    states = observe_traces(golden, [count.trace for count in counts for _ in range(min(count.times, 2))])
    known = [state for state in states.values() if state in STATES]
    what = "questions of the golden set that were asked twice"
    return make_share(sum(state in _APART for state in known), len(known), least, what)


def _read_state(attributes: Mapping[str, Any]) -> str:
    value = next((attributes[name] for name in _STATE_NAMES if name in attributes), None)
    state = _ARROWS.get(value, value) if isinstance(value, str) else ""
    return state if state in STATES else ""
