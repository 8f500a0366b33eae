"""Words and numbers as all pages show them."""

from __future__ import annotations

import re

from msgspec import UNSET, UnsetType

NONE = "-"
"""What stands for a number that is not there."""
_MARKUP = re.compile(r"(?:(?<=\s)|^)#{1,6}\s+|`+")
_ACTING = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters, lone surrogates, and characters that change the direction of writing."""


def defuse(text: str) -> str:
    """Return a text in which nothing changes the direction of writing or controls anything."""
    # A text that can be printed has none of them, as most have.
    return text if text.isprintable() else _ACTING.sub("\ufffd", text)


def format_number(value: float | UnsetType | None) -> str:
    """Return a score as all pages show it; a dash if there is none.

    >>> format_number(0.52941), format_number(None), format_number(1234.5)
    ('0.529', '-', '1,234.5')
    """
    if value is None or value is UNSET:
        return NONE
    return f"{value:.3f}" if abs(value) < 10 else f"{value:,.1f}"


def format_change(value: float | None) -> str:
    """Return a difference with its sign.

    >>> format_change(0.0312), format_change(-0.5), format_change(0.0)
    ('+0.031', '-0.500', '0.000')
    """
    if value is None:
        return NONE
    text = format_number(abs(value))
    return text if not value else f"{'+' if value > 0 else '-'}{text}"


def format_time(text: str | None) -> str:
    """Return a time as people read it, in UTC.

    >>> format_time("2026-11-16T09:30:00.250Z"), format_time("2026-11-16")
    ('2026-11-16 09:30', '2026-11-16')
    """
    return (text or "")[:16].replace("T", " ")


def strip_markup(text: str) -> str:
    """Return a text without the signs of Markdown headings and code, which a page would show as they are.

    >>> strip_markup("# Purge a queue Use `purge`. ## Limits C#")
    'Purge a queue Use purge. Limits C#'
    """
    return _MARKUP.sub("", text)


def begin_sentence(text: str) -> str:
    """Return a text with a capital letter in front, unless it begins with a name, such as that of a file.

    >>> begin_sentence("there is no run 'x'"), begin_sentence("karat.toml: twice"), begin_sentence("")
    ("There is no run 'x'", 'karat.toml: twice', '')
    """
    return text[:1].upper() + text[1:] if text.partition(" ")[0].isalpha() else text


def clip(text: str, length: int = 160) -> str:
    """Return the beginning of a long text."""
    return text if len(text) <= length else f"{text[:length].rstrip()} …"
