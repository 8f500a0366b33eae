"""Services and files behind the adapters that answer what they should not, and configurations that would leak."""

from __future__ import annotations

import json
import math
import sqlite3
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from karat.core import Document, GoldenSet, InputError, KaratError, Query, SystemFailed, UsageError
from karat.net import hide_options
from karat.runs import Settings, make_run
from karat.systems import Stages
from karat.systems.adapters import RunFolder, Surroundings, open_system

KEY, PASSWORD = "sk-7Hq2mZ0xW9vB", "pa55Word77"
GOLDEN = GoldenSet(
    documents=tuple(Document(id=f"d{i}", text=f"text {i}") for i in range(3)), queries=(Query(id="q", text="text?"),)
)


class Server(ThreadingHTTPServer):
    """Answers every search with the same, and keeps the addresses that it was asked at."""

    answer: Any = None

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.paths: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def reply(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.paths.append(self.path)
        searched = "_search" in self.path or "graphql" in self.path
        answer = self.server.answer if searched else {"errors": False, "classes": [{"class": "Docs"}]}
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = reply  # noqa: N815 (the names of the protocol)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    service = Server()
    threading.Thread(target=service.serve_forever, args=(0.01,), daemon=True).start()
    yield service
    service.shutdown()
    service.server_close()


@pytest.fixture
def around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Surroundings:
    monkeypatch.setenv("SEARCH_KEY", KEY)
    return Surroundings(folder=tmp_path, golden=GOLDEN, stages=Stages(chunk="whole"))


def hit(**changes: Any) -> dict[str, Any]:
    return {"hits": {"hits": [{"_id": "0", "_score": 1.0, "_source": {}, **changes}]}}


WRONG: dict[str, Any] = {
    **{f"a score of {value}": hit(_score=value) for value in (math.nan, math.inf, -math.inf, "high", True)},
    **{f"the id {value!r}": hit(_id=value) for value in ("-1", "3", " 1", "0_1", "\u0660", "9" * 5000, ["0"], None)},
    "a hit that is a text": {"hits": {"hits": ["0"]}},
    "hits that are a text": {"hits": {"hits": "0"}},
    "nothing": None,
    "an error": {"error": {"reason": f"no rights for {KEY}", "root_cause": []}},
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_no_hit_is_a_failure(server: Server, around: Surroundings, kind: str) -> None:
    """No answer but a chunk that karat added, with a number, becomes a hit; one message without the key says why."""
    server.answer = WRONG[kind]
    table = {"kind": "elasticsearch", "url": server.url, "ingest": True, "key_variable": "SEARCH_KEY"}
    with pytest.raises(SystemFailed) as error:
        make_run(GOLDEN, open_system(table, around), Settings(k=3))
    assert KEY not in str(error.value)
    assert "Error:" not in str(error.value)  # not the name of an exception of Python's, which says nothing to a user
    if kind == "an error":
        assert str(error.value).endswith("elasticsearch answered without hits: no rights for ***")


@pytest.mark.parametrize("about", [None, "x", {"id": "a", "score": [1]}, {"id": "a", "score": "nan"}, {"score": "1"}])
def test_what_is_no_hit_of_weaviate_is_a_failure(server: Server, around: Surroundings, about: Any) -> None:
    """It has an id, and a score that is a number."""
    server.answer = {"data": {"Get": {"Docs": [{"_additional": about}]}}}
    table = {"kind": "weaviate", "url": server.url, "collection": "Docs", "mode": "bm25"}
    with pytest.raises(KaratError, match=r"hit 1|which is not a number"):
        make_run(GOLDEN, open_system(table, around), Settings(k=3))


def test_a_key_in_the_address_is_sent_as_a_parameter(server: Server, around: Surroundings) -> None:
    """The path of an index stands before it; in the description and in the hits there is no key."""
    server.answer = hit(_id=f"doc of {KEY}")
    table = {"kind": "elasticsearch", "url": f"{server.url}/base/?api_key={KEY}", "collection": "docs"}
    run = make_run(GOLDEN, open_system(table, around), Settings(k=3))
    assert server.paths[-1] == f"/base/docs/_search?api_key={KEY}"
    assert [found.id for found in run.traces[0].hits] == ["doc of ***"]
    assert KEY not in str(run)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"kind": "elasticsearch", "url": "http://host", "collection": ".."}, "'..' is not the name of an index"),
        ({"kind": "pgvector", "url_variable": f"postgresql://me:{PASSWORD}@db/x"}, "the name of an environment var"),
        ({"kind": "pgvector", "url_variable": [f"postgresql://me:{PASSWORD}@db/x"]}, r"url_variable = \(list\) is of"),
        ({"kind": "mcp", "tool": "t", "variables": PASSWORD}, r"variables = \(str\) is of the wrong type"),
        ({"kind": "runs", "path": ".", "pattern": "../*"}, "pattern = '../.': it leads out of the folder"),
        ({"kind": "runs", "path": ".", "pattern": "/etc/*"}, "write one such as"),
        ({"kind": "runs", "path": ".", "pattern": ""}, "write one such as"),
    ],
)
def test_a_table_is_refused_in_one_message_without_a_password(
    around: Surroundings, table: dict[str, Any], message: str
) -> None:
    """A secret in the place of a name is not repeated; names and patterns lead nowhere else."""
    with pytest.raises(UsageError, match=message) as error:
        open_system({**table, **({"collection": "docs"} if table["kind"] == "pgvector" else {})}, around)
    assert PASSWORD not in str(error.value)


def test_a_file_that_is_no_database_is_a_mistake(around: Surroundings) -> None:
    """Exit code 2, before anything is asked."""
    (around.folder / "notes.txt").write_text("not a database " * 99)
    with pytest.raises(InputError, match=r"notes.txt: cannot be read: file is not a database; correct path"):
        open_system({"kind": "sqlite", "path": "notes.txt", "collection": "docs"}, around)


def test_the_schema_of_a_database_is_not_trusted(around: Surroundings) -> None:
    """Its views call no function that does more than compute."""
    sqlite3.connect(around.folder / "docs.sqlite").executescript("CREATE VIRTUAL TABLE docs USING fts5(body)")
    system: Any = open_system({"kind": "sqlite", "path": "docs.sqlite", "collection": "docs"}, around)
    assert system._database.execute("PRAGMA trusted_schema").fetchone() == (0,)
    system.close()


def test_the_options_of_a_program_are_recorded_without_keys() -> None:
    """By the names of options and variables; whatever else tells two programs apart stays."""
    command = ["env", f"API_TOKEN={KEY}", "server", "--port", "8000", "--password", PASSWORD, f"--api-key={KEY}", "-v"]
    expected = ["env", "API_TOKEN=***", "server", "--port", "8000", "--password", "***", "--api-key=***", "-v"]
    assert hide_options(command) == expected


def test_queries_with_one_text_are_looked_up_once(tmp_path: Path) -> None:
    """However many there are: all rankings of a text are compared once, and not for every query again."""
    comparisons = 0

    class Ranking(list[Any]):
        def __ne__(self, other: object) -> bool:
            nonlocal comparisons
            comparisons += 1
            return list.__ne__(self, other)

    golden = GoldenSet(queries=tuple(Query(id=f"q{i}", text="When?") for i in range(40)))
    (tmp_path / "run.trec").write_text("".join(f"q{i} Q0 pool 1 1.0 mine\n" for i in range(40)))
    runs = RunFolder(tmp_path, golden)
    runs._rankings = {name: Ranking(ranking) for name, ranking in runs._rankings.items()}
    for _ in golden.queries:
        assert runs.retrieve("When?", 5) == [("pool", 1.0)]
    assert comparisons <= 40
