"""What a judge would send, without a server: every request about one answer, in order."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from karat.chat import Check, Completion, Dialogue, Model, Part, Prompt, Replies, Rung, make_body, make_key, make_schema

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRequest:
    """A request that a judge makes."""

    prompt: Prompt
    body: dict[str, Any]
    """What is sent, as JSON."""
    schema: dict[str, Any]
    """What the reply is checked against."""
    known: bool
    """Whether the cache has the reply. If not, what later requests take from it stands in brackets."""


class Rehearsal(Dialogue):
    """Records requests instead of sending them. Replies come from the cache, or else are examples."""

    def __init__(self, model: Model, rung: Rung, replies: Replies | None = None) -> None:
        self.requests: list[PlannedRequest] = []
        self._model, self._rung, self._replies = model, rung, replies
        self._prompt: Prompt | None = None
        self._parts: Sequence[Part] = ()

    def ask(
        self, prompt: Prompt, parts: Sequence[Part], kind: type[T], *, vote: int = 0, check: Check | None = None
    ) -> T:
        self._prompt, self._parts = prompt, parts
        return super().ask(prompt, parts, kind, vote=vote, check=check)

    def _complete(self, messages: list[dict[str, str]], kind: type[Any], vote: int) -> Completion:
        body = make_body(self._model, self._rung, messages, kind)
        reply = None if self._replies is None else self._replies.get(make_key(self._model.url, body, vote))
        assert self._prompt is not None  # ask() sets it
        self.requests.append(
            PlannedRequest(prompt=self._prompt, body=body, schema=make_schema(kind), known=reply is not None)
        )
        return reply or Completion(json.dumps(_make_example(make_schema(kind), self._parts)), None)


def _make_example(schema: dict[str, Any], parts: Sequence[Part], name: str = "") -> Any:
    """Return a reply of a schema: a verdict for each numbered part that it asks about, and texts in brackets."""
    if "enum" in schema:
        return schema["enum"][0]
    match schema["type"]:
        case "object":
            return {key: _make_example(value, parts, key) for key, value in schema["properties"].items()}
        case "array":
            return _make_list(schema["items"], parts, name)
        case "boolean":
            return False
        case "string":
            return f"[{name} of the model]"
        case _:
            return schema.get("minimum", 0)


def _make_list(item: dict[str, Any], parts: Sequence[Part], name: str) -> list[Any]:
    named = dict(parts)
    if item["type"] != "object":  # claims, or so many questions as are asked for
        return [_make_example(item, parts, name.removesuffix("s"))] * int(named.get("count", 1))
    subject = next(iter(item["properties"]))  # what a verdict is about comes first: claim, or chunk
    wanted = {"chunk": "text"}.get(subject, subject)
    numbers = [int(match[1]) for part in named if (match := re.fullmatch(rf"{wanted} ([0-9]+)", part))]
    return [_make_example(item, parts) | {subject: number} for number in numbers]
