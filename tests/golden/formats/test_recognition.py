"""The format of a file, recognised by its first bytes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from each import each
from karat import golden
from karat.core import Document, GoldenSet, InputError, Judgment, Query, Target
from strategies import quick

DOCUMENTS = GoldenSet(
    documents=(Document(id="d", text="text"),),
    queries=(Query(id="q", text="?"),),
    judgments=(Judgment(query="q", target=Target(document="d"), grade=3),),
)
BLOCKS = GoldenSet(queries=(Query(id="q", text="?", negatives=(Target(document="d", block="b"),)),))
LONG = "x" * 70_000


def names(path: Path) -> list[str]:
    return [known.name for known in golden.FORMATS if known.recognise(path)]


@each("format", ["agent", "beluga", "blocks", "fit", "rig"])
@each("packed", [False, True])
def test_what_karat_writes_is_recognised(tmp_path: Path, format: str, packed: bool) -> None:
    """By one format and no other, whatever the file is called."""
    path = tmp_path / "set.txt"
    golden.write(BLOCKS if format == "blocks" else DOCUMENTS, path, format)
    if packed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    assert names(path) == [format]


@each(
    ("text", "format"),
    [
        (json.dumps({"version": "1", "entities": [{"entity_id": "a", "content": LONG}], "queries": []}), "fit"),
        (json.dumps({"entities": [{"entity_id": "a"}], "queries": []}), "fit"),
        (json.dumps({"entities": [], "queries": [{"query_id": "a", "query_text": "?"}]}), "fit"),
        ('{"entities": [\n{"entity_id": "a"} // more\n]}', "fit"),
        (json.dumps({"queries": [{"id": "a", "query": "?", "relevant_doc_ids": [LONG]}]}), "beluga"),
        (json.dumps({"queries": [{"id": "a", "query": "?"}]}), "beluga"),
        (json.dumps({"queries": [{"queryId": "a", "query": "?"}]}), "agent"),
        (json.dumps([{"queryId": "a", "query": "?"}], indent=1), "agent"),
        ('\n{"queryId": "a"}\n{"queryId": "b"}', "agent"),
        ('{"query_id": "a", "query": "?", "relevant_docs": {"query_id": 1}}', "rig"),
        ('{"qid": "a", "paraphrases": [], "relevant": []}', "blocks"),
    ],
)
def test_other_peoples_files_are_recognised(tmp_path: Path, text: str, format: str) -> None:
    """Also where the first record is longer than what is looked at, or where a comment breaks the JSON."""
    (tmp_path / "a").write_text(text)
    assert names(tmp_path / "a") == [format]


@each(
    "text",
    [
        "",
        "{",
        "[]",
        '{"queries": []}',
        '{"qid": "a", "query": "?", "topk": []}',
        '{"query_id": "a", "relevant": []}',
        '{"query_id": "q", "doc_id": "d", "score": 1}',
    ],
)
def test_what_is_no_golden_set_is_not_taken_for_one(tmp_path: Path, text: str) -> None:
    """Empty files, empty lists, a retriever's trace, a run."""
    (tmp_path / "a.json").write_text(text)
    assert names(tmp_path / "a.json") == []
    what = "; name its format: " if text else ": the file is empty"
    with pytest.raises(InputError, match=f"is not a golden set that karat recognises{what}"):
        golden.read(tmp_path / "a.json")


@pytest.mark.slow
@given(st.one_of(st.binary(max_size=60), st.text(st.sampled_from('{}[]":,\\/ a\n'), max_size=40).map(str.encode)))
@quick
def test_recognising_never_raises(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """Whatever the bytes are, packed or not, cut off or not."""
    path = tmp_path_factory.mktemp("any") / "file"
    for content in (data, gzip.compress(data), gzip.compress(data)[:-5], b"\x1f\x8b" + data):
        path.write_bytes(content)
        assert names(path) == []


def test_folders_and_what_is_not_there(tmp_path: Path) -> None:
    """A folder without the files of a set is none."""
    assert names(tmp_path) == names(tmp_path / "none") == []


@each(
    ("name", "format", "hint"),
    [
        ("enterprise-attack.json", None, "; MITRE publishes it as enterprise-attack.json"),
        ("nowhere", "beir", "; the BEIR benchmark publishes its sets"),
        ("nowhere", "fit", ""),
        ("nowhere", None, ""),
    ],
)
def test_a_set_that_is_missing_says_where_it_is_published(
    tmp_path: Path, name: str, format: str | None, hint: str
) -> None:
    """By the format that is named, or that the name of the file suggests."""
    with pytest.raises(InputError) as caught:
        golden.read(tmp_path / name, format)
    message = f"{tmp_path / name}: no such file or folder"
    assert str(caught.value).startswith(message + hint)
    assert bool(hint) == (str(caught.value) != message)
