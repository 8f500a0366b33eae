"""How each convention writes a span that returns documents.

What a convention has no name for is in attributes of karat's own: see :mod:`karat.traces._writing`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Attributes = dict[str, Any]
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a span is about."""

    text: str
    """The question."""
    hits: Sequence[Mapping[str, Any]]
    """The records of the hits, as a run file has them."""
    session: str = ""
    answer: str = ""
    takes_list: bool = False
    """Whether it is a stage that takes a list and returns another, such as a fusion or a reranker."""
    k: int = 0
    """How many documents were asked for; 0 if that is not known."""


Convention = Callable[[Content], Attributes]


def to_json(value: Any) -> str:
    """Return a value as JSON, as short as possible."""
    return _encode(value)


def openinference(content: Content) -> Attributes:
    """Return the attributes of a retriever or reranker span of OpenInference.

    A stage that takes a list and returns another is a reranker: the convention has no other kind for it.
    """
    prefix = "reranker.output_documents" if content.takes_list else "retrieval.documents"
    attributes: Attributes = {
        "openinference.span.kind": "RERANKER" if content.takes_list else "RETRIEVER",
        "input.value": content.text,
        "input.mime_type": "text/plain",
    }
    if content.takes_list:
        attributes["reranker.query"] = content.text
    if content.session:
        attributes["session.id"] = content.session
    if content.answer:
        attributes |= {"output.value": content.answer, "output.mime_type": "text/plain"}
    for number, hit in enumerate(content.hits):
        name = f"{prefix}.{number}.document"
        attributes |= {f"{name}.{key}": hit[key] for key in ("id", "score", "content") if key in hit}
        if rest := {key: value for key, value in hit.items() if key not in ("id", "score", "content")}:
            attributes[f"{name}.metadata"] = to_json(rest)
    return attributes


def genai(content: Content) -> Attributes:
    """Return the attributes of a retrieval span of OpenTelemetry's conventions for generative AI.

    They have no span for a reranker or a fusion; such a stage is a span without a convention.
    """
    attributes = _genai(content, "retrieval", "gen_ai.retrieval.query.text", "gen_ai.retrieval.documents")
    return {**attributes, "gen_ai.retrieval.top_k": content.k} if content.k else attributes


def genai_memory(content: Content) -> Attributes:
    """Return the attributes of a span that searches an agent's memory, by the same conventions."""
    attributes = _genai(content, "search_memory", "gen_ai.memory.query.text", "gen_ai.memory.records")
    if not content.takes_list:
        attributes["gen_ai.memory.record.count"] = len(content.hits)
    return attributes


def _genai(content: Content, operation: str, query: str, documents: str) -> Attributes:
    attributes: Attributes = {"gen_ai.conversation.id": content.session} if content.session else {}
    if content.takes_list:
        return {**attributes, "karat.hits": to_json(content.hits)}
    return {**attributes, "gen_ai.operation.name": operation, query: content.text, documents: to_json(content.hits)}


def mlflow(content: Content) -> Attributes:
    """Return the attributes of a retriever or reranker span of MLflow, whose outputs are its documents."""
    return {
        "mlflow.spanType": "RERANKER" if content.takes_list else "RETRIEVER",
        "mlflow.spanInputs": {"query": content.text},
        "mlflow.spanOutputs": [
            {
                "page_content": hit.get("content", ""),
                "metadata": {key: value for key, value in hit.items() if key not in ("id", "content")},
                "id": hit["id"],
            }
            for hit in content.hits
        ],
    }


def langfuse(content: Content) -> Attributes:
    """Return the attributes of a retriever observation of Langfuse; it has no kind for a reranker."""
    return {
        "langfuse.observation.type": "SPAN" if content.takes_list else "RETRIEVER",
        "langfuse.observation.input": {"query": content.text},
        "langfuse.observation.output": list(content.hits),
    }
