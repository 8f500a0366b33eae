"""Many cases in one test: each is tried, and each failure is shown."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from each import each


def test_every_case_is_tried_and_every_failure_named() -> None:
    """Failed asserts, other errors, pytest's own failures, and skips: none hides the cases after it."""
    tried = []

    @each(("number", "what"), [(1, "assert"), (2, "error"), (3, "fail"), (4, "skip"), (5, "right")])
    def check(number: int, what: str, fixture: str) -> None:
        tried.append((number, fixture))
        assert what != "assert"
        if what == "error":
            raise KeyError(what)
        if what == "fail":
            pytest.fail(what)
        if what == "skip":
            pytest.skip(what)

    assert list(inspect.signature(check).parameters) == ["fixture"]
    with pytest.raises(BaseExceptionGroup, match="4 of 5 cases failed") as failed:
        check(fixture="given")
    assert tried == [(number, "given") for number in range(1, 6)]
    kinds = [type(error) for error in failed.value.exceptions]
    assert kinds == [AssertionError, KeyError, pytest.fail.Exception, pytest.skip.Exception]
    assert failed.value.exceptions[1].__notes__ == ["in the case number=2, what='error'"]


def test_cases_may_have_names() -> None:
    """By a function or a list, as pytest has it."""
    for ids in (lambda value: f"<{value}>", ["<1>", "<2>"]):

        @each("number", [1, pytest.param(2)], ids=ids)
        def check(number: int) -> None:
            assert number == 1

        with pytest.raises(BaseExceptionGroup) as failed:
            check()
        assert failed.value.exceptions[0].__notes__ == ["in the case <2>"]


def test_of_two_tables_every_pair_is_tried() -> None:
    """One decorator over another."""
    tried = []

    @each("a", [1, 2])
    @each("b", [3, 4])
    def check(a: int, b: int) -> None:
        tried.append((a, b))

    check()
    assert tried == [(1, 3), (1, 4), (2, 3), (2, 4)]


def test_each_case_has_a_folder_of_its_own(tmp_path: Path) -> None:
    """A new one in the folder of the test, also below another table."""
    folders = []

    @each("a", [1, 2])
    @each("b", [3, 4])
    def check(a: int, b: int, tmp_path: Path) -> None:
        assert list(tmp_path.iterdir()) == []
        (tmp_path / "file").write_text("text")
        folders.append(tmp_path)

    check(tmp_path=tmp_path)
    assert folders == [tmp_path / name for name in ("0/0", "0/1", "1/0", "1/1")]


def test_no_cases_and_marked_cases_are_a_mistake() -> None:
    """An empty table would pass whatever the code does, and a mark would be lost."""
    with pytest.raises(AssertionError, match="without cases"):
        each("a", [])
    with pytest.raises(AssertionError, match="skipped or marked"):
        each("a", [pytest.param(1, marks=pytest.mark.slow)])
