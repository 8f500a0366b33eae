"""Rerankers, which read the query and each chunk together, and how their scores change the hits."""

from karat.systems.rerank._choice import Reranking, make_reranking
from karat.systems.rerank._cross_encoder import CrossEncoder
from karat.systems.rerank._http import HttpReranker
from karat.systems.rerank._mix import Mix, Mixed
from karat.systems.rerank._reranker import Reranker

__all__ = ["CrossEncoder", "HttpReranker", "Mix", "Mixed", "Reranker", "Reranking", "make_reranking"]
