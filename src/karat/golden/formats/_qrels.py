"""Judgments as lines of columns: query, document and grade, as BEIR and TREC write them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from karat.core import GoldenSet, InputError, Judgment, Target, shorten
from karat.files import Reading
from karat.golden.formats._scale import HIGHEST

_GRADE = re.compile(r"([+-]?)0*([0-9]+)(\.0+)?")
_DIGITS = 9
_GRADE_COLUMNS = {"score", "relevance", "rel", "grade", "label", "judgment", "judgement", "relevancy"}
"""The names of the column of grades in a header."""


@dataclass(slots=True, kw_only=True)
class Qrels:
    """The contents of a file of judgments."""

    judgments: list[Judgment] = field(default_factory=list)
    queries: dict[str, str] = field(default_factory=dict)
    """Every query that is named, in order, including those whose judgments were left out. One string object each."""
    columns: set[str] = field(default_factory=set)
    """The values of the second of four columns."""
    source: str = ""
    """The path of the file."""

    def best_grades(self) -> list[int]:
        """Return the best grade of each query that has judgments."""
        best: dict[str, int] = {}
        for judgment in self.judgments:
            if judgment.grade >= best.get(judgment.query, 0):
                best[judgment.query] = judgment.grade
        return list(best.values())


def read_qrels(path: Path, reading: Reading, *, widths: tuple[int, ...], header: bool) -> Qrels:
    """Read judgments. Those with a grade below 0 are left out and counted in a note.

    A grade of 0 is kept: it says that someone looked, which makes the judgments of a set complete.
    """
    qrels, source = Qrels(source=str(path)), str(path)
    targets: dict[str, Target] = {}
    negative = width = 0
    for number, cells in _split_lines(reading.lines(path)):
        grade = _parse_grade(cells[-1])
        if not width and len(cells) in widths:
            width = len(cells)
            if header and cells[-1].strip().lower() in _GRADE_COLUMNS:
                continue
        problem = _find_problem(cells, grade, width, widths)
        if problem or grade is None:
            hint = "use a scale of few grades" if grade is not None and grade > HIGHEST else ""
            reading.errors.append(InputError(problem, source=source, line=number, hint=hint))
            continue
        query, document = qrels.queries.setdefault(cells[0], cells[0]), cells[-2]
        if len(cells) == 4:
            qrels.columns.add(cells[1])
        if grade < 0:
            negative += 1
            continue
        target = targets.get(document)
        if target is None:
            target = targets[document] = Target(document=document)
        qrels.judgments.append(Judgment(query=query, target=target, grade=grade))
    if negative:
        reading.note(f"{source}: {negative:,} judgments with a grade below 0 left out, since grades begin at 0 here")
    return qrels


def _split_lines(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each line, split at tabs if it has any, else at blanks."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if "\t" not in line:
            yield number, split_fields(line)
            continue
        cells = line.removesuffix("\r").split("\t")
        if '"' in line:  # csv.writer quotes a cell that begins with a quote, and BEIR reads it back this way
            with suppress(csv.Error):  # a carriage return within the line, or a huge cell: taken as it stands
                cells = next(csv.reader([line.removesuffix("\r")], delimiter="\t"))
        yield number, cells


def split_fields(line: str) -> list[str]:
    """Split a line at ASCII white space. An id may hold any other white space."""
    return line.split() if line.isascii() else [part.decode() for part in line.encode().split()]


@lru_cache(maxsize=256)
def _parse_grade(text: str) -> int | None:
    """Return a whole number, or None. One with more than nine digits becomes one that is off every scale."""
    match = _GRADE.fullmatch(text.strip())
    if match is None:
        return None
    return int(match[1] + (match[2] if len(match[2]) <= _DIGITS else "9" * _DIGITS))


def _find_problem(cells: list[str], grade: int | None, width: int, widths: tuple[int, ...]) -> str:
    if len(cells) != width:
        allowed = width or " or ".join(map(str, widths))
        return f"{len(cells)} columns instead of {allowed}"
    if grade is None:
        return f"grade {shorten(cells[-1])} is not a whole number"
    if grade > HIGHEST:
        return f"grade {shorten(cells[-1])} is above {HIGHEST}"
    return "an id is empty" if not cells[0] or not cells[-2] else ""


def graded_pairs(golden: GoldenSet) -> Iterator[tuple[str, str, int]]:
    """Yield query, document and grade of every judged pair. A document has the best grade of its parts."""
    for query, documents in golden.qrels().items():
        for document, grade in documents.items():
            yield query, document, grade
