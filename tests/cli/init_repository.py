"""Repositories in which ``karat init`` is tried, and what it made of them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[str, str]]
WORKFLOW = ".github/workflows/karat.yml"
ROOMS = ("pool", "sauna", "library", "garage", "kitchen", "garden", "terrace", "cellar", "lobby", "gym")
FINDER = """
from pathlib import Path

PAGES = {page.stem: set(page.read_text().lower().split()) for page in Path("docs").glob("*.md")}


def find(query, k):
    words = set(query.lower().split())
    return sorted(PAGES, key=lambda name: (-len(words & PAGES[name]), name))[:k]
"""


def enter_repository(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a user's repository, which becomes the current folder: ten pages and a retriever over them."""
    (folder / "docs").mkdir()
    for room in ROOMS:
        text = f"The {room} opens at six. Keys for the {room} hang at the desk. Nobody smokes in the {room}.\n"
        (folder / "docs" / f"{room}.md").write_text(text)
    (folder / "search.py").write_text(FINDER)
    (folder / ".git").mkdir()
    monkeypatch.chdir(folder)
    return folder


def enter_shop(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a repository with two pages, which becomes the current folder."""
    folder = folder / "shop"
    (folder / "docs").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "docs" / "pool.md").write_text("# Pool\n\nThe **pool** opens at [six](hours.md).\n")
    (folder / "docs" / "gym.txt").write_text("The gym is open all night.\n")
    monkeypatch.chdir(folder)
    return folder


def states(run: Run, *arguments: str) -> dict[str, str]:
    """Call the verb, and give what became of each file."""
    files = json.loads(run(*arguments, "--json")[0])["files"]
    return {Path(file["path"]).name: file["state"] for file in files}


def ignored(repository: Path, *paths: str) -> list[str]:
    """Ask git which of these it would ignore."""
    subprocess.run(["git", "init", "-q", "."], cwd=repository, check=True)
    command = ["git", "-c", "core.excludesFile=/dev/null", "check-ignore", "--no-index", "-z", "--stdin"]
    process = subprocess.run(command, cwd=repository, input="\0".join(paths), capture_output=True, text=True)
    return process.stdout.split("\0")[:-1]
