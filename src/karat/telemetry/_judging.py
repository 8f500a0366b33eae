"""Judging as spans, metrics and log records: each call of a model, and what each judge says of each answer.

A judgment is in the context of the query's span in the trace of the run that was judged, as the conventions for
generative AI want it. The calls are in a trace of their own, and each is linked to the query that it is about.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial

from opentelemetry.metrics import Meter
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricsData
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext

from karat.core import __version__
from karat.telemetry._destination import Destination
from karat.telemetry._emission import RESULT, RUN_ID, Emitted, describe_result, locate_query, locate_run, set_means
from karat.telemetry._making import Attributes, Maker, make_context, make_trace
from karat.telemetry._records import FinishedJudging, JudgedAnswer, ModelCall

SCOPE = "karat.judging"
DURATIONS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
"""Seconds: the limits of the histogram of calls, as the conventions have them."""
TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
"""The limits of the histograms of tokens."""
_PROVIDER = "openai"
"""Whose API the server has; who runs it is not known."""
_USAGE, _OPERATION = "gen_ai.client.inference.usage", "gen_ai.client.inference.operation"


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
    attributes = {RUN_ID: judging.run, **_describe_call(call)}
    if destination.content:
        attributes |= _describe_content(call)
    begin = int(call.begun * 1e9)
    about = judged is not None and call.query
    links = [locate_query(judged, call.query, call.paraphrase, call.repeat)] if judged and about else []
    return maker.make_span(
        f"chat {call.model}",
        make_context(root.trace_id),
        begin,
        begin + int(call.seconds * 1e9),
        attributes,
        parent=root,
        client=True,
        error=call.error,
        kind=call.kind,
        links=links,
    )


def _describe_call(call: ModelCall) -> Attributes:
    """Return the attributes of a call, without its messages."""
    attributes: Attributes = {
        **_describe_model(call),
        "gen_ai.output.type": "json",
        **{f"gen_ai.request.{name}": value for name, value in call.request.items()},
    }
    if call.tokens is not None:
        attributes["gen_ai.usage.input_tokens"], attributes["gen_ai.usage.output_tokens"] = call.tokens
    if call.prompt is not None:
        attributes["gen_ai.prompt.name"], attributes["gen_ai.prompt.version"] = call.prompt
    optional = {
        "gen_ai.response.id": call.response_id,
        "query_id": call.query,
        "karat.judge": call.judge,
        "karat.paraphrase": call.paraphrase,
        "karat.repeat": call.repeat,
        "karat.vote": call.vote,
        "karat.attempts": call.attempts if call.attempts > 1 else 0,
    }
    return attributes | {name: value for name, value in optional.items() if value}


def _describe_model(call: ModelCall) -> Attributes:
    """Return what spans and metrics say of the model."""
    attributes: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _PROVIDER,
        "gen_ai.request.model": call.model,
        "server.address": call.address,
        "server.port": call.port,
    }
    return {**attributes, "gen_ai.response.model": call.response_model} if call.response_model else attributes


def _describe_content(call: ModelCall) -> Attributes:
    """Return the messages of a call, as the conventions write them."""
    attributes = {"gen_ai.input.messages": _write_messages(call.messages)}
    if call.reply:
        attributes["gen_ai.output.messages"] = _write_messages([("assistant", call.reply)])
    return attributes


def _write_messages(messages: Sequence[tuple[str, str]]) -> str:
    written = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in messages]
    return json.dumps(written, ensure_ascii=False)


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
    if judging.calls:
        _count_calls(meter, judging)
    set_means(meter, destination.prefix, judging.run, judging.means)
    data = reader.get_metrics_data()
    provider.shutdown()
    return data


def _count_calls(meter: Meter, judging: FinishedJudging) -> None:
    duration = meter.create_histogram(
        "gen_ai.client.inference.duration",
        unit="s",
        description="Duration of calls of a model",
        explicit_bucket_boundaries_advisory=DURATIONS,
    )
    kinds = ("input_tokens", "output_tokens")
    totals = [meter.create_counter(f"{_USAGE}.{kind}", unit="{token}") for kind in kinds]
    spreads = [
        meter.create_histogram(f"{_OPERATION}.{kind}", unit="{token}", explicit_bucket_boundaries_advisory=TOKENS)
        for kind in kinds
    ]
    for call in judging.calls:
        shared = {RUN_ID: judging.run, **_describe_model(call)}
        duration.record(call.seconds, {**shared, "error.type": call.kind} if call.error else shared)
        modality = "unknown" if call.tokens is None else "text"
        for total, spread, count in zip(totals, spreads, call.tokens or (0, 0), strict=True):
            total.add(count, {**shared, "gen_ai.token.modality": modality})
            if call.tokens is not None:
                spread.record(count, shared)
