"""``karat init``: a project, a golden set to start with, and CI; and a repository that lives by them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from karat import golden
from karat.core import UsageError
from karat.experiments import Start, open_project, start_project

VERB = "init"
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


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's repository: ten pages and a retriever over them."""
    (tmp_path / "docs").mkdir()
    for room in ROOMS:
        text = f"The {room} opens at six. Keys for the {room} hang at the desk. Nobody smokes in the {room}.\n"
        (tmp_path / "docs" / f"{room}.md").write_text(text)
    (tmp_path / "search.py").write_text(FINDER)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(folder: Path) -> dict[str, bytes]:
    """Give all files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_it_writes_a_project_that_opens(run: Run, repository: Path) -> None:
    """Configuration, golden set and workflow; the set is made from the documents and has no errors."""
    out, _ = run("--documents", "docs", "--yes")
    written = ["karat.toml", "golden", ".gitignore", WORKFLOW]
    assert out.splitlines()[:4] == [f"{name}: written" for name in written]
    assert "next: karat check ., then karat baseline update" in out
    project = open_project(repository)
    assert len(project.golden.documents) == 10
    assert len(project.golden.queries) == 30
    assert not golden.check(project.golden).errors
    assert (repository / ".gitignore").read_text() == ".karat/\nruns/\nreports/\n"
    assert not (repository / ".gitlab-ci.yml").exists()


@pytest.mark.parametrize(
    ("ci", "found"), [("github", {WORKFLOW}), ("gitlab", {".gitlab-ci.yml"}), ("both", {WORKFLOW, ".gitlab-ci.yml"}),
                      ("none", set())],
)  # fmt: skip
def test_the_ci_is_chosen(run: Run, repository: Path, ci: str, found: set[str]) -> None:
    """Only the workflows that were asked for are written."""
    run("--ci", ci, "--yes")
    assert {WORKFLOW, ".gitlab-ci.yml"} & files(repository).keys() == found


def test_without_documents_there_is_an_example(run: Run, repository: Path) -> None:
    """The project opens and can be checked before anybody wrote anything."""
    run("--yes")
    assert open_project(repository).golden.name == "example"


def test_three_questions_at_most(repository: Path, environment: dict[str, str]) -> None:
    """What the options leave open is asked for, on standard error; each question has a default."""

    def asked(answers: str, *options: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "karat", "init", *options],
            input=answers, env=environment, cwd=repository, capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        assert "Your documents" not in done.stdout
        return done.stderr

    assert asked("docs\nsearch:find\nboth\n").count("]: ") == 3
    config = tomllib.loads((repository / "karat.toml").read_text())
    assert config["eval"]["system"] == "search:find"
    assert (repository / ".gitlab-ci.yml").exists()
    assert asked("\n", "--system", "search:find", "--ci", "both").count("]: ") == 1
    assert asked("", "--yes") == ""


def test_nothing_that_is_there_is_changed(run: Run, repository: Path) -> None:
    """A file of the user's stays byte for byte; what would have been written is shown as a diff."""
    (repository / "karat.toml").write_text('[golden]\npath = "golden"\n')
    (repository / ".gitignore").write_text("*.pyc")
    (repository / "golden").mkdir()
    (repository / "golden" / "queries.jsonl").write_text("mine\n")
    before = files(repository)
    out, _ = run("--documents", "docs", "--ci", "none", "--yes")
    assert files(repository) == before
    assert "karat.toml: is there and differs; left as it is\n  --- karat.toml (yours)\n" in out
    assert "  +measures = " in out
    assert "  +runs/" in out
    assert "golden: is there and differs; left as it is\n  it would have got 30 queries" in out


def test_twice_is_the_same_as_once(run: Run, repository: Path) -> None:
    """The second time nothing differs and nothing is written."""
    run("--documents", "docs", "--ci", "both", "--yes")
    before = files(repository)
    found = json.loads(run("--documents", "docs", "--ci", "both", "--json")[0])
    assert {one["state"] for one in found["files"]} == {"same"}
    assert files(repository) == before


def test_a_project_in_a_folder_of_the_repository(run: Run, repository: Path) -> None:
    """The workflow lies where GitHub looks, and its paths lead to the project, whatever the folder is called."""
    run("my tests: 'a'", "--documents", "docs", "--ci", "both", "--yes")
    folder = "my tests: 'a'"
    assert (repository / folder / "karat.toml").exists()
    github = yaml.safe_load((repository / WORKFLOW).read_text())
    assert f"{folder}/golden/**" in github[True]["pull_request"]["paths"]
    (gate,) = [step["run"] for step in github["jobs"]["gate"]["steps"] if step.get("name") == "Gate"]
    gitlab = yaml.safe_load((repository / ".gitlab-ci.yml").read_text())["karat"]
    assert gitlab["script"] == [gate.strip()]
    shown = subprocess.run(["sh", "-c", gate.replace("karat", "printf %s,", 1)], capture_output=True, text=True)
    assert shown.stdout == f"check,{folder},"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--system", "search"], "'search' is no retriever; write package.module:name"),
        (["--system", 'a:b"\nx = 1'], "is no retriever"),
        (["--documents", "nowhere"], "nowhere: no such file or folder"),
        (["--documents", ".git"], "holds no .md, .txt or .json file"),
        (["a${{b"], "cannot stand in a workflow"),
        (["search.py"], "search.py: cannot be made"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_written(
    run: Run, repository: Path, arguments: list[str], message: str
) -> None:
    """Exit code 2, and the repository is as it was."""
    before = files(repository)
    _, err = run(*arguments, "--yes", code=2)
    assert message in err
    assert files(repository) == before


def test_documents_without_a_sentence_are_refused(run: Run, repository: Path) -> None:
    """A set without queries would measure nothing."""
    (repository / "short").mkdir()
    (repository / "short" / "a.md").write_text("Hm.\n")
    _, err = run("--documents", "short", "--yes", code=2)
    assert "holds no sentence to ask for" in err


def test_the_library_does_the_same(repository: Path) -> None:
    """``start_project`` gives what became of each file; a CI that is unknown is a mistake."""
    made = start_project(Start(folder=repository, documents=repository / "docs", ci="gitlab"))
    assert [(one.path.name, one.state) for one in made] == [
        ("karat.toml", "written"), ("golden", "written"), (".gitignore", "written"), (".gitlab-ci.yml", "written"),
    ]  # fmt: skip
    with pytest.raises(UsageError, match="is no CI"):
        Start(folder=repository, ci="jenkins")  # type: ignore[arg-type]


def test_what_the_retriever_needs_is_installed_and_watched(run: Run, repository: Path) -> None:
    """With a retriever of one's own, its requirements are installed, and a change to code starts the workflow."""
    (repository / "requirements.txt").write_text("httpx\n")
    run("--system", "search:find", "--ci", "both", "--yes")
    github = yaml.safe_load((repository / WORKFLOW).read_text())
    assert {"**/*.py", "requirements.txt"} <= set(github[True]["pull_request"]["paths"])
    assert github[True]["pull_request"]["paths"] == github[True]["push"]["paths"]
    gitlab = yaml.safe_load((repository / ".gitlab-ci.yml").read_text())["karat"]
    assert gitlab["before_script"][1] == "python -m pip install -r requirements.txt"


class Job:
    """A job of a workflow, whose commands are run as the runner does it, with a gh that writes down what it is told."""

    def __init__(self, repository: Path, environment: dict[str, str]) -> None:
        self.repository = repository
        self.outside = repository.parent / f"{repository.name}-outside"
        self.outside.mkdir()
        (self.outside / "gh").write_text(
            '#!/bin/sh\necho "$@" >>"$GH_LOG"\ncase $* in *--paginate*) cat "$GH_KNOWN" ;; esac\n'
        )
        (self.outside / "gh").chmod(0o755)
        (self.outside / "known").touch()
        self.environment = environment | {
            "PATH": f"{self.outside}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "GITHUB_STEP_SUMMARY": str(self.outside / "summary.md"),
            "GH_LOG": str(self.outside / "gh.log"),
            "GH_KNOWN": str(self.outside / "known"),
        }

    def steps(self) -> dict[str, str]:
        """Give the commands of the workflow, by the names of their steps."""
        steps = yaml.safe_load((self.repository / WORKFLOW).read_text())["jobs"]["gate"]["steps"]
        return {step["name"]: step["run"] for step in steps if "run" in step}

    def run(self, name: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run the commands of a step verbatim."""
        return subprocess.run(
            ["bash", "-e", "-c", self.steps()[name]],
            cwd=self.repository, env=self.environment | more, capture_output=True, text=True, timeout=120,
        )  # fmt: skip


def test_a_repository_from_scratch_is_gated(run: Run, repository: Path, environment: dict[str, str]) -> None:
    """Init, a baseline, a green run; then the retriever breaks, and the workflow's own commands fail with 1."""
    run("--documents", "docs", "--system", "search:find", "--yes")
    job = Job(repository, environment)
    assert list(job.steps()) == ["Install", "Gate", "Report", "Comment on the pull request"]

    first = job.run("Gate")
    assert first.returncode == 0, first.stderr
    (file,) = (repository / "runs").glob("*.jsonl")
    accept = ["karat", "baseline", "update", str(file)]
    subprocess.run(accept, cwd=repository, env=job.environment, check=True, capture_output=True, timeout=60)
    file.unlink()
    green = job.run("Gate")
    assert green.returncode == 0, green.stderr
    assert "PASS by policy default: it may ship" in green.stdout
    assert job.run("Report").returncode == 0
    assert "FAIL" not in (job.outside / "summary.md").read_text()
    for old in (*(repository / "runs").iterdir(), *(repository / "karat-report").iterdir()):
        old.unlink()  # every job begins with a fresh clone

    (repository / "search.py").write_text(FINDER.replace("-len(words", "len(words"))
    red = job.run("Gate")
    assert red.returncode == 1, red.stderr
    assert "FAIL by policy default" in red.stdout
    reported = job.run("Report")
    assert reported.returncode == 0, reported.stderr
    assert "::error title=karat fail%3A R@5" in reported.stdout
    assert "FAIL" in (job.outside / "summary.md").read_text()
    comment = (repository / "karat-report" / "comment.md").read_text()
    assert comment.startswith("<!-- karat")
    assert "FAIL" in comment
    assert "<html" in (repository / "karat-report" / "report.html").read_text()
    cases = ElementTree.parse(repository / "karat-report" / "junit.xml").getroot()
    assert list(cases.iter("failure"))


def test_the_comment_is_posted_once_and_then_changed(run: Run, repository: Path, environment: dict[str, str]) -> None:
    """Without a comment of its own it posts one; with one it changes that, the latest if there are several."""
    run("--yes")
    job = Job(repository, environment)
    told = {"COMMENTS": "repos/o/r/issues/7/comments", "COMMENT": "repos/o/r/issues/comments"}
    assert job.run("Comment on the pull request", **told).returncode == 0
    search, sent = (job.outside / "gh.log").read_text().splitlines()
    assert search.startswith("api --paginate repos/o/r/issues/7/comments --jq ")
    assert sent == "api --silent --method POST repos/o/r/issues/7/comments --field body=@karat-report/comment.md"
    (job.outside / "known").write_text("41\n42\n")
    assert job.run("Comment on the pull request", **told).returncode == 0
    sent = (job.outside / "gh.log").read_text().splitlines()[-1]
    assert sent == "api --silent --method PATCH repos/o/r/issues/comments/42 --field body=@karat-report/comment.md"


def test_gitlab_does_the_same(run: Run, repository: Path, environment: dict[str, str]) -> None:
    """The job's script gates, and what comes after it writes the reports, as its artefacts name them."""
    run("--documents", "docs", "--system", "search:find", "--ci", "gitlab", "--yes")
    job: dict[str, Any] = yaml.safe_load((repository / ".gitlab-ci.yml").read_text())["karat"]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for line in (*job["script"], *job["after_script"]):
        subprocess.run(
            ["sh", "-e", "-c", line], cwd=repository, env=environment | {"PATH": path}, check=True, timeout=60
        )
    assert (repository / job["artifacts"]["reports"]["junit"]).exists()
    assert all((repository / kept).exists() for kept in job["artifacts"]["paths"])
