"""Test suites of users, in folders of their own, and pytest as they run it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from plugin_suites import FINDER, GATE, WORDS, Count, Pytest, search

from karat import golden
from karat.core import Document, GoldenSet, Judgment, Query, Target
from karat.gate import Baseline, write_baseline
from karat.projects import gate_run, open_project
from karat.runs import read_any_run
from warm import Warm


@pytest.fixture
def tiny() -> GoldenSet:
    """Ten documents and a query for each."""
    return GoldenSet(
        name="tiny",
        version="1.0.0",
        grades=("no", "yes"),
        relevant=1,
        documents=tuple(Document(id=word, text=f"All about the {word} of the hotel.") for word in WORDS),
        queries=tuple(Query(id=f"q-{word}", text=f"where is the {word}") for word in WORDS),
        judgments=tuple(Judgment(query=f"q-{word}", target=Target(document=word), grade=1) for word in WORDS),
    )


@pytest.fixture
def suite(tmp_path: Path, tiny: GoldenSet) -> Path:
    """A test suite with a retriever, and a project with two rules on one measure and a query that must pass."""
    (tmp_path / "project").mkdir()
    golden.write(tiny, tmp_path / "project" / "set")
    (tmp_path / "project" / "karat.toml").write_text(
        f'[golden]\npath = "set"\n[pipeline]\ndense = false\n[eval]\nmeasures = ["RR@10"]\n{GATE}'
    )
    others = ("randomly", "cacheprovider", "hypothesispytest", "pytest_cov", "anyio", "platformdirs", "schemathesis")
    quiet = "-W ignore::pytest.PytestAssertRewriteWarning"  # karat is there before pytest is: see warm.py
    addopts = " ".join(["--strict-markers", quiet, *(f"-p no:{plugin}" for plugin in others)])
    (tmp_path / "pytest.ini").write_text(f"[pytest]\naddopts = {addopts}\n")
    (tmp_path / "finder.py").write_text(FINDER)
    search(tmp_path, "good")
    return tmp_path


@pytest.fixture
def run_pytest(suite: Path, environment: dict[str, str], warm: Warm) -> Pytest:
    """Run pytest in the suite as a user does; the plugin comes by its entry point."""
    program = warm.write_program(suite.parent / f"{suite.name}-pytest", "pytest")

    def run(
        *arguments: str, folder: Path = suite, cold: bool = False, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        start: list[str | Path] = [sys.executable, "-m", "pytest"] if cold else [program]
        return subprocess.run(
            [*start, *arguments],
            cwd=folder, env=environment | variables, capture_output=True, text=True, timeout=600,
        )  # fmt: skip

    return run


@pytest.fixture
def count_questions(suite: Path) -> Count:
    """Count how often the good retriever was asked since the last time."""

    def count() -> int:
        log = suite / "asked.log"
        lines = len(log.read_text().splitlines()) if log.exists() else 0
        log.unlink(missing_ok=True)
        return lines

    return count


@pytest.fixture
def accept(suite: Path, run_pytest: Pytest, count_questions: Count) -> Callable[[], None]:
    """Keep the run of the suite, and make it the baseline."""

    def accepted() -> None:
        assert run_pytest("--karat-runs", "kept").returncode == 0
        (file,) = (suite / "kept").glob("good-*.jsonl")
        project = open_project(suite / "project")
        gated = gate_run(project, read_any_run(file, project.golden))
        write_baseline(Baseline(evaluation=gated.evaluation), suite / "project" / "baseline.json")
        count_questions()

    return accepted
