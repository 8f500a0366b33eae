"""No verb writes over what it reads, or to where it would be read as input the next time."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
import pytest

from cli.gate_project import accept, main, make_run, make_set
from karat import golden, online
from karat.cli._main import cli
from karat.online._shadow_records import ShadowDraft
from karat.online.flags import change_flag
from karat.online.trials import TrialPlan, start_trial

QRELS = "q01 0 d01 1\nq02 0 d02 1\n"
RUN = "q01 Q0 d01 1 2.0 t\nq02 Q0 x01 1 1.0 t\n"
TOML = '[golden]\npath = "set"\ndocuments = "docs"\n[eval]\nmeasures = ["RR@10"]\nsystem = "own:find"\n'
TREC = ("one.txt", "two.txt")
MIGRATED = ["docs/d01.md", "karat.toml", "set/queries.jsonl"]

CASES: dict[tuple[str, str], tuple[list[str], list[str], list[str]]] = {
    # what writes: the arguments, the files that it reads, and what would become input
    ("score", "--output"): (
        ["score", "qrels.txt", "one.txt", "--by", "kind", "--queries", "kinds.csv", "--classes", "classes.txt", "-o"],
        ["qrels.txt", "one.txt", "kinds.csv", "classes.txt"],
        [],
    ),
    ("fuse", "--output"): (["fuse", *TREC, "lists", "-o"], [*TREC, "lists/three.txt"], ["lists/new.txt"]),
    ("golden pool", "--output"): (
        ["golden", "pool", *TREC, "lists", "--golden", ".", "-o"],
        [*TREC, "lists/three.txt", "set/queries.jsonl", "set/golden.toml", "docs/d01.md", "karat.toml"],
        ["lists/new.jsonl", "docs/new.md"],
    ),
    ("golden merge", "--output"): (
        ["golden", "merge", ".", "judged.jsonl", "-o"],
        ["judged.jsonl", "set", "docs"],
        ["docs/new", "docs/deep/new"],
    ),
    ("golden convert", "destination"): (
        ["golden", "convert", "."],
        ["set", "docs", "karat.toml"],
        ["docs/new", "DOCS/new"],
    ),
    ("golden sample", "destination"): (["golden", "sample", ".", "--n", "2"], ["set", "docs"], ["docs/new"]),
    ("golden synth", "paths"): (["golden", "synth", "docs"], ["docs"], ["docs/new"]),
    ("runs convert", "destination"): (
        ["runs", "convert", "--golden", ".", "one.txt"],
        ["one.txt", "karat.toml", "set/queries.jsonl", "docs/d01.md"],
        ["docs/new.md"],
    ),
    ("report", "--output"): (
        ["report", "runs/new.jsonl", "--output"],
        ["runs/new.jsonl", "baseline.json", "karat.toml", "set/queries.jsonl", "docs/d01.md"],
        ["docs/new.md", "set/new.md", "golden.toml", "KARAT.toml"],
    ),
    ("report", "--html"): (["report", "runs/new.jsonl", "--html"], ["runs/new.jsonl", "karat.toml"], ["docs/new.md"]),
    ("trend", "--svg"): (["trend", "run.svg", "--golden", ".", "--svg"], ["run.svg"], ["set/new.svg"]),
    ("golden judge", "--output"): (
        ["golden", "judge", "judged.jsonl", "--by", "overlap", "--output"],
        ["judged.jsonl", "karat.toml", "set/queries.jsonl", "docs/d01.md"],
        [],
    ),
    ("judge bridge", "--output"): (
        ["judge", "bridge", "karat.toml", "karat.toml", "runs/new.jsonl", "--output"],
        ["runs/new.jsonl", "karat.toml", "set/queries.jsonl"],
        [],
    ),
    ("judge sample", "--output"): (
        ["judge", "sample", "runs/new.jsonl", "--output"],
        ["runs/new.jsonl", "karat.toml", "set/queries.jsonl", "docs/d01.md"],
        [],
    ),
    ("harvest", "--output"): (
        ["harvest", "live.db", "--golden", ".", "-o"],
        ["set", "docs", "live.db", "karat.toml"],
        ["docs/new"],
    ),
    ("online report", "--html"): (
        ["online", "report", "live.db", "--golden", ".", "--html"],
        ["live.db", "live.db-wal", "live.db.key", "karat.toml", "set/queries.jsonl", "docs/d01.md"],
        ["live.db.journal/new.html", "live.db-shm", "live.db.archive/new", "docs/new.md"],
    ),
    ("online watch", "--html"): (
        ["online", "watch", "live.db", "--project", ".", "--html"],
        ["live.db", "live.db.key", "karat.toml", "set/queries.jsonl"],
        ["live.db.journal/new.html", "live.db-wal"],
    ),
    ("online canary", "--html"): (
        ["online", "canary", "live.db", "rerank", "--project", ".", "--html"],
        ["live.db", "live.db.key", "karat.toml", "set/queries.jsonl"],
        ["live.db.journal/new.html", "live.db-wal"],
    ),
    ("online export", "destination"): (
        ["online", "export", "live.db"],
        ["live.db", "live.db.key"],
        ["live.db.journal", "live.db.archive/new"],
    ),
    ("shadow report", "--html"): (
        ["shadow", "report", "live.db", "--golden", ".", "--html"],
        ["live.db", "live.db.key", "karat.toml", "set/queries.jsonl"],
        ["live.db.journal/new.html", "live.db-wal"],
    ),
    ("shadow gate", "--html"): (
        ["shadow", "gate", "live.db", ".", "--html"],
        ["live.db", "live.db.key", "karat.toml", "set/queries.jsonl"],
        ["live.db.journal/new.html", "live.db-wal"],
    ),
    ("trial report", "--html"): (
        ["trial", "report", "rerank", "--store", "live.db", "--html"],
        ["live.db", "live.db-wal", "live.db.key"],
        ["live.db.journal/new.html", "live.db-shm"],
    ),
    ("trial report", "--svg"): (
        ["trial", "report", "rerank", "--store", "live.db", "--svg"],
        ["live.db", "live.db.key"],
        ["live.db.journal/new.svg", "live.db-wal"],
    ),
    ("migrate blocks", "--output"): (["migrate", "blocks", ".", "docs", "-o"], MIGRATED, ["docs/new.md"]),
    ("migrate blocks", "--history"): (["migrate", "blocks", ".", "docs", "--history"], MIGRATED, ["docs/new.md"]),
    ("migrate judgments", "--output"): (
        ["migrate", "judgments", ".", "moves.jsonl", "--documents", "docs", "-o"],
        ["set", "docs"],
        ["docs/new"],
    ),
    ("migrate judgments", "--pool"): (
        ["migrate", "judgments", ".", "moves.jsonl", "--documents", "docs", "--pool"],
        ["moves.jsonl", *MIGRATED],
        ["docs/new.md"],
    ),
    ("eval", "--output"): (["eval", ".", "--output"], ["docs", "set"], ["docs/new", "set/new"]),
    ("check", "--output"): (["check", ".", "--no-report", "--output"], ["docs", "set"], ["docs/new", "set/new"]),
    ("check", "--reports"): (["check", ".", "--reports"], ["docs", "set"], ["docs/new", "set/new"]),
    ("sweep", "--output"): (["sweep", "sweep.toml", "--output"], ["docs", "set"], ["docs/new", "set/new"]),
    ("sweep", "--log"): (["sweep", "sweep.toml", "--log"], ["sweep.toml", "karat.toml", "set/queries.jsonl"], []),
    ("baseline update", "--baseline"): (
        ["baseline", "update", "runs/new.jsonl", "--baseline"],
        ["runs/new.jsonl", "karat.toml", "set/queries.jsonl", "docs/d01.md"],
        [],
    ),
    ("baseline rebase", "--baseline"): (
        ["baseline", "rebase", ".", "--from", "runs/new.jsonl", "--baseline"],
        ["runs/new.jsonl", "karat.toml", "set/queries.jsonl"],
        [],
    ),
}
WRITTEN = {"--output", "--svg", "--html", "--reports", "--baseline", "--log"}
READ_ONLY = {
    *(
        f"{verb} --baseline"
        for verb in ("check", "gate", "report", "show", "sweep", "baseline diff", "baseline show", "judge bridge")
    ),
    *(f"experiments {verb} --log" for verb in ("diff", "list", "show")),
    "trial collect --log",
}
"""Options whose name means a file that another verb writes."""


def commands(group: click.Command, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield every verb with its name."""
    if isinstance(group, click.Group):
        for verb in group.list_commands(click.Context(group)):
            command = group.get_command(click.Context(group), verb)
            assert command is not None
            yield from commands(command, f"{name} {verb}".strip())
    else:
        yield name, group


def test_every_option_that_writes_is_tested() -> None:
    """A new verb with an output stands in the table above, or this fails."""
    written = set()
    for verb, command in commands(cli):
        for parameter in command.params:
            options = {*parameter.opts} & WRITTEN
            if isinstance(parameter, click.Option) and (parameter.help or "").startswith("Write") and parameter.metavar:
                options = {max(parameter.opts, key=len)}
            if (
                isinstance(parameter, click.Argument)
                and "destination" in f"{parameter.name} {parameter.metavar}".lower()
            ):
                options = {str(parameter.name)}
            written |= {(verb, option) for option in options if f"{verb} {option}" not in READ_ONLY}
    assert written == CASES.keys()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with all that the verbs read."""
    folder = tmp_path_factory.mktemp("outputs")
    made = make_set()
    (folder / "docs").mkdir()
    for document in made.documents:
        (folder / "docs" / f"{document.id}.md").write_text(document.text)
    golden.write(replace(made, documents=()), folder / "set")
    (folder / "karat.toml").write_text(TOML)
    (folder / "own.py").write_text("def find(query, k):\n    raise AssertionError('was asked')\n")
    (folder / "lists").mkdir()
    for name, text in (
        ("qrels.txt", QRELS), ("one.txt", RUN), ("two.txt", RUN), ("lists/three.txt", RUN),
        ("kinds.csv", "id,kind\nq01,a\nq02,b\n"), ("classes.txt", "d01 A\nx01 A\n"),
        ("judged.jsonl", json.dumps({"query": "q01", "document": "x01", "grade": 0}) + "\n"),
        ("sweep.toml", '[[variants]]\nname = "a"\n"eval.k" = 5\n'),
    ):  # fmt: skip
        (folder / name).write_text(text)
    run = make_run(folder, golden.read(folder / "set", documents=folder / "docs"), [1] * 12)
    shutil.copy(run, folder / "run.svg")
    accept(folder, run)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        main(["migrate", "blocks", ".", "docs", "-o", "moves.jsonl"])
    with online.open(folder / "live.db") as log:
        log.record("Where is the pool?", [("d01", 1.0)])
        draft = ShadowDraft("s1", 1.5, "rerank", "What of 01?")
        draft.control, draft.treatment = ("d01",), ("d02",)
        log.write(draft)
    online.ingest(folder / "live.db")
    change_flag(folder / "live.db", "rerank", {"percent": 5}, author="ada", reason="canary")
    start_trial(folder / "live.db", TrialPlan(feature="rerank"))
    return folder


@pytest.fixture
def project(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a copy of the project."""
    folder = tmp_path / "project"
    shutil.copytree(template, folder)
    monkeypatch.chdir(folder)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder that people or karat would read, but for the second name of one."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    passing = ("-shm", "-wal")  # of SQLite, beside a store that is read
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in files
        if "__pycache__" not in path.parts and path.name != "second" and not path.name.endswith(passing)
    }


def names_of(path: str) -> Iterator[str]:
    """Yield other names of a file or folder: a longer one, a link, a second name, and in other case."""
    yield path
    yield f"./{path}"
    Path("link").symlink_to(path)
    yield "link"
    if Path(path).is_file():
        os.link(path, "second")
        yield "second"
    yield path.upper()


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_an_output_is_never_an_input(project: Path, capsys: pytest.CaptureFixture[str], case: tuple[str, str]) -> None:
    """By whatever name: one message, exit code 2, and everything stays as it is; nothing is asked."""
    arguments, inputs, becoming = CASES[case]
    before = contents(project)
    for path in inputs:
        for name in names_of(path) if path == inputs[0] else (path,):
            code = main([*arguments, name])
            message = capsys.readouterr().err
            if name == path.upper() and (case[1] in ("--log", "--baseline") or Path(path).is_dir()):
                shutil.rmtree(name, ignore_errors=True)
                before = contents(project)
                continue  # a new file or folder, which is none of the inputs where case counts
            assert (code, "Traceback" in message, "was asked" in message) == (2, False, False), (name, message)
            assert contents(project) == before, name
        for name in ("link", "second"):
            Path(name).unlink(missing_ok=True)
    for name in becoming:
        assert main([*arguments, name]) == 2, name
        assert contents(project) == before
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("name", ["-", "/dev/fd/{}"])
def test_what_the_shell_has_opened_is_an_input(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A run that comes from standard input is not replaced by its scores either."""
    with Path("one.txt").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert main(["score", "qrels.txt", name.format(file.fileno()), "-o", "one.txt"]) == 2
    assert Path("one.txt").read_text() == RUN
    assert "would overwrite an input" in capsys.readouterr().err


def test_other_places_are_written_to(project: Path) -> None:
    """The check does not refuse a new name beside the inputs."""
    for arguments in (
        ["score", "qrels.txt", "one.txt", "-o", "new.txt"],
        ["fuse", *TREC, "-o", "lists/new.txt"],
        ["golden", "pool", *TREC, "--golden", ".", "-o", "pool.jsonl"],
        ["golden", "convert", ".", "converted"],
        ["report", "runs/new.jsonl", "--output", "reports/new.md"],
        ["trend", "run.svg", "--golden", ".", "--svg", "runs/new.svg"],
    ):
        assert main(arguments) == 0
        assert Path(arguments[-1]).exists()
