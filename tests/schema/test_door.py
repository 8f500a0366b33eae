"""The door of the schemas, and the schema of each document."""

from __future__ import annotations

import msgspec
import pytest

from each import each
from karat import schema
from karat.schema import Mismatch, from_plain, json_schema, to_plain


class Point(msgspec.Struct, forbid_unknown_fields=True):
    """A point."""

    x: int | float
    name: str | None = None


def test_every_name_of_the_door_is_there() -> None:
    """Each is loaded at first use; another name is an AttributeError."""
    assert all(getattr(schema, name) for name in schema.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        schema.nothing  # noqa: B018


def test_a_schema_names_its_dialect_and_says_number_once() -> None:
    """A number that may be whole is a number, and the docstring is the description."""
    assert json_schema(Point, title="a point") == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "a point",
        "description": "A point.",
        "type": "object",
        "properties": {"x": {"type": "number"}, "name": {"default": None, "type": ["string", "null"]}},
        "required": ["x"],
        "additionalProperties": False,
    }


def test_plain_data_becomes_a_document_and_back() -> None:
    """A whole number stays one."""
    point = from_plain({"x": 3}, Point)
    assert to_plain(point) == {"x": 3, "name": None}
    assert isinstance(point.x, int)


@each(
    ("value", "message"),
    [
        ({"x": "3"}, "$.x: expected `int | float`, got `str`"),
        ({"x": True}, "$.x: expected `int | float`, got `bool`"),
        ({}, "$: object missing required field `x`"),
        ({"x": 1, "y": 2}, "$: object contains unknown field `y`"),
        ({"x": 1, "\ud800": 2}, "$: a field's name or value is not valid Unicode"),
        ([], "$: expected `object`, got `array`"),
    ],
)
def test_a_mismatch_says_what_and_where(value: object, message: str) -> None:
    """The JSON path comes first."""
    with pytest.raises(Mismatch) as caught:
        from_plain(value, Point)
    assert str(caught.value) == message
