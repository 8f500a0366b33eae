"""Systems that misbehave when they are asked: what is told, how it is counted, and with which code it ends."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest

from clocks import Clock
from karat.core import GoldenSet
from karat.runs import Settings, make_run, read_run_file

Call = Callable[..., tuple[str, str]]
Module = Callable[[str], str]
Kept = Callable[[], list[Path]]
NAMES = "abcdef"
MEASURES = ("RR@10", "R@5", "P@5")


def failing(body: str, head: str = "def find(query, k):") -> str:
    """Return the code of a system that does something with question b, and answers all others."""
    bad = indent(dedent(body).strip(), " " * 8)
    return f"{head}\n    if query == 'b?':\n{bad}\n    return [query[0]]\n"


# What breaks


def test_a_record_that_breaks_the_ingest(call: Call, module: Module, kept: Kept) -> None:
    """Exit code 3 with the backend's own words, no number, and no file of a run."""
    name = module("""
        class Store:
            def ingest(self, documents):
                for number, document in enumerate(documents, 1):
                    if document.id == "d":
                        raise OSError(f"WAL is corrupted at offset 78667: record {number}: checksum mismatch")
            def retrieve(self, query, k):
                return ["a"]
    """)
    out, err = call("--system", f"{name}:Store", code=3)
    assert "OSError: WAL is corrupted at offset 78667: record 4: checksum mismatch\n" in err
    assert (out, kept()) == ("", [])


def test_every_query_breaks(call: Call, module: Module, kept: Kept) -> None:
    """Exit code 3 with the words of the first failures, each once, and no file of a run."""
    name = module("def find(query, k):\n    raise ConnectionError('10.0.0.1 refused' if query < 'b' else 'gone')\n")
    out, err = call("--system", f"{name}:find", code=3)
    assert "every one of 6 queries failed: ConnectionError: 10.0.0.1 refused; ConnectionError: gone\n" in err
    assert (out, kept()) == ("", [])


def test_some_queries_break(call: Call, module: Module, kept: Kept) -> None:
    """Exit code 0: they count as 0 and are listed, and the run file says the same when it is scored again."""
    name = module(failing("raise RuntimeError('shard 3 is down')"))
    out, _ = call("--system", f"{name}:find", "--json")
    entry = json.loads(out)["runs"][0]
    assert entry["measures"]["RR@10"] == {"mean": pytest.approx(5 / 6), "n": 6, "total": 6, "missing": {}}
    assert entry["failed"] == [{"query": "qb", "error": "RuntimeError: shard 3 is down"}]
    (file,) = kept()
    again = json.loads(call("--run", file, "--json")[0])["runs"][0]
    assert again == entry
    assert (
        "1 of 6 questions failed, and count as 0:\n  qb: RuntimeError: shard 3 is down"
        in call("--system", f"{name}:find")[0]
    )


def test_fail_fast_keeps_what_was_answered(call: Call, module: Module, kept: Kept) -> None:
    """Exit code 3 at the first failure, nothing that looks finished; without the option it goes on from there."""
    name = module(
        "queries = []\n" + failing("raise RuntimeError('down')").replace("    if", "    queries.append(query)\n    if")
    )
    out, err = call("--system", f"{name}:find", "--fail-fast", code=3)
    assert "query 'qb': RuntimeError: down" in err
    assert out == ""
    assert [file.name.endswith(".jsonl.part") for file in kept()] == [True]
    questions = import_module(name).queries
    questions.clear()
    call("--system", f"{name}:find")
    assert questions == ["a?", "b?", "c?", "d?", "e?", "f?"]  # the first is the warm-up
    assert [file.name.endswith(".jsonl") for file in kept()] == [True]


# What comes back

WRONG = [
    ("raise KeyError('no such shard')", "KeyError: 'no such shard'"),
    ("sys.exit(0)", "SystemExit: 0"),
    ("sys.exit('licence expired')", "SystemExit: licence expired"),
    ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    ("raise GeneratorExit", "GeneratorExit"),
    ("raise asyncio.CancelledError", "CancelledError"),
    ("raise MemoryError", "MemoryError"),
    ("raise RecursionError('too deep')", "RecursionError: too deep"),
    ("raise OSError('half a pair: \\ud83d')", "OSError: half a pair: \\ud83d"),
    ("class Odd(Exception):\n    def __str__(self): raise ValueError\nraise Odd", "Odd: (its text raises ValueError)"),
    ("return None", "the system returned None, not a list of hits"),
    ("return {'id': 'b', 'score': 1.0}", "not a list of hits"),
    ("return 'b'", "the system returned 'b', not a list of hits"),
    ("return b'b'", "not a list of hits"),
    ("return 7", "the system returned 7, not a list of hits"),
    ("return {'b'}", "a set, which has no order"),
    ("return [['b', 'c']]", "hit 1 is ['b', 'c']: score 'c' is not a number"),
    ("return [[('b', 1.0)]]", "hit 1 is [('b', 1.0)]: id [('b', 1.0)] is not text"),
    ("return ['b', None]", "hit 2 is None: id None is not text"),
    ("return ['']", "hit 1 is '': an id is empty"),
    ("return [1.5]", "hit 1 is 1.5: id 1.5 is not text"),
    ("return ['\\ud83d']", "is not valid Unicode"),
    ("return [('b', math.nan)]", "hit 1 is ('b', nan): score nan is not finite"),
    ("return [('b', math.inf)]", "score inf is not finite"),
    ("return [('b', -math.inf)]", "score -inf is not finite"),
    ("return [{'id': 'b', 'score': None}]", "score None is not a number"),
    ("return [{'score': 1.0}]", "it has neither an id nor a document"),
    ("return [{'id': 'b', 'span': [1]}]", "hit 1 is {'id': 'b', 'span': [1]}"),
    ("return [{'id': 'b', 'stages': {'rerank': math.nan}}]", "stage 'rerank': score nan is not finite"),
    ("return [{'id': 'b', 'channels': {'dense': [1, math.nan]}}]", "channel 'dense': score nan is not finite"),
    ("return [{'id': 'b', 'source_hash': b'x'}]", "source_hash b'x' is not text"),
    ("from karat import Hit\nreturn [Hit(7.5, 1.0)]", "id 7.5 is not text"),
    ("from karat import Hit\nreturn [Hit('b', 'high')]", "score 'high' is not a number"),
    ("from karat import Hit, Span\nreturn [Hit('b', 1.0, span=Span(0, 1.5))]", "cannot be interpreted as an integer"),
    ("from karat.systems import Retrieved\nreturn Retrieved([], {'x': math.nan})", "as its timings, not milliseconds"),
    ("from karat.core import SystemFailed\nraise SystemFailed('')", "SystemFailed"),
    ("def late():\n    yield 'b'\n    raise OSError('cursor lost')\nreturn late()", "OSError: cursor lost"),
]


@pytest.mark.parametrize(("body", "error"), WRONG, ids=[body.splitlines()[-1] for body, _ in WRONG])
def test_what_is_no_answer_is_a_failure(call: Call, module: Module, kept: Kept, body: str, error: str) -> None:
    """Whatever it raises or returns, it is told by query, counts as 0 and stops nothing."""
    out, _ = call("--system", f"{module(failing(body))}:find", "--json", "--per-query")
    entry = json.loads(out)["runs"][0]
    ((query, message),) = [(failed["query"], failed["error"]) for failed in entry["failed"]]
    assert query == "qb"
    assert error.encode().decode("unicode_escape") in message
    assert [entry["queries"][f"q{name}"]["RR@10"] for name in NAMES] == [1.0, 0.0, 1.0, 1.0, 1.0, 1.0]
    (file,) = kept()
    assert [trace.error for trace in read_run_file(file).traces] == ["", message, "", "", "", ""]


NUMPY = "from numpy import float32, int64\nfrom karat import Hit, Span\n"
RIGHT = [
    ("duplicates", "return ['b', 'b', 'b']", (1.0, 1.0, 0.2)),
    ("chunks of one document", "return ['a:chunk:0', 'b:chunk:0', 'b:chunk:1', 'b:chunk:2']", (0.5, 1.0, 0.2)),
    ("unknown ids", "return ['nowhere', 'b']", (0.5, 1.0, 0.2)),
    ("only unknown ids", "return ['nowhere']", (0.0, 0.0, 0.0)),
    ("nothing", "return []", (0.0, 0.0, 0.0)),
    ("too many", "return [*map(str, range(10)), 'b']", (0.0, 0.0, 0.0)),
    ("a generator without an end", "from itertools import chain, count\nreturn map(str, chain('ab', count()))",
     (0.5, 1.0, 0.2)),
    ("scores that rise", "return [('a', 0.1), ('b', 0.9)]", (0.5, 1.0, 0.2)),
    ("numbers of NumPy", NUMPY + "return [Hit('b', float32(0.5), span=Span(int64(0), int64(9)))]", (1.0, 1.0, 0.2)),
]  # fmt: skip


@pytest.mark.parametrize(("body", "values"), [case[1:] for case in RIGHT], ids=[case[0] for case in RIGHT])
def test_an_odd_answer_is_an_answer(call: Call, module: Module, kept: Kept, body: str, values: Any) -> None:
    """What can be scored is, and gains nothing by being odd: duplicates count once, and below k nothing counts."""
    out, _ = call("--system", f"{module(failing(body))}:find", "--json", "--per-query")
    entry = json.loads(out)["runs"][0]
    assert entry["failed"] == []
    assert entry["queries"]["qb"] == dict(zip(MEASURES, values, strict=True))
    assert entry["queries"]["qa"] == {"RR@10": 1.0, "R@5": 1.0, "P@5": 0.2}
    (file,) = kept()
    assert len(read_run_file(file).traces) == 6


def test_ids_that_are_all_unknown(call: Call, module: Module) -> None:
    """Exit code 2 with both kinds of ids: the names differ, and 0 would be a lie."""
    name = module("def find(query, k):\n    return ['doc-' + query[0]]\n")
    _, err = call("--system", f"{name}:find", code=2)
    assert "'a', 'b', 'c'" in err
    assert "'doc-a', 'doc-b', 'doc-c'" in err


# What hangs


@pytest.mark.slow
def test_a_function_that_hangs(folder: Path, module: Module) -> None:
    """It is given up after the timeout, the others are answered, and the process ends though the thread does not."""
    name = module(failing("time.sleep(100_000)"))
    ended = subprocess.run(
        [sys.executable, "-m", "karat", "eval", ".", "-m", "RR@10", "--system", f"{name}:find", "--timeout", "3"],
        cwd=folder, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert "RR@10    0.8333      6/6" in ended.stdout
    assert "  qb: no answer within 3 s" in ended.stdout


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--concurrency", "3")])
def test_a_coroutine_that_hangs(call: Call, module: Module, options: tuple[str, ...]) -> None:
    """It is cancelled, so that it gives back what it holds, and the next ones have their answers."""
    name = module(
        "given_back = []\n"
        + failing(
            "try:\n    await asyncio.sleep(600)\nfinally:\n    given_back.append(query)", "async def find(query, k):"
        )
    )
    out, _ = call("--system", f"{name}:find", "--json", "--timeout", "2", *options)
    entry = json.loads(out)["runs"][0]
    assert entry["failed"] == [{"query": "qb", "error": "no answer within 2 s"}]
    assert entry["measures"]["RR@10"]["mean"] == pytest.approx(5 / 6)
    deadline = time.monotonic() + 600
    while not import_module(name).given_back and time.monotonic() < deadline:
        time.sleep(0.01)
    assert import_module(name).given_back == ["b?"]


@pytest.mark.parametrize("error", ["sys.exit(3)", "raise KeyboardInterrupt", "raise asyncio.CancelledError"])
def test_a_coroutine_that_exits(call: Call, module: Module, error: str) -> None:
    """It ends itself, not the loop in which all the others run."""
    name = module(failing(error, "async def find(query, k):"))
    entry = json.loads(call("--system", f"{name}:find", "--json", "--timeout", "5")[0])["runs"][0]
    assert [failed["query"] for failed in entry["failed"]] == ["qb"]
    assert error.replace("raise ", "").replace("asyncio.", "").replace("sys.exit(3)", "SystemExit: 3") in str(entry)


def test_all_that_is_async_runs_in_one_loop(call: Call, module: Module) -> None:
    """Ingest, readiness, warm-up, questions and the end: a client made in one of them serves the others."""
    name = module("""
        seen = []
        class Client:
            async def note(self, what):
                await asyncio.sleep(0)
                seen.append((what, id(asyncio.get_running_loop())))
            async def ingest(self, documents):
                await self.note(len(documents))
            async def ready(self):
                await self.note("ready")
                return sum(what == "ready" for what, _ in seen) > 1
            async def document_ids(self):
                return "abcdef"
            async def retrieve(self, query, k):
                await self.note(query)
                return [query[0]]
            async def close(self):
                await self.note("close")
    """)
    call("--system", f"{name}:Client")
    seen = import_module(name).seen
    assert [what for what, _ in seen] == [6, "ready", "ready", "a?", "a?", "b?", "c?", "d?", "e?", "f?", "close"]
    assert len({loop for _, loop in seen}) == 1


def test_a_plain_function_may_give_something_to_await(call: Call, module: Module) -> None:
    """As one that is wrapped, or hands on to a client, does."""
    name = module("async def ask(query):\n    return [query[0]]\nfind = lambda query, k: ask(query)\n")
    assert "RR@10    1.0000" in call("--system", f"{name}:find")[0]


def test_a_late_answer_is_no_answer(letters: GoldenSet, clock: Clock) -> None:
    """Also when nobody looked at it while it was late, as happens where several are asked at once."""

    def find(query: str, k: int) -> Iterator[str]:
        clock.advance(600 if query == "a?" else 300 if query == "b?" else 0)
        yield query[0]

    run = make_run(letters, find, Settings(timeout=450, concurrency=2, warm_up=0))
    assert [trace.query for trace in run.traces if trace.error] == ["qa"]
    run = make_run(letters, find, Settings(timeout=150, concurrency=2, warm_up=0))
    assert [trace.query for trace in run.traces if trace.error] == ["qa", "qb"]
    assert make_run(letters, lambda query, k: [], Settings(timeout=float("inf"), sample=1)).traces[0].error == ""
