"""Systems under test: the protocol, adapters, and the built-in pipeline with a package for each kind of stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.core import open_lazily
from karat.systems._answers import ReadAnswer, open_answer, read_answer
from karat.systems._code import hash_code
from karat.systems._hits import Retrieved, TenantMixed, list_hits, read_hits
from karat.systems._loading import load, load_system
from karat.systems._protocol import Retriever, System, adapt
from karat.systems._recording import read_stages, read_telemetry

if TYPE_CHECKING:
    from karat.systems import adapters as adapters
    from karat.systems import index as index
    from karat.systems._chunk import Chunk
    from karat.systems._fuse import Fused, Fusion, describe_fusion, format_trec, fuse
    from karat.systems._inspector import RESULT, Inspection, Inspector
    from karat.systems._pipeline import Pipeline
    from karat.systems._stages import Stages, build
    from karat.systems.adapters import HttpSystem

__all__ = [
    "RESULT",
    "Chunk",
    "Fused",
    "Fusion",
    "HttpSystem",
    "Inspection",
    "Inspector",
    "Pipeline",
    "ReadAnswer",
    "Retrieved",
    "Retriever",
    "Stages",
    "System",
    "TenantMixed",
    "adapt",
    "build",
    "describe_fusion",
    "format_trec",
    "fuse",
    "hash_code",
    "list_hits",
    "load",
    "load_system",
    "open_answer",
    "read_answer",
    "read_hits",
    "read_stages",
    "read_telemetry",
]

# Imported at first use: evaluating a function of one's own needs neither an index nor an HTTP client.
_HOME = {
    **dict.fromkeys(("Fused", "Fusion", "describe_fusion", "format_trec", "fuse"), "_fuse"),
    **dict.fromkeys(("RESULT", "Inspection", "Inspector"), "_inspector"),
    "Pipeline": "_pipeline",
    "Chunk": "_chunk",
    **dict.fromkeys(("Stages", "build"), "_stages"),
    "HttpSystem": "adapters",
}

if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(__name__, _HOME)
