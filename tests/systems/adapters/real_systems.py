"""Runs karat's adapters with the real packages; test_adapters_real reads what it prints.

It needs an environment that has them: ``python real_systems.py FOLDER PAGES`` prints JSON. FOLDER is empty, and PAGES
is docs/systems, whose tables are tried as they stand. All is done in one process, since the packages take seconds to
import.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import time
import tomllib
import traceback
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import measuring  # before karat: what is imported after it is measured, if the environment asks for it
from karat import golden as sets
from karat.core import GoldenSet, KaratError
from karat.projects import open_project
from karat.runs import Settings, make_run
from karat.systems import Pipeline, Stages
from karat.systems.adapters import (
    Chroma,
    Haystack,
    LanceDb,
    LangChain,
    McpSettings,
    McpTool,
    Milvus,
    PgVector,
    Qdrant,
    Surroundings,
    list_systems,
    open_system,
)
from karat.systems.embed import make_embedder
from postgres import choose_folder, open_server

HOTEL = Path(__file__).resolve().parents[3] / "examples" / "hotel"
MEASURES = ["nDCG@10", "R@5", "RR@10"]
OPEN: list[Any] = []
SERVERS: list[Any] = []
CHECKS: dict[str, Callable[[Path], Any]] = {}


def check(function: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """Add a function to the checks, whose results are printed under its name."""
    CHECKS[function.__name__] = function
    return function


class Hashed:
    """An embedder that costs nothing: the sum of a pseudo-random vector for each word."""

    name, size = "hashed", 64

    def __call__(self, texts: list[str]) -> Any:
        rows = np.zeros((len(texts), self.size))
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                digest = hashlib.sha512(word.encode()).digest()
                row += np.frombuffer(digest, np.uint8).astype(float) - 127.5
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return (rows / np.where(lengths == 0, 1, lengths)).astype(np.float32)

    def describe(self) -> dict[str, Any]:
        return {"kind": self.name}


def cut(golden: GoldenSet, queries: int) -> GoldenSet:
    """Return the first queries of a set, with the documents that were judged for them."""
    kept = golden.queries[:queries]
    names = {query.id for query in kept}
    judgments = tuple(judgment for judgment in golden.judgments if judgment.query in names)
    documents = {judgment.target.document for judgment in judgments}
    return replace(
        golden,
        queries=kept,
        judgments=judgments,
        documents=tuple(document for document in golden.documents if document.id in documents),
    )


GOLDEN = sets.read(HOTEL)
SMALL = cut(GOLDEN, 4)
# A real model embeds them, which takes a third of a second for a whole document.
SMALL = replace(SMALL, documents=tuple(replace(document, text=document.text[:400]) for document in SMALL.documents))


def answers(system: Any, golden: GoldenSet, k: int = 10) -> dict[str, list[Any]]:
    """Return the documents and scores of each query; an error raises."""
    traces = make_run(golden, system, Settings(k=k)).traces
    assert not any(trace.error for trace in traces), traces[0].error
    return {trace.query: [[hit.document, hit.score] for hit in trace.hits] for trace in traces}


def mistake(call: Callable[[], object]) -> list[Any]:
    """Return what karat says when something goes wrong, with its exit code."""
    try:
        call()
    except KaratError as error:
        return [type(error).__name__, error.exit_code, str(error)]
    return ["nothing", 0, ""]


# --- the same vectors through several stores


def postgres() -> str:
    """Start PostgreSQL once, and return its connection string."""
    if "DATABASE_URL" not in os.environ:
        SERVERS.append(open_server(choose_folder()))
        os.environ["DATABASE_URL"] = SERVERS[0].get_uri()
    return os.environ["DATABASE_URL"]


@check
def same_vectors(folder: Path) -> dict[str, Any]:
    """Ingest the hotel into each store, with the same vectors."""
    import chromadb
    import lancedb
    import psycopg
    import pymilvus
    import qdrant_client

    shared: Any = {"ingest": True, "embedder": Hashed(), "stages": Stages()}
    connection = psycopg.connect(postgres(), autocommit=True)
    stores = {
        "qdrant": Qdrant(qdrant_client.QdrantClient(":memory:"), **shared),
        "chroma": Chroma(chromadb.EphemeralClient(), search_width=1000, **shared),
        "lancedb": LanceDb(lancedb.connect(folder / "same-lance"), **shared),
        "milvus": Milvus(pymilvus.MilvusClient(str(folder / "same-milvus.db")), **shared),
        "pgvector": PgVector(connection, **shared),
    }
    golden = cut(GOLDEN, 20)
    results = {"pipeline": answers(_Dense(), golden)}
    for name, store in stores.items():
        results[name] = answers(store, golden)
    left = {"qdrant": [c.name for c in stores["qdrant"]._client.get_collections().collections]}
    left["pgvector"] = [
        row[0] for row in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname='public'")
    ]
    return {"answers": results, "left": left}


class _Dense(Pipeline):
    """The built-in pipeline's dense channel alone, with the embedder that costs nothing."""

    def __init__(self) -> None:
        import karat.systems._pipeline as module

        module.make_embedder = lambda _: Hashed()  # the only place that makes it
        super().__init__(Stages(lexical=False, dense=True))


# --- the tables of the page


def read_pages(folder: str) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the tables of the pages, and the Python files that they show."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in sorted(Path(folder).glob("*.md")))
    tables = [tomllib.loads(block) for block in re.findall(r"^```toml\n(.*?)^```$", text, re.M | re.S)]
    files = re.findall(r"^```text\n# (\w+\.py)\n(.*?)^```$", text, re.M | re.S)
    return tables, dict(files)


def write_project(folder: Path, table: dict[str, Any]) -> Path:
    """Write a project with the small set and the table of the page."""
    project = folder / f"page-{table['system']['kind']}"
    project.mkdir(exist_ok=True)
    if not (project / "set").exists():
        sets.write(SMALL, project / "set")
    lines = [f"{key} = {_toml(value)}" for key, value in table["system"].items()]
    (project / "karat.toml").write_text("\n".join(["[golden]", 'path = "set"', "[system]", *lines, ""]))
    return project


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(inner)}" for key, inner in value.items()) + " }"
    return json.dumps(value)


def vectors() -> Any:
    """Return the built-in embedder's vectors of the small set's documents, by the user's cache."""
    from karat.systems.embed import find_cache, with_cache

    path = find_cache()
    assert path is not None
    return with_cache(make_embedder("granite"), path)([document.text for document in SMALL.documents])


def fill_qdrant(project: Path) -> None:
    from qdrant_client import QdrantClient, models

    client, rows = QdrantClient(path=str(project / "qdrant")), vectors()
    size = models.VectorParams(size=rows.shape[1], distance=models.Distance.COSINE)
    client.create_collection("docs", vectors_config=size)
    points = [
        models.PointStruct(id=n, vector=row.tolist(), payload={"source": document.id})
        for n, (document, row) in enumerate(zip(SMALL.documents, rows, strict=True))
    ]
    client.upsert("docs", points)
    client.close()


def fill_chroma(project: Path) -> None:
    import chromadb

    quiet = chromadb.config.Settings(anonymized_telemetry=False)  # one process has one client of a folder
    client = chromadb.PersistentClient(str(project / "chroma"), settings=quiet)
    collection = client.create_collection("docs", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None)
    sources = [{"source": document.id} for document in SMALL.documents]
    collection.add(ids=[f"p{n}" for n in range(len(sources))], embeddings=vectors(), metadatas=sources)


def fill_lancedb(project: Path) -> None:
    import lancedb

    (project / "lance").mkdir()
    rows = zip(SMALL.documents, vectors().tolist(), strict=True)
    data = [{"source": document.id, "vector": vector} for document, vector in rows]
    lancedb.connect(project / "lance").create_table("docs", data=data)


def fill_milvus(project: Path) -> None:
    import pymilvus

    client, rows = pymilvus.MilvusClient(str(project / "milvus.db")), vectors()
    client.create_collection("docs", dimension=rows.shape[1], metric_type="COSINE")
    records = zip(SMALL.documents, rows.tolist(), strict=True)
    client.insert("docs", [{"id": n, "vector": v, "source": d.id} for n, (d, v) in enumerate(records)])
    OPEN.append(client)  # its server serves the next client of the file, too


def fill_pgvector(project: Path) -> None:
    import psycopg

    rows = vectors()
    with psycopg.connect(postgres(), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(f"CREATE TABLE docs (source text, embedding vector({rows.shape[1]}))")
        for document, row in zip(SMALL.documents, rows.tolist(), strict=True):
            connection.execute("INSERT INTO docs VALUES (%s, %s)", (document.id, json.dumps(row)))


def fill_tantivy(project: Path) -> None:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("source", stored=True, tokenizer_name="raw")
    builder.add_text_field("body", tokenizer_name="en_stem")
    (project / "tantivy").mkdir()
    index = tantivy.Index(builder.build(), path=str(project / "tantivy"))
    writer = index.writer(50_000_000, 1)
    for document in SMALL.documents:
        writer.add_document(tantivy.Document(source=document.id, body=document.text))
    writer.commit()
    writer.wait_merging_threads()


def fill_langchain(project: Path) -> None:
    (project / "chain.py").write_text(FILES["chain.py"])


def fill_llama_index(project: Path) -> None:
    (project / "llama.py").write_text(with_documents("llama.py"))


def fill_haystack(project: Path) -> None:
    (project / "stack.py").write_text(with_documents("stack.py"))


def with_documents(name: str) -> str:
    """Return a file that the page shows, with the documents of the small set in place of its own."""
    documents = {document.id: document.text for document in SMALL.documents}
    own = '{"pool": "The pool opens at six."}'
    assert own in FILES[name]
    return FILES[name].replace(own, repr(documents))


def fill_mcp(project: Path) -> None:
    (project / "server.py").write_text(FILES["server.py"])


@check
def page(folder: Path) -> dict[str, Any]:
    """Use each table of the page on a collection that its own package has made."""
    results: dict[str, Any] = {}
    for table in TABLES:
        kind = table["system"]["kind"]
        fill = globals().get(f"fill_{kind.replace('-', '_')}")
        if fill is None or "url" in table["system"]:
            continue
        project = write_project(folder, table)
        sys.path.insert(0, str(project))
        fill(project)
        if kind == "mcp":  # the Python that has the package
            file = project / "karat.toml"
            file.write_text(file.read_text().replace('"python"', json.dumps(sys.executable)))
        opened = open_project(project)
        results[kind] = answers(opened.system(cache=True), opened.golden)
    return results


@check
def expected(folder: Path) -> dict[str, list[str]]:
    """Rank the documents of the small set by NumPy alone."""
    questions = make_embedder("granite")([query.text for query in SMALL.queries])
    order = np.argsort(-(questions @ vectors().T), axis=1, kind="stable")
    names = [document.id for document in SMALL.documents]
    return {query.id: [names[n] for n in row[:10]] for query, row in zip(SMALL.queries, order, strict=True)}


# --- what else the adapters promise


def around(folder: Path) -> Surroundings:
    return Surroundings(folder=folder, golden=SMALL, stages=Stages())


@check
def mistakes(folder: Path) -> dict[str, Any]:
    """Names that do not exist, on the collections that the page's tables use."""
    tables = {table["system"]["kind"]: table["system"] for table in reversed(TABLES)}
    results = {}
    for kind in ("qdrant", "chroma", "lancedb", "pgvector"):
        place = around(folder / f"page-{kind}")
        for key, value in (("collection", "dox"), ("document", "sauce")):
            if (kind, key) == ("pgvector", "document"):
                continue  # a column that is not there fails in the store itself
            system = open_system({**tables[kind], key: value}, place)
            results[f"{kind} {key}"] = mistake(lambda system=system: make_run(SMALL, system))
    for kind in ("qdrant", "chroma", "lancedb"):
        nowhere = {**tables[kind], "path": "nowhere"}
        results[f"{kind} path"] = mistake(lambda nowhere=nowhere: open_system(nowhere, around(folder)))
        assert not (folder / "nowhere").exists()
    words = open_system({**tables["tantivy"], "search_in": ["bodi"]}, around(folder / "page-tantivy"))
    results["tantivy search_in"] = mistake(lambda: make_run(SMALL, words))
    table = {**tables["mcp"], "command": [sys.executable, "server.py"], "tool": "serch"}
    results["mcp tool"] = mistake(lambda: make_run(SMALL, open_system(table, around(folder / "page-mcp"))))
    return results


@check
def unreachable(folder: Path) -> dict[str, Any]:
    """Servers that are not there, with a key in the environment."""
    os.environ["STORE_KEY"] = "sk-7Hq2mZ0xW9"
    os.environ["NO_DATABASE"] = "postgresql://me:sk-7Hq2mZ0xW9@127.0.0.1:9/karat"
    server = {"url": "http://127.0.0.1:9", "key_variable": "STORE_KEY", "collection": "docs"}
    tables: dict[str, dict[str, Any]] = {
        "qdrant": server,
        "chroma": server,
        "pgvector": {"url_variable": "NO_DATABASE", "collection": "docs", "document": "source"},
    }
    return {
        kind: mistake(lambda kind=kind: make_run(SMALL, open_system({"kind": kind, **tables[kind]}, around(folder))))
        for kind in tables
    }


@check
def mcp_shapes(folder: Path) -> dict[str, Any]:
    """Answers as a list, as texts of JSON, and as an error, by a server in this process."""
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    server = MCPServer("shapes")

    @server.tool()
    def listed(query: str, k: int) -> list[dict[str, Any]]:
        return [{"id": "pool", "score": 2.0}, {"id": "wifi", "score": 1.0}][:k]

    @server.tool(structured_output=False)
    def texts(query: str, k: int) -> list[str]:
        return ['{"id": "pool"}', '{"id": "wifi"}']

    @server.tool(structured_output=False)
    def prose(query: str, k: int) -> str:
        return "The pool opens at six."

    @server.tool()
    def broken(query: str, k: int) -> list[str]:
        raise ToolError("no such shard")

    results: dict[str, Any] = {}
    for tool in ("listed", "texts", "prose", "broken"):
        system = McpTool(server, McpSettings(tool=tool))
        try:
            results[tool] = answers(system, SMALL, k=2)[SMALL.queries[0].id]
        except (KaratError, AssertionError) as error:
            results[tool] = str(error)
    return results


NOISE = """
import json, os, sys
key = os.environ["STORE_KEY"]
print("::stop-commands::x", key, flush=True)
print("::stop-commands::y", key, file=sys.stderr, flush=True)
answers = {
    "initialize": {
        "protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}
    },
    "tools/list": {"tools": [{"name": "search", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": json.dumps([{"id": f"pool {key}"}])}]},
}
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = answers.get(request["method"])
        reply = {"result": result} if result else {"error": {"code": -32601, "message": "unknown"}}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)
"""


@check
def mcp_hostile(folder: Path) -> dict[str, Any]:
    """Servers that print what is not of the protocol, never answer, or end at once; what is logged is printed, too."""
    import contextlib
    import io

    from karat.systems.adapters import _mcp

    os.environ["STORE_KEY"] = "sk-7Hq2mZ0xW9"
    (folder / "noise.py").write_text(NOISE)
    (folder / "noise").write_text(f"#!/bin/sh\nexec {sys.executable} noise.py\n")
    (folder / "noise").chmod(0o755)
    table = {"kind": "mcp", "tool": "search", "variables": ["STORE_KEY"]}
    results: dict[str, Any] = {}
    with contextlib.redirect_stderr(io.StringIO()) as logged:
        run = make_run(SMALL, open_system({**table, "command": ["./noise"]}, around(folder)))
        results["ids"] = sorted({hit.id for trace in run.traces for hit in trace.hits})
        results["ended"] = mistake(lambda: make_run(SMALL, open_system({**table, "command": ["true"]}, around(folder))))
        _mcp._LONGEST_START = 0.5
        silent = {**table, "command": ["sleep", "600"]}
        results["silent"] = mistake(lambda: make_run(SMALL, open_system(silent, around(folder))))
        _mcp._LONGEST_START = 60.0
    return {**results, "logged": logged.getvalue()}


@check
def own_ways(_: Path) -> dict[str, Any]:
    """A vector store of LangChain is asked for k, Haystack gets karat's vectors, and Chroma makes its own."""
    import chromadb
    from haystack import Document
    from haystack.components.retrievers import InMemoryEmbeddingRetriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore
    from langchain_core.documents import Document as Text
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore

    class OfLangChain(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return Hashed()(texts).tolist()

        def embed_query(self, text: str) -> list[float]:
            return Hashed()([text])[0].tolist()

    class OfChroma(chromadb.EmbeddingFunction):
        def __init__(self) -> None: ...

        def __call__(self, input: list[str]) -> Any:
            return list(Hashed()(input))

    names, texts = [d.id for d in SMALL.documents], [d.text for d in SMALL.documents]
    vectors = Hashed()(texts)
    texts_of_langchain = InMemoryVectorStore(OfLangChain())
    texts_of_langchain.add_documents([Text(text, id=name) for name, text in zip(names, texts, strict=True)])
    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    rows = zip(names, texts, vectors.tolist(), strict=True)
    store.write_documents([Document(content=t, meta={"source": n}, embedding=v) for n, t, v in rows])
    client = chromadb.EphemeralClient()
    cosine = {"hnsw": {"space": "cosine"}}
    collection = client.create_collection("own", embedding_function=OfChroma(), configuration=cosine)
    collection.add(ids=names, documents=texts)
    systems = {
        "langchain": LangChain(texts_of_langchain.as_retriever()),
        "haystack": Haystack(InMemoryEmbeddingRetriever(store), embedder=Hashed(), document="source"),
        "chroma": Chroma(client, collection="own", own_embedder=OfChroma()),
    }
    order = np.argsort(-(Hashed()([query.text for query in SMALL.queries]) @ vectors.T), axis=1, kind="stable")
    expected = {q.id: [names[n] for n in row[:6]] for q, row in zip(SMALL.queries, order, strict=True)}
    return {"expected": expected, **{name: answers(system, SMALL, k=6) for name, system in systems.items()}}


@check
def new_words(folder: Path) -> dict[str, Any]:
    """Let karat fill an index of tantivy with whole documents, as the page's index has them."""
    whole = Surroundings(folder=folder, golden=SMALL, stages=Stages(chunk="whole"))
    return answers(open_system({"kind": "tantivy", "ingest": True}, whole), SMALL)


@check
def listing(_: Path) -> dict[str, Any]:
    """Every kind has what it needs here."""
    return {system.kind: [system.installed, system.install, dict(system.versions)] for system in list_systems().systems}


def main(folder: Path) -> dict[str, Any]:
    """Run every check; one that raises has its traceback for a result."""
    results: dict[str, Any] = {}
    for name, function in CHECKS.items():
        start = time.process_time()
        try:
            results[name] = function(folder)
        except BaseException:
            results[name] = {"failed": traceback.format_exc()}
        print(f"{name}: {time.process_time() - start:.1f} CPU s", file=sys.stderr)
    return results


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    TABLES, FILES = read_pages(sys.argv[2])
    said = json.dumps(main(Path(sys.argv[1])))
    print(f"\n{said}", flush=True)
    for server in SERVERS:
        server.cleanup()
    measuring.save()
    os._exit(0)  # some of the packages have threads that do not end
