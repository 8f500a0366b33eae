"""What a collector gets of a run whose answers a model writes: each call within the span of its query."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from in_process import run_karat
from judges.model_server import Failure, ModelServer, Request, serve
from karat.projects import collect_calls, open_project
from telemetry.sink import Sink, attributes, collecting
from telemetry.test_telemetry import make_project


def answer(request: Request) -> dict[str, Any]:
    """Answer with the first words of the first text."""
    quote = request.numbered("text")[0][:8]
    return {"citations": [{"text": 1, "quote": quote}], "refused": False, "answer": quote}


def fail_on_network(request: Request) -> Any:
    return Failure(500, b"broken") if "network" in request.data["question"] else answer(request)


@pytest.fixture
def sink(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sink]:
    """A collector that is configured."""
    with collecting() as sink:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", sink.url)
        yield sink


def configure(folder: Path, server: ModelServer, more: str = "", telemetry: str = "") -> None:
    (folder / "karat.toml").write_text(
        "[pipeline]\ndense = false\n"
        f'[pipeline.answer]\nkind = "model"\nurl = "{server.url}"\nmodel = "m"\nretries = 0\n'
        f"[eval]\nmeasures = ['RR@10']\n{more}[telemetry]\ntimeout = 60\n{telemetry}"
    )


def find_calls(sink: Sink) -> list[Any]:
    return [span for span in sink.spans if span.name == "chat m"]


def find_queries(sink: Sink) -> dict[bytes, Any]:
    return {span.span_id: span for span in sink.spans if span.name == "evaluator.EvaluateQuery"}


def test_calls_by_hand(tmp_path: Path, sink: Sink) -> None:
    """A client span each, at the end of its query, after the retrieval; what belongs to no query is below the run."""
    folder = make_project(tmp_path)
    with serve(answer, delay=0.02) as server:
        configure(folder, server)
        assert run_karat("eval", folder).returncode == 0
        assert len(server.requests) == 3  # the first question warms up
        port = server.server_port
    (root,) = [span for span in sink.spans if span.name == "evaluator.EvaluateDataset"]
    (run,) = (folder / "runs").glob("*.jsonl")
    queries, calls = find_queries(sink), find_calls(sink)
    own = {
        attributes(queries[call.parent_span_id])["query_id"]: call for call in calls if call.parent_span_id in queries
    }
    assert (set(own), len(calls)) == ({"q1", "q2"}, 4)
    assert {call.parent_span_id for call in calls} == {root.span_id, *queries}
    assert {call.trace_id for call in calls} == {root.trace_id}
    assert len({span.span_id for span in sink.spans}) == len(sink.spans)
    assert attributes(own["q2"]) == {
        "karat.run.id": run.stem,
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.output.type": "json",
        "gen_ai.request.temperature": 0.0,
        "gen_ai.request.max_tokens": 1024,
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 10,
        "gen_ai.prompt.name": "answer",
        "gen_ai.prompt.version": attributes(own["q2"])["gen_ai.prompt.version"],
        "server.address": "127.0.0.1",
        "server.port": port,
        "query_id": "q2",
    }
    for call in own.values():
        query = queries[call.parent_span_id]
        (retrieval,) = [
            span for span in sink.spans if span.parent_span_id == query.span_id and span.name.startswith("retrieval")
        ]
        assert (call.kind, call.end_time_unix_nano) == (3, query.end_time_unix_nano)
        assert query.start_time_unix_nano <= retrieval.end_time_unix_nano == call.start_time_unix_nano
        assert call.end_time_unix_nano - call.start_time_unix_nano >= 20_000_000
    totals = sink.metrics["gen_ai.client.inference.usage.input_tokens"].sum.data_points
    assert sum(total.as_int for total in totals) == 400
    sent = b"".join(request.SerializeToString() for requests in sink.got.values() for request in requests)
    assert b"pool opens" not in sent


def test_repeats_calls_that_fail_and_content(tmp_path: Path, sink: Sink) -> None:
    """By several threads: each repeat has its own call, with its messages if content is sent; one failed."""
    folder = make_project(tmp_path)
    with serve(fail_on_network) as server:
        configure(folder, server, "concurrency = 2\nwarm_up = 0\nrepeat = 2\ntimeout = 60\n", "content = true\n")
        assert run_karat("eval", folder, "--no-cache").returncode == 0
    queries, calls = find_queries(sink), [call for call in find_calls(sink) if attributes(call).get("query_id")]
    places = Counter(
        (own["query_id"], own.get("karat.repeat", 0))
        for call in calls
        if (own := attributes(queries[call.parent_span_id]))
    )
    assert places == dict.fromkeys([("q1", 0), ("q1", 1), ("q2", 0), ("q2", 1)], 1)
    failed = {(attributes(call)["query_id"], call.status.code, attributes(call).get("error.type")) for call in calls}
    assert failed == {("q1", 0, None), ("q2", 2, "Busy")}
    for call in calls:
        own = attributes(call)
        word = "pool" if own["query_id"] == "q1" else "network"
        assert word in json.loads(own["gen_ai.input.messages"])[1]["parts"][0]["content"]
        assert ("gen_ai.output.messages" in own) == (own["query_id"] == "q1")


def test_replies_that_are_kept_are_no_calls(tmp_path: Path, sink: Sink) -> None:
    """The second run asks nobody, and sends no call; karat check sends its calls, too."""
    folder = make_project(tmp_path)
    with serve(answer) as server:
        configure(folder, server)
        assert run_karat("check", folder, "--no-report").returncode in (0, 4)
        assert len(find_calls(sink)) == 4
        assert run_karat("eval", folder).returncode == 0
    assert len(find_calls(sink)) == 4
    assert len(find_queries(sink)) == 4


def test_without_a_collector_nobody_listens(tmp_path: Path) -> None:
    """Answers are the same, and no call is kept."""
    folder = make_project(tmp_path)
    with serve(answer) as server:
        configure(folder, server)
        assert collect_calls(open_project(folder)) is None
        assert run_karat("eval", folder).returncode == 0
        assert len(server.requests) == 3
