"""What is compiled before the workers start is what they would compile."""

from __future__ import annotations

from pathlib import Path

import pytest

import compiling


def test_a_test_is_compiled_once_and_again_after_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    """What is kept is where pytest looks for it; one with a mistake is left to whoever imports it."""
    monkeypatch.setattr(compiling, "ROOT", tmp_path)
    folder = tmp_path / "tests"
    folder.mkdir()
    for name, text in {"test_a.py": "assert 1\n", "test_b.py": "assert (\n", "other.py": "assert 1\n"}.items():
        (folder / name).write_text(text)
    compiling.run_all(list(compiling.find_tasks(pytestconfig)), 2)
    (kept,) = (folder / "__pycache__").iterdir()
    assert compiling.rewrite._read_pyc(folder / "test_a.py", kept) is not None
    assert len(list(compiling.find_tasks(pytestconfig))) == 1
    (folder / "test_a.py").write_text("assert 2\n")
    assert compiling.rewrite._read_pyc(folder / "test_a.py", kept) is None
