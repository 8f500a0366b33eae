"""Files: read and parsed with one clear message per mistake, written whole or not at all, and locked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from karat.files._files import access_file, gunzip, read_bytes, write_file
from karat.files._text import BOM, decode, parse_csv, parse_json, parse_json_lines

if TYPE_CHECKING:
    from karat.files._lock import lock_folder
    from karat.files._rows import Mistakes, Reading, Row

__all__ = [
    "BOM",
    "Mistakes",
    "Reading",
    "Row",
    "access_file",
    "decode",
    "gunzip",
    "lock_folder",
    "parse_csv",
    "parse_json",
    "parse_json_lines",
    "read_bytes",
    "write_file",
]

# Imported on first use: only readers of golden sets and traces check rows, and only writers of folders lock.
_HOME = {"Mistakes": "_rows", "Reading": "_rows", "Row": "_rows", "lock_folder": "_lock"}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        from importlib import import_module

        value = globals()[name] = getattr(import_module(f"karat.files.{_HOME[name]}"), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
