"""``karat init`` where something is there already, or in the way, or no good."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest
import yaml

from cli.init_repository import WORKFLOW, Run, enter_shop, ignored, states
from each import each
from karat import golden
from karat.projects import open_project

VERB = "init"
MINE = '[golden]\npath = "golden"\n'


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with two pages."""
    return enter_shop(tmp_path, monkeypatch)


def _state(path: Path) -> tuple[int, ...]:
    """What a change to a file would change; not when it was read."""
    status = path.lstat()
    return status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns


def _put(path: Path, kind: str) -> None:
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


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in (".gitignore", WORKFLOW) for kind in ("folder", "bytes", "nowhere", "pipe")]
    + [("karat.toml", "bytes"), ("golden", "folder"), ("golden", "bytes")],
)
def test_whatever_is_there_stays(run: Run, repository: Path, name: str, kind: str) -> None:
    """A folder, a file that is not text, a link that leads nowhere or a pipe is left alone, and the rest is written."""
    path = repository / name
    _put(path, kind)
    before = _state(path)
    states_now = states(run, "--documents", "docs", "--ci", "both")
    assert states_now.pop(path.name) == "kept"
    assert set(states_now.values()) == {"written"}
    assert _state(path) == before
    assert not (repository / "nowhere").exists()


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("karat.toml", "folder", "karat.toml: is a folder; move it away, and start again"),
        ("karat.toml", "nowhere", "karat.toml: is a link that leads nowhere; move it away"),
        ("karat.toml", "pipe", "karat.toml: is not a file; move it away"),
        ("golden", "nowhere", "golden: is a link that leads nowhere; move it away"),
        ("golden", "pipe", "golden: is not a file; move it away"),
    ],
)
def test_what_no_project_can_have_is_refused(run: Run, repository: Path, name: str, kind: str, message: str) -> None:
    """karat check could not work there; nothing is written beside it."""
    _put(repository / name, kind)
    before = sorted(repository.rglob("*"))
    _, err = run("--documents", "docs", "--yes", code=2)
    assert message in err
    assert sorted(repository.rglob("*")) == before


@pytest.mark.parametrize("kind", ["pipeline", "folder", "bytes", "nowhere", "pipe"])
def test_a_pipeline_that_is_there_is_added_to(run: Run, repository: Path, kind: str) -> None:
    """The job gets a file of its own, and the line that includes it is said; nothing looks like a deletion."""
    path = repository / ".gitlab-ci.yml"
    if kind == "pipeline":
        path.write_text("stages: [build]\nbuild:\n  script: make\n")
    else:
        _put(path, kind)
    before = _state(path)
    out, _ = run("--documents", "docs", "--ci", "gitlab", "--karat", "1", "--yes")
    assert _state(path) == before
    assert ".gitlab/karat.yml: written\n" in out
    assert "next: add to .gitlab-ci.yml: include: { local: .gitlab/karat.yml }\n" in out
    assert "\n  -" not in out
    job = yaml.safe_load((repository / ".gitlab" / "karat.yml").read_text())["karat"]
    assert ".gitlab/karat.yml" in job["rules"][0]["changes"]
    if kind == "pipeline":
        path.write_text("include: { local: .gitlab/karat.yml }\n")
        again, _ = run("--documents", "docs", "--ci", "gitlab", "--karat", "1", "--yes")
        assert ".gitlab/karat.yml: exists already\n" in again
        assert "next: add" not in again


def test_an_own_pipeline_that_grew_is_left_alone(run: Run, repository: Path) -> None:
    """With a job of the team's in the file that karat wrote, a diff would show that as deleted."""
    run("--ci", "gitlab", "--yes")
    with (repository / ".gitlab-ci.yml").open("a") as file:
        file.write("build:\n  script: make\n")
    out, _ = run("--ci", "gitlab", "--yes")
    assert ".gitlab-ci.yml: exists and differs; left as it is\n  holds more than karat's job\n" in out
    assert "make" not in out
    assert not (repository / ".gitlab").exists()


def test_two_projects_have_two_workflows(run: Run, repository: Path) -> None:
    """Each with a name, a file, a job and requirements of its own, watching the code of its own folder."""
    for name in ("search", "chat"):
        folder = repository / "services" / name
        (folder / "app").mkdir(parents=True)
        (folder / "app" / "find.py").touch()
        (folder / "requirements.txt").write_text("httpx\n")
        out, _ = run(str(folder), "--system", "app.find:find", "--ci", "both", "--karat", "1", "--yes")
        assert "no module" not in out
    workflows = sorted((repository / ".github" / "workflows").iterdir())
    assert [path.name for path in workflows] == ["karat-services-chat.yml", "karat-services-search.yml"]
    chat, search = (yaml.safe_load(path.read_text()) for path in workflows)
    assert (chat["name"], search["name"]) == ("karat services/chat", "karat services/search")
    watched = search[True]["pull_request"]["paths"]
    assert {"services/search/**/*.py", "services/search/requirements.txt"} <= set(watched)
    assert not {"**/*.py", "services/chat/**/*.py"} & set(watched)
    assert "python -m pip install -r services/search/requirements.txt\n" in str(
        [step.get("run") for step in search["jobs"]["gate"]["steps"]]
    ).replace("\\n", "\n")
    assert set(yaml.safe_load((repository / ".gitlab-ci.yml").read_text())) == {"karat-services-search"}
    assert set(yaml.safe_load((repository / ".gitlab" / "karat-services-chat.yml").read_text())) == {
        "karat-services-chat"
    }


def test_code_elsewhere_in_the_repository_is_watched(run: Run, repository: Path) -> None:
    """A project in a folder beside the code has to be run when that changes."""
    (repository / "app").mkdir()
    (repository / "app" / "find.py").touch()
    run("evaluation", "--system", "app.find:find", "--yes")
    workflow = yaml.safe_load((repository / ".github" / "workflows" / "karat-evaluation.yml").read_text())
    assert "**/*.py" in workflow[True]["pull_request"]["paths"]


@pytest.mark.parametrize(
    ("system", "noted"),
    [("app.nope:foo", True), ("nope:foo", True), ("app.find:find", False), ("karat.golden:read", False)],
)
def test_a_module_that_is_not_there_is_noted(run: Run, repository: Path, system: str, noted: bool) -> None:
    """It may be written later; one that is installed is there."""
    (repository / "app").mkdir()
    (repository / "app" / "find.py").touch()
    out, _ = run("--system", system, "--yes")
    assert (f"there is no module {system.partition(':')[0]} in . yet" in out) == noted


@each(
    ("source", "name", "note"),
    [
        ("class Search: ...\n", "Serch", "search has no 'Serch' yet, did you mean 'Search'?"),
        ("class Search: ...\n", "Search", ""),
        ("try:\n    from app import find\nexcept ImportError:\n    find = None\n", "find.deep", ""),
        ("from app import *\n", "Serch", ""),
        ("def Search(:\n", "Serch", ""),
        ("", "find", "search has no 'find' yet\n"),
    ],
)
def test_a_name_that_the_module_does_not_define_is_noted(
    run: Run, repository: Path, source: str, name: str, note: str
) -> None:
    """As ``karat check`` finds it, without running the module."""
    (repository / "search.py").write_text(source)
    out, _ = run("--system", f"search:{name}", "--yes")
    assert note in out
    assert ("has no" in out) == bool(note)
    shutil.rmtree(repository / "golden", ignore_errors=True)
    (repository / "karat.toml").unlink()


def test_patterns_are_those_of_each_ci(run: Run, repository: Path) -> None:
    """In GitLab's ``docs/**`` the stars are one, and have nothing of the folders in docs."""
    run("--documents", "docs", "--system", "app:find", "--ci", "both", "--yes")
    github = yaml.safe_load((repository / WORKFLOW).read_text())[True]["pull_request"]["paths"]
    gitlab = yaml.safe_load((repository / ".gitlab-ci.yml").read_text())["karat"]["rules"][0]["changes"]
    assert {"docs/**", "golden/**", "**/*.py"} <= set(github)
    assert {"docs/**/*", "golden/**/*", "**/*.py"} <= set(gitlab)
    assert not [pattern for pattern in gitlab if pattern.endswith("**")]


def test_paths_are_told_in_one_way(run: Run, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON has absolute paths, wherever it is called from."""
    monkeypatch.chdir(repository / "docs")
    files = json.loads(run("../inner", "--ci", "both", "--json")[0])["files"]
    assert {Path(file["path"]) for file in files} == {
        repository / "inner" / "karat.toml", repository / "inner" / "golden", repository / ".gitignore",
        repository / ".github" / "workflows" / "karat-inner.yml", repository / ".gitlab-ci.yml",
    }  # fmt: skip


AT_ONCE = """
import sys
from pathlib import Path
from karat import golden
from karat.start import Start, start_project

signal = Path(sys.argv[1])
print("ready", flush=True)
while not signal.exists():
    pass
print(start_project(Start(folder=Path("."), documents=Path("docs"), karat="1"))[1].state)
"""


@pytest.mark.slow
def test_several_at_once(repository: Path, environment: dict[str, str]) -> None:
    """All end well, whoever was first, and the golden set is whole."""
    options = {
        "cwd": repository,
        "env": environment,
        "text": True,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
    }
    for turn in range(3):
        shutil.rmtree(repository / "golden", ignore_errors=True)
        signal = repository.parent / f"go-{turn}"
        command = [sys.executable, "-c", AT_ONCE, str(signal)]
        several = [subprocess.Popen(command, **options) for _ in range(4)]  # type: ignore[call-overload]
        assert [entry.stdout.readline() for entry in several] == ["ready\n"] * 4
        signal.touch()
        for item in several:
            out, err = item.communicate(timeout=600)
            assert (out.strip() in ("written", "same", "kept"), err) == (True, "")
        assert len(open_project(repository).golden.queries) == 2


@pytest.mark.slow
def test_an_answer_is_looked_at_when_it_is_given(repository: Path, environment: dict[str, str]) -> None:
    """Blanks around it do not count, ~ is one's home, and what cannot be is asked for again."""
    answers = "nowhere\n~nobody-is-called-so\n  ~/docs \nsearch\n app:find \njenkins\n gitlab \nmaybe\nfail\n"
    process = subprocess.run(
        [sys.executable, "-m", "karat", "init"], input=answers, env=environment | {"HOME": str(repository)},
        cwd=repository, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    assert [line.partition("Error: ")[2][:20] for line in process.stderr.splitlines() if "Error: " in line] == [
        "nowhere: no such fil", "~nobody-is-called-so", "'search' is not a re", "'jenkins' is not a C",
        "'maybe' is not an an",
    ]  # fmt: skip
    assert tomllib.loads((repository / "karat.toml").read_text())["eval"]["system"] == "app:find"
    assert len(open_project(repository).golden.documents) == 2
    assert (repository / ".gitlab-ci.yml").exists()
    assert not (repository / WORKFLOW).exists()


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
    assert "karat.toml: exists and differs; left as it is" in out
    assert "next: correct karat.toml: is not valid TOML" in out
    assert len(golden.read(repository / "golden").documents) == 2


def test_a_configuration_in_pyproject_is_not_hidden(run: Run, repository: Path) -> None:
    """karat.toml goes before [tool.karat]: written beside it, it would take the project over."""
    (repository / "pyproject.toml").write_text('[tool.karat.golden]\npath = "tests/golden"\n')
    out, _ = run("--documents", "docs", "--yes")
    assert "pyproject.toml: exists and differs; left as it is\n  its [tool.karat] is the configuration" in out
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
    ("config", "documents"), [(MINE, True), (f'{MINE}documents = "docs"\n', False), (None, False)], ids=str
)
def test_what_is_missing_fits_what_is_there(run: Run, repository: Path, config: str | None, documents: bool) -> None:
    """A configuration that names documents gets a set without, another one a set with them; and a set the same way."""
    if config is not None:
        (repository / "karat.toml").write_text(config)
    else:
        run("--documents", "docs", "--system", "app:find", "--yes")  # without a copy, which would hide later changes
        (repository / "karat.toml").unlink()
    run("--documents", "docs", "--yes")
    assert (repository / "golden" / "documents.jsonl").exists() == documents
    assert len(open_project(repository).golden.documents) == 2


def test_a_set_outside_of_the_repository_is_not_made(run: Run, repository: Path) -> None:
    """A configuration may name one that is there, and nothing is written to where it leads otherwise."""
    (repository / "karat.toml").write_text('[golden]\npath = "../elsewhere"\n')
    _, err = run("--documents", "docs", "--yes", code=2)
    assert "elsewhere: does not exist, and is outside of the repository" in err
    assert not (repository / WORKFLOW).exists()


@pytest.mark.parametrize("blocked", [".github", ".github/workflows"])
def test_a_file_in_the_way_is_told_before_anything_is_written(run: Run, repository: Path, blocked: str) -> None:
    """Half a project would be worse than none."""
    (repository / blocked).parent.mkdir(exist_ok=True)
    (repository / blocked).write_text("")
    _, err = run("--documents", "docs", "--yes", code=2)
    assert "cannot be created: a file has this name" in err
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


@pytest.mark.slow
def test_a_folder_without_the_right_to_write(tmp_path: Path, environment: dict[str, str]) -> None:
    """One that may not be written, and one that may not even be entered: told before anything is written."""
    with tempfile.TemporaryDirectory() as open_to_all:
        Path(open_to_all).chmod(0o755)
        locked, hidden = Path(open_to_all) / "locked", Path(open_to_all) / "hidden"
        locked.mkdir(mode=0o555)
        hidden.mkdir(mode=0o000)
        command = [sys.executable, "-c", AS_NOBODY, *map(str, (tmp_path / "warm", locked / "new", hidden / "new"))]
        process = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
        assert process.stdout.splitlines() == [
            f"{folder}: cannot be written into: permission denied" for folder in (locked, hidden)
        ], process.stderr
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
    (workflow,) = (repository / ".github" / "workflows").iterdir()
    github = yaml.safe_load(workflow.read_text())
    assert github["name"] == f"karat {folder}"
    assert f"{folder}/karat.toml" in github[True]["pull_request"]["paths"]
    (job,) = yaml.safe_load((repository / ".gitlab-ci.yml").read_text()).values()
    (gate,) = [step["run"] for step in github["jobs"]["gate"]["steps"] if step.get("name") == "Gate"]
    for command in (gate.splitlines()[1], job["script"][1]):
        shown = subprocess.run(
            ["sh", "-c", command.replace("karat", "printf '%s\\n'", 1)], capture_output=True, text=True
        )
        argument = shown.stdout.splitlines()[1]
        assert not argument.startswith("-"), "it would be an option"
        assert Path(argument) == Path(folder)
    assert ignored(repository, f"{folder}/runs/x", f"{folder}/golden/x") == [f"{folder}/runs/x"]


@pytest.mark.slow
@pytest.mark.parametrize("stdin", ["closed", "empty"])
def test_without_anybody_to_ask(repository: Path, environment: dict[str, str], stdin: str) -> None:
    """--yes asks nothing; without it, what to do is said, and nothing is written."""
    closed = "<&-" if stdin == "closed" else "</dev/null"
    command = f'"{sys.executable}" -m karat init "$@" {closed}'
    options = {"cwd": repository, "env": environment, "capture_output": True, "text": True, "timeout": 600}
    interactive = subprocess.run(["sh", "-c", command, "sh", "--documents", "docs"], **options)  # type: ignore[call-overload]
    assert interactive.returncode == 2, interactive.stderr
    assert interactive.stderr.endswith(
        "karat: there is nobody to ask; pass --yes, or --documents, --system, --ci and --on-inconclusive\n"
    )
    assert not (repository / "karat.toml").exists()
    process = subprocess.run(["sh", "-c", command, "sh", "--yes"], **options)  # type: ignore[call-overload]
    assert process.returncode == 0, process.stderr


@pytest.mark.slow
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
