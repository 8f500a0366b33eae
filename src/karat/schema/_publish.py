"""The JSON Schema of a typed document."""

from __future__ import annotations

import inspect
from typing import Any

import msgspec

from karat.schema._published import document_type

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema(document: str | type[msgspec.Struct], *, title: str | None = None) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a document: one of ``DOCUMENTS`` by its name, or a type.

    Its description is the type's docstring, its title by default the name of the document or of the type.

    >>> class Point(msgspec.Struct):
    ...     '''A point.'''
    ...     x: int | float
    >>> json_schema(Point, title="karat point")["properties"]
    {'x': {'type': 'number'}}
    >>> json_schema("power")["title"]
    'karat power'
    """
    kind = document_type(document) if isinstance(document, str) else document
    (reference,), components = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    definitions = {name: _simplify(part) for name, part in components.items()}
    root = definitions.pop(reference["$ref"].rpartition("/")[2])
    name = f"karat {document}" if isinstance(document, str) else root["title"]
    schema = {"$schema": _DIALECT, **root, "title": title or name}
    return schema | ({"$defs": definitions} if definitions else {})


def _simplify(part: Any) -> Any:
    """Return a part of a schema with alternatives of plain types merged, and descriptions as single lines."""
    if isinstance(part, list):
        return [_simplify(item) for item in part]
    if not isinstance(part, dict):
        return part
    simple = {key: _simplify(value) for key, value in part.items()}
    if isinstance(description := simple.get("description"), str):
        simple["description"] = " ".join(inspect.cleandoc(description).split())
    options = simple.get("anyOf", [])
    if options and all(set(option) == {"type"} for option in options):
        types = [option["type"] for option in options]
        if "number" in types:  # which includes the whole numbers
            types = [name for name in types if name != "integer"]
        del simple["anyOf"]
        simple["type"] = types[0] if len(types) == 1 else types
    return simple
