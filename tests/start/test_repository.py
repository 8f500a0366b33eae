"""What a repository tells of itself: its main branch, and what its code needs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

from karat.start import Start, start_project
from karat.start._repository import Repository

WORKFLOW = ".github/workflows/karat.yml"


def git(folder: Path, *arguments: str) -> None:
    """Run git as somebody."""
    named = ("-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "init.defaultBranch=trunk")
    subprocess.run(["git", *named, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    """A repository whose branches are release, checked out, and develop/next."""
    folder = tmp_path / "remote"
    folder.mkdir()
    git(folder, "init", "-b", "release")
    git(folder, "commit", "--allow-empty", "-m", "first")
    git(folder, "branch", "develop/next")
    return folder


def test_the_remote_says_which_branch(remote: Path, tmp_path: Path) -> None:
    """A clone knows where changes go, whatever is checked out in it, in a worktree too."""
    clone = tmp_path / "clone"
    git(tmp_path, "clone", str(remote), str(clone))
    git(clone, "switch", "-c", "main")
    assert Repository(clone).find_branch() == "release"
    git(clone, "worktree", "add", str(tmp_path / "tree"), "-b", "other")
    assert Repository.find(tmp_path / "tree") == Repository(tmp_path / "tree")
    assert Repository(tmp_path / "tree").find_branch() == "release"
    git(clone, "remote", "set-head", "origin", "develop/next")
    assert Repository(clone).find_branch() == "develop/next"


@pytest.mark.parametrize("usual", ["main", "master"])
def test_a_usual_name_goes_before_what_is_checked_out(remote: Path, usual: str) -> None:
    """Work begins on a branch of its own, which is not where changes go."""
    assert Repository(remote).find_branch() == "release"
    git(remote, "branch", usual)
    git(remote, "switch", "-c", "fix-typo")
    assert Repository(remote).find_branch() == usual


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    """The branch that the first commit will make."""
    git(tmp_path, "init")
    assert Repository(tmp_path).find_branch() == "trunk"


def test_where_nobody_knows_it_is_main(remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a repository, in a broken one, on no branch, and without git."""
    (tmp_path / "plain").mkdir()
    (tmp_path / "broken" / ".git").mkdir(parents=True)
    assert Repository(tmp_path / "plain").find_branch() == "main"
    assert Repository(tmp_path / "broken").find_branch() == "main"
    git(remote, "checkout", "--detach")
    assert Repository(remote).find_branch() == "main"
    git(remote, "switch", "release")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Repository(remote).find_branch() == "main"


def test_the_repository_of_a_hook_is_not_meant(remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a hook git's variables name another repository than the one that is asked about."""
    (tmp_path / "other").mkdir()
    git(tmp_path / "other", "init", "-b", "main")
    git(tmp_path / "other", "commit", "--allow-empty", "-m", "first")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    assert Repository(remote).find_branch() == "release"


def test_the_workflow_runs_on_that_branch(remote: Path) -> None:
    """A name with signs of patterns is no pattern."""
    git(remote, "switch", "-c", "c++")
    git(remote, "branch", "-D", "release")
    start_project(Start(folder=remote))
    assert yaml.safe_load((remote / WORKFLOW).read_text())[True]["push"]["branches"] == [r"c\+\+"]


def test_what_the_code_needs(tmp_path: Path) -> None:
    """The files of the project's folder go before those of the repository; one that only configures tools is none."""
    inner = tmp_path / "services" / "search"
    inner.mkdir(parents=True)
    (inner / "requirements.txt").touch()
    (inner / "pyproject.toml").write_text("[tool.ruff]\n")
    (tmp_path / "requirements.txt").touch()
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "shop"\n')
    both = ["requirements.txt", "pyproject.toml"]
    assert Repository(tmp_path).find_requirements(inner) == ["services/search/requirements.txt", *both]
    assert Repository(tmp_path).find_requirements(tmp_path) == both


def test_lists_may_refer_to_each_other(tmp_path: Path) -> None:
    """Also in a circle, and out of the repository, where nothing is read."""
    (tmp_path / "requirements.txt").write_text("a # b\n-r more/b.txt\n-r ../out.txt\n")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "b.txt").write_text("c\n--requirement=../requirements.txt\n-r nowhere.txt\n")
    (tmp_path.parent / "out.txt").write_text("out\n")
    values = [line for line in Repository(tmp_path).read_requirements("requirements.txt") if not line.startswith("-")]
    assert values[:2] == ["a", "c"]
    assert "out" not in values
