"""Embedders: texts to vectors, with the model that comes in a package, or with any other; and a cache for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from karat.systems.embed._cache import Cached, cached
from karat.systems.embed._choice import embedder
from karat.systems.embed._embedder import Embedder, Matrix, ModelMissing

if TYPE_CHECKING:
    from karat.systems.embed._endpoint import Endpoint
    from karat.systems.embed._granite import Granite
    from karat.systems.embed._sentence_transformers import SentenceTransformers

__all__ = [
    "Cached",
    "Embedder",
    "Endpoint",
    "Granite",
    "Matrix",
    "ModelMissing",
    "SentenceTransformers",
    "cached",
    "embedder",
]

_HOME = {"Endpoint": "_endpoint", "Granite": "_granite", "SentenceTransformers": "_sentence_transformers"}


def __getattr__(name: str) -> Any:
    if name in _HOME:  # each needs packages of its own, which take longer to import than the others to run
        from importlib import import_module

        value = globals()[name] = getattr(import_module(f"karat.systems.embed.{_HOME[name]}"), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
