"""Workers of xdist that send fewer messages: all that people look at is still shown."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
EVERY_KIND = """
import pytest, time

@pytest.fixture
def broken(): raise ValueError("before the test")

@pytest.fixture
def breaking():
    yield
    raise ValueError("after the test")

@pytest.fixture
def long(): time.sleep(0.02)

@pytest.fixture
def loud(): print("said before the test")

def test_passes(): pass
def test_long_before(long): pass
def test_fails(loud): assert "this" == "that"
def test_breaks_before(broken): pass
def test_breaks_after(breaking): pass
def test_skips(): pytest.skip("for a reason")
@pytest.mark.skip("by its mark")
def test_skipped(): pass
@pytest.mark.xfail(strict=True)
def test_known(): assert 0
@pytest.mark.xfail(strict=True)
def test_known_no_longer(): pass
"""


@pytest.mark.slow
def test_every_outcome_is_shown(tmp_path: Path, environment: dict[str, str]) -> None:
    """Failures and errors with their text and output, skips with their reasons, what takes long, and the counts."""
    (tmp_path / "test_kinds.py").write_text(EVERY_KIND)
    plugins = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist,messages", "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-m", "pytest", "-n", "1", "-rA", "--durations", "9", "-p", "no:cacheprovider"]
    process = subprocess.run(
        command, cwd=tmp_path, env=environment | plugins, capture_output=True, text=True, timeout=600
    )
    assert "2 failed, 3 passed, 2 skipped, 1 xfailed, 2 errors in" in process.stdout, process.stdout + process.stderr
    for text in (
        "E   ValueError: before the test",
        "E       ValueError: after the test",
        "E   AssertionError: assert 'this' == 'that'",
        "said before the test",
        "test_kinds.py:23: for a reason",
        "by its mark",
        "s setup    test_kinds.py::test_long_before",
        "PASSED test_kinds.py::test_passes",
        "XFAIL test_kinds.py::test_known",
        "FAILED test_kinds.py::test_known_no_longer",
        "[100%]",
    ):
        assert text in process.stdout, f"{text}\n{process.stdout}"
