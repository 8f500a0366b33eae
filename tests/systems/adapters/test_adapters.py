"""Kinds of systems: what [system] names, what all stores share, and the adapters that need no package."""

from __future__ import annotations

import json
import sqlite3
import sys
import types
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from jsonschema import validate

import karat
from each import each
from karat import golden as sets
from karat.cli._main import cli
from karat.core import Document, GoldenSet, InputError, Judgment, Query, SystemFailed, Target, UsageError
from karat.net import Secrets, format_pip_line
from karat.projects import open_project
from karat.runs import Settings, make_run
from karat.schema import json_schema
from karat.systems import Stages
from karat.systems.adapters import (
    ADAPTERS,
    Adapter,
    Match,
    RunFolder,
    SqliteFts,
    Store,
    Surroundings,
    list_systems,
    open_system,
    register,
)

ROOT = Path(__file__).resolve().parents[3]
EXTRAS = [adapter for adapter in ADAPTERS if adapter.extra]
NEEDED: dict[str, dict[str, Any]] = {
    **{kind: {"retriever": "nowhere:make"} for kind in ("langchain", "llama-index", "haystack")},
    "pgvector": {"ingest": True, "url_variable": "NOWHERE"},
    "mcp": {"tool": "search", "command": ["true"]},
}

DOCUMENTS = (
    Document(id="pool", text="The pool opens at six. The pool is heated."),
    Document(id="wifi", text="The network is free for all guests."),
    Document(id="sauna", text="The sauna is beside the pool, and opens at noon."),
)
GOLDEN = GoldenSet(
    documents=DOCUMENTS,
    queries=(Query(id="q1", text="When does the pool open?"), Query(id="q2", text="Is the network free?")),
    judgments=(
        Judgment(query="q1", target=Target(document="pool"), grade=3),
        Judgment(query="q2", target=Target(document="wifi"), grade=3),
    ),
)


def around(folder: Path, **stages: Any) -> Surroundings:
    return Surroundings(folder=folder, golden=GOLDEN, stages=Stages(**stages))


def documents_of(system: object, golden: GoldenSet = GOLDEN, k: int = 10) -> dict[str, list[str]]:
    traces = make_run(golden, system, Settings(k=k)).traces
    assert not [trace.error for trace in traces if trace.error]
    return {trace.query: [hit.document for hit in trace.hits] for trace in traces}


# --- the table of kinds


def test_every_kind_can_be_loaded_and_says_what_it_is() -> None:
    """Its settings are a dataclass with connect(), and its extra is one of pyproject.toml."""
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    kinds = {adapter.kind: adapter for adapter in ADAPTERS}
    assert len(kinds) == 16
    for kind, adapter in kinds.items():
        assert callable(adapter.load_settings().connect), kind
        assert not adapter.extra or all(
            any(line.startswith(package) for line in extras[adapter.extra]) for package in adapter.packages
        ), kind
        assert bool(adapter.extra) == bool(adapter.packages), kind


@each(
    ("table", "message"),
    [
        ({"kind": "qdrnt"}, "unknown kind of system 'qdrnt', did you mean 'qdrant'?"),
        ({"kind": 3}, r"\[system\] kind = 3 is of the wrong type"),
        ({"kind": "sqlite", "colection": "x"}, r"\[system\] has no key 'colection', did you mean 'collection'\?"),
        ({"kind": "sqlite", "ingest": "yes"}, r"\[system\] ingest = 'yes' is of the wrong type"),
        ({"kind": "runs"}, r"\[system\] needs path"),
        ({"kind": "sqlite"}, "sqlite needs either a collection to search, or ingest = true"),
        (
            {"kind": "sqlite", "collection": "x", "ingest": True},
            "needs either a collection to search, or ingest = true",
        ),
        ({"kind": "sqlite", "ingest": True, "path": "a.db"}, "ingest = true fills a database in memory; remove path"),
        ({"kind": "weaviate", "url": "http://h", "collection": "D", "mode": "x"}, "mode = 'x'; choose vector"),
        ({"kind": "weaviate", "url": "http://h", "collection": "a b", "mode": "bm25"}, "'a b' is not a name of Weav"),
    ],
)
def test_a_table_that_cannot_be_meant_is_refused(tmp_path: Path, table: dict[str, Any], message: str) -> None:
    """One message with the key, its value, and what would do."""
    (tmp_path / "a.db").touch()
    table = {"path": "a.db", **table} if table == {"kind": "sqlite"} or table.get("colection") == "x" else table
    with pytest.raises(UsageError, match=message):
        open_system(table, around(tmp_path))


@pytest.mark.parametrize("adapter", EXTRAS, ids=[adapter.kind for adapter in EXTRAS])
def test_a_missing_extra_is_exit_code_2_with_the_line_that_adds_it(
    adapter: Adapter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the kind that karat.toml names, and in the list."""
    monkeypatch.setenv("NOWHERE", "postgresql://")
    for package in ("qdrant_client", "chromadb", "lancedb", "pymilvus", "tantivy", "psycopg", "langchain_core",
                    "llama_index", "haystack", "mcp"):  # fmt: skip
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError) as error:
        open_system({"kind": adapter.kind, **NEEDED.get(adapter.kind, {"ingest": True})}, around(tmp_path))
    assert str(error.value).endswith(format_pip_line(adapter.extra))
    assert f"needs karat's extra {adapter.extra} (" in str(error.value)
    assert error.value.exit_code == 2


def test_the_list_says_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that is there has its version, and one that is not the line that installs it."""
    versions = {"qdrant-client": "1.20.0", "pymilvus": "3.0.2"}
    monkeypatch.setattr("karat.systems.adapters._kinds.find_version", lambda package: versions.get(package, ""))
    systems = {system.kind: system for system in list_systems().systems}
    assert (systems["qdrant"].installed, systems["qdrant"].install) == (True, "")
    assert systems["milvus"].versions == {"pymilvus": "3.0.2", "milvus-lite": None}
    assert (systems["milvus"].installed, systems["milvus"].install) == (False, format_pip_line("milvus"))
    assert (systems["sqlite"].installed, systems["sqlite"].install, systems["sqlite"].versions) == (True, "", {})
    printed = CliRunner().invoke(cli, ["systems", "list"]).output
    assert "\nqdrant         Qdrant                                        qdrant-client 1.20.0\n" in printed
    assert f"milvus       {format_pip_line('milvus')}\n" in printed


def test_the_list_as_json_fits_its_schema() -> None:
    """The published schema describes what is printed."""
    document = json.loads(CliRunner().invoke(cli, ["systems", "list", "--json"]).output)
    validate(document, json_schema("systems"))
    assert {system["kind"] for system in document["systems"]} == {adapter.kind for adapter in ADAPTERS}


@dataclass(frozen=True, kw_only=True)
class EchoSettings:
    """A kind of a package of somebody's own."""

    answer: str

    def connect(self, around: Surroundings) -> object:
        if self.answer == "broken":
            raise OSError("no such host")
        return lambda query, k: [self.answer]


def test_a_package_of_ones_own_adds_a_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry point names a module that registers it; what it raises is a failure of the system."""
    monkeypatch.setattr(ADAPTERS, "_values", dict(ADAPTERS._values))
    monkeypatch.setattr(ADAPTERS, "_folded", dict(ADAPTERS._folded))
    register(Adapter(kind="echo", summary="an echo", settings=EchoSettings))
    assert documents_of(open_system({"kind": "echo", "answer": "pool"}, around(tmp_path)))["q1"] == ["pool"]
    with pytest.raises(SystemFailed, match="the system echo cannot be opened: OSError: no such host"):
        open_system({"kind": "echo", "answer": "broken"}, around(tmp_path))


# --- what all stores share


class Memory(Store):
    """A store in a list, which searches exactly."""

    name = "memory"

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.rows: list[tuple[int, Any]] = []
        self.calls: list[str] = []
        self.matches: list[Match] = []

    def list_collections(self) -> Iterable[str]:
        return ["docs", "old"]

    def create(self, size: int) -> None:
        self.calls.append(f"create {size}")

    def add(self, numbers: range, texts: Sequence[str], vectors: Any) -> None:
        self.rows += zip(numbers, vectors, strict=True)

    def search(self, question: Any, k: int) -> Iterable[Match]:
        if self.matches:
            return self.matches[:k]
        ranked = sorted(self.rows, key=lambda row: -float(row[1] @ question))
        return [Match(str(number), float(vector @ question)) for number, vector in ranked[:k]]

    def drop(self) -> None:
        self.calls.append("drop")


class Letters:
    """An embedder that counts letters."""

    name, size = "letters", 26

    def __call__(self, texts: Sequence[str]) -> Any:
        rows = np.array([[text.lower().count(chr(97 + n)) for n in range(26)] for text in texts], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def describe(self) -> dict[str, Any]:
        return {"kind": "letters"}


def test_the_documents_of_the_set_are_ingested_as_in_the_pipeline() -> None:
    """Chunks of the chosen chunker, one hit for a document, with its span; the collection is dropped at the end."""
    small = Stages(chunk={"name": "fixed", "size": 6, "overlap": 0})
    store = Memory(ingest=True, embedder=Letters(), stages=small)
    run = make_run(GOLDEN, store, Settings(k=3))
    assert store.calls == ["create 26", "drop"]
    assert len(store.rows) == 6
    (hits, _) = (trace.hits for trace in run.traces)
    assert len({hit.document for hit in hits}) == len(hits) == 3
    assert all(hit.id.startswith(f"{hit.document}:chunk:") and hit.span is not None for hit in hits)
    assert set(run.traces[0].timings) == {"embed", "search", "total"}
    both = make_run(GOLDEN, Memory(ingest=True, embedder=Letters(), stages=Stages(chunk=small.chunk, per_document=0)))
    assert len(both.traces[0].hits) == 6


def test_two_stores_of_one_kind_have_collections_of_their_own() -> None:
    """Nothing that is there is overwritten."""
    first, second = (Memory(ingest=True, embedder=Letters()).collection for _ in range(2))
    assert first != second
    assert first.startswith("karat_")


def test_a_store_without_documents_cannot_be_filled() -> None:
    """The golden set has to hold them."""
    with pytest.raises(InputError, match="there is no document to index"):
        make_run(GoldenSet(queries=GOLDEN.queries), Memory(ingest=True, embedder=Letters()))


def test_ids_and_documents_come_from_the_fields_that_are_named() -> None:
    """Nested fields by dots; without a name the store's own id counts, as a chunk of its document."""
    matches = [Match("7", 0.9, {"about": {"source": "pool"}, "text": "It opens."}), Match("wifi:chunk:2", 0.5)]
    store = Memory(collection="docs", embedder=Letters(), document="about.source", content="text")
    store.matches = matches[:1]
    (hit,) = store.retrieve("a", 5)
    assert (hit.id, hit.document, hit.score, hit.content) == ("7", "pool", 0.9, "It opens.")
    plain = Memory(collection="docs", embedder=Letters())
    plain.matches = matches
    assert [hit.document for hit in plain.retrieve("a", 5)] == ["7", "wifi"]


def test_a_field_that_disappears_is_a_failure_of_the_store() -> None:
    """At first it is a mistake of the configuration; once it was there it is not."""
    store = Memory(collection="docs", embedder=Letters(), document="source")
    store.matches = [Match("7", 0.9, {"sauce": "pool"})]
    with pytest.raises(UsageError, match="hit 1 has nothing at document = 'source': it has the keys 'sauce'"):
        store.retrieve("a", 5)
    store.matches = [Match("7", 0.9, {"source": "pool"})]
    assert len(store.retrieve("a", 5)) == 1
    store.matches = [Match("7", 0.9, {})]
    with pytest.raises(SystemFailed, match="hit 1 has nothing at document"):
        store.retrieve("a", 5)


def test_a_secret_that_a_store_repeats_is_hidden() -> None:
    """In ids, texts and messages."""
    store = Memory(collection="docs", embedder=Letters(), content="text", secrets=Secrets(["sk-7Hq2mZ0xW9"]))
    store.matches = [Match("doc-sk-7Hq2mZ0xW9", 0.9, {"text": "the key is sk-7Hq2mZ0xW9"})]
    (hit,) = store.retrieve("a", 5)
    assert (hit.id, hit.content) == ("doc-***", "the key is ***")


def test_what_decides_the_answers_is_described() -> None:
    """Where it is, what is searched, and how; of a new collection the stages, and not its random name."""
    searched = Memory(collection="docs", embedder=Letters(), document="source", where="http://host").describe()
    assert searched == {
        "kind": "memory", "where": "http://host", "collection": "docs", "id": "", "document": "source", "content": "",
        "embedder": {"kind": "letters"}, "version": "",
    }  # fmt: skip
    filled = Memory(ingest=True, embedder=Letters()).describe()
    assert filled == Memory(ingest=True, embedder=Letters()).describe()
    assert (filled["collection"], filled["per_document"], filled["chunk"]["chunker"]) == ("", 1, "sentence")


def test_a_store_that_fails_while_it_is_filled_is_closed() -> None:
    """What it opened is closed, and the collection that was made is dropped."""
    closed: list[str] = []

    class Full(Memory):
        def add(self, numbers: range, texts: Sequence[str], vectors: Any) -> None:
            raise OSError("disk full")

    store = Full(ingest=True, embedder=Letters()).closing(lambda: closed.append("closed"))
    with pytest.raises(SystemFailed, match="memory failed to ingest the documents: OSError: disk full"):
        make_run(GOLDEN, store)
    assert (store.calls, closed) == (["create 26", "drop"], ["closed"])


# --- SQLite


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A file with a table of FTS5 that somebody has made."""
    connection = sqlite3.connect(tmp_path / "docs.sqlite")
    connection.execute('CREATE VIRTUAL TABLE "my docs" USING fts5(source, body, tokenize="porter unicode61")')
    rows = [(document.id, document.text) for document in DOCUMENTS]
    connection.executemany('INSERT INTO "my docs" VALUES (?, ?)', rows)
    connection.commit()
    connection.close()
    return tmp_path / "docs.sqlite"


def test_a_table_of_sqlite_is_searched(database: Path) -> None:
    """By the words of the question, whatever else is in it; the file is only read."""
    before = database.read_bytes()
    table = {"kind": "sqlite", "path": "docs.sqlite", "collection": "my docs", "document": "source"}
    system = open_system(table, around(database.parent))
    assert documents_of(system)["q1"][:2] == ["pool", "sauna"]
    system = open_system(table, around(database.parent))
    assert isinstance(system, SqliteFts)
    odd = ['pool" OR ', "NEAR(pool", "source:pool*", "?!", "AND", "", "naïve 'pool'; DROP TABLE x"]
    assert [len(system.retrieve(query, 5)) for query in odd] == [2, 2, 2, 0, 1, 0, 2]
    system.close()
    assert database.read_bytes() == before


def test_sqlite_is_filled_in_memory(tmp_path: Path) -> None:
    """The scores are those of the same table made by hand."""
    system = open_system({"kind": "sqlite", "ingest": True, "tokenize": "porter"}, around(tmp_path, chunk="whole"))
    hits = make_run(GOLDEN, system).traces[0].hits
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize=porter)")
    connection.executemany("INSERT INTO t VALUES (?)", [(document.text,) for document in DOCUMENTS])
    words = "When OR does OR the OR pool OR open"
    rows = connection.execute("SELECT -rank FROM t WHERE t MATCH ? ORDER BY rank", (words,)).fetchall()
    assert [hit.score for hit in hits] == pytest.approx([score for (score,) in rows])
    assert list(tmp_path.iterdir()) == []


def test_mistakes_with_sqlite(database: Path) -> None:
    """A file, a table or a tokenizer that does not exist."""
    folder = around(database.parent)
    table = {"kind": "sqlite", "path": "docs.sqlite", "document": "source"}
    with pytest.raises(InputError, match=r"gone.sqlite: no such database; correct path in \[system\]"):
        open_system({**table, "collection": "my docs", "path": "gone.sqlite"}, folder)
    with pytest.raises(UsageError, match=r"sqlite has no collection 'my dogs', did you mean 'my docs'\?"):
        make_run(GOLDEN, open_system({**table, "collection": "my dogs"}, folder))
    with pytest.raises(UsageError, match=r"SQLite cannot make the table: .*; correct tokenize"):
        make_run(GOLDEN, open_system({"kind": "sqlite", "ingest": True, "tokenize": "poter"}, folder))


# --- run files


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Two run files, one for each query."""
    (tmp_path / "q1.trec").write_text("q1 Q0 wifi 1 0.5 mine\nq1 Q0 pool 2 0.5 mine\nq1 Q0 sauna 3 0.7 mine\n")
    (tmp_path / "q2.json").write_text('{"q2": {"wifi:chunk:3": 2.0}}')
    (tmp_path / ".hidden").write_text("not a run")
    return tmp_path


def test_run_files_answer_the_questions(folder: Path) -> None:
    """In the order of karat score: by score, then by id, descending. They have no latency."""
    run = make_run(GOLDEN, RunFolder(folder, GOLDEN), Settings(k=2))
    assert [[hit.document for hit in trace.hits] for trace in run.traces] == [["sauna", "wifi"], ["wifi"]]
    assert [trace.timings for trace in run.traces] == [{}, {}]


def test_what_run_files_do_not_answer_fails(folder: Path) -> None:
    """Another query, and a paraphrase, of which they know nothing."""
    queries = (Query(id="q1", text="When?", paraphrases=("At what time?",)), Query(id="q3", text="Where?"))
    golden = GoldenSet(queries=queries)
    run = make_run(golden, RunFolder(folder, golden), Settings(paraphrases=True))
    assert [trace.error for trace in run.traces] == ["", "not in the run files", "not in the run files"]


def test_an_empty_run_file_names_no_query(folder: Path) -> None:
    """The message says what to do with it."""
    (folder / "q3.txt").write_text("\n")
    with pytest.raises(InputError, match=r"q3\.txt: the file is empty, .*; remove it"):
        RunFolder(folder, GOLDEN)


def test_queries_with_one_text_need_one_answer(folder: Path) -> None:
    """Which of the two was asked cannot be told."""
    golden = GoldenSet(queries=(Query(id="q1", text="When?"), Query(id="q2", text="When?")))
    with pytest.raises(SystemFailed, match="the queries 'q1' and 'q2' have the same text, and other answers"):
        RunFolder(folder, golden).retrieve("When?", 5)


def test_mistakes_with_run_files(folder: Path) -> None:
    """A query twice, no file at all, and files of another golden set."""
    (folder / "again.trec").write_text("q1 Q0 pool 1 1 mine\n")
    with pytest.raises(InputError, match=r"q1.trec: query 'q1' is in another file, too; leave one answer"):
        RunFolder(folder, GOLDEN)
    with pytest.raises(InputError, match=r"no run file matches '\*.csv'; correct \[system\] path"):
        RunFolder(folder, GOLDEN, pattern="*.csv")
    with pytest.raises(InputError, match="the run files answer no query of the golden set; they have 'q1'"):
        RunFolder(folder, GoldenSet(queries=(Query(id="x", text="?"),)), pattern="again.*")


def test_another_file_is_another_system(folder: Path) -> None:
    """The description has the hash of the answers, so that an interrupted run does not go on with others."""
    before = RunFolder(folder, GOLDEN).describe()
    (folder / "q2.json").write_text('{"q2": {"pool": 2.0}}')
    assert RunFolder(folder, GOLDEN).describe() != before


def test_a_project_names_a_folder_of_run_files(folder: Path, tmp_path: Path) -> None:
    """Paths are relative to karat.toml."""
    project = tmp_path / "project"
    sets.write(GOLDEN, project / "set")
    (project / "karat.toml").write_text(
        '[golden]\npath = "set"\n[system]\nkind = "runs"\npath = ".."\npattern = "q*"\n'
    )
    assert karat.evaluate(project, measures=["RR@10"]).mean() == {"RR@10": pytest.approx((1 / 3 + 1) / 2)}


def test_a_measure_without_a_cut_off_takes_whole_lists_of_run_files(tmp_path: Path) -> None:
    """Of q1 the pool is 12th of 12, and of q2 the first of one; with k = 10 it is told that AP is AP@10."""
    sets.write(GOLDEN, tmp_path / "set")
    (tmp_path / "answers").mkdir()
    ranked = [*(f"other{rank}" for rank in range(11)), "pool"]
    lines = (f"q1 Q0 {name} {rank} {-rank} mine\n" for rank, name in enumerate(ranked, 1))
    (tmp_path / "answers" / "run.txt").write_text("".join(lines) + "q2 Q0 wifi 1 1 mine\n")
    config = '[golden]\npath = "set"\n[system]\nkind = "runs"\npath = "answers"\n[eval]\nmeasures = ["AP"]\n'
    (tmp_path / "karat.toml").write_text(config)
    project = open_project(tmp_path)
    assert (project.settings().k, project.settings(["R@5"]).k) == (12, 10)
    shown = CliRunner().invoke(cli, ["eval", str(tmp_path)]).output
    assert ("0.5417" in shown, "looks at whole lists" in shown) == (True, False)  # (1/12 + 1) / 2
    shown = CliRunner().invoke(cli, ["eval", str(tmp_path), "--k", "10"]).output
    assert "AP looks at whole lists, but 10 hits were asked for" in shown
    assert "it is AP@10; set [eval] k, or --k" in shown


# --- retrievers of frameworks, by objects that look like theirs


def test_retrievers_are_asked_for_k_only_if_they_take_it() -> None:
    """LangChain's own signature decides; the real packages are in test_adapters_real."""
    from karat.systems.adapters import LangChain

    class Found(types.SimpleNamespace):
        pass

    class Chain:
        def _get_relevant_documents(self, query: str, *, run_manager: object) -> list[Any]:
            raise AssertionError

        def invoke(self, query: str, **options: Any) -> list[Any]:
            assert options == {}
            return [Found(id=None, metadata={"source": "pool"}, page_content="")] * 3

    assert [hit.document for hit in LangChain(Chain(), document="source").retrieve("?", 2)] == ["pool", "pool"]
    with pytest.raises(UsageError, match="hit 1 has nothing at id = '_id' or document = '_document': it has the keys"):
        LangChain(Chain()).retrieve("?", 2)


def test_every_table_of_the_page_is_one_of_a_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """karat.toml as the page shows it is read without a complaint, and every kind has a table, or a link to one."""
    import re
    import tomllib

    from karat.systems import build

    text = "\n".join(page.read_text() for page in sorted((ROOT / "docs" / "systems").glob("*.md")))
    tables = [tomllib.loads(block)["system"] for block in re.findall(r"^```toml\n(.*?)^```$", text, re.M | re.S)]
    for table in tables:
        options = {key: value for key, value in table.items() if key != "kind"}
        build(ADAPTERS.get(table["kind"]).load_settings(), options, "system")
    assert {table["kind"] for table in tables} | {"http"} == {adapter.kind for adapter in ADAPTERS}
