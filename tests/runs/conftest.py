"""A small project with a golden set, systems of the user's own, and the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from textwrap import dedent

import pytest

from karat import golden
from karat.cli import main
from karat.core import Document, GoldenSet, Judgment, Query, Target

LETTERS = GoldenSet(
    name="letters",
    grades=("no", "yes"),
    relevant=1,
    documents=tuple(Document(id=name, text=f"All about {name}.") for name in "abcdef"),
    queries=tuple(Query(id=f"q{name}", text=f"{name}?") for name in "abcdef"),
    judgments=tuple(Judgment(query=f"q{name}", target=Target(document=name), grade=1) for name in "abcdef"),
)
NUMBERS = count()


@pytest.fixture
def letters() -> GoldenSet:
    """Six questions, each with one answer."""
    return LETTERS


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the letters and the lexical channel, which is the current folder."""
    golden.write(LETTERS, tmp_path / "set")
    (tmp_path / "karat.toml").write_text('[golden]\npath = "set"\n[pipeline]\ndense = false\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.fixture
def module(folder: Path) -> Callable[[str], str]:
    """Write a module of the user's, and give its name."""

    def write(code: str) -> str:
        name = f"faulty_{next(NUMBERS)}"
        (folder / f"{name}.py").write_text("import asyncio, math, sys, time\n" + dedent(code))
        return name

    return write


@pytest.fixture
def call(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[str, str]]:
    """Call ``karat eval`` in the project; give what it prints and what it says."""

    def karat_eval(*arguments: str | Path, code: int = 0) -> tuple[str, str]:
        wanted = ("-m", "RR@10", "-m", "R@5", "-m", "P@5")
        monkeypatch.setattr(sys, "argv", ["karat", "eval", ".", *wanted, *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert ended.value.code == code, out + err
        assert "Traceback" not in err
        return out, err

    return karat_eval


@pytest.fixture
def kept(folder: Path) -> Callable[[], list[Path]]:
    """Return the files that runs left behind, but for the note of a failure, which is no run."""
    return lambda: sorted(path for path in folder.glob("runs/*") if path.name != "failed.json")
