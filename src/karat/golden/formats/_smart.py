"""The SMART files of Cranfield, CISI, CACM and MED. They are read and not written.

Documents and queries have ``.I .T .A .B .W`` fields. Judgments are lines in one of three layouts:

- Cranfield: query, document, grade. The grades go down: 1 is a complete answer and 4 is of minimum interest. They are
  read as 4 and 1. A fifth value, -1, occurs once for each query, and its meaning is disputed. It is read as grade 0,
  which is how published work counts it, so everything else is relevant. No headline number should rest on these grades.
- CISI and CACM: query, document, 0, 0. Every document that is listed is relevant.
- MED: query, 0, document, grade, as TREC writes them.

The judgments mean the first, second, third query of the file and not its numbers, which in Cranfield have gaps (1, 2,
4, 8 ... 365). So a query's id is its position; its number in the file is metadata. A field that occurs twice in a
record is taken for a slip, and the second one is read as part of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from karat.core import Document, GoldenSet, InputError, Judgment, Query, Target, shorten
from karat.files import Reading, record_folder
from karat.golden._format import FORMATS, Format
from karat.golden.formats._head import read_head
from karat.golden.formats._records import name_from_path
from karat.golden.formats._scale import BINARY

GRADES = (
    "disputed (-1 in the file)",
    "of minimum interest (4)",
    "useful as background (3)",
    "relevant to a high degree (2)",
    "a complete answer (1)",
)
_GRADE = {"1": 4, "2": 3, "3": 2, "4": 1, "-1": 0}
_RECORD = re.compile(r"\.I +(\S+) *")
_FIELD = re.compile(r"\.([A-Z]) *")
_JUDGMENT = re.compile(r"\s*\d+\s+\d+\s+\S+(\s+\S+)?\s*")
_PLACE = re.compile(r"[0-9]{1,9}")
_ZERO = re.compile(r"0+(\.0*)?")

_SAMPLE = 50  # lines that have to look alike
_LOOKED_AT = 100  # files; a folder of SMART files has a handful

_Fields = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class _Layout:
    """The columns of a file of judgments."""

    width: int
    document: int
    """The column of the document."""
    grades: dict[str, int]
    """The grades by what is written in the last column."""
    scale: tuple[str, ...]
    note: str


_CRANFIELD = _Layout(
    3,
    1,
    _GRADE,
    GRADES,
    "grades 1, 2, 3, 4 (1 is best) are read as 4, 3, 2, 1, and -1, whose meaning is disputed, as 0; relevant from 1 on",
)
_CISI = _Layout(4, 1, {}, BINARY, "four columns that end in two zeros: every document that is listed is relevant")
_MED = _Layout(4, 2, {"0": 0, "1": 1}, BINARY, "four columns as in TREC: query, 0, document, grade")
_HINT = "it needs files of documents, queries and judgments, such as cran.all.1400, cran.qry and cranqrel"


def _read(path: Path, reading: Reading) -> GoldenSet:
    texts, qrels = _find_files(path)
    record_folder(path)
    by_name = [file for file in texts if "qry" in file.name.lower() or "quer" in file.name.lower()]
    file = by_name[0] if len(by_name) == 1 else min(texts, key=lambda file: file.stat().st_size)
    queries = _read_queries(file, reading)
    documents = [document for text in texts if text != file for document in _read_documents(text, reading)]
    lines = [(number, line.split()) for number, line in enumerate(reading.lines(qrels), 1) if line.strip()]
    layout = _find_layout([cells for _, cells in lines])
    reading.note(f"{qrels}: {layout.note}")
    return GoldenSet(
        name=name_from_path(path),
        grades=layout.scale,
        relevant=1,
        documents=tuple(documents),
        queries=tuple(queries),
        judgments=tuple(_read_judgments(lines, layout, qrels, len(queries), reading)),
    )


def _find_files(folder: Path) -> tuple[list[Path], Path]:
    """Return the files of records, and the one of judgments."""
    if not folder.is_dir():
        raise InputError("is a file, not a folder", source=str(folder), hint=_HINT)
    texts, qrels = [], []
    for file in sorted(folder.iterdir())[:_LOOKED_AT]:
        lines = read_head(file).lines[:_SAMPLE]
        if lines and _RECORD.fullmatch(lines[0]):
            texts.append(file)
        elif lines and sum(map(bool, map(_JUDGMENT.fullmatch, lines))) >= 0.8 * len(lines):
            qrels.append(file)  # the other lines are reported as mistakes when it is read
    if len(texts) < 2 or len(qrels) != 1:
        problem = f"has {len(texts)} files of .I records and {len(qrels)} of judgments"
        raise InputError(problem, source=str(folder), hint=_HINT)
    return texts, qrels[0]


def _read_records(path: Path, reading: Reading) -> Iterator[tuple[str, _Fields]]:
    """Yield the number and the fields of each record."""
    number, fields, current = "", dict[str, list[str]](), list[str]()
    for at, line in enumerate((line.removesuffix("\r") for line in reading.lines(path)), 1):
        if record := _RECORD.fullmatch(line):
            if number:
                yield number, fields
            number, fields, current = record[1], {}, []
        elif field := _FIELD.fullmatch(line):
            if field[1] in fields:
                reading.note(f"{path}, line {at}: .{field[1]} occurs twice in {number}, read as part of its text")
                current = fields.setdefault("W", [])
            else:
                current = fields[field[1]] = []
        else:
            current.append(line)
    if number:
        yield number, fields


def _join(fields: _Fields, name: str, separator: str = "\n") -> str:
    return separator.join(fields.get(name, ())).strip()


def _read_documents(path: Path, reading: Reading) -> Iterator[Document]:
    for number, fields in _read_records(path, reading):
        metadata = {"author": _join(fields, "A", " "), "source": _join(fields, "B", " ")}
        yield Document(
            id=number,
            text=_join(fields, "W"),
            title=_join(fields, "T", " "),
            metadata={key: value for key, value in metadata.items() if value},
        )


def _read_queries(path: Path, reading: Reading) -> list[Query]:
    queries = [
        Query(id=str(position), text=_join(fields, "W", " "), metadata={"number": number})
        for position, (number, fields) in enumerate(_read_records(path, reading), 1)
    ]
    if any(query.metadata["number"].lstrip("0") != query.id for query in queries):
        last = queries[-1].metadata["number"]
        reading.note(f"{path}: numbers up to {last}; ids are positions, 1 to {len(queries)}, which the judgments mean")
    return queries


def _find_layout(rows: list[list[str]]) -> _Layout:
    """Return the layout that most rows have. Rows of another layout are mistakes."""
    four = [cells for cells in rows if len(cells) == 4]
    if 2 * len(four) < len(rows):
        return _CRANFIELD
    return _MED if 2 * sum(cells[1] == "0" for cells in four) > len(four) else _CISI


def _read_judgments(
    lines: list[tuple[int, list[str]]], layout: _Layout, path: Path, queries: int, reading: Reading
) -> Iterator[Judgment]:
    for number, cells in lines:
        if problem := _find_problem(cells, layout, queries):
            reading.errors.append(InputError(problem, source=str(path), line=number))
            continue
        grade = layout.grades.get(cells[-1], 1)
        yield Judgment(query=str(int(cells[0])), target=Target(document=cells[layout.document]), grade=grade)


def _find_problem(cells: list[str], layout: _Layout, queries: int) -> str:
    if len(cells) != layout.width:
        return f"{len(cells)} columns instead of {layout.width}"
    if layout.grades and cells[-1] not in layout.grades:
        return f"grade {shorten(cells[-1])} is not one of {', '.join(layout.grades)}"
    if not layout.grades and not all(map(_ZERO.fullmatch, cells[2:])):
        return f"the last two columns are {shorten(' '.join(cells[2:]))}, not 0 and 0"
    if not _PLACE.fullmatch(cells[0]) or not 1 <= int(cells[0]) <= queries:
        return f"query {shorten(cells[0])} is not one of 1 to {queries}"
    return ""


def recognise(path: Path) -> bool:
    """Return whether a folder has files of .I records and a file of judgments."""
    try:
        return path.is_dir() and bool(_find_files(path))
    except (InputError, OSError):
        return False


FORMATS.add(
    "smart",
    Format(
        name="smart",
        summary="SMART files, as of Cranfield (cran.all.1400, cran.qry, cranqrel), CISI, CACM and MED",
        read=_read,
        recognise=recognise,
        published="the University of Glasgow publishes Cranfield, CISI, CACM and MED as IR test collections",
    ),
)
