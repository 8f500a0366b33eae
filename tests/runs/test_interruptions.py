"""Runs that are stopped, resumed, damaged, made by two at once, or have no room: nothing is lost or mixed."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from karat import golden
from karat.core import Document, GoldenSet, InputError, Judgment, Query, SystemFailed, Target
from karat.runs import RunWriter, Settings, make_run, read_run_file

Call = Callable[..., tuple[str, str]]
Module = Callable[[str], str]
Kept = Callable[[], list[Path]]
Many = tuple[Path, list[str]]

LOGGED = """
from pathlib import Path
def find(query, k):
    with Path("asked.txt").open("a") as file:
        file.write(query + "\\n")
    while query == "020?" and Path("hold").exists():
        time.sleep(0.005)
    return [(query[0], 1.0), ("z", 0.5)]
"""
NUMBERS = [f"{number:03d}" for number in range(60)]
MANY = GoldenSet(
    name="many",
    documents=tuple(Document(id=first, text=f"All that begins with {first}.") for first in "012345z"),
    queries=tuple(Query(id=f"q{number}", text=f"{number}?") for number in NUMBERS),
    judgments=tuple(Judgment(query=f"q{number}", target=Target(document=number[0]), grade=3) for number in NUMBERS),
)


@pytest.fixture
def many(folder: Path, module: Module) -> Many:
    """A project with sixty questions, and the command line for a system that waits at one of them while told to."""
    golden.write(MANY, folder / "set60")
    (folder / "karat.toml").write_text('[golden]\npath = "set60"\n[eval]\nwarm_up = 0\n')
    return folder, [sys.executable, "-m", "karat", "eval", ".", "-m", "RR@10", "--system", f"{module(LOGGED)}:find"]


def read_questions(folder: Path) -> list[str]:
    return (folder / "asked.txt").read_text().split()


def held(folder: Path, command: list[str]) -> subprocess.Popen[str]:
    """Start a run, and wait until it has twenty answers and hangs at the next question."""
    (folder / "hold").touch()
    job = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 600
    while not (
        any(part.read_bytes().count(b"\n") == 21 for part in folder.glob("runs/*.part"))
        and read_questions(folder)[-1] == "020?"  # the answers may be there before the next question is asked
    ):
        assert job.poll() is None, job.communicate()[1]
        assert time.monotonic() < deadline, "no run was begun"
        time.sleep(0.005)
    return job


def complete(path: Path) -> bool:
    """Whether a run has the answers to all sixty questions, in order, and nothing else."""
    lists = [(trace.query, [hit.id for hit in trace.hits]) for trace in read_run_file(path).traces]
    return lists == [(query.id, [query.text[0], "z"]) for query in MANY.queries]


@pytest.mark.slow
def test_ctrl_c_and_again(many: Many) -> None:
    """Exit code 130 without a traceback; the same command goes on, and asks again only what had no answer yet."""
    folder, command = many
    job = held(folder, command)
    job.send_signal(signal.SIGINT)
    assert "Traceback" not in job.communicate(timeout=600)[1]
    assert job.returncode == 130
    assert not list(folder.glob("runs/*.jsonl"))
    (folder / "hold").unlink()
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=600)
    (file,) = folder.glob("runs/*")
    assert complete(file)
    texts = [query.text for query in MANY.queries]
    assert read_questions(folder) == texts[:21] + texts[20:]


@pytest.mark.slow
def test_two_at_once(many: Many) -> None:
    """The second is told so, and changes nothing; the first finishes as if it were alone."""
    folder, command = many
    first = held(folder, command)
    second = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    assert second.returncode == 2
    assert "another process is making this run; wait for it, or choose another file" in second.stderr
    assert first.poll() is None
    (folder / "hold").unlink()
    _, said = first.communicate(timeout=600)
    assert first.returncode == 0, said
    (file,) = folder.glob("runs/*")
    assert complete(file)
    assert read_questions(folder) == [query.text for query in MANY.queries]


@pytest.mark.slow
def test_many_at_once(folder: Path) -> None:
    """However they meet, whoever gets through leaves a whole run, and the others say why they did not."""
    golden.write(MANY, folder / "set60")
    program = """if True:
        import sys, time
        from pathlib import Path
        from karat import golden
        from karat.core import InputError
        from karat.runs import Settings, make_run
        golden_set = golden.read("set60")
        def find(query, k):
            return [query[0], "z"]
        Path(sys.argv[1]).touch()
        while len(list(Path().glob("here-*"))) < 4:
            time.sleep(0.001)
        for _ in range(5):
            try:
                make_run(golden_set, find, Settings(warm_up=0), output=Path("run.jsonl"))
                print("made")
            except InputError as error:
                assert "another process is making this run" in str(error), error
    """
    jobs = [
        subprocess.Popen([sys.executable, "-c", program, f"here-{n}"], stdout=subprocess.PIPE, text=True)
        for n in range(4)
    ]
    output = "".join(job.communicate(timeout=600)[0] for job in jobs)
    assert [job.returncode for job in jobs] == [0, 0, 0, 0]
    assert output.count("made") >= 1
    assert complete(folder / "run.jsonl")
    assert not (folder / "run.jsonl.part").exists()


BARE = {"PYTHONDONTWRITEBYTECODE": "1"}
"""Python itself would keep half of a compiled module where no more can be written."""


@pytest.mark.slow
def test_no_room_left(many: Many, environment: dict[str, str]) -> None:
    """Exit code 3 that says how much is kept, nothing that looks finished; with room again it goes on."""
    folder, command = many

    def little() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))

    full = subprocess.run(
        command,
        cwd=folder,
        env=environment | BARE,  # without coverage, which could not write its file either
        preexec_fn=little,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert full.returncode == 3
    assert "cannot be written: File too large" in full.stderr
    assert "answers are saved, and the same call continues from there" in full.stderr
    assert "Traceback" not in full.stderr
    note, part = sorted(folder.glob("runs/*"))
    assert (note.name, part.suffix) == ("failed.json", ".part")
    written = part.read_bytes().count(b"\n") - 1
    assert f"{written} answers are saved" in full.stderr
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=600)
    (file,) = folder.glob("runs/*")
    assert complete(file)
    assert read_questions(folder).count(MANY.queries[0].text) == 1
    # The answer that did not fit is asked for again, with what a fast system had answered in the same milliseconds.
    assert max(Counter(read_questions(folder)).values()) == 2
    assert len(read_questions(folder)) < 2 * len(MANY.queries)


def test_a_disk_without_any_room(tmp_path: Path, letters: GoldenSet, environment: dict[str, str]) -> None:
    """Not even the header fits: the same exit code, and nothing is left."""
    program = """if True:
        import resource, sys
        from pathlib import Path
        from karat import GoldenSet, Query
        from karat.runs import make_run
        resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
        try:
            make_run(GoldenSet(queries=(Query(id="q", text="t"),)), lambda query, k: [], output=Path("run.jsonl"))
        except Exception as error:
            sys.exit(f"{type(error).__name__} {error.exit_code} {error}")
    """
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment | BARE,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ended.stderr == "SystemFailed 3 run.jsonl: cannot be written: File too large\n"


def test_where_nothing_can_be_written(call: Call, folder: Path, kept: Kept) -> None:
    """Exit code 2 with the path: in a file, and in the place of a folder."""
    (folder / "file").write_text("mine")
    _, err = call("--output", "file", code=2)
    assert "cannot be written: " in err
    assert (folder / "file").read_text() == "mine"
    assert kept() == []


def test_a_folder_in_the_place_of_the_run(tmp_path: Path, letters: GoldenSet) -> None:
    """It is told before anything is asked."""
    (tmp_path / "run.jsonl").mkdir()
    with pytest.raises(InputError, match="is a folder, not a file"):
        make_run(letters, lambda query, k: pytest.fail("was asked"), output=tmp_path / "run.jsonl")


def test_a_system_that_changes_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, letters: GoldenSet) -> None:
    """The run is where it was begun."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()

    def find(query: str, k: int) -> list[str]:
        os.chdir(tmp_path / "elsewhere")
        return [query[0]]

    make_run(letters, find, output=Path("run.jsonl"))
    assert len(read_run_file(tmp_path / "run.jsonl").traces) == 6


def test_a_folder_that_is_removed_meanwhile(tmp_path: Path, letters: GoldenSet) -> None:
    """Exit code 3 with the path and the reason."""

    def find(query: str, k: int) -> list[str]:
        for path in (tmp_path / "runs").glob("*"):
            path.unlink()
        return [query[0]]

    with pytest.raises(SystemFailed, match=r"run\.jsonl: cannot be written: No such file"):
        make_run(letters, find, output=tmp_path / "runs" / "run.jsonl")


# What was begun before


@pytest.fixture
def begun(tmp_path: Path, letters: GoldenSet) -> Callable[[Callable[[bytes], bytes]], list[str]]:
    """Make a run, change its bytes, put them where one that was begun lies, and run again; give what is asked."""

    def again(change: Callable[[bytes], bytes]) -> list[str]:
        output = tmp_path / "run.jsonl"
        make_run(letters, find, Settings(warm_up=0), output=output)
        whole = read_run_file(output)
        (tmp_path / "run.jsonl.part").write_bytes(change(output.read_bytes()))
        output.unlink()
        heard.clear()
        make_run(letters, find, Settings(warm_up=0), output=output)
        strip = [(trace.query, trace.text, trace.hits) for trace in read_run_file(output).traces]
        assert strip == [(trace.query, trace.text, trace.hits) for trace in whole.traces]
        assert sorted(path.name for path in tmp_path.iterdir()) == ["run.jsonl"]
        return list(heard)

    heard: list[str] = []

    def find(query: str, k: int) -> list[str]:
        heard.append(query)
        return [query[0]]

    return again


ALL = ["a?", "b?", "c?", "d?", "e?", "f?"]


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (lambda data: data, []),  # killed between the last line and the new name
        (lambda data: b"".join(data.splitlines(keepends=True)[:4]), ALL[3:]),
        (lambda data: data[: data.index(b'"qc"')], ALL[2:]),
        (lambda data: data[: data.index(b'"qc"')] + bytes(4096), ALL[2:]),  # blocks that never reached the disk
        (lambda data: data[: data.index(b"\n") + 1], ALL),
        (lambda data: data[:20], ALL),
        (lambda data: b"", ALL),
    ],
    ids=["whole", "three lines", "half a line", "zeros", "header", "half a header", "empty"],
)
def test_a_run_that_was_begun_goes_on(
    begun: Callable[..., list[str]], change: Callable[[bytes], bytes], left: list[str]
) -> None:
    """What is complete is kept, what was cut off is asked again, and the result is the same run."""
    assert begun(change) == left


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda data: data.replace(b'"query":"qb"', b'"query"  qb"'),
            r"line 3: the file is damaged: is not valid JSON",
        ),
        (lambda data: data.replace(b'"qb"', b'"q\xff"'), r"line 3: the file is damaged: is not UTF-8"),
        (lambda data: data.replace(b'"qb"', b"17"), r"line 3: the file is damaged: is not a trace: TypeError"),
        (lambda data: data.replace(b'"query":"qb"', b'"question":1'), r"line 3: the file is damaged: is not a trace"),
        (lambda data: data.replace(b'"qb"', b'"qz"').replace(b'{"end":true}\n', b""), "asked other questions"),
        (lambda data: data.replace(b'"k":10', b'"k":11'), "has an unfinished run of another kind; finish it"),
        (lambda data: b"Dear diary,\nwhat a day.\n", "has an unfinished run of another kind"),
    ],
    ids=["no JSON", "no UTF-8", "wrong type", "no trace", "other question", "another run", "another file"],
)
def test_what_is_not_this_run_is_left_alone(
    begun: Callable[..., list[str]], tmp_path: Path, change: Callable[[bytes], bytes], message: str
) -> None:
    """Damaged, or begun with other settings: it is told, and the file stays as it is."""
    before: list[bytes] = []

    def remembered(data: bytes) -> bytes:
        before.append(change(data))
        return before[0]

    with pytest.raises(InputError, match=message):
        begun(remembered)
    assert (tmp_path / "run.jsonl.part").read_bytes() == before[0]


def test_nothing_is_left_of_a_run_without_an_answer(tmp_path: Path, letters: GoldenSet) -> None:
    """There is nothing to go on from; with one answer there is."""
    part = tmp_path / "run.jsonl.part"
    run = make_run(letters, lambda query, k: [query[0]])

    def stop_after(answers: int) -> None:
        with RunWriter(tmp_path / "run.jsonl", run.provenance) as writer:
            for trace in run.traces[:answers]:
                writer.write(trace)
            raise RuntimeError

    for answers in (0, 1):
        with pytest.raises(RuntimeError):
            stop_after(answers)
        assert part.exists() == bool(answers)
