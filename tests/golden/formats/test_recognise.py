"""Every format knows its own files, and no other's."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from each import each
from golden.formats.golden_strategies import quick
from karat import golden
from karat.core import InputError


def _text(name: str, text: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / name).write_text(text)
        return folder / name

    return make


def _json(value: object, name: str = "golden.json") -> Callable[[Path], Path]:
    return _text(name, json.dumps(value))


def _lines(*rows: object) -> Callable[[Path], Path]:
    return _text("golden.jsonl", "".join(json.dumps(row) + "\n" for row in rows))


def _csv(*rows: list[str]) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        with (folder / "golden.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)
        return folder / "golden.csv"

    return make


def _folder(**files: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        for name, text in files.items():
            path = folder / name.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return folder

    return make


def _packed(make: Callable[[Path], Path]) -> Callable[[Path], Path]:
    def pack(folder: Path) -> Path:
        path = make(folder)
        packed = path.with_name(path.name + ".gz")
        packed.write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
        return packed

    return pack


def _damaged(folder: Path) -> Path:
    (folder / "golden.json.gz").write_bytes(gzip.compress(b"[" * 9999)[:20])
    return folder / "golden.json.gz"


def _inside(make: Callable[[Path], Path], name: str) -> Callable[[Path], Path]:
    return lambda folder: make(folder) / name


QUERIES = '{"_id": "q", "text": "?"}\n'
CORPUS = '{"_id": "d", "text": "t", "title": ""}\n'
BEIR = _folder(corpus_dot_jsonl=CORPUS, queries_dot_jsonl=QUERIES, qrels__test_dot_tsv="query-id\tcorpus-id\tscore\n")
FLAT = _folder(corpus_dot_jsonl=CORPUS, queries_dot_jsonl=QUERIES, qrels_dot_tsv="q\t0\td\t1\n")
SMART = _folder(all=".I 1\n.W\nx\n", qry=".I 1\n.W\n?\n", qrel="1 1 2\n")
TREC = _folder(
    topics="<top>\n<num> 1\n<title> t\n</top>\n", qrels="1 0 d 1\n", docs="<DOC>\n<DOCNO>d</DOCNO>\n</DOC>\n"
)
CHROMA = _folder(questions_dot_csv="question,references,corpus_id\n?,[],a\n", a_dot_md="1 0 d 1\n")
FIT = {
    "version": "1",
    "entities": [{"entity_id": "e", "title": "t"}],
    "queries": [{"query_id": "q", "query_text": "?"}],
}
BELUGA = {"queries": [{"id": "q", "query": "?", "relevant_doc_ids": ["d"], "graded_relevance": {"d": 2}}]}
AGENT = {"queryId": "q", "query": "?", "intent": "i", "category": "c", "judgments": [{"memoryId": "m", "relevance": 2}]}
RIG = {"query_id": "q", "query": "?", "relevant_docs": {"d": 1}, "reference_answer": "a"}
BLOCKS = {"qid": "q", "paraphrases": ["?"], "relevant": ["S.1.p.Bk001"], "negatives": []}
RAGAS = {"user_input": "?", "reference": "a", "reference_contexts": ["c"]}
LEGACY = {"question": "?", "contexts": ["c"], "ground_truth": "a"}
DEEPEVAL = {"input": "?", "expected_output": "a", "context": ["c"]}
TABLE = {"id": "q", "question": "?", "documents": ["d"]}
STIX = {"type": "bundle", "id": "bundle--1", "objects": [{"type": "attack-pattern", "id": "attack-pattern--1"}]}

FIXTURES: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "karat": ("karat", _folder(golden_dot_toml='name = "x"\n', queries_dot_jsonl='{"id": "q", "text": "?"}\n')),
    "beir": ("beir", BEIR),
    "a split of beir": ("beir", _inside(BEIR, "qrels/test.tsv")),
    "flat beir": ("beir", FLAT),
    "qrels of flat beir": ("beir", _inside(FLAT, "qrels.tsv")),
    "smart": ("smart", SMART),
    "trec": ("trec", TREC),
    "qrels of trec": ("trec", _inside(TREC, "qrels")),
    "packed qrels": ("trec", _packed(_text("qrels", "1 0 d 1\n"))),
    "chroma": ("chroma", CHROMA),
    "questions of chroma": ("chroma", _inside(CHROMA, "questions.csv")),
    "fit": ("fit", _json(FIT)),
    "beluga": ("beluga", _json(BELUGA)),
    "agent": ("agent", _json([AGENT])),
    "agent lines": ("agent", _lines(AGENT, AGENT)),
    "rig": ("rig", _lines(RIG, RIG)),
    "blocks": ("blocks", _lines(BLOCKS, BLOCKS)),
    "ragas": ("ragas", _json([RAGAS])),
    "ragas lines": ("ragas", _lines(RAGAS, RAGAS)),
    "ragas table": ("ragas", _csv(["user_input", "reference"], ["?", "a"])),
    "legacy ragas": ("ragas", _json([LEGACY])),
    "legacy ragas table": ("ragas", _csv(["question", "ground_truth"], ["?", "a"])),
    "deepeval": ("deepeval", _json([DEEPEVAL])),
    "deepeval lines": ("deepeval", _lines(DEEPEVAL)),
    "deepeval in camelCase": ("deepeval", _json({"goldens": [{"input": "?", "expectedOutput": "a"}]})),
    "deepeval table": ("deepeval", _csv(["input", "expected_output", "context"], ["?", "a", "c"])),
    "table": ("table", _csv(["question", "document", "grade"], ["?", "d", "1"])),
    "table lines": ("table", _lines(TABLE, TABLE)),
    "table list": ("table", _json([TABLE])),
    "table with semicolons": ("table", _text("golden.csv", "question;document\n?;d\n")),
    "ragas table with semicolons": ("ragas", _text("golden.csv", "user_input;reference\n?;a\n")),
    "attack": ("attack", _json(STIX)),
    "packed attack": ("attack", _packed(_json(STIX))),
    "attack with a long contents list first": (
        "attack",
        _json({**STIX, "objects": [{"type": "x-mitre-collection", "x_mitre_contents": ["x" * 99] * 999}]}),
    ),
}
NONE: dict[str, Callable[[Path], Path]] = {
    "nothing": lambda folder: folder,
    "a missing file": lambda folder: folder / "nothing",
    "an empty file": _text("golden.json", ""),
    "a document": _text("pets.md", "# Pets\n\nDogs are 20 a night.\n"),
    "a run": _text("run.txt", "1 Q0 d 1 0.5 me\n"),
    "a corpus": _text("corpus.jsonl", CORPUS),
    "a list of numbers": _json([1, 2, 3]),
    "a number": _json(5),
    "other STIX": _json({"type": "bundle", "objects": [{"type": "indicator"}]}),
    "broken JSON": _text("golden.json", '{"queries": [{"id'),
    "a damaged archive": _damaged,
}


def recognised(path: Path) -> list[str]:
    return [known.name for known in golden.FORMATS if known.recognise(path)]


@each("name", FIXTURES)
def test_each_format_knows_its_own_and_no_other(tmp_path: Path, name: str) -> None:
    """Every fixture of every format is shown to every recogniser, and exactly one takes it."""
    owner, make = FIXTURES[name]
    assert recognised(make(tmp_path)) == [owner]


def test_every_format_has_a_fixture() -> None:
    """A new format has to be shown to the others."""
    assert {owner for owner, _ in FIXTURES.values()} == {known.name for known in golden.FORMATS}


@each("name", NONE)
def test_what_is_no_golden_set_is_taken_by_none(tmp_path: Path, name: str) -> None:
    """And nobody falls over it; the error lists the formats, or says that nothing is there, or in it."""
    path = NONE[name](tmp_path)
    assert recognised(path) == []
    with pytest.raises(InputError, match=r"name its format: agent, attack, beir|no such file|the file is empty"):
        golden.read(path)


def test_two_formats_in_one_folder_are_asked_about(tmp_path: Path) -> None:
    """The error names both."""
    CHROMA(tmp_path)
    TREC(tmp_path)
    with pytest.raises(InputError, match="could be chroma, trec; name its format"):
        golden.read(tmp_path)


@pytest.mark.slow
@quick
@given(data=st.binary(max_size=200) | st.text(max_size=100).map(str.encode), packed=st.booleans())
def test_no_recogniser_falls_over_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes, packed: bool) -> None:
    """Whatever a file holds, the answer is yes or no."""
    folder = tmp_path_factory.mktemp("bytes")
    (folder / "file").write_bytes(gzip.compress(data)[: len(data)] if packed else data)
    for path in (folder, folder / "file"):
        assert recognised(path) == recognised(path)
    shutil.rmtree(folder)
