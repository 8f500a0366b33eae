"""Format, lint, layers and types: what ``./scripts/check`` looks at, beside the other tests instead of before them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(sys.executable).parent


def complaints(*command: str, paths: tuple[str, ...] = ("src",)) -> str:
    """Run a tool on the repository; return what it prints if it finds something, or else nothing."""
    search = os.pathsep.join(str(ROOT / path) for path in paths)
    process = subprocess.run(
        [TOOLS / command[0], *command[1:]],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": search},
        capture_output=True,
        text=True,
        timeout=900,
    )
    return process.stdout + process.stderr if process.returncode else ""


def test_the_code_is_formatted() -> None:
    """``ruff format`` would change nothing."""
    assert complaints("ruff", "format", "--check", ".") == ""


def test_the_linter_finds_nothing() -> None:
    """``ruff check`` with the rules of pyproject.toml."""
    assert complaints("ruff", "check", ".") == ""


def test_imports_keep_the_contracts() -> None:
    """Layers point down, packages are entered by their doors, and there are no cycles."""
    assert complaints("lint-imports", "--no-cache", paths=("src", "tests")) == ""


@pytest.mark.early(20)
def test_the_types_are_right() -> None:
    """``mypy --strict``; it remembers what has not changed, and takes twenty seconds the first time on a machine."""
    assert complaints("mypy") == ""
    share_cache(ROOT / ".mypy_cache", ROOT / ".venv" / ".shared")


def share_cache(cache: Path, shared: Path) -> None:
    """Leave what mypy remembers to the next clone, which is on top of the same packages (``scripts/setup``).

    It takes the place of what an earlier clone left: what that knows about karat is old.
    """
    if not cache.is_dir() or not shared.is_dir():
        return
    with TemporaryDirectory(dir=shared) as folder, suppress(OSError):  # another clone does the same
        copy = shutil.copytree(cache, Path(folder) / "new")
        if (shared / "mypy").exists():
            (shared / "mypy").rename(Path(folder) / "old")
        copy.rename(shared / "mypy")
