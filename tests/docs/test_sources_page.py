"""The page that maps the features of five designs to karat: nothing is left out, and what it names exists.

Its links are checked with those of all other pages.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import click

from karat.cli._main import cli
from karat.gate import POLICIES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
REQUIREMENTS = {
    "A": 33, "B": 20, "C": 25, "D": 11, "E": 12, "F": 12, "G": 14, "H": 19, "I": 15, "J": 10, "K": 13, "L": 8, "M": 13,
    "N": 13, "O": 9, "P": 7,
}  # fmt: skip
"""How many requirements each part of the list has; they are numbered from 1."""


def test_every_requirement_is_on_the_page_once() -> None:
    rows = re.findall(r"^\| ([A-P]\d\d(?:, [A-P]\d\d)*) \| .+ \| .+ \|$", PAGE, re.MULTILINE)
    listed = [name for row in rows for name in row.split(", ")]
    expected = [f"{part}{number:02}" for part, count in REQUIREMENTS.items() for number in range(1, count + 1)]
    assert sorted(listed) == expected


def find_command(words: list[str]) -> click.Command | None:
    """Return the verb of a line; words after it are its options."""
    command: click.Command | None = cli
    for word in words:
        if isinstance(command, click.Group) and not word.startswith("-"):
            command = command.get_command(click.Context(command), word)
    return command


def test_every_verb_name_policy_and_folder_on_the_page_exists() -> None:
    code = re.findall(r"`([^`]+)`", PAGE)
    lines = [text.split()[1:] for text in code if text.startswith("karat ")]
    assert len(lines) > 30
    assert [line for line in lines if find_command(line) is None] == []
    for text in code:
        if match := re.fullmatch(r"(karat\.\w+)\.(\w+)", text):
            assert hasattr(import_module(match[1]), match[2]), text
        if text.startswith(("tests/", "examples/")):
            assert (ROOT / text).exists(), text
    policies = re.findall(r"polic(?:y|ies) `([\w-]+)`(?: and `([\w-]+)`)?", PAGE)
    assert {name for pair in policies for name in pair if name} <= set(POLICIES)
