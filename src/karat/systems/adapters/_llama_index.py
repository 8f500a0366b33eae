"""Retrievers of LlamaIndex."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from karat.systems.adapters._retrievers import FrameworkRetriever, RetrieverSettings


class LlamaIndex(FrameworkRetriever):
    """A retriever of LlamaIndex: a ``BaseRetriever``, which returns as many nodes as it was made for.

    A node belongs to the document that it was cut from, unless ``document`` names a field of its metadata.
    """

    name = "llama-index"
    package = "llama-index-core"

    def search(self, query: str, k: int) -> Iterable[Mapping[str, Any]]:  # noqa: ARG002 (similarity_top_k is its own)
        for match in self._retriever.retrieve(query):
            node = match.node
            yield {**node.metadata, "_id": node.node_id, "_document": node.ref_doc_id, "_score": match.score}


class LlamaIndexSettings(RetrieverSettings):
    """The table ``[system]`` with ``kind = "llama-index"``."""

    kind, module = LlamaIndex, "llama_index.core"
