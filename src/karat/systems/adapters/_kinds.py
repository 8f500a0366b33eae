"""The kinds of systems that ``[system]`` in karat.toml can name: a table from each name to how it is connected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from karat.core import Registry, UsageError, shorten
from karat.net import find_version, format_pip_line
from karat.schema import SystemKind, SystemListing
from karat.systems._protocol import failing_as
from karat.systems._stages import build
from karat.systems.adapters._settings import Surroundings

DEFAULT = "http"


class Settings(Protocol):
    """The typed keys of ``[system]`` for one kind: a dataclass."""

    def connect(self, around: Surroundings) -> object:
        """Return the system."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """A kind of system, how it is connected, and what has to be installed for it."""

    kind: str
    summary: str
    settings: str | type[Settings]
    """The class of its settings, or ``package.module:Class``, which is imported when a table names the kind."""
    extra: str = ""
    """The extra of karat that installs what it needs; empty if it needs nothing else."""
    packages: tuple[str, ...] = ()
    """The distributions of that extra which decide what is found."""

    def load_settings(self) -> type[Settings]:
        """Return the class of the settings."""
        if not isinstance(self.settings, str):
            return self.settings
        module, _, name = self.settings.partition(":")
        settings: type[Settings] = getattr(import_module(module), name)
        return settings

    def describe(self) -> SystemKind:
        """Return what ``karat systems list`` shows."""
        versions = {package: find_version(package) for package in self.packages}
        installed = all(versions.values())
        return SystemKind(
            kind=self.kind,
            summary=self.summary,
            extra=self.extra,
            installed=installed,
            versions={package: version or None for package, version in versions.items()},
            install="" if installed or not self.extra else format_pip_line(self.extra),
        )


ADAPTERS: Registry[Adapter] = Registry("karat.systems", "kind of system", UsageError, module=__name__)
"""The kinds by name. A package of your own adds one in a module that it names among the entry points of the group."""


def register(adapter: Adapter, *aliases: str) -> None:
    """Add a kind of system."""
    ADAPTERS.add(adapter.kind, adapter, aliases)


def open_system(table: Mapping[str, Any], around: Surroundings) -> object:
    """Return the system of a table ``[system]``, whose ``kind`` is by default an HTTP service."""
    options = dict(table)
    kind = options.pop("kind", DEFAULT)
    if not isinstance(kind, str):
        raise UsageError(f"[system] kind = {shorten(kind)} is of the wrong type")
    settings = build(ADAPTERS.get(kind).load_settings(), options, "system")
    with failing_as(f"the system {kind} cannot be opened"):
        return settings.connect(around)


def list_systems() -> SystemListing:
    """Return all kinds of systems, and whether what they need is installed."""
    return SystemListing(systems=tuple(adapter.describe() for adapter in ADAPTERS))


def _add_built_in() -> None:
    rows = (
        ("chroma", "Chroma", "_chroma:ChromaSettings", "chroma", ("chromadb",)),
        ("elasticsearch", "Elasticsearch over HTTP", "_elasticsearch:ElasticsearchSettings", "", ()),
        ("haystack", "retrievers of Haystack", "_haystack:HaystackSettings", "haystack", ("haystack-ai",)),
        ("http", "a service of your own behind HTTP, with JSON", "_http:HttpSystem", "", ()),
        ("lancedb", "LanceDB", "_lancedb:LanceDbSettings", "lancedb", ("lancedb",)),
        ("langchain", "retrievers of LangChain", "_langchain:LangChainSettings", "langchain", ("langchain-core",)),
        (
            "llama-index",
            "retrievers of LlamaIndex",
            "_llama_index:LlamaIndexSettings",
            "llama-index",
            ("llama-index-core",),
        ),
        ("mcp", "a tool of an MCP server", "_mcp:McpSettings", "mcp", ("mcp",)),
        ("milvus", "Milvus, and Milvus Lite", "_milvus:MilvusSettings", "milvus", ("pymilvus", "milvus-lite")),
        ("opensearch", "OpenSearch over HTTP", "_elasticsearch:OpenSearchSettings", "", ()),
        ("pgvector", "PostgreSQL with pgvector", "_pgvector:PgVectorSettings", "pgvector", ("psycopg",)),
        ("qdrant", "Qdrant", "_qdrant:QdrantSettings", "qdrant", ("qdrant-client",)),
        ("runs", "a folder of run files", "_runs:RunSettings", "", ()),
        ("sqlite", "SQLite full-text search (FTS5)", "_sqlite:SqliteSettings", "", ()),
        ("tantivy", "tantivy", "_tantivy:TantivySettings", "tantivy", ("tantivy",)),
        ("weaviate", "Weaviate over HTTP", "_weaviate:WeaviateSettings", "", ()),
    )
    for kind, summary, settings, extra, packages in rows:
        register(
            Adapter(
                kind=kind,
                summary=summary,
                settings=f"karat.systems.adapters.{settings}",
                extra=extra,
                packages=packages,
            )
        )


_add_built_in()
