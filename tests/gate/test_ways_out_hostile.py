"""Ways to get a better exit code or a better number by what the system's code, or the disk, does to karat."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli.gate_project import main, make_gated_project
from clocks import Clock
from karat.core import SystemFailed
from karat.projects import gate_run, open_project
from karat.runs import make_run as ask_all
from karat.systems import adapt, load_system

RETRIEVER = """
def find(query, k):
    number = query[len("What of "):][:2]
    return ["x" + number]


def fine(query, k):
    number = query[len("What of "):][:2]
    return ["d" + number]
"""
EVAL = '[golden]\npath = "set"\n[eval]\nmeasures = ["RR@10"]\nsystem = "hostile_way:find"\nwarm_up = 0\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a good baseline whose retriever, the module ``hostile_way``, finds nothing any more."""
    project = tmp_path / "project"
    make_gated_project(project, [1] * 12)
    (project / "karat.toml").write_text(EVAL)
    (project / "hostile_way.py").write_text(RETRIEVER)
    monkeypatch.chdir(project)
    monkeypatch.setattr(sys, "path", [str(project), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(os, "_exit", os._exit)
    monkeypatch.delitem(sys.modules, "hostile_way", raising=False)
    return project


def begin(folder: Path, code: str) -> None:
    """Put some code at the beginning of the retriever's module."""
    (folder / "hostile_way.py").write_text(code + RETRIEVER)


@pytest.mark.parametrize("place", [".", "../project"])
def test_a_system_that_changes_the_folder_does_not_lose_the_baseline(
    folder: Path, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run, the reports and the baseline are those of the project, wherever the retriever's module goes."""
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    begin(folder, f"import os\nos.chdir({str(elsewhere)!r})\n")
    assert main(["check", place]) == 1
    assert "1.0000" in capsys.readouterr().out
    assert not list(elsewhere.iterdir())
    assert len(list((folder / "runs").glob("*.jsonl"))) == 2
    assert len(list((folder / "reports").glob("rag-eval-*"))) == 3


def test_paths_of_the_command_line_are_those_of_the_folder_in_which_it_was_typed(folder: Path) -> None:
    """The baseline, the policy, the runs and the reports that options name are not looked for anywhere else."""
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    begin(folder, f"import os\nos.chdir({str(elsewhere)!r})\n")
    (folder / "baseline.json").rename("old.json")
    (folder / "strict.toml").write_text(
        '[gate]\nextends = "none"\n[[gate.rules]]\nmetric = "RR@10"\nmax_drop_abs = 0.1\n'
    )
    options = ["--baseline", "old.json", "--policy", "strict.toml", "--output", "kept", "--reports", "told"]
    assert main(["check", ".", *options]) == 1
    assert not list(elsewhere.iterdir())
    assert len(list((folder / "kept").iterdir())) == 1
    assert len(list((folder / "told").iterdir())) == 3


def test_a_baseline_that_the_system_removes_is_still_compared_with(folder: Path) -> None:
    """It was read before the first question."""
    begin(folder, 'import os\nos.remove("baseline.json")\n')
    assert main(["check", "--no-report"]) == 1
    assert not Path("baseline.json").exists()


class LazyList(list[object]):
    """A list whose hits are found while they are read."""

    def __init__(self, wait: Callable[[], None]) -> None:
        super().__init__(["d01"])
        self._wait = wait

    def __iter__(self) -> Iterator[object]:
        self._wait()
        return super().__iter__()


class LazyHit:
    """A hit whose id is found when it is read."""

    def __init__(self, wait: Callable[[], None]) -> None:
        self._wait = wait

    @property
    def id(self) -> str:
        """The id, after a wait."""
        self._wait()
        return "d01"


class LazyTimings(list[object]):
    """An answer that computes something to report its stages."""

    def __init__(self, wait: Callable[[], None]) -> None:
        super().__init__(["d01"])
        self._wait = wait

    @property
    def timings(self) -> dict[str, float]:
        """The stages, after a wait."""
        self._wait()
        return {"search": 1.0}


@pytest.mark.parametrize("answer", [LazyList, lambda wait: [LazyHit(wait)], LazyTimings])
@pytest.mark.parametrize("batch", [1, 4])
def test_work_that_is_done_while_the_answer_is_read_belongs_to_its_time(
    folder: Path, clock: Clock, answer: Callable[[Callable[[], None]], list[object]], batch: int
) -> None:
    """A second for each answer is a second of latency, in a call of its own and in a batch."""
    from karat.config import Settings

    class Lazy:
        def retrieve(self, query: str, k: int) -> list[object]:
            return answer(lambda: clock.advance(1.0))

        def retrieve_many(self, queries: list[str], k: int) -> list[list[object]]:
            return [self.retrieve(query, k) for query in queries]

    run = ask_all(open_project(folder).golden, Lazy(), Settings(warm_up=0, batch=batch))
    assert all(trace.timings["total"] >= 1000 for trace in run.traces)


@pytest.mark.parametrize("error", ["GeneratorExit()", "SystemExit(0)", "type('B', (BaseException,), {})('end')"])
@pytest.mark.parametrize("place", ["import", "describe", "ingest", "getattr"])
def test_whatever_the_system_raises_is_its_failure(
    folder: Path, place: str, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 3 with a message: 1 would say that the gate failed, and 0 that it passed."""
    if place == "import":
        begin(folder, f"raise {error}\n")
    elif place == "getattr":
        (folder / "hostile_way.py").write_text(
            f"def __getattr__(name):\n    if name == 'find':\n        raise {error}\n"
        )
    else:
        arguments = "self" if place == "describe" else "self, documents"
        (folder / "hostile_way.py").write_text(
            f"class find:\n    def retrieve(self, query, k):\n        return []\n    def {place}({arguments}):\n"
            f"        raise {error}\n"
        )
    assert main(["check", "--no-report"]) == 3
    message = capsys.readouterr().err
    assert error.partition("(")[0] in message or "B: end" in message or "raised B" in message
    assert "bug in karat" not in message


def test_a_replaced_sys_exit_does_not_choose_the_exit_code(folder: Path) -> None:
    """karat does not call it at its end."""
    begin(folder, "import sys\nwhole = sys.exit\nsys.exit = lambda code=0: whole(0)\n")
    whole = sys.exit
    try:
        assert main(["check", "--no-report"]) == 1
    finally:
        sys.exit = whole


@pytest.mark.parametrize("kind", ["a file", "a broken link", "a file above"])
def test_reports_that_cannot_be_written_are_refused_before_anything_is_asked(
    folder: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One message that names the place, and exit code 2; karat used to look for a free name for ever."""
    begin(folder, 'open("asked", "w").close()\n')
    place = "reports"
    if kind == "a broken link":
        Path("reports").symlink_to("nowhere")
    else:
        Path("reports").touch()
    if kind == "a file above":
        place = "reports/of/today"
    assert main(["check", ".", "--reports", place]) == 2
    assert "reports: is not a folder" in capsys.readouterr().err
    assert not Path("asked").exists()


def test_reports_that_become_impossible_do_not_change_the_verdict(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The decision is printed and its exit code kept; a run that would pass ends with 2."""
    begin(folder, 'open("reports", "w").close()\n')
    assert main(["check", "."]) == 1
    output = capsys.readouterr()
    assert "FAIL by policy default" in output.out
    assert "reports" in output.err
    Path("reports").unlink()
    sys.modules.pop("hostile_way")
    assert main(["check", ".", "--system", "hostile_way:fine"]) == 2
    assert "PASS" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("check --no-report >/dev/full", 1),
        ("check --no-report 2>/dev/full", 1),
        ("check --no-report --json >/dev/full 2>&1", 1),
        ("gate runs/old.jsonl >/dev/full", 2),
        ("gate runs/gone.jsonl 2>/dev/full", 2),
    ],
)
def test_a_full_disk_does_not_change_the_verdict(folder: Path, words: str, expected: int) -> None:
    """A failed gate is 1 although nothing could be printed; a pass that nobody can read is 2."""
    process = subprocess.run(["bash", "-c", f"{sys.executable} -m karat {words}"], cwd=folder, timeout=600)
    assert process.returncode == expected


def test_a_gate_takes_a_policy_and_a_baseline_that_were_read_before(folder: Path) -> None:
    """They are used as they are, and nothing is looked up."""
    from karat.projects import find_baseline, project_policy

    project = open_project(folder)
    policy, baseline = project_policy(project), find_baseline(project)
    Path("baseline.json").unlink()
    run = ask_all(project.golden, load_system("hostile_way:find"))
    assert gate_run(project, run, policy=policy, baseline=baseline).decision.exit_code == 1


def test_ctrl_c_is_not_a_failure_of_the_system() -> None:
    """It ends karat wherever it is."""

    class Interrupted:
        def retrieve(self, query: str, k: int) -> list[str]:
            return []

        def describe(self) -> dict[str, str]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        adapt(Interrupted())
    with pytest.raises(SystemFailed):
        adapt(type("Ended", (Interrupted,), {"describe": lambda self: (_ for _ in ()).throw(GeneratorExit)})())
