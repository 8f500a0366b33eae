"""One id for a run, wherever it is shown, sent or kept."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from cli.answering_project import configure, enter_project
from in_process import run_karat
from telemetry.sink import Sink, attributes, collecting

PATIENT = "[telemetry]\ntimeout = 60\n"


def ids(sink: Sink) -> dict[str, set[str]]:
    """Return the ids of runs that a collector got, by signal, and forget them."""
    spans = [span for span in sink.spans if not span.name.startswith("retrieval")]
    points = [
        point for metric in sink.metrics.values() for point in getattr(metric, metric.WhichOneof("data")).data_points
    ]
    bodies = [json.loads(log.body.string_value)["run_id"] for log in sink.logs if log.body.string_value]
    found = {
        name: {attributes(record)["karat.run.id"] for record in records}
        for name, records in (("spans", spans), ("metrics", points), ("logs", sink.logs))
    }
    for requests in sink.got.values():
        requests.clear()
    return {**found, "envelopes": set(bodies)}


def karat(*arguments: str | Path) -> Any:
    process = run_karat(*arguments)
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def test_one_id_in_reports_trace_metrics_logs_and_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After karat eval, karat judge and karat check: the same in JSON, HTML, every signal, file and store."""
    folder = enter_project(tmp_path, monkeypatch, count=3)
    configure(folder, gate=f'[gate]\nextends = "none"\nrules = [{{ metric = "RR@10", min = 0.1 }}]\n{PATIENT}')
    with collecting() as sink:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", sink.url)
        evaluated = karat("eval", ".", "--json")
        (file,) = (folder / "runs").glob("*.jsonl")
        run = file.stem
        assert [own["id"] for own in evaluated["runs"]] == [run]
        assert ids(sink) == {key: {run} for key in ("spans", "metrics", "logs", "envelopes")}
        judged = karat("judge", file, "--json")
        assert judged["run_id"] == run
        assert ids(sink) == {**{key: {run} for key in ("spans", "metrics", "logs")}, "envelopes": set()}
        checked = karat("check", ".", "--json")
        (other,) = {path.stem for path in (folder / "runs").glob("*.jsonl") if "opinions" not in path.name} - {run}
        assert checked["run"]["id"] == other
        assert ids(sink) == {key: {other} for key in ("spans", "metrics", "logs", "envelopes")}
    reports = [path.read_text() for path in folder.rglob("*.html")]
    assert reports
    assert all(other in report for report in reports)
    (folder / "report.json").write_text(json.dumps(checked))
    assert karat("online", "record", "report.json", "karat.db", "--json") == {"run": other, "new": True}
    with sqlite3.connect("karat.db") as connection:
        assert connection.execute("select run_id from eval_results").fetchall() == [(other,)]
    connection.close()


def test_another_decision_on_a_run_has_an_id_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same decision is recorded once; one by another policy is beside it, under a longer id."""
    folder = enter_project(tmp_path, monkeypatch, count=3)
    configure(folder, gate='[gate]\nextends = "none"\nrules = [{ metric = "RR@10", min = 0.1 }]\n')
    karat("eval", ".", "--json")
    (file,) = (folder / "runs").glob("*.jsonl")
    recorded = []
    for limit in (0.1, 0.1, 0.2):
        rule = f'[gate]\nextends = "none"\nrules = [{{ metric = "RR@10", min = {limit} }}]\n'
        configure(folder, gate=rule)
        (folder / "report.json").write_text(json.dumps(karat("gate", file, "--json")))
        recorded.append(karat("online", "record", "report.json", "karat.db", "--json"))
    assert [own["new"] for own in recorded] == [True, False, True]
    assert recorded[0]["run"] == recorded[1]["run"] == file.stem
    assert recorded[2]["run"].startswith(f"{file.stem}-")
