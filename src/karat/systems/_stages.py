"""The stages of the built-in pipeline, as a configuration chooses them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from karat.core import UsageError, did_you_mean
from karat.net import show_setting

Stage = TypeVar("Stage")
Choice = bool | Mapping[str, Any]
"""True for a stage with its defaults, False for none, or a table of options."""

CHUNK: Mapping[str, Any] = {"name": "sentence", "size": 384, "overlap": 50, "context": "title"}
"""384 words and punctuation marks are about 512 tokens of an embedding model, which is what most models read."""

FUSION: Mapping[str, Any] = {"method": "weighted", "norm": "minmax"}
"""Better than rrf on three public collections: docs/decisions/0017-fusion-by-scores.md."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """The table ``[pipeline]`` of karat.toml; ``False`` turns a stage off."""

    chunk: str | Mapping[str, Any] = field(default_factory=lambda: dict(CHUNK))
    lexical: Choice = True
    """BM25, with k1, b, stemmer and stop_words."""
    expand: Choice = False
    """Pseudo-relevance feedback for the lexical channel, with hits, terms and original."""
    dense: Choice | None = None
    """The index of vectors, with method, limit and the options of the graph; None if it is on where its model is
    installed, and True if it has to be."""
    embedder: str | Mapping[str, Any] = "granite"
    embedding_cache: bool | float = True
    """Gigabytes of the user's cache of embeddings, which all projects share; True for the default, False for none."""
    fusion: Mapping[str, Any] = field(default_factory=dict)
    """method, k, weights, norm; what it does not say is as in :data:`FUSION`."""
    neighbours: Choice = False
    """Scores shared with the nearest candidates, by their vectors, with weight, count and depth."""
    rerank: Choice = False
    """A table with kind, its options, depth, weight and threshold."""
    mmr: Choice = False
    """Variety among the hits, by their vectors, with balance and depth."""
    answer: Choice = False
    """An answer with citations from the best hits: a table with kind and its options, or True for extractive."""
    depth: int = 100
    """The number of chunks that each channel passes to the fusion, or three for each requested hit, if that is more."""
    per_document: int = 1
    """The number of chunks of one document among the hits; 0 for any number."""

    def __post_init__(self) -> None:
        if self.lexical is False and self.dense is False:
            raise UsageError("[pipeline] lexical and dense are both off; turn one of them on")
        for name, channel, why in (
            ("expand", self.lexical, "it expands the words of the lexical channel, which is off"),
            ("neighbours", self.dense, "it compares the vectors of the dense channel, which is off"),
            ("mmr", self.dense, "it compares the vectors of the dense channel, which is off"),
        ):
            if channel is False and getattr(self, name) is not False:
                raise UsageError(f"[pipeline] {name} is on, but {why}")
        if "k" in self.fusion and "method" not in self.fusion:
            raise UsageError('[pipeline.fusion] has k, which belongs to rrf, but no method; write method = "rrf", too')
        if self.rerank is True:
            raise UsageError("[pipeline] rerank = true; write a table [pipeline.rerank] with a kind")
        for name, least in (("depth", 1), ("per_document", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or value < least:
                raise UsageError(f"[pipeline] {name} = {value!r}; choose a whole number from {least} up")
        if self.embedding_cache is not False and not 0 < self.embedding_cache < math.inf:
            raise UsageError(
                f"[pipeline] embedding_cache = {self.embedding_cache!r}; choose gigabytes above 0, or false"
            )

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Stages:
        """Return the stages of a configuration's table; an unknown key raises UsageError."""
        return build(cls, table, "pipeline")


def build(kind: type[Stage], table: Mapping[str, Any], name: str, **others: Any) -> Stage:
    """Return a dataclass filled from a configuration's table, and from ``others``, which are no keys of it.

    A key that is unknown or missing, or a value of another type, raises UsageError.

    >>> from karat.systems.index import Lexical
    >>> build(Lexical, {"stemer": "german"}, "pipeline.lexical")
    Traceback (most recent call last):
    karat.core._errors.UsageError: [pipeline.lexical] has no key 'stemer', did you mean 'stemmer'?
    """
    options = [option for option in fields(kind) if option.init and option.name not in others]  # type: ignore[arg-type]
    names = [option.name for option in options]
    for key in table:
        if key not in names:
            raise UsageError(f"[{name}] has no key {key!r}{did_you_mean(key, names) or '; it has ' + ', '.join(names)}")
    for option in options:
        if option.name not in table and option.default is MISSING and option.default_factory is MISSING:
            raise UsageError(f"[{name}] needs {option.name}")
    hints = get_type_hints(kind)
    for key, value in table.items():
        if not _fits(value, hints[key]):
            raise UsageError(f"[{name}] {key} = {show_setting(key, value)} is of the wrong type")
    return kind(**table, **others)


def _fits(value: object, hint: Any) -> bool:
    """Whether a configuration's value has the type of a field."""
    if isinstance(hint, UnionType) or get_origin(hint) is Union:
        return any(_fits(value, choice) for choice in get_args(hint))
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    kind = get_origin(hint) or hint
    if kind is Literal:
        return value in get_args(hint) or isinstance(value, str)  # the stage itself lists the valid texts
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def build_stage(kind: type[Stage], choice: Choice, name: str) -> Stage | None:
    """Return a stage as configured, or None if it is off."""
    if choice is False:
        return None
    return build(kind, {} if choice is True else choice, f"pipeline.{name}")
