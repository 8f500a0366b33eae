"""The baseline of a project: which run is meant, what is read, and how a run compares with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import karat
from karat.core import Document, GoldenSet, InputError, Judgment, Query, Target
from karat.golden import write
from karat.projects import open_project
from karat.projects.baselines import accept_run, diff_baseline, read_project_baseline, summarise_baseline
from karat.projects.saved_runs import choose_run
from karat.runs import make_run
from karat.schema import to_json

GOLDEN = GoldenSet(
    name="tiny",
    documents=tuple(Document(id=name, text=f"The {name} is open.") for name in ("pool", "wifi")),
    queries=tuple(Query(id=f"q-{name}", text=f"Is the {name} open?") for name in ("pool", "wifi")),
    judgments=tuple(Judgment(query=f"q-{name}", target=Target(document=name), grade=3) for name in ("pool", "wifi")),
    gate={"RR@10": 0.5},
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A golden set, which is a project with all defaults."""
    write(GOLDEN, tmp_path / "tiny")
    (tmp_path / "tiny" / "karat.toml").write_text('[golden]\npath = "."\n[eval]\nmeasures = ["RR@10"]\n')
    return tmp_path / "tiny"


def test_a_project_without_a_baseline_says_how_to_record_one(folder: Path) -> None:
    """Reading the baseline of a new project is an error with the file and the command."""
    with pytest.raises(InputError, match=r"baseline.json: there is no baseline yet; 'karat baseline update RUN'"):
        read_project_baseline(open_project(folder))


def test_a_run_is_compared_with_the_baseline(folder: Path) -> None:
    """The document names the baseline by its file and the run as told, and has the measures of the baseline."""
    project = open_project(folder)
    accept_run(project, make_run(project.golden, lambda query, k: ["pool", "wifi"]))
    run = make_run(project.golden, lambda query, k: ["pool"])
    comparison = diff_baseline(project, run, name="new.jsonl")
    assert [row.name for row in comparison.runs] == ["baseline.json", "new.jsonl"]
    (pair,) = comparison.pairs
    # q-wifi falls from rank 2 to nothing: (1 + 1/2) / 2 becomes 1/2.
    assert [(row.measure, row.baseline, row.candidate) for row in pair.measures] == [("RR@10", 0.75, 0.5)]


def test_a_summary_is_the_document_that_show_prints(folder: Path) -> None:
    """Means at full precision, what the system is made of, and null where there is no number."""
    project = open_project(folder)
    accept_run(project, make_run(project.golden, lambda query, k: ["pool", "wifi"], name="mine"))
    path, baseline = read_project_baseline(project)
    summary = json.loads(to_json(summarise_baseline(path, baseline)))
    assert list(summary) == [
        "file", "name", "recorded", "forced", "inconclusive", "rebased", "shrunk", "golden", "fingerprint",
        "system", "settings", "queries", "repeats", "failed", "means", "latency",
    ]  # fmt: skip
    assert (summary["file"], summary["name"], summary["queries"]) == (str(folder / "baseline.json"), "mine", 2)
    assert summary["means"] == {"RR@10": 0.75}


def test_a_folder_means_its_newest_complete_run(folder: Path) -> None:
    """A project and its folder of runs name the same run; a file names itself."""
    file = folder / "runs" / "mine-2026-11-03-00000000.jsonl"
    make_run(open_project(folder).golden, lambda query, k: ["pool"], output=file)
    newer = folder / "runs" / "mine-2026-11-04-00000000.jsonl"
    newer.write_text(file.read_text()[:-30])
    for path in (folder, folder / "runs"):
        chosen = choose_run(path)
        assert (chosen.path, chosen.project, chosen.newest) == (file, folder, True)
        assert len(chosen.passed_over) == 1
        assert chosen.passed_over[0].startswith(str(newer))
    chosen = choose_run(file)
    assert (chosen.path, chosen.project, chosen.newest, chosen.passed_over) == (file, folder, False, ())


def test_the_names_that_docs_use_are_at_the_top() -> None:
    """``except karat.GateFailed`` needs no other import, and the names are sorted."""
    assert issubclass(karat.GateFailed, karat.KaratError)
    assert karat.GateResult.__name__ == "GateResult"
    assert karat.__all__ == sorted(karat.__all__)
    assert all(getattr(karat, name) is not None for name in karat.__all__)
