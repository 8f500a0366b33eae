"""Values from outside: printed on one line, checked as ids, unwrapped."""

from __future__ import annotations

import math
import re
from typing import TypeGuard

from karat.core._errors import InputError

_FILLERS = "\u034f\u115f\u1160\u2800\u3164\uffa0"
"""Letters that show nothing."""
_DIGEST = len("sha256:") + 12


def format_ms(value: float) -> str:
    """Return milliseconds with their unit: one digit after the point, and two that count below 1.

    >>> format_ms(4281.27), format_ms(0.0877), format_ms(0)
    ('4,281.3 ms', '0.088 ms', '0.0 ms')
    """
    if 0 < abs(value) < 1:
        return f"{value:.2g} ms"
    return f"{value:,.1f} ms" if abs(value) < 1e7 else f"{value:.3g} ms"


def shorten_digest(text: str) -> str:
    """Return the beginning of a SHA-256 digest, enough to tell two apart, and any other text as it is.

    >>> shorten_digest("sha256:" + "0a1b2c3d" * 8), shorten_digest("sha256:short")
    ('sha256:0a1b2c3d0a1b', 'sha256:short')
    """
    return text[:_DIGEST] if is_digest(text) else text


def is_digest(value: object) -> bool:
    """Return whether a value is a SHA-256 digest as karat writes it, with its prefix."""
    return isinstance(value, str) and re.fullmatch(r"sha256:[0-9a-f]{64}", value) is not None


def count_things(number: int, thing: str, things: str = "") -> str:
    """Return a count with its noun in the singular or the plural.

    >>> count_things(1, "call"), count_things(2000, "call"), count_things(1, "query is", "queries are")
    ('1 call', '2,000 calls', '1 query is')
    """
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def is_number(value: object) -> TypeGuard[int | float]:
    """Return whether a value is a number, of Python or NumPy; True and False are none.

    >>> is_number(0.5), is_number("0.5"), is_number(True), is_number(None)
    (True, False, False, False)
    """
    plain = unwrap(value)
    return isinstance(plain, int | float) and not isinstance(plain, bool)


def is_text(value: object, most: float = math.inf) -> TypeGuard[str]:
    """Return whether a value is a text of up to so many letters, and not only blanks.

    >>> is_text("ann"), is_text(" "), is_text("ann", 2), is_text(None)
    (True, False, False, False)
    """
    return isinstance(value, str) and bool(value.strip()) and len(value) <= most


def name_type(value: object) -> str:
    """Return the name of a value's type with its article, for a message that must not show the value.

    >>> name_type("wifi"), name_type(7)
    ('a str', 'an int')
    """
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def shorten(value: object) -> str:
    """Return a value as one short line of text, even if it is huge, nested or full of control characters.

    >>> print(shorten("x" * 1000))
    'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'
    """
    try:
        text = repr(value[:100] if isinstance(value, str) and len(value) > 100 else value).replace("\n", " ")
    except (RecursionError, ValueError):  # nested too deep, or more digits than Python converts
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 60 else f"{text[:40]}...{text[-1]}"


def check_id(value: object, source: str, line: int | None = None) -> str:
    """Return a value as an id: a string, or a whole number, which JSON and data frames often have instead.

    >>> check_id(17, "run.json")
    '17'
    """
    plain = value if type(value) is str else unwrap(value)
    if isinstance(plain, bool) or not isinstance(plain, str | int):
        raise InputError(f"id {shorten(value)} is not text", source=source, line=line, hint="ids are strings")
    try:
        text = str(plain)
        text.isascii() or text.encode()
    except ValueError:  # half of a surrogate pair, or more digits than Python converts
        raise InputError(f"id {shorten(value)} is not valid Unicode", source=source, line=line) from None
    if not text:
        raise InputError("an id is empty", source=source, line=line)
    return text


def is_blank(text: str) -> bool:
    r"""Return whether a text has neither a letter nor a number.

    >>> is_blank("\u200b \n"), is_blank("\ufe0f"), is_blank("..."), is_blank("No."), is_blank("7")
    (True, True, True, False, False)
    """
    return not any(c.isalnum() and c not in _FILLERS for c in text)


def unwrap(value: object) -> object:
    """Return a NumPy scalar, as in dicts built from arrays, as a Python value; any other value as it is."""
    item = getattr(value, "item", None)
    return item() if callable(item) and getattr(value, "shape", None) == () else value


def is_missing(error: str) -> bool:
    """Return whether an error says that a file has no answer to a query, which means that nothing was asked or failed.

    >>> is_missing("not in the run files"), is_missing("timed out")
    (True, False)
    """
    return error.startswith("not in the run")
