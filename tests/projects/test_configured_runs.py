"""A baseline is taken from a run of the configured system: not from a trial with other parameters, nor from a sweep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cli.gate_project import main, make_project, make_set
from karat.core import InputError, Run
from karat.projects import ask_project, open_project
from karat.projects.saved_runs import choose_run
from karat.projects.saved_runs._configured import describe_difference

FINDER = """def find(query, k, *, lose=0):
    number = int(query.split()[-1][:2])
    return ["x01"] if number <= lose else [f"d{number:02}"]
"""
SYSTEM = '[golden]\npath = "set"\n[eval]\nmeasures = ["RR@10"]\nsystem = "finder_of_tests:find"\n'
LEXICAL = "[pipeline]\ndense = false\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a retriever of its own, which has a parameter."""
    make_project(tmp_path)
    (tmp_path / "finder_of_tests.py").write_text(FINDER)
    (tmp_path / "karat.toml").write_text(SYSTEM)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ask(folder: Path, **parameters: int) -> Path:
    """Make a run of the project's retriever, and return its file."""
    project = open_project(folder).with_parameters(parameters)
    return ask_project(project, project.settings()).path


def test_a_trial_with_other_parameters_is_passed_over(folder: Path) -> None:
    """Although it is newer, by milliseconds; what differs is said, and the file can still be named."""
    first, trial = ask(folder), ask(folder, lose=4)
    assert choose_run(folder).path == trial
    chosen = choose_run(folder, configured=True)
    assert (chosen.path, chosen.passed_over) == (
        first,
        (f"{trial}: is not of the configured system: parameters.lose is 4 (karat.toml: not set)",),
    )
    assert choose_run(trial, configured=True).path == trial


def test_what_was_tried_and_then_configured_is_taken(folder: Path) -> None:
    """The run fits karat.toml as it is now, not as it was."""
    first, trial = ask(folder), ask(folder, lose=4)
    (folder / "karat.toml").write_text(f"{SYSTEM}[eval.parameters]\nlose = 4\n")
    assert choose_run(folder, configured=True).path == trial
    trial.unlink()
    with pytest.raises(
        InputError, match=r"no complete run of the configured system .*\.lose is not set \(karat.toml: 4\)"
    ):
        choose_run(folder, configured=True)
    assert choose_run(first, configured=True).path == first


def test_a_sweep_leaves_the_baseline_to_the_configured_system(folder: Path) -> None:
    """Its last variant, which was rejected, used to be the newest run."""
    ask(folder)
    assert main(["baseline", "update", "."]) == 0
    before = (folder / "baseline.json").read_bytes()
    (folder / "s.toml").write_text('[grid]\n"eval.parameters.lose" = [1, 6]\n')
    main(["sweep", "s.toml"])
    assert main(["baseline", "update", "."]) == 0
    assert (folder / "baseline.json").read_bytes() == before


def changed(**fields: object) -> Callable[[Run], Run]:
    """Return a function that gives a run another name, other settings or another system."""
    return lambda run: replace(run, provenance=replace(run.provenance, **fields))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("toml", "change", "expected"),
    [
        ("", changed(), ""),
        ("", changed(name="other:find"), "system is 'other:find' (karat.toml: 'finder_of_tests:find')"),
        ("", changed(settings={"k": 10, "sample": 5}), "sample is 5 (karat.toml: not set)"),
        (LEXICAL, changed(), "system is 'finder_of_tests:find' (karat.toml: 'pipeline')"),
        (LEXICAL, changed(system={"kind": "pipeline"}), "chunk.chunker is not set (karat.toml: 'sentence'); "),
        (
            "[system]\nurl = 'http://127.0.0.1:9'\n",
            changed(system={"kind": "pipeline"}),
            "system is 'pipeline' (karat.toml: 'http')",
        ),
    ],
)
def test_what_differs_is_said(folder: Path, toml: str, change: Callable[[Run], Run], expected: str) -> None:
    """Another system, a sample, other stages; the digest of the code is no difference, and nothing is asked."""
    project = open_project(folder)
    run = ask_project(project, project.settings()).run
    if toml:
        make_project(folder, toml, golden_set=make_set())
    difference = describe_difference(open_project(folder), change(run))
    assert difference == expected or (expected.endswith("; ") and difference.startswith(expected))


def test_versions_of_packages_and_a_system_that_cannot_be_made_here(folder: Path) -> None:
    """A run of the same stages is of the configured pipeline; without its extra only the kind can be compared."""
    make_project(folder, LEXICAL)
    project = open_project(folder)
    run = ask_project(project, project.settings()).run
    system = {**run.provenance.system, "lexical": {**run.provenance.system["lexical"], "bm25s": "0.0.1"}}
    assert describe_difference(project, changed(system=system)(run)) == ""
    system["lexical"]["b"] = 0.0
    assert describe_difference(project, changed(system=system)(run)) == "lexical.b is 0.0 (karat.toml: 0.75)"
    make_project(folder, '[pipeline]\nembedder = "sentence-transformers:nowhere/none"\n')
    assert describe_difference(open_project(folder), changed(system=system)(run)) == ""
