"""What a collector gets of judging: calls of a model with the names of the conventions, and what judges say."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.answering_project import configure, enter_project, name_model
from cli.gate_project import main
from judges.model_server import Failure, ModelServer, Request, obey, serve
from telemetry.sink import Sink, attributes, collecting

PATIENT = "[telemetry]\ntimeout = 60\n"
RESULT = "gen_ai.evaluation.result"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose system answers, which is the current folder."""
    return enter_project(tmp_path, monkeypatch, count=3)


@pytest.fixture
def sink(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sink]:
    """A collector that is configured."""
    with collecting() as sink:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", sink.url)
        yield sink


def clear(sink: Sink) -> None:
    for requests in sink.got.values():
        requests.clear()


def read_json(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return dict(json.loads(capsys.readouterr().out))


def start_karat(*arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "karat", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def points(sink: Sink, name: str) -> list[Any]:
    metric = sink.metrics[name]
    return list(getattr(metric, metric.WhichOneof("data")).data_points)


def fail_first(request: Request) -> Any:
    """The first request is refused as too many, and one is answered without JSON, twice."""
    if request.number == 1:
        return Failure(429, b"", {"Retry-After": "0.01"})
    return "no" if request.data.get("text") == "Fact 2 is true." else obey(request)


def test_a_judged_run_by_hand(folder: Path, sink: Sink, capsys: pytest.CaptureFixture[str]) -> None:
    """Each call is a client span with its tokens; each judgment is in the context of the query's span of karat eval."""
    with serve(fail_first) as server:
        configure(folder, name_model(server, "concurrency = 1\n"), gate=PATIENT)
        assert main(["eval", "."]) == 0
        queries = {span.span_id: attributes(span)["query_id"] for span in sink.spans if "EvaluateQuery" in span.name}
        (trace,) = {span.trace_id for span in sink.spans}
        (run,) = (folder / "runs").glob("*.jsonl")
        clear(sink)
        capsys.readouterr()
        assert main(["judge", ".", "--json"]) == 0
        report = read_json(capsys)
        check_calls(sink, server, report, run.stem, queries)
    results = [log for log in sink.logs if log.event_name == RESULT]
    assert {log.trace_id for log in results} == {trace}
    values = {
        (queries[log.span_id], attributes(log)["gen_ai.evaluation.name"]): attributes(log).get(
            "gen_ai.evaluation.score.value"
        )
        for log in results
    }
    good = {(f"q{number}", name): 1.0 for number in (0, 1) for name in ("Faithfulness", "ContextRecall")}
    assert values == {**good, ("q2", "Faithfulness"): None, ("q2", "ContextRecall"): None}
    missing = next(attributes(log) for log in results if queries[log.span_id] == "q2")
    assert missing["error.type"] == "not_measurable"
    assert "cannot be used" in missing["gen_ai.evaluation.explanation"]
    assert {attributes(log)["karat.evaluator"] for log in results} == {"LLM"}
    assert {attributes(log)["karat.judge"] for log in results} == {row["fingerprint"] for row in report["measures"]}
    means = {attributes(point)["karat.measure"]: point.as_double for point in points(sink, "karat.evaluation_mean")}
    assert means == {row["measure"]: row["mean"] for row in report["measures"]} == {name: 1.0 for _, name in good}


def check_calls(sink: Sink, server: ModelServer, report: dict[str, Any], run: str, queries: dict[bytes, str]) -> None:
    """The spans and metrics of calls: no text of any message, and all that the report says was spent."""
    calls = [span for span in sink.spans if span.name == "chat m"]
    (root,) = [span for span in sink.spans if span.name == "karat judge run"]
    assert len(sink.spans) == len(calls) + 1
    assert {span.parent_span_id for span in calls} == {root.span_id}
    assert attributes(root)["karat.calls"] == len(calls)
    first = next(span for span in calls if attributes(span).get("karat.attempts"))
    assert attributes(first) == {
        "karat.run.id": run,
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.output.type": "json",
        "gen_ai.request.temperature": 0.0,
        "gen_ai.request.max_tokens": 2048,
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 10,
        "gen_ai.prompt.name": "claims",
        "gen_ai.prompt.version": attributes(first)["gen_ai.prompt.version"],
        "server.address": "127.0.0.1",
        "server.port": server.server_port,
        "query_id": "q0",
        "karat.judge": "faithfulness",
        "karat.attempts": 2,
    }
    assert (first.kind, [queries[link.span_id] for link in first.links]) == (3, ["q0"])
    (probe,) = [span for span in calls if "gen_ai.prompt.name" not in attributes(span)]
    assert not probe.links
    # A request that was tried twice is one call: the budget counts both attempts, of which one has no tokens.
    assert len(calls) == report["spending"]["calls"] - 1 == len(server.requests) + len(server.probed) - 1
    for name, field in (("input_tokens", "prompt"), ("output_tokens", "completion")):
        (total,) = points(sink, f"gen_ai.client.inference.usage.{name}")
        assert total.as_int == report["spending"][name] == len(calls) * {"prompt": 100, "completion": 10}[field]
        assert attributes(total)["gen_ai.token.modality"] == "text"
        (spread,) = points(sink, f"gen_ai.client.inference.operation.{name}")
        assert (spread.count, spread.explicit_bounds[:3]) == (len(calls), [1, 4, 16])
    (duration,) = points(sink, "gen_ai.client.inference.duration")
    assert sink.metrics["gen_ai.client.inference.duration"].unit == "s"
    assert list(duration.explicit_bounds[:3]) == [0.01, 0.02, 0.04]
    assert duration.sum == pytest.approx(sum(s.end_time_unix_nano - s.start_time_unix_nano for s in calls) / 1e9)
    sent = b"".join(request.SerializeToString() for requests in sink.got.values() for request in requests)
    assert b"Fact" not in sent


def test_messages_and_reasons_only_when_asked_for(
    folder: Path, sink: Sink, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With content, the messages as the conventions write them, and what a judge decided."""
    with serve(obey) as server:
        configure(folder, name_model(server), gate=PATIENT)
        assert main(["eval", "."]) == 0
        clear(sink)
        monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
        assert main(["judge", ".", "-j", "faithfulness"]) == 0
    claims = next(span for span in sink.spans if attributes(span).get("gen_ai.prompt.name") == "claims")
    system, user = json.loads(attributes(claims)["gen_ai.input.messages"])
    assert (system["role"], user["role"]) == ("system", "user")
    assert "Fact" in user["parts"][0]["content"]
    (reply,) = json.loads(attributes(claims)["gen_ai.output.messages"])
    assert json.loads(reply["parts"][0]["content"])["claims"]
    assert all("Fact" in attributes(log)["gen_ai.evaluation.explanation"] for log in sink.logs)
    assert len(sink.logs) == 3
    capsys.readouterr()


def test_calls_that_fail_have_their_error(folder: Path, sink: Sink, capsys: pytest.CaptureFixture[str]) -> None:
    """A server that fails: spans with an error, tokens of unknown modality, no gauge, and the exit code of judges."""

    def fail(request: Request) -> Any:
        return Failure(500, b"broken")

    with serve(fail) as server:
        configure(folder, name_model(server, "retries = 0\n"), gate=PATIENT)
        assert main(["eval", "."]) == 0
        clear(sink)
        assert main(["judge", ".", "-j", "faithfulness"]) == 3
    calls = [span for span in sink.spans if attributes(span).get("query_id")]
    assert [(span.status.code, len(span.events)) for span in calls] == [(2, 1)] * 3
    assert {attributes(span)["error.type"] for span in calls} == {"Busy"}
    unknown = [point for point in points(sink, "gen_ai.client.inference.usage.input_tokens") if not point.as_int]
    assert [attributes(point)["gen_ai.token.modality"] for point in unknown] == ["unknown"]
    assert "karat.evaluation_mean" not in sink.metrics
    capsys.readouterr()


def check_failed(sink: Sink, run: str, kind: str, calls: int) -> None:
    """What a collector gets of judging that failed: its calls and the error, no judgment and no gauge."""
    (root,) = [span for span in sink.spans if span.name == "karat judge run"]
    assert (root.status.code, attributes(root)["error.type"]) == (2, kind)
    assert attributes(root).keys() == {"karat.run.id", "karat.golden", "karat.calls", "error.type"}
    assert attributes(root)["karat.run.id"] == run
    sent = [span for span in sink.spans if span.name == "chat m"]
    assert len(sent) == attributes(root)["karat.calls"] == calls
    assert {span.parent_span_id for span in sent} == {root.span_id}
    assert {link.trace_id for span in sent for link in span.links} != set()
    assert sink.logs == []
    assert sum(point.count for point in points(sink, "gen_ai.client.inference.duration")) == calls
    assert "karat.evaluation_mean" not in sink.metrics


def test_judging_that_fails_half_way_sends_what_was_asked(
    folder: Path, sink: Sink, capsys: pytest.CaptureFixture[str]
) -> None:
    """The key is refused from the third request on: a probe, two good calls and a failed one; then all is well."""
    with serve(lambda request: Failure(401, b"no key") if request.number == 3 else obey(request)) as server:
        configure(folder, name_model(server, "concurrency = 1\nretries = 0\n"), gate=PATIENT)
        assert main(["eval", "."]) == 0
        (run,) = (folder / "runs").glob("*.jsonl")
        clear(sink)
        assert main(["judge", ".", "-j", "faithfulness"]) == 3
        check_failed(sink, run.stem, "NotAService", 4)
        failed = [attributes(span) for span in sink.spans if span.name == "chat m" and span.status.code == 2]
        assert [(own["error.type"], own["query_id"]) for own in failed] == [("NotAService", "q1")]
        clear(sink)
        assert main(["judge", ".", "-j", "faithfulness"]) == 0
        assert len(points(sink, "karat.evaluation_mean")) == 1
        clear(sink)
        configure(folder, "url = 'http://127.0.0.1:9/v1'\n", gate=PATIENT)
        assert main(["judge", ".", "-j", "faithfulness"]) == 2  # before anybody was asked
        assert sink.got == {path: [] for path in sink.got}
    capsys.readouterr()


@pytest.mark.slow(3)
def test_judging_that_is_interrupted_sends_what_was_asked(
    folder: Path, sink: Sink, capsys: pytest.CaptureFixture[str]
) -> None:
    """SIGINT while the third request waits: a probe and two calls are over."""
    processes: list[subprocess.Popen[bytes]] = []
    sink.heard["/v1/metrics"] = threading.Event()

    def interrupt(request: Request) -> Any:
        if request.number == 3:
            processes[0].send_signal(signal.SIGINT)
            assert sink.heard["/v1/metrics"].wait(600)
        return obey(request)

    with serve(interrupt) as server:
        configure(folder, name_model(server, "concurrency = 1\n"), gate=PATIENT)
        assert main(["eval", "."]) == 0
        (run,) = (folder / "runs").glob("*.jsonl")
        clear(sink)
        sink.heard["/v1/metrics"].clear()
        processes.append(start_karat("judge", ".", "-j", "faithfulness"))
        _, err = processes[0].communicate(timeout=600)
        assert (processes[0].returncode, b"Traceback" in err) == (130, False)
        check_failed(sink, run.stem, "KeyboardInterrupt", 3)
    capsys.readouterr()


def test_replies_from_the_cache_are_no_calls(folder: Path, sink: Sink, capsys: pytest.CaptureFixture[str]) -> None:
    """The second time nobody is asked, and nothing of a dry run is sent; a judge of words needs no model."""
    with serve(obey) as server:
        configure(folder, name_model(server), gate=PATIENT)
        assert main(["eval", "."]) == 0
        assert main(["judge", "."]) == 0
        clear(sink)
        assert main(["judge", ".", "--dry-run"]) == 0
        assert (sink.spans, sink.logs) == ([], [])
        assert main(["judge", "."]) == 0
    (root,) = sink.spans
    assert (attributes(root)["karat.calls"], attributes(root)["karat.calls.cached"]) == (0, 12)
    assert set(sink.metrics) == {"karat.evaluation_mean"}
    clear(sink)
    assert main(["judge", ".", "-j", "lexical_support"]) == 0
    assert {attributes(log)["karat.evaluator"] for log in sink.logs} == {"CODE"}
    capsys.readouterr()


def test_preferences_bridges_and_pools_are_sent(folder: Path, sink: Sink, capsys: pytest.CaptureFixture[str]) -> None:
    """Every verb that asks a model sends its calls, under its own name, with the id of the run."""
    with serve(obey) as server:
        configure(folder, name_model(server), "Bad", gate=PATIENT)
        assert main(["eval", "."]) == 0
        (bad,) = (folder / "runs").glob("*.jsonl")
        configure(folder, name_model(server), gate=PATIENT)
        assert main(["eval", "."]) == 0
        (good,) = {*(folder / "runs").glob("*.jsonl")} - {bad}
        clear(sink)
        assert main(["judge", "prefer", str(good), str(bad)]) == 0
        check_verb(sink, "karat judge prefer", good.stem, {"Preference": 3})
        root = attributes(next(span for span in sink.spans if span.name.startswith("karat")))
        assert root["karat.other_run.id"] == bad.stem
        clear(sink)
        for name, temperature in (("old", 0.1), ("new", 0.2)):
            table = name_model(server, f"temperature = {temperature}\n")
            (folder / f"{name}.toml").write_text(f"[judges]\n{table}")
        arguments = ["judge", "bridge", "old.toml", "new.toml", str(good), "-n", "3", "-j", "faithfulness"]
        assert main(arguments) == 0
        check_verb(sink, "karat judge bridge", good.stem, {"Faithfulness": 6})
        clear(sink)
        row = {"query": "q0", "document": "d0", "query_text": "Is fact 0 true?", "text": "Fact 0 is true."}
        (folder / "pool.jsonl").write_text(json.dumps(row))
        assert main(["golden", "judge", "pool.jsonl", "-o", "graded.jsonl"]) == 0
        check_verb(sink, "karat golden judge", "graded", {"PassageRelevance": 1})
        (log,) = sink.logs
        assert attributes(log)["karat.document"] == "d0"
    capsys.readouterr()


def check_verb(sink: Sink, name: str, run: str, results: dict[str, int]) -> None:
    assert Counter(span.name for span in sink.spans).keys() <= {name, "chat m"}
    assert name in {span.name for span in sink.spans}
    assert sum(span.name == "chat m" for span in sink.spans) >= 1
    assert {attributes(record)["karat.run.id"] for record in (*sink.spans, *sink.logs)} == {run}
    assert Counter(attributes(log)["gen_ai.evaluation.name"] for log in sink.logs) == results


def test_a_collector_that_hangs_does_not_change_judging(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The opinions are written, the exit code is the same, and one line says what was not sent."""
    with serve(obey) as server, collecting(slow=True) as sink:
        configure(folder, name_model(server), gate="[telemetry]\ntimeout = 0.2\n")
        assert main(["eval", "."]) == 0
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", sink.url)
        assert main(["judge", "."]) == 0
    (opinions,) = (folder / "runs").glob("*opinions*")
    assert opinions.stat().st_size > 0
    slow = f"the collector at {sink.url}/v1/traces has not taken all of it within 0.2 s"
    note = f"karat: telemetry: {slow}; the judging itself is complete"
    assert capsys.readouterr().err.count(note) == 1
