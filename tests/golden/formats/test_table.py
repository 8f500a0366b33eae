"""A table of one's own: questions with their documents, as people keep them in a spreadsheet."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from each import each
from karat import golden
from karat.core import GRADES, GoldenSet, InputError


def read(folder: Path, text: str, name: str = "desk.csv") -> GoldenSet:
    """Return the set of a file with this text, whose format is recognised."""
    (folder / name).write_bytes(text.encode())
    return golden.read(folder / name)


def read_lines(folder: Path, *rows: dict[str, Any]) -> GoldenSet:
    """Return the set of a JSONL file."""
    return read(folder, "".join(json.dumps(row) + "\n" for row in rows), "desk.jsonl")


def grades(read: GoldenSet) -> dict[tuple[str, str], int]:
    """Return the grades by the question's text and the document."""
    texts = {query.id: query.text for query in read.queries}
    return {(texts[judgment.query], judgment.target.document): judgment.grade for judgment in read.judgments}


@each("separator", [",", ";", "\t"])
def test_a_row_is_a_question_and_a_document(tmp_path: Path, separator: str) -> None:
    """Spreadsheets write commas, semicolons or tabs. What is listed without a grade is relevant."""
    rows = [("question", "document"), ("when do you open?", "hours"), ("do you sell maps?", "shop/maps")]
    desk = read(tmp_path, "".join(separator.join(row) + "\n" for row in rows))
    assert grades(desk) == {("when do you open?", "hours"): 1, ("do you sell maps?", "shop/maps"): 1}
    assert (desk.name, desk.relevant, desk.notes) == ("desk", 1, ())


def test_a_spreadsheet_writes_a_mark_capitals_and_line_ends_of_its_own(tmp_path: Path) -> None:
    """As Excel saves it in a country with decimal commas."""
    desk = read(tmp_path, '\ufeffQuestion;Document;Grade\r\n"open; when?";hours;1\r\n')
    assert grades(desk) == {("open; when?", "hours"): 1}
    assert desk.notes == ()


def test_rows_with_one_question_are_one_query(tmp_path: Path) -> None:
    """It has a judgment from each row, and grades up to 3 are karat's four."""
    desk = read(tmp_path, "question,document,grade\nopen?,hours,3\nopen?,contact,1.0\nmaps?,maps,2\n")
    assert grades(desk) == {("open?", "hours"): 3, ("open?", "contact"): 1, ("maps?", "maps"): 2}
    assert [query.text for query in desk.queries] == ["open?", "maps?"]
    assert (desk.grades, desk.relevant) == (GRADES, 2)


def test_the_id_of_a_question_does_not_depend_on_its_place(tmp_path: Path) -> None:
    """Without a column of ids it comes from the text, so that a baseline knows the question when rows move."""
    first = read(tmp_path, "question,document\nopen?,a\nmaps?,b\n")
    second = read(tmp_path, "question,document\nmaps?,b\nopen?,a\n")
    assert {query.id for query in first.queries} == {query.id for query in second.queries}
    assert re.fullmatch(r"open-[0-9a-f]{6}", first.queries[0].id)  # and people know it again
    assert re.fullmatch(r"q-[0-9a-f]{6}", read(tmp_path, "question,document\n???,a\n").queries[0].id)


def test_a_grade_that_is_missing_is_not_a_judgment(tmp_path: Path) -> None:
    """Half of a table that somebody is still judging says nothing: a blank cell is not read as relevant."""
    desk = read(tmp_path, "question,document,grade\nopen?,hours,1\nopen?,contact,\nmaps?,maps,\n")
    assert grades(desk) == {("open?", "hours"): 1}
    assert desk.notes == (f"{tmp_path / 'desk.csv'}: 2 documents without a grade left out, which nobody has judged",)
    nothing = read(tmp_path, "question,document,grade\nopen?,hours,\n")
    assert grades(nothing) == {}


@each(
    "documents",
    [
        ["hours", "contact"],
        {"hours": 1, "contact": 1},
        "hours; contact",
        '["hours", "contact"]',
        '{"hours": 1, "contact": 1}',
    ],
)
def test_several_documents_stand_in_one_row(tmp_path: Path, documents: Any) -> None:
    """As a list, as an object of grades, or as text, in which a cell of CSV writes them."""
    desk = read_lines(tmp_path, {"id": "q1", "question": "open?", "documents": documents})
    assert grades(desk) == {("open?", "hours"): 1, ("open?", "contact"): 1}
    assert [query.id for query in desk.queries] == ["q1"]


@each("name", ["document", "document_id", "doc_id", "documents", "document_ids", "doc_ids", "relevant"])
def test_columns_have_the_names_that_people_give_them(tmp_path: Path, name: str) -> None:
    """``query`` is the question if the row has an id."""
    desk = read_lines(tmp_path, {"query_id": "q1", "query": "open?", name: "hours", "relevance": 2})
    assert grades(desk) == {("open?", "hours"): 2}


def test_one_id_in_a_single_column_is_not_cut(tmp_path: Path) -> None:
    """Only a column of several documents has a separator within."""
    assert grades(read(tmp_path, "question,document\nopen?,a;b\n")) == {("open?", "a;b"): 1}


def test_what_else_is_known_of_a_question_is_kept(tmp_path: Path) -> None:
    """The first row that says it counts; a question may have no answer, and no documents."""
    desk = read(
        tmp_path,
        "id,question,document,answer,category,answerable,zone\n"
        "q1,open?,hours,,times,,\nq1,open?,contact,At 7.,other,,x\nq2,stamps?,,,,FALSE,\n",
    )
    opening, stamps = desk.queries
    assert (opening.answer, opening.category, opening.answerable) == ("At 7.", "times", True)
    assert (stamps.id, stamps.answerable) == ("q2", False)
    assert desk.notes == (f"{tmp_path / 'desk.csv'}, line 2: unknown key 'zone' (and in 2 more rows), ignored",)


@each(
    ("text", "problem"),
    [
        ("id,question,document\nq1,open?,a\nq1,maps?,b\n", "line 3: query 'q1' has another text in an earlier row"),
        ("question,document,grade\nopen?,a,high\n", "line 2: 'grade' is 'high', not a whole number"),
        ("question,document,grade\nopen?,a,-1\n", "line 2: grade -1 is not one from 0 to 255"),
        ("question,document,answerable\nopen?,a,maybe\n", "line 2: 'answerable' is 'maybe', neither true nor false"),
        ("question,document\n,a\n", "line 2: 'question' (or 'query') is missing"),
        ("question,document\n", "holds no questions"),
    ],
)
def test_mistakes_say_where_they_are(tmp_path: Path, text: str, problem: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert problem in str(caught.value)


def test_spreadsheets_write_a_line_with_the_separator(tmp_path: Path) -> None:
    """It is no header, and the lines keep their numbers."""
    desk = read(tmp_path, "\ufeffsep=;\r\nquestion;documents\r\nopen, or not?;hours;\r\n".replace("hours;", "hours"))
    assert grades(desk) == {("open, or not?", "hours"): 1}
    with pytest.raises(InputError, match="line 3: 'grade' is 'high'"):
        read(tmp_path, "sep=;\nquestion;document;grade\nopen?;hours;high\n")


@each("name", ["Question ID", "question_id", "Query ID", "ID"])
def test_the_id_of_a_question_may_have_its_usual_names(tmp_path: Path, name: str) -> None:
    """With capitals and blanks, as in a spreadsheet."""
    desk = read(tmp_path, f"{name},Question,Document ID\nq1,open?,hours\n")
    assert ([query.id for query in desk.queries], grades(desk)) == (["q1"], {("open?", "hours"): 1})


def test_blanks_around_an_id_do_not_count(tmp_path: Path) -> None:
    """Nobody sees them in a cell. A cell of blanks is empty, and JSON has what it says."""
    desk = read(tmp_path, "id,question,document\n q1 ,open?, hours \nq1,open?,contact\nq2,maps?,  \n")
    assert [query.id for query in desk.queries] == ["q1", "q2"]
    assert grades(desk) == {("open?", "hours"): 1, ("open?", "contact"): 1}
    assert grades(read_lines(tmp_path, {"question": "open?", "document": " hours"})) == {("open?", " hours"): 1}


@each(
    ("data", "problem"),
    [
        (b"", "recognises: the file is empty"),
        (
            "question,document\nopen?,hours\n".encode("utf-16"),
            "recognises: is UTF-16 ('Unicode text'), not UTF-8: save it as UTF-8",
        ),
        (
            b"ID;Question;DocumentID;Grade\nq1;open?;hours;1\n",
            "has the columns 'ID', 'Question', 'DocumentID', 'Grade', and none called 'document': "
            "call 'DocumentID' 'document'",
        ),
        (b"Questions,Document\nopen?,hours\n", "and none called 'question': call 'Questions' 'question'"),
        (
            b"Frage;Dokument\nopen?;hours\n",
            "has the columns 'Frage', 'Dokument', and none called 'question' or 'document'",
        ),
    ],
)
def test_what_a_table_lacks_is_named(tmp_path: Path, data: bytes, problem: str) -> None:
    """The columns that came, and the one that is missing; or that the file is empty, or not UTF-8."""
    (tmp_path / "desk.csv").write_bytes(data)
    with pytest.raises(InputError) as caught:
        golden.read(tmp_path / "desk.csv")
    assert problem in str(caught.value)


@each("column", ["rank", "score", "similarity"])
def test_what_a_system_returned_is_no_golden_set(tmp_path: Path, column: str) -> None:
    """With all that it returned as relevant, the same system would be perfect."""
    with pytest.raises(InputError, match="is not a golden set that karat recognises"):
        read(tmp_path, f"id,question,document,{column}\nq1,open?,hours,1\n")


@each("row", [
    {"query": "q1", "document": "hours", "grade": 1},
    {"query": "q1", "query_text": "open?", "document": "hours", "title": "", "text": "7 to 19", "grade": None},
])  # fmt: skip
def test_files_of_karats_own_are_no_tables(tmp_path: Path, row: dict[str, Any]) -> None:
    """In judgments, and in pairs to judge, ``query`` is an id: read as a question it would be asked."""
    with pytest.raises(InputError, match="call the columns of a table of your own 'question' and 'document'"):
        read_lines(tmp_path, row)
