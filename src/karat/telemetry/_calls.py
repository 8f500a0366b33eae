"""Calls of a language model as spans and metrics, by the conventions for generative AI."""

from __future__ import annotations

import json
from collections.abc import Sequence

from opentelemetry.metrics import Meter
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext

from karat.telemetry._making import RUN_ID, Attributes, Maker
from karat.telemetry._records import ModelCall

DURATIONS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
"""Seconds: the limits of the histogram of calls, as the conventions have them."""
TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
"""The limits of the histograms of tokens."""
_PROVIDER = "openai"
"""Whose API the server has; who runs it is not known."""
_USAGE, _OPERATION = "gen_ai.client.inference.usage", "gen_ai.client.inference.operation"


def make_call(
    maker: Maker,
    run: str,
    call: ModelCall,
    context: SpanContext,
    parent: SpanContext,
    begin: int,
    *,
    content: bool,
    links: Sequence[SpanContext] = (),
) -> ReadableSpan:
    """Return the span of a call that begins at a time in nanoseconds."""
    attributes = {RUN_ID: run, **_describe_call(call), **(_describe_content(call) if content else {})}
    return maker.make_span(
        f"chat {call.model}",
        context,
        begin,
        begin + int(call.seconds * 1e9),
        attributes,
        parent=parent,
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


def count_calls(meter: Meter, run: str, calls: Sequence[ModelCall]) -> None:
    """Count the tokens and times of calls; without any, there is no metric of them."""
    if not calls:
        return
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
    for call in calls:
        shared = {RUN_ID: run, **_describe_model(call)}
        duration.record(call.seconds, {**shared, "error.type": call.kind} if call.error else shared)
        modality = "unknown" if call.tokens is None else "text"
        for total, spread, count in zip(totals, spreads, call.tokens or (0, 0), strict=True):
            total.add(count, {**shared, "gen_ai.token.modality": modality})
            if call.tokens is not None:
                spread.record(count, shared)
