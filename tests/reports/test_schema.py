"""The schema of the document: what karat writes fits it, and what is wrong does not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.gate_project import accept, make_project, make_run
from karat.experiments import gate_run, open_project, read_answers, report_document
from karat.reports import render_json
from reports.documents import attacked, make_document, without_baseline

SCHEMA: dict[str, Any] = json.loads((Path(__file__).parents[2] / "docs" / "report.schema.json").read_text("utf-8"))
TYPES: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float),
    "null": type(None),
}  # fmt: skip
KNOWN = {
    "$schema", "title", "description", "$defs", "$ref", "type", "required", "properties", "additionalProperties",
    "items", "enum", "const", "pattern", "minimum",
}  # fmt: skip


def mistakes(value: Any, schema: Any, where: str = "$") -> Iterator[str]:
    """Give what does not fit, by the keywords that this schema uses; jsonschema is no development dependency."""
    if schema is True:
        return
    if schema is False:
        yield f"{where}: not known"
        return
    assert schema.keys() <= KNOWN, schema.keys() - KNOWN
    if "$ref" in schema:
        yield from mistakes(value, SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")], where)
    if "const" in schema and value != schema["const"]:
        yield f"{where}: not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r}"
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    if names and not any(
        isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool)) for name in names
    ):
        yield f"{where}: {value!r} is no {names}"
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        yield f"{where}: {value!r}"
    if isinstance(value, int | float) and value < schema.get("minimum", value):
        yield f"{where}: {value}"
    if isinstance(value, list):
        for i, one in enumerate(value):
            yield from mistakes(one, schema.get("items", True), f"{where}[{i}]")
    if isinstance(value, dict):
        yield from (f"{where}: lacks {name}" for name in schema.get("required", ()) if name not in value)
        for name, one in value.items():
            known = schema.get("properties", {}).get(name, schema.get("additionalProperties", True))
            yield from mistakes(one, known, f"{where}.{name}")


@pytest.mark.parametrize("document", [make_document(), without_baseline(), attacked("<b>")])
def test_documents_of_the_tests_fit(document: dict[str, Any]) -> None:
    """What the other tests render is what karat may write."""
    assert list(mistakes(document, SCHEMA)) == []


def test_what_karat_writes_fits(tmp_path: Path) -> None:
    """A real run with a baseline, an error, a query that finds nothing, a limit on a part, queries that must pass."""
    made = make_project(
        tmp_path,
        '[gate]\nmust_pass = ["q01", {query = "q02", metric = "RR@10", min = 0.5}]\n'
        '[[gate.rules]]\nmetric = "latency.p95"\nmax = 500\n'
        '[[gate.rules]]\nmetric = "RR@10"\nwhere = {category = "prices"}\nmax_drop_abs = 0.1\n',
    )
    accept(tmp_path, make_run(tmp_path, made, [1] * 12, "old"))
    run = make_run(tmp_path, made, [0, 2, 3, *[1] * 9], errors={"q05": "Timeout"})
    project = open_project(tmp_path)
    for alone in (False, True):
        document = report_document(gate_run(project, read_answers(run, project.golden), alone=alone))
        assert list(mistakes(json.loads(render_json(document)), SCHEMA)) == []
        assert (document["baseline"] is None) == alone


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("format", 2),
        ("created", "today"),
        ("verdict.outcome", "maybe"),
        ("run.queries", -1),
        ("run.queries", True),
        ("queries", {}),
        ("baseline", "old"),
        ("more", 1),
    ],
)
def test_what_is_wrong_does_not_fit(path: str, value: Any) -> None:
    """One wrong value, or one that is not known, is told by its place."""
    made: Any = make_document()
    *parents, name = path.split(".")
    place = made
    for parent in parents:
        place = place[parent]
    place[name] = value
    assert [one.partition(":")[0] for one in mistakes(made, SCHEMA)] == [f"$.{path}"]


def test_what_is_missing_is_told() -> None:
    """Every key of the document has to be there."""
    for name in make_document():
        made = make_document()
        del made[name]
        assert list(mistakes(made, SCHEMA)) == [f"$: lacks {name}"]


def test_json_is_one_line_of_ascii() -> None:
    """Whatever the content is, a terminal or a log cannot be misled by it."""
    text = render_json(attacked("é\u202e\n\x1b"))
    assert text.isascii()
    assert text.count("\n") == 1
    assert json.loads(text) == attacked("é\u202e\n\x1b")
