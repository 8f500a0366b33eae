"""The tools that log a query: karat, a commit of SQLite, a queue in memory, and OpenTelemetry's batch processor.

Run as a program it logs queries in one of three ways and prints what each took: ``tools.py TOOL LOAD N FOLDER``. With
the load ``killed`` it logs until it is killed; a file says how many calls had returned.
"""

from __future__ import annotations

import json
import mmap
import queue
import resource
import sqlite3
import struct
import sys
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol
from zlib import crc32

HITS = [(f"document-{number}:chunk:{number}", 1 / (number + 1)) for number in range(10)]
CHANNELS = {name: [document for document, _ in HITS] for name in ("bm25", "dense")}
STAGES = {"bm25": 1.5, "dense": 3.5, "fusion": 0.2}
WEIGHTS = {"bm25": 0.4, "dense": 0.6}
TEXT = "how do I reset the wifi password in room 12, query {}"
SIZE = 4 << 20
FRAME = struct.Struct("<II")
COUNT = struct.Struct("<Q")
BOARD = "returned"
TURNS = 400
"""About ten microseconds."""


class Tool(Protocol):
    """What logs a query."""

    def log(self, text: str, session: str) -> None:
        """Log a query of a session; the time that this takes is measured."""
        ...

    def close(self) -> None:
        """Write what is left."""
        ...


class Nothing:
    """No log: a loop of some microseconds, which shows how much the times of the others are the machine's own noise."""

    def __init__(self, folder: Path) -> None:
        pass

    def log(self, _text: str, _session: str) -> None:
        for _ in range(TURNS):
            pass

    def close(self) -> None:
        pass


class Least:
    """The least that a log can do: a record is encoded and copied into a map, with its checksum.

    It has no id, nothing is redacted, and no threads may share it: its time is the encoder's and the machine's.
    """

    def __init__(self, folder: Path) -> None:
        from msgspec.msgpack import Encoder

        with (folder / "least").open("w+b") as file:
            file.write(bytes(SIZE))
            file.flush()
            self._map = mmap.mmap(file.fileno(), SIZE)
        self._encode, self._end = Encoder().encode, 0

    def log(self, text: str, session: str) -> None:
        record = text, session, "fix", "deep", "search", HITS, CHANNELS, STAGES, WEIGHTS
        payload = self._encode(record)
        start = self._end if self._end + len(payload) + 8 <= SIZE else 0
        self._end = end = start + 8 + len(payload)
        self._map[start + 8 : end] = payload
        FRAME.pack_into(self._map, start, len(payload), crc32(payload))

    def close(self) -> None:
        self._map.close()


class Karat:
    """karat's query log, as a host uses it."""

    def __init__(self, folder: Path) -> None:
        from karat import online

        self._log = online.open(folder / "karat.db", system="bench")

    def log(self, text: str, session: str) -> None:
        with self._log.query(text, session=session, intent="fix", mode="deep", tool="search") as query:
            query.results(HITS, channels=CHANNELS, stages=STAGES, weights=WEIGHTS)

    def close(self) -> None:
        self._log.close()

    @staticmethod
    def read(folder: Path) -> list[str]:
        from karat.online import ingest, read_log

        ingest(folder / "karat.db")
        with read_log(folder / "karat.db") as reader:
            return [query.text for query in reader.queries()]


def make_query(number: int) -> tuple[str, str]:
    """Return the text of a query, and its session: the host has them, whether it logs or not."""
    return TEXT.format(number), f"s{number % 50}"


def make_row(text: str, session: str) -> tuple[Any, ...]:
    """Return the same record as a row."""
    lists = [json.dumps(value) for value in (HITS, CHANNELS, STAGES, WEIGHTS)]
    return (text, session, "fix", "deep", "search", time.time(), *lists)


def connect(folder: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(folder / "log.db", isolation_level=None, check_same_thread=False)
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = normal")
    columns = "text, session, intent, mode, tool, time, hits, channels, stages, weights"
    connection.execute(f"create table if not exists queries (id integer primary key, {columns})")
    return connection


INSERT = f"insert into queries (text, session, intent, mode, tool, time, hits, channels, stages, weights) values ({', '.join('?' * 10)})"  # fmt: skip # noqa: E501


class Sqlite:
    """A commit for each query, with one prepared statement."""

    def __init__(self, folder: Path) -> None:
        self._connection = connect(folder)

    def log(self, text: str, session: str) -> None:
        self._connection.execute(INSERT, make_row(text, session))

    def close(self) -> None:
        self._connection.close()

    @staticmethod
    def read(folder: Path) -> list[str]:
        return [text for (text,) in connect(folder).execute("select text from queries")]


class Queue:
    """A queue in memory, from which a thread writes batches."""

    def __init__(self, folder: Path) -> None:
        self._queue: queue.SimpleQueue[tuple[Any, ...] | None] = queue.SimpleQueue()
        self._connection = connect(folder)
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def log(self, text: str, session: str) -> None:
        self._queue.put(make_row(text, session))

    def _write(self) -> None:
        open_ = True
        while open_:
            rows = list(self._take())
            open_ = None not in rows
            self._connection.execute("begin")
            self._connection.executemany(INSERT, [row for row in rows if row is not None])
            self._connection.execute("commit")

    def _take(self) -> Iterator[tuple[Any, ...] | None]:
        yield self._queue.get()
        for _ in range(500):
            try:
                yield self._queue.get_nowait()
            except queue.Empty:
                return

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join()

    read = Sqlite.read


class OpenTelemetry:
    """A span for each query, through the batch processor of the SDK with its own settings, to a file."""

    def __init__(self, folder: Path) -> None:
        from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

        class FileExporter(SpanExporter):
            def __init__(self) -> None:
                self._file = (folder / "spans.jsonl").open("a")

            def export(self, spans: Any) -> SpanExportResult:
                self._file.writelines(_to_line(span) for span in spans)
                self._file.flush()
                return SpanExportResult.SUCCESS

        def _to_line(span: ReadableSpan) -> str:
            return json.dumps({"attributes": dict(span.attributes or {}), "start": span.start_time}) + "\n"

        self._provider = TracerProvider()
        self._provider.add_span_processor(BatchSpanProcessor(FileExporter()))
        self._tracer = self._provider.get_tracer("bench")

    def log(self, text: str, session: str) -> None:
        with self._tracer.start_as_current_span("search") as span:
            span.set_attributes(
                {
                    "input.value": text,
                    "session.id": session,
                    "intent": "fix",
                    "mode": "deep",
                    "tool": "search",
                    "documents": [document for document, _ in HITS],
                    "scores": [score for _, score in HITS],
                    **{f"channel.{name}": listed for name, listed in CHANNELS.items()},
                    **{f"stage.{name}": value for name, value in STAGES.items()},
                    **{f"weight.{name}": value for name, value in WEIGHTS.items()},
                }
            )

    def close(self) -> None:
        self._provider.shutdown()

    @staticmethod
    def read(folder: Path) -> list[str]:
        lines = (folder / "spans.jsonl").read_text().splitlines() if (folder / "spans.jsonl").exists() else []
        texts = []
        for line in lines:
            try:
                texts.append(json.loads(line)["attributes"]["input.value"])
            except ValueError:
                continue
        return texts


TOOLS: dict[str, Any] = {
    "nothing": Nothing,
    "least": Least,
    "karat": Karat,
    "sqlite": Sqlite,
    "queue": Queue,
    "opentelemetry": OpenTelemetry,
}


def measure(tool: Tool, load: str, count: int) -> dict[str, Any]:
    """Log queries; return what each took in microseconds, by the clock and of its thread's CPU time, and more.

    ``pushed_out`` has the queries during which the machine gave the core to somebody else, against the thread's will.
    A thread that waits by itself, for a lock or for the disk, is not pushed out. ``cpu`` is that of the whole process.
    """
    stop = threading.Event()
    if load == "beside":
        threading.Thread(target=_spin, args=(stop,), daemon=True).start()
    for number in range(200):
        tool.log(*make_query(number))
    walls, spent, pushed = (array("q", bytes(8 * count)) for _ in range(3))  # no objects that would be collected
    begin = time.process_time()
    clock, cpu_clock = time.perf_counter_ns, time.thread_time_ns
    for number in range(count):
        if load != "hot":
            time.sleep(0.001)
        text, session = make_query(number)
        before = count_switches()
        cpu_start = cpu_clock()
        start = clock()
        tool.log(text, session)
        end = clock()
        cpu_end = cpu_clock()
        after = count_switches()
        walls[number], spent[number] = end - start, cpu_end - cpu_start
        pushed[number] = after[1] > before[1] and after[0] == before[0]
    cpu = (time.process_time() - begin) / count * 1e6
    stop.set()
    own = find_cost(cpu_clock)
    return {
        "times": [wall / 1000 for wall in walls],
        "thread": [max(0, taken - own) / 1000 for taken in spent],
        "pushed_out": [number for number in range(count) if pushed[number]],
        "cpu": cpu,
    }


def count_switches() -> tuple[int, int]:
    """Return how often this thread gave up its core by itself, and how often it had to."""
    usage = resource.getrusage(resource.RUSAGE_THREAD)
    return usage.ru_nvcsw, usage.ru_nivcsw


def find_cost(clock: Callable[[], int]) -> int:
    """Return what a clock itself adds to what it measures, with the other clock in between."""
    costs = []
    for _ in range(1001):
        start = clock()
        time.perf_counter_ns()
        time.perf_counter_ns()
        costs.append(clock() - start)
    return sorted(costs)[500]


def _spin(stop: threading.Event) -> None:
    number = 0
    while not stop.is_set():
        number = (number * 31 + 7) % 1_000_003


def log_until_killed(tool: Tool, folder: Path) -> None:
    """Log one query a millisecond, and write down how many calls have returned."""
    path = folder / BOARD
    path.write_bytes(bytes(8))
    with path.open("r+b") as file:
        board = mmap.mmap(file.fileno(), 8)
    number = 0
    while True:
        tool.log(*make_query(number))
        number += 1
        COUNT.pack_into(board, 0, number)
        time.sleep(0.001)


def main(name: str, load: str, count: int, folder: Path) -> None:
    tool = TOOLS[name](folder)
    if load == "killed":
        log_until_killed(tool, folder)
    if load == "read":
        print(json.dumps(TOOLS[name].read(folder)))
        return
    result = measure(tool, load, count)
    tool.close()
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
