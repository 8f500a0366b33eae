"""TOML, with one clear message when it is not valid."""

from __future__ import annotations

import os
import re
import tomllib
from typing import Any

from karat.core import InputError, shorten
from karat.files._files import read_bytes
from karat.files._text import decode

_DEEPEST, _DEEPEST_VALUE = 100, 300
# tomllib needs time in the square of the number of parts of a key.
_LONG_KEY = re.compile(rf"""(?:(?:(?<![\w-])[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{_DEEPEST}}}""")


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the tables of a TOML file, or raise an InputError that says what is wrong with it."""
    name = os.fspath(path)
    return parse_toml(decode(read_bytes(path), name), name)


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """Return the tables of a TOML text, or raise an InputError that says what is wrong with it."""
    if _LONG_KEY.search(text):
        raise InputError("is nested too deep", source=source)
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is not valid TOML: {error}", source=source) from None
    except RecursionError:
        raise InputError("is nested too deep", source=source) from None
    except ValueError:
        raise InputError("holds a number of more than 4,300 digits", source=source) from None
    _require_plain(table, source)
    return table


def _require_plain(table: dict[str, Any], source: str) -> None:
    """Refuse what tomllib reads and others cannot write: whole numbers of more than 64 bits, and very deep nesting.

    TOML asks for the first: floats cannot hold the largest of them. Dotted keys in inline tables nest a hundred levels
    with each of a hundred braces.
    """
    values: list[Any] = [table]
    for _ in range(_DEEPEST_VALUE):
        inner: list[Any] = []
        for value in values:
            if isinstance(value, dict):
                inner += value.values()
            elif isinstance(value, list):
                inner += value
            elif isinstance(value, int) and not -(2**63) <= value < 2**63:
                raise InputError(f"holds {shorten(value)}, a number of more than 64 bits", source=source)
        if not inner:
            return
        values = inner
    raise InputError("is nested too deep", source=source)
