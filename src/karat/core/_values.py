"""Values from outside: shown on one line, taken as an id, unwrapped."""

from __future__ import annotations

from karat.core._errors import InputError


def shorten(value: object) -> str:
    """Print a value that may be huge, nested or full of control characters on one short line.

    >>> print(shorten("x" * 1000))
    'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'
    """
    try:
        text = repr(value[:100] if isinstance(value, str) and len(value) > 100 else value).replace("\n", " ")
    except (RecursionError, ValueError):  # nested too deep, or more digits than Python converts
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 60 else f"{text[:40]}...{text[-1]}"


def check_id(value: object, source: str, line: int | None = None) -> str:
    """Take a string as an id, or a whole number, which JSON and frames often hold instead."""
    plain = value if type(value) is str else unwrap(value)
    if isinstance(plain, bool) or not isinstance(plain, str | int):
        raise InputError(f"id {shorten(value)} is no text", source=source, line=line, hint="ids are strings")
    try:
        text = str(plain)
        text.isascii() or text.encode()
    except ValueError:  # half of a surrogate pair, or more digits than Python converts
        raise InputError(f"id {shorten(value)} is no valid Unicode", source=source, line=line) from None
    if not text:
        raise InputError("an id is empty", source=source, line=line)
    return text


def unwrap(value: object) -> object:
    """Unwrap a NumPy scalar, of which dicts built from arrays are full."""
    item = getattr(value, "item", None)
    return item() if callable(item) and getattr(value, "shape", None) == () else value
