"""Files that the tracing tools themselves wrote are read, written and read again; and they read what karat wrote."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from karat.core import GoldenSet, Hit, Provenance, Query, Trace
from karat.runs import RunWriter, convert_run, read_any_run, read_run_file
from traces.test_round_trips import FULL

GOLDEN = GoldenSet(queries=(Query(id="q1", text="Is there wifi?"),))
TOOLS = Path(__file__).parent / "tools"
PLAIN = Trace(query="q2", text="When?", hits=(Hit("a", 1.0),), timings={"total": 3.5})


@pytest.fixture
def run_tool(
    tmp_path: Path, python_of: Callable[[str], Path], environment: dict[str, str]
) -> Callable[[str, str, list[str]], Any]:
    """Write a run in some formats, run a script in the environment of a tool, and return what it prints."""
    with RunWriter(tmp_path / "run.jsonl", Provenance(name="mine", settings={"k": 5})) as writer:
        for trace in (FULL, PLAIN, replace(PLAIN, query="q3", hits=(), error="timed out")):
            writer.write(trace)

    def run(place: str, script: str, formats: list[str]) -> Any:
        for name in formats:
            convert_run(tmp_path / "run.jsonl", tmp_path / f"karat-{name}.jsonl", name)
        command = [str(python_of(place)), str(TOOLS / script), str(tmp_path)]
        process = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
        assert process.returncode == 0, process.stderr
        return json.loads(process.stdout)

    return run


def check_file(path: Path, documents: list[str], formats: list[str]) -> Trace:
    """Read what a tool wrote, and convert it to karat, to its own format and to the others: always the same trace."""
    (trace,) = read_any_run(path, GOLDEN).traces
    assert (trace.query, [hit.document for hit in trace.hits]) == ("q1", documents)
    assert trace.timings["total"] > 0
    convert_run(path, path.with_suffix(".karat"), golden=GOLDEN)
    assert read_run_file(path.with_suffix(".karat")).traces == (trace,)
    for name in formats:
        convert_run(path, path.with_suffix(f".{name}"), name, golden=GOLDEN)
        assert read_any_run(path.with_suffix(f".{name}"), GOLDEN).traces == (trace,)
    return trace


def test_spans_of_openinference_opentelemetry_and_langfuse(
    tmp_path: Path, run_tool: Callable[[str, str, list[str]], Any]
) -> None:
    """LangChain's retriever with OpenInference, spans with the names of both conventions, and Langfuse's SDK."""
    formats = ["openinference", "genai", "genai-memory", "langfuse"]
    names = run_tool("tracing", "write_spans.py", formats[:3])
    assert {"retrieval.documents.0.document.id", "reranker.query", "session.id"} <= {
        *names["karat-openinference.jsonl"]
    }
    assert {"gen_ai.retrieval.documents", "gen_ai.retrieval.query.text"} <= {*names["karat-genai.jsonl"]}
    assert {"gen_ai.memory.records", "gen_ai.operation.name"} <= {*names["karat-genai-memory.jsonl"]}
    # Newer than the package that has OpenTelemetry's names: memories, and how many documents were asked for.
    known = {*names.pop("known"), "gen_ai.memory.query.text", "gen_ai.memory.records", "gen_ai.memory.record.count"}
    known |= {"gen_ai.retrieval.top_k"}
    for name in {name for written in names.values() for name in written if not name.startswith("karat.")}:
        assert {*re.split(r"\.\d+\.", name)} <= known, name
    langchain = check_file(tmp_path / "langchain.jsonl", ["pool", "wifi"], formats)
    assert langchain.hits == (Hit("pool", 0.9, content="The pool"), Hit("wifi", 0.8, content="Wifi is free"))
    reranked = check_file(tmp_path / "openinference.jsonl", ["wifi"], formats)
    assert ([stage.label for stage in reranked.stages], reranked.context.session) == (
        ["candidate.dense", "rerank"],
        "s1",
    )
    assert read_any_run(tmp_path / "openinference.jsonl", GOLDEN).provenance.settings["k"] == 10
    check_file(tmp_path / "genai.jsonl", ["pool", "wifi"], formats)
    assert check_file(tmp_path / "langfuse.jsonl", ["pool", "wifi"], formats).hits[1].content == "Wifi"


def test_traces_of_mlflow(tmp_path: Path, run_tool: Callable[[str, str, list[str]], Any]) -> None:
    """One that MLflow wrote, with a session and without scores; and MLflow's reader takes what karat wrote."""
    read = run_tool("mlflow", "write_mlflow.py", ["mlflow"])
    trace = check_file(tmp_path / "mlflow.jsonl", ["pool", "wifi"], ["mlflow", "openinference"])
    assert ([hit.score for hit in trace.hits], trace.context.session) == ([2.0, 1.0], "s1")
    question = {"query": "Is there wifi?"}
    assert read[:2] == [
        ["RETRIEVER", "retrieval", question, ["17", "pool"], "OK"],
        ["RETRIEVER", "dense", question, ["17"], "OK"],
    ]
    assert [row[0] for row in read[:4]] == ["RETRIEVER", "RETRIEVER", "RERANKER", "RERANKER"]
    assert read[-1] == ["RETRIEVER", "retrieval", {"query": "When?"}, [], "ERROR"]
