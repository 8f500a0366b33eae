"""The names that retrievers use for the fields of a trace, in the order in which they are looked for."""

from __future__ import annotations

TRACE_KEYS = frozenset({"topk", "index_hash", "answer_citations", "ΔS", "λ_state", "deltaS", "delta_s"})
"""Keys that only a trace has."""
STAGE_SCORES = {"combined": "combined_score", "rerank": "rerank_score", "similarity": "similarity_score"}
"""The scores of a reranked hit by stage. The first that the hit has is its score, unless it has a ``score``."""
TRACE_FIELDS = {
    "document": ("document", "doc"),
    "latency": ("latency_ms", "total_latency_ms", "totalLatencyMs", "ms"),
}
"""Names of the fields of a row that have more than one name."""
HIT_FIELDS = {
    "id": ("id", "chunk_id"),
    "document": ("document", "doc", "doc_id", "document_id", "source_entity_id"),
    "score": ("score", *STAGE_SCORES.values()),
    "span": ("offsets", "span"),
    "section": ("section", "section_id"),
    "type": ("type", "block_type"),
    "content": ("content", "text"),
}
"""Names of the fields of a hit that have more than one name."""
