"""Runs in .venv-tracing: frameworks under instrumentations retrieve, and OpenTelemetry's own exporter sends the spans.

Prints what the frameworks returned, by the name of the case, which is the session. The argument is a file with the
example of the page, which runs at the end.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from llama_index.core import get_response_synthesizer
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever as NodeRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from openinference.instrumentation import using_session
from openinference.instrumentation.langchain import LangChainInstrumentor
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.genai.langchain import LangChainInstrumentor as GenAiInstrumentor
from opentelemetry.instrumentation.langchain import LangchainInstrumentor as OpenLlmetryInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

QUESTION = "is there wifi in the rooms?"
FOUND = [("wifi", 0.91, "Wifi is free."), ("pool", 0.42, "The pool opens at seven."), ("spa", 0.4, "By the lake.")]
dispatcher = get_dispatcher(__name__)


class Hotel(BaseRetriever):
    """A retriever of LangChain, whose documents have ids, or the same as their source."""

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return [
            Document(id=id_, page_content=text, metadata={"score": score, "source": id_}) for id_, score, text in FOUND
        ]


class Nodes(NodeRetriever):
    """A retriever of LlamaIndex."""

    def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(id_=id_, text=text), score=score) for id_, score, text in FOUND]


class Reversed(BaseNodePostprocessor):
    """A reranker of LlamaIndex, which says that it is one as its own do."""

    def _postprocess_nodes(self, nodes: list[NodeWithScore], query_bundle: Any = None) -> list[NodeWithScore]:
        dispatcher.event(ReRankStartEvent(query=query_bundle, nodes=nodes, top_n=2, model_name="reversed"))
        best = [NodeWithScore(node=node.node, score=1 - (node.score or 0)) for node in reversed(nodes)][:2]
        dispatcher.event(ReRankEndEvent(nodes=best))
        return best


def ask_langchain() -> dict[str, Any]:
    """Ask a chain of a retriever and a model; return what each returned."""
    kept: list[Document] = []

    def retrieve(question: str) -> str:
        kept.extend(Hotel().invoke(question))
        return question

    answer = (RunnableLambda(retrieve) | FakeListChatModel(responses=["It is free."])).invoke(QUESTION)
    hits = [[document.id, document.metadata["score"]] for document in kept]
    return {"text": QUESTION, "hits": hits, "answer": answer.content}


def ask_llama_index() -> dict[str, Any]:
    """Ask a query engine with a retriever, a reranker and a model; return what it returned."""
    engine = RetrieverQueryEngine(Nodes(), get_response_synthesizer(llm=MockLLM()), node_postprocessors=[Reversed()])
    response = engine.query(QUESTION)
    hits = [[node.node.node_id, node.score] for node in response.source_nodes]
    return {"text": QUESTION, "hits": hits, "answer": str(response)}


def run(name: str, instrumentor: Any, ask: Callable[[], dict[str, Any]], **options: Any) -> dict[str, Any]:
    """Ask under an instrumentation, in a session of that name."""
    instrumentor.instrument(tracer_provider=provider, **options)
    try:
        with using_session(name), trace.get_tracer("case").start_as_current_span("case") as root:
            root.set_attribute("session.id", name)
            return ask()
    finally:
        instrumentor.uninstrument()


provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(compression=Compression.Gzip)))
trace.set_tracer_provider(provider)
os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
cases = {
    "langchain": run("langchain", LangChainInstrumentor(), ask_langchain),
    "llama-index": run("llama-index", LlamaIndexInstrumentor(), ask_llama_index),
    "genai": run("genai", GenAiInstrumentor(), ask_langchain, skip_dep_check=True),
}
os.environ["OPENINFERENCE_ENABLE_GENAI_SEMCONV"] = "true"
cases["langchain-semconv"] = run("langchain-semconv", LangChainInstrumentor(), ask_langchain)
cases["llama-index-semconv"] = run("llama-index-semconv", LlamaIndexInstrumentor(), ask_llama_index)
cases["openllmetry"] = run("openllmetry", OpenLlmetryInstrumentor(), ask_langchain)  # it stays when it is taken away
provider.shutdown()
del os.environ["OPENINFERENCE_ENABLE_GENAI_SEMCONV"]
exec(compile(Path(sys.argv[1]).read_text(), "page", "exec"), {"__name__": "page"})
json.dump(cases, sys.stdout)
