"""``karat runs``: the saved runs of a project, by names that people read."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from cli.gate_project import main, make_project
from karat.core import GoldenSet, Origin
from karat.gate import Baseline, write_baseline
from karat.projects import gate_run, open_project
from karat.runs import Settings, make_run, read_any_run
from karat.schema import RunDetails, RunListing, RunPruning

VERB = "runs"
Run = Callable[..., tuple[str, str]]
COMMITS = ("1a1b2c3d4e" * 4, "2a1b2c3d4e" * 4)


def save(folder: Path, golden: GoldenSet, day: int, *, right: int = 12, **origin: object) -> Path:
    """Save a run that answers the first queries right, and fails on the last."""

    def find(query: str, k: int) -> list[str]:
        number = query.removeprefix("What of ").removesuffix("?")
        if number == "12":
            raise ConnectionError("refused")
        return [f"{'d' if int(number) <= right else 'x'}{number}"]

    path = folder / "runs" / f"find-2026-01-{day:02}-aaaaaaa{day % 10}.jsonl"
    begun = f"2026-01-{day:02}T08:00:00Z"
    make_run(golden, find, Settings(), name="find", output=path, origin=replace(Origin(**origin), begun=begun))  # type: ignore[arg-type]
    return path


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with three runs, the second of which is the baseline, an unfinished one and a damaged one."""
    made = tmp_path_factory.mktemp("runs")
    golden = make_project(made)
    save(made, golden, 1, right=3, commit=COMMITS[0], branch="main", dirty=True)
    second = save(made, golden, 2, label="before the reranker", commit=COMMITS[1])
    save(made, golden, 3, right=6, commit=COMMITS[1], branch="topic")
    project = open_project(made)
    evaluation = gate_run(project, read_any_run(second, golden)).evaluation
    write_baseline(Baseline(evaluation=evaluation, recorded="2026-01-02"), made / "baseline.json")
    part = made / "runs" / "find-2026-01-04-aaaaaaa4.jsonl.part"
    part.write_bytes(second.read_bytes()[:-20])
    (made / "runs" / "notes.jsonl").write_text("{}\n")
    os.utime(made / "runs" / "notes.jsonl", (0, 0))
    return made


@pytest.fixture
def folder(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a copy of the project."""
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_list_names_runs_as_people_do(run: Run, folder: Path) -> None:
    """The newest first, with label or commit, date, branch and means; no hash of a system is among it."""
    out, _ = run("list")
    rows = [line.split() for line in out.splitlines()[:6]]
    assert rows[0] == ["run", "date", "branch", "RR@10", "queries", "failed"]
    assert [" ".join(row) for row in rows[1:]] == [
        "before the reranker find-2026-01-04-aaaaaaa4.jsonl.part (unfinished) 2026-01-04 - - 0 0",
        "find 2a1b2c3 2026-01-03 topic 0.5000 12 1",
        "before the reranker find-2026-01-02-aaaaaaa2.jsonl * 2026-01-02 - 0.9167 12 1",
        "find 1a1b2c3-dirty 2026-01-01 main 0.2500 12 1",
        "notes.jsonl (damaged) 1970-01-01 - - 0 0",
    ]
    assert "* the run of the baseline" in out
    assert "sha256" not in out


def test_the_list_as_json_is_its_document(run: Run, folder: Path) -> None:
    """Typed, with how many older runs there are."""
    listing = msgspec.json.decode(run("list", folder, "--json", "--last", "3", "-m", "P@1")[0], type=RunListing)
    assert listing.measures == ("P@1",)
    assert listing.more == 2
    assert [row.commit for row in listing.runs] == [COMMITS[1]] * 3
    assert [(row.state, row.is_baseline) for row in listing.runs[1:]] == [("complete", False), ("complete", True)]
    assert listing.runs[0].note == "the run was not finished; run 'karat eval' again to continue it"


@pytest.mark.parametrize("name", ["before the reranker", "runs/find-2026-01-02-aaaaaaa2.jsonl", "find-2026-01-02"])
def test_one_run_is_shown_by_any_of_its_names(run: Run, folder: Path, name: str) -> None:
    """Where it comes from, its means, and what failed."""
    (folder / "runs" / "find-2026-01-04-aaaaaaa4.jsonl.part").unlink()
    out, _ = run("show", name)
    assert out.startswith("before the reranker\n")
    assert f"commit    {COMMITS[1]}\n" in out
    assert "RR@10    0.9167" in out
    assert "1 of 12 queries failed:\n  q12: ConnectionError: refused" in out


def test_a_run_as_json_has_all_that_is_known(run: Run, folder: Path) -> None:
    """By its commit the newest run of it is meant; hashes are here, where they are asked for."""
    (folder / "runs" / "find-2026-01-04-aaaaaaa4.jsonl.part").unlink()
    details = msgspec.json.decode(run("show", COMMITS[1][:7], "--json")[0], type=RunDetails)
    assert details.run.date == "2026-01-03"
    assert details.origin == {"begun": "2026-01-03T08:00:00Z", "commit": COMMITS[1], "branch": "topic"}
    assert details.fingerprint.startswith("sha256:")
    assert details.failures == {"q12": "ConnectionError: refused"}


def test_an_unknown_name_is_an_error(run: Run, folder: Path) -> None:
    """With how to see the names."""
    message = "nope: no such file, and no run of the project has that label, title, commit or file; 'karat runs list'"
    assert message in run("show", "nope", code=2)[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["gate", "NAME"],
        ["report", "NAME"],
        ["report", "NAME", "--format", "blocks"],
        ["compare", "NAME", "find 1a1b2c3-dirty"],
        ["compare", "--golden", ".", "baseline.json", "NAME"],
        ["power", "--run", "NAME"],
        ["baseline", "diff", "NAME"],
        ["baseline", "rebase", "--from", "NAME", "--dry-run"],
        ["eval", "--run", "NAME"],
        ["show", "NAME", "q01"],
    ],
    ids=lambda arguments: " ".join(arguments),
)
@pytest.mark.parametrize("name", ["before the reranker", "find-2026-01-02"])
def test_a_name_will_do_wherever_a_run_is_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, arguments: list[str]
) -> None:
    """A label or a part of a file's name stands for the run, and what no run is called is an error that says so."""
    assert main([name if word == "NAME" else word for word in arguments]) == 0, capsys.readouterr().err
    assert main(["nope" if word == "NAME" else word for word in arguments]) == 2
    assert "nope: no such file, and no run of the project has that label" in capsys.readouterr().err


def test_a_run_whose_ids_match_nothing_is_called_that(run: Run, folder: Path) -> None:
    """It is on this golden set; the note says what its ids have that those of the gold do not."""
    golden = open_project(folder).golden
    for day, form in ((6, "docs/{}"), (7, "{}.md")):
        path = folder / "runs" / f"find-2026-01-{day:02}-aaaaaaa{day}.jsonl"
        make_run(golden, lambda query, k, form=form: [form.format(f"d{query[8:10]}")], output=path)
    out, _ = run("list")
    assert out.count(" (no judged document)  ") == 2
    assert "'docs/d03', which all begin with 'docs/'; let the system return its ids without that" in out
    assert "'d03.md', which all end with '.md'; let the system " in out


def test_a_name_of_several_runs_is_not_taken_silently(run: Run, folder: Path) -> None:
    """The newest finished one is used, and a note names it and the others; the list tells them apart by their files."""
    save(folder, open_project(folder).golden, 5, label="before the reranker")
    _, err = run("show", "before the reranker")
    assert (
        "karat: 2 runs are called 'before the reranker': the newest is used, runs/find-2026-01-05-aaaaaaa5.jsonl, and "
        "not runs/find-2026-01-02-aaaaaaa2.jsonl\n"
    ) in err
    out, _ = run("list")
    assert "before the reranker find-2026-01-05-aaaaaaa5.jsonl " in out
    assert "before the reranker find-2026-01-02-aaaaaaa2.jsonl * " in out
    assert "find 2a1b2c3  " in out


@pytest.mark.parametrize("name", ["aaaaaaa1", "aaaaaaa1-2", "find 1a1b2c3-dirty", "1a1b2c3-dirty", "1a1b2c3"])
def test_a_run_is_found_by_what_is_shown_of_it(run: Run, folder: Path, name: str) -> None:
    """The hash at the end of its file, and the commit with the mark of changes that titles have."""
    file = folder / "runs" / "find-2026-01-01-aaaaaaa1.jsonl"
    if name == "aaaaaaa1-2":
        file = file.rename(file.with_stem(f"{file.stem}-2"))
    assert f"file      runs/{file.name}\n" in run("show", name)[0]


def test_pruning_keeps_the_newest_the_baseline_and_what_is_named(run: Run, folder: Path) -> None:
    """--dry-run removes nothing; without --yes nothing is removed either, because nobody can be asked."""
    part = folder / "runs" / "find-2026-01-04-aaaaaaa4.jsonl.part"
    os.utime(part, (time.time() - 2 * 86400,) * 2)
    before = sorted(path.name for path in (folder / "runs").iterdir())
    pruning = msgspec.json.decode(run("prune", "--keep", "1", "--dry-run", "--json")[0], type=RunPruning)
    assert [(Path(row.file).name[5:15], row.reason) for row in pruning.removed] == [
        ("2026-01-04", "unfinished"),
        ("2026-01-01", "older than the newest 1"),
    ]
    assert {row.reason for row in pruning.kept} == {"among the newest", "the run of the baseline", "not a run of karat"}
    assert "add --yes" in run("prune", "--keep", "1", code=2)[1]
    assert sorted(path.name for path in (folder / "runs").iterdir()) == before
    part.unlink()
    (folder / "experiments.json").write_text(json.dumps([{"run": "runs/find-2026-01-01-aaaaaaa1.jsonl"}]))
    assert run("prune", "--keep", "1", "--yes")[0] == "nothing to remove; 4 files are kept\n"
    (folder / "experiments.json").unlink()
    out, _ = run("prune", "--keep", "1", "--yes")
    assert out.splitlines()[0] == "removed runs/find-2026-01-01-aaaaaaa1.jsonl (older than the newest 1)"
    names = sorted(path.name for path in (folder / "runs").iterdir())
    assert names == [name for name in before if "2026-01-01" not in name and name != part.name]


def test_an_old_unfinished_run_is_removed_and_a_young_one_is_kept(run: Run, folder: Path) -> None:
    """A process may still be writing it."""
    (folder / "baseline.json").unlink()
    part = folder / "runs" / "find-2026-01-04-aaaaaaa4.jsonl.part"
    assert run("prune", "--yes")[0].startswith("nothing to remove")
    os.utime(part, (time.time() - 2 * 86400,) * 2)
    assert "(unfinished)" in run("prune", "--yes")[0]
    assert not part.exists()


def test_a_project_without_runs_is_an_error(run: Run, tmp_path: Path) -> None:
    """With how to make one."""
    make_project(tmp_path)
    assert "there are no runs yet; 'karat eval' makes them" in run("list", tmp_path, code=2)[1]
