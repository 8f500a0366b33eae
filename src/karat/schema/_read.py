"""From plain JSON data to a typed document, and back."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

Document = TypeVar("Document")


class Mismatch(ValueError):
    """Plain data that does not have the shape of a document: the message says what is wrong, and at which JSON path."""


def from_plain(value: object, kind: type[Document]) -> Document:
    """Return plain data, as a JSON parser returns it, as a typed document.

    Raise :class:`Mismatch` if a field is missing, unknown or of the wrong type.

    >>> class Point(msgspec.Struct):
    ...     x: int
    >>> from_plain({"x": 1}, Point)
    Point(x=1)
    >>> from_plain({"x": "one"}, Point)
    Traceback (most recent call last):
        ...
    karat.schema._read.Mismatch: $.x: expected `int`, got `str`
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise Mismatch(_with_path_first(str(error))) from None
    except UnicodeEncodeError:  # half of a surrogate pair in a field's name, or where one of a few words is expected
        raise Mismatch("$: a field's name or value is not valid Unicode") from None


def _with_path_first(message: str) -> str:
    problem, path = message, "$"
    if match := re.fullmatch(r"(.*) - at `(.*?)`", message, re.DOTALL):
        problem, path = match.groups()
    return f"{path}: {problem[:1].lower()}{problem[1:]}"


def to_plain(document: Any) -> Any:
    """Return a typed document, or plain data that holds some, as plain data, which :mod:`json` can write.

    >>> class Point(msgspec.Struct):
    ...     x: int
    >>> to_plain(Point(1))
    {'x': 1}
    """
    return msgspec.to_builtins(document, enc_hook=plain_value)


def plain_value(value: Any) -> Any:
    """Return a value of a subclass of a JSON type, such as NumPy's float64, as that type.

    >>> plain_value(type("Name", (str,), {})("wifi"))
    'wifi'
    """
    for kind in (float, int, str):
        if isinstance(value, kind):
            return kind(value)
    raise NotImplementedError(f"{type(value).__name__} has no place in JSON")
