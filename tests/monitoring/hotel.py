"""A golden set of two questions, as a project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from karat.config import Config, EvalConfig
from karat.core import Document, GoldenSet, Judgment, Query, Target
from karat.projects import Project

TEXTS = {
    "wifi": "The wireless network is free in every room, and its password is on the key card.",
    "pool": "The swimming pool on the roof opens at seven in the morning.",
}
QUESTIONS = {
    "wifi": ("How do I get into the wifi?", "wifi password"),
    "pool": ("When does the pool open?", "pool hours"),
}


def make_project(**fields: Any) -> Project:
    golden = GoldenSet(
        name="hotel",
        documents=tuple(Document(id=name, text=text) for name, text in TEXTS.items()),
        queries=tuple(Query(id=name, text=first, paraphrases=(other,)) for name, (first, other) in QUESTIONS.items()),
        judgments=tuple(Judgment(query=name, target=Target(document=name), grade=3) for name in TEXTS),
    )
    return Project(config=Config(folder=Path(), golden=Path(), eval=EvalConfig(), **fields), golden=golden)
