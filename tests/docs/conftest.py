"""What the tests of documents and scripts share: the repository's files, and copies of them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def files() -> list[Path]:
    """Every file of the repository that is or would be committed, relative to it."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout
    names = sorted(Path(name) for name in listed.decode().split("\0") if name)
    return [name for name in names if (ROOT / name).is_file()]


@pytest.fixture(scope="session")
def clone(files: list[Path]) -> Callable[..., Path]:
    """Copy the repository's files into a folder, as `git clone` would, but only link some folders."""

    def copy(target: Path, linked: tuple[str, ...] = ()) -> Path:
        for name in files:
            if name.parts[0] not in linked:
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, target / name)
        for folder in linked:
            (target / folder).symlink_to(ROOT / folder)
        return target

    return copy
