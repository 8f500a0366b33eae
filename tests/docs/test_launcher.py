"""`./karat` in a fresh clone: sets itself up once, and is then only a door.

The set-ups here are real ones, with pip as it is configured on this machine; the tests share two of them.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import karat

VERSION = f"karat, version {karat.__version__}\n"
MAKING, INSTALLING = (
    "karat: making .venv with Python 3",
    "karat: installing karat, its dependencies and the embedding model\n",
)
PYTHONS = ("python3.13", "python3.12", "python3.11", "python3", "python")
TOOLS = ("sh", "cat", "cmp", "dirname", "mv", "readlink", "rm", "sed")
NO_INDEX = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": os.devnull, "PIP_CONFIG_FILE": os.devnull}

pytestmark = pytest.mark.slow


def launch(
    program: Path | str, *arguments: str, env: dict[str, str], stdin: str = "", cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Call the launcher, and wait for its end."""
    return subprocess.run(
        [program, *arguments], env=env, input=stdin, cwd=cwd, capture_output=True, text=True, timeout=300
    )


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> None:
    """A package index that pip can reach; without one there is nothing to test, which CI does not accept."""
    target = tmp_path_factory.mktemp("index")
    tried = launch(
        sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(target), "click", env=environment
    )
    if tried.returncode and os.environ.get("CI") != "true":
        pytest.skip(f"LAUNCHER NOT TESTED: pip reaches no package index: {tried.stderr.strip().splitlines()[-1]}")
    assert tried.returncode == 0, tried.stderr


@pytest.fixture(scope="session")
def first_use(
    tmp_path_factory: pytest.TempPathFactory,
    clone: Callable[[Path], Path],
    environment: dict[str, str],
    index: None,
) -> tuple[Path, list[tuple[int, str, str]]]:
    """A fresh clone in a path with blanks, and what two launchers gave that were started in it at the same time."""
    root = clone(tmp_path_factory.mktemp("first use") / "a clone")
    assert not (root / ".venv").exists()
    started = [
        subprocess.Popen(
            [root / "karat", "--version"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=600) for process in started]
    return root, [(process.returncode, *texts) for process, texts in zip(started, outputs, strict=True)]


@pytest.fixture
def ready(first_use: tuple[Path, list[tuple[int, str, str]]]) -> Path:
    """A clone in which the launcher has been used."""
    return first_use[0]


def test_first_use_sets_up_and_says_so_on_stderr(first_use: tuple[Path, list[tuple[int, str, str]]]) -> None:
    """The first call makes .venv and says what it does; standard output has the result and nothing else."""
    root, calls = first_use
    assert [(code, out) for code, out, _ in calls] == [(0, VERSION), (0, VERSION)], calls
    messages = "".join(err for _, _, err in calls)
    assert MAKING in messages
    assert INSTALLING in messages
    assert (root / ".venv" / "bin" / "python").exists()


def test_two_first_uses_at_once_make_one_environment(first_use: tuple[Path, list[tuple[int, str, str]]]) -> None:
    """Of two launchers that start together one sets up, and the other waits for it and says so."""
    messages = sorted((err for _, _, err in first_use[1]), key=len)
    assert sum(MAKING in err for err in messages) == 1
    assert messages[0] == "karat: waiting for another set-up to end\n"


def test_the_readmes_command_works_in_the_fresh_clone(ready: Path, environment: dict[str, str]) -> None:
    """Everything that scoring needs was installed."""
    done = launch(
        "./karat", "score", "examples/scoring/qrels.txt", "examples/scoring/run.txt", env=environment, cwd=ready
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("measure")


def test_later_uses_start_one_python_and_no_other(ready: Path, environment: dict[str, str], tmp_path: Path) -> None:
    """After the first use the launcher looks for no Python, and starts that of .venv once."""
    calls = tmp_path / "calls"
    for name in PYTHONS:
        recorder(tmp_path / "bin" / name, calls, "exit 1")
    python = ready / ".venv" / "bin" / "python"
    target = python.readlink()
    python.unlink()
    try:
        recorder(python, calls, f'exec "{python.parent}/{target}" "$@"')
        path = f"{tmp_path / 'bin'}{os.pathsep}{environment['PATH']}"
        done = launch(ready / "karat", "--version", env=environment | {"PATH": path})
    finally:
        python.unlink()
        python.symlink_to(target)
    assert (done.returncode, done.stdout, done.stderr) == (0, VERSION, "")
    assert calls.read_text().splitlines() == [str(python)]


def recorder(path: Path, calls: Path, then: str) -> None:
    """Write a program that notes that it was called, and goes on."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'#!/bin/sh\necho "$0" >>"{calls}"\n{then}\n')
    path.chmod(0o755)


def test_it_works_from_any_folder_and_through_links(ready: Path, environment: dict[str, str], tmp_path: Path) -> None:
    """The launcher finds its clone from elsewhere: by a relative path, a link, a link to a link, and PATH."""
    bin_folder = tmp_path / "some bin"
    bin_folder.mkdir()
    (bin_folder / "karat").symlink_to(ready / "karat")
    (bin_folder / "again").symlink_to("karat")
    relative = os.path.relpath(ready / "karat", tmp_path)
    on_path = environment | {"PATH": f"{bin_folder}{os.pathsep}{environment['PATH']}", "CDPATH": str(ready.parent)}
    calls = [
        launch("sh", "-c", f"'{relative}' --version", env=on_path, cwd=tmp_path),
        launch(bin_folder / "karat", "--version", env=environment, cwd=tmp_path),
        launch("sh", "-c", "./again --version", env=environment, cwd=bin_folder),
        launch("sh", "-c", "sh again --version", env=environment, cwd=bin_folder),
        launch("sh", "-c", "again --version", env=on_path, cwd=tmp_path),
        launch("sh", "-c", f"cd '{ready.parent}' && '{ready.name}/karat' --version", env=environment),
    ]
    assert [(done.returncode, done.stdout, done.stderr) for done in calls] == [(0, VERSION, "")] * len(calls)


def test_the_working_folder_has_no_say_in_what_is_imported(
    ready: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    """Files of the folder in which karat is called are never taken for modules."""
    for name in ("json.py", "click.py", "karat.py"):
        (tmp_path / name).write_text("raise SystemExit('imported from the working folder')\n")
    done = launch(ready / "karat", "measures", "P", "--json", env=environment, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_standard_input_and_exit_codes_are_the_clis(ready: Path, environment: dict[str, str]) -> None:
    """What is piped in reaches the CLI, and the CLI's exit code comes back."""
    scored = ["score", "examples/scoring/qrels.txt", "-", "-m", "P@1", "--missing", "exclude", "--json"]
    done = launch("./karat", *scored, env=environment, stdin="q1 Q0 refund-policy 1 1.0 x\n", cwd=ready)
    assert (done.returncode, done.stderr) == (0, "")
    assert '"mean": 1.0' in done.stdout
    assert launch(ready / "karat", "no-such-verb", env=environment).returncode == 2


def test_an_environment_is_not_used_for_other_files_than_it_was_made_from(
    ready: Path, environment: dict[str, str], clone: Callable[[Path], Path], tmp_path: Path
) -> None:
    """A linked .venv serves another clone with the same requirements, with that clone's code, and is never changed."""
    other = clone(tmp_path / "other")
    (other / ".venv").symlink_to(ready / ".venv")
    (other / "src" / "karat" / "core" / "_version.py").write_text('__version__ = "9.9.9"\n')
    assert launch(other / "karat", "--version", env=environment).stdout == "karat, version 9.9.9\n"
    project = other / "pyproject.toml"
    project.write_text("# changed\n" + project.read_text())
    done = launch(other / "karat", "--version", env=environment)
    assert (done.returncode, done.stdout) == (3, "")
    assert ".venv is a link" in done.stderr
    assert launch(ready / "karat", "--version", env=environment).stdout == VERSION


@pytest.fixture(scope="session")
def recovered(
    tmp_path_factory: pytest.TempPathFactory, clone: Callable[[Path], Path], environment: dict[str, str], index: None
) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A clone in which the first set-up was killed while it installed, and what the next call gave.

    That call finds no `ensurepip`, as on Debian without python3-venv, and has a run on its standard input.
    """
    root = clone(tmp_path_factory.mktemp("killed") / "a clone")
    process = subprocess.Popen(
        [root / "karat", "--version"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    with killed(process):
        assert any(line == INSTALLING for line in process.stderr)
    half = next((root / ".venv" / "lib").glob("python3*")) / "site-packages" / "click"
    half.mkdir(exist_ok=True)
    (half / "__init__.py").write_text("")
    without = root.parent / "without" / "ensurepip"
    without.mkdir(parents=True)
    (without / "__init__.py").write_text("raise ImportError('left out')\n")
    scored = ["score", "examples/scoring/qrels.txt", "-", "-m", "P@1", "--missing", "exclude", "--json"]
    env = environment | {"PYTHONPATH": str(without.parent)}
    return root, launch("./karat", *scored, env=env, stdin="q1 Q0 refund-policy 1 1.0 x\n", cwd=root)


def test_a_set_up_that_was_killed_is_done_again_from_the_start(
    recovered: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    """After a kill that left half a package the next call makes .venv anew, and then does what it was called for."""
    done = recovered[1]
    assert done.returncode == 0, done.stderr
    assert '"mean": 1.0' in done.stdout
    assert MAKING in done.stderr
    assert INSTALLING in done.stderr


def test_changed_requirements_are_installed_into_the_same_environment(
    recovered: tuple[Path, subprocess.CompletedProcess[str]], environment: dict[str, str]
) -> None:
    """Settings of tools change nothing; requirements do, and if pip cannot install them, what was there is kept."""
    root = recovered[0]
    project = root / "pyproject.toml"
    before = project.read_text()
    witness = root / ".venv" / "witness"
    witness.touch()
    project.write_text(before + "\n[tool.other]\n")
    calls = [launch(root / "karat", "--version", env=environment)]
    project.write_text("# changed\n" + before)
    calls += [
        launch(root / "karat", "--version", env=env) for env in (environment | NO_INDEX, environment, environment)
    ]
    assert [(done.returncode, done.stdout) for done in calls] == [(0, VERSION), (3, ""), (0, VERSION), (0, VERSION)]
    assert [INSTALLING in done.stderr for done in calls] == [False, True, True, False]
    assert not any(MAKING in done.stderr for done in calls)
    assert witness.exists()


@contextmanager
def killed(process: subprocess.Popen[str]) -> Iterator[None]:
    """Kill a process and all that it started when the block ends."""
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


@pytest.fixture
def poor(tmp_path: Path) -> Path:
    """A folder for PATH in which there are some tools, and no Python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in TOOLS:
        program = shutil.which(name)
        if program:
            (folder / name).symlink_to(program)
    return folder


@pytest.mark.parametrize("old", [False, True], ids=["none", "too old"])
def test_without_a_python_that_is_new_enough_it_says_so(
    old: bool, poor: Path, clone: Callable[[Path], Path], environment: dict[str, str], tmp_path: Path
) -> None:
    """With no Python from 3.11 up on PATH there is one clear message, exit code 3, and no trace of an attempt."""
    root = clone(tmp_path / "a clone")
    if old:
        recorder(poor / "python3", tmp_path / "calls", "exit 1")
    done = launch(root / "karat", "--version", env=environment | {"PATH": str(poor)})
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("karat: needs Python 3.11 or newer")
    assert done.stderr.count("\n") == 1
    assert not (root / ".venv").exists()


@pytest.mark.parametrize("damage", ["stamp", "python", "place"])
def test_a_damaged_environment_is_made_anew(
    damage: str, poor: Path, clone: Callable[[Path], Path], environment: dict[str, str], tmp_path: Path
) -> None:
    """Without its stamp, with a Python that is gone, or in another place than it was made in, .venv is made anew.

    A Python that can do nothing but say so stands in for the real one: that it is asked to make .venv is the point.
    """
    root = clone(tmp_path / "a clone")
    venv = root / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").symlink_to(sys.executable)
    place = tmp_path / "elsewhere" if damage == "place" else venv
    (venv / ".whole").write_text(f"{place}\n")
    (venv / ".ready-run").write_text(f"{place}\n{(root / 'pyproject.toml').read_text().partition('[tool.')[0]}")
    calls = tmp_path / "calls"
    recorder(poor / "python3", calls, 'case "$*" in *venv*) exit 1 ;; esac; exit 0')
    path = environment | {"PATH": str(poor)}
    if damage != "place":
        assert MAKING[:20] not in launch(root / "karat", "--version", env=path).stderr
    if damage == "stamp":
        (venv / ".ready-run").unlink()
        (venv / ".whole").unlink()
    if damage == "python":
        (venv / "bin" / "python").unlink()
        (venv / "bin" / "python").symlink_to(tmp_path / "gone")
    done = launch(root / "karat", "--version", env=path)
    assert (done.returncode, done.stdout) == (3, "")
    assert "karat: making .venv with" in done.stderr
    assert "karat: cannot make .venv with python3" in done.stderr


def test_a_folder_that_cannot_be_written_to_is_named(
    clone: Callable[[Path], Path], environment: dict[str, str], tmp_path: Path
) -> None:
    """Where .venv cannot be made there is one message, and exit code 3."""
    root = clone(tmp_path / "a clone")
    (root / ".venv.lock").mkdir()  # as good as a folder without the right to write, and works for root too
    done = launch(root / "karat", "--version", env=environment)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"karat: cannot write to {root}, where .venv would be made\n"


def test_setup_refuses_words_that_it_does_not_know(root: Path, environment: dict[str, str]) -> None:
    """A mistyped argument makes no environment, and is a usage error."""
    done = launch(root / "scripts" / "setup", "devel", env=environment)
    assert (done.returncode, done.stderr) == (2, "usage: scripts/setup [dev | bench | mlflow | torch]\n")


def test_an_index_that_cannot_be_reached_is_infrastructure(
    environment: dict[str, str], tmp_path: Path, clone: Callable[[Path], Path]
) -> None:
    """When pip cannot install, its message is shown, the exit code is 3, and no stamp says that all is well."""
    root = clone(tmp_path / "a clone")
    done = launch(root / "karat", "--version", env=environment | NO_INDEX)
    assert (done.returncode, done.stdout) == (3, "")
    assert "ERROR: " in done.stderr
    assert "karat: cannot install; the message above says why." in done.stderr
    assert not [*(root / ".venv").glob(".ready*"), *(root / ".venv").glob(".whole")]
