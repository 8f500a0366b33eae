"""What a format cannot hold: each loss has a name, a description, and a function that takes it out of a trace.

A writer gets what is left. So the losses of a format are all that it loses, and reading what was written returns the
trace without them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from karat.core import Context, Hit, HitList, Trace
from karat.traces._log_names import (
    AGENT_LATENCIES,
    AGENT_TELEMETRY,
    BLOCKS_ENVELOPE,
    BLOCKS_TELEMETRY,
    TRACE_EVENT,
)
from karat.traces._requests import sum_times


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that a format cannot hold."""

    name: str
    text: str
    """What is lost, as people read it."""
    drop: Callable[[Trace], Trace]
    """Returns the trace without it: the same object if it has none."""


def drop_losses(trace: Trace, losses: Sequence[Loss]) -> tuple[Trace, list[str]]:
    """Return a trace without what a format cannot hold, and the names of what it had of that.

    >>> smaller, names = drop_losses(Trace(query="q", text="?", answer="Yes."), [ANSWERS])
    >>> smaller.answer, names
    ('', ['answers'])
    """
    names = []
    for loss in losses:
        smaller = loss.drop(trace)
        if smaller is not trace:
            names.append(loss.name)
            trace = smaller
    return trace, names


def _clear(name: str, empty: Any) -> Callable[[Trace], Trace]:
    """Return a function that empties a field of a trace."""
    return lambda trace: replace(trace, **{name: empty}) if getattr(trace, name) != empty else trace


def _keep(name: str, choose: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Callable[[Trace], Trace]:
    """Return a function that keeps only some entries of a table of a trace."""

    def drop(trace: Trace) -> Trace:
        table = getattr(trace, name)
        kept: Any = choose(table)
        return replace(trace, **{name: kept}) if kept != table else trace

    return drop


def _clear_hits(**empty: Any) -> Callable[[Trace], Trace]:
    """Return a function that empties fields of all hits of a trace, those of its stages included."""

    def clear(hit: Hit) -> Hit:
        return replace(hit, **empty) if any(getattr(hit, name) != value for name, value in empty.items()) else hit

    return _each_hit(clear)


def _each_hit(change: Callable[[Hit], Hit]) -> Callable[[Trace], Trace]:
    def drop(trace: Trace) -> Trace:
        if type(trace.listed) is HitList and not trace.stages:  # it has ids, documents and scores alone
            return trace
        hits = _change_all(trace.hits, change)
        lists = [_change_all(stage.hits, change) for stage in trace.stages]
        if hits is trace.hits and all(new is stage.hits for new, stage in zip(lists, trace.stages, strict=True)):
            return trace
        stages = tuple(replace(stage, hits=new) for new, stage in zip(lists, trace.stages, strict=True))
        return replace(trace, hits=hits, stages=stages)

    return drop


def _change_all(hits: tuple[Hit, ...], change: Callable[[Hit], Hit]) -> tuple[Hit, ...]:
    changed = tuple(map(change, hits))
    return hits if all(new is old for new, old in zip(changed, hits, strict=True)) else changed


def _drop_odd_span(hit: Hit) -> Hit:
    odd = hit.span is not None and not 0 <= hit.span.start <= hit.span.end
    return replace(hit, span=None) if odd else hit


def _drop_stage_lists(trace: Trace) -> Trace:
    if not any(stage.hits for stage in trace.stages):
        return trace
    return replace(trace, stages=tuple(replace(stage, hits=()) for stage in trace.stages))


def _drop_agent_times(trace: Trace) -> Trace:
    """Keep the times of the stages, which agent has in its stages, and those that its telemetry names."""
    stages = tuple(
        replace(stage, milliseconds=0.0) if (stage.milliseconds or 0.0) < 0 else stage for stage in trace.stages
    )
    named = {name: trace.timings[name] for name in (*AGENT_LATENCIES.values(), "total") if name in trace.timings}
    times = {**sum_times(stages), **{name: max(0.0, time) for name, time in named.items()}}
    same = times == trace.timings and stages == trace.stages
    return trace if same else replace(trace, timings=times, stages=stages)


def _drop_agent_context(trace: Trace) -> Trace:
    kept = Context(session=trace.context.session, turn=trace.context.turn)
    return trace if trace.context == kept else replace(trace, context=kept)


def _drop_cited_parts(trace: Trace) -> Trace:
    kept = tuple(replace(citation, section="", block="") for citation in trace.citations)
    return trace if kept == trace.citations else replace(trace, citations=kept)


def _agent_envelope(envelope: Mapping[str, Any]) -> dict[str, Any]:
    id_ = envelope.get("traceId", envelope.get("trace_id"))
    return {} if id_ is None else {"traceId": id_}


def _blocks_envelope(envelope: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: envelope[name] for name in BLOCKS_ENVELOPE if envelope.get(name) is not None}
    if kept.get("event", TRACE_EVENT) != TRACE_EVENT:
        del kept["event"]
    if not (isinstance(kept.get("index_hash"), str) and kept["index_hash"]):
        kept.pop("index_hash", None)
    return kept


def _named(names: Sequence[str]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    return lambda table: {name: table[name] for name in names if table.get(name) is not None}


SPANS = Loss("spans", "positions in bytes", _clear_hits(span=None))
ODD_SPANS = Loss("odd-spans", "positions that begin before byte 0 or after their end", _each_hit(_drop_odd_span))
PARTS = Loss("parts", "sections and blocks of hits", _clear_hits(section="", block=""))
TYPES = Loss("types", "types of hits", _clear_hits(type=""))
CONTENTS = Loss("contents", "texts of hits", _clear_hits(content=""))
CHANNELS = Loss("channels", "channels of hits", _clear_hits(channels={}))
STAGE_SCORES = Loss("stage-scores", "scores of hits by stage", _clear_hits(stages={}))
SOURCES = Loss("sources", "hashes, tenants and locators of hits", _clear_hits(source_hash="", tenant="", locator=""))
STAGES = Loss("stages", "stages", _clear("stages", ()))
STAGE_LISTS = Loss("stage-lists", "lists after each stage", _drop_stage_lists)
TIMES = Loss("times", "times", _clear("timings", {}))
AGENT_TIMES = Loss(
    "times",
    "times, except those of its stages, of candidate, fusion, rerank and boost, and in total",
    _drop_agent_times,
)
CONTEXTS = Loss("contexts", "sessions, turns and the rest of the context", _clear("context", Context()))
AGENT_CONTEXTS = Loss("contexts", "the context, except session and turn", _drop_agent_context)
ANSWERS = Loss("answers", "answers", _clear("answer", ""))
CITATIONS = Loss("citations", "citations", _clear("citations", ()))
REFUSALS = Loss("refusals", "whether the system refused to answer", _clear("refused", empty=False))
CITED_PARTS = Loss("cited-parts", "sections and blocks of citations", _drop_cited_parts)
AGENT_TELEMETRY_ONLY = Loss(
    "telemetry", "telemetry that agent does not name", _keep("telemetry", _named(AGENT_TELEMETRY))
)
BLOCKS_TELEMETRY_ONLY = Loss(
    "telemetry", "telemetry, except ΔS, λ state and anchor", _keep("telemetry", _named(BLOCKS_TELEMETRY))
)
AGENT_ENVELOPE_ONLY = Loss("envelope", "the envelope, except the id of the trace", _keep("envelope", _agent_envelope))
BLOCKS_ENVELOPE_ONLY = Loss(
    "envelope", "fields of the envelope that blocks does not name", _keep("envelope", _blocks_envelope)
)
JUDGED = Loss("judged", "digests of the judged documents", _clear("judged", ""))
