"""Elasticsearch, OpenSearch and Weaviate, against a small server that answers as their documentation says.

None of them can be run here. The server keeps what it is sent, and searches it exactly, so that a request which the
documentation does not describe is an error.
"""

from __future__ import annotations

import json
import re
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from karat.core import Document, GoldenSet, Query, SystemFailed, UsageError
from karat.net import NotAService
from karat.runs import Settings, make_run
from karat.systems import Stages
from karat.systems.adapters import Surroundings, open_system

DOCUMENTS = (
    Document(id="pool", text="The pool opens at six."),
    Document(id="wifi", text="The network is free for all guests."),
    Document(id="sauna", text="The sauna is beside the pool."),
)
GOLDEN = GoldenSet(documents=DOCUMENTS, queries=(Query(id="q", text='When is the "pool" open?\n'),))
KEY = "sk-7Hq2mZ0xW9"
GRAPHQL = re.compile(
    r"\{Get\{(?P<name>[A-Z]\w*)\(limit:(?P<limit>\d+),"
    r"(?:nearVector:\{vector:(?P<vector>\[[^]]*\])\}|bm25:\{query:(?P<words>\".*?\")\}"
    r"|nearText:\{concepts:\[(?P<concept>\".*?\")\]\})"
    r"\)\{(?P<fields>[\w ]*) _additional\{id (?P<wanted>distance|score)\}\}\}\}"
)


class Letters:
    """An embedder that counts letters."""

    name, size = "letters", 26

    def __call__(self, texts: list[str]) -> Any:
        rows = np.array([[text.lower().count(chr(97 + n)) for n in range(26)] for text in texts], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def describe(self) -> dict[str, Any]:
        return {"kind": "letters"}


def count_words(query: str, text: str) -> float:
    return float(len({*re.findall(r"\w+", query.lower())} & {*re.findall(r"\w+", text.lower())}))


class Refused(Exception):
    """A request that is answered with an error."""


class Service(ThreadingHTTPServer):
    """What a server holds: rows by collection, and whatever it was asked."""

    def __init__(self, engine: type[Engine]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.engine = engine()
        self.keys: list[str | None] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Service

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        self.server.keys.append(self.headers.get("Authorization"))
        parts = urlsplit(self.path)
        try:
            status, answer = 200, self.server.engine.answer(self.command, parts.path, parts.query, body)
        except Refused as error:
            status, answer = error.args
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 (the names of the protocol)

    def log_message(self, format: str, *args: object) -> None:
        pass


class Engine:
    """Rows by collection."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, dict[str, Any]]] = {}
        self.mappings: dict[str, Any] = {}

    def answer(self, method: str, path: str, query: str, body: str) -> Any:
        raise NotImplementedError


class Elastic(Engine):
    """The index, bulk and search APIs; with ``open`` the vector search of OpenSearch."""

    open = False

    def answer(self, method: str, path: str, query: str, body: str) -> Any:
        _, index, *rest = path.split("/")
        if method == "PUT" and not rest:
            self.rows[index], self.mappings[index] = {}, json.loads(body)
            return {"acknowledged": True, "index": index}
        if index not in self.rows:
            reason = {"type": "index_not_found_exception", "reason": f"no such index [{index}]"}
            raise Refused(404, {"error": {"root_cause": [reason], **reason}, "status": 404})
        if method == "DELETE" and not rest:
            return {"acknowledged": self.rows.pop(index) is not None}
        return getattr(self, f"{method}{rest[0]}")(index, query, body)

    def GET_mapping(self, index: str, query: str, body: str) -> Any:  # noqa: N802
        return {index: {"mappings": {}}}

    def POST_bulk(self, index: str, query: str, body: str) -> Any:  # noqa: N802
        assert query == "refresh=true"
        assert body.endswith("\n")
        lines = [json.loads(line) for line in body.splitlines()]
        for action, row in zip(lines[::2], lines[1::2], strict=True):
            self.rows[index][action["index"]["_id"]] = row
        return {"took": 1, "errors": False, "items": [{"index": {"status": 201}} for _ in lines[::2]]}

    def POST_search(self, index: str, query: str, body: str) -> Any:  # noqa: N802
        request = json.loads(body)
        hits = [
            {"_index": index, "_id": name, "_score": value, **self._source(row, request["_source"])}
            for name, row in self.rows[index].items()
            if (value := self._score(request, row)) > 0
        ]
        hits.sort(key=lambda hit: -hit["_score"])
        return {"took": 1, "timed_out": False, "hits": {"total": {"value": len(hits)}, "hits": hits[: request["size"]]}}

    def _source(self, row: dict[str, Any], wanted: Any) -> dict[str, Any]:
        return {"_source": {name: row[name] for name in wanted if name in row}} if wanted is not False else {}

    def _score(self, request: dict[str, Any], row: dict[str, Any]) -> float:
        if self.open and "knn" in request.get("query", {}):
            ((field, near),) = request["query"]["knn"].items()
            assert near.keys() == {"vector", "k"}
            return 1 + float(np.dot(row[field], near["vector"]))
        if not self.open and "knn" in request:
            near = request["knn"]
            assert near.keys() == {"field", "query_vector", "k", "num_candidates"}
            assert request["size"] <= near["k"] <= near["num_candidates"]
            return (1 + float(np.dot(row[near["field"]], near["query_vector"]))) / 2
        match = request["query"]["multi_match"]
        fields = [field.partition("^")[0] for field in match.get("fields", ["body"])]
        return sum(count_words(match["query"], row.get(field, "")) for field in fields)


class Open(Elastic):
    """OpenSearch."""

    open = True


class Weaves(Engine):
    """Schema and objects by REST, search by GraphQL."""

    def answer(self, method: str, path: str, query: str, body: str) -> Any:
        if (method, path) == ("GET", "/v1/schema"):
            return {"classes": [{"class": name} for name in self.rows]}
        if (method, path) == ("POST", "/v1/schema"):
            schema = json.loads(body)
            assert schema["class"][0].isupper()
            self.rows[schema["class"]], self.mappings[schema["class"]] = {}, schema
            return schema
        if method == "DELETE" and path.startswith("/v1/schema/"):
            return self.rows.pop(path.rpartition("/")[2])
        if (method, path) == ("POST", "/v1/batch/objects"):
            objects = json.loads(body)["objects"]
            for item in objects:
                self.rows[item["class"]][item["id"]] = {**item["properties"], "_vector": item.get("vector")}
            return [{**item, "result": {"status": "SUCCESS"}} for item in objects]
        assert (method, path) == ("POST", "/v1/graphql")
        return self.search(json.loads(body)["query"])

    def search(self, text: str) -> Any:
        match = GRAPHQL.fullmatch(text)
        if match is None or match["name"] not in self.rows:
            return {"data": None, "errors": [{"message": f"Cannot query {text[:40]}"}]}
        found = []
        for name, row in self.rows[match["name"]].items():
            if match["vector"]:
                value = 1 - float(np.dot(row["_vector"], json.loads(match["vector"])))
            else:
                words = count_words(json.loads(match["words"] or match["concept"]), row["body"])
                value = words if match["words"] else 1 / (1 + words)
            fields = {field: row.get(field) for field in match["fields"].split()}
            shown = str(value) if match["wanted"] == "score" else value
            found.append({**fields, "_additional": {"id": name, match["wanted"]: shown}})
        best = -1 if match["wanted"] == "score" else 1
        found.sort(key=lambda hit: best * float(hit["_additional"][match["wanted"]]))
        return {"data": {"Get": {match["name"]: found[: int(match["limit"])]}}}


@pytest.fixture
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    """A server of the engine that the test names, on a port of its own."""
    server = Service(request.param)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Surroundings:
    """A project with an embedder that counts letters, and a key in the environment."""
    monkeypatch.setattr("karat.systems.adapters._settings.make_embedder", lambda _: Letters())
    monkeypatch.setenv("SEARCH_KEY", KEY)
    return Surroundings(folder=tmp_path, golden=GOLDEN, stages=Stages(chunk="whole"))


def documents_of(system: object) -> list[str]:
    (trace,) = make_run(GOLDEN, system, Settings(k=3)).traces
    assert trace.error == ""
    return [hit.document for hit in trace.hits]


ENGINES = [(Elastic, "elasticsearch"), (Open, "opensearch"), (Weaves, "weaviate")]
BY_LETTERS = [
    document.id
    for document in sorted(
        DOCUMENTS, key=lambda document: -float(Letters()([document.text])[0] @ Letters()([GOLDEN.queries[0].text])[0])
    )
]


@pytest.mark.parametrize(("service", "kind"), ENGINES, indirect=["service"])
def test_the_documents_are_ingested_and_searched_by_vectors(service: Service, kind: str, around: Surroundings) -> None:
    """In the order that NumPy gives; the collection is removed, and every request has the key."""
    table = {"kind": kind, "url": service.url, "ingest": True, "key_variable": "SEARCH_KEY"}
    system = open_system(table | ({} if kind == "weaviate" else {"vector": "near"}), around)
    assert documents_of(system) == BY_LETTERS
    assert service.engine.rows == {}
    assert set(service.keys) == {f"Bearer {KEY}"}
    (mapping,) = service.engine.mappings.values()
    shown = json.dumps(mapping)
    assert ("dense_vector" in shown, "knn_vector" in shown) == (kind == "elasticsearch", kind == "opensearch")
    assert KEY not in str(system.describe())


@pytest.mark.parametrize(("service", "kind"), ENGINES, indirect=["service"])
def test_the_documents_are_ingested_and_searched_by_words(service: Service, kind: str, around: Surroundings) -> None:
    """Without an embedder."""
    table = {"kind": kind, "url": service.url, "ingest": True}
    system = open_system(table | ({"mode": "bm25"} if kind == "weaviate" else {}), around)
    assert documents_of(system)[0] == "sauna"  # three of its words are in the question


@pytest.mark.parametrize(("service", "kind"), ENGINES, indirect=["service"])
def test_a_collection_is_searched_by_its_own_fields(service: Service, kind: str, around: Surroundings) -> None:
    """The store's id names a hit, and a field its document; only the fields that are needed are asked for."""
    name = "Docs" if kind == "weaviate" else "docs"
    rows = {"7": {"body": "pool open", "source": "pool"}, "8": {"body": "is", "source": "wifi"}}
    service.engine.rows[name] = {key: dict(row) for key, row in rows.items()}
    table = {"kind": kind, "url": service.url, "collection": name, "document": "source"}
    system = open_system(table | ({"mode": "near_text"} if kind == "weaviate" else {"search_in": ["body^2"]}), around)
    (trace,) = make_run(GOLDEN, system, Settings(k=3)).traces
    assert [(hit.id, hit.document) for hit in trace.hits] == [("7", "pool"), ("8", "wifi")]
    assert service.engine.rows[name] == rows


PAGES = sorted((Path(__file__).resolve().parents[3] / "docs" / "systems").glob("*.md"))
TABLES = [
    tomllib.loads(block)["system"]
    for page in PAGES
    for block in re.findall(r"^```toml\n(.*?)^```$", page.read_text(), re.M | re.S)
]
OF_KIND = {kind: engine for engine, kind in ENGINES}
SHOWN = [(OF_KIND[table["kind"]], table) for table in TABLES if table["kind"] in OF_KIND]


@pytest.mark.parametrize(("service", "table"), SHOWN, indirect=["service"], ids=[table["kind"] for _, table in SHOWN])
def test_the_tables_of_the_page_work(
    service: Service, table: dict[str, Any], around: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they stand on the page, but for the address; what they name is in the environment and in the store."""
    rows = [{"source": d.id, "body": d.text, "_vector": Letters()([d.text])[0].tolist()} for d in DOCUMENTS]
    if "collection" in table:
        service.engine.rows[table["collection"]] = {str(n): row for n, row in enumerate(rows)}
    for variable in (table.get("key_variable"), *table.get("headers", {}).values()):
        if variable:
            monkeypatch.setenv(variable, KEY)
    assert sorted(documents_of(open_system({**table, "url": service.url}, around))) == ["pool", "sauna", "wifi"]


def test_every_engine_has_a_table_on_the_page() -> None:
    """Otherwise the test above would try none."""
    assert {table["kind"] for _, table in SHOWN} == set(OF_KIND)


@pytest.mark.parametrize(("service", "kind"), ENGINES, indirect=["service"])
def test_a_collection_that_is_not_there_ends_the_run(service: Service, kind: str, around: Surroundings) -> None:
    """Before anything is asked, with what the service says."""
    name = "Docs" if kind == "weaviate" else "docs"
    table = {"kind": kind, "url": service.url, "collection": name}
    mode = {"mode": "bm25"} if kind == "weaviate" else {}
    with pytest.raises((UsageError, NotAService), match=r"no such index \[docs\]|weaviate has no collection 'Docs'"):
        make_run(GOLDEN, open_system(table | mode, around))


@pytest.mark.parametrize("service", [Elastic], indirect=True)
def test_chunks_that_are_refused_are_a_failure(
    service: Service, around: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bulk request is answered with 200 whatever happened to its rows; the key in a message is hidden."""
    refused = {"errors": True, "items": [{"index": {"status": 400, "error": {"message": f"no room for {KEY}"}}}]}
    monkeypatch.setattr(Elastic, "POST_bulk", lambda *_: refused)
    table = {"kind": "elasticsearch", "url": service.url, "ingest": True, "key_variable": "SEARCH_KEY"}
    with pytest.raises(SystemFailed, match=r"elasticsearch did not take all chunks: no room for \*\*\*"):
        make_run(GOLDEN, open_system(table, around))
    assert service.engine.rows == {}


@pytest.mark.parametrize("service", [Weaves], indirect=True)
def test_an_error_of_graphql_is_a_failure(service: Service, around: Surroundings) -> None:
    """It comes with 200, too."""
    service.engine.rows["Docs"] = {}
    system = open_system({"kind": "weaviate", "url": service.url, "collection": "Docs", "mode": "bm25"}, around)
    service.engine.rows["Other"] = service.engine.rows.pop("Docs")
    with pytest.raises(SystemFailed, match="weaviate answered without hits: Cannot query"):
        system.retrieve("pool", 3)
    system.close()


@pytest.mark.parametrize("service", [Elastic], indirect=True)
def test_an_answer_without_hits_is_a_failure(
    service: Service, around: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something else may be at the address."""
    monkeypatch.setattr(Elastic, "POST_search", lambda *_: {"ok": True})
    service.engine.rows["docs"] = {}
    system = open_system({"kind": "elasticsearch", "url": service.url, "collection": "docs"}, around)
    with pytest.raises(SystemFailed, match=r"elasticsearch answered without hits: is this the right url\?"):
        system.retrieve("pool", 3)
    system.close()
