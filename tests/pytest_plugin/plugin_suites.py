"""What the test suites of users in these tests are made of."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

WORDS = ("pool", "wifi", "dogs", "sauna", "gym", "bar", "parking", "breakfast", "garden", "library")
GATE = '[gate]\nmust_pass = ["q-bar"]\n[[gate.rules]]\nmetric = "RR@10"\nmin = 0.5\nnon_inferior = true\n'
FINDER = """
def good(query, k):
    with open("asked.log", "a") as log:
        log.write(query + "\\n")
    return [query.split()[-1], "pool"][:k]

def stuck(query, k):
    return ["pool", "wifi"][:k]

def broken(query, k):
    good(query, k)
    raise ConnectionError("refused")
"""
TEST = "import pytest\nimport finder\n\n@pytest.mark.karat('project')\ndef test_search():\n    return finder.{}\n"

Pytest = Callable[..., subprocess.CompletedProcess[str]]
Count = Callable[[], int]


def search(suite: Path, finder: str) -> None:
    """Make the one test of a suite ask another retriever."""
    (suite / "test_it.py").write_text(TEST.format(finder))
