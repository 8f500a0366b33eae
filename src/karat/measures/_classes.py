"""Equivalence classes: documents that can stand for each other count once, where the best of them stands."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath

from karat.core import InputError
from karat.measures._alignment import Judgments
from karat.measures._columns import shorten
from karat.measures._files import find
from karat.measures._text import Table, decode, parse_json


def collapse_judgments(judgments: Judgments, classes: Mapping[str, str]) -> Judgments:
    """Judge classes instead of documents; a class has the best grade of its members.

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
    """Rank classes instead of documents: each stands where its best member does, and the others leave no gap.

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
    """Read ``{document: class}``: a JSON object, of documents or of lists of documents, or lines of two columns."""
    source = find(fspath(path))
    text = decode(source.read(), source.name)
    if source.format in ("json", "jsonl"):
        return _from_json(parse_json(text, source.name), source.name)
    classes: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        fields = [field.strip() for field in line.split("," if source.format == "csv" else None)]
        if not any(fields):
            continue
        if len(fields) != 2:
            raise InputError(
                f"{len(fields)} columns instead of 2", source=source.name, line=number, hint="a line is: document class"
            )
        _put(classes, fields[0], fields[1], source.name, number)
    return classes


def _from_json(value: object, source: str) -> dict[str, str]:
    classes: dict[str, str] = {}
    for key, item in value.items() if isinstance(value, dict) else ():
        pairs = [(member, key) for member in item] if isinstance(item, list) else [(key, item)]
        for document, name in pairs:
            if not isinstance(document, str) or not isinstance(name, str):
                raise InputError(f"class {shorten(key)} holds {shorten(item)}", source=source, hint="ids are strings")
            _put(classes, document, name, source, None)
    if not classes:
        raise InputError(
            "holds no classes", source=source, hint='write {"document": "class"} or {"class": ["document"]}'
        )
    return classes


def _put(classes: dict[str, str], document: str, name: str, source: str, line: int | None) -> None:
    if classes.setdefault(document, name) != name:
        both = f"{shorten(classes[document])} and {shorten(name)}"
        raise InputError(f"document {shorten(document)} is in two classes, {both}", source=source, line=line)
