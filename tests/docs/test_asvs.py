"""The walk through OWASP's list names tests that exist, and leaves no chapter out."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_test_that_is_named_exists() -> None:
    """In the tests of the server, the index or the command line."""
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / "asvs.md").read_text()))
    files = [file for room in ("server", "index", "cli") for file in (ROOT / "tests" / room).glob("test_*.py")]
    present = {name for file in files for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)}
    assert len(named) > 30
    assert named - present == set()


def test_every_chapter_is_walked_through() -> None:
    """The standard has seventeen; what applies names a test in each row."""
    text = (ROOT / "docs" / "asvs.md").read_text()
    heads = " ".join(re.findall(r"^## (.*)$", text, re.MULTILINE))
    assert {int(number) for number in re.findall(r"\d+", heads)} == set(range(1, 18))
    rows = [row.split("|") for row in text.splitlines() if re.match(r"\| \d", row)]
    assert [row[1] for row in rows if "no" not in row[2].split() and "`test_" not in row[4]] == []
