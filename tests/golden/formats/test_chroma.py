"""Chroma's chunking evaluation."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from each import each
from golden.formats.golden_strategies import golden_sets, plain_ids, quick, round_trip, texts
from karat import golden
from karat.core import Document, GoldenSet, InputError, Judgment, Query, Span, Target
from karat.golden.formats._offsets import Offsets
from karat.text._canonical import canonical

TEXT = "# Pets\r\n\r\nDogs are \u20ac20 a night.\r\nCats are free.\r\nDogs sleep inside.\r\n"


def reference(content: str, start: int | None = None, text: str = TEXT) -> dict[str, Any]:
    at = text.index(content) if start is None else start
    return {"content": content, "start_index": at, "end_index": at + len(content)}


def write(folder: Path, *rows: dict[str, Any], corpora: dict[str, str] | None = None) -> Path:
    """Write questions as pandas does, and the texts beside them."""
    folder.mkdir(exist_ok=True)
    for name, text in ({"pets.md": TEXT} if corpora is None else corpora).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, newline="")
    columns = list(dict.fromkeys(key for row in rows for key in row)) or ["question", "references", "corpus_id"]
    with (folder / "questions.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        for row in rows:
            writer.writerow({k: json.dumps(v) if isinstance(v, list | dict) else v for k, v in row.items()})
    return folder


def decoded(result: GoldenSet) -> list[str]:
    """Return what every span marks."""
    marked = []
    for judgment in result.judgments:
        span = judgment.target.span
        text = canonical(result.document_by_id[judgment.target.document].text).encode()
        assert span is not None
        marked.append(text[span.start : span.end].decode())
    return marked


def test_characters_become_bytes_of_canonical_text(tmp_path: Path) -> None:
    """A carriage return is a character and no byte of canonical text; a euro sign is three bytes."""
    row = {"question": "cats?", "references": [reference("Cats are free.")], "corpus_id": "pets"}
    result = golden.read(write(tmp_path / "set", row))
    at = len("# Pets\n\nDogs are \u20ac20 a night.\n".encode())
    assert [judgment.target for judgment in result.judgments] == [Target(document="pets", span=Span(at, at + 14))]
    assert decoded(result) == ["Cats are free."]
    assert result.documents == (Document(id="pets", text=TEXT, format="markdown"),)
    assert [query.text for query in result.queries] == ["cats?"]
    assert result.notes == ()


def test_a_reference_over_lines_is_found(tmp_path: Path) -> None:
    """Line ends within it are those of canonical text."""
    row = {"question": "?", "references": [reference("a night.\r\nCats")], "corpus_id": "pets"}
    assert decoded(golden.read(write(tmp_path / "set", row))) == ["a night.\nCats"]


def test_offsets_that_do_not_fit_are_put_right(tmp_path: Path) -> None:
    """The content of the reference decides, if it occurs only once, and a note says so."""
    row = {"question": "?", "references": [reference("Cats are free.", 3)], "corpus_id": "pets"}
    result = golden.read(write(tmp_path / "set", row))
    assert decoded(result) == ["Cats are free."]
    at = TEXT.index("Cats")
    place = f"{at}-{at + len('Cats are free.')}"
    assert any(f"references[0]: is at {place} of pets, not at 3-17: read from there" in note for note in result.notes)


def test_an_end_that_does_not_fit_is_named_with_its_start(tmp_path: Path) -> None:
    """The note shows both places in full, which differ in the end only."""
    at = TEXT.index("Cats")
    row = {
        "question": "?",
        "references": [{"content": "Cats", "start_index": at, "end_index": at + 9}],
        "corpus_id": "pets",
    }
    (note,) = golden.read(write(tmp_path / "set", row)).notes
    assert note.endswith(f"references[0]: is at {at}-{at + 4} of pets, not at {at}-{at + 9}: read from there")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("Dogs", "'Dogs' occurs several times in pets, and not at 3-7"),
        ("Fish", "'Fish' does not occur in pets"),
        ("", "'' does not occur in pets"),
    ],
)
def test_a_reference_that_is_nowhere_is_a_mistake(tmp_path: Path, content: str, what: str) -> None:
    """With its row and its place in the list."""
    row = {"question": "?", "references": [reference("Cats"), reference(content, 3)], "corpus_id": "pets"}
    with pytest.raises(InputError) as caught:
        golden.read(write(tmp_path / "set", row))
    assert caught.value.what == f"references[1]: {what}"
    assert caught.value.line == 2


def test_a_reference_without_words_is_a_mistake(tmp_path: Path) -> None:
    """Canonical text decides about white space, so it marks nothing."""
    row = {"question": "?", "references": [reference("\r\n\r\n")], "corpus_id": "pets"}
    with pytest.raises(InputError, match="is not in the canonical text"):
        golden.read(write(tmp_path / "set", row))


def test_the_whole_text_is_the_document(tmp_path: Path) -> None:
    """A reference to all of it marks no part."""
    row = {"question": "?", "references": [reference(TEXT)], "corpus_id": "pets"}
    result = golden.read(write(tmp_path / "set", row))
    assert [judgment.target for judgment in result.judgments] == [Target(document="pets")]


@each("corpus", ["pets", "pets.md", "./corpora/pets.md", "/srv/corpora/pets.md"])
def test_a_corpus_is_found_by_name_and_by_path(tmp_path: Path, corpus: str) -> None:
    """In ``corpora`` as in Chroma's own data, where some rows have the path that the generator was given."""
    row = {"question": "?", "references": [reference("Cats")], "corpus_id": corpus}
    result = golden.read(write(tmp_path / "set", row, corpora={"corpora/pets.md": TEXT, "corpora/other.txt": "x"}))
    assert [(document.id, document.format) for document in result.documents] == [
        ("pets", "markdown"),
        ("other", "text"),
    ]
    assert decoded(result) == ["Cats"]


@pytest.mark.parametrize("corpus", ["rates", "../pets", "x" * 300])
def test_a_corpus_that_is_not_there_is_a_mistake(tmp_path: Path, corpus: str) -> None:
    """Nothing outside of the folder is read."""
    (tmp_path / "pets.md").write_text(TEXT, newline="")
    row = {"question": "?", "references": [reference("Cats")], "corpus_id": corpus}
    with pytest.raises(InputError, match=r"line 2: corpus '.* is not beside the questions"):
        golden.read(write(tmp_path / "set", row, corpora={}))


def test_rows_of_one_id_are_one_question(tmp_path: Path) -> None:
    """So a question has references in several texts; another text under the same id is a mistake."""
    rows = [
        {"id": "q", "question": "?", "references": [reference("Cats")], "corpus_id": "pets"},
        {"id": "q", "question": "?", "references": [reference("fee", text="no fee")], "corpus_id": "fees"},
    ]
    result = golden.read(write(tmp_path / "set", *rows, corpora={"pets.md": TEXT, "fees.txt": "no fee"}))
    assert result.queries == (Query(id="q", text="?"),)
    assert decoded(result) == ["Cats", "fee"]
    rows[1]["question"] = "!"
    with pytest.raises(InputError, match="question 'q' had another text"):
        golden.read(write(tmp_path / "two", *rows, corpora={"pets.md": TEXT, "fees.txt": "no fee"}))


@each(
    ("row", "what"),
    [
        ({"references": [], "corpus_id": "pets"}, "'question' is missing"),
        ({"question": "?", "corpus_id": "pets"}, "'references' is missing"),
        ({"question": "?", "references": "none", "corpus_id": "pets"}, "'references' is 'none', not a JSON list"),
        ({"question": "?", "references": [5], "corpus_id": "pets"}, "references[0]: 5 is not an object"),
        ({"question": "?", "references": [reference("Cats")]}, "'corpus_id' is missing"),
        ({"question": "?", "references": [{"content": "Cats"}], "corpus_id": "pets"},
         "references[0]: 'start_index' is missing"),
    ],
)  # fmt: skip
def test_every_mistake_is_reported(tmp_path: Path, row: dict[str, Any], what: str) -> None:
    """By its line and its field."""
    whole = {"question": "", "references": "", "corpus_id": ""} | row
    with pytest.raises(InputError) as caught:
        golden.read(write(tmp_path / "set", whole))
    assert (caught.value.what, caught.value.line) == (what, 2)


def test_unknown_keys_are_reported(tmp_path: Path) -> None:
    """Of a row and of a reference."""
    row = {"question": "?", "references": [{**reference("Cats"), "extra": 1}], "corpus_id": "pets", "fixed": "yes"}
    notes = " ".join(golden.read(write(tmp_path / "set", row)).notes)
    assert "unknown key 'extra'" in notes
    assert "unknown key 'fixed'" in notes


@each("name", ["../up", "a//b", ".hidden", "a\\b", "a\x00b", "x" * 99, "a/../../b"])
def test_an_id_that_is_no_file_is_refused(tmp_path: Path, name: str) -> None:
    """The error names it, and nothing is written anywhere."""
    with pytest.raises(InputError, match="is not a file name"):
        golden.write(GoldenSet(documents=(Document(id=name, text="t"),)), tmp_path / "set", "chroma")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_held_is_refused(tmp_path: Path) -> None:
    """A document that is not there, a span outside of its text, an empty question, and a cell that is too long."""
    document, query = Document(id="d", text="some text"), Query(id="q", text="?")

    def original(target: Target, *documents: Document, query: Query = query) -> GoldenSet:
        return GoldenSet(
            documents=documents, queries=(query,), judgments=(Judgment(query="q", target=target, grade=3),)
        )

    cases = {
        "document 'd' is not in the set": original(Target(document="d")),
        r"query 'q': d@50-60 marks no characters": original(Target(document="d", span=Span(50, 60)), document),
        "query 'q': its text is empty": original(Target(document="d"), document, query=Query(id="q", text="")),
        "document 'd': its text holds NUL": original(Target(document="d"), Document(id="d", text="a\0")),
        "more than 131,072 characters": original(Target(document="d"), Document(id="d", text="x" * 140_000)),
    }
    for what, wrong in cases.items():
        with pytest.raises(InputError, match=what):
            golden.write(wrong, tmp_path / "set", "chroma")


def test_a_question_without_references_stays(tmp_path: Path) -> None:
    """Under the first text, of which it says nothing."""
    original = GoldenSet(documents=(Document(id="d", text="x"),), queries=(Query(id="q", text="?"),))
    golden.write(original, tmp_path / "set", "chroma")
    assert (tmp_path / "set" / "questions.csv").read_text().splitlines()[1] == '"q","?","[]","d"'
    again = golden.read(tmp_path / "set")
    assert (again.queries, again.judgments) == (original.queries, ())


names = plain_ids.filter(lambda name: all(part and part[0] != "." for part in name.split("/")))
held = texts.map(lambda text: text.replace("\0", "").lstrip("\ufeff"))


@st.composite
def marked_sets(draw: st.DrawFn) -> GoldenSet:
    """Sets whose judgments are spans of canonical text that begin and end with a letter, or whole documents."""
    original = draw(golden_sets(names, content=held.filter(bool)))
    judgments = []
    for judgment in original.judgments:
        document = original.document_by_id[judgment.target.document]
        offsets = Offsets(document.text)
        start = draw(st.integers(0, len(document.text) - 1))
        span = offsets.to_bytes(start, draw(st.integers(start + 1, len(document.text))))
        place = span and offsets.to_characters(span)
        whole = place is None or place == (0, len(document.text)) or draw(st.booleans())
        target = Target(document=document.id, span=None if whole else span)
        judgments.append(Judgment(query=judgment.query, target=target, grade=judgment.grade))
    return GoldenSet(documents=original.documents, queries=original.queries, judgments=tuple(judgments))


@pytest.mark.slow
@quick
@given(original=marked_sets())
def test_what_is_kept_goes_round(original: GoldenSet) -> None:
    """Texts and questions come back, and every span marks the same words."""
    assume(len({document.id.casefold() for document in original.documents}) == len(original.documents))
    again = round_trip(original, "chroma")
    assert {document.id: document.text for document in again.documents} == {
        document.id: document.text for document in original.documents
    }
    assert [(query.id, query.text) for query in again.queries] == [(query.id, query.text) for query in original.queries]
    assert _words(again) == _words(original)


def _words(original: GoldenSet) -> dict[tuple[str, str], list[str]]:
    """Return what is marked in each document for each query; white space at the ends says nothing."""
    result: dict[tuple[str, str], list[str]] = {}
    for (query, target), grade in original.decided.items():
        if grade >= original.relevant:
            text = Offsets(original.document_by_id[target.document].text)
            words = "(all)" if target.span is None else text.passage(target.span).strip().strip("-").strip()
            result.setdefault((query, target.document), []).append(words)
    return result
