"""Retriever and reranker spans by whichever convention they are written: OpenInference, GenAI, MLflow or Langfuse."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from karat.net import Secrets, hide_secrets, is_secret_name
from karat.traces._spans import Span, parse_text

OWN = "karat."
"""How the names of karat's own attributes begin."""
_INDEXED = re.compile(r"(retrieval\.documents|reranker\.output_documents)\.([0-9]+)\.document\.(.+)", re.DOTALL)
_RETRIEVALS = ("retrieval", "search_memory", "retrieve")
_KINDS = ("openinference.span.kind", "mlflow.spanType", "langfuse.observation.type")
_SESSIONS = ("session.id", "gen_ai.conversation.id", "mlflow.trace.session", "langfuse.session.id")
_CREDENTIALS = re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{8,}", re.IGNORECASE)
_TOP_K = (f"{OWN}k", "gen_ai.retrieval.top_k", "gen_ai.request.top_k", "reranker.top_k")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A span that returns documents, read."""

    id: str
    parent: str
    name: str
    start: int
    end: int
    error: str
    session: str
    reranks: bool
    text: str
    records: list[dict[str, Any]]
    own: Mapping[str, Any]
    """Karat's own attributes, without the beginning of their names."""

    @property
    def milliseconds(self) -> float:
        """How long it took."""
        return max(0, self.end - self.start) / 1e6


def read_step(span: Span) -> Step | None:
    """Return a span as a step of retrieval; None if it is another kind."""
    known = span.attributes
    kind = next((str(value).upper() for name in _KINDS if (value := known.get(name))), "")
    own = {name.removeprefix(OWN): value for name, value in known.items() if name.startswith(OWN)}
    operation = known.get("gen_ai.operation.name")
    reads = kind in ("RETRIEVER", "RERANKER") or operation in _RETRIEVALS
    if not reads and not own.keys() & {"format", "stage"}:
        return None
    text, records = _read_content(known, kind, operation)
    return Step(
        id=span.id,
        parent=span.parent,
        name=span.name,
        start=span.start,
        end=span.end,
        error=span.error if "format" in own else _hide_secrets(span),
        session=find_session(known),
        reranks=kind == "RERANKER",
        text=text,
        records=records,
        own=own,
    )


def _hide_secrets(span: Span) -> str:
    """Return why a span failed, without what its attributes say is secret, such as the header of a request."""
    if not span.error:
        return ""
    secret = [str(value) for name, value in span.attributes.items() if is_secret_name(name) and value]
    words = [word for value in secret for word in value.split() if word.lower() not in ("bearer", "basic")]
    return _CREDENTIALS.sub(r"\1 ***", hide_secrets(Secrets(words).redact(span.error)))


def find_session(known: Mapping[str, Any]) -> str:
    """Return the session that the attributes of a span name, if any."""
    return next((str(value) for name in _SESSIONS if (value := known.get(name))), "")


def find_top_k(known: Mapping[str, Any]) -> int:
    """Return how many documents were asked for, by the attributes of a span; 0 if they do not say."""
    values = [value for name in _TOP_K if type(value := known.get(name)) is int and 0 < value < 10**9]
    return max(values, default=0)


def _read_content(known: Mapping[str, Any], kind: str, operation: Any) -> tuple[str, list[dict[str, Any]]]:
    """Return the text of the query and the documents of a span."""
    if (hits := known.get(f"{OWN}hits")) is not None:
        return "", _list(parse_text(hits))
    if "mlflow.spanType" in known:
        return _find_text(known.get("mlflow.spanInputs")), _list(known.get("mlflow.spanOutputs"))
    if "langfuse.observation.type" in known:
        given = known.get("langfuse.observation.input")
        return _text(given), _list(parse_text(known.get("langfuse.observation.output")))
    if operation in _RETRIEVALS:
        text = str(known.get("gen_ai.retrieval.query.text") or known.get("gen_ai.memory.query.text") or "")
        records = _list(parse_text(known.get("gen_ai.retrieval.documents", known.get("gen_ai.memory.records"))))
        return text, records or _numbered(known, "gen_ai.retrieval.documents.")
    text = _text(known.get("reranker.query") or known.get("input.value"), known.get("input.mime_type"))
    return text, _openinference_documents(known, reranks=kind == "RERANKER")


def _text(value: Any, mime_type: Any = None) -> str:
    """Return a query that may be a JSON text with the query in one of its fields."""
    inside = parse_text(value) if mime_type != "text/plain" else None
    return _find_text(inside if isinstance(inside, dict) else value)


def _openinference_documents(known: Mapping[str, Any], *, reranks: bool) -> list[dict[str, Any]]:
    wanted = "reranker.output_documents" if reranks else "retrieval.documents"
    documents: dict[int, dict[str, Any]] = {}
    for name, value in known.items():
        if (match := _INDEXED.fullmatch(name)) and match[1] == wanted:
            record, key = documents.setdefault(int(match[2]), {}), match[3]
            if key == "metadata":
                record["metadata"] = parse_text(value)
            elif key.startswith("metadata."):
                record.setdefault("metadata", {})[key.removeprefix("metadata.")] = value
            else:
                record[key] = value
    records = [documents[number] for number in sorted(documents)]
    if any("id" not in record for record in records):
        # LangChain's instrumentation writes the ids of documents only into the output as a whole.
        outputs = _list(parse_text(known.get("output.value")))
        if len(outputs) == len(records):
            return [
                {**({"id": output["id"]} if output.get("id") else {}), **record}
                for output, record in zip(outputs, records, strict=True)
            ]
    return records


def _numbered(known: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Return a list of objects whose fields were flattened."""
    records: dict[int, dict[str, Any]] = {}
    for name, value in known.items():
        number, _, key = name.removeprefix(prefix).partition(".")
        if name.startswith(prefix) and number.isdecimal():
            records.setdefault(int(number), {})[key] = value
    return [records[number] for number in sorted(records)]


def _list(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        value = next((value[key] for key in ("documents", "results", "hits") if isinstance(value.get(key), list)), None)
    return [item if isinstance(item, dict) else {"id": item} for item in value] if isinstance(value, list) else []


def _find_text(value: Any) -> str:
    """Return the text of a query: the value itself, or its field of that name, or its only text."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return ""
    named = next((value[key] for key in ("query", "question", "input", "text") if isinstance(value.get(key), str)), "")
    texts = [item for item in value.values() if isinstance(item, str)]
    return named or (texts[0] if len(texts) == 1 else "")
