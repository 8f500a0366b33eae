"""Ways to get exit code 0 where it must not be: old answers, code that ends the process, closed pipes, future runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from karat import golden
from karat.cli import main
from karat.core import Document, GoldenSet, Judgment, Query, Target
from karat.projects.saved_runs import choose_run, find_runs
from karat.runs import make_run

SET = GoldenSet(
    name="letters",
    grades=("no", "yes"),
    relevant=1,
    documents=tuple(Document(id=letter, text=f"All about {letter}.") for letter in "abcdefghij"),
    queries=tuple(Query(id=f"q{letter}", text=letter) for letter in "abcdefghij"),
    judgments=tuple(Judgment(query=f"q{letter}", target=Target(document=letter), grade=1) for letter in "abcdefghij"),
    gate={"RR@10": 0.9},
)
GOOD = "def find(query, k):\n    return [query]\n"
BAD = "def find(query, k):\n    return ['b' if query == 'a' else 'a']\n"
Call = Callable[..., tuple[int, str]]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose retriever is the module ``whence_way``, which is imported anew by each call."""
    golden.write(SET, tmp_path / "set")
    config = '[golden]\npath = "set"\n[eval]\nsystem = "whence_way:find"\nmeasures = ["RR@10"]\nwarm_up = 0\n'
    (tmp_path / "karat.toml").write_text(config)
    (tmp_path / "whence_way.py").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(os, "_exit", os._exit)
    return tmp_path


@pytest.fixture
def call(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run karat in the project, and return its exit code and its messages."""

    def run(*arguments: str) -> tuple[int, str]:
        sys.modules.pop("whence_way", None)
        monkeypatch.setattr(sys, "argv", ["karat", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        assert isinstance(code, int)
        return code, capsys.readouterr().err

    return run


def interrupt(project: Path, answers: int) -> Path:
    """Turn the only finished run into one that was killed after some answers."""
    (run,) = (project / "runs").glob("*.jsonl")
    lines = run.read_bytes().splitlines(keepends=True)
    part = run.with_name(f"{run.name}.part")
    part.write_bytes(b"".join(lines[: 1 + answers]))
    run.unlink()
    return part


def test_way_2_check_does_not_take_up_old_answers(project: Path, call: Call) -> None:
    """Killed near the end, the retriever broken, checked again: all answers are those of the broken one."""
    assert call("check", "--no-report")[0] == 0
    interrupt(project, 9)
    (project / "whence_way.py").write_text(BAD)
    assert call("check", "--no-report")[0] == 1
    (run,) = (project / "runs").glob("*.jsonl")
    traces = [json.loads(line) for line in run.read_text().splitlines()[1:-1]]
    assert {trace["hits"][0]["id"] for trace in traces} == {"a", "b"}


def test_way_2_check_begins_anew_with_the_same_code_too(project: Path, call: Call) -> None:
    """What a file or a service behind the code answers may have changed; --resume goes on, and says with what."""
    assert call("check", "--no-report")[0] == 0
    part = interrupt(project, 9)
    data = part.read_bytes()
    code, messages = call("check", "--no-report")
    assert (code, "unfinished" in messages) == (0, False)
    (run,) = (project / "runs").glob("*.jsonl")
    run.unlink()
    part.write_bytes(data.replace(b'"begun":"20', b'"begun":"19'))
    code, messages = call("check", "--no-report", "--resume")
    assert code == 0
    assert "continues an unfinished run: 9 of 10 answers are from 19" in messages


def test_way_2_eval_says_how_many_answers_are_old(project: Path, call: Call) -> None:
    """It goes on only with the same code."""
    assert call("eval")[0] == 0
    interrupt(project, 4)
    assert "continues an unfinished run: 4 of 10 answers are from 20" in call("eval")[1]
    interrupt(project, 4)
    (project / "whence_way.py").write_text(GOOD + "# changed\n")
    assert "unfinished" not in call("eval")[1]


def karat(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run karat in a process of its own, in which code of the system may do what it likes."""
    command = [sys.executable, "-m", "karat", *arguments]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=600)


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "import atexit, os\natexit.register(os._exit, 0)\n",
        "import atexit, posix, sys\nfrom os import _exit\natexit.register(posix._exit, 0)\n"
        "atexit.register(lambda: _exit(0))\natexit.register(sys.exit, 0)\n",
        "import os, threading, time\n\ndef end():\n    threading.main_thread().join()\n    os._exit(0)\n\n"
        "threading.Thread(target=end).start()\n",
    ],
)
def test_way_8_a_handler_at_exit_does_not_turn_a_failure_into_0(project: Path, code: str) -> None:
    """The exit code is that of the decision, and everything was printed."""
    (project / "whence_way.py").write_text(code + BAD)
    process = karat(project, "check", "--no-report", "--json")
    assert process.returncode == 1, process.stderr
    assert json.loads(process.stdout)["verdict"]["exit_code"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "import os\n\ndef find(query, k):\n    os._exit(0)\n",
        "import os\nos._exit(0)\n",
    ],
)
def test_way_8_a_system_that_ends_the_process_has_not_passed(project: Path, code: str) -> None:
    """It is a failure of the system, with a message."""
    (project / "whence_way.py").write_text(code)
    process = karat(project, "check", "--no-report")
    assert process.returncode == 3
    assert process.stderr


@pytest.mark.slow
def test_way_8_a_process_that_the_system_starts_may_end_as_it_likes(project: Path, call: Call) -> None:
    """A child that is forked ends with its own code."""
    code = (
        "import os\n\ndef find(query, k):\n    child = os.fork()\n    if not child:\n        os._exit(7)\n"
        "    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n    return [query]\n"
    )
    (project / "whence_way.py").write_text(code)
    assert call("check", "--no-report")[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "words", "expected"),
    [
        (BAD, "gate . 2>/dev/null", 1),
        (BAD, "gate . --json 2>&1", 1),
        (BAD, "check --no-report 2>&1", 1),
        (GOOD, "gate . 2>&1", 0),
    ],
)
def test_way_9_a_closed_pipe_does_not_change_the_verdict(
    project: Path, call: Call, code: str, words: str, expected: int
) -> None:
    """``karat gate FAILING | true`` under pipefail is the gate's own code, and so is it with errors in the pipe."""
    (project / "whence_way.py").write_text(code)
    call("eval")
    pipe = f"{sys.executable} -m karat {words} | true"
    process = subprocess.run(["bash", "-o", "pipefail", "-c", pipe], cwd=project, timeout=600)
    assert process.returncode == expected


def dated(folder: Path, name: str, begun: str, modified: datetime) -> Path:
    """Write a run that claims to have begun at some time."""
    path = folder / name
    make_run(SET, lambda query, k: [query], output=path)
    head, rest = path.read_text().split("\n", 1)
    path.write_text(json.dumps(json.loads(head) | {"begun": begun}) + "\n" + rest)
    os.utime(path, (modified.timestamp(), modified.timestamp()))
    return path


def test_way_13_a_run_of_the_future_is_not_the_newest(project: Path) -> None:
    """It is ordered by the time of its file, and named with the date that it claims."""
    now = datetime.now(tz=UTC)
    today = dated(project / "runs", f"p-{now:%Y-%m-%d}-aaaaaaaa.jsonl", f"{now:%Y-%m-%dT%H:%M:%SZ}", now)
    week = now - timedelta(days=7)
    named = dated(project / "runs", "p-2999-01-01-bbbbbbbb.jsonl", "2999-01-01T00:00:00Z", week)
    begun = dated(project / "runs", "other.jsonl", "2998-01-01T00:00:00Z", week - timedelta(days=1))
    chosen = choose_run(project)
    assert chosen.path.name == today.name
    assert [note.partition(" is dated ")[2] for note in chosen.future] == ["2999-01-01", "2998-01-01 00:00"]
    _, files = find_runs([project])
    assert [file.path.name for file in files] == [today.name, named.name, begun.name]


def test_way_13_a_file_of_the_future_without_a_date_is_the_oldest(project: Path) -> None:
    """Neither its name nor its header nor its time can be believed."""
    now = datetime.now(tz=UTC)
    good = dated(project / "runs", "good.jsonl", f"{now - timedelta(days=30):%Y-%m-%dT%H:%M:%SZ}", now)
    dated(project / "runs", "odd.jsonl", "2999-01-01T00:00:00Z", now + timedelta(days=300))
    assert choose_run(project).path.name == good.name
