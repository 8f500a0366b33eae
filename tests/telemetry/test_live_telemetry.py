"""What a collector gets of live queries: from the journal of a real log, through the ingester."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from in_process import run_karat
from karat import online
from karat.config import TelemetryConfig
from karat.core import InputError, UsageError
from karat.online import LoggedQuery
from karat.online._segment import HEADER, read_frames
from karat.online._stored import query_row
from karat.online.receiving import receive
from karat.telemetry import Destination, LiveQuery, LiveSending
from telemetry.misbehaving import WAYS, misbehaving
from telemetry.sink import Sink, attributes, collecting

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"


@pytest.fixture
def sink() -> Iterator[Sink]:
    with collecting() as sink:
        yield sink


def log_some(path: Path) -> list[str]:
    """Log a query that was answered, one in a host's trace that found nothing, and one that failed."""
    with online.open(path, keep_ids=True, system="v7", index="house-3", build="b1") as log:
        hits = [("wifi", 0.5), ("pool:chunk:2", 0.25)]
        names = [log.record("free wifi?", hits, session="ana", time=1_790_000_000.0, latency=30.0, tool="search")]
        names.append(log.record("spa", [], session="ana", trace=PARENT, latency=300.0, flags={"rerank": "on"}))
        names.append(log.record("bar of ann@example.org", error="no index for ann", latency=3000.0, trace=TRACE))
        log.feedback("read_after_search", "ana", "wifi", query=names[0])
    return names


def test_queries_by_hand(tmp_path: Path, sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    """A retrieval span each, with its session, in the trace of the host if that is known; and the histogram."""
    names = log_some(tmp_path / "karat.db")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", sink.url)
    (tmp_path / "karat.toml").write_text("[telemetry]\ntimeout = 60\n")
    process = run_karat("online", "ingest", tmp_path / "karat.db", "--project", tmp_path)
    assert (process.returncode, process.stderr) == (0, b"")
    first, second, third = (
        next(span for span in sink.spans if attributes(span)["karat.query.id"] == name) for name in names
    )
    assert (len(sink.spans), sink.logs) == (3, [])
    assert {(span.name, span.kind) for span in sink.spans} == {("retrieval house-3", 3)}
    assert attributes(first) == {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.provider.name": "v7",
        "gen_ai.data_source.id": "house-3",
        "gen_ai.conversation.id": "ana",
        "karat.query.id": names[0],
        "karat.tool": "search",
        "karat.build": "b1",
        "karat.returned": 2,
    }
    assert first.start_time_unix_nano == 1_790_000_000 * 10**9
    assert first.end_time_unix_nano - first.start_time_unix_nano == 30_000_000
    assert (second.trace_id.hex(), second.parent_span_id.hex()) == (TRACE, SPAN)
    assert (attributes(second)["karat.returned"], attributes(second)["karat.flag.rerank"]) == (0, "on")
    assert (third.trace_id.hex(), third.parent_span_id) == (TRACE, b"")
    assert (third.status.code, attributes(third)["error.type"]) == (2, "retrieval_failed")
    assert "karat.returned" not in attributes(third)
    assert len({span.span_id for span in sink.spans}) == 3
    (point,) = sink.metrics["karat.query_latency_seconds"].histogram.data_points
    assert (sink.metrics["karat.query_latency_seconds"].unit, attributes(point)) == ("s", {"karat.system": "v7"})
    assert list(point.explicit_bounds) == [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2]
    assert list(point.bucket_counts) == [0, 1, 0, 0, 1, 0, 0, 1]
    totals = sink.metrics["karat.queries_total"].sum.data_points
    outcomes = {attributes(total)["karat.outcome"]: total.as_int for total in totals}
    assert outcomes == {"answered": 1, "nothing_found": 1, "failed": 1}
    sent = b"".join(request.SerializeToString() for requests in sink.got.values() for request in requests)
    assert not [word for word in (b"wifi", b"spa", b"bar", b"ann", b"no index") if word in sent]


def test_texts_and_documents_only_when_asked_for(tmp_path: Path, sink: Sink) -> None:
    """Content as karat.toml says it: the text as it was redacted, and the documents with their scores."""
    log_some(tmp_path / "karat.db")
    table = f'[telemetry]\nendpoint = "{sink.url}"\ncontent = true\ntimeout = 60\nprefix = "mine."\n'
    (tmp_path / "karat.toml").write_text(table)
    assert run_karat("online", "ingest", tmp_path / "karat.db", "--project", tmp_path).returncode == 0
    by_text = {attributes(span)["gen_ai.retrieval.query.text"]: span for span in sink.spans}
    assert set(by_text) == {"free wifi?", "spa", "bar of [e-mail]"}
    documents = json.loads(attributes(by_text["free wifi?"])["gen_ai.retrieval.documents"])
    assert documents == [{"id": "wifi", "score": 0.5}, {"id": "pool:chunk:2", "score": 0.25}]
    assert by_text["bar of [e-mail]"].status.message == "no index for ann"
    assert set(sink.metrics) == {"mine.query_latency_seconds", "mine.queries_total"}


def test_a_host_that_ingests_itself_sends(tmp_path: Path, sink: Sink) -> None:
    """In the thread of its ingester; the active span of OpenTelemetry is passed explicitly, and sampling is its own."""
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("host")
    with online.open(
        tmp_path / "karat.db", ingest=True, telemetry=TelemetryConfig(endpoint=sink.url, timeout=60)
    ) as log:
        assert online.current_trace() == ""
        with tracer.start_as_current_span("request") as around:
            log.record("wifi", ["wifi"], trace=online.current_trace())
        log.record("pool", ["pool"], trace=f"00-{TRACE}-{SPAN}-00")  # the host does not sample this trace
    (span,) = sink.spans
    context = around.get_span_context()
    assert (span.trace_id, span.parent_span_id) == (
        context.trace_id.to_bytes(16, "big"),
        context.span_id.to_bytes(8, "big"),
    )
    (total,) = sink.metrics["karat.queries_total"].sum.data_points
    assert total.as_int == 2


def test_the_same_query_has_the_same_span(tmp_path: Path, sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids follow from the record, so that a query that is sent twice is one span to a collector."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"{sink.url}/v1/traces")
    (tmp_path / "karat.toml").write_text("[telemetry]\ntimeout = 60\n")
    log_some(tmp_path / "karat.db")
    journal = {path: path.read_bytes() for path in (tmp_path / "karat.db.journal").glob("*") if path.is_file()}
    for _ in range(2):
        for path, data in journal.items():
            path.write_bytes(data)
        assert run_karat("online", "ingest", tmp_path / "karat.db", "--project", tmp_path).returncode == 0
        (tmp_path / "karat.db").unlink()
    assert len(sink.spans) == 6
    assert len({(span.trace_id, span.span_id) for span in sink.spans}) == 3
    assert sink.metrics == {}


def repeat_frames(data: bytes) -> bytes:
    """Return a segment in which everything was written twice."""
    *_, last = read_frames(data[HEADER:])
    frames = data[HEADER : HEADER + last.end]
    return data[:HEADER] + frames + frames


def test_a_record_that_is_repeated_is_sent_and_counted_once(
    tmp_path: Path, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what is new in the store is: not what is twice in a segment, in two, or was ingested before."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", sink.url)
    (tmp_path / "karat.toml").write_text("[telemetry]\ntimeout = 60\n")
    log_some(tmp_path / "karat.db")
    (segment,) = (tmp_path / "karat.db.journal").glob("*.seg")
    data = segment.read_bytes()
    segment.write_bytes(repeat_frames(data))
    repeated = []
    for name in ("second", "third"):
        segment.with_name(f"{name}-{segment.name}").write_bytes(data)
        process = run_karat("online", "ingest", tmp_path / "karat.db", "--project", tmp_path, "--json")
        repeated.append(json.loads(process.stdout)["repeated"])
    assert repeated == [8, 4]  # three queries and an event, three times and then once more
    assert len(sink.spans) == 3
    totals = sink.metrics["karat.queries_total"].sum.data_points
    assert sum(total.as_int for total in totals) == 3
    (point,) = sink.metrics["karat.query_latency_seconds"].histogram.data_points
    assert point.count == 3


def test_an_ingester_that_sends_to_the_receiver_of_its_own_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing comes back: what karat itself sent is ignored, and counted as such, also in the trace of a host."""
    path, stop, ready, urls = tmp_path / "karat.db", threading.Event(), threading.Event(), list[str]()
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
    (tmp_path / "karat.toml").write_text("[telemetry]\ntimeout = 60\n")

    def start(url: str) -> None:
        urls.append(url)
        ready.set()

    with ThreadPoolExecutor(1) as pool:
        receiving = pool.submit(receive, path, stop, port=0, settle=0.01, ingest=False, on_start=start)
        try:
            assert ready.wait(600)
            names = log_some(path)
            monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", urls[0])
            for _ in range(3):
                process = run_karat("online", "ingest", path, "--project", tmp_path)
                assert (process.returncode, process.stderr) == (0, b"")
        finally:
            stop.set()
        received = receiving.result(60)
    assert online.ingest(path).records == 0
    with online.read_log(path) as log:
        assert {query.id for query in log.queries()} == set(names)
    assert (received.ignored["karat"], received.queries, received.events, received.waiting) == (3, 0, 0, 0)


def test_queries_that_came_as_spans_are_not_sent_again(sink: Sink) -> None:
    """Else a receiver that sends to itself would never end."""
    config = TelemetryConfig(endpoint=sink.url, timeout=60)
    rows = [query_row(LoggedQuery(name, 1.79e9, "wifi")) for name in ("otel-1", "1")]
    with online.emitting(config, print) as emit:
        assert emit is not None
        emit(rows)
    assert [attributes(span)["karat.query.id"] for span in sink.spans] == ["1"]


def test_settings_that_make_no_sense(tmp_path: Path) -> None:
    """Telemetry without an ingester has nobody to send it; a URL has to be one."""
    with pytest.raises(UsageError, match="telemetry needs ingest=True"):
        online.open(tmp_path / "karat.db", telemetry="http://127.0.0.1:4318")
    with pytest.raises(InputError, match="not a URL"):
        online.open(tmp_path / "karat.db", ingest=True, telemetry="127.0.0.1:4318")


@pytest.mark.parametrize("way", WAYS)
def test_a_collector_that_misbehaves_costs_the_log_a_note(
    tmp_path: Path, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    """All records are in the store, nothing is raised, and the host's log says once that a collector fails."""
    path = tmp_path / "karat.db"
    with misbehaving(way) as url:
        config = TelemetryConfig(endpoint=url, timeout=0.2)
        with online.open(path, ingest=True, telemetry=config) as log:
            for number in range(3):
                log.record(f"question {number}", ["wifi"])
    with online.read_log(path) as reader:
        assert len(list(reader.queries())) == 3
    notes = [record.getMessage() for record in caplog.records if record.name == "karat.online"]
    assert "telemetry: the collector has not taken 3 queries; the log itself is complete" in notes
    # A thread that an earlier test has left to a collector of its own may still write to the same log.
    assert len([note for note in notes if f"{url}/v1/traces does not take the traces" in note]) <= 1


def read(row: Any) -> LiveQuery:
    return LiveQuery(str(row), 1.0, 2.0, "", (), 1, "", "", "", "", "", {})


@pytest.mark.slow
def test_a_backlog_waits_for_a_collector_that_takes_it() -> None:
    """More queries than may wait are all sent, if the collector takes them."""
    notes: list[str] = []
    with collecting() as sink:
        urls = {"traces": f"{sink.url}/v1/traces"}
        sending = LiveSending(Destination(urls=urls, timeout=60), read, notes.append, most=100)
        sending.put(range(3000))
        assert (sending.close(), notes) == ("", [])
    assert len(sink.spans) == 3000


def test_a_backlog_does_not_wait_for_one_that_hangs() -> None:
    """The ingester waits once, then drops what there is no room for; all of it is counted."""
    with misbehaving("hangs") as url:
        sending = LiveSending(
            Destination(urls={"traces": f"{url}/v1/traces"}, timeout=0.1), read, lambda _: None, most=600
        )
        sending.put(range(5000))
        assert "has not taken 5,000 queries" in sending.close()


def test_metrics_are_sent_from_time_to_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """As often as OTEL_METRIC_EXPORT_INTERVAL says, without waiting for more queries."""
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "20")
    got = threading.Event()
    with collecting() as sink:
        sink.heard["/v1/metrics"] = got
        urls = {signal: f"{sink.url}/v1/{signal}" for signal in ("traces", "metrics")}
        sending = LiveSending(Destination(urls=urls, timeout=60), read, lambda _: None)
        sending.put([1])
        assert got.wait(600)
        assert sending.close() == ""


def test_without_the_extra_the_log_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """One note says how to install it, and everything is dropped."""
    notes: list[str] = []
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk", None)
    sending = LiveSending(Destination(urls={"traces": "http://127.0.0.1:9/v1/traces"}), read, notes.append)
    sending.put([1, 2])
    assert "has not taken 2 queries" in sending.close()
    assert len(notes) == 1
    assert "needs karat's extra otel" in notes[0]
