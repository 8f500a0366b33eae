"""After a failed attempt to ask the system, the run before it must not look like the newest."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cli.gate_project import main, make_project
from karat.core import InputError, SystemFailed
from karat.projects import ask_project, decide_run, open_project, report_document
from karat.projects.saved_runs import choose_run
from karat.reports import render_html, render_junit, render_markdown
from karat.schema import from_plain
from karat.schema.attempts import FailedAttempt
from karat.systems import System

TOML = 'system = "finder_that_breaks:find"\n[[gate.rules]]\nmetric = "RR@10"\nmin = 0.5\n'
FINDER = """import os
def find(query, k):
    if os.path.exists("broken"):
        raise RuntimeError("the service answers 503")
    return ["d" + query.split()[-1][:2]]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a run that passes, after which the system broke, and was asked again."""
    make_project(tmp_path, TOML)
    (tmp_path / "finder_that_breaks.py").write_text(FINDER)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    project = open_project(tmp_path)
    ask_project(project, project.settings())
    (tmp_path / "broken").touch()
    with pytest.raises(SystemFailed):
        ask_project(project, project.settings())
    return tmp_path


def test_an_older_run_has_no_decision(folder: Path) -> None:
    """Named as the newest of its project; as a file it is what was asked for, and passes."""
    chosen = choose_run(folder)
    decision = decide_run(chosen).decision
    assert (decision.outcome.value, decision.exit_code) == ("error", 3)
    day = f"{datetime.now(tz=UTC):%Y-%m-%d}"
    check = decision.checks[0]
    assert check.kind == "attempt"
    assert check.reason.startswith(f"a newer attempt failed on {day} at ")
    assert "the service answers 503" in check.reason
    assert decide_run(choose_run(chosen.path)).decision.exit_code == 0


@pytest.mark.parametrize("render", [render_markdown, render_html, render_junit])
def test_every_report_says_so_first(folder: Path, render: Callable[..., str]) -> None:
    """When it failed, why, and that there is no decision; nothing says that the run passed."""
    text = render(report_document(decide_run(choose_run(folder))))
    warning = text.index("WARNING: a newer attempt failed on ")
    assert "the service answers 503" in text[warning : warning + 200]
    assert "NO DECISION" in text.upper().replace("WITHOUT A DECISION", "NO DECISION")
    assert "it may ship" not in text


def test_the_verbs_say_it_and_gate_exits_with_3(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A report is no gate, and exits with 0; its JSON has the verdict of an error."""
    assert main(["gate", "."]) == 3
    assert capsys.readouterr().err.startswith("karat: a newer attempt failed on ")
    assert main(["report", ".", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    verdict = document["verdict"]
    assert (verdict["outcome"], verdict["exit_code"], verdict["passed"]) == ("error", 3, False)
    assert document["caveats"][0].startswith("WARNING: a newer attempt failed on ")


def test_a_run_that_succeeds_is_the_newest_again(folder: Path) -> None:
    """The note of the failure is removed."""
    (folder / "broken").unlink()
    project = open_project(folder)
    asked = ask_project(project, project.settings())
    chosen = choose_run(folder)
    assert (chosen.path, chosen.failed) == (asked.path, None)
    assert decide_run(chosen).decision.exit_code == 0
    assert not (folder / "runs/failed.json").exists()


def test_a_run_that_came_from_elsewhere_after_it_is_newer(folder: Path) -> None:
    """What counts is the time: the note of an old failure may lie beside a run that CI made later."""
    note = folder / "runs/failed.json"
    text = note.read_text(encoding="utf-8")
    note.write_text(text.replace(json.loads(text)["time"], "2026-01-02T03:04:05Z"), encoding="utf-8")
    assert choose_run(folder).failed is None


def test_a_system_that_cannot_be_made_is_a_failed_attempt(folder: Path) -> None:
    """Such as one whose code cannot be imported any more; a bug in it is named with its type."""

    def make() -> System:
        raise ZeroDivisionError("division by zero")

    project = open_project(folder)
    with pytest.raises(ZeroDivisionError):
        ask_project(project, project.settings(), make_system=make)
    failed = choose_run(folder).failed
    assert failed is not None
    assert (failed.error, failed.exit_code) == ("ZeroDivisionError: division by zero", 1)
    assert from_plain(json.loads((folder / "runs/failed.json").read_text()), FailedAttempt) == failed


def test_a_note_that_cannot_be_read_is_an_error(folder: Path) -> None:
    """It is not taken for success."""
    (folder / "runs/failed.json").write_text("{}")
    with pytest.raises(InputError, match=r"failed.json: is not what karat wrote"):
        choose_run(folder)
