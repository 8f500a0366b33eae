"""What a repository tells of itself: its main branch, and how it installs karat."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml

import karat
from karat.core import UsageError
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
    assert Repository(clone).branch() == "release"
    git(clone, "worktree", "add", str(tmp_path / "tree"), "-b", "other")
    assert Repository.around(tmp_path / "tree") == Repository(tmp_path / "tree")
    assert Repository(tmp_path / "tree").branch() == "release"
    git(clone, "remote", "set-head", "origin", "develop/next")
    assert Repository(clone).branch() == "develop/next"


@pytest.mark.parametrize("usual", ["main", "master"])
def test_a_usual_name_goes_before_what_is_checked_out(remote: Path, usual: str) -> None:
    """Work begins on a branch of its own, which is not where changes go."""
    assert Repository(remote).branch() == "release"
    git(remote, "branch", usual)
    git(remote, "switch", "-c", "fix-typo")
    assert Repository(remote).branch() == usual


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    """The branch that the first commit will make."""
    git(tmp_path, "init")
    assert Repository(tmp_path).branch() == "trunk"


def test_where_nobody_knows_it_is_main(remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a repository, in a broken one, on no branch, and without git."""
    (tmp_path / "plain").mkdir()
    (tmp_path / "broken" / ".git").mkdir(parents=True)
    assert Repository(tmp_path / "plain").branch() == "main"
    assert Repository(tmp_path / "broken").branch() == "main"
    git(remote, "checkout", "--detach")
    assert Repository(remote).branch() == "main"
    git(remote, "switch", "release")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Repository(remote).branch() == "main"


def test_the_repository_of_a_hook_is_not_meant(remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a hook git's variables name another repository than the one that is asked about."""
    (tmp_path / "other").mkdir()
    git(tmp_path / "other", "init", "-b", "main")
    git(tmp_path / "other", "commit", "--allow-empty", "-m", "first")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    assert Repository(remote).branch() == "release"


def test_the_workflow_runs_on_that_branch(remote: Path) -> None:
    """A name with signs of patterns is no pattern."""
    git(remote, "switch", "-c", "c++")
    git(remote, "branch", "-D", "release")
    start_project(Start(folder=remote))
    assert yaml.safe_load((remote / WORKFLOW).read_text())[True]["push"]["branches"] == [r"c\+\+"]


@pytest.mark.parametrize(
    ("spec", "extra", "installed"),
    [
        ("", "", f"karat=={karat.__version__}"),
        ("", "dense", f"karat[dense]=={karat.__version__}"),
        ("0.4", "dense", "karat[dense]==0.4"),
        ("1.0rc1", "", "karat==1.0rc1"),
        ("karat>=0.4,<1", "dense", "karat[dense]>=0.4,<1"),
        ("karat[hnsw]", "dense", "karat[hnsw,dense]"),
        ("karat[dense]~=0.4", "dense", "karat[dense]~=0.4"),
        ("git+https://git.example/karat.git@v1", "dense", "karat[dense] @ git+https://git.example/karat.git@v1"),
        ("karat @ https://files.example/karat-1-py3-none-any.whl", "",
         "karat @ https://files.example/karat-1-py3-none-any.whl"),
        ("wheels/karat-1-py3-none-any.whl", "dense", "wheels/karat-1-py3-none-any.whl[dense]"),
        ("karat-1.tar.gz", "", "karat-1.tar.gz"),
        ("../karat[hnsw]", "dense", "../karat[hnsw]"),
    ],
)  # fmt: skip
def test_what_is_installed(tmp_path: Path, spec: str, extra: str, installed: str) -> None:
    """A version, a requirement, an address or a file, with the extra that the pipeline needs."""
    assert Repository(tmp_path).install(extra, spec=spec) == installed


@pytest.mark.parametrize(
    "spec", ["-e .", "--index-url=x", "karat-tools", "later", "a\nb", "0.1; rm", "${{ secrets.X }}"]
)
def test_what_is_not_installed(tmp_path: Path, spec: str) -> None:
    """An option of pip, another package, more than one line, an expression of the CI."""
    with pytest.raises(UsageError, match="--karat"):
        Repository(tmp_path).install(spec=spec)


@pytest.mark.parametrize(
    ("name", "text", "installed"),
    [
        ("requirements.txt", "httpx\nKarat[hnsw] == 0.3 ; python_version > '3' # gate\n", "karat[hnsw,dense]== 0.3"),
        ("requirements.txt", "karat==0.3 \\\n    --hash=sha256:0\n", "karat[dense]==0.3"),
        ("requirements.txt", "karat @ git+https://git.example/karat.git@v1#subdirectory=x  # ours\n",
         "karat[dense] @ git+https://git.example/karat.git@v1#subdirectory=x"),
        ("requirements.txt", "karat\n", "karat[dense]"),
        ("requirements.txt", "# karat==0.3\nkarat-tools==1\nkarats\n-r other.txt\n", None),
        ("requirements.txt", b"\xff\xfe", None),
        ("pyproject.toml", '[project]\ndependencies = ["httpx", "karat>=0.3"]\n', "karat[dense]>=0.3"),
        ("pyproject.toml", '[project.optional-dependencies]\ndev = ["karat~=0.3"]\n', "karat[dense]~=0.3"),
        ("pyproject.toml", '[dependency-groups]\nall = [{include-group = "ci"}]\nci = ["karat==0.3"]\n',
         "karat[dense]==0.3"),
        ("pyproject.toml", "[project]\ndependencies = 3\n", None),
        ("pyproject.toml", "project = 3\ndependency-groups = []\n", None),
        ("pyproject.toml", "[project\n", None),
    ],
)  # fmt: skip
def test_what_the_repository_requires_is_installed(
    tmp_path: Path, name: str, text: str | bytes, installed: str | None
) -> None:
    """Who has chosen a version gets that one in CI, too; what cannot be read, or says nothing, changes nothing."""
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    usual = f"karat[dense]=={karat.__version__}"
    assert Repository(tmp_path).install("dense") == (installed or usual)
    assert Repository(tmp_path).install("dense", spec="9") == "karat[dense]==9"


def test_pip_takes_what_is_written(tmp_path: Path, environment: dict[str, str]) -> None:
    """The line of the workflow, with a wheel of the repository and its extra: pip reads it as it is meant."""
    (tmp_path / "it's wheels").mkdir()
    wheel = tmp_path / "it's wheels" / "karat-9-py3-none-any.whl"
    with ZipFile(wheel, "w") as file:
        head = "Metadata-Version: 2.1\nName: karat\nVersion: 9\nProvides-Extra: dense\n"
        file.writestr("karat-9.dist-info/METADATA", head)
        file.writestr("karat-9.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr("karat-9.dist-info/RECORD", "")
    start_project(Start(folder=tmp_path, karat="it's wheels/karat-9-py3-none-any.whl", ci="both"))
    steps = yaml.safe_load((tmp_path / WORKFLOW).read_text())["jobs"]["gate"]["steps"]
    (line,) = [step["run"].strip() for step in steps if step.get("name") == "Install"]
    job = yaml.safe_load((tmp_path / ".gitlab-ci.yml").read_text())["karat"]
    assert job["before_script"] == [line]
    command = f"{line} --dry-run --no-index --no-deps --ignore-installed --disable-pip-version-check"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", command], cwd=tmp_path, env=environment | {"PATH": path}, capture_output=True, text=True
    )
    assert "Would install karat-9" in done.stdout, done.stderr
