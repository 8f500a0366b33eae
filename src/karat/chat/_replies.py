"""What a model has to reply: typed values, their JSON Schemas, and the way from a model's text to a value."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

import msgspec

from karat.core import shorten

T = TypeVar("T")


class Reply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A reply. All fields are required, and no others are allowed, as strict schemas ask for."""


class Unreadable(Exception):
    """A reply that is not what was asked for; the message says why, for one more attempt."""


_FENCED = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)


def read_reply(text: str, kind: type[T]) -> T:
    r"""Return the value in a model's text, which may stand in a code block or among other words.

    >>> class Claims(Reply, frozen=True):
    ...     claims: list[str]
    >>> read_reply('Here you are: ```json\n{"claims": ["Wi-Fi is free."]}\n```', Claims)
    Claims(claims=['Wi-Fi is free.'])
    """
    problem = "it holds no JSON object"
    for candidate in _list_candidates(text):
        try:
            return msgspec.json.decode(candidate, type=kind, strict=True)
        except msgspec.ValidationError as error:
            problem = str(error)
        except (msgspec.DecodeError, RecursionError) as error:
            problem = f"it is not JSON: {shorten(str(error))}"
    raise Unreadable(problem)


def _list_candidates(text: str) -> list[str]:
    """Return the parts of a text that may be the JSON object, the likeliest first."""
    candidates = [text.strip(), *(match.strip() for match in _FENCED.findall(text))]
    start, end = text.find("{"), text.rfind("}")
    if 0 <= start < end:
        candidates.append(text[start : end + 1])
    return [candidate for candidate in dict.fromkeys(candidates) if candidate.startswith("{")]


def make_schema(kind: type[Any]) -> dict[str, Any]:
    """Return the JSON Schema of a reply, as strict structured output takes it: in one piece, without references.

    >>> class Verdict(Reply, frozen=True):
    ...     right: bool
    >>> make_schema(Verdict)["required"]
    ['right']
    """
    if kind not in _SCHEMAS:
        _SCHEMAS[kind] = _make_schema(kind)
    return _SCHEMAS[kind]


_SCHEMAS: dict[type[Any], dict[str, Any]] = {}


def _make_schema(kind: type[Any]) -> dict[str, Any]:
    (schema,), definitions = msgspec.json.schema_components([kind], ref_template="{name}")
    return dict(_inline(schema, definitions))


_TITLES = ("title", "description")


def _inline(schema: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_inline(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inline(definitions[schema["$ref"]], definitions)
    inlined = {name: _inline(value, definitions) for name, value in schema.items() if name not in _TITLES}
    if "enum" in inlined:  # some servers want the type, too
        inlined["type"] = "string" if isinstance(inlined["enum"][0], str) else "integer"
    return inlined


def describe_schema(kind: type[Any]) -> str:
    """Return the schema as a line of a prompt, for models that no server holds to it."""
    return json.dumps(make_schema(kind), separators=(",", ":"))
