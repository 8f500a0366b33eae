"""Files: read whole, decoded and parsed with one clear message, written aside and renamed, locked; rows checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from karat.files._files import guarded, gunzip, read_bytes, write_file
from karat.files._text import BOM, csv_rows, decode, json_lines, parse_json

if TYPE_CHECKING:
    from karat.files._lock import folder_lock
    from karat.files._rows import Mistakes, Reading, Row

__all__ = [
    "BOM",
    "Mistakes",
    "Reading",
    "Row",
    "csv_rows",
    "decode",
    "folder_lock",
    "guarded",
    "gunzip",
    "json_lines",
    "parse_json",
    "read_bytes",
    "write_file",
]

# Loaded at first use: only readers of golden sets and traces check rows, and only writers of folders lock.
_HOME = {"Mistakes": "_rows", "Reading": "_rows", "Row": "_rows", "folder_lock": "_lock"}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        from importlib import import_module

        value = globals()[name] = getattr(import_module(f"karat.files.{_HOME[name]}"), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
