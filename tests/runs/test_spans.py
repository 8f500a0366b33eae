"""Spans of tracing tools as runs: OpenInference, OpenTelemetry GenAI, MLflow and Langfuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from karat.core import GoldenSet, Hit, InputError, Judgment, Query, Run, Target
from karat.evaluation import score_run
from karat.runs import read_any_run

GOLDEN = GoldenSet(
    queries=(Query(id="q1", text="Is there wifi?", paraphrases=("Wifi?",)), Query(id="q2", text="When is breakfast?")),
    judgments=(
        Judgment(query="q1", target=Target(document="wifi"), grade=3),
        Judgment(query="q2", target=Target(document="menu"), grade=3),
    ),
)


def read(tmp_path: Path, value: Any) -> Run:
    path = tmp_path / "spans.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return read_any_run(path, GOLDEN)


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    """Return spans as the file exporter of a collector writes them."""

    def encode(value: Any) -> dict[str, Any]:
        if isinstance(value, list):
            return {"arrayValue": {"values": [encode(item) for item in value]}}
        kinds = {str: "stringValue", bool: "boolValue", int: "intValue", float: "doubleValue"}
        return {kinds[type(value)]: str(value) if type(value) is int else value}

    rows = [
        {
            "traceId": span["trace"], "spanId": f"{number:016x}", "name": span["name"],
            "startTimeUnixNano": str(span["start"] * 10**6), "endTimeUnixNano": str(span["end"] * 10**6),
            "attributes": [{"key": key, "value": encode(value)} for key, value in span["attributes"].items()],
            "status": span.get("status", {}),
        }
        for number, span in enumerate(spans, 1)
    ]  # fmt: skip
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": rows}]}]}


RETRIEVER = {
    "trace": "aa", "name": "dense", "start": 100, "end": 130,
    "attributes": {
        "openinference.span.kind": "RETRIEVER", "input.value": "Is there wifi?", "session.id": "s1",
        "retrieval.documents.0.document.id": "pool", "retrieval.documents.0.document.score": 0.9,
        "retrieval.documents.1.document.id": "wifi:chunk:3", "retrieval.documents.1.document.score": 0.8,
        "retrieval.documents.1.document.content": "Wifi is free",
    },
}  # fmt: skip
RERANKER = {
    "trace": "aa", "name": "cross-encoder", "start": 130, "end": 180,
    "attributes": {
        "openinference.span.kind": "RERANKER", "reranker.query": "Is there wifi?",
        "reranker.output_documents.0.document.metadata": '{"source": "wifi"}',
    },
}  # fmt: skip
CHAIN = {"trace": "aa", "name": "rag", "start": 90, "end": 190, "attributes": {"openinference.span.kind": "CHAIN"}}


def test_retriever_and_reranker_spans_of_openinference(tmp_path: Path) -> None:
    """The reranker's list is the answer; both are stages with their times; the question is known by its text."""
    run = read(tmp_path, otlp(CHAIN, RETRIEVER, RERANKER))
    first, second = run.traces
    assert (first.query, first.text, first.context.session) == ("q1", "Is there wifi?", "s1")
    assert [(hit.id, hit.document) for hit in first.hits] == [("wifi", "wifi")]
    assert [(stage.label, [hit.id for hit in stage.hits]) for stage in first.stages] == [
        ("candidate.dense", ["pool", "wifi:chunk:3"]), ("rerank", ["wifi"]),
    ]  # fmt: skip
    assert first.stages[0].hits[1] == Hit("wifi:chunk:3", 0.8, content="Wifi is free")
    assert first.timings == {"candidate.dense": 30.0, "rerank": 50.0, "total": 80.0}
    assert (second.query, second.error) == ("q2", "not in the run")
    assert score_run(GOLDEN, run, ["RR@5", "ChannelShare(channel='dense')@5"]).scores.value("q1", "RR@5") == 1.0


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.query.text": "When is breakfast?",
         "gen_ai.retrieval.top_k": 5,
         "gen_ai.retrieval.documents": '[{"id": "menu", "score": 0.7}, {"id": "spa", "score": null}]'},
        {"gen_ai.operation.name": "search_memory", "gen_ai.memory.query.text": "When is breakfast?",
         "gen_ai.memory.records": '[{"id": "menu"}, {"id": "spa"}]'},
        {"gen_ai.operation.name": "retrieval", "karat.query": "q2", "gen_ai.request.top_k": 5,
         "gen_ai.retrieval.documents": '[{"id": "menu"}, {"id": "spa"}]', "gen_ai.conversation.id": "s1"},
    ],
    ids=["retrieval", "memory", "by id"],
)  # fmt: skip
def test_retrieval_and_memory_spans_of_opentelemetry(tmp_path: Path, attributes: dict[str, Any]) -> None:
    """A question is known by its text or by the attribute karat.query; where a score lacks, ranks replace all."""
    span = {"trace": "bb", "name": "retrieval docs", "start": 5, "end": 9, "attributes": attributes}
    trace = next(trace for trace in read(tmp_path, otlp(span)).traces if not trace.error)
    assert (trace.query, [(hit.id, hit.score) for hit in trace.hits]) == ("q2", [("menu", 2.0), ("spa", 1.0)])
    assert trace.timings["total"] == 4.0


def test_observations_of_langfuse(tmp_path: Path) -> None:
    """A list of observations, as its API returns them; an error is a failed question."""
    common = {
        "startTime": "2026-11-17T09:00:00.000Z",
        "endTime": "2026-11-17T09:00:00.250Z",
        "parentObservationId": None,
    }
    rows = [
        {**common, "id": "1", "traceId": "t1", "type": "RETRIEVER", "name": "search", "input": {"query": "Wifi?"},
         "output": [{"id": "wifi", "score": 0.5}]},
        {**common, "id": "2", "traceId": "t2", "type": "RETRIEVER", "name": "search", "input": "When is breakfast?",
         "output": None, "level": "ERROR", "statusMessage": "timed out"},
        {**common, "id": "3", "traceId": "t2", "type": "GENERATION", "name": "llm", "input": "?", "output": "!"},
    ]  # fmt: skip
    first, second, *_ = read(tmp_path, rows).traces
    assert (first.query, first.paraphrase, first.hits[0].id) == ("q1", 1, "wifi")
    assert first.timings["total"] == pytest.approx(250)
    assert (second.query, second.error, second.hits) == ("q2", "timed out", ())


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"openinference.span.kind": "RETRIEVER", "input.value": "Wifi?",
          "retrieval.documents.0.document.content": "?"}, "a document of query 'Wifi\\?' has no id"),
        ({"openinference.span.kind": "RETRIEVER"}, "neither 'karat.query' nor the text of its query"),
    ],
)  # fmt: skip
def test_spans_that_cannot_be_scored_are_refused(tmp_path: Path, attributes: dict[str, Any], message: str) -> None:
    """One message that names the file and what is missing."""
    with pytest.raises(InputError, match=message):
        read(tmp_path, otlp({"trace": "a", "name": "x", "start": 1, "end": 2, "attributes": attributes}))


def test_other_forms_of_the_same_files(tmp_path: Path) -> None:
    """OTLP as protobuf's own names, a page of Langfuse's API and a trace of it, MLflow's older names, nested values."""
    documents = {
        "arrayValue": {"values": [{"kvlistValue": {"values": [{"key": "id", "value": {"stringValue": "wifi"}}]}}]}
    }
    attributes = [
        {"key": "openinference.span.kind", "value": {"string_value": "RETRIEVER"}},
        {"key": "input.value", "value": {"string_value": '{"question": "Is there wifi?"}'}},
        {"key": "retrieval.documents.0.document.id", "value": {"string_value": "wifi"}},
        {"key": "retrieval.documents.0.document.score", "value": {"int_value": "1"}},
        {"key": "retrieval.documents.0.document.metadata.lang", "value": {"string_value": "en"}},
        {"key": "other", "value": documents},
        {"key": "empty", "value": {}},
    ]
    span = {"trace_id": "t", "span_id": "1", "name": "s", "attributes": attributes, "status": {"code": "ERROR"}}
    run = read(tmp_path, {"resource_spans": [{"scope_spans": [{"spans": [span]}]}]})
    assert (run.traces[0].query, run.traces[0].error) == ("q1", "failed")
    times = {"startTime": "2026-11-17T09:00:00", "endTime": "2026-11-17T09:00:01"}
    observation = {"traceId": "t", "type": "RETRIEVER", "input": "Wifi?", "output": {"documents": ["wifi"]}, **times}
    for value in ({"data": [observation]}, {"id": "t", "sessionId": "s", "observations": [observation]}):
        trace = read(tmp_path, value).traces[0]
        assert (trace.paraphrase, [hit.id for hit in trace.hits], trace.timings["total"]) == (1, ["wifi"], 1000.0)
    inputs = {"mlflow.spanType": '"RETRIEVER"', "mlflow.spanInputs": '{"q": "Wifi?"}', "mlflow.spanOutputs": '["wifi"]'}
    mlflow = {"name": "s", "start_time": 1, "end_time": 5, "status_code": "OK", "attributes": inputs}
    trace = read(tmp_path, json.dumps({"info": {}, "data": {"spans": [{**mlflow, "trace_id": "t"}]}}, indent=1)).traces[
        0
    ]
    assert (trace.paraphrase, [hit.id for hit in trace.hits]) == (1, ["wifi"])
    phoenix = {"name": "s", "context": {"trace_id": "t"}, "span_kind": "RETRIEVER", "status_code": "ERROR",
               "attributes": {"input": {"value": "Wifi?"}}}  # fmt: skip
    assert read(tmp_path, [phoenix]).traces[0].error == "failed"
    genai = {"gen_ai.operation.name": "retrieve", "gen_ai.retrieval.query.text": "Wifi?",
             "gen_ai.retrieval.documents": [{"id": "wifi", "score": 0.5}]}  # fmt: skip
    trace = read(tmp_path, {**phoenix, "span_kind": "", "status_code": "OK", "attributes": genai}).traces[0]
    assert [(hit.id, hit.score) for hit in trace.hits] == [("wifi", 0.5)]
