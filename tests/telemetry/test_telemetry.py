"""What a collector gets: the real SDK and its real exporter into a server on loopback."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from each import each
from in_process import run_karat
from karat.config import Settings, TelemetryConfig, read_config
from karat.core import InputError, Origin
from karat.evaluation import score_run
from karat.gate import Baseline
from karat.projects import describe_finished, gate_run, open_project
from karat.runs import make_run
from karat.telemetry import (
    AskedQuery,
    Destination,
    FinishedJudging,
    FinishedRun,
    Regression,
    find_destination,
    send_judging,
    send_run,
)
from telemetry.misbehaving import WAYS, misbehaving
from telemetry.sink import Sink, attributes, collecting

RUN = FinishedRun(
    id="mine-2026-11-18-0a1b2c3d",
    system="mine",
    golden="hotel",
    k=10,
    begun=1_700_000_000.0,
    queries=(
        AskedQuery(
            query="q1",
            text="Is there wifi?",
            relevant=2,
            seconds=0.03,
            returned=1,
            scores={"P@5": 0.2, "R@5": 0.5, "RR@10": 1.0, "nDCG@10": 0.61},
            documents=(("wifi", 0.9),),
            session="ana",
            envelope={"event": "retrieve.run", "trace_id": "t-1"},
        ),
        AskedQuery(query="q2", text="When?", relevant=0, seconds=0.3, error="boom", missing={"P@5": "it failed"}),
    ),
    means={"P@5": 0.2, "R@5": 0.5, "RR@10": 1.0, "nDCG@10": 0.61},
    regression=Regression(outcome="fail", baseline="baseline.json", deltas={"P@5": -0.1}),
)


def send(sink: Sink, run: FinishedRun = RUN, **options: object) -> str:
    urls = {signal: f"{sink.url}/v1/{signal}" for signal in ("traces", "metrics", "logs")}
    return send_run(run, replace(Destination(urls=urls, timeout=60), **options)).finish()


@pytest.fixture(scope="module")
def sink() -> Sink:
    with collecting() as server:
        assert send(server) == ""
    return server


def test_spans_by_hand(sink: Sink) -> None:
    """A dataset span with a span for each query and its retrieval, with names, times and attributes of the guide."""
    spans = {(span.name, attributes(span).get("query_id", "")): span for span in sink.spans}
    dataset = spans["evaluator.EvaluateDataset", ""]
    first, second = (spans["evaluator.EvaluateQuery", name] for name in ("q1", "q2"))
    assert len(sink.spans) == 5
    own = attributes(dataset)
    assert (own["query_count"], own["top_k"], own["queries_evaluated"]) == (2, 10, 1)
    assert (own["mean_precision_at_5"], own["mean_recall_at_5"], own["mean_mrr"]) == (0.2, 0.5, 1.0)
    assert {attributes(span).get("karat.run.id") for span in (dataset, first, second)} == {RUN.id}
    scores = {"precision_at_5": 0.2, "recall_at_5": 0.5, "mrr": 1.0, "ndcg": 0.61}
    assert attributes(first) == {"karat.run.id": RUN.id, "query_id": "q1", "relevant_count": 2, **scores}
    assert first.parent_span_id == second.parent_span_id == dataset.span_id
    assert dataset.start_time_unix_nano == first.start_time_unix_nano == 1_700_000_000 * 10**9
    assert first.end_time_unix_nano - first.start_time_unix_nano == 30_000_000
    assert second.start_time_unix_nano == first.end_time_unix_nano
    assert dataset.end_time_unix_nano == second.end_time_unix_nano
    assert len({span.trace_id for span in sink.spans}) == 1


def test_an_error_is_recorded_on_the_span(sink: Sink) -> None:
    """Status, event and attribute; and a query that went well has none of them."""
    failed = next(span for span in sink.spans if attributes(span).get("query_id") == "q2")
    assert (failed.status.code, failed.status.message) == (2, "boom")
    assert [(event.name, attributes(event)["exception.message"]) for event in failed.events] == [("exception", "boom")]
    assert "precision_at_5" not in attributes(failed)
    assert next(span for span in sink.spans if attributes(span).get("query_id") == "q1").status.code == 0


def test_retrieval_spans_have_content_only_when_asked(sink: Sink) -> None:
    """Names of the conventions for generative AI; neither query nor documents, unless somebody asks for them."""
    span = next(span for span in sink.spans if span.name == "retrieval hotel")
    assert span.kind == 3  # client
    assert attributes(span) == {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.provider.name": "mine",
        "gen_ai.data_source.id": "hotel",
        "gen_ai.retrieval.top_k": 10,
        "gen_ai.conversation.id": "ana",
        "karat.returned": 1,
        "karat.envelope.event": "retrieve.run",
        "karat.envelope.trace_id": "t-1",
    }
    sent = b"".join(request.SerializeToString() for requests in sink.got.values() for request in requests)
    assert b"Is there wifi?" not in sent
    with collecting() as other:
        assert send(other, content=True) == ""
    content = attributes(next(span for span in other.spans if span.name == "retrieval hotel"))
    assert content["gen_ai.retrieval.query.text"] == "Is there wifi?"
    assert json.loads(content["gen_ai.retrieval.documents"]) == [{"id": "wifi", "score": 0.9}]


def test_log_records(sink: Sink) -> None:
    """One for each measure of a query, in the context of its span; then the report and the difference."""
    spans = {span.span_id: attributes(span).get("query_id") for span in sink.spans}
    results = [log for log in sink.logs if log.event_name == "gen_ai.evaluation.result"]
    values = {
        (spans[log.span_id], attributes(log)["gen_ai.evaluation.name"]): attributes(log).get(
            "gen_ai.evaluation.score.value"
        )
        for log in results
    }
    assert values == {**{("q1", name): value for name, value in RUN.queries[0].scores.items()}, ("q2", "P@5"): None}
    missing = next(attributes(log) for log in results if spans[log.span_id] == "q2")
    assert (missing["gen_ai.evaluation.explanation"], missing["error.type"]) == ("it failed", "not_measurable")
    bodies = {log.event_name: json.loads(log.body.string_value) for log in sink.logs if log.body.string_value}
    assert bodies["eval.retrieval_report"] == {"run_id": RUN.id, "queries": 2, "failed": 1, "means": dict(RUN.means)}
    assert bodies["eval.regression_diff"]["deltas"] == {"P@5": -0.1}
    assert {attributes(log)["karat.run.id"] for log in sink.logs} == {RUN.id}


def test_metrics_with_names_units_and_buckets(sink: Sink) -> None:
    """The histogram has the buckets of the guide: 0.03 s in the second, 0.3 s in the fifth."""
    latency = sink.metrics["karat.evaluation_latency_seconds"]
    (point,) = latency.histogram.data_points
    assert latency.unit == "s"
    assert list(point.explicit_bounds) == [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2]
    assert list(point.bucket_counts) == [0, 1, 0, 0, 1, 0, 0, 0]
    assert (point.count, point.sum) == (2, pytest.approx(0.33))
    (total,) = sink.metrics["karat.evaluations_total"].sum.data_points
    assert (total.as_int, attributes(total)) == (1, {"karat.run.id": RUN.id})
    gauges = {name: sink.metrics[f"karat.{name}"].gauge.data_points[0].as_double for name in ("precision_at_5", "mrr")}
    assert gauges == {"precision_at_5": 0.2, "mrr": 1.0}
    means = sink.metrics["karat.evaluation_mean"].gauge.data_points
    assert {attributes(point)["karat.measure"]: point.as_double for point in means} == dict(RUN.means)


def test_another_prefix_and_a_run_without_values() -> None:
    """The names of the guide are a setting; what no query has a value of has no gauge."""
    with collecting() as other:
        assert send(other, replace(RUN, means={}, regression=None), prefix="beluga.rag.") == ""
    assert set(other.metrics) == {"beluga.rag.evaluation_latency_seconds", "beluga.rag.evaluations_total"}
    assert [log.event_name for log in other.logs][-1] == "eval.retrieval_report"


@pytest.mark.slow(2)
def test_many_queries_are_all_sent() -> None:
    """1,100 questions have more spans than the queue of the SDK's own processor, which drops: here none is lost."""
    short = replace(RUN.queries[0], scores={"P@5": 0.2})
    with collecting() as other:
        assert send(other, replace(RUN, queries=(short,) * 1100)) == ""
    assert len(other.spans) == 2201
    assert len([log for log in other.logs if log.event_name == "gen_ai.evaluation.result"]) == 1100


def test_a_collector_that_is_down_slow_or_refuses_costs_a_note() -> None:
    """Nothing is raised, and a slow one is waited for no longer than the limit."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1/traces"
    note = send_run(RUN, Destination(urls={"traces": url}, timeout=0.5)).finish()
    assert note.startswith("telemetry: the collector")
    assert note.endswith("the run itself is complete")
    with collecting(status=400) as refusing:
        assert f"the collector at {refusing.url}/v1/traces has not taken the traces" in send(refusing)
    with collecting(slow=True) as slow:  # which answers after the note, or never
        assert "within 0.2 s" in send(slow, timeout=0.2)


JUDGING = FinishedJudging(verb="judge run", run="mine", golden="hotel", begun=1.7e9, seconds=1.0, calls=(), answers=())


@pytest.mark.parametrize("way", WAYS)
def test_a_collector_that_misbehaves_costs_a_note(way: str) -> None:
    """One that is down, overloaded, talks nonsense, hangs, hangs up or never accepts: for runs and for judging."""
    with misbehaving(way) as url:
        destination = Destination(urls={"traces": f"{url}/v1/traces"}, timeout=0.2)
        sendings = [send_run(RUN, destination), send_judging(JUDGING, destination)]
        notes = [sending.finish() for sending in sendings]
    for note, what in zip(notes, ("run", "judging"), strict=True):
        assert note.startswith("telemetry: the collector")
        assert note.endswith(f"the {what} itself is complete")


@each(
    ("variables", "urls"),
    [
        ({}, None),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:1", "OTEL_SDK_DISABLED": "TRUE"}, None),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:1/own"}, {"traces": "http://c:1/own"}),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:1/", "OTEL_LOGS_EXPORTER": "none"},
            {"traces": "http://c:1/v1/traces", "metrics": "http://c:1/v1/metrics"},
        ),
    ],
)
def test_the_standard_variables(variables: dict[str, str], urls: dict[str, str] | None) -> None:
    """A base gets the path of the signal, a URL of a signal is taken as it is, and a signal can be left out."""
    destination = find_destination(TelemetryConfig(), variables)
    assert (destination and dict(destination.urls)) == urls


def test_the_environment_wins_over_karat_toml_and_grpc_is_refused(tmp_path: Path) -> None:
    """The table has endpoint, prefix, content and timeout; of gRPC, a note says that it is not spoken."""
    (tmp_path / "karat.toml").write_text(
        '[telemetry]\nendpoint = "http://toml:1"\nprefix = "beluga.rag."\ncontent = true\ntimeout = 1\n'
    )
    config = read_config(tmp_path).telemetry
    own = find_destination(config, {})
    assert own is not None
    assert (own.urls["logs"], own.prefix, own.content, own.timeout) == ("http://toml:1/v1/logs", "beluga.rag.", True, 1)
    other = find_destination(
        config, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://env:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
    )
    assert other is not None
    assert other.urls["logs"] == "http://env:1/v1/logs"
    assert "karat sends http/protobuf only" in send_run(RUN, other).finish()


@each("variable", ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"])
def test_an_endpoint_without_http_is_refused_by_name(variable: str) -> None:
    """OpenTelemetry's exporter for gRPC takes host and port alone; what is refused may hold a password."""
    destination = find_destination(TelemetryConfig(), {variable: "me:s3cret@127.0.0.1:4318"})
    assert destination is not None
    note = send_run(RUN, destination).finish()
    assert note == f"telemetry: {variable} does not begin with http:// or https://; the run itself is complete"


@each(
    ("line", "problem"),
    [
        ('endpont = "http://c"', "did you mean 'endpoint'"),
        ("endpoint = 4318", "endpoint is 4318, not a URL"),
        ('endpoint = "c:4318"', "not a URL"),
        ("content = 1", "not true or false"),
        ("timeout = true", "not a number of seconds"),
        ("timeout = -1", "choose 0 to 600"),
    ],
)
def test_a_table_with_mistakes(tmp_path: Path, line: str, problem: str) -> None:
    """One message that says what is wrong."""
    (tmp_path / "karat.toml").write_text(f"[telemetry]\n{line}\n")
    with pytest.raises(InputError, match=problem):
        read_config(tmp_path)


def make_project(folder: Path) -> Path:
    (folder / "golden.toml").write_text('name = "house"\n')
    rows = {
        "documents": [{"id": "pool", "text": "The pool opens at six."}, {"id": "wifi", "text": "The network is free."}],
        "queries": [{"id": "q1", "text": "When does the pool open?"}, {"id": "q2", "text": "Is the network free?"}],
        "judgments": [
            {"query": "q1", "document": "pool", "grade": 3},
            {"query": "q2", "document": "wifi", "grade": 3},
        ],
    }
    for name, records in rows.items():
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    (folder / "karat.toml").write_text("[pipeline]\ndense = false\n[telemetry]\ntimeout = 60\n")
    return folder


def test_eval_and_check_send_their_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both verbs, with the id of the run that they saved; what they print is the same as without a collector."""
    folder = make_project(tmp_path)
    arguments = ("eval", folder, "-m", "P@5", "-m", "RR@10")
    alone = run_karat(*arguments)
    (first,) = (folder / "runs").glob("*.jsonl")
    with collecting() as sink:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", sink.url)
        process = run_karat(*arguments)
        assert (process.returncode, b"P@5" in process.stdout) == (0, True)
        assert alone.stdout.count(b"\n") == process.stdout.count(b"\n")
        (run,) = {*(folder / "runs").glob("*.jsonl")} - {first}
        assert run.name.encode() in process.stderr
        assert {attributes(log)["karat.run.id"] for log in sink.logs} == {run.stem}
        assert sink.metrics["karat.mrr"].gauge.data_points[0].as_double == 1.0
        assert len(sink.spans) == 5
        run_karat("check", folder, "--no-report")
        assert len(sink.spans) == 10
        assert run_karat("eval", folder, "--run", run).returncode == 0
        assert len(sink.spans) == 10  # an old run is not sent again


def test_a_collector_that_is_down_does_not_change_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The results are printed, and then one line says what was not sent."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    folder = make_project(tmp_path)
    (folder / "karat.toml").write_text("[pipeline]\ndense = false\n[telemetry]\ntimeout = 0.3\n")
    process = run_karat("eval", folder)
    assert process.returncode == 0
    assert process.stderr.count(b"karat: telemetry: the collector") == 1


@pytest.mark.slow(3)
def test_without_an_endpoint_nothing_is_imported(tmp_path: Path) -> None:
    """A check with no endpoint imports no module of OpenTelemetry."""
    folder = make_project(tmp_path)
    code = (
        "import sys; from karat.cli import main; "
        f"sys.argv = ['karat', 'eval', {str(folder)!r}]\n"
        "try: main()\n"
        "except SystemExit as end: assert end.code == 0\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert process.returncode == 0, process.stderr


def test_a_gated_run_has_its_differences_and_reasons(tmp_path: Path) -> None:
    """With a baseline the deltas are sent; a query without a value says why, and a run without a time begins now."""
    folder = make_project(tmp_path)
    with (folder / "queries.jsonl").open("a") as file:
        file.write('{"id": "q3", "text": "Is there a helipad?", "answerable": false}\n')
    project = open_project(folder)
    good = make_run(project.golden, lambda query, k: ["pool" if "pool" in query else "wifi"], Settings(k=5))
    first = score_run(project.golden, good, ["R@5"])
    poor = make_run(project.golden, lambda query, k: ["pool"], Settings(k=5))
    result = gate_run(project, poor, baseline=Baseline(evaluation=first))
    finished = describe_finished(project, result, "run-1")
    assert finished.regression is not None
    assert finished.regression.deltas["R@5"] == pytest.approx(-0.5)
    assert finished.queries[2].missing["R@5"]
    assert "R@5" not in finished.queries[2].scores
    undated = replace(first, provenance=replace(first.provenance, origin=Origin()))
    assert describe_finished(project, undated, "run-2").begun > finished.begun - 60
    alone = gate_run(project, poor, alone=True)
    assert describe_finished(project, alone, "run-3").regression is None


def test_without_the_extra_a_note_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """And whatever the SDK raises is a note, too."""
    destination = Destination(urls={"traces": "http://127.0.0.1:9/v1/traces"}, timeout=60)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "opentelemetry.sdk", None)
        assert "needs karat's extra otel" in send_run(RUN, destination).finish()
    broken = replace(RUN, begun=float("nan"))
    assert "ValueError" in send_run(broken, destination).finish()


def test_names_limits_and_samplers_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service has the name that OpenTelemetry's variables give it, and long texts are cut as they say."""
    monkeypatch.setenv("OTEL_SERVICE_NAME", "house")
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "4")
    with collecting() as other:
        assert send(other, content=True) == ""
    (resource,) = {request.resource_spans[0].resource.SerializeToString() for request in other.got["/v1/traces"]}
    assert b"house" in resource
    texts = {attributes(span).get("gen_ai.retrieval.query.text") for span in other.spans}
    assert texts == {"Is t", "When", None}


def test_a_trace_that_is_not_sampled_has_no_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Log records and metrics are sent all the same: they are no part of a trace."""
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    with collecting() as other:
        assert send(other) == ""
    assert other.spans == []
    assert len(other.logs) == 7
    assert other.metrics["karat.evaluations_total"].sum.data_points[0].as_int == 1


def test_texts_that_are_not_unicode_are_sent_with_question_marks() -> None:
    """Half of a surrogate pair, which UTF-8 does not have, costs neither the span nor the others of its batch."""
    half = replace(RUN.queries[0], query="q\ud800", error="b\udfffm")
    with collecting() as other:
        assert send(other, replace(RUN, golden="h\ud800", queries=(half,))) == ""
    assert [span.name for span in other.spans] == [
        "retrieval h?",
        "evaluator.EvaluateQuery",
        "evaluator.EvaluateDataset",
    ]
    assert (attributes(other.spans[1])["query_id"], other.spans[1].status.message) == ("q?", "b?m")


def test_a_run_has_the_same_trace_whenever_it_is_sent() -> None:
    """The ids follow from its id and when it began; without that they are by chance, and never the same."""
    with collecting() as other:
        for seed in ("mine 2026", "mine 2026", "mine 2025", "", ""):
            assert send(other, replace(RUN, seed=seed)) == ""
    roots = [span.trace_id for span in other.spans if span.name == "evaluator.EvaluateDataset"]
    assert roots[0] == roots[1]
    assert len(set(roots)) == 4


@each(
    "url",
    [
        "http://u:secret/7@collector",
        "http://u:secret@collector:99999",
        "http://u:secret@[::1",
        "http://u:secret@\u2100.org",
    ],
)
def test_an_endpoint_that_is_no_url_is_not_repeated(url: str) -> None:
    """What is wrong with it is told without a part of it: nobody knows where its password ends."""
    destination = find_destination(TelemetryConfig(), {"OTEL_EXPORTER_OTLP_ENDPOINT": url})
    assert destination is not None
    assert "is no URL of HTTP" in destination.problem
    assert "secret" not in destination.problem


def test_an_endpoint_may_have_a_login() -> None:
    """A password whose signs are written as URLs have them."""
    destination = find_destination(TelemetryConfig(), {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://u:p%2F%40@[::1]:4318"})
    assert destination is not None
    assert destination.problem == ""
