"""The habits of CONTRIBUTING.md that a program can see: names, docstrings, lengths, and contracts for every package."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from each import each

ROOT = Path(__file__).resolve().parents[2]
VAGUE = {"asked", "found", "given", "made", "one", "told"}
"""Names of variables, parameters and functions that do not say what they hold or do."""
DOCUMENTED = {"decide_asked", "log_interleaved"}
"""Functions with a parameter ``asked`` in the reference: callers may give it by its name."""
FIRST_WORDS = {"Give", "Gives", "Say", "Says", "Tell", "Tells"}
FUNCTION = 60
"""The most lines of a function, without its docstring."""


def list_complaints(tree: ast.AST) -> Iterator[str]:
    """Yield the vague names, the docstrings that do not say what is returned, and the long functions of a file."""
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name in DOCUMENTED)
    documented = {argument for function in functions for argument in function.args.args if argument.arg == "asked"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE:
            yield f"line {node.lineno}: the name {node.id}"
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr in VAGUE:
            yield f"line {node.lineno}: the attribute {node.attr}"
        if isinstance(node, ast.arg) and node.arg in VAGUE and node not in documented:
            yield f"line {node.lineno}: the parameter {node.arg}"
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        docstring = ast.get_docstring(node) or "-"
        if docstring.split(maxsplit=1)[0] in FIRST_WORDS:
            yield f"line {node.lineno}: the docstring of {node.name}"
        lines = (node.end_lineno or 0) - node.lineno - docstring.count("\n")
        if lines > FUNCTION and not isinstance(node, ast.ClassDef):
            yield f"line {node.lineno}: {node.name} does not fit on a screen"


def list_fields(tree: ast.AST) -> set[int]:
    """Return the lines of fields of classes, which are the names in a document."""
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return {field.lineno for node in classes for field in node.body if isinstance(field, ast.AnnAssign)}


@pytest.mark.slow
def test_names_and_docstrings_say_what_they_hold() -> None:
    """Variables are named by what they hold, docstrings begin with what is returned, functions fit on a screen."""
    complaints = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        fields = {f"line {line}:" for line in list_fields(tree)}
        own = [line for line in list_complaints(tree) if not line.startswith(tuple(fields) or ("-",))]
        complaints |= {str(path.relative_to(ROOT)): own} if own else {}
    assert complaints == {}


@each(
    "code",
    [
        "found = 1",
        "[one for one in x]",
        "def f(told): pass",
        "asked = 1",
        "self.asked = 1",
        "def f(asked): pass",
        "lambda asked: 1",
        'def f():\n    """Give it."""',
        "def f():" + "\n    x" * 61,
    ],
)
def test_the_search_for_names_finds_them(code: str) -> None:
    """The search would notice what it is there for."""
    assert list(list_complaints(ast.parse(code)))


def test_every_package_is_looked_at_for_cycles() -> None:
    """import-linter looks only at the packages that are listed: a new one has to be among them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    listed = {name for contract in contracts for name in contract.get("ancestors", ())}
    source = ROOT / "src"
    packages = {".".join(path.parent.relative_to(source).parts) for path in source.rglob("__init__.py")}
    assert packages - listed == set()
