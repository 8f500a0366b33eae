"""Sets of passages, read with the documents that the passages come from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from each import each
from karat import golden
from karat.core import Document, GoldenSet, InputError, Judgment, Query, Target, UsageError
from karat.files import Reading
from karat.golden._sources_of_passages import find_passages

PAGES = {
    "hours": "# Hours\n\nWe open at seven.\nOn Sundays we open at nine.\n",
    "maps/town": "# Maps\n\nMaps of the town are sold at the counter.\n\nParking is free.\n",
    "parking": "# Parking\n\nParking is free.\n",
}


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """Three pages, two of which share a sentence."""
    for name, text in PAGES.items():
        path = tmp_path / "pages" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "pages"


def write(folder: Path, *samples: dict[str, Any]) -> Path:
    path = folder / "samples.jsonl"
    path.write_text("".join(json.dumps({"user_input": "?", **sample}) + "\n" for sample in samples))
    return path


def relevant(path: Path, pages: Path) -> dict[str, list[str]]:
    """Return the documents that are relevant to each query."""
    read = golden.read(path, documents=pages)
    assert {document.id for document in read.documents} == set(PAGES)
    assert golden.check(read).ok
    return {query: list(grades) for query, grades in read.qrels().items()}


def test_a_passage_is_judged_where_it_stands(tmp_path: Path, pages: Path) -> None:
    """Across a line break, and in each document that has it; two passages of one document are one judgment."""
    path = write(
        tmp_path,
        {"id": "a", "user_input": "open?", "reference_contexts": ["open at seven. On Sundays", "open at nine."]},
        {"id": "b", "user_input": "free?", "reference_contexts": ["Parking is free."]},
    )
    assert relevant(path, pages) == {"a": ["hours"], "b": ["maps/town", "parking"]}
    notes = golden.read(path, documents=pages).notes
    assert notes == (f"{path}: 1 passage is in several documents, and judged in each",)


@given(
    st.lists(st.lists(st.sampled_from(["a ", "ab ", "b\n", "bab "]), min_size=8, max_size=40).map("".join), min_size=1),
    st.integers(0, 3),
    st.integers(0, 20),
    st.integers(12, 60),
)
def test_passages_are_cut_anywhere(texts: list[str], number: int, start: int, length: int) -> None:
    """Within words, too: of three words and more, all documents are named that contain them, blanks aside."""
    squeezed = [" ".join(text.split()) for text in texts]
    passage = texts[number % len(texts)][start : start + length]
    assume(len(passage.split()) >= 3)
    documents = [Document(id=str(place), text=text) for place, text in enumerate(texts)]
    gold = GoldenSet(
        queries=(Query(id="q", text="?"),),
        documents=(Document(id="p", text=passage),),
        judgments=(Judgment(query="q", target=Target(document="p"), grade=1),),
    )
    read = find_passages(gold, documents, Reading(), "samples")
    expected = {str(place) for place, text in enumerate(squeezed) if " ".join(passage.split()) in text}
    assert {judgment.target.document for judgment in read.judgments} == expected


def test_a_passage_with_the_id_of_a_document_is_that_document(tmp_path: Path, pages: Path) -> None:
    """Whatever its words are: somebody has named it."""
    sample = {"id": "a", "reference_contexts": ["a summary of the page"], "reference_context_ids": ["hours"]}
    assert relevant(write(tmp_path, sample), pages) == {"a": ["hours"]}


def test_goldens_of_deepeval_are_read_alike(tmp_path: Path, pages: Path) -> None:
    (tmp_path / "goldens.json").write_text(json.dumps([{"input": "free?", "context": ["Maps of the town"]}]))
    (documents,) = relevant(tmp_path / "goldens.json", pages).values()
    assert documents == ["maps/town"]


@each("passage", ["We close at seven.", "open at seven. # Maps", "Parking is free. # Parking", " "])
def test_a_passage_that_no_document_has_is_a_mistake(tmp_path: Path, pages: Path, passage: str) -> None:
    """Left out, it would make its question easier; words of two documents are no passage."""
    path = write(tmp_path, {"id": "a", "reference_contexts": ["We open at seven.", passage]})
    with pytest.raises(InputError, match="none of the documents has the passage"):
        golden.read(path, documents=pages)


def test_a_set_with_documents_of_its_own_is_still_refused(tmp_path: Path, pages: Path) -> None:
    golden.write(golden.read(write(tmp_path, {"reference_contexts": ["Parking is free."]})), tmp_path / "own")
    with pytest.raises(UsageError, match="holds documents of its own; leave out"):
        golden.read(tmp_path / "own", documents=pages)
