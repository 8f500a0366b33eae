"""Software that we did not write sends to a receiver: what is in the log is what that software retrieved."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from karat.online import LoggedQuery, check_health, read_log
from karat.online.receiving import receive

HERE = Path(__file__).parent
PAGE = HERE.parents[2] / "docs" / "receive.md"


def read_example() -> str:
    """Return the application of the page that uses LangChain."""
    (block,) = re.findall(r"^```text\n(import os\n.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return str(block)


@pytest.mark.slow(25)
def test_what_frameworks_retrieved_is_in_the_log(
    path: Path, tmp_path: Path, python_of: Callable[[str], Path], environment: dict[str, str]
) -> None:
    """LangChain and LlamaIndex under OpenInference, with and without GenAI's names, LangChain under OpenTelemetry's
    own instrumentation and OpenLLMetry's, and the example of the page, all sent by OpenTelemetry's exporter: query,
    documents, scores, order, session and answer are those that the frameworks returned.
    """
    (tmp_path / "example.py").write_text(read_example())
    stop, ready, urls = threading.Event(), threading.Event(), list[str]()

    def start(url: str) -> None:
        urls.append(url)
        ready.set()

    thread = threading.Thread(
        target=receive, args=(path, stop), kwargs={"port": 0, "settle": 1, "keep_ids": True, "on_start": start}
    )
    thread.start()
    try:
        assert ready.wait(600)
        command = [str(python_of("tracing")), str(HERE / "tools" / "send_spans.py"), str(tmp_path / "example.py")]
        told = environment | {"OTEL_EXPORTER_OTLP_ENDPOINT": urls[0]}
        process = subprocess.run(command, cwd=tmp_path, env=told, capture_output=True, text=True, timeout=600)
        assert process.returncode == 0, process.stderr
    finally:
        stop.set()
        thread.join()
    with read_log(path) as log:
        queries = {query.session: query for query in log.queries()}
        assert len(list(log.queries())) == len(queries) == 7
    cases = json.loads(process.stdout)
    for name, case in cases.items():
        query = queries[name]
        assert (query.text, query.error, query.count) == (case["text"], "", len(case["hits"])), name
        assert [hit.id for hit in query.hits] == [id_ for id_, _ in case["hits"]], name
        assert [hit.score for hit in query.hits] == pytest.approx([score for _, score in case["hits"]]), name
        assert (query.latency or 0) > 0
        # OpenTelemetry's own instrumentation has no span for a model that is none of the large providers'.
        assert query.answer == (None if name == "genai" else case["answer"]), name
    check_llama_index(queries["llama-index"])
    check_llama_index(queries["llama-index-semconv"])
    page = queries["guest-7"]
    assert (page.text, [(hit.id, hit.score) for hit in page.hits], page.answer) == (
        "what is the wifi password",
        [("wifi", 0.9), ("pool", 0.4)],
        "It is on the card in your room.",
    )
    health = check_health(path)
    assert health.received is not None
    assert (health.healthy, health.received.refused, health.received.late) == (True, {}, 0)


def check_llama_index(query: LoggedQuery) -> None:
    """The retriever is a channel of what the reranker returned."""
    assert list(query.channels.values()) == [("wifi", "pool", "spa")]
    assert "rerank" in query.stages
    assert [hit.channels for hit in query.hits] == [tuple(query.channels)] * 2
