"""Whatever a project holds may be a pipe or a bomb, for every verb that reads it: no waiting, and no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.gate_project import main
from cli.test_outputs import commands
from files.test_hostile_paths import BOMB, FOLDERS, READS, WORKING, replace
from files.test_hostile_paths import project as project
from files.test_hostile_paths import template as template
from karat.cli._main import cli

RUN, STORE = "runs/new.jsonl", ["--store", "live.db"]
VERBS = [
    ["ablate", "."], ["check", "."], ["golden", "sample", "set", "made", "--n", "2"], ["golden", "tag", "set", "1.1.0"],
    ["golden", "judge", "pool.jsonl", "--by", "overlap"], ["init", ".", "--yes"], ["runs", "list", "."],
    ["runs", "show", RUN],
    ["runs", "prune", ".", "--keep", "1", "--dry-run"], ["runs", "convert", RUN, "made.jsonl"],
    ["baseline", "diff", RUN], ["baseline", "rebase", ".", "--dry-run"], ["baseline", "update", RUN],
    ["experiments", "diff", "exp-001", "exp-002"], ["experiments", "show", "exp-001"],
    ["explain", RUN, "--no-ask"], ["show", RUN, "q01"], ["stability", RUN], ["trend", "."], ["power", "--run", RUN],
    ["judge", "flakes", RUN], ["judge", "prefer", RUN, "runs/old.jsonl"], ["judge", "run", RUN],
    ["judge", "sample", RUN], ["judge", "show", "overlap", RUN],
    ["label", "accept", "1", "--who", "ana"], ["label", "refuse", "1", "--who", "ana", "--reason", "so"],
    ["label", "agreement"], ["label", "proposals"], ["label", "undo", "old", "--who", "ana"],
    ["label", "propose", "--query", "q01", "--paraphrase", "Why?", "--who", "ana"],
    ["migrate", "shadow", "moves.jsonl", "run.txt", "run.txt"],
    ["online", "acknowledge", "live.db"], ["online", "canary", "live.db", "rerank", "--project", "."],
    ["online", "estimate", "live.db"], ["online", "export", "live.db", "made"],
    ["online", "watch", "live.db", "--project", "."], ["shadow", "gate", "live.db", "."],
    ["shadow", "report", "live.db", "--golden", "."], ["trial", "collect", "rerank", *STORE],
    ["trial", "holdout", "rerank", "--golden", ".", *STORE],
]  # fmt: skip
"""Verbs that the tables of single files do not have."""
ELSEWHERE = {"export", "mcp", "online receive", "serve pages"}
"""Those that need MLflow, or serve others: they have tests of their own."""
HELD = ["karat.toml", "set/golden.toml", "set/queries.jsonl", RUN, "baseline.json", "pool.jsonl", "moves.jsonl",
        "labels/people/*.jsonl", "live.db"]  # fmt: skip


def list_lines() -> list[list[str]]:
    """Return what is tried, here and beside this file."""
    return [
        *VERBS,
        *WORKING,
        *(words for _, words in READS.values()),
        *(w for _, lines in FOLDERS.values() for w in lines),
    ]


def test_every_verb_that_reads_data_is_tried() -> None:
    """A new verb has to be added above, or to the tables of single files."""
    tried = {" ".join(line[:words]) for line in list_lines() for words in (1, 2)}
    reading = {verb for verb, command in commands(cli) if any("--max-bytes" in own.opts for own in command.params)}
    assert reading - tried == ELSEWHERE


@pytest.mark.slow
@pytest.mark.parametrize("what", ["a named pipe", "a bomb"])
@pytest.mark.parametrize("held", HELD)
def test_what_a_project_holds_may_be_anything(
    project: Path, capsys: pytest.CaptureFixture[str], held: str, what: str
) -> None:
    """Each verb reads it and says so, or does not need it; whatever it writes, the next one finds the same."""
    for line in VERBS:
        (path,) = Path().glob(held)
        path.unlink()
        path.write_bytes(BOMB) if what == "a bomb" else replace_new(path, what)
        capsys.readouterr()
        code = main(line)
        message = capsys.readouterr().err
        assert "Traceback" not in message, (line, message)
        assert code in range(5), (line, message)


def replace_new(path: Path, what: str) -> None:
    """Put something else in the place of a file that is gone."""
    path.touch()
    replace(path, what)
