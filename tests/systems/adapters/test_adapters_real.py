"""Adapters against the real packages, in an environment that has them: real_systems.py prints what they did."""

from __future__ import annotations

import fcntl
import json
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from karat import golden as sets
from karat import score

ROOT = Path(__file__).resolve().parents[3]
STORES = ["qdrant", "chroma", "lancedb", "milvus", "pgvector"]
Answers = dict[str, list[tuple[str, float]]]


@pytest.fixture(scope="session")
def printed(
    python_of: Callable[[str], Path],
    environment: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
    worker_id: str,
    measured: dict[str, str],
) -> dict[str, Any]:
    """What real_systems.py printed; of several workers the first one runs it."""
    folder = tmp_path_factory.getbasetemp()
    folder = folder if worker_id == "master" else folder.parent
    output = folder / "real-systems.json"
    with (folder / "real-systems.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not output.exists():
            output.write_text(_run(python_of("systems"), environment | measured, tmp_path_factory.mktemp("real")))
    document: dict[str, Any] = json.loads(output.read_text())
    for name, result in document.items():
        assert "failed" not in result, f"{name}: {result['failed']}"
    return document


def _run(python: Path, environment: dict[str, str], folder: Path) -> str:
    private = {"HAYSTACK_TELEMETRY_ENABLED": "False", "ANONYMIZED_TELEMETRY": "False", "HOME": str(folder / "home")}
    process = subprocess.run(
        [python, Path(__file__).with_name("real_systems.py"), folder, ROOT / "docs" / "systems"],
        env=environment | private | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout.splitlines()[-1]


def same_up_to_ties(first: Answers, second: Answers, tolerance: float = 1e-5) -> bool:
    """Whether two answers have the same documents in the same order, except for those whose scores are equal."""
    for query, ranking in first.items():
        names = [document for document, _ in second[query]]
        if len(names) != len(ranking):
            return False
        for place, (document, value) in enumerate(ranking):
            tied = {name for name, other in ranking if abs(other - value) < tolerance}
            if names[place] != document and names[place] not in tied:
                return False
    return True


@pytest.mark.parametrize("store", STORES)
def test_the_same_vectors_give_the_same_scores_in_every_store(printed: dict[str, Any], store: str) -> None:
    """Documents and their order are those of the built-in exact search, and so is the value of every measure."""
    pipeline, answers = (printed["same_vectors"]["answers"][name] for name in ("pipeline", store))
    assert same_up_to_ties(pipeline, answers)
    qrels = {query: grades for query, grades in sets.read(ROOT / "examples/hotel").qrels().items() if query in pipeline}
    ranked = [
        {query: {document: -place for place, (document, _) in enumerate(hits)} for query, hits in run.items()}
        for run in (pipeline, answers)
    ]
    first, second = (score(qrels, run, ["nDCG@10", "R@5", "RR@10"]).mean() for run in ranked)
    assert first == pytest.approx(second, abs=1e-9)
    assert 0 < first["nDCG@10"] < 1


def test_the_comparison_of_answers_sees_a_difference() -> None:
    """Other documents and another order are seen, and ties are not."""
    run = {"q": [("a", 0.9), ("b", 0.5), ("c", 0.5)]}
    assert same_up_to_ties(run, {"q": [("a", 0.9), ("c", 0.5), ("b", 0.5)]})
    assert not same_up_to_ties(run, {"q": [("b", 0.9), ("a", 0.5), ("c", 0.5)]})
    assert not same_up_to_ties(run, {"q": [("a", 0.9), ("b", 0.5), ("x", 0.5)]})


def test_what_was_made_is_removed(printed: dict[str, Any]) -> None:
    """No collection of karat's own is left in a store."""
    assert printed["same_vectors"]["left"] == {"qdrant": [], "pgvector": []}


@pytest.mark.parametrize("store", STORES)
def test_a_collection_that_its_own_package_made_is_searched_as_the_page_says(
    printed: dict[str, Any], store: str
) -> None:
    """The table of the page finds what NumPy finds, best first, by the document that a field names."""
    answers = printed["page"][store]
    assert {query: [document for document, _ in hits] for query, hits in answers.items()} == printed["expected"]
    assert all(first >= second for hits in answers.values() for (_, first), (_, second) in pairwise(hits))


@pytest.mark.parametrize("kind", ["tantivy", "haystack"])
def test_searching_by_words_finds_documents_with_these_words(printed: dict[str, Any], kind: str) -> None:
    """Each first hit, under the name that a field holds, shares a word with its question; half are answered."""
    golden, answered = sets.read(ROOT / "examples/hotel"), 0
    for query, hits in printed["page"][kind].items():
        words = {word[:4] for word in golden.query_by_id[query].text.lower().split()}
        text = golden.document_by_id[hits[0][0]].text[:400].lower()
        assert words & {word[:4] for word in text.split()}, query
        grades = golden.qrels()[query]
        answered += any(grades.get(document, 0) >= golden.relevant for document, _ in hits)
    assert answered >= 2


def test_an_index_that_karat_fills_finds_the_same_as_one_made_by_hand(printed: dict[str, Any]) -> None:
    """tantivy gives the same documents the same scores."""
    for query, hits in printed["page"]["tantivy"].items():
        assert dict(printed["new_words"][query]) == pytest.approx(dict(hits)), query


def test_a_retriever_of_langchain_is_asked_as_the_page_says(printed: dict[str, Any]) -> None:
    """The file of the page has one document."""
    assert {tuple(hit[0] for hit in hits) for hits in printed["page"]["langchain"].values()} == {("pool",)}


def test_a_node_of_llama_index_belongs_to_its_document(printed: dict[str, Any]) -> None:
    """As many nodes as the retriever was made for, each under the id of the document that it was cut from."""
    documents = {document.id for document in sets.read(ROOT / "examples/hotel").documents}
    for hits in printed["page"]["llama-index"].values():
        assert len(hits) == 7
        assert {document for document, _ in hits} <= documents


@pytest.mark.parametrize("kind", ["langchain", "haystack", "chroma"])
def test_a_retriever_gets_what_it_takes(printed: dict[str, Any], kind: str) -> None:
    """LangChain's is asked for k hits, Haystack's gets the vector of the question, and Chroma's embeds it itself."""
    answers = {query: [hit[0] for hit in hits] for query, hits in printed["own_ways"][kind].items()}
    assert answers == printed["own_ways"]["expected"]


def test_a_tool_of_an_mcp_server_is_asked_over_its_pipes(printed: dict[str, Any]) -> None:
    """The server of the page, in a process of its own."""
    assert {tuple(map(tuple, hits)) for hits in printed["page"]["mcp"].values()} == {(("pool", 0.5),)}


def test_the_answer_of_a_tool_may_have_several_shapes(printed: dict[str, Any]) -> None:
    """A list, a text of JSON for each hit; prose and errors fail with what the tool said."""
    shapes = printed["mcp_shapes"]
    assert shapes["listed"] == [["pool", 2.0], ["wifi", 1.0]]
    assert [document for document, _ in shapes["texts"]] == ["pool", "wifi"]
    assert "the tool answered with text that is not JSON: 'The pool opens at six.'" in shapes["prose"]
    assert "the tool failed: 'Error executing tool broken: no such shard'" in shapes["broken"]


def test_a_server_of_mcp_that_misbehaves_leaks_nothing_and_is_not_waited_for(printed: dict[str, Any]) -> None:
    """Whatever else it prints is not shown, its key is hidden, and one that never answers is ended."""
    hostile = printed["mcp_hostile"]
    assert hostile["ids"] == ["pool ***"]
    assert hostile["ended"][:2] == ["SystemFailed", 3]
    assert hostile["silent"] == ["SystemFailed", 3, "the server has not answered after 0.5 s"]
    assert hostile["logged"] == ""


@pytest.mark.parametrize("kind", ["qdrant", "chroma", "lancedb", "pgvector"])
def test_a_collection_that_is_not_there_is_a_mistake(printed: dict[str, Any], kind: str) -> None:
    """Exit code 2, with the collections that there are."""
    error, code, message = printed["mistakes"][f"{kind} collection"]
    assert (error, code) == ("UsageError", 2)
    assert message.startswith(f"[system] {kind} has no collection 'dox'; there are 'docs'")


@pytest.mark.parametrize("kind", ["qdrant", "chroma", "lancedb"])
def test_a_field_that_is_not_there_is_a_mistake(printed: dict[str, Any], kind: str) -> None:
    """The first question says so, with the fields that there are: otherwise everything would be scored as missed."""
    error, code, message = printed["mistakes"][f"{kind} document"]
    assert (error, code) == ("UsageError", 2)
    assert message.startswith("[system] hit 1 has nothing at document = 'sauce': it has the keys ")
    assert "'source'" in message


@pytest.mark.parametrize("kind", ["qdrant", "chroma", "lancedb"])
def test_a_folder_that_is_not_there_is_a_mistake(printed: dict[str, Any], kind: str) -> None:
    """It is not made, as the packages would; an empty one has no collection."""
    error, code, message = printed["mistakes"][f"{kind} path"]
    assert (error, code) == ("InputError", 2)
    assert message.endswith("nowhere: no such folder; correct path in [system]")


def test_a_field_that_cannot_be_searched_is_a_mistake(printed: dict[str, Any]) -> None:
    """The first question says so, and no other is asked."""
    error, code, message = printed["mistakes"]["tantivy search_in"]
    assert (error, code) == ("UsageError", 2)
    assert message.startswith("[system] tantivy cannot search in ['bodi']: ")


@pytest.mark.parametrize("kind", ["qdrant", "chroma", "pgvector"])
def test_a_server_that_is_not_there_is_a_failure_without_the_key(printed: dict[str, Any], kind: str) -> None:
    """Exit code 3, with what the package says; the key or password that was sent is not shown."""
    error, code, message = printed["unreachable"][kind]
    assert (error, code) == ("SystemFailed", 3)
    assert kind in message
    assert "7Hq2mZ" not in message


def test_a_tool_that_is_not_there_is_a_mistake(printed: dict[str, Any]) -> None:
    """With a suggestion."""
    message = "[system] the server has no tool 'serch', did you mean 'search'?"
    assert printed["mistakes"]["mcp tool"] == ["UsageError", 2, message]


def test_every_kind_is_installed_there(printed: dict[str, Any]) -> None:
    """The list shows versions, and no line to install anything."""
    for kind, (installed, install, versions) in printed["listing"].items():
        assert (installed, install) == (True, ""), kind
        assert all(versions.values()), kind
