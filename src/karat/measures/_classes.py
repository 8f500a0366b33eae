"""Equivalence classes: documents that can stand for each other count once, at the rank of the best of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike, fspath

from karat.core import InputError, check_id, shorten
from karat.files import decode, parse_json
from karat.measures._alignment import Judgments
from karat.measures._files import Source, find
from karat.measures._text import Table, delimited_rows


def collapse_judgments(judgments: Judgments, classes: Mapping[str, str]) -> Judgments:
    """Return judgments of classes instead of documents; a class has the best grade of its members.

    >>> judged = Judgments.from_dicts({"q": {"a": 1, "b": 3, "c": 2}})
    >>> collapse_judgments(judged, {"a": "A", "b": "A"}).documents
    ['A', 'c']
    """
    grades = judgments.grades.tolist()
    table: dict[str, dict[str, int]] = {}
    for query, start, end in judgments.spans():
        units = table.setdefault(query, {})
        for j in range(start, end):
            unit = classes.get(judgments.documents[j], judgments.documents[j])
            units[unit] = max(grades[j], units.get(unit, grades[j]))
    return Judgments.from_dicts(table, judgments.source)


def collapse_run(run: Table, classes: Mapping[str, str]) -> Table:
    """Return a run of classes instead of documents: each at the place of its best member, without gaps.

    >>> collapse_run({"q": {"a": 0.9, "x": 0.8, "b": 0.7, "y": 0.6}}, {"a": "A", "b": "A"})
    {'q': {'A': 3, 'x': 2, 'y': 1}}
    """
    table = {}
    for query, scored in run.items():
        ranking = sorted(scored, key=lambda document: (scored[document], document), reverse=True)
        units = list(dict.fromkeys(classes.get(document, document) for document in ranking))
        table[query] = {unit: len(units) - i for i, unit in enumerate(units)}
    return table


def read_classes(path: str | PathLike[str]) -> dict[str, str]:
    """Read ``{document: class}`` from JSON, which may also be ``{class: [documents]}``, or from rows of two columns."""
    source = find(fspath(path))
    classes: dict[str, str] = {}
    for line, document, name in _pairs(source):
        member, unit = check_id(document, source.name, line), check_id(name, source.name, line)
        if classes.setdefault(member, unit) != unit:
            what = f"document {shorten(member)} is in two classes, {shorten(classes[member])} and {shorten(unit)}"
            raise InputError(what, source=source.name, line=line, hint="keep one of them")
    if not classes:
        hint = 'write {"document": "class"} or {"class": ["document"]}'
        raise InputError("holds no classes", source=source.name, hint=hint)
    return classes


def _pairs(source: Source) -> Iterator[tuple[int | None, object, object]]:
    """Yield each document with its class, and its line."""
    match source.format:
        case "json" | "jsonl":
            value = parse_json(decode(source.read(), source.name), source.name)
            for key, item in value.items() if isinstance(value, dict) else ():
                members = [(member, key) for member in item] if isinstance(item, list) else [(key, item)]
                yield from ((None, document, name) for document, name in members)
        case "csv" | "tsv":
            for line, cells in delimited_rows(source.read(), source):
                yield _two(line, cells, source.name)
        case "trec":
            for line, text in enumerate(decode(source.read(), source.name).split("\n"), 1):
                # With two columns only, a CSV file is not recognised as one.
                if cells := [cell.strip() for cell in text.split("," if text.count(",") == 1 else None)]:
                    yield _two(line, cells, source.name)
        case "parquet":
            raise InputError("classes are not read from Parquet", source=source.name, hint="give JSON, CSV or TSV")


def _two(line: int, cells: list[str], source: str) -> tuple[int, str, str]:
    if len(cells) != 2:
        what = f"{len(cells)} column{'' if len(cells) == 1 else 's'} instead of 2"
        raise InputError(what, source=source, line=line, hint="a line is: document class")
    return line, cells[0], cells[1]
