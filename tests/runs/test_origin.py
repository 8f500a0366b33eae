"""Where a run comes from: git, CI and machine, read without failing and without running what a repository names."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from each import each
from karat.core import GoldenSet, Judgment, Origin, Provenance, Query, Target, UsageError
from karat.runs import find_origin, make_run, read_header, read_run_file
from karat.runs._git import Checkout, read_checkout

Git = Callable[..., str]
GOLDEN = GoldenSet(
    name="one",
    queries=(Query(id="q", text="When?"), Query(id="r", text="Where?")),
    judgments=(Judgment(query="q", target=Target(document="d"), grade=3),),
)


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """Run git in a folder of the test, as somebody without a configuration."""
    (tmp_path / "home").mkdir()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment |= {"HOME": str(tmp_path / "home"), "GIT_CONFIG_NOSYSTEM": "1"}

    def run(*arguments: str | Path, cwd: Path) -> str:
        names = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always")
        command = ["git", *names, *map(str, arguments)]
        return subprocess.run(command, cwd=cwd, env=environment, check=True, capture_output=True, text=True).stdout

    return run


@pytest.fixture
def repository(tmp_path: Path, git: Git) -> Path:
    """A repository with one commit on the branch ``main`` and a file in a folder."""
    folder = tmp_path / "repository"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "search.py").write_text("one = 1\n")
    git("init", "-q", "-b", "main", cwd=folder)
    git("add", ".", cwd=folder)
    git("commit", "-q", "-m", "first", cwd=folder)
    return folder


def test_commit_branch_and_changes_are_read(repository: Path, git: Git) -> None:
    """They are those that git itself names, from a folder inside of the repository too."""
    commit = git("rev-parse", "HEAD", cwd=repository).strip()
    assert read_checkout(repository / "inner") == Checkout(commit=commit, branch="main", dirty=False)
    (repository / "inner" / "new.py").write_text("")
    assert read_checkout(repository).dirty is False, "a file that git does not track is not a change"
    (repository / "inner" / "search.py").write_text("two = 2\n")
    assert read_checkout(repository).dirty is True
    git("add", ".", cwd=repository)
    assert read_checkout(repository).dirty is True, "a staged change is one too"


def test_packed_refs_detached_heads_worktrees_and_shallow_clones(repository: Path, git: Git, tmp_path: Path) -> None:
    """Each of them has its commit; a detached HEAD has no branch."""
    commit = git("rev-parse", "HEAD", cwd=repository).strip()
    git("pack-refs", "--all", cwd=repository)
    assert read_checkout(repository) == Checkout(commit=commit, branch="main", dirty=False)
    git("worktree", "add", "-q", "-b", "topic/a", tmp_path / "tree", cwd=repository)
    assert read_checkout(tmp_path / "tree") == Checkout(commit=commit, branch="topic/a", dirty=False)
    git("clone", "-q", "--depth", "1", f"file://{repository}", tmp_path / "shallow", cwd=tmp_path)
    assert read_checkout(tmp_path / "shallow") == Checkout(commit=commit, branch="main", dirty=False)
    git("checkout", "-q", "--detach", cwd=repository)
    assert read_checkout(repository) == Checkout(commit=commit, dirty=False)


def test_without_a_commit_git_or_repository_nothing_is_known(
    repository: Path, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No case is an error: what is not known is left out."""
    (tmp_path / "empty").mkdir()
    assert read_checkout(tmp_path / "empty") == Checkout()
    git("init", "-q", "-b", "main", cwd=tmp_path / "empty")
    assert read_checkout(tmp_path / "empty") == Checkout(branch="main")
    monkeypatch.setenv("PATH", "")
    assert read_checkout(repository).dirty is None
    assert read_checkout(repository).commit


@each(
    "head", ["", "ref: ../../etc/passwd", "ref: refs/../../secret", "ref: refs/heads/\x00", "not a commit", "\xff" * 50]
)
def test_a_damaged_head_is_no_commit(tmp_path: Path, head: str) -> None:
    """Nor does it lead out of the repository."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(head, "latin-1")
    (tmp_path / "secret").write_text("a" * 40)
    assert read_checkout(tmp_path).commit == ""


def test_a_hostile_repository_runs_nothing(repository: Path, git: Git, tmp_path: Path) -> None:
    """Neither a monitor, nor a filter, nor a hook that its configuration names is started."""
    trace = tmp_path / "started"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {trace}\ncat\n")
    program.chmod(0o755)
    (repository / ".gitattributes").write_text("* filter=evil diff=evil\n")
    git("add", ".", cwd=repository)
    git("commit", "-q", "-m", "second", cwd=repository)
    for key in ("core.fsmonitor", "filter.evil.clean", "filter.evil.process", "diff.external", "diff.evil.textconv",
                "core.pager", "core.sshCommand", "core.editor"):  # fmt: skip
        git("config", key, program, cwd=repository)
    hooks = repository / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-index-change", "fsmonitor-watchman"):
        (hooks / hook).write_text(program.read_text())
        (hooks / hook).chmod(0o755)
    file = repository / "inner" / "search.py"
    os.utime(file, (1, 1))  # so that git has to read the file again
    index = (repository / ".git" / "index").read_bytes()
    assert read_checkout(repository).dirty is False
    assert not trace.exists()
    assert (repository / ".git" / "index").read_bytes() == index


@each(
    ("variables", "job"),
    [
        (
            {
                "GITHUB_ACTIONS": "true", "GITHUB_JOB": "gate", "GITHUB_RUN_ID": "7", "GITHUB_SHA": "a" * 40,
                "GITHUB_SERVER_URL": "https://github.example", "GITHUB_REPOSITORY": "o/r", "GITHUB_REF_NAME": "5/merge",
                "GITHUB_HEAD_REF": "topic", "GITHUB_TOKEN": "secret",
            },
            {"provider": "GitHub Actions", "job": "gate", "run": "7", "url": "https://github.example/o/r/actions/runs/7"},
        ),
        (
            {
                "GITLAB_CI": "true", "CI": "true", "CI_JOB_NAME": "karat", "CI_JOB_ID": "8", "CI_COMMIT_SHA": "a" * 40,
                "CI_JOB_URL": "https://user:secret@lab.example/8", "CI_COMMIT_REF_NAME": "topic",
                "CI_JOB_TOKEN": "secret",
            },
            {"provider": "GitLab CI", "job": "karat", "run": "8", "url": "https://lab.example/8"},
        ),
        (
            {
                "BUILDKITE": "true", "BUILDKITE_LABEL": "gate", "BUILDKITE_BUILD_NUMBER": "9",
                "BUILDKITE_COMMIT": "a" * 40, "BUILDKITE_BRANCH": "topic", "BUILDKITE_AGENT_ACCESS_TOKEN": "secret",
            },
            {"provider": "Buildkite", "job": "gate", "run": "9"},
        ),
        (
            {
                "TF_BUILD": "True", "BUILD_DEFINITIONNAME": "gate", "BUILD_BUILDNUMBER": "10",
                "BUILD_SOURCEVERSION": "a" * 40, "BUILD_SOURCEBRANCHNAME": "topic", "SYSTEM_ACCESSTOKEN": "secret",
            },
            {"provider": "Azure Pipelines", "job": "gate", "run": "10"},
        ),
    ],
)  # fmt: skip
def test_the_ci_job_is_named_without_secrets(tmp_path: Path, variables: dict[str, str], job: dict[str, str]) -> None:
    """Commit and branch are those of the CI where there is no repository."""
    origin = find_origin(tmp_path, variables=variables)
    assert origin.ci == job
    assert (origin.commit, origin.branch, origin.dirty) == ("a" * 40, "topic", None)
    assert "secret" not in json.dumps(origin.to_dict())


def test_outside_of_ci_there_is_no_job(tmp_path: Path) -> None:
    """The machine is described by its class, and not by its name."""
    origin = find_origin(tmp_path, label="  baseline of May ", variables={"CI": "false"})
    assert (origin.ci, origin.label, origin.commit) == ({}, "baseline of May", "")
    assert sorted(origin.machine) == ["cores", "platform", "python"]


@pytest.mark.parametrize("label", ["a\nb", "x" * 81, "\x1b[31m"])
def test_a_label_that_cannot_stand_in_a_table_is_refused(tmp_path: Path, label: str) -> None:
    """It is a mistake of usage."""
    with pytest.raises(UsageError, match="printable characters"):
        find_origin(tmp_path, label=label)


def test_a_run_file_has_the_origin_and_an_old_one_is_read(tmp_path: Path) -> None:
    """The origin does not belong to the identity: a run without it is the same run."""
    path = tmp_path / "run.jsonl"
    origin = Origin(label="mine", commit="0a1b2c3d4e" * 4, branch="main", dirty=True, ci={"provider": "CI"})
    run = make_run(GOLDEN, lambda query, k: ["d"], output=path, origin=origin)
    assert read_run_file(path) == run
    assert run.provenance.origin.code == "0a1b2c3-dirty"
    header = read_header(path)
    assert header == run.provenance
    head, rest = path.read_text().split("\n", 1)
    record = json.loads(head)
    del record["origin"], record["begun"]
    path.write_text(json.dumps(record) + "\n" + rest)
    assert read_run_file(path).provenance.origin == Origin()


def test_a_title_is_what_people_read() -> None:
    """The label; or the system, or the stages of the pipeline, and the commit. Never a fingerprint."""
    stages = {"kind": "pipeline", "lexical": {}, "dense": {}, "rerank": None}
    commit = Origin(commit="0a1b2c3d4e" * 4)
    assert Provenance(name="pipeline", system=stages, origin=commit).title == "bm25+dense 0a1b2c3"
    assert Provenance(name="pipeline", system=stages).title == "bm25+dense"
    assert Provenance(name="search:find", origin=commit).title == "search:find 0a1b2c3"
    assert Provenance(name="search:find", origin=Origin(label="mine", commit="0a1b2c3d4e" * 4)).title == "mine"


@each("record", [None, 5, [], {"commit": 5, "dirty": "yes", "machine": [], "ci": None, "x": 1}])
def test_a_damaged_origin_is_none(record: object) -> None:
    """It is not worth a run."""
    assert Origin.from_dict(record) == Origin()
