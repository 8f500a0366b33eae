"""A project whose system answers, for tests of judges."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from judges.model_server import ModelServer
from karat import golden
from karat.core import Document, GoldenSet, Judgment, Query, Target

COUNT = 12
SET = GoldenSet(
    name="facts",
    grades=("no", "yes"),
    relevant=1,
    documents=tuple(Document(id=f"d{i}", text=f"Fact {i} is true.") for i in range(COUNT)),
    queries=tuple(Query(id=f"q{i}", text=f"Is fact {i} true?", answer=f"Fact {i} is true.") for i in range(COUNT)),
    judgments=tuple(Judgment(query=f"q{i}", target=Target(document=f"d{i}"), grade=1) for i in range(COUNT)),
)
SYSTEM = """
from karat import Answer, Hit

def find(query):
    number = int(query.split()[2])
    return [Hit(f"d{number}", 1.0, content=f"Fact {number} is true.")]

class Good:
    def answer(self, query, k):
        hits = find(query)
        return Answer(hits[0].content, [1], hits)

class Bad(Good):
    def answer(self, query, k):
        hits = find(query)
        return Answer("Fact 99 is true." if query.split()[2] in "0123" else hits[0].content, [1], hits)
"""


def enter_project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a project whose system answers, and make it the current folder."""
    golden.write(SET, folder / "set")
    (folder / "answering.py").write_text(SYSTEM)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "answering", raising=False)
    configure(folder)
    return folder


def configure(folder: Path, judges: str = "", system: str = "Good", gate: str = "") -> None:
    """Write karat.toml."""
    table = f"[judges]\n{judges}\n" if judges else ""
    (folder / "karat.toml").write_text(
        f'[golden]\npath = "set"\n[eval]\nsystem = "answering:{system}"\nmeasures = ["RR@10"]\n{table}{gate}'
    )


def name_model(server: ModelServer, more: str = "") -> str:
    return f'url = "{server.url}"\nmodel = "m"\nnames = ["faithfulness", "context_recall"]\n{more}'
