"""``karat init`` where something is there already, or in the way, or no good."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from karat import golden
from karat.experiments import open_project

VERB = "init"
Run = Callable[..., tuple[str, str]]
WORKFLOW = ".github/workflows/karat.yml"
MINE = '[golden]\npath = "golden"\n'


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with two pages."""
    folder = tmp_path / "shop"
    (folder / "docs").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "docs" / "pool.md").write_text("# Pool\n\nThe **pool** opens at [six](hours.md).\n")
    (folder / "docs" / "gym.txt").write_text("The gym is open all night.\n")
    monkeypatch.chdir(folder)
    return folder


def states(run: Run, *arguments: str) -> dict[str, str]:
    """Call the verb, and give what became of each file."""
    found = json.loads(run(*arguments, "--json")[0])["files"]
    return {Path(one["path"]).name: one["state"] for one in found}


def _state(path: Path) -> tuple[int, ...]:
    """What a change to a file would change; not when it was read."""
    found = path.lstat()
    return found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns


@pytest.mark.parametrize("name", ["karat.toml", ".gitignore", WORKFLOW, ".gitlab-ci.yml", "golden"])
@pytest.mark.parametrize("kind", ["folder", "bytes", "nowhere", "pipe"])
def test_whatever_is_there_stays(run: Run, repository: Path, name: str, kind: str) -> None:
    """A folder, a file that is no text, a link that leads nowhere or a pipe is left alone, and the rest is written."""
    path = repository / name
    path.parent.mkdir(parents=True, exist_ok=True)
    match kind:
        case "folder":
            (path / "mine").mkdir(parents=True)
        case "bytes":
            path.write_bytes(b"\xff\xfe\x00")
        case "nowhere":
            path.symlink_to("nowhere")
        case _:
            os.mkfifo(path)
    before = _state(path)
    found = states(run, "--documents", "docs", "--ci", "both")
    assert found.pop(path.name) == "kept"
    assert set(found.values()) == {"written"}
    assert _state(path) == before
    assert not (repository / "nowhere").exists()


def test_an_empty_folder_is_nothing(run: Run, repository: Path) -> None:
    """A golden set is written into a folder that was made for it."""
    (repository / "golden").mkdir()
    assert states(run, "--documents", "docs")["golden"] == "written"
    assert len(open_project(repository).golden.queries) == 2


def test_line_ends_of_a_checkout_make_no_difference(run: Run, repository: Path) -> None:
    """After git on Windows has rewritten every file, nothing differs."""
    run("--documents", "docs", "--ci", "both", "--yes")
    for path in repository.rglob("*"):
        if path.is_file() and "docs" not in path.parts:
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert set(states(run, "--documents", "docs", "--ci", "both").values()) == {"same"}
    assert len(open_project(repository).golden.queries) == 2


def test_a_broken_configuration_is_told(run: Run, repository: Path) -> None:
    """It stays, and why it cannot be read is said; the set that is written stands on its own."""
    (repository / "karat.toml").write_text("[golden\n")
    out, _ = run("--documents", "docs", "--yes")
    assert "karat.toml: is there and differs; left as it is" in out
    assert "karat.toml: is no valid TOML" in out
    assert len(golden.read(repository / "golden").documents) == 2


def test_a_configuration_in_pyproject_is_not_hidden(run: Run, repository: Path) -> None:
    """karat.toml goes before [tool.karat]: written beside it, it would take the project over."""
    (repository / "pyproject.toml").write_text('[tool.karat.golden]\npath = "tests/golden"\n')
    out, _ = run("--documents", "docs", "--yes")
    assert "pyproject.toml: is there and differs; left as it is\n  its [tool.karat] is the configuration" in out
    assert not (repository / "karat.toml").exists()
    assert len(open_project(repository).golden.documents) == 2
    workflow = yaml.safe_load((repository / WORKFLOW).read_text())
    assert "tests/golden/**" in workflow[True]["push"]["paths"]


@pytest.mark.parametrize("broken", ["[tool", "tool = 1", "[tool]\nkarat = 0"])
def test_a_pyproject_of_others_is_no_matter(run: Run, repository: Path, broken: str) -> None:
    """One that is broken, or says nothing of karat, changes nothing."""
    (repository / "pyproject.toml").write_text(broken)
    assert states(run, "--documents", "docs")["karat.toml"] == "written"


@pytest.mark.parametrize(
    ("config", "documents"), [(MINE, True), (f'{MINE}documents = "docs"\n', False), (None, True)], ids=str
)
def test_what_is_missing_fits_what_is_there(run: Run, repository: Path, config: str | None, documents: bool) -> None:
    """A configuration that names documents gets a set without, another one a set with them; and a set the same way."""
    if config is not None:
        (repository / "karat.toml").write_text(config)
    else:
        run("--documents", "docs", "--system", "app:find", "--yes")  # with a copy
        (repository / "karat.toml").unlink()
    run("--documents", "docs", "--yes")
    assert (repository / "golden" / "documents.jsonl").exists() == documents
    assert len(open_project(repository).golden.documents) == 2


def test_a_set_outside_of_the_repository_is_not_made(run: Run, repository: Path) -> None:
    """A configuration may name one that is there, and nothing is written to where it leads otherwise."""
    (repository / "karat.toml").write_text('[golden]\npath = "../elsewhere"\n')
    _, err = run("--documents", "docs", "--yes", code=2)
    assert "elsewhere: is not there, and lies outside of the repository" in err
    assert not (repository / WORKFLOW).exists()


@pytest.mark.parametrize("blocked", [".github", ".github/workflows"])
def test_a_file_in_the_way_is_told_before_anything_is_written(run: Run, repository: Path, blocked: str) -> None:
    """Half a project would be worse than none."""
    (repository / blocked).parent.mkdir(exist_ok=True)
    (repository / blocked).write_text("")
    _, err = run("--documents", "docs", "--yes", code=2)
    assert "cannot be made: a file is in its place" in err
    assert not (repository / "karat.toml").exists()


AS_NOBODY = """
import os, sys
from pathlib import Path
from karat.core import InputError
from karat.start import Start, start_project

warm, *locked = map(Path, sys.argv[1:])
start_project(Start(folder=warm))  # all that is imported late is imported now
if os.geteuid() == 0:
    os.setuid(65534)
for folder in locked:
    try:
        start_project(Start(folder=folder))
    except InputError as error:
        print(error)
"""


def test_a_folder_without_the_right_to_write(tmp_path: Path, environment: dict[str, str]) -> None:
    """One that may not be written, and one that may not even be entered: told before anything is written."""
    with tempfile.TemporaryDirectory() as open_to_all:
        Path(open_to_all).chmod(0o755)
        locked, hidden = Path(open_to_all) / "locked", Path(open_to_all) / "hidden"
        locked.mkdir(mode=0o555)
        hidden.mkdir(mode=0o000)
        command = [sys.executable, "-c", AS_NOBODY, *map(str, (tmp_path / "warm", locked / "new", hidden / "new"))]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        assert done.stdout.splitlines() == [
            f"{folder}: cannot be written into: permission denied" for folder in (locked, hidden)
        ], done.stderr
        locked.chmod(0o755)
        hidden.chmod(0o755)
        assert not list(locked.iterdir())
        assert not list(hidden.iterdir())


@pytest.mark.parametrize("folder", ["two words", 'it\'s "quoted"', "größe 测试 😀", "-dash", "a@folder@b", "a;b && c"])
def test_names_of_any_kind(run: Run, repository: Path, folder: str) -> None:
    """Configuration, workflows and what is ignored lead to the project, whatever it is called."""
    arguments = ["--documents", "docs", "--ci", "both", "--yes", "--", folder]
    run(*arguments)
    assert len(open_project(repository / folder).golden.documents) == 2
    assert tomllib.loads((repository / folder / "karat.toml").read_text())["golden"]["documents"] == "../docs"
    github = yaml.safe_load((repository / WORKFLOW).read_text())
    assert f"{folder}/karat.toml" in github[True]["pull_request"]["paths"]
    job = yaml.safe_load((repository / ".gitlab-ci.yml").read_text())["karat"]
    (gate,) = [step["run"] for step in github["jobs"]["gate"]["steps"] if step.get("name") == "Gate"]
    for command in (gate, *job["script"]):
        shown = subprocess.run(
            ["sh", "-c", command.replace("karat", "printf '%s\\n'", 1)], capture_output=True, text=True
        )
        argument = shown.stdout.splitlines()[1]
        assert not argument.startswith("-"), "it would be an option"
        assert Path(argument) == Path(folder)
    assert ignored(repository, f"{folder}/runs/x", f"{folder}/golden/x") == [f"{folder}/runs/x"]


def ignored(repository: Path, *paths: str) -> list[str]:
    """Ask git which of these it would ignore."""
    subprocess.run(["git", "init", "-q", "."], cwd=repository, check=True)
    command = ["git", "-c", "core.excludesFile=/dev/null", "check-ignore", "--no-index", "-z", "--stdin"]
    found = subprocess.run(command, cwd=repository, input="\0".join(paths), capture_output=True, text=True)
    return found.stdout.split("\0")[:-1]


def test_only_its_own_folders_are_ignored(run: Run, repository: Path) -> None:
    """A folder of the same name elsewhere is somebody's code; and what is ignored already is not said again."""
    run("--yes")
    assert ignored(repository, "app/reports/x.py", "reports/x.md") == ["reports/x.md"]
    (repository / ".gitignore").write_text("runs\n.karat/\n/reports\n/karat-report/")
    assert states(run)[".gitignore"] == "same"


@pytest.mark.parametrize("stdin", ["closed", "empty"])
def test_without_anybody_to_ask(repository: Path, environment: dict[str, str], stdin: str) -> None:
    """--yes asks nothing; without it, what to do is said, and nothing is written."""
    closed = "<&-" if stdin == "closed" else "</dev/null"
    command = f'"{sys.executable}" -m karat init "$@" {closed}'
    options = {"cwd": repository, "env": environment, "capture_output": True, "text": True, "timeout": 60}
    asked = subprocess.run(["sh", "-c", command, "sh", "--documents", "docs"], **options)  # type: ignore[call-overload]
    assert asked.returncode == 2, asked.stderr
    assert asked.stderr.endswith("karat: nobody answers; give --yes, or --documents, --system and --ci\n")
    assert not (repository / "karat.toml").exists()
    done = subprocess.run(["sh", "-c", command, "sh", "--yes"], **options)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stderr


def test_documents_that_say_nothing_are_named(run: Run, repository: Path) -> None:
    """An empty file, one of blanks and one of markup only give no query; a very long one is slow."""
    (repository / "docs" / "empty.md").write_text("")
    (repository / "docs" / "blank.md").write_text(" \n\t\n")
    (repository / "docs" / "table.md").write_text("---\na: b\n---\n# Table\n\n| a | b |\n|---|---|\n| c | d |\n")
    (repository / "docs" / "long.txt").write_text("The log goes on and on. " + "entry\n" * 1_000_000)
    out, _ = run("--documents", "docs", "--yes")
    assert (
        "golden: written\n  no sentence to ask for in blank, empty, table\n  very long, and slow to index: long\n"
        in out
    )
    queries = {query.text for query in open_project(repository).golden.queries}
    assert queries == {"The pool opens at six.", "The gym is open all night.", "The log goes on and on."}


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("photo.md", b"\x89PNG\r\n\x1a\n\x00", "photo.md, line 1: byte 0x89 is not UTF-8; make it UTF-8, or move it"),
        ("zero.md", b"a\n\x00", "zero.md, line 2: a NUL byte, which text never has; make it UTF-8, or move it"),
        ("latin.txt", "größe".encode("latin-1"), "latin.txt, line 1: byte 0xf6 is not UTF-8"),
        ("pool.txt", b"Another pool.", "docs: several documents would have the id 'pool'; rename all but one"),
    ],
)
def test_documents_that_cannot_be_read_are_told(
    run: Run, repository: Path, name: str, data: bytes, message: str
) -> None:
    """They would stop every check; so they are told before anything is written."""
    (repository / "docs" / name).write_bytes(data)
    _, err = run("--documents", "docs", "--yes", code=2)
    assert message in err
    assert not (repository / "karat.toml").exists()
