"""TOML, with one clear message when it is not valid."""

from __future__ import annotations

import os
import re
import tomllib
from typing import Any

from karat.core import InputError, shorten
from karat.files._files import read_bytes
from karat.files._text import decode

_DEEPEST = 100
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
    _require_small_numbers(table, source)
    return table


def _require_small_numbers(table: dict[str, Any], source: str) -> None:
    """Refuse whole numbers of more than 64 bits, as TOML asks for: floats cannot hold the largest of them."""
    values: list[Any] = [table]
    while values:
        value = values.pop()
        if isinstance(value, dict):
            values += value.values()
        elif isinstance(value, list):
            values += value
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise InputError(f"holds {shorten(value)}, a number of more than 64 bits", source=source)
