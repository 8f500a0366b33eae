"""Judging as spans, metrics and log records: each call of a model, and what each judge says of each answer.

A judgment is in the context of the query's span in the trace of the run that was judged, as the conventions for
generative AI want it. The calls are in a trace of their own, and each is linked to the query that it is about.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricsData
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext

from karat.core import __version__
from karat.telemetry._calls import count_calls, make_call
from karat.telemetry._destination import Destination
from karat.telemetry._emission import RESULT, Emitted, describe_result, locate_query, locate_run, set_means
from karat.telemetry._making import RUN_ID, Attributes, Maker, make_context, make_trace
from karat.telemetry._records import FinishedJudging, JudgedAnswer, ModelCall

SCOPE = "karat.judging"


def emit_judging(judging: FinishedJudging, destination: Destination) -> Emitted:
    """Return the spans, metrics and log records of judging; one that failed has no log records and sets no gauge."""
    maker = Maker(SCOPE)
    root = make_context(make_trace())
    judged = locate_run(judging.seed) if judging.seed else None
    end = int((judging.begun + judging.seconds) * 1e9)
    spans: list[ReadableSpan] = []
    if maker.is_sampled(root.trace_id, judging.verb):
        spans += (_make_call(maker, judging, call, root, judged, destination) for call in judging.calls)
        make = partial(maker.make_span, error=judging.error, kind=judging.kind)
        spans.append(make(f"karat {judging.verb}", root, int(judging.begun * 1e9), end, _describe(judging)))
    logs = _list_results(maker, judging, judged, root, end, content=destination.content)
    return Emitted(
        spans=tuple(spans), logs=tuple(logs), metrics=_emit_metrics(judging, destination, maker.resource)
    )  # fmt: skip


def _describe(judging: FinishedJudging) -> Attributes:
    attributes: Attributes = {
        RUN_ID: judging.run,
        "karat.golden": judging.golden,
        "karat.calls": len(judging.calls),
    }
    if judging.other:
        attributes["karat.other_run.id"] = judging.other
    if judging.error:
        return attributes
    attributes |= {
        "karat.judges": sorted({answer.judge for answer in judging.answers}),
        "karat.answers": len(judging.answers),
        "karat.calls.cached": judging.cached,
    }
    return {**attributes, "karat.money": judging.money} if judging.money else attributes


def _make_call(
    maker: Maker,
    judging: FinishedJudging,
    call: ModelCall,
    root: SpanContext,
    judged: SpanContext | None,
    destination: Destination,
) -> ReadableSpan:
    about = judged is not None and call.query
    links = [locate_query(judged, call.query, call.paraphrase, call.repeat)] if judged and about else []
    context, begin = make_context(root.trace_id), int(call.begun * 1e9)
    return make_call(maker, judging.run, call, context, root, begin, content=destination.content, links=links)


def _list_results(
    maker: Maker,
    judging: FinishedJudging,
    judged: SpanContext | None,
    root: SpanContext,
    at: int,
    *,
    content: bool,
) -> Iterator[ReadableLogRecord]:
    """Yield what each judge says of each answer; one without a value says why."""
    for answer in judging.answers:
        context = root if judged is None else locate_query(judged, answer.query, answer.paraphrase, answer.repeat)
        yield maker.make_log(RESULT, context, at, _describe_answer(judging.run, answer, content=content))


def _describe_answer(run: str, answer: JudgedAnswer, *, content: bool) -> Attributes:
    attributes = describe_result(run, answer.measure, answer.value, answer.reason)
    if content and answer.explanation and answer.value is not None:
        attributes["gen_ai.evaluation.explanation"] = answer.explanation
    optional = {"karat.document": answer.document, "karat.vote": answer.vote}
    return {
        **attributes,
        "query_id": answer.query,
        "karat.judge": answer.judge,
        "karat.evaluator": "LLM" if answer.is_model else "CODE",
        **{name: value for name, value in optional.items() if value},
    }


def _emit_metrics(judging: FinishedJudging, destination: Destination, resource: Resource) -> MetricsData | None:
    """Return the metrics of judging: the tokens and times of calls, and the means as they are now."""
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
    meter = provider.get_meter(SCOPE, __version__)
    count_calls(meter, judging.run, judging.calls)
    set_means(meter, destination.prefix, judging.run, judging.means)
    data = reader.get_metrics_data()
    provider.shutdown()
    return data
