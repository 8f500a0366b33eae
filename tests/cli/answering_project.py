"""A project whose system answers, for tests of judges."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from judges.model_server import ModelServer
from karat import golden
from karat.core import Document, GoldenSet, Judgment, Query, Target
from karat.runs import digest_run, opinions_path, write_opinions
from karat.schema import OpinionDocument

COUNT = 12


def make_set(count: int = COUNT) -> GoldenSet:
    """Return a set with a document for each query, which holds its answer."""
    return GoldenSet(
        name="facts",
        grades=("no", "yes"),
        relevant=1,
        documents=tuple(Document(id=f"d{i}", text=f"Fact {i} is true.") for i in range(count)),
        queries=tuple(Query(id=f"q{i}", text=f"Is fact {i} true?", answer=f"Fact {i} is true.") for i in range(count)),
        judgments=tuple(Judgment(query=f"q{i}", target=Target(document=f"d{i}"), grade=1) for i in range(count)),
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

class Half(Good):
    def answer(self, query, k):
        if int(query.split()[2]) % 2:
            raise RuntimeError("odd")
        return super().answer(query, k)

class Ghost(Good):
    def answer(self, query, k):
        hits = find(query)
        return Answer(hits[0].content, [1, "ghost"] if query.split()[2] in "0123" else [1], hits)

class Liar(Good):
    def answer(self, query, k):
        lie = "Fact 99 is true."
        return Answer(lie, [1], [Hit(hit.id, hit.score, content=lie) for hit in find(query)])

class Shy(Good):
    def answer(self, query, k):
        if int(query.split()[2]) % 2:
            return Answer("", [], find(query), refused=True)
        return super().answer(query, k)

class Bad(Good):
    def answer(self, query, k):
        hits = find(query)
        return Answer("Fact 99 is true." if query.split()[2] in "0123" else hits[0].content, [1], hits)
"""


def enter_project(folder: Path, monkeypatch: pytest.MonkeyPatch, count: int = COUNT) -> Path:
    """Write a project whose system answers, and make it the current folder."""
    golden.write(make_set(count), folder / "set")
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


def write_scores(run: Path, scores: Mapping[str, Sequence[float | None]], judge: str = "faithfulness") -> None:
    """Write what a judge says of the answers of a run: the votes of each query, None for one that failed."""
    opinions = []
    for query, votes in scores.items():
        for vote, value in enumerate(votes):
            more: dict[str, Any] = {"vote": vote} if vote else {}
            more |= {"reason": "no JSON"} if value is None else {}
            opinions.append(OpinionDocument(query=query, judge=judge, value=value, **more))
    write_opinions(opinions_path(run), digest_run(run.read_bytes()), {judge: f"{judge}:m@1"}, opinions)
