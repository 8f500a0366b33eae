"""What a collector gets of a run that does not finish: nothing, and no gauge."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from in_process import run_karat
from telemetry.sink import Sink, attributes, collecting
from telemetry.test_telemetry import make_project

SYSTEM = """
import os, pathlib, signal, time

def find(query, k):
    first = pathlib.Path(__file__).with_name("first")
    if "network" in query and not first.exists():
        first.touch()
        {action}
        time.sleep(600)
    return ["pool" if "pool" in query else "wifi"]
"""
ACTIONS = {
    "SIGINT": ("os.kill(os.getpid(), signal.SIGINT)", 130),
    "SIGTERM": ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
    "SIGKILL": ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
    "an error": ("raise RuntimeError('no index')", 3),
}


def is_empty(sink: Sink) -> bool:
    return not any(sink.got.values())


@pytest.mark.slow(2)
@pytest.mark.parametrize("way", ACTIONS)
def test_a_run_that_ends_half_way_sets_no_gauge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """After one question of two; the same command then goes on, finishes, and is the one run that is counted."""
    action, code = ACTIONS[way]
    folder = make_project(tmp_path)
    (folder / "unfinished.py").write_text(SYSTEM.format(action=action))
    monkeypatch.delitem(sys.modules, "unfinished", raising=False)
    arguments = ["eval", str(folder), "--system", "unfinished:find", "-m", "RR@10", "--fail-fast"]
    with collecting() as sink:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", sink.url)
        process = subprocess.run([sys.executable, "-m", "karat", *arguments], capture_output=True, timeout=600)
        assert process.returncode == code, process.stderr
        assert (folder / "first").exists()
        assert is_empty(sink)
        assert run_karat(*arguments).returncode == 0
        (mean,) = sink.metrics["karat.mrr"].gauge.data_points
        (total,) = sink.metrics["karat.evaluations_total"].sum.data_points
        assert (mean.as_double, total.as_int) == (1.0, 1)
        (run,) = (folder / "runs").glob("*.jsonl")
        assert {attributes(span)["karat.run.id"] for span in sink.spans if "Evaluate" in span.name} == {run.stem}
