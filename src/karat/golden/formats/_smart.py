"""The SMART files of Cranfield, only read: documents and queries in ``.I .T .A .B .W`` fields, and ``cranqrel``.

- ``cranqrel`` means the first, second, third query of ``cran.qry``, not its numbers (1, 2, 4, 8 ... 365). So a query's
  id is its position; its number in the file is metadata.
- The file's grades go down: 1 is a complete answer and 4 of minimum interest. They are read as 4 and 1. A fifth value,
  -1, stands once for each query, and what it means is disputed: it is read as grade 0, which is how published work
  counts it. So all that is not -1 is relevant. No headline number should hang on these grades.
- A field that opens a second time in a document is a slip of the pen, and is read as part of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from karat.core import Document, GoldenSet, InputError, Judgment, Query, Target, shorten
from karat.files import Reading
from karat.golden._format import FORMATS, Format
from karat.golden.formats._head import head
from karat.golden.formats._records import name_of

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
_TRIPLE = re.compile(r"\s*\d+\s+\d+\s+-?\d+\s*")

_SAMPLE = 50  # lines that have to look alike
_LOOKED_AT = 100  # files; a folder of SMART files has a handful

_Fields = dict[str, list[str]]


def _read(path: Path, reading: Reading) -> GoldenSet:
    texts, qrels = _files(path)
    by_name = [file for file in texts if "qry" in file.name.lower() or "quer" in file.name.lower()]
    queries = by_name[0] if len(by_name) == 1 else min(texts, key=lambda file: file.stat().st_size)
    found = _queries(queries, reading)
    documents = [document for file in texts if file != queries for document in _documents(file, reading)]
    reading.note(
        f"{qrels}: grades 1, 2, 3, 4 (1 is best) are read as 4, 3, 2, 1, and -1, whose meaning is disputed, as 0; "
        "relevant from 1 on"
    )
    return GoldenSet(
        name=name_of(path),
        grades=GRADES,
        relevant=1,
        documents=tuple(documents),
        queries=tuple(found),
        judgments=tuple(_judgments(qrels, len(found), reading)),
    )


def _files(folder: Path) -> tuple[list[Path], Path]:
    """Give the two files of records, and the one of judgments."""
    texts, qrels = [], []
    for file in sorted(folder.iterdir())[:_LOOKED_AT]:
        lines = head(file).lines[:_SAMPLE]
        if lines and _RECORD.fullmatch(lines[0]):
            texts.append(file)
        elif lines and sum(map(bool, map(_TRIPLE.fullmatch, lines))) >= 0.8 * len(lines):
            qrels.append(file)  # what is wrong with the rest is told when it is read
    if len(texts) < 2 or len(qrels) != 1:
        what = f"has {len(texts)} files of .I records and {len(qrels)} of judgments"
        raise InputError(what, source=str(folder), hint="cran.all.1400, cran.qry and cranqrel are needed")
    return texts, qrels[0]


def _records(path: Path, reading: Reading) -> Iterator[tuple[str, _Fields]]:
    """Give number and fields of each record."""
    number, fields, current = "", dict[str, list[str]](), list[str]()
    for at, line in enumerate((line.removesuffix("\r") for line in reading.lines(path)), 1):
        if record := _RECORD.fullmatch(line):
            if number:
                yield number, fields
            number, fields, current = record[1], {}, []
        elif field := _FIELD.fullmatch(line):
            if field[1] in fields:
                reading.note(f"{path}, line {at}: .{field[1]} stands twice in {number}, read as part of its text")
                current = fields.setdefault("W", [])
            else:
                current = fields[field[1]] = []
        else:
            current.append(line)
    if number:
        yield number, fields


def _text(fields: _Fields, name: str, between: str = "\n") -> str:
    return between.join(fields.get(name, ())).strip()


def _documents(path: Path, reading: Reading) -> Iterator[Document]:
    for number, fields in _records(path, reading):
        metadata = {"author": _text(fields, "A", " "), "source": _text(fields, "B", " ")}
        yield Document(
            id=number,
            text=_text(fields, "W"),
            title=_text(fields, "T", " "),
            metadata={key: value for key, value in metadata.items() if value},
        )


def _queries(path: Path, reading: Reading) -> list[Query]:
    found = [
        Query(id=str(position), text=_text(fields, "W", " "), metadata={"number": number})
        for position, (number, fields) in enumerate(_records(path, reading), 1)
    ]
    if any(query.metadata["number"].lstrip("0") != query.id for query in found):
        last = found[-1].metadata["number"]
        reading.note(f"{path}: numbers up to {last}; ids are positions, 1 to {len(found)}, which the judgments mean")
    return found


def _judgments(path: Path, queries: int, reading: Reading) -> Iterator[Judgment]:
    for at, line in enumerate(reading.lines(path), 1):
        cells = line.split()
        if not cells:
            continue
        what = ""
        if len(cells) != 3:
            what = f"{len(cells)} columns instead of 3"
        elif cells[2] not in _GRADE:
            what = f"grade {shorten(cells[2])} is none of {', '.join(_GRADE)}"
        elif not cells[0].isdecimal() or not 1 <= int(cells[0]) <= queries:
            what = f"query {shorten(cells[0])} is none of 1 to {queries}"
        if what:
            reading.errors.append(InputError(what, source=str(path), line=at))
        else:
            grade = _GRADE[cells[2]]
            yield Judgment(query=str(int(cells[0])), target=Target(document=cells[1]), grade=grade)


def recognise(path: Path) -> bool:
    """Look for a folder with files of .I records and one of number triples."""
    try:
        return path.is_dir() and bool(_files(path))
    except (InputError, OSError):
        return False


FORMATS.add(
    "smart",
    Format(
        name="smart",
        summary="the SMART files of Cranfield: cran.all.1400, cran.qry, cranqrel",
        read=_read,
        recognise=recognise,
    ),
)
