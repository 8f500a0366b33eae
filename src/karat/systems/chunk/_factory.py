"""Chunkers by the names that a configuration uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from karat.core import UsageError, did_you_mean, shorten
from karat.systems._chunk import Chunker
from karat.systems.chunk._blocks import Blocks
from karat.systems.chunk._fixed import Fixed
from karat.systems.chunk._heading import Heading
from karat.systems.chunk._recursive import Recursive
from karat.systems.chunk._sentence import Sentence
from karat.systems.chunk._tokens import Tokens
from karat.systems.chunk._whole import Whole

CHUNKERS: Mapping[str, type[Whole | Fixed | Sentence | Recursive | Heading | Blocks]] = {
    "whole": Whole,
    "fixed": Fixed,
    "sentence": Sentence,
    "recursive": Recursive,
    "heading": Heading,
    "blocks": Blocks,
}
"""The built-in chunkers by name."""

ALIASES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "semantic_512_overlap_50": ("sentence", {"size": 512, "overlap": 50}),
}
"""Other names for a chunker with certain options."""


def make_chunker(config: Mapping[str, Any] | str, *, tokens: Tokens | None = None) -> Chunker:
    """Return the chunker of a name, or of a table with ``name`` and options, as in ``karat.toml``.

    ``tokens`` replaces the built-in tokeniser, for chunkers that count tokens.

    >>> make_chunker({"name": "fixed", "size": 128}) == Fixed(size=128)
    True
    >>> make_chunker("semantic_512_overlap_50") == Sentence(size=512, overlap=50)
    True
    >>> make_chunker("sentences")
    Traceback (most recent call last):
    karat.core._errors.UsageError: unknown chunker 'sentences', did you mean 'sentence'?
    """
    options: dict[str, Any] = {"name": config} if isinstance(config, str) else dict(config)
    name = options.pop("name", None)
    if name is None:
        raise UsageError(f"a chunker needs a name; choose from {', '.join(CHUNKERS)}")
    kind, preset = _look_up(name)
    names = [field.name for field in fields(kind) if field.name not in (*preset, "tokens")]
    for option in options:
        if option in preset:
            raise UsageError(f"{name}: {option} is part of the name; for another value choose {ALIASES[name][0]!r}")
        if option not in names:
            hint = did_you_mean(str(option), names) or f"; it has {', '.join(names)}"
            raise UsageError(f"{name}: unknown option {shorten(option)}{hint}")
    if tokens is not None and kind is not Whole:
        options["tokens"] = tokens
    chunker: Chunker = kind(**options, **preset)
    return chunker


def _look_up(name: object) -> tuple[type[Any], Mapping[str, Any]]:
    if not isinstance(name, str) or name not in (*CHUNKERS, *ALIASES):
        names = (*CHUNKERS, *ALIASES)
        hint = did_you_mean(name, names) if isinstance(name, str) else ""
        raise UsageError(f"unknown chunker {shorten(name)}{hint or '; known: ' + ', '.join(names)}")
    base, preset = ALIASES.get(name, (name, {}))
    return CHUNKERS[base], preset
