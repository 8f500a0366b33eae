"""docs/eval.md has every key of the configuration, and every chunker with its options."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from karat.config._config import _EVAL, _GOLDEN, _TABLES
from karat.systems import HttpSystem, Stages
from karat.systems._expand import QueryExpansion
from karat.systems._fuse import Fusion
from karat.systems._mmr import Variety
from karat.systems.answer import KINDS, Extractive, Generating
from karat.systems.chunk import CHUNKERS
from karat.systems.index import Dense, Lexical
from karat.systems.rerank._choice import _AFTERWARDS, _KINDS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "eval.md").read_text(encoding="utf-8")
WORDS = set(re.findall(r"`([^`\n]+)`", PAGE))


def test_every_table_and_key_is_there() -> None:
    """A key that can be set is on the page."""
    assert {f"[{table}]" for table in _TABLES} <= WORDS
    assert set(_GOLDEN) | set(_EVAL) | {field.name for field in fields(Stages)} <= WORDS


def test_every_option_of_the_stages_is_there() -> None:
    """Chunkers, indexes, expansion, fusion and variety, with all that they can be told."""
    assert set(CHUNKERS) <= WORDS
    stages = (*CHUNKERS.values(), Lexical, QueryExpansion, Dense, Fusion, Variety)
    assert {field.name for stage in stages for field in fields(stage)} - {"tokens"} <= WORDS


def test_every_answerer_is_there() -> None:
    """Kinds of answerers, with all that they can be told."""
    options = {field.name for kind in (Extractive, Generating) for field in fields(kind) if field.init}
    assert set(KINDS) | options - {"cache", "say"} <= WORDS


def test_every_reranker_and_service_is_there() -> None:
    """Kinds of rerankers with their options, what follows them, and the keys of a service behind HTTP."""
    assert set(_KINDS) | set(_AFTERWARDS) | {option for _, types in _KINDS.values() for option in types} <= WORDS
    assert {field.name for field in fields(HttpSystem) if field.init} <= WORDS
