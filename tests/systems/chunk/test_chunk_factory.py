"""Chunkers by name: what a configuration may say, and what it is told where it errs."""

from __future__ import annotations

import json
import tomllib
from dataclasses import fields
from typing import Any

import pytest

from each import each
from karat.core import UsageError
from karat.systems.chunk import CHUNKERS, WORDS, Blocks, Fixed, Recursive, Sentence, Whole, make_chunker


def test_names() -> None:
    """A name alone gives the defaults, and the alias of DEF-12 is sentences of 512 tokens with 50 overlap."""
    assert [make_chunker(name) for name in CHUNKERS] == [make() for make in CHUNKERS.values()]
    assert set(CHUNKERS) == {"whole", "fixed", "sentence", "recursive", "heading", "blocks"}
    assert make_chunker("semantic_512_overlap_50") == Sentence(size=512, overlap=50)
    titled = make_chunker({"name": "semantic_512_overlap_50", "context": "title"})
    assert titled == Sentence(size=512, overlap=50, context="title")


def test_a_table_of_toml() -> None:
    """What TOML reads is what the chunker takes, lists too."""
    config = tomllib.loads('name = "recursive"\nsize = 100\nseparators = ["\\n\\n", " "]\ncontext = "headings"')
    assert make_chunker(config) == Recursive(size=100, separators=("\n\n", " "), context="headings")
    assert config["name"] == "recursive"


def words(text: str) -> list[tuple[int, int]]:
    return WORDS(text)


def test_a_tokeniser_for_all() -> None:
    """The tokeniser goes to every chunker that counts."""
    assert make_chunker("fixed", tokens=words) == Fixed(tokens=words)
    assert make_chunker("whole", tokens=words) == Whole()


@each(
    ("config", "message"),
    [
        ("sentense", "unknown chunker 'sentense', did you mean 'sentence'?"),
        (
            {"name": "zzz"},
            "unknown chunker 'zzz'; known: whole, fixed, sentence, recursive, heading, blocks, semantic_512_overlap_50",
        ),
        (
            {"name": 3},
            "unknown chunker 3; known: whole, fixed, sentence, recursive, heading, blocks, semantic_512_overlap_50",
        ),
        ({"size": 3}, "a chunker needs a name; choose from whole, fixed, sentence, recursive, heading, blocks"),
        ({"name": "fixed", "overlaps": 3}, "fixed: unknown option 'overlaps', did you mean 'overlap'?"),
        ({"name": "whole", "size": 3}, "whole: unknown option 'size'; it has context"),
        ({"name": "blocks", "tokens": "words"}, "blocks: unknown option 'tokens'; it has size, least, context"),
        ({"name": "blocks", "size": -1}, "blocks: size = -1; choose at least 1"),
        (
            {"name": "semantic_512_overlap_50", "size": 3},
            "semantic_512_overlap_50: size is part of the name; for another value choose 'sentence'",
        ),
    ],
)
def test_mistakes(config: Any, message: str) -> None:
    """A wrong name or option is answered with the nearest that there is, or with all."""
    with pytest.raises(UsageError) as raised:
        make_chunker(config)
    assert str(raised.value) == message


@each("name", CHUNKERS)
def test_descriptions_hold_every_option(name: str) -> None:
    """A description is plain data with each option, the tokeniser and the normaliser; another option, another one."""
    chunker = CHUNKERS[name]()
    description = chunker.describe()
    assert json.loads(json.dumps(description)) == description
    assert description["chunker"] == name
    assert description["normaliser"] == "karat-1"
    assert set(description) == {"chunker", "version", "normaliser", *(field.name for field in fields(chunker))}
    assert make_chunker({"name": name, "context": "title"}).describe() != description
    known = {
        key: value for key, value in description.items() if key not in ("chunker", "version", "normaliser", "tokens")
    }
    assert make_chunker({"name": name, **known}) == chunker


def test_chunkers_are_values() -> None:
    """Chunkers with equal options are equal, and can be keys."""
    assert len({Blocks(), Blocks(size=512), Blocks(size=100)}) == 2
