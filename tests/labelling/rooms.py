"""A project whose pairs people label, small and the same each time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from karat import golden
from karat.core import Document, GoldenSet, Judgment, Query, Target
from karat.labelling import Answer, Desk, QueuePlan, make_queue, next_task, open_desk, save_label

QUERIES, DOCUMENTS = 8, 6
TEXT = "# Room {0}\n\nThe café of room {0} opens at {0}:30.\n\nIt closes late.\n"


def make_golden(queries: int = QUERIES, documents: int = DOCUMENTS) -> GoldenSet:
    """Queries of two categories; each has one judged document, d0."""
    return GoldenSet(
        name="rooms",
        version="1.0.0",
        documents=tuple(Document(id=f"d{i}", text=TEXT.format(i), title=f"Room {i}") for i in range(documents)),
        queries=tuple(
            Query(id=f"q{i}", text=f"When does café {i} open?", category=["times", "places"][i % 2])
            for i in range(queries)
        ),
        judgments=tuple(
            Judgment(query=f"q{i}", target=Target(document="d0"), grade=0, annotator="eve") for i in range(queries)
        ),
    )


def make_project(folder: Path, set_: GoldenSet | None = None) -> Path:
    """Write a project with two runs, a.txt and b.txt, that rank the documents d1 to d5 in opposite orders."""
    folder.mkdir(exist_ok=True)
    set_ = set_ or make_golden()
    golden.write(set_, folder / "set")
    (folder / "karat.toml").write_text('[golden]\npath = "set"\n')
    names = [document.id for document in set_.documents]
    for name, order in (("a.txt", names), ("b.txt", names[::-1])):
        rows = [f"{q.id} Q0 {d} {r} {9 - r} t\n" for q in set_.queries for r, d in enumerate(order, 1)]
        (folder / name).write_text("".join(rows))
    return folder


def make_desk(folder: Path, **plan: Any) -> Desk:
    """A desk with one queue, which is a pool of both runs unless the plan says otherwise."""
    desk = open_desk(make_project(folder))
    add_queue(desk, **plan)
    return desk


def add_queue(desk: Desk, name: str = "first", **plan: Any) -> Desk:
    folder = desk.config.folder
    defaults: dict[str, Any] = {
        "kind": "pool",
        "sources": (str(folder / "a.txt"), str(folder / "b.txt")),
        "overlap": 1.0,
    }
    make_queue(desk, QueuePlan(name=name, **defaults | plan))
    return desk


def label_all(
    desk: Desk, who: str, grade: Callable[[str, str], int], *, queue: str = "first", most: int = 10**6
) -> int:
    """Let a person label until nothing is left, and return how many pairs that were."""
    count = 0
    while count < most and (task := next_task(desk, queue, who)) is not None:
        save_label(
            desk, queue, who, Answer(query=task.query, document=task.document, grade=grade(task.query, task.document))
        )
        count += 1
    return count


def say(
    desk: Desk, who: str, query: str, document: str, grade: int | None = None, queue: str = "first", **more: Any
) -> Any:
    """Let a person label one pair."""
    return save_label(desk, queue, who, Answer(query=query, document=document, grade=grade, **more))


def ana_says(query: str, document: str) -> int:
    return (int(query[1:]) * 3 + int(document[1:])) % 4


def bo_says(query: str, document: str) -> int:
    """Like ana, but lower for some."""
    grade = ana_says(query, document)
    return max(0, grade - 1) if (int(query[1:]) + 2 * int(document[1:])) % 5 == 0 else grade


def list_lines(path: Path) -> Sequence[str]:
    return path.read_text().splitlines()
