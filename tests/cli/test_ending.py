"""How the process ends: at once if only code of karat ran in it, and as Python ends it if the user's ran, too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from in_process import run_karat
from karat import golden
from karat.cli import _ending
from karat.core import Document, GoldenSet, Judgment, Query, Target

LETTERS = GoldenSet(
    name="letters",
    grades=("no", "yes"),
    relevant=1,
    documents=tuple(Document(id=name, text=f"All about {name}.") for name in "ab"),
    queries=tuple(Query(id=f"q{name}", text=f"about {name}?") for name in "ab"),
    judgments=tuple(Judgment(query=f"q{name}", target=Target(document=name), grade=1) for name in "ab"),
)
PROGRAM = """
import atexit, os, sys
from karat.cli import main
from karat.cli._ending import note_own_code

class Log:
    def __init__(self):
        self.itself = self  # so that only a search for cycles can free it

    def __del__(self, write=os.write):
        write(2, b"freed")

log = Log()
atexit.register(os.write, 2, b"handled ")
sys.argv = ["karat", "--version"]
{first}
main()
"""


@pytest.mark.parametrize(("first", "messages"), [("", "handled "), ("note_own_code()", "handled freed")])
def test_values_are_freed_one_by_one_only_for_code_of_the_user(first: str, messages: str) -> None:
    """What is printed arrives, handlers run, and the exit code is karat's either way."""
    command = [sys.executable, "-c", PROGRAM.format(first=first)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert (process.returncode, process.stderr) == (0, messages)
    assert process.stdout.startswith("karat, version ")


@pytest.mark.parametrize(
    ("config", "own"),
    [("[pipeline]\ndense = false\n", False), ('[eval]\nsystem = "ending_system:find"\n', True)],
)
def test_a_retriever_is_code_of_the_user(
    config: str, own: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pipeline is not: no code of the project's folder runs then."""
    golden.write(LETTERS, tmp_path / "set")
    (tmp_path / "karat.toml").write_text(f'[golden]\npath = "set"\n{config}')
    (tmp_path / "ending_system.py").write_text("def find(query, k):\n    return [query[6]]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(os, "_exit", os._exit)
    monkeypatch.setattr(_ending, "_ending", _ending._Ending())
    assert run_karat("eval", ".").returncode == 0
    assert _ending.has_own_code() is own
