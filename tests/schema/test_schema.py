"""Published schemas: every document has a type, a schema that is itself valid, and a name."""

from __future__ import annotations

import ast
import json
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import jsonschema
import msgspec
import numpy as np
import pytest

import karat.cli
import karat.schema
from each import each
from karat.core import UsageError
from karat.schema import DOCUMENTS, PowerPlan, SystemChange, json_schema, to_json


def test_the_door_names_the_home_of_every_name() -> None:
    """``__all__`` and the table of modules have the same names."""
    assert set(karat.schema._HOME) == set(karat.schema.__all__)


def test_the_command_line_prints_no_document_of_its_own() -> None:
    """What a verb prints as JSON is a published document: only values within a line of text are dumped there."""
    folder = Path(karat.cli.__file__).parent
    dumping = {path.name for path in folder.glob("*.py") if "json.dumps" in path.read_text(encoding="utf-8")}
    assert {name for name in dumping if not name.endswith("_text.py")} == set()


def test_the_command_line_makes_no_document() -> None:
    """Functions of the library do, so that Python and the server get the same."""
    modules = [import_module(module.name) for module in walk_packages(karat.schema.__path__, "karat.schema.")]
    parts = {value.__name__ for module in modules for value in vars(module).values() if is_document(value)}
    assert {"OnlineIngest", "StartedFile", *(name for _, name in DOCUMENTS.values())} <= parts
    for path in Path(karat.cli.__file__).parent.glob("*.py"):
        calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        assert not {ast.unparse(call).rpartition(".")[2] for call in calls} & parts, path.name


def is_document(value: object) -> bool:
    """Whether a value is the type of a document, or of a part of one."""
    return isinstance(value, type) and issubclass(value, msgspec.Struct)


@cache
def check_schema(schema: str) -> None:
    """Look at a schema as the draft wants it, once; those of the same part in many documents are equal."""
    jsonschema.Draft202012Validator.check_schema(json.loads(schema))


@each("name", DOCUMENTS)
def test_a_schema_is_valid_and_says_what_it_is(name: str) -> None:
    """Draft 2020-12, with the name of the document as its title and the docstring of the type as its description."""
    schema = json_schema(name)
    for part in (*schema.get("$defs", {}).values(), {**schema, "$defs": {}}):
        check_schema(json.dumps(part))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    module, class_name = DOCUMENTS[name]
    document = getattr(import_module(f"karat.schema.{module}"), class_name)
    assert (schema["title"], bool(schema["description"])) == (f"karat {name}", True)
    assert json_schema(document) == schema | {"title": class_name}


@each("name", DOCUMENTS)
def test_documents_are_frozen_and_take_keywords_only(name: str) -> None:
    """A document is a value: nothing changes it once it is built."""
    module, class_name = DOCUMENTS[name]
    document = getattr(import_module(f"karat.schema.{module}"), class_name)
    assert issubclass(document, msgspec.Struct)
    assert document.__struct_config__.frozen
    with pytest.raises(TypeError, match="positional"):
        document("x")


def test_a_document_that_nobody_published_is_refused_by_name() -> None:
    """A near miss is named, and else all documents."""
    with pytest.raises(UsageError, match=r"no document is called 'powr', did you mean 'power'"):
        json_schema("powr")
    with pytest.raises(
        UsageError, match="there are ablation, acceptance, audit-line, baseline, baseline-rebase, blocks, "
    ):
        json_schema("zzzzzz")


def test_json_is_what_the_json_module_writes() -> None:
    """Keys in the order of the fields, ASCII only, and NumPy's numbers as numbers."""
    change: Any = SystemChange(key="Größe", now=np.float64(0.5), was=(1, None))
    assert to_json(change) == json.dumps({"key": "Größe", "now": 0.5, "was": [1, None]})
    assert to_json({"n": np.float64(2.0)}, indent=2) == '{\n  "n": 2.0\n}'


def test_nan_never_leaves_memory() -> None:
    """NaN and infinity are refused, and so is what JSON has no place for."""
    for value in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="not JSON compliant"):
            to_json(SystemChange(key="a", now=value, was=None))
    with pytest.raises(NotImplementedError, match="object has no place in JSON"):
        to_json(SystemChange(key="a", now=object(), was=None))


@pytest.mark.slow
def test_a_document_is_read_back_as_it_was() -> None:
    """The type decodes what it encodes, so that the server's clients can use it too."""
    from karat.projects import plan_power

    plan = plan_power(sd=0.2, n=30)
    assert msgspec.json.decode(to_json(plan), type=PowerPlan) == plan
