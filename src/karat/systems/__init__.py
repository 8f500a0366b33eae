"""Systems under test: the protocol, adapters, and the built-in retrieval pipeline, one small package for each stage."""

from __future__ import annotations

from karat.systems._pipeline import Pipeline, Stages
from karat.systems._protocol import Retrieved, Retriever, System, TenantMixed, adapt, hits_of, load

__all__ = ["Pipeline", "Retrieved", "Retriever", "Stages", "System", "TenantMixed", "adapt", "hits_of", "load"]
