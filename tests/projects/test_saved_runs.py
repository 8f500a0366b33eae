"""The newest complete run of a project, which ``karat baseline update`` records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.gate_project import edited, make_project, make_run
from karat.core import InputError
from karat.projects import open_project
from karat.projects.saved_runs import newest_run
from karat.runs import describe_run


def test_the_newest_run_is_found_without_scoring_any(tmp_path: Path) -> None:
    """Newer files that cannot be used are named from the newest on; older ones are not read."""
    golden = make_project(tmp_path)
    for day in range(1, 5):
        make_run(tmp_path, golden, [1] * 12, f"p-2026-01-0{day}-aaaaaaaa")
    runs = tmp_path / "runs"
    (runs / "p-2026-01-01-aaaaaaaa.jsonl").write_text("damaged")
    edited(runs / "p-2026-01-03-aaaaaaaa.jsonl", lambda line: None if line.get("query") == "q03" else line)
    (runs / "p-2026-01-04-aaaaaaaa.jsonl").rename(runs / "p-2026-01-04-aaaaaaaa.jsonl.part")
    file, passed_over = newest_run([tmp_path])
    assert (file.path.name, file.day.day) == ("p-2026-01-02-aaaaaaaa.jsonl", 2)
    assert [message.partition(": ")[0] for message in passed_over] == [
        str(runs / "p-2026-01-04-aaaaaaaa.jsonl.part"),
        str(runs / "p-2026-01-03-aaaaaaaa.jsonl"),
    ]


def test_a_variant_of_a_sweep_is_the_newest_run_only_if_there_is_no_other(tmp_path: Path) -> None:
    """It was tried, and is not what the project has; an entry that no sweep wrote does not make a run a variant."""
    golden = make_project(tmp_path)
    names = [f"p-2026-01-0{day}-aaaaaaaa.jsonl" for day in (1, 2, 3)]
    for name in names:
        make_run(tmp_path, golden, [1] * 12, name.removesuffix(".jsonl"))
    log = [{"run": f"runs/{names[2]}", "sweep": "sizes.toml"}, {"run": f"runs/{names[1]}"}, {"sweep": "sizes.toml"}]
    (tmp_path / "experiments.json").write_text(json.dumps({"experiments": log}))
    file, passed_over = newest_run([tmp_path])
    assert file.path.name == names[1]
    assert passed_over == (f"{tmp_path / 'runs' / names[2]}: is a variant of a sweep",)
    for name in names[:2]:
        (tmp_path / "runs" / name).unlink()
    assert (newest_run([tmp_path])[0].path.name, newest_run([tmp_path])[1]) == (names[2], ())
    (tmp_path / "experiments.json").write_text("[[")
    assert newest_run([tmp_path])[0].path.name == names[2]


def test_a_variant_with_the_settings_of_the_project_is_its_newest_run(tmp_path: Path) -> None:
    """A sweep whose grid holds the present settings takes the run of the baseline for that variant, as all others."""
    golden_set = make_project(tmp_path)
    (tmp_path / "karat.toml").write_text('[golden]\npath = "set"\n[pipeline]\ndense = false\n')
    project = open_project(tmp_path)
    system = dict(describe_run(project.golden, project.system(cache=False), project.settings()).system)
    names = [f"p-2026-01-0{day}-aaaaaaaa" for day in (1, 2, 3)]
    for name, own in zip(names, ({"kind": "old"}, system, {"kind": "tried"}), strict=True):
        make_run(tmp_path, golden_set, [1] * 12, name, system=own)
    log = [{"run": f"runs/{name}.jsonl", "sweep": "sizes.toml"} for name in names[1:]]
    (tmp_path / "experiments.json").write_text(json.dumps({"experiments": log}))
    file, passed_over = newest_run([tmp_path])
    assert file.path.stem == names[1]
    assert passed_over == (f"{tmp_path / 'runs' / names[2]}.jsonl: is a variant of a sweep",)


def test_without_a_complete_run_the_first_reason_is_said(tmp_path: Path) -> None:
    """And how many more there are."""
    golden = make_project(tmp_path)
    for day in (1, 2):
        path = make_run(tmp_path, golden, [1] * 12, f"p-2026-01-0{day}-aaaaaaaa")
        path.rename(path.with_name(path.name + ".part"))
    with pytest.raises(InputError, match=r"no complete run .*; not .*-02-.*: the run was not finished.*, nor 1 more;"):
        newest_run([tmp_path])
