"""docs/eval.md has every key of the configuration, and every chunker with its options."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from karat.config._config import _EVAL, _GOLDEN, _TABLES
from karat.systems import Stages
from karat.systems.chunk import CHUNKERS
from karat.systems.index import Dense, Lexical

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "eval.md").read_text(encoding="utf-8")
WORDS = set(re.findall(r"`([^`\n]+)`", PAGE))


def test_every_table_and_key_is_there() -> None:
    """A key that can be set is on the page."""
    assert {f"[{table}]" for table in _TABLES} <= WORDS
    assert set(_GOLDEN) | set(_EVAL) | {one.name for one in fields(Stages)} <= WORDS


def test_every_option_of_the_stages_is_there() -> None:
    """Chunkers, and the two indexes, with all that they can be told."""
    assert set(CHUNKERS) <= WORDS
    options = {one.name for stage in (*CHUNKERS.values(), Lexical, Dense) for one in fields(stage)} - {"tokens"}
    assert options <= WORDS
