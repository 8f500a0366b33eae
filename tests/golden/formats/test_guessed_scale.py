"""Files that number their grades and do not say which of them are relevant."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from each import each
from karat import golden
from karat.config import read_config
from karat.core import GRADES, GoldenSet, InputError, Judgment, Query, Target


def write_table(folder: Path, grades: list[int]) -> Path:
    """Write a table with a question for each grade."""
    rows = [f"question {i}?,d{i},{grade}\n" for i, grade in enumerate(grades)]
    (folder / "desk.csv").write_text("question,document,grade\n" + "".join(rows))
    return folder / "desk.csv"


def make_set(grades: list[int], relevant: int) -> GoldenSet:
    """Return a set with karat's four grades and a question for each of these."""
    return GoldenSet(
        name="set",
        grades=GRADES,
        relevant=relevant,
        queries=tuple(Query(id=f"q{i}", text=f"question {i}?") for i in range(len(grades))),
        judgments=tuple(
            Judgment(query=f"q{i}", target=Target(document=f"d{i}"), grade=grade) for i, grade in enumerate(grades)
        ),
    )


def test_one_better_grade_does_not_take_the_others_away(tmp_path: Path) -> None:
    """Twenty questions with grade 1 stay answerable when one with grade 3 joins them, and a note says why."""
    desk = golden.read(write_table(tmp_path, [1] * 20 + [3]))
    assert desk.relevant == 1
    assert len(desk.findable) == 21
    (note,) = desk.notes
    assert "relevant from 1 on, since from 2 on 20 of 21 judged queries would have nothing relevant" in note
    assert note.endswith("relevant = 1 in [golden] of karat.toml confirms that, relevant = 2 changes it")


@each("grades, relevant", [([3, 3, 1], 2), ([3, 1], 1), ([3, 3, 0, 0, 0], 2), ([2, 1, 1], 1), ([4, 1], 1)])
def test_the_usual_start_holds_if_it_leaves_most_questions_something(
    tmp_path: Path, grades: list[int], relevant: int
) -> None:
    """Questions of which every document was judged not relevant say nothing about where relevance starts."""
    assert golden.read(write_table(tmp_path, grades)).relevant == relevant


def test_a_note_counts_what_the_guess_leaves_without_anything_relevant(tmp_path: Path) -> None:
    """Some questions may have only tangential documents."""
    (note,) = golden.read(write_table(tmp_path, [3, 3, 1])).notes
    assert "relevant from 2 on, so that 1 of 3 judged queries have nothing relevant" in note
    assert note.endswith("relevant = 2 in [golden] of karat.toml confirms that, relevant = 1 changes it")


@each("kind", ["beir", "trec", "rig", "beluga"])
@each("relevant", [1, 2])
@each("grades", [[1, 1, 3], [3, 3, 1]])
def test_conversion_keeps_the_start_of_relevance(tmp_path: Path, kind: str, relevant: int, grades: list[int]) -> None:
    """What would be guessed otherwise is declared in the file."""
    golden.write(make_set(grades, relevant), tmp_path / "out", kind)
    assert golden.read(tmp_path / "out", kind).relevant == relevant


@each("relevant", [1, 2, 3])
def test_a_project_says_what_is_relevant(tmp_path: Path, relevant: int) -> None:
    """What the project says wins over the guess, and there is nothing to note."""
    write_table(tmp_path, [1, 1, 3])
    (tmp_path / "karat.toml").write_text(f'[golden]\npath = "desk.csv"\nrelevant = {relevant}\n')
    desk = golden.open_set(tmp_path)
    assert (desk.relevant, desk.notes) == (relevant, ())


def test_a_scale_beside_judgments_may_be_declared_by_the_project(tmp_path: Path) -> None:
    """BEIR's files number their grades, too."""
    golden.write(replace(make_set([3, 3, 2], 2)), tmp_path / "beir", "beir")
    assert golden.read(tmp_path / "beir", relevant=1).relevant == 1


@each("value, problem", [("0", "relevant is 0"), ("256", "relevant is 256"), ('"2"', "wrong type"), ("true", "type")])
def test_a_start_that_is_no_grade_is_refused(tmp_path: Path, value: str, problem: str) -> None:
    """It is a whole number from 1 on."""
    (tmp_path / "karat.toml").write_text(f"[golden]\nrelevant = {value}\n")
    with pytest.raises(InputError, match=problem):
        read_config(tmp_path)


def test_a_start_above_the_grades_is_refused(tmp_path: Path) -> None:
    """Nothing would be relevant."""
    with pytest.raises(InputError, match=r"grades up to 1, and relevant = 2 in .* makes none of them relevant"):
        golden.read(write_table(tmp_path, [1, 1]), relevant=2)


@each("kind", ["karat", "fit"])
def test_a_set_that_declares_its_scale_is_not_overruled(tmp_path: Path, kind: str) -> None:
    """A project that says something else contradicts it."""
    golden.write(make_set([3, 3, 2], 2), tmp_path / "set", kind)
    assert golden.read(tmp_path / "set", kind, relevant=2).relevant == 2
    with pytest.raises(InputError, match=r"relevant from 2 on, and .golden. of karat.toml from 1 on"):
        golden.read(tmp_path / "set", kind, relevant=1)
