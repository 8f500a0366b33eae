"""Measures of a module of one's own: ``-m my_measures:Miss@5``, and the same in ``karat.toml``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import karat
from each import each
from in_process import run_karat
from karat.core import MEASURES
from karat.measures import load_measures
from karat.projects import open_project

MODULE = """
from karat.measures import REL, measure, ratio

@measure("OwnMiss", REL, aliases=("own_miss_rate",), cutoff="required", higher_is_better=False)
def share_left_out(a, k, *, rel):
    \"\"\"The share of the relevant documents that the top k leaves out.\"\"\"
    return ratio(a.relevant(rel) - a.hits.relevant(rel).top(k).count(), a.relevant(rel))

def undecorated(a, k):
    return [1.0]
"""
QRELS = {"q1": {"a": 1, "b": 1}, "q2": {"c": 2, "d": 1}}
RUN = {"q1": {"a": 3.0, "x": 2.0, "b": 1.0}, "q2": {"x": 2.0, "c": 1.0}}
"""In the top two are one of two relevant documents each; of grade 2, q1 has none and q2 finds its only one."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A current folder with a module, judgments and a run; what the module registers is forgotten afterwards."""
    list(MEASURES)
    monkeypatch.setattr(MEASURES, "_values", dict(MEASURES._values))
    monkeypatch.setattr(MEASURES, "_folded", dict(MEASURES._folded))
    before = set(sys.modules)
    (tmp_path / "own_measures_here.py").write_text(MODULE)
    (tmp_path / "qrels.json").write_text(json.dumps(QRELS))
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith(("own_measures_", "broken_")):
            del sys.modules[name]


@each(
    ("name", "canonical", "mean"),
    [
        ("own_measures_here:OwnMiss@2", "OwnMiss@2", 0.5),
        ("own_measures_here:own_miss_rate@2", "OwnMiss@2", 0.5),
        ("own_measures_here:share_left_out@3", "OwnMiss@3", 0.25),
        ("own_measures_here:ownmiss(rel=2)@2", "OwnMiss(rel=2)@2", 0.0),
    ],
)
def test_a_measure_is_named_by_its_module(folder: Path, name: str, canonical: str, mean: float) -> None:
    """The name is that of the measure, an alias or its function; parameters and the cut-off follow as always."""
    process = run_karat("score", "qrels.json", "run.json", "-m", name, "--json")
    assert process.returncode == 0, process.stderr
    measures = json.loads(process.stdout)["runs"][0]["measures"]
    assert {name: cell["mean"] for name, cell in measures.items()} == {canonical: mean}


def test_measures_explains_it(folder: Path) -> None:
    """``karat measures`` takes the same name."""
    printed = run_karat("measures", "own_measures_here:OwnMiss").stdout.decode()
    assert printed.startswith("OwnMiss@k\n\nThe share of the relevant documents that the top k leaves out.")


def test_the_path_is_as_before(folder: Path) -> None:
    """The current folder is searched for this module only."""
    before = list(sys.path)
    assert load_measures(["RR", "own_measures_here:OwnMiss@2"], folder) == ("RR", "OwnMiss@2")
    assert sys.path == before


BROKEN = {
    "broken_import": "import nothing_of_that_name\n",
    "broken_code": "x = 1\nx / 0\n",
    "broken_syntax": "def (\n",
    "broken_twice": 'from karat.measures import measure\n\n@measure("nDCG")\ndef f(a, k): pass\n',
}


@each(
    ("name", "message"),
    [
        ("nowhere_at_all:x", "there is no module nowhere_at_all; is it installed, or here?"),
        ("own_measures_here.py:OwnMiss@2", "there is no module own_measures_here.py; write own_measures_here, without"),
        ("own_measures_here:OwnMis@2", "own_measures_here has no measure 'OwnMis', did you mean 'OwnMiss'?"),
        ("own_measures_here:nDCG@10", "own_measures_here has no measure 'nDCG'; it has OwnMiss"),
        ("own_measures_here:undecorated", "undecorated is a function, but no measure; write @measure(...) above it"),
        ("own_measures_here:OwnMiss", "measure OwnMiss needs a cut-off"),
        ("broken_import:x", "broken_import imports nothing_of_that_name, which is not installed"),
        ("broken_code:x", "broken_code cannot be imported: ZeroDivisionError: division by zero ("),
        ("broken_code:x", "broken_code.py, line 2)"),
        ("broken_syntax:x", "broken_syntax cannot be imported: SyntaxError: "),
        ("broken_twice:x", "broken_twice cannot be imported: ValueError: there is a measure 'nDCG' already;"),
        ("broken_twice:x", "broken_twice.py, line 3)"),
    ],
)
def test_what_is_wrong_is_one_message(folder: Path, name: str, message: str) -> None:
    """A module that is missing or broken, and a name that it does not have."""
    for module, source in BROKEN.items():
        (folder / f"{module}.py").write_text(source)
    process = run_karat("score", "qrels.json", "run.json", "-m", name)
    assert (process.returncode, process.stdout) == (2, b"")
    assert message in process.stderr.decode()
    assert process.stderr.count(b"\n") == 1


RAISES = """
from karat.measures import measure

@measure("OwnBoom", cutoff="required")
def boom(a, k):
    return [1 / 0]

@measure("OwnText", cutoff="required")
def text(a, k):
    return ["high", "low"]
"""


@each(
    ("name", "message"),
    [
        (
            "OwnBoom@5",
            "karat: measure broken_later:OwnBoom@5: ZeroDivisionError: division by zero (broken_later.py, line 6)",
        ),
        ("OwnText@5", "karat: measure broken_later:OwnText@5: ValueError: could not convert string to float: 'high' ("),
    ],
)
def test_what_its_code_raises_is_one_message(folder: Path, name: str, message: str) -> None:
    """The user's code is not a bug in karat: the measure, the error and the line are named, with exit code 2."""
    (folder / "broken_later.py").write_text(RAISES)
    process = run_karat("score", "qrels.json", "run.json", "-m", f"broken_later:{name}")
    assert (process.returncode, process.stdout) == (2, b"")
    assert process.stderr.decode().startswith(message)
    assert process.stderr.count(b"\n") == 1


def test_a_module_is_imported_only_where_it_is_asked_for(folder: Path) -> None:
    """A measure in data imports nothing: the message says where a module is named."""
    with pytest.raises(
        karat.MeasureError, match=r"write OwnMiss@2 here, and name the module once: with -m, in \[eval\]"
    ):
        karat.score(QRELS, RUN, ["own_measures_here:OwnMiss@2"])
    assert "own_measures_here" not in sys.modules


def test_a_project_names_the_module_once(folder: Path) -> None:
    """Every verb that opens the project knows the measure, also if the module is only in the project's folder."""
    project = folder / "project"
    (project / "set").mkdir(parents=True)
    (project / "own_measures_there.py").write_text(MODULE)
    (project / "set" / "golden.toml").write_text('name = "lodge"\n')
    (project / "set" / "documents.jsonl").write_text(
        '{"id": "pool", "text": "The pool opens at six."}\n{"id": "spa", "text": "The spa is closed."}\n'
    )
    (project / "set" / "queries.jsonl").write_text('{"id": "q1", "text": "When does the pool open?"}\n')
    (project / "set" / "judgments.jsonl").write_text('{"query": "q1", "document": "pool", "grade": 3}\n')
    (project / "karat.toml").write_text(
        '[golden]\npath = "set"\n[pipeline]\ndense = false\n'
        '[eval]\nmeasures = ["RR@10", "own_measures_there:share_left_out@1"]\n'
    )
    assert open_project(project).config.eval.measures == ("RR@10", "OwnMiss@1")
    evaluated = run_karat("eval", "project", "--json")
    assert evaluated.returncode == 0, evaluated.stderr
    assert b'"OwnMiss@1"' in evaluated.stdout
    run = next((project / "runs").glob("*.jsonl"))
    for verb in (["report", run], ["runs", "list", "project"], ["compare", run, run]):
        process = run_karat(*verb)
        assert b"OwnMiss@1" in process.stdout, (verb, process.stderr)


def test_a_broken_module_of_a_project_is_one_message(folder: Path) -> None:
    """The project is not opened without its measure."""
    (folder / "karat.toml").write_text('[eval]\nmeasures = ["own_measures_nowhere:x"]\n')
    (folder / "queries.jsonl").write_text('{"id": "q1", "text": "pool"}\n')
    process = run_karat("runs", "list", ".")
    assert (process.returncode, process.stdout) == (2, b"")
    assert process.stderr.startswith(b"karat: ")
    assert b"measure own_measures_nowhere:x: there is no module own_measures_nowhere" in process.stderr
