"""Retriever and reranker spans by whichever convention they are written: OpenInference, GenAI, MLflow or Langfuse."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from karat.net import Secrets, hide_secrets, is_secret_name
from karat.traces.spans._span import Span, parse_text, to_number

OWN = "karat."
"""How the names of karat's own attributes begin."""
_INDEXED = re.compile(r"(retrieval\.documents|reranker\.output_documents)\.([0-9]+)\.document\.(.+)", re.DOTALL)
_RETRIEVALS = ("retrieval", "search_memory", "retrieve", "vector_db_retrieve")
"""Operations of GenAI's conventions; the last two are those of OpenLLMetry."""
_KINDS = ("openinference.span.kind", "mlflow.spanType", "langfuse.observation.type")
_SESSIONS = ("session.id", "gen_ai.conversation.id", "mlflow.trace.session", "langfuse.session.id")
_CREDENTIALS = re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{8,}", re.IGNORECASE)
_USERS = ("user.id", "enduser.id", "langfuse.user.id", "mlflow.trace.user")
DOCUMENT_IDS = ("id", "document_id", "doc_id", "chunk_id", "doc_uri", "source", "uri", "url")
_TEXTS = ("query", "question", "input", "text", "query_str")
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
    is_known: bool
    """Whether the span says what came back; if not, there are no records either."""
    own: Mapping[str, Any]
    """Karat's own attributes, without the beginning of their names."""

    @property
    def milliseconds(self) -> float:
        """How long it took."""
        return max(0, self.end - self.start) / 1e6


def read_step(span: Span) -> Step | None:
    """Return a span as a step of retrieval; None if it is another kind."""
    known, kind = span.attributes, find_kind(span.attributes)
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
        records=records or [],
        is_known=records is not None,
        own=own,
    )


def find_kind(known: Mapping[str, Any]) -> str:
    """Return what kind of span the attributes name, in capital letters; empty if they name none."""
    return next((str(value).upper() for name in _KINDS if (value := known.get(name))), "")


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


def find_user(known: Mapping[str, Any]) -> str:
    """Return the user that the attributes of a span name, if any."""
    return next((str(value) for name in _USERS if (value := known.get(name))), "")


def find_document_id(record: Mapping[str, Any]) -> str:
    """Return the id of a document of a span, a text or a number, which may be in its metadata; empty if it has none.

    >>> find_document_id({"content": "Free", "metadata": {"source": "wifi"}})
    'wifi'
    """
    metadata = record.get("metadata")
    sources = (record, metadata if isinstance(metadata, dict) else {})
    ids = (values[key] for values in sources for key in DOCUMENT_IDS if values.get(key))
    return str(next((own for own in ids if isinstance(own, str | int | float)), ""))


def find_content(record: Mapping[str, Any]) -> str:
    """Return the text of a document of a span; empty if it has none."""
    return str(next((record[key] for key in ("content", "page_content", "text") if record.get(key)), ""))


def find_score(record: Mapping[str, Any]) -> float | None:
    """Return the score of a document of a span, or None if it has none. One may be NaN or infinite."""
    metadata = record.get("metadata")
    value = record.get("score")
    if value is None and isinstance(metadata, dict):
        value = metadata.get("score", metadata.get("relevance_score"))
    return None if isinstance(value, bool) else to_number(value)


def find_top_k(known: Mapping[str, Any]) -> int:
    """Return how many documents were asked for, by the attributes of a span; 0 if they do not say."""
    values = [value for name in _TOP_K if type(value := known.get(name)) is int and 0 < value < 10**9]
    return max(values, default=0)


def _read_content(known: Mapping[str, Any], kind: str, operation: Any) -> tuple[str, list[dict[str, Any]] | None]:
    """Return the text of the query and the documents of a span; None if it does not say which came back."""
    if (hits := known.get(f"{OWN}hits")) is not None:
        return "", _list(parse_text(hits))
    if "mlflow.spanType" in known:
        returned = known.get("mlflow.spanOutputs")
        return _find_text(known.get("mlflow.spanInputs")), None if returned is None else _list(returned)
    if "langfuse.observation.type" in known:
        returned = parse_text(known.get("langfuse.observation.output"))
        return _text(known.get("langfuse.observation.input")), None if returned is None else _list(returned)
    text, records = _read_genai(known, operation) if operation in _RETRIEVALS else ("", None)
    if kind in ("RETRIEVER", "RERANKER"):
        content = known.get("reranker.query") or known.get("input.value")
        text = text or _text(content, known.get("input.mime_type"))
        records = _openinference_documents(known, reranks=kind == "RERANKER") if records is None else records
    return text, None if records is None else _fill_ids(records, known)


def _read_genai(known: Mapping[str, Any], operation: Any) -> tuple[str, list[dict[str, Any]] | None]:
    """Return the query and the documents of a span by GenAI's conventions, old and new, or OpenLLMetry's."""
    if operation == "vector_db_retrieve":
        request, returned = (
            parse_text(known.get(f"gen_ai.task.{name}", known.get(f"traceloop.entity.{name}")))
            for name in ("input", "output")
        )
        return _find_text(request), None if returned is None else _list(returned)
    text = str(known.get("gen_ai.retrieval.query.text") or known.get("gen_ai.memory.query.text") or "")
    listed = parse_text(known.get("gen_ai.retrieval.documents", known.get("gen_ai.memory.records")))
    records = _list(listed) or _numbered(known, "gen_ai.retrieval.documents.")
    return text, records if records or isinstance(listed, list) else None


def _text(value: Any, mime_type: Any = None) -> str:
    """Return a query that may be a JSON text with the query in one of its fields."""
    inside = parse_text(value) if mime_type != "text/plain" else None
    return _find_text(inside if isinstance(inside, dict) else value)


def _openinference_documents(known: Mapping[str, Any], *, reranks: bool) -> list[dict[str, Any]] | None:
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
    if documents:
        return [documents[number] for number in sorted(documents)]
    # Nothing was found, or nothing is said of it: the output as a whole tells.
    output = parse_text(known.get("output.value"))
    listed = output.get("documents") if isinstance(output, dict) else output
    return [] if isinstance(listed, list) and not listed else None


def _fill_ids(records: list[dict[str, Any]], known: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return documents with their ids, which LangChain's instrumentation writes only into the output as a whole."""
    if all("id" in record for record in records):
        return records
    outputs = _list(parse_text(known.get("output.value")))
    if len(outputs) != len(records):
        return records
    return [
        {**({"id": output["id"]} if output.get("id") else {}), **record}
        for output, record in zip(outputs, records, strict=True)
    ]


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
    """Return the text of a query: the value itself, or its field of that name, or its only text.

    >>> _find_text({"query_bundle": {"query_str": "wifi?", "image_path": None}})
    'wifi?'
    """
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return ""
    named = next((value[key] for key in _TEXTS if isinstance(value.get(key), str)), "")
    texts = [item for item in value.values() if isinstance(item, str)]
    bundles = [item["query_str"] for item in value.values() if isinstance(item, dict) and "query_str" in item]
    return named or (texts[0] if len(texts) == 1 else _find_text(bundles[0]) if bundles else "")
