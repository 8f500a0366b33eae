"""Runs: ask a system every question of a golden set, write and read run files, and read runs from other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.config import Settings
from karat.core import open_lazily

if TYPE_CHECKING:
    from karat.runs._conversion import convert_run
    from karat.runs._making import describe_run, make_run, prepare_system
    from karat.runs._opinions import (
        Opinions,
        digest_run,
        group_votes,
        merge_opinions,
        opinions_path,
        read_opinions,
        write_opinions,
    )
    from karat.runs._origin import check_label, find_origin
    from karat.runs._parts import Parts
    from karat.runs._plan import make_context
    from karat.runs._runfile import RunWriter, make_header, read_begun, read_header, read_run_file
    from karat.runs._traces import read_any_run, read_whole_run

__all__ = [
    "Opinions",
    "Parts",
    "RunWriter",
    "Settings",
    "check_label",
    "convert_run",
    "describe_run",
    "digest_run",
    "find_origin",
    "group_votes",
    "make_context",
    "make_header",
    "make_run",
    "merge_opinions",
    "opinions_path",
    "prepare_system",
    "read_any_run",
    "read_begun",
    "read_header",
    "read_opinions",
    "read_run_file",
    "read_whole_run",
    "write_opinions",
]

# Imported at first use: who reads runs needs no system, and no threads to ask it.
_HOME = {
    "convert_run": "_conversion",
    **dict.fromkeys(("describe_run", "make_run", "prepare_system"), "_making"),
    **dict.fromkeys(
        ("Opinions", "digest_run", "group_votes", "merge_opinions", "opinions_path", "read_opinions", "write_opinions"),
        "_opinions",
    ),
    **dict.fromkeys(("check_label", "find_origin"), "_origin"),
    "Parts": "_parts",
    "make_context": "_plan",
    **dict.fromkeys(("RunWriter", "make_header", "read_begun", "read_header", "read_run_file"), "_runfile"),
    **dict.fromkeys(("read_any_run", "read_whole_run"), "_traces"),
}

if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(__name__, _HOME)
