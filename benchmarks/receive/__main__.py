"""A receiver under load: 1,000 spans a second for a minute, in traces of five spans with ten documents each.

``./scripts/bench receive`` sends requests of a hundred spans as OTLP over HTTP, by one connection, and tells the CPU
time and the memory of the receiver every ten seconds. The root of each trace comes in the next request. At the end,
every question must be in the store exactly once, with its session and its answer. ``--quick`` takes a tenth, ``--rate``
other spans a second; a machine that is busy with other work is slower, and says so.
"""

from __future__ import annotations

import argparse
import http.client
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from karat.online import read_log

TRACES, SPANS, DOCUMENTS = 20, 5, 10
STEP = 10  # seconds between two looks
TRACE, NUMBER = b"TRACE IS NOT SET", "NO. UNSET"[:8]
TICKS = os.sysconf("SC_CLK_TCK")


def make_span(span: int, attributes: dict[str, str | float]) -> bytes:
    """Return a request with one span, whose trace and number are filled in later: to encode takes a sender long."""
    request = ExportTraceServiceRequest()
    made = (
        request.resource_spans.add()
        .scope_spans.add()
        .spans.add(
            trace_id=TRACE,
            span_id=span.to_bytes(8, "big"),
            parent_span_id=b"" if span == 1 else (1).to_bytes(8, "big"),
            name=f"span {span}",
            start_time_unix_nano=time.time_ns(),
            end_time_unix_nano=time.time_ns() + 1_000_000,
        )
    )
    for name, value in attributes.items():
        typed = AnyValue(string_value=value) if isinstance(value, str) else AnyValue(double_value=value)
        made.attributes.append(KeyValue(key=name, value=typed))
    return request.SerializeToString()


def make_children() -> bytes:
    """Return the spans of a trace but its root."""
    parts = []
    for span in (2, 3, 4):
        kind = "RERANKER" if span == 4 else "RETRIEVER"
        prefix = "reranker.output_documents" if span == 4 else "retrieval.documents"
        attributes: dict[str, str | float] = {"openinference.span.kind": kind, "input.value": f"question {NUMBER}"}
        for place in range(DOCUMENTS):
            attributes[f"{prefix}.{place}.document.id"] = f"document {span * place}"
            attributes[f"{prefix}.{place}.document.score"] = 1 / (place + 1)
            attributes[f"{prefix}.{place}.document.content"] = "A text of a document, as instrumentations send it. " * 6
        parts.append(make_span(span, attributes))
    answer = {"openinference.span.kind": "LLM", "llm.output_messages.0.message.content": f"answer {NUMBER}"}
    return b"".join([*parts, make_span(5, {**answer})])


def fill(template: bytes, traces: range) -> bytes:
    """Return a request with spans of some traces; messages one after the other are one message."""
    return b"".join(
        template.replace(TRACE, (trace + 1).to_bytes(16, "big")).replace(NUMBER.encode(), f"{trace:08}".encode())
        for trace in traces
    )


def make_request(number: int, children: bytes, root: bytes) -> bytes:
    """Return a request: the children of some traces, and the roots of those of the request before."""
    at = number * TRACES
    return fill(children, range(at, at + TRACES)) + fill(root, range(max(0, at - TRACES), at))


def look(process: int) -> tuple[float, float]:
    """Return the CPU seconds and the memory, in MB, of a process."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    (memory,) = (
        line.split()[1] for line in Path(f"/proc/{process}/status").read_text().splitlines() if "VmRSS" in line
    )
    return (int(fields[11]) + int(fields[12])) / TICKS, int(memory) / 1000


def send(port: int, process: int, rate: float, seconds: int) -> tuple[int, list[float]]:
    """Send for a while at a rate; return how many requests that were, and how much memory was in use at each look."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    every, start, number = TRACES * SPANS / rate, time.monotonic(), 0
    memory: list[float] = []
    children = make_children()
    root = make_span(1, {"openinference.span.kind": "CHAIN", "session.id": f"s{NUMBER}"})
    slowest, before = 0.0, look(process)[0]
    while number * every < seconds:
        body = make_request(number, children, root)
        time.sleep(max(0.0, start + number * every - time.monotonic()))
        begin = time.monotonic()
        connection.request("POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf"})
        response = connection.getresponse()
        response.read()
        assert response.status == 200, response.status
        slowest = max(slowest, time.monotonic() - begin)
        number += 1
        if number * every // STEP > (number - 1) * every // STEP:
            cpu, used = look(process)
            memory.append(used)
            took = time.monotonic() - start
            print(
                f"{took:6.1f} s  {number * TRACES * SPANS / took:7.0f} spans/s  CPU {cpu - before:6.2f} s"
                f"  RSS {used:6.1f} MB  slowest answer {1000 * slowest:.0f} ms",
                flush=True,
            )
    connection.close()
    return number, memory


def check(store: Path, requests: int) -> None:
    """Say whether every trace that was answered is in the store exactly once, and whole."""
    with read_log(store) as log:
        texts: Counter[str] = Counter()
        whole = 0
        for query in log.queries():
            texts[query.text] += 1
            number = int(query.text.split()[1])
            last = number >= (requests - 1) * TRACES  # their roots, with the session, were never sent
            has_all = (
                len(query.hits) == DOCUMENTS and len(query.channels) == 2 and query.answer == f"answer {number:08}"
            )
            whole += has_all and (last or query.session != "")
    expected = {f"question {number:08}" for number in range(requests * TRACES)}
    twice = sum(count > 1 for count in texts.values())
    print(f"stored {len(texts):,} of {len(expected):,} queries, {twice} twice, {whole:,} whole")
    if texts.keys() != expected or twice or whole != len(expected):
        sys.exit("something was lost")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="6 seconds")
    parser.add_argument("--rate", type=float, default=1000, help="spans a second")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "karat.db"
        command = [sys.executable, "-m", "karat", "online", "receive", str(store), "--port", "0"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stderr is not None
        port = int(process.stderr.readline().rpartition(":")[2])
        requests, memory = send(port, process.pid, options.rate, 6 if options.quick else 60)
        process.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        out, _ = process.communicate()
        print(out.strip(), f"\nended {time.monotonic() - begin:.1f} s after SIGTERM, exit code {process.returncode}")
        check(store, requests)
        if len(memory) > 2:
            print(f"memory grew by {memory[-1] - memory[1]:+.1f} MB from 20 s to the end")


if __name__ == "__main__":
    main()
