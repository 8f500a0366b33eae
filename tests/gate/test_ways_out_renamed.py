"""Ways found to get exit 0 where it must not be: a baseline whose documents were renamed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cli.gate_project import main, make_project, make_run, make_set
from karat.core import GoldenSet, Target
from karat.projects import open_project
from karat.projects.baselines import accept_run
from karat.runs import read_any_run

SIZE = 50
GATE = '[gate]\nrules = [{ metric = "RR@10", non_inferior = true }]\n'
LOST = 6
RENAMED = 10


def renamed(text: str = "") -> GoldenSet:
    """The set after ten documents were moved to another folder: those of q01 to q10."""
    names = {f"d{i:02}": f"moved/d{i:02}" for i in range(1, RENAMED + 1)}
    whole = make_set(SIZE)
    return replace(
        whole,
        documents=tuple(
            replace(document, id=names[document.id], text=text or document.text) if document.id in names else document
            for document in whole.documents
        ),
        judgments=tuple(
            replace(judgment, target=Target(document=names.get(judgment.target.document, judgment.target.document)))
            for judgment in whole.judgments
        ),
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose baseline finds everything first."""
    golden_set = make_project(tmp_path, GATE, golden_set=make_set(SIZE))
    accept_run(
        open_project(tmp_path), read_any_run(make_run(tmp_path, golden_set, [1] * SIZE, "old"), golden_set), force="1"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("places", [[0] * LOST + [1] * (SIZE - LOST), [1] * (SIZE - LOST) + [0] * LOST])
def test_a_rename_beside_a_loss(folder: Path, places: list[int]) -> None:
    """Six questions are lost, and the renamed documents were worth more than that: among these, or among others."""
    make_project(folder, GATE, golden_set=renamed())
    assert main(["gate", str(make_run(folder, renamed(), places))]) == 1


def test_a_rename_a_rebase_and_a_loss(folder: Path) -> None:
    """The rebase keeps what the documents were worth."""
    make_project(folder, GATE, golden_set=renamed())
    assert main(["baseline", "rebase"]) == 0
    assert main(["gate", str(make_run(folder, renamed(), [0] * LOST + [1] * (SIZE - LOST)))]) == 1


def test_edited_documents_beside_a_loss(folder: Path) -> None:
    """What was renamed and edited is not compared, and the loss elsewhere is seen in what is left."""
    make_project(folder, GATE, golden_set=renamed("rewritten"))
    assert main(["gate", str(make_run(folder, renamed("rewritten"), [1] * (SIZE - LOST) + [0] * LOST))]) == 1


def test_a_loss_among_edited_documents(folder: Path) -> None:
    """All that was lost is among what is not compared: ten of fifty, of which nobody knows anything."""
    make_project(folder, GATE, golden_set=renamed("rewritten"))
    assert main(["gate", str(make_run(folder, renamed("rewritten"), [0] * LOST + [1] * (SIZE - LOST)))]) == 4


def fewer(count: int) -> GoldenSet:
    """The set without its first questions."""
    whole = make_set(SIZE)
    return replace(whole, queries=whole.queries[count:], judgments=whole.judgments[count:])


@pytest.mark.parametrize("gone", [2, 6, 40])
def test_deleted_questions(folder: Path, gone: int) -> None:
    """Whoever deletes what a change broke gets no green gate, however many or few that is; one is a caveat."""
    make_project(folder, GATE, golden_set=fewer(gone))
    assert main(["gate", str(make_run(folder, fewer(gone), [1] * (SIZE - gone)))]) == 4


def test_a_policy_may_let_it_pass(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In so many words; on_inconclusive alone does not."""
    for key, code in (("on_inconclusive", 4), ("on_changed_questions", 0)):
        make_project(folder, GATE.replace("[gate]\n", f'[gate]\n{key} = "pass"\n'), golden_set=fewer(6))
        assert main(["gate", str(make_run(folder, fewer(6), [1] * (SIZE - 6)))]) == code
        effect = "fails here (on_changed_questions = fail)" if code else "passes here (on_inconclusive = pass)"
        verdict = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("INCONCLUSIVE"))
        assert f"which {effect}: 6 of 50 questions that the baseline scored are no longer in the golden set" in verdict


def test_a_set_that_grew_by_more_than_a_fifth(folder: Path) -> None:
    """The old questions do not speak for the set, until the next baseline takes the new ones in."""
    golden_set = make_project(folder, GATE, golden_set=make_set(SIZE + 20))
    run = str(make_run(folder, golden_set, [1] * (SIZE + 20)))
    assert main(["gate", run]) == 4
    assert main(["baseline", "update", run]) == 0
    assert main(["gate", run]) == 0
