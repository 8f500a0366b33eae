"""The API as OpenAPI 3.1, made from the tables of pages and changes and from the published schemas."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from karat.core import __version__
from karat.schema import json_schema
from karat.server._page import Action, Page

_PARAMETER = re.compile(r"\{([a-z_]+)(:path)?\}")
_ERRORS = {
    "400": "Not understood",
    "401": "A token is needed",
    "403": "Not allowed",
    "404": "Not there",
    "409": "Not possible as things are",
    "421": "The server does not have that name",
    "503": "The store cannot be reached",
}
_ERRORS_OF_ACTIONS = {"413": "Too large", "415": "Neither JSON nor a form", "422": "Not possible"}


def describe_api(pages: Sequence[Page], actions: Sequence[Action]) -> dict[str, Any]:
    """Return the description of all addresses that answer with JSON."""
    paths: dict[str, Any] = {}
    names = [*(page.document for page in pages), *(action.document for action in actions)]
    schemas = {name: _schema(name) for name in names}
    for page in pages:
        stem = page.address if page.address != "/" else "/index"
        parameters = _describe_parameters(page.request, page.address)
        answer = _answer(page.document)
        operation = {
            "operationId": f"show-{page.name}", "summary": page.about, "parameters": parameters,
            "responses": answer,
        }  # fmt: skip
        paths[_PARAMETER.sub(r"{\1}", stem) + ".json"] = {"get": operation}
    for action in actions:
        paths[_PARAMETER.sub(r"{\1}", action.address)] = {
            "post": {
                "operationId": action.name,
                "summary": f"{action.about} Needs the role {action.role}.",
                "parameters": [
                    parameter
                    for parameter in _describe_parameters(action.request, action.address)
                    if parameter["in"] == "path"
                ],
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": _describe_body(action)}},
                },
                "responses": _answer(action.document) | _describe_errors(_ERRORS_OF_ACTIONS),
            }
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "karat", "version": __version__, "summary": "The pages of a project as JSON."},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _answer(document: str) -> dict[str, Any]:
    reference = {"$ref": f"#/components/schemas/{document}"}
    good = {"description": "The document.", "content": {"application/json": {"schema": reference}}}
    waiting = {"202": {"description": "It is being computed: ask again in a second."}}
    return {"200": good, **waiting, **_describe_errors(_ERRORS)}


def _describe_errors(errors: dict[str, str]) -> dict[str, Any]:
    return {status: {"description": text} for status, text in errors.items()}


def _schema(document: str) -> dict[str, Any]:
    """Return a published schema; its references are to its own definitions, which move with it."""
    schema = json_schema(document)
    schema.pop("$schema")
    relocated: dict[str, Any] = _relocate(schema, f"#/components/schemas/{document}/$defs/")
    return relocated


def _relocate(part: Any, place: str) -> Any:
    if isinstance(part, list):
        return [_relocate(item, place) for item in part]
    if not isinstance(part, dict):
        return part
    return {
        key: place + value.removeprefix("#/$defs/")
        if key == "$ref" and isinstance(value, str)
        else _relocate(value, place)
        for key, value in part.items()
    }


def _describe_parameters(request: type[Struct], address: str) -> list[dict[str, Any]]:
    properties, required = _list_properties(request)
    in_path = {match[0] for match in _PARAMETER.findall(address)}
    return [
        {
            "name": name,
            "in": "path" if name in in_path else "query",
            "required": name in required or name in in_path,
            "schema": {key: value for key, value in schema.items() if key != "description"},
            **({"description": schema["description"]} if "description" in schema else {}),
        }
        for name, schema in properties.items()
    ]


def _describe_body(action: Action) -> dict[str, Any]:
    properties, required = _list_properties(action.request)
    in_path = {match[0] for match in _PARAMETER.findall(action.address)}
    kept = {name: schema for name, schema in properties.items() if name not in in_path}
    return {"type": "object", "properties": kept, "required": [name for name in required if name not in in_path]}


def _list_properties(request: type[Struct]) -> tuple[dict[str, Any], list[str]]:
    schema = msgspec.json.schema(request)
    definition = schema["$defs"][schema["$ref"].rpartition("/")[2]]
    return definition.get("properties", {}), definition.get("required", [])
