"""Shells complete karat's command line: bash, zsh and fish, each the real one."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from debian import program
from in_process import run_karat

LIMIT = 600  # seconds; a failsafe


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a program karat in bin, and a project to complete."""
    program = tmp_path / "bin" / "karat"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m karat "$@"\n')
    program.chmod(0o755)
    (tmp_path / "examples" / "hotel").mkdir(parents=True)
    (tmp_path / "example.txt").write_text("")
    return tmp_path


def environment(folder: Path) -> dict[str, str]:
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "HOME": str(folder), "TERM": "dumb", "PS1": "> ", "LC_ALL": "C.UTF-8"}


def complete(words: str, cursor: int, **more: str) -> list[str]:
    """Return what karat answers to bash: lines of a kind and a value."""
    variables = {"_KARAT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(cursor), **more}
    process = subprocess.run(
        [sys.executable, "-m", "karat"], env={**os.environ, **variables}, capture_output=True, text=True, timeout=LIMIT
    )
    assert process.stderr == ""
    return process.stdout.splitlines()


@pytest.mark.slow
def test_verbs_options_choices_measures_and_paths_are_completed() -> None:
    """A group without a verb completes its verbs, and where none is meant, the arguments of its default."""
    assert complete("karat sc", 1) == ["plain,score"]
    assert complete("karat golden o", 2) == ["plain,outline"]
    assert complete("karat score a --conv", 3) == ["plain,--conventions"]
    assert "plain,trec" in complete("karat score a b --conventions ", 5)
    assert complete("karat score a b -m ndcg_i", 5) == ["plain,nDCG_intent"]
    assert complete("karat check ex", 2) == ["dir,ex"]
    assert complete("karat score ex", 2) == ["file,ex"]
    assert "plain,calibrate" in complete("karat judge ", 2)
    assert complete("karat judge ex", 2) == ["file,ex"]
    assert complete("karat serve to", 2) == ["plain,token"]
    assert complete("karat serve ex", 2) == ["dir,ex"]
    complete("karat zzz ", 2)  # prints no error


def test_each_shell_gets_its_own_lines() -> None:
    for shell in ("bash", "zsh", "fish"):
        process = run_karat("completion", shell)
        assert process.returncode == 0
        assert f"_KARAT_COMPLETE={shell}_complete" in process.stdout.decode()
    process = run_karat("completion", "powershell")
    assert (process.returncode, b"bash" in process.stderr) == (2, True)


class Terminal:
    """A shell on a terminal, to which somebody types."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self.ours, theirs = pty.openpty()
        self._process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=environment(folder), close_fds=True,
            start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self.shown = ""

    def type(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def wait_for(self, pattern: str) -> None:
        """Read until the terminal shows something."""
        end = time.monotonic() + LIMIT
        while not re.search(pattern, self.shown):
            assert time.monotonic() < end, self.shown
            if select.select([self.ours], [], [], 1)[0]:
                self.shown += os.read(self.ours, 65536).decode(errors="replace")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self.ours)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shell", "command", "lines"),
    [
        ("bash", ["bash", "--norc", "--noprofile", "-i"], ['eval "$(karat completion bash)"']),
        ("zsh", ["zsh", "-f", "-i"], ["autoload -U compinit", "compinit -D", 'eval "$(karat completion zsh)"']),
    ],
)
def test_a_tab_completes_in_a_real_shell(shell: str, command: list[str], lines: list[str], folder: Path) -> None:
    """A verb is completed when Tab is pressed, and so is a folder."""
    program(f"completion in {shell}", shell, names=(shell,))
    terminal = Terminal(command, folder)
    try:
        for line in lines:
            terminal.type(f"{line}\n")
        terminal.type("echo ready''\n")
        terminal.wait_for("(?m)^ready")
        terminal.type("karat golden outl\t")
        terminal.wait_for(r"karat golden outline ")
        terminal.type("\x15karat check examples/ho\t")
        terminal.wait_for(r"karat check examples/hotel/")
    finally:
        terminal.close()


@pytest.mark.slow
def test_fish_lists_completions(folder: Path) -> None:
    program("completion in fish", "fish", names=("fish",))
    line = "karat completion fish | source; complete -C 'karat golden outl'; complete -C 'karat check examples/ho'"
    process = subprocess.run(
        ["fish", "--no-config", "-c", line],
        cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=LIMIT,
    )  # fmt: skip
    assert [row.partition("\t")[0] for row in process.stdout.splitlines()] == ["outline", "examples/hotel/"]
