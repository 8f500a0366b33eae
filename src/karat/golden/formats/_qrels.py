"""Judgments as lines of columns: query, document and grade, as BEIR and TREC write them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from karat.core import GoldenSet, InputError, Judgment, Target, shorten
from karat.files import Reading
from karat.golden.formats._scale import Scale, scale

_GRADE = re.compile(r"[+-]?[0-9]{1,9}(\.0+)?")
_HEADED = {"score", "relevance", "rel", "grade", "label", "judgment", "judgement", "relevancy"}
"""What the column of grades is called."""


@dataclass(slots=True, kw_only=True)
class Qrels:
    """What a file of judgments says."""

    judgments: list[Judgment] = field(default_factory=list)
    queries: dict[str, str] = field(default_factory=dict)
    """Every query that it names, in order, also those whose judgments were left out; one string for each."""
    columns: set[str] = field(default_factory=set)
    """What stands in the second of four columns."""
    scale: Scale


def read_qrels(path: Path, reading: Reading, *, widths: tuple[int, ...], header: bool) -> Qrels:
    """Read judgments; those with a grade below 0 are left out and counted in a note.

    A grade of 0 is kept: it says that someone looked, which is what makes a set's judgments complete.
    """
    found, source = Qrels(scale=scale(1, "")), str(path)
    targets: dict[str, Target] = {}
    dropped = top = width = 0
    for number, cells in _rows(reading.lines(path)):
        grade = _grade(cells[-1])
        if not width and len(cells) in widths:
            width = len(cells)
            if header and cells[-1].strip().lower() in _HEADED:
                continue
        what = _wrong(cells, grade, width, widths)
        if what or grade is None:
            reading.errors.append(InputError(what, source=source, line=number))
            continue
        query, document = found.queries.setdefault(cells[0], cells[0]), cells[-2]
        if len(cells) == 4:
            found.columns.add(cells[1])
        if grade < 0:
            dropped += 1
            continue
        top = max(top, grade)
        target = targets.get(document)
        if target is None:
            target = targets[document] = Target(document=document)
        found.judgments.append(Judgment(query=query, target=target, grade=grade))
    found.scale = scale(top, source)
    if dropped:
        reading.note(f"{source}: {dropped:,} judgments with a grade below 0 left out: no grade is below 0 here")
    if top > 1:
        start = found.scale["relevant"]
        reading.note(f"{source}: grades go up to {top}, and nothing says what they mean: relevant from {start} on")
    return found


def _rows(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Take lines apart, at tabs where they have some and else at blanks; blank lines are skipped."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if "\t" not in line:
            yield number, fields(line)
        elif '"' in line:  # csv.writer quotes a cell that begins with a quote, and so it is read by BEIR
            yield number, next(csv.reader([line.removesuffix("\r")], delimiter="\t"))
        else:
            yield number, line.removesuffix("\r").split("\t")


def fields(line: str) -> list[str]:
    """Split at ASCII white space; an id may hold any other."""
    return line.split() if line.isascii() else [part.decode() for part in line.encode().split()]


@lru_cache(maxsize=256)
def _grade(text: str) -> int | None:
    text = text.strip()
    return int(text.partition(".")[0]) if _GRADE.fullmatch(text) else None


def _wrong(cells: list[str], grade: int | None, width: int, widths: tuple[int, ...]) -> str:
    if len(cells) != width:
        allowed = width or " or ".join(map(str, widths))
        return f"{len(cells)} columns instead of {allowed}"
    if grade is None:
        return f"grade {shorten(cells[-1])} is not a whole number"
    return "an id is empty" if not cells[0] or not cells[-2] else ""


def graded(golden: GoldenSet) -> Iterator[tuple[str, str, int]]:
    """Give query, document and grade of every pair that is judged; a document has the best grade of its parts."""
    for query, documents in golden.qrels().items():
        for document, grade in documents.items():
            yield query, document, grade
