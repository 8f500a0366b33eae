"""Files: read up to a limit and parsed with one clear message per mistake, written whole or not at all, and locked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.core import open_lazily
from karat.files._files import GZIP, gunzip, read_bytes, read_stdin, read_stream
from karat.files._limits import MAX_BYTES, VARIABLE, max_bytes, parse_size, too_large
from karat.files._opening import access_file, open_file
from karat.files._paths import name_paths, shorten_path
from karat.files._reads import record_folder, record_path, record_reads, refuse_input
from karat.files._text import BOM, decode, find_separator, name_column, parse_csv, parse_json, parse_json_lines

if TYPE_CHECKING:
    from karat.files._byte_block import ByteBlock, TextColumn
    from karat.files._cache import KeptValues, find_cache_folder
    from karat.files._git import GitRepository
    from karat.files._lock import hold_folder, lock_folder
    from karat.files._plain import count_byte, decode_plain, split_lines, take_plain
    from karat.files._rows import Mistakes, Reading, Row
    from karat.files._toml import parse_toml, read_toml
    from karat.files._writing import (
        append_file,
        make_folder,
        make_own,
        new_folder,
        open_own,
        replace_file,
        sync_folder,
        write_file,
    )

__all__ = [
    "BOM",
    "GZIP",
    "MAX_BYTES",
    "VARIABLE",
    "ByteBlock",
    "GitRepository",
    "KeptValues",
    "Mistakes",
    "Reading",
    "Row",
    "TextColumn",
    "access_file",
    "append_file",
    "count_byte",
    "decode",
    "decode_plain",
    "find_cache_folder",
    "find_separator",
    "gunzip",
    "hold_folder",
    "lock_folder",
    "make_folder",
    "make_own",
    "max_bytes",
    "name_column",
    "name_paths",
    "new_folder",
    "open_file",
    "open_own",
    "parse_csv",
    "parse_json",
    "parse_json_lines",
    "parse_size",
    "parse_toml",
    "read_bytes",
    "read_stdin",
    "read_stream",
    "read_toml",
    "record_folder",
    "record_path",
    "record_reads",
    "refuse_input",
    "replace_file",
    "shorten_path",
    "split_lines",
    "sync_folder",
    "take_plain",
    "too_large",
    "write_file",
]

# Imported on first use: only readers of golden sets and traces check rows, and many commands write nothing.
_HOME = {
    **dict.fromkeys(("Mistakes", "Reading", "Row"), "_rows"),
    **dict.fromkeys(
        (
            "append_file",
            "make_folder",
            "make_own",
            "new_folder",
            "open_own",
            "replace_file",
            "sync_folder",
            "write_file",
        ),
        "_writing",
    ),
    **dict.fromkeys(("parse_toml", "read_toml"), "_toml"),
    **dict.fromkeys(("KeptValues", "find_cache_folder"), "_cache"),
    "GitRepository": "_git",
    **dict.fromkeys(("count_byte", "decode_plain", "split_lines", "take_plain"), "_plain"),
    **dict.fromkeys(("ByteBlock", "TextColumn"), "_byte_block"),
    **dict.fromkeys(("hold_folder", "lock_folder"), "_lock"),
}

if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(__name__, _HOME)
