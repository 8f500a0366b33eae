"""The retriever that a new project names: whether its module defines that name, without running its code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from karat.core import InputError, did_you_mean
from karat.files import read_bytes


def describe_missing_name(system: str, file: Path) -> str:
    """Return what is wrong with the name after the colon, if the module's file does not define it; "" if it may.

    ``system`` is as ``package.module:name``. A file that cannot be parsed, or that takes names from elsewhere, says
    nothing.
    """
    module, _, path = system.partition(":")
    name = path.partition(".")[0]
    try:
        tree = ast.parse(read_bytes(file))
    except (InputError, OSError, SyntaxError, ValueError, RecursionError):
        return ""
    names = set(_list_names(tree))
    if {name, "*", "__getattr__"} & names:
        return ""
    near = did_you_mean(name, sorted(other for other in names if not other.startswith("_")))
    return f"{module} has no {name!r} yet{near}"


def _list_names(tree: ast.Module) -> Iterator[str]:
    """Yield whatever is named anywhere in a file: more than it defines, so that no right name is noted."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield node.asname or node.name.partition(".")[0]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
