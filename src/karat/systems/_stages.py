"""What the built-in pipeline is made of, as a configuration has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from karat.core import UsageError, did_you_mean, shorten

Made = TypeVar("Made")
Choice = bool | Mapping[str, Any]
"""A stage with its defaults, or off, or with the options of a table."""

CHUNK: Mapping[str, Any] = {"name": "sentence", "size": 384, "overlap": 50, "context": "title"}
"""384 words and marks are about 512 tokens of an embedding model (three for four), which is what most of them read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """The pipeline's stages, as ``[pipeline]`` in karat.toml has them; ``False`` turns one off."""

    chunk: str | Mapping[str, Any] = field(default_factory=lambda: dict(CHUNK))
    lexical: Choice = True
    """BM25: k1, b, stemmer, stop_words."""
    expand: Choice = False
    """Pseudo-relevance feedback for the lexical channel: hits, terms, original."""
    dense: Choice = True
    """The index of vectors: method, limit and what the graph needs."""
    embedder: str | Mapping[str, Any] = "granite"
    fusion: Mapping[str, Any] = field(default_factory=dict)
    """method, k, weights, norm."""
    rerank: Choice = False
    """kind, its options, depth, weight, threshold."""
    mmr: Choice = False
    """Variety among the hits, by their vectors: balance, depth."""
    depth: int = 100
    """How many chunks each channel gives to the fusion, or three for each hit that is asked for, if that is more."""
    per_document: int = 1
    """How many chunks of one document may be among the hits; 0 for any number."""

    def __post_init__(self) -> None:
        if self.lexical is False and self.dense is False:
            raise UsageError("[pipeline] lexical and dense are both off; one of them has to search")
        for name, off, why in (
            ("expand", self.lexical, "it expands the words of the lexical channel, which is off"),
            ("mmr", self.dense, "it compares the vectors of the dense channel, which is off"),
        ):
            if off is False and getattr(self, name) is not False:
                raise UsageError(f"[pipeline] {name} is on, but {why}")
        if self.rerank is True:
            raise UsageError("[pipeline] rerank = true; write a table [pipeline.rerank] with a kind")
        for name, least in (("depth", 1), ("per_document", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or value < least:
                raise UsageError(f"[pipeline] {name} = {value!r}; choose a whole number from {least} up")

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Stages:
        """Take a table of a configuration; a key that is unknown is a mistake."""
        return made(cls, table, "pipeline")


def made(kind: type[Made], table: Mapping[str, Any], name: str) -> Made:
    """Make a dataclass of a table of a configuration; say which key is unknown, or that a value does not fit.

    >>> from karat.systems.index import Lexical
    >>> made(Lexical, {"stemer": "german"}, "pipeline.lexical")
    Traceback (most recent call last):
    karat.core._errors.UsageError: [pipeline.lexical] has no key 'stemer', did you mean 'stemmer'?
    """
    ours = [one for one in fields(kind) if one.init]  # type: ignore[arg-type]
    known = [one.name for one in ours]
    for key in table:
        if key not in known:
            raise UsageError(f"[{name}] has no key {key!r}{did_you_mean(key, known) or '; it has ' + ', '.join(known)}")
    for one in ours:
        if one.name not in table and one.default is MISSING and one.default_factory is MISSING:
            raise UsageError(f"[{name}] needs {one.name}")
    hints = get_type_hints(kind)
    for key, value in table.items():
        if not _fits(value, hints[key]):
            raise UsageError(f"[{name}] {key} = {shorten(value)} is of the wrong type")
    return kind(**table)


def _fits(value: object, hint: Any) -> bool:
    """Say whether a value of a configuration can be what a field holds."""
    if isinstance(hint, UnionType) or get_origin(hint) is Union:
        return any(_fits(value, one) for one in get_args(hint))
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    kind = get_origin(hint) or hint
    if kind is Literal:
        return value in get_args(hint) or isinstance(value, str)  # which ones there are, the stage says itself
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def chosen(kind: type[Made], choice: Choice, name: str) -> Made | None:
    """Make a stage of what was chosen; None where it is off."""
    if choice is False:
        return None
    return made(kind, {} if choice is True else choice, f"pipeline.{name}")
