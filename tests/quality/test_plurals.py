"""Messages count in plain English: one query, two queries."""

from __future__ import annotations

import ast
import re
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "src" / "karat"
ROOMS = ("cli", "feedback", "migration", "monitoring", "online")
_THINGS = re.compile(
    r" (?:(?!of|without)[a-z-]+ )?(queries|sessions|segments|records|rows|runs|events|pairs|ids|blocks|judgments|"
    r"documents|differences|latencies|windows|texts|calls|answers|files|grades|parts|trials)\b"
)
_BEFORE = re.compile(r"\b(of|of the|of what|than|to|least|first|all) $")
"""After these stands a total, or a limit."""


def list_counts(path: Path) -> list[str]:
    """Return the f-strings in which a number stands before several things, whatever it is."""
    tree = ast.parse(path.read_text())
    chosen = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.IfExp) and re.search(r"(==|>|!=) 1\b|\bsingle\b", ast.unparse(node.test))
        for inner in ast.walk(node)
    }
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.JoinedStr) or id(node) in chosen:
            continue
        for before, value, after in zip([None, *node.values], node.values, node.values[1:], strict=False):
            if not isinstance(value, ast.FormattedValue) or not isinstance(after, ast.Constant):
                continue
            spec = ast.unparse(value.format_spec) if value.format_spec else ""
            number = ast.unparse(value.value)
            if spec != "f','" and not number.startswith(("len(", "sum(")):
                continue
            total = isinstance(before, ast.Constant) and _BEFORE.search(str(before.value))
            if _THINGS.match(str(after.value)) and not total and not re.search(r"\b_?[A-Z]{4,}\b", number):
                found.append(f"{path.name}:{node.lineno}: {{{number}}}{str(after.value)[:30]}")
    return found


def test_a_number_and_its_noun_agree() -> None:
    """``count_things`` says "1 query" and "2 queries"; a number before a plural would say "1 queries"."""
    files = [path for room in ROOMS for path in sorted((SOURCES / room).rglob("*.py"))]
    assert len(files) > 150
    assert [line for path in files for line in list_counts(path)] == []
