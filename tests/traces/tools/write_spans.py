"""Runs in .venv-tracing: OpenInference, OpenTelemetry and Langfuse write spans into a folder, each in its own way.

Then opentelemetry-proto reads what karat wrote, if there is any.
"""

from __future__ import annotations

import gzip
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict, ParseDict
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from openinference.instrumentation.langchain import LangChainInstrumentor
from openinference.semconv.trace import (
    DocumentAttributes,
    OpenInferenceSpanKindValues,
    RerankerAttributes,
    SpanAttributes,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as gen_ai

FOLDER = Path(sys.argv[1])
QUESTION = "Is there wifi?"


class Keep(SpanExporter):
    """Appends each span to a file, as the SDK writes it."""

    def __init__(self, name: str) -> None:
        self.path = FOLDER / name

    def export(self, spans: Any) -> SpanExportResult:
        with self.path.open("a") as file:
            file.writelines(span.to_json(indent=None) + "\n" for span in spans)
        return SpanExportResult.SUCCESS


def provider_of(name: str) -> TracerProvider:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(Keep(name)))
    return provider


class Hotel(BaseRetriever):
    """A retriever of LangChain. Some of its documents have an id, and some a source."""

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return [
            Document(id="pool", page_content="The pool", metadata={"score": 0.9}),
            Document(page_content="Wifi is free", metadata={"source": "wifi", "score": 0.8}),
        ]


def write_langchain() -> None:
    """What OpenInference's instrumentation of LangChain records."""
    instrumentor = LangChainInstrumentor()
    instrumentor.instrument(tracer_provider=provider_of("langchain.jsonl"))
    Hotel().invoke(QUESTION)
    instrumentor.uninstrument()


def write_openinference() -> None:
    """A retriever and a reranker by hand, with the names of the package."""
    tracer = provider_of("openinference.jsonl").get_tracer("hotel")
    document = SpanAttributes.RETRIEVAL_DOCUMENTS
    with tracer.start_as_current_span("rag") as root:
        root.set_attributes({SpanAttributes.OPENINFERENCE_SPAN_KIND: OpenInferenceSpanKindValues.CHAIN.value,
                             SpanAttributes.SESSION_ID: "s1"})  # fmt: skip
        with tracer.start_as_current_span("dense") as span:
            span.set_attributes({
                SpanAttributes.OPENINFERENCE_SPAN_KIND: OpenInferenceSpanKindValues.RETRIEVER.value,
                SpanAttributes.INPUT_VALUE: QUESTION,
                f"{document}.0.{DocumentAttributes.DOCUMENT_ID}": "pool",
                f"{document}.0.{DocumentAttributes.DOCUMENT_SCORE}": 0.9,
                f"{document}.1.{DocumentAttributes.DOCUMENT_ID}": "wifi:chunk:3",
                f"{document}.1.{DocumentAttributes.DOCUMENT_SCORE}": 0.8,
                f"{document}.1.{DocumentAttributes.DOCUMENT_CONTENT}": "Wifi is free",
            })  # fmt: skip
        with tracer.start_as_current_span("cross-encoder") as span:
            reranked = RerankerAttributes.RERANKER_OUTPUT_DOCUMENTS
            span.set_attributes({
                SpanAttributes.OPENINFERENCE_SPAN_KIND: OpenInferenceSpanKindValues.RERANKER.value,
                RerankerAttributes.RERANKER_QUERY: QUESTION,
                RerankerAttributes.RERANKER_TOP_K: 10,
                f"{reranked}.0.{DocumentAttributes.DOCUMENT_ID}": "wifi:chunk:3",
                f"{reranked}.0.{DocumentAttributes.DOCUMENT_SCORE}": 0.95,
            })  # fmt: skip


def write_genai() -> None:
    """A retrieval span, with the names of OpenTelemetry's package."""
    tracer = provider_of("genai.jsonl").get_tracer("hotel")
    with tracer.start_as_current_span("retrieval hotel") as span:
        documents = [{"id": "pool", "score": 0.9}, {"id": "wifi:chunk:3", "score": 0.8}]
        span.set_attributes({
            gen_ai.GEN_AI_OPERATION_NAME: "retrieval",
            gen_ai.GEN_AI_RETRIEVAL_QUERY_TEXT: QUESTION,
            gen_ai.GEN_AI_RETRIEVAL_DOCUMENTS: json.dumps(documents),
        })  # fmt: skip


class Receiver(BaseHTTPRequestHandler):
    """Keeps what Langfuse's SDK sends, as OTLP JSON."""

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        data = gzip.decompress(data) if self.headers["Content-Encoding"] == "gzip" else data
        if "/otel/" in self.path:
            request = MessageToDict(ExportTraceServiceRequest.FromString(data))
            with (FOLDER / "langfuse.jsonl").open("a") as file:
                file.write(json.dumps(request) + "\n")
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def write_langfuse() -> None:
    """What Langfuse's SDK sends to its server, which is a small one of ours."""
    from langfuse import Langfuse

    server = HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    client = Langfuse(public_key="pk-lf-1", secret_key="sk-lf-1", base_url=address)
    start, question = client.start_as_current_observation, {"query": QUESTION}
    found = [{"id": "pool", "score": 0.9}, {"id": "wifi:chunk:3", "score": 0.8, "content": "Wifi"}]
    with (
        start(as_type="chain", name="rag", input=question),
        start(as_type="retriever", name="search", input=question) as span,
    ):
        span.update(output=found)
    client.flush()
    server.shutdown()


def read_otlp(path: Path) -> list[str]:
    """Return the names of the attributes of what karat wrote, as opentelemetry-proto reads it."""
    names = []
    for line in path.read_text().splitlines():
        request = ParseDict(json.loads(line), ExportTraceServiceRequest())
        assert ExportTraceServiceRequest.FromString(request.SerializeToString()) == request
        for group in request.resource_spans:
            for scope in group.scope_spans:
                for span in scope.spans:
                    names += [item.key for item in span.attributes]
    return sorted(set(names))


write_langchain()
write_openinference()
write_genai()
write_langfuse()
classes = (SpanAttributes, DocumentAttributes, RerankerAttributes, gen_ai)
known = {value for names in classes for value in vars(names).values() if isinstance(value, str)}
written = {path.name: read_otlp(path) for path in FOLDER.glob("karat-*.jsonl")}
json.dump({"known": sorted(known), **written}, sys.stdout)
