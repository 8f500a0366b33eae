"""BEIR's folder."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import assume, given

from golden.formats.golden_strategies import golden_sets, quick, round_trip
from karat import golden
from karat.core import Document, GoldenSet, InputError, Judgment, Query, Target
from karat.files import Mistakes

CORPUS = '{"_id": "d1", "title": "WiFi", "text": "Restart the router.", "metadata": {"url": "x"}}\n{"_id": "d2"}\n'
QUERIES = '{"_id": "q1", "text": "wifi broken"}\n\n{"_id": "q2", "text": "pets?", "metadata": {"n": 1}}\n'
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\n\nq1\td2\t0\nq2\td2\t1\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text(CORPUS)
    (tmp_path / "queries.jsonl").write_text(QUERIES)
    (tmp_path / "qrels" / "test.tsv").write_text(QRELS)
    return tmp_path


def test_a_folder_is_read(folder: Path) -> None:
    """Documents, queries and judgments are there; a header and blank rows are skipped; a grade of 0 is a judgment."""
    result = golden.read(folder)
    assert result.documents == (
        Document(id="d1", title="WiFi", text="Restart the router.", metadata={"url": "x"}),
        Document(id="d2"),
    )
    assert result.queries == (Query(id="q1", text="wifi broken"), Query(id="q2", text="pets?", metadata={"n": 1}))
    assert result.judgments == (
        Judgment(query="q1", target=Target(document="d1"), grade=2),
        Judgment(query="q1", target=Target(document="d2"), grade=0),
        Judgment(query="q2", target=Target(document="d2"), grade=1),
    )
    assert result.name == folder.name


def test_a_scale_is_found_by_its_highest_grade(folder: Path) -> None:
    """Up to 1 is binary, up to 3 has karat's own meanings with 2 as relevant, any other counts from 1 and says so."""
    cases = {1: (2, 1), 2: (3, 1), 3: (4, 2), 5: (6, 1)}
    for top, (grades, relevant) in cases.items():
        (folder / "qrels" / "test.tsv").write_text(f"q1\td1\t{top}\n")
        result = golden.read(folder)
        assert (len(result.grades), result.relevant) == (grades, relevant)
        assert any(f"grades go up to {top}" in note for note in result.notes) == (top > 1)


def test_four_columns_are_those_of_trec(folder: Path) -> None:
    """With four columns the second is left out, between tabs or blanks."""
    for text in ("q1\t0\td1\t1\n", "q1 0  d1 1 \r\n"):
        (folder / "qrels" / "test.tsv").write_text(text, newline="")
        assert golden.read(folder).qrels()["q1"] == {"d1": 1}


def test_grades_below_0_are_left_out_and_counted(folder: Path) -> None:
    """BEIR's readers drop them; here a note says how many."""
    (folder / "qrels" / "test.tsv").write_text("q1\td1\t-1\nq1\td2\t-2\nq2\td2\t1.0\n")
    result = golden.read(folder)
    assert [(judgment.query, judgment.grade) for judgment in result.judgments] == [("q2", 1)]
    assert any("2 judgments with a grade below 0" in note for note in result.notes)


def test_of_several_splits_test_is_read(folder: Path) -> None:
    """Queries that only another split judges are left out with a note; one that none judges stays."""
    (folder / "queries.jsonl").write_text(QUERIES + '{"_id": "q3", "text": "?"}\n{"_id": "q4", "text": "?"}\n')
    (folder / "qrels" / "train.tsv").write_text("q1\td1\t1\nq3\td1\t1\n")
    result = golden.read(folder)
    assert [query.id for query in result.queries] == ["q1", "q2", "q4"]
    assert any("1 queries left out" in note and "train" in note for note in result.notes)


def test_a_split_is_chosen_by_its_file(folder: Path) -> None:
    """Without a test split an error lists the others, and the path of one of them reads it."""
    (folder / "qrels" / "test.tsv").rename(folder / "qrels" / "dev.tsv")
    assert len(golden.read(folder).judgments) == 3
    (folder / "qrels" / "train.tsv").write_text("q2\td1\t1\n")
    with pytest.raises(InputError, match=r"several splits, none of them called test: dev, train"):
        golden.read(folder)
    result = golden.read(folder / "qrels" / "train.tsv")
    assert [query.id for query in result.queries] == ["q2"]
    assert result.name == folder.name


def test_files_may_be_packed_flat_or_without_a_corpus(tmp_path: Path) -> None:
    """gzipped files are found, qrels.tsv may lie beside the queries, and documents may come from elsewhere."""
    with gzip.open(tmp_path / "queries.jsonl.gz", "wt") as file:
        file.write(QUERIES)
    (tmp_path / "qrels.tsv").write_text("q1\t0\td1\t1\n")
    result = golden.read(tmp_path)
    assert (len(result.documents), len(result.queries), len(result.judgments)) == (0, 2, 1)
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "d1.md").write_text("# WiFi\n")
    assert golden.read(tmp_path, documents=tmp_path / "texts").document_by_id["d1"].text == "# WiFi\n"


def test_every_mistake_is_reported_with_its_line(folder: Path) -> None:
    """One pass over all files finds them all."""
    (folder / "queries.jsonl").write_text('{"_id": "q1"}\n{"_id": "", "text": "?"}\n{"id": "q3", "text": "?"}\n')
    (folder / "qrels" / "test.tsv").write_text("q1\td1\t1\nq1\td1\nq1\td1\tgood\n\td1\t1\nq1\t0\td1\t1\n")
    with pytest.raises(Mistakes) as caught:
        golden.read(folder)
    reported = [(Path(error.source).name, error.line, error.what) for error in caught.value.errors]
    assert [(name, line) for name, line, _ in reported] == [
        ("test.tsv", 2), ("test.tsv", 3), ("test.tsv", 4), ("test.tsv", 5),
        ("queries.jsonl", 1), ("queries.jsonl", 2), ("queries.jsonl", 3),
    ]  # fmt: skip
    assert reported[0][2] == "2 columns instead of 3"
    assert reported[1][2] == "grade 'good' is not a whole number"
    assert reported[4][2] == "'text' is missing"


def test_a_first_row_with_a_bad_grade_is_no_header(folder: Path) -> None:
    """Only a row that names the column of grades is skipped."""
    (folder / "qrels" / "test.tsv").write_text("q1\td1\tx\nq1\td1\t1\n")
    with pytest.raises(InputError, match=r"test.tsv, line 1: grade 'x'"):
        golden.read(folder)


def test_a_grade_that_is_no_scale_is_refused(folder: Path) -> None:
    """A grade of a million would be a scale of a million names."""
    (folder / "qrels" / "test.tsv").write_text("q1\td1\t1000000\n")
    with pytest.raises(InputError, match="above 255"):
        golden.read(folder)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    """A folder that was named as BEIR and is none says what it lacks."""
    with pytest.raises(InputError, match=r"neither qrels/\*.tsv nor qrels.tsv"):
        golden.read(tmp_path, "beir")
    (tmp_path / "qrels.tsv").write_text("")
    with pytest.raises(InputError, match=r"no queries.jsonl"):
        golden.read(tmp_path, "beir")


def test_unknown_keys_are_reported(folder: Path) -> None:
    """A misspelt key is not lost silently."""
    (folder / "corpus.jsonl").write_text('{"_id": "d1", "txt": "?"}\n')
    assert any("unknown key 'txt'" in note and "'text'" in note for note in golden.read(folder).notes)


def test_the_files_are_those_of_beir(tmp_path: Path) -> None:
    """What is written has BEIR's names, keys and header."""
    original = GoldenSet(
        documents=(Document(id="d1", text="t", title="T"),),
        queries=(Query(id="q1", text="?"),),
        judgments=(Judgment(query="q1", target=Target(document="d1"), grade=1),),
    )
    golden.write(original, tmp_path / "set", "beir")
    assert (tmp_path / "set" / "qrels" / "test.tsv").read_text() == "query-id\tcorpus-id\tscore\nq1\td1\t1\n"
    row = json.loads((tmp_path / "set" / "corpus.jsonl").read_text())
    assert row == {"_id": "d1", "title": "T", "text": "t", "metadata": {}}


def test_what_is_lost_is_reported(tmp_path: Path) -> None:
    """A section is not a document: the note says how many judgments are lost."""
    original = GoldenSet(
        documents=(Document(id="d", text="t", tags=("a",)),),
        queries=(Query(id="q", text="?", paraphrases=("!",)),),
        judgments=(Judgment(query="q", target=Target(document="d", section="S.1"), grade=1),),
    )
    lost = golden.write(original, tmp_path / "set", "beir")
    assert "beir cannot hold section of 1 judgments" in lost
    assert "beir cannot hold tags of 1 documents" in lost
    assert "beir cannot hold paraphrases of 1 queries" in lost


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "a\rb"])
def test_an_id_that_breaks_a_row_is_refused(tmp_path: Path, name: str) -> None:
    """The error names it, and nothing is left behind."""
    original = GoldenSet(
        queries=(Query(id=name, text="?"),),
        judgments=(Judgment(query=name, target=Target(document="d"), grade=1),),
    )
    with pytest.raises(InputError, match=r"id 'a\\.b' holds a tab or a line break"):
        golden.write(original, tmp_path / "set", "beir")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@quick
@given(original=golden_sets(metadata=True))
def test_what_is_kept_goes_round(original: GoldenSet) -> None:
    """Documents, queries and grades come back, whatever their texts and ids hold."""
    judged = {name for judgment in original.judgments for name in (judgment.query, judgment.target.document)}
    assume(not any(mark in name for name in judged for mark in "\t\n\r\0"))
    again = round_trip(original, "beir")
    assert again.documents == original.documents
    assert [(query.id, query.text, query.metadata) for query in again.queries] == [
        (query.id, query.text, query.metadata) for query in original.queries
    ]
    assert again.qrels() == original.qrels()


def test_a_grade_of_many_digits_is_above_the_scale(folder: Path) -> None:
    """Thirty nines are a whole number, but no grade: the message has the line and says so."""
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t" + "9" * 30 + "\nq1\td2\t1\n")
    with pytest.raises(InputError, match=r"test\.tsv, line 2: grade '9{30}' is above 255; use a scale of few grades"):
        golden.read(folder)
