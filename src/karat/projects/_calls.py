"""Calls of a model as telemetry sees them."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

from karat.chat import Call
from karat.telemetry import ModelCall

_REQUEST = ("temperature", "max_tokens", "seed")


def describe_call(call: Call, *, content: bool) -> ModelCall:
    """Return a call; its messages only if they are sent."""
    place, parameters, about = urlsplit(call.model.url), call.model.parameters, call.subject
    body = json.loads(call.body) if content else {"messages": []}
    return ModelCall(
        model=call.model.model,
        address=place.hostname or "",
        port=place.port or (443 if place.scheme == "https" else 80),
        begun=call.begun,
        seconds=call.seconds,
        request={name: parameters[name] for name in _REQUEST if name in parameters},
        tokens=None if call.usage is None else (call.usage.sent, call.usage.received),
        attempts=call.attempts,
        response_id=call.reply.id if call.reply else "",
        response_model=call.reply.model if call.reply else "",
        error=call.error,
        kind=call.kind,
        prompt=None if call.prompt is None else (call.prompt.name, call.prompt.version),
        query=about.query if about else "",
        paraphrase=about.paraphrase if about else 0,
        repeat=about.repeat if about else 0,
        judge=about.judge if about else "",
        vote=about.vote if about else 0,
        messages=tuple((message["role"], message["content"]) for message in body["messages"]),
        reply=call.reply.text if content and call.reply else "",
    )
