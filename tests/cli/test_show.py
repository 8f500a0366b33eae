"""``karat show``: one query of a run in the terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from cli.gate_project import make_project, make_set
from karat.core import GoldenSet, Judgment, Target
from karat.gate import Baseline, write_baseline
from karat.projects import gate_run, open_project
from karat.runs import Settings, make_run, read_any_run
from karat.schema import ShownQuery

VERB = "show"
Run = Callable[..., tuple[str, str]]


def save(folder: Path, golden: GoldenSet, name: str, hits: dict[str, list[str]]) -> Path:
    """Save a run with the hits of some queries; the others return an unjudged document."""

    def find(query: str, k: int) -> list[str]:
        number = query.removeprefix("What of ").removesuffix("?")
        if number == "03":
            raise ConnectionError("refused")
        return hits.get(f"q{number}", ["x12"])[:k]

    path = folder / "runs" / f"{name}.jsonl"
    make_run(golden, find, Settings(), name=name, output=path)
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a baseline and a run in which query q01 fell from the first to the seventh rank."""
    judged = Judgment(query="q01", target=Target(document="x01"), grade=0)
    golden = make_set()
    golden = make_project(tmp_path, golden_set=replace(golden, judgments=(*golden.judgments, judged)))
    others = [f"x0{i}" for i in range(1, 7)]
    old = save(tmp_path, golden, "old", {"q01": ["d01", "x01", "x12"], "q02": ["d02"]})
    project = open_project(tmp_path)
    evaluation = gate_run(project, read_any_run(old, golden)).evaluation
    write_baseline(Baseline(evaluation=evaluation, recorded="2026-01-02"), tmp_path / "baseline.json")
    save(tmp_path, golden, "new", {"q01": [*others, "d01"], "q04": []})
    (tmp_path / "karat.toml").write_text('[golden]\npath = "set"\n[eval]\nmeasures = ["RR@10", "R@5"]\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_query_that_fell(run: Run, folder: Path) -> None:
    """Question, expected with grades and ranks, returned with what moved, what left, and why it fell."""
    out, _ = run("runs/new.jsonl", "q01")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[:3] == ["q01 What of 01?", "run new (runs/new.jsonl)", "baseline old"]
    assert "d01 1 + 7 1" in lines
    assert any(line.startswith("x01 x01 0 ") and line.endswith(" 1 2") for line in lines)
    assert any(line.startswith("d01 d01 1 +") and line.endswith(" 7 1") for line in lines)
    assert "x12 ? 3" in lines, "no longer returned"
    assert "- d01 (grade 1) is at rank 7, below the cutoff of @5" in lines
    assert "- 5 of 7 hits are not judged, and count as not relevant" in lines
    assert "- RR@10 went from 1 to 0.1429 against the baseline" in lines


def test_why_a_query_failed(run: Run, folder: Path) -> None:
    """Not returned, nothing returned, or failed: each is said."""
    assert (
        "- d02 (grade 1) is not among the 1 returned; the baseline had it at rank 1" in run("runs/new.jsonl", "q02")[0]
    )
    assert "returned: nothing, the system failed: ConnectionError: refused" in run("runs/new.jsonl", "q03")[0]
    assert "- the system returned nothing" in run("runs/new.jsonl", "q04")[0]


def test_a_query_as_json_is_its_document(run: Run, folder: Path) -> None:
    """Typed; a project stands for its newest run, and a prefix of its file for a run."""
    shown = msgspec.json.decode(run("new", "q01", "--json")[0], type=ShownQuery)
    assert (shown.run, shown.baseline, shown.scores["R@5"]) == ("new", "old", 0.0)
    assert [(row.document, row.grade, row.relevant, row.rank, row.was) for row in shown.expected] == [
        ("d01", 1, True, 7, 1),
        ("x01", 0, False, 1, 2),
    ]
    assert (shown.returned[6].id, shown.returned[6].relevant, shown.returned[1].relevant) == ("d01", True, None)
    assert [(row.document, row.was) for row in shown.left] == [("x12", 3)]


def test_an_unknown_query_is_an_error(run: Run, folder: Path) -> None:
    """With the query that was meant."""
    assert "the run has no query 'Q-01', did you mean 'q01'" in run("runs/new.jsonl", "Q-01", code=2)[1]
