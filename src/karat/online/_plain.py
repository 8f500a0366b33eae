"""Values of any type, as those that a file can hold."""

from __future__ import annotations

from numbers import Real
from typing import Any

import msgspec

from karat.core import unwrap


class TooLarge(Exception):
    """Texts that are longer than a record may be; looking through them would keep the host waiting."""


class Room:
    """How many letters the texts of a record may still have.

    >>> Room(3).take("wifi")
    Traceback (most recent call last):
    karat.online._plain.TooLarge
    """

    def __init__(self, letters: int) -> None:
        self._letters = letters

    def take(self, text: str) -> str:
        """Return a text if there is room for it; raise if there is not."""
        self._letters -= len(text)
        if self._letters < 0:
            raise TooLarge
        return text


def to_scalar(value: Any) -> Any:
    """Return a number of numpy as one of Python, a fraction as a float, and anything else as text."""
    plain = unwrap(value)
    if plain is not value:
        return plain
    return float(value) if isinstance(value, Real) else str(value)


def to_plain(value: Any) -> Any:
    """Return a value as mappings, lists, texts, bytes and numbers; what has no such form becomes text.

    >>> from datetime import date
    >>> to_plain({"day": date(2026, 11, 17), "error": ValueError("no")})
    {'day': '2026-11-17', 'error': 'no'}
    """
    return msgspec.to_builtins(value, enc_hook=to_scalar, builtin_types=(bytes,))
