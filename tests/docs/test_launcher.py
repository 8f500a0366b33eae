"""`./karat` in a fresh clone: sets itself up once, and is then only a door.

The set-ups here are real ones, with pip as it is configured on this machine; the tests share one of them.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

import karat

VERSION = f"karat, version {karat.__version__}\n"
MAKING, INSTALLING = (
    "karat: making .venv with Python 3",
    "karat: installing what karat needs, and the embedding model (requirements/run.txt)\n",
)
PYTHONS = ("python3.13", "python3.12", "python3.11", "python3", "python")
TOOLS = ("sh", "cat", "cmp", "dirname", "mv", "readlink", "rm", "sed")
SCORE = ("score", "examples/scoring/qrels.txt", "-", "-m", "P@1", "--missing", "exclude", "--json")
RUN = "q1 Q0 refund-policy 1 1.0 x\n"
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


@dataclass(frozen=True)
class FirstUse:
    """A clone in a path with blanks, what its first set-up printed until it was killed, and what the next two gave."""

    root: Path
    killed: str
    scored: subprocess.CompletedProcess[str]
    version: subprocess.CompletedProcess[str]


@pytest.fixture(scope="session")
def first_use(
    tmp_path_factory: pytest.TempPathFactory, clone: Callable[[Path], Path], environment: dict[str, str], index: None
) -> FirstUse:
    """A fresh clone in which the first set-up was killed while it installed, and then two were started at once.

    pip refuses whatever has no hash. The Python of the first set-up has no pip; that of the others has no `ensurepip`,
    as on Debian without python3-venv. One of the two has a run on its standard input.
    """
    root = clone(tmp_path_factory.mktemp("first use") / "a clone")
    assert not (root / ".venv").exists()
    environment = environment | {"PIP_REQUIRE_HASHES": "1"}
    killed = kill_first_use(
        root, environment | {"PATH": f"{poor_python(root.parent)}{os.pathsep}{environment['PATH']}"}
    )
    without = root.parent / "without" / "ensurepip"
    without.mkdir(parents=True)
    (without / "__init__.py").write_text("raise ImportError('left out')\n")
    environment["PYTHONPATH"] = str(without.parent)
    with ThreadPoolExecutor() as threads:
        scored = threads.submit(launch, "./karat", *SCORE, env=environment, stdin=RUN, cwd=root)
        version = threads.submit(launch, root / "karat", "--version", env=environment)
        return FirstUse(root, killed, scored.result(), version.result())


def poor_python(folder: Path) -> Path:
    """Make a folder for PATH whose Python has no pip."""
    program = f'case "$*" in "-m pip"*) exit 1 ;; esac; exec "{Path(sys.executable).resolve()}" "$@"'
    recorder(folder / "poor" / PYTHONS[0], folder / "calls", program)
    return folder / "poor"


def kill_first_use(root: Path, env: dict[str, str]) -> str:
    """Start the launcher, kill it while it installs, leave half a package, and return what it had printed."""
    process = subprocess.Popen(
        [root / "karat", "--version"],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    printed = ""
    with killed(process):
        for line in process.stderr:
            printed += line
            if line == INSTALLING:
                break
    half = next((root / ".venv" / "lib").glob("python3*")) / "site-packages" / "click"
    half.mkdir(exist_ok=True)
    (half / "__init__.py").write_text("")
    return printed


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
def ready(first_use: FirstUse) -> Path:
    """A clone in which the launcher has been used."""
    return first_use.root


def test_first_use_sets_up_and_says_so_on_stderr(first_use: FirstUse) -> None:
    """The first call makes .venv, also with a Python that has no pip, and says what it does."""
    assert first_use.killed.startswith(MAKING)
    assert first_use.killed.endswith(INSTALLING)
    assert (first_use.root / ".venv" / "bin" / "python").exists()


def test_a_set_up_that_was_killed_is_done_again_from_the_start(first_use: FirstUse) -> None:
    """After a kill that left half a package .venv is made anew, and then the calls do what they were called for.

    Standard output has the result and nothing else. Everything that was installed had a hash, or pip had refused it.
    """
    scored, version = first_use.scored, first_use.version
    assert (version.returncode, version.stdout) == (0, VERSION), version.stderr
    assert (scored.returncode, '"mean": 1.0' in scored.stdout) == (0, True), scored.stderr
    messages = scored.stderr + version.stderr
    assert MAKING in messages
    assert INSTALLING in messages


def test_two_first_uses_at_once_make_one_environment(first_use: FirstUse) -> None:
    """Of two launchers that start together one sets up, and the other waits for it and says so."""
    messages = sorted((first_use.scored.stderr, first_use.version.stderr), key=len)
    assert sum(MAKING in message for message in messages) == 1
    assert messages[0] == "karat: waiting for another set-up to end\n"


def test_the_readmes_command_works_in_the_fresh_clone(ready: Path, environment: dict[str, str]) -> None:
    """Everything that scoring needs was installed."""
    process = launch(
        "./karat", "score", "examples/scoring/qrels.txt", "examples/scoring/run.txt", env=environment, cwd=ready
    )
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.startswith("measure")


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
        process = launch(ready / "karat", "--version", env=environment | {"PATH": path})
    finally:
        python.unlink()
        python.symlink_to(target)
    assert (process.returncode, process.stdout, process.stderr) == (0, VERSION, "")
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
    assert [(call.returncode, call.stdout, call.stderr) for call in calls] == [(0, VERSION, "")] * len(calls)


def test_the_working_folder_has_no_say_in_what_is_imported(
    ready: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    """Files of the folder in which karat is called are never taken for modules."""
    for name in ("json.py", "click.py", "karat.py"):
        (tmp_path / name).write_text("raise SystemExit('imported from the working folder')\n")
    process = launch(ready / "karat", "measures", "P", "--json", env=environment, cwd=tmp_path)
    assert (process.returncode, process.stderr) == (0, "")


def test_standard_input_and_exit_codes_are_the_clis(ready: Path, environment: dict[str, str]) -> None:
    """What is piped in reaches the CLI, and the CLI's exit code comes back."""
    scored = ["score", "examples/scoring/qrels.txt", "-", "-m", "P@1", "--missing", "exclude", "--json"]
    process = launch("./karat", *scored, env=environment, stdin="q1 Q0 refund-policy 1 1.0 x\n", cwd=ready)
    assert (process.returncode, process.stderr) == (0, "")
    assert '"mean": 1.0' in process.stdout
    assert launch(ready / "karat", "no-such-verb", env=environment).returncode == 2


def change(root: Path, more: str) -> str:
    """Add to what the launcher installs, and return what it was before."""
    lock = root / "requirements" / "run.txt"
    before = lock.read_text()
    lock.write_text(before + more)
    return before


def test_an_environment_is_not_used_for_other_files_than_it_was_made_from(
    ready: Path, environment: dict[str, str], clone: Callable[[Path], Path], tmp_path: Path
) -> None:
    """A linked .venv serves another clone with the same requirements, with that clone's code, and is never changed."""
    other = clone(tmp_path / "other")
    (other / ".venv").symlink_to(ready / ".venv")
    (other / "src" / "karat" / "core" / "_version.py").write_text('__version__ = "9.9.9"\n')
    assert launch(other / "karat", "--version", env=environment).stdout == "karat, version 9.9.9\n"
    change(other, "# changed\n")
    process = launch(other / "karat", "--version", env=environment)
    assert (process.returncode, process.stdout) == (3, "")
    assert ".venv is a link" in process.stderr
    assert launch(ready / "karat", "--version", env=environment).stdout == VERSION


def test_changed_requirements_are_installed_into_the_same_environment(ready: Path, environment: dict[str, str]) -> None:
    """Other files change nothing; the lock does. What has another hash is refused, and leaves all as it was.

    Where an index has everything but the model, as here at the end, karat works without it.
    """
    witness = ready / ".venv" / "witness"
    witness.touch()
    (packages,) = (ready / ".venv").glob("lib/python3*/site-packages")
    for folder in packages.glob("holographic*"):
        shutil.rmtree(folder)
    with (ready / "pyproject.toml").open("a") as file:
        file.write("\n[tool.other]\n")
    calls = [launch(ready / "karat", "--version", env=environment)]
    before = change(ready, f"editables==0.6 --hash=sha256:{'0' * 64}\n")
    calls.append(launch(ready / "karat", "--version", env=environment))
    (ready / "requirements" / "run.txt").write_text(before)
    calls += [launch(ready / "karat", "--version", env=environment | NO_INDEX) for _ in range(2)]
    codes = [(process.returncode, process.stdout) for process in calls]
    assert codes == [(0, VERSION), (3, ""), (0, VERSION), (0, VERSION)]
    assert [INSTALLING in process.stderr for process in calls] == [False, True, True, False]
    assert "DO NOT MATCH THE HASHES" in calls[1].stderr
    assert "karat: installing again, without the embedding model" in calls[2].stderr
    assert not any(MAKING in process.stderr for process in calls)
    assert witness.exists()
    assert not list(packages.glob("editables*"))


def test_the_action_installs_what_is_locked_and_then_karat(
    ready: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    """Its first step installs the locks, by hash, and then karat from its folder without asking an index again.

    The environment is the launcher's, which has most of it already.
    """
    (step, _) = yaml.safe_load((ready / "action.yml").read_text())["runs"]["steps"]
    hashes = {"PIP_REQUIRE_HASHES": "1", "PIP_COMPILE": "0"}
    on_path = {"PATH": f"{ready / '.venv' / 'bin'}{os.pathsep}{environment['PATH']}"}
    env = environment | hashes | on_path | {"ACTION": str(ready), "LOCKED": "true"}
    shell = ("--noprofile", "--norc", "-eo", "pipefail", "-c")
    process = launch("bash", *shell, f"{step['run']}\nkarat --version", env=env, cwd=tmp_path)
    assert (process.returncode, process.stdout) == (0, VERSION), process.stderr


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
    process = launch(root / "karat", "--version", env=environment | {"PATH": str(poor)})
    assert (process.returncode, process.stdout) == (3, "")
    assert process.stderr.startswith("karat: needs Python 3.11 or newer")
    assert process.stderr.count("\n") == 1
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
    locks = [(root / "requirements" / f"{name}.txt").read_text() for name in ("pip", "run")]
    (venv / ".ready-run").write_text(f"{place}\n{''.join(locks)}")
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
    process = launch(root / "karat", "--version", env=path)
    assert (process.returncode, process.stdout) == (3, "")
    assert "karat: making .venv with" in process.stderr
    assert "karat: cannot make .venv with python3" in process.stderr


def test_a_folder_that_cannot_be_written_to_is_named(
    clone: Callable[[Path], Path], environment: dict[str, str], tmp_path: Path
) -> None:
    """Where .venv cannot be made there is one message, and exit code 3."""
    root = clone(tmp_path / "a clone")
    (root / ".venv.lock").mkdir()  # as good as a folder without the right to write, and works for root too
    process = launch(root / "karat", "--version", env=environment)
    assert (process.returncode, process.stdout) == (3, "")
    assert process.stderr == f"karat: cannot write to {root}, where .venv would be made\n"


def test_setup_refuses_words_that_it_does_not_know(root: Path, environment: dict[str, str]) -> None:
    """A mistyped argument makes no environment, and is a usage error."""
    process = launch(root / "scripts" / "setup", "devel", env=environment)
    assert (process.returncode, process.stderr) == (
        2,
        "usage: scripts/setup [dev | bench | fuzz | judges | mlflow | phoenix | systems | torch | tracing]\n",
    )


def test_an_index_that_cannot_be_reached_is_infrastructure(
    environment: dict[str, str], tmp_path: Path, clone: Callable[[Path], Path]
) -> None:
    """When pip cannot install, its message is shown, the exit code is 3, and no stamp says that all is well."""
    root = clone(tmp_path / "a clone")
    process = launch(root / "karat", "--version", env=environment | NO_INDEX)
    assert (process.returncode, process.stdout) == (3, "")
    assert "ERROR: " in process.stderr
    assert "karat: cannot install; the message above says why." in process.stderr
    assert not [*(root / ".venv").glob(".ready*"), *(root / ".venv").glob(".whole")]
