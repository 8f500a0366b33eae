"""Retrievers of LangChain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from karat.systems.adapters._retrievers import FrameworkRetriever, RetrieverSettings, takes


class LangChain(FrameworkRetriever):
    """A retriever of LangChain: a ``BaseRetriever``, or anything whose ``invoke`` returns documents.

    It is asked for k documents if it takes a ``k``, as those of vector stores do; others decide themselves.
    """

    name = "langchain"
    package = "langchain-core"

    def search(self, query: str, k: int) -> Iterable[Mapping[str, Any]]:
        options = {"k": k} if takes(getattr(self._retriever, "_get_relevant_documents", None), "k") else {}
        for document in self._retriever.invoke(query, **options):
            yield {**document.metadata, "_id": document.id}


class LangChainSettings(RetrieverSettings):
    """The table ``[system]`` with ``kind = "langchain"``."""

    kind, module = LangChain, "langchain_core"
