"""Adapters: vector stores, search engines, retrievers of other frameworks, services and run files as systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.core import open_lazily

if TYPE_CHECKING:
    from karat.systems.adapters._chroma import Chroma
    from karat.systems.adapters._elasticsearch import Elasticsearch, OpenSearch
    from karat.systems.adapters._haystack import Haystack
    from karat.systems.adapters._http import HttpSystem
    from karat.systems.adapters._kinds import ADAPTERS, Adapter, list_systems, open_system, register
    from karat.systems.adapters._lancedb import LanceDb
    from karat.systems.adapters._langchain import LangChain
    from karat.systems.adapters._llama_index import LlamaIndex
    from karat.systems.adapters._mcp import McpSettings, McpTool
    from karat.systems.adapters._milvus import Milvus
    from karat.systems.adapters._pgvector import PgVector
    from karat.systems.adapters._qdrant import Qdrant
    from karat.systems.adapters._runs import RunFolder, find_longest_list
    from karat.systems.adapters._settings import StoreOptions, StoreSettings, Surroundings
    from karat.systems.adapters._sqlite import SqliteFts
    from karat.systems.adapters._store import Match, Store
    from karat.systems.adapters._tantivy import Tantivy
    from karat.systems.adapters._weaviate import Weaviate

__all__ = [
    "ADAPTERS",
    "Adapter",
    "Chroma",
    "Elasticsearch",
    "Haystack",
    "HttpSystem",
    "LanceDb",
    "LangChain",
    "LlamaIndex",
    "Match",
    "McpSettings",
    "McpTool",
    "Milvus",
    "OpenSearch",
    "PgVector",
    "Qdrant",
    "RunFolder",
    "SqliteFts",
    "Store",
    "StoreOptions",
    "StoreSettings",
    "Surroundings",
    "Tantivy",
    "Weaviate",
    "find_longest_list",
    "list_systems",
    "open_system",
    "register",
]

# Imported at first use: a project names one kind of system, or none.
_HOME = {
    "Chroma": "_chroma",
    **dict.fromkeys(("Elasticsearch", "OpenSearch"), "_elasticsearch"),
    "HttpSystem": "_http",
    **dict.fromkeys(("ADAPTERS", "Adapter", "list_systems", "open_system", "register"), "_kinds"),
    "LanceDb": "_lancedb",
    **dict.fromkeys(("McpSettings", "McpTool"), "_mcp"),
    "Milvus": "_milvus",
    "PgVector": "_pgvector",
    "Qdrant": "_qdrant",
    "Haystack": "_haystack",
    "LangChain": "_langchain",
    "LlamaIndex": "_llama_index",
    "RunFolder": "_runs",
    "find_longest_list": "_runs",
    "SqliteFts": "_sqlite",
    **dict.fromkeys(("Match", "Store"), "_store"),
    **dict.fromkeys(("StoreOptions", "StoreSettings", "Surroundings"), "_settings"),
    "Tantivy": "_tantivy",
    "Weaviate": "_weaviate",
}

if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(__name__, _HOME)
