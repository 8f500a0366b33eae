"""Systems under test: the protocol, adapters, and the built-in retrieval pipeline, one small package for each stage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from karat.systems._protocol import Retrieved, Retriever, System, TenantMixed, adapt, hits_of, load

if TYPE_CHECKING:
    from karat.systems._fuse import Fused, Fusion, fuse, trec_lines
    from karat.systems._pipeline import Pipeline
    from karat.systems._stages import Stages, made
    from karat.systems.adapters import HttpSystem

__all__ = [
    "Fused",
    "Fusion",
    "HttpSystem",
    "Pipeline",
    "Retrieved",
    "Retriever",
    "Stages",
    "System",
    "TenantMixed",
    "adapt",
    "fuse",
    "hits_of",
    "load",
    "made",
    "trec_lines",
]

# Loaded at first use: whoever evaluates a function of their own needs no index and no client.
_HOME = {
    **dict.fromkeys(("Fused", "Fusion", "fuse", "trec_lines"), "_fuse"),
    "Pipeline": "_pipeline",
    **dict.fromkeys(("Stages", "made"), "_stages"),
    "HttpSystem": "adapters",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        from importlib import import_module

        return getattr(import_module(f"karat.systems.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
