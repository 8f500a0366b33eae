"""The tag that the next release of a set should have, read from git without trusting the repository."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from karat import golden
from karat.core import GoldenSet, InputError, Judgment, Query, Target

GOLDEN = GoldenSet(
    name="one",
    version="1.0.0",
    queries=(Query(id="q", text="When?"),),
    judgments=(Judgment(query="q", target=Target(document="d"), grade=3),),
)
LATER = replace(GOLDEN, queries=(*GOLDEN.queries, Query(id="r", text="Where?")))


def git(folder: Path, *arguments: str | Path) -> None:
    """Run git in a folder, as somebody."""
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *identity, *map(str, arguments)], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a set that was released, and has one query more since then."""
    folder = tmp_path / "repository"
    golden.write(GOLDEN, folder / "set")
    git(folder, "init", "-q")
    for place in (folder, folder / "set"):
        (place / ".gitattributes").write_text("* filter=evil diff=evil\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    git(folder, "tag", "golden-dataset-v1.0.0")
    (folder / "set" / "queries.jsonl").unlink()
    golden.write(LATER, folder / "later")
    (folder / "later" / "queries.jsonl").rename(folder / "set" / "queries.jsonl")
    return folder


def test_a_hostile_repository_runs_nothing(repository: Path, tmp_path: Path) -> None:
    """Neither a filter, nor a packer, nor a monitor that its configuration names is started."""
    trace, program = tmp_path / "started", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {trace}\ncat\n")
    program.chmod(0o755)
    for key in ("filter.evil.smudge", "filter.evil.clean", "tar.tar.command", "core.fsmonitor",
                "core.pager", "core.sshCommand", "diff.external"):  # fmt: skip
        git(repository, "config", key, program)
    tag = golden.propose_tag(repository / "set")
    assert (tag.tag, tag.since) == ("golden-dataset-v1.1.0", "golden-dataset-v1.0.0")
    assert not trace.exists()


def test_tags_are_read_however_git_keeps_them(repository: Path, tmp_path: Path) -> None:
    """Packed or not, with an annotation or without, and from another working tree; other names do not count."""
    git(repository, "tag", "golden-dataset-v1.0.1", "-m", "annotated")
    git(repository, "tag", "golden-dataset-v9.0.0-rc1")
    git(repository, "pack-refs", "--all")
    git(repository, "worktree", "add", "-q", tmp_path / "tree")
    git(repository, "tag", "golden-dataset-v1.0.2")
    assert golden.propose_tag(repository / "set").since == "golden-dataset-v1.0.2"
    assert golden.propose_tag(tmp_path / "tree" / "set").since == "golden-dataset-v1.0.2"
    git(repository, "tag", "-d", "golden-dataset-v1.0.2")
    assert golden.propose_tag(tmp_path / "tree" / "set").since == "golden-dataset-v1.0.1"


def test_tags_that_cannot_be_read_are_not_no_tags(repository: Path) -> None:
    """A repository with a reftable would look as if the set had never been released."""
    (repository / ".git" / "reftable").mkdir()
    with pytest.raises(InputError, match="keeps its tags as a reftable, which karat does not read; name the last"):
        golden.propose_tag(repository / "set")


def test_a_set_that_is_younger_than_the_tag_has_no_release(repository: Path) -> None:
    """The tag is that of another set in the same repository."""
    golden.write(LATER, repository / "another")
    assert golden.propose_tag(repository / "another").since is None
