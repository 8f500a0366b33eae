"""The SMART files of Cranfield."""

from __future__ import annotations

from pathlib import Path

import pytest

from karat import golden
from karat.core import Document, GoldenSet, InputError, Query
from karat.files import Mistakes

DOCUMENTS = """.I 1
.T
wing in a
slipstream .
.A
brenckman,m.
.B
j. ae. scs. 25, 1958.
.W
wing in a slipstream .
  an experimental study .
.I 2
.T
.A
.B
.W
.I 3
.W
text
.A
goes on
.W
and on
"""
QUERIES = ".I 001\n.W\nwhat similarity laws\nmust be obeyed .\n.I 004\n.W\nheat ?\n"
QRELS = "1 1 1 \r\n1 2 2\r\n1 3 3\r\n2 1 4\r\n2 3 -1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cran.all.1400").write_text(DOCUMENTS.replace("\n", "\r\n"), newline="")
    (tmp_path / "cran.qry").write_text(QUERIES)
    (tmp_path / "cranqrel").write_text(QRELS, newline="")
    return tmp_path


def test_queries_are_judged_by_their_position(folder: Path) -> None:
    """cranqrel's 2 is the second query, whose number in cran.qry is 4; there is no query 4."""
    result = golden.read(folder)
    assert result.queries == (
        Query(id="1", text="what similarity laws must be obeyed .", metadata={"number": "001"}),
        Query(id="2", text="heat ?", metadata={"number": "004"}),
    )
    assert any("numbers up to 004; ids are positions, 1 to 2" in note for note in result.notes)


def test_grades_are_turned_round(folder: Path) -> None:
    """1 is the best in the file and 4 here; -1 is 0; the names say both, and a note states the mapping."""
    result = golden.read(folder)
    assert result.qrels() == {"1": {"1": 4, "2": 3, "3": 2}, "2": {"1": 1, "3": 0}}
    assert [name.rpartition("(")[2].rstrip(")") for name in result.grades] == ["-1 in the file", "4", "3", "2", "1"]
    assert result.relevant == 1
    assert any("grades 1, 2, 3, 4 (1 is best) are read as 4, 3, 2, 1, and -1" in note for note in result.notes)


def test_documents_have_their_fields(folder: Path) -> None:
    """Lines of a text stay, a document may be empty, and a field that opens twice is part of the text."""
    result = golden.read(folder)
    assert result.documents == (
        Document(
            id="1",
            title="wing in a slipstream .",
            text="wing in a slipstream .\n  an experimental study .",
            metadata={"author": "brenckman,m.", "source": "j. ae. scs. 25, 1958."},
        ),
        Document(id="2"),
        Document(id="3", text="text\nand on", metadata={"author": "goes on"}),
    )
    assert any("line 22: .W occurs twice in 3" in note for note in result.notes)


def test_the_smaller_file_is_that_of_the_queries(folder: Path) -> None:
    """Where no name says so."""
    (folder / "cran.qry").rename(folder / "cran.1")
    assert len(golden.read(folder).queries) == 2


def test_every_mistake_is_reported_with_its_line(folder: Path) -> None:
    """A query that is not there, a grade that means nothing, too many columns."""
    (folder / "cranqrel").write_text("1 1 1\n" * 60 + f"3 1 1\n0 1 1\n1 1 5\n1 1\n{'9' * 5000} 1 1\n")
    with pytest.raises(Mistakes) as caught:
        golden.read(folder)
    assert [(error.line, error.what) for error in caught.value.errors] == [
        (61, "query '3' is not one of 1 to 2"),
        (62, "query '0' is not one of 1 to 2"),
        (63, "grade '5' is not one of 1, 2, 3, 4, -1"),
        (64, "2 columns instead of 3"),
        (65, f"query '{'9' * 39}...' is not one of 1 to 2"),
    ]


def test_what_is_missing_is_named(folder: Path) -> None:
    """The three files are needed."""
    (folder / "cranqrel").unlink()
    with pytest.raises(InputError, match=r"2 files of \.I records and 0 of judgments; it needs .*cran\.all\.1400"):
        golden.read(folder, "smart")


def test_it_is_not_written(tmp_path: Path) -> None:
    """Nobody needs new ones."""
    with pytest.raises(Exception, match="reads smart and does not write it"):
        golden.write(GoldenSet(), tmp_path / "set", "smart")


def test_a_grade_that_is_not_a_number_is_reported_with_its_line(folder: Path) -> None:
    """Even if no line has a number for a grade, the file is one of judgments."""
    (folder / "cranqrel").write_text("1 1 good\n2 1 bad\n")
    with pytest.raises(Mistakes) as caught:
        golden.read(folder)
    assert [(error.line, error.what) for error in caught.value.errors] == [
        (1, "grade 'good' is not one of 1, 2, 3, 4, -1"),
        (2, "grade 'bad' is not one of 1, 2, 3, 4, -1"),
    ]


def test_the_four_columns_of_cisi_list_what_is_relevant(folder: Path) -> None:
    """CISI.REL and CACM's qrels.text end every line in two zeros, and have no grades."""
    (folder / "cranqrel").rename(folder / "CISI.REL")
    (folder / "CISI.REL").write_text("     1      1\t0\t0.000000\n     1      3\t0\t0.000000\n     2      2\t0\t0\n")
    result = golden.read(folder)
    assert result.qrels() == {"1": {"1": 1, "3": 1}, "2": {"2": 1}}
    assert (result.grades, result.relevant) == (("not relevant", "relevant"), 1)
    assert any("every document that is listed is relevant" in note for note in result.notes)


def test_columns_of_cisi_that_are_not_zero_are_mistakes(folder: Path) -> None:
    """Nobody knows what another number would mean there."""
    (folder / "cranqrel").write_text("1 1 0 0.0\n1 2 0 0.5\n1 3 1 0.0\n1 1 0\n")
    with pytest.raises(Mistakes) as caught:
        golden.read(folder)
    assert [(error.line, error.what) for error in caught.value.errors] == [
        (2, "the last two columns are '0 0.5', not 0 and 0"),
        (3, "the last two columns are '1 0.0', not 0 and 0"),
        (4, "3 columns instead of 4"),
    ]


def test_the_four_columns_of_med_are_those_of_trec(folder: Path) -> None:
    """MED.REL has query, 0, document and grade."""
    (folder / "cranqrel").write_text("1 0 1 1\n1 0 3 0\n2 0 2 1\n")
    result = golden.read(folder)
    assert result.qrels() == {"1": {"1": 1, "3": 0}, "2": {"2": 1}}
