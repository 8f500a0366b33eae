"""What Phoenix, a collector that others wrote, has of what karat sends."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.answering_project import COUNT, enter_project
from karat import online
from karat.runs import read_run_file

SESSION = Path(__file__).with_name("phoenix_session.py")
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def is_asked_for(request: pytest.FixtureRequest) -> bool:
    return "collector" in str(request.config.getoption("-m"))


@pytest.mark.collector
def test_phoenix_has_every_query_with_its_documents_and_scores(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    environment: dict[str, str],
) -> None:
    """Of a run, of live queries and of judging: what its API returns is what was retrieved, asked and scored."""
    if not is_asked_for(request):
        pytest.skip("half a minute of CPU time: ./scripts/test -m collector")
    python_of: Callable[[str], Path] = request.getfixturevalue("python_of")
    folder = enter_project(tmp_path, monkeypatch)
    names = log_queries(folder)
    calls = 4 * COUNT - 2 * COUNT + 1  # the answers equal the references, so that both judges ask the same, and a probe
    expected = 1 + 2 * COUNT + 1 + calls + len(names)
    tests = Path(__file__).parents[1]
    process = subprocess.run(
        ["unshare", "--map-root-user", "--net", sys.executable, SESSION, folder, python_of("phoenix"), str(expected)],
        env=environment | {"PYTHONPATH": str(tests)},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert process.returncode == 0, process.stderr
    printed = json.loads(process.stdout)
    spans: list[dict[str, Any]] = printed["spans"]
    assert len(spans) == expected == len({(span["context"]["trace_id"], span["context"]["span_id"]) for span in spans})
    check_run(folder, spans)
    check_calls(spans, calls)
    check_live(spans, names)
    print(f"Phoenix started in {printed['start']:.0f} s; {printed['cpu']:.0f} CPU s in all")


def log_queries(folder: Path) -> list[str]:
    with online.open(folder / "karat.db", keep_ids=True, system="v7", index="house-3") as log:
        return [
            log.record("free wifi?", [("wifi", 0.5), ("pool", 0.25)], session="ana", latency=30.0),
            log.record("spa", [], session="ana", trace=f"00-{TRACE}-{SPAN}-01"),
            log.record("bar", error="no index"),
        ]


def list_documents(span: dict[str, Any]) -> list[tuple[str, float]]:
    """Return the documents of a retriever as Phoenix shows them: it has its own names for them."""
    own = span["attributes"]
    names = (f"retrieval.documents.{number}.document" for number in range(100))
    return [(own[f"{name}.id"], own[f"{name}.score"]) for name in names if f"{name}.id" in own]


def check_run(folder: Path, spans: list[dict[str, Any]]) -> None:
    (path,) = (path for path in (folder / "runs").glob("*.jsonl") if "opinions" not in path.name)
    traces = {trace.query: trace for trace in read_run_file(path).traces}
    queries = [span for span in spans if span["name"] == "evaluator.EvaluateQuery"]
    retrievals = {span["parent_id"]: span for span in spans if span["name"] == "retrieval facts"}
    assert {span["attributes"]["query_id"] for span in queries} == traces.keys()
    for span in queries:
        trace, inner = traces[span["attributes"]["query_id"]], retrievals[span["context"]["span_id"]]
        assert (span["attributes"]["mrr"], span["attributes"]["karat.run.id"]) == (1.0, path.stem)
        assert inner["span_kind"] == "RETRIEVER"
        assert inner["attributes"]["input.value"] == trace.text
        assert list_documents(inner) == [(hit.id, hit.score) for hit in trace.hits]


def check_calls(spans: list[dict[str, Any]], calls: int) -> None:
    chats = [span for span in spans if span["name"] == "chat m"]
    assert len(chats) == calls
    assert {span["span_kind"] for span in chats} == {"LLM"}
    assert sum(span["attributes"]["gen_ai.usage.input_tokens"] for span in chats) == 100 * calls
    assert all("gen_ai.input.messages" in span["attributes"] for span in chats)


def check_live(spans: list[dict[str, Any]], names: list[str]) -> None:
    live = {span["attributes"].get("karat.query.id"): span for span in spans}
    found, empty, failed = (live[name] for name in names)
    assert list_documents(found) == [("wifi", 0.5), ("pool", 0.25)]
    assert (found["attributes"]["input.value"], found["attributes"]["gen_ai.conversation.id"]) == ("free wifi?", "ana")
    assert (empty["context"]["trace_id"], empty["parent_id"]) == (TRACE, SPAN)
    assert (failed["status_code"], failed["events"][0]["name"]) == ("ERROR", "exception")
