"""``karat check``: golden set, system and gate in one command."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from karat import golden
from karat.core import Document, GoldenSet, Judgment, Query, Target

VERB = "check"
Run = Callable[..., tuple[str, str]]
WORDS = ("pool", "wifi", "dogs", "sauna", "gym", "bar", "parking", "breakfast", "garden", "library")
SET = GoldenSet(
    name="tiny",
    version="1.0.0",
    grades=("no", "yes"),
    relevant=1,
    documents=tuple(Document(id=word, text=f"All about the {word} of the hotel.") for word in WORDS),
    queries=tuple(Query(id=f"q-{word}", text=f"where is the {word}") for word in WORDS),
    judgments=tuple(Judgment(query=f"q-{word}", target=Target(document=word), grade=1) for word in WORDS),
)
CONFIG = '[golden]\npath = "set"\n[pipeline]\ndense = false\n[eval]\nmeasures = ["RR@10"]\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose pipeline answers every question, and a retriever that always gives the same."""
    golden.write(SET, tmp_path / "set")
    (tmp_path / "karat.toml").write_text(CONFIG)
    (tmp_path / "stuck_for_check.py").write_text(
        "def find(query, k):\n    print('noise')\n    return ['pool', 'wifi'][:k]\n"
        "def broken(query, k):\n    raise ConnectionError('refused')\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def accept(folder: Path, *, newest: bool = False) -> None:
    """Make the run that is there the baseline, or the newest of several."""
    from karat.gate import Baseline, write_baseline
    from karat.projects import gate_run, open_project
    from karat.runs import read_any_run

    project = open_project(folder)
    *others, file = sorted((folder / "runs").glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
    assert newest or not others
    result = gate_run(project, read_any_run(file, project.golden))
    write_baseline(Baseline(evaluation=result.evaluation), folder / "baseline.json")


def test_the_first_time_there_is_no_baseline(run: Run, folder: Path) -> None:
    """Exit code 0 with a warning, and how to record one; nothing but the run is written."""
    out, err = run(".")
    assert out.startswith("golden set tiny 1.0.0: 10 documents, 10 queries, 10 judgments; ")
    assert "\nRR@10   not worse   1.0000         -      -  inconclusive\n" in out
    assert "karat baseline update RUN" in out
    assert "run saved as runs/pipeline-" in err
    assert {path.name for path in folder.iterdir()} >= {"runs"}
    assert not (folder / "baseline.json").exists()


def test_the_same_system_again_passes(run: Run, folder: Path) -> None:
    """With a baseline and no change, every check passes."""
    run(".")
    accept(folder)
    out, _ = run(".")
    assert out.endswith("PASS by policy default: it may ship\n")


def test_a_worse_system_fails_with_its_losers(run: Run, folder: Path) -> None:
    """Exit code 1; what the retriever prints is none of the results, and what was lost is named with its text."""
    run(".")
    accept(folder)
    out, err = run(".", "--system", "stuck_for_check:find", code=1)
    assert "noise" not in out
    assert "noise" in err
    assert "lost most (9 in all)\n  q-bar  RR@10 1.000 to 0.000  where is the bar\n" in out
    assert "FAIL by policy default: 1 of 4 checks failed" in out
    document = json.loads(run(".", "--system", "stuck_for_check:find", "--json", code=1)[0])
    verdict = document["verdict"]
    assert (verdict["outcome"], [failure["metric"] for failure in verdict["failures"]]) == ("fail", ["RR@10"])
    assert [measure["mean"] for measure in document["measures"] if measure["name"] == "RR@10"] == [pytest.approx(0.15)]
    assert document["lint"]["errors"] == 0


def test_a_broken_golden_set_is_not_asked(run: Run, folder: Path) -> None:
    """Exit code 2 before any question, with the rules that were broken."""
    golden.write(replace(SET, queries=(*SET.queries, SET.queries[0])), folder / "twice")
    (folder / "karat.toml").write_text(CONFIG.replace('"set"', '"twice"'))
    out, _ = run(".", code=2)
    assert "error duplicate-query: " in out
    assert not (folder / "runs").exists()


def test_a_broken_system_is_three(run: Run, folder: Path) -> None:
    """The backend's own words."""
    _, err = run(".", "--system", "stuck_for_check:broken", code=3)
    assert "ConnectionError: refused" in err


def test_a_strict_policy_is_four(run: Run, folder: Path) -> None:
    """Where inconclusive must not pass, it does not."""
    (folder / "karat.toml").write_text(CONFIG + '[gate]\non_inconclusive = "fail"\n')
    out, _ = run(".", code=4)
    assert "INCONCLUSIVE by policy karat.toml (default, except on_inconclusive), which fails here" in out


def test_reports_are_written_for_people(run: Run, folder: Path) -> None:
    """Markdown, HTML and the decision beside the runs, unless not wanted; what a document says is text in them."""
    evil = replace(SET.queries[0], text="<script>alert(1)</script> pool")
    golden.write(replace(SET, queries=(evil, *SET.queries[1:])), folder / "evil")
    (folder / "karat.toml").write_text(CONFIG.replace('"set"', '"evil"'))
    run(".", "--no-report")
    assert not (folder / "reports").exists()
    _, err = run(".")
    page, decision, markdown = sorted((folder / "reports").iterdir())
    assert (page.suffix, decision.suffix, markdown.suffix) == (".html", ".json", ".md")
    assert f"report saved as reports/{page.name}" in err
    assert json.loads(decision.read_text())["lint"]["errors"] == 0
    run(".", "--reports", "elsewhere/new")
    assert len(list((folder / "elsewhere" / "new").iterdir())) == 3
    assert "<script>alert(1)" not in markdown.read_text() + page.read_text()


def test_on_github_an_end_without_a_decision_is_annotated(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No report tells why; elsewhere nothing is added."""
    (folder / "karat.toml").write_text("[golden]\npath = 'none'\n")
    _, plain = run(".", code=2)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    _, err = run(".", code=2)
    assert err.startswith(plain)
    assert err[len(plain) :].startswith("::error title=karat::")


def test_a_retriever_beside_its_configuration_is_found(
    run: Run, folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a repository with several projects, where the command is given at the root."""
    (folder / "beside_it.py").write_text("def find(query, k):\n    return []\n")
    monkeypatch.chdir(tmp_path_factory.mktemp("root"))
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != str(folder)])
    _, err = run(folder, "--system", "beside_it:find", "--policy", "beluga", code=1)
    assert "run saved as" in err


def test_a_decision_says_that_a_measure_looks_deeper_than_the_lists_go(run: Run, folder: Path) -> None:
    """R@50 of ten hits is R@10: terminal, JSON and Markdown say so, as ``karat eval`` does."""
    config = CONFIG.replace('["RR@10"]', '["R@50"]\nk = 5')
    (folder / "karat.toml").write_text(config)
    note = "R@50 looks at 50 hits, but 5 were asked for: set [eval] k = 50, or --k 50"
    assert note in run(".")[0]
    assert note in json.loads(run(".", "--json")[0])["caveats"]
    written = [file for file in (folder / "reports").iterdir() if file.suffix in (".md", ".html")]
    assert {"R@50 looks at 50 hits, but 5 were asked for" in file.read_text() for file in written} == {True}
    (folder / "karat.toml").write_text(config.replace("k = 5", "k = 50"))
    assert "looks at" not in run(".")[0]


def test_a_mean_of_few_queries_is_never_a_green_pass(run: Run, folder: Path) -> None:
    """Every format says of how many queries it is and why, on top; so does recording it."""
    rows = [f"where is the {word},{word},{3 if word == 'pool' else 1}\n" for word in WORDS]
    (folder / "desk.csv").write_text("question,document,grade\n" + "".join(rows))
    texts = "".join(json.dumps({"id": word, "text": f"All about the {word}."}) + "\n" for word in WORDS)
    (folder / "texts.jsonl").write_text(texts)
    toml = CONFIG.replace('"set"', '"desk.csv"\ndocuments = "texts.jsonl"')
    (folder / "karat.toml").write_text(toml)
    out, _ = run(".")
    assert "relevant from 1 on, since from 2 on 9 of 10 judged queries would have nothing relevant" in out
    assert "mean of" not in out
    (folder / "karat.toml").write_text(toml.replace("documents =", "relevant = 2\ndocuments ="))
    out, _ = run(".")
    accept(folder, newest=True)
    out, _ = run(".")
    warning = "the mean of RR@10 is of 1 of 10 answerable queries"
    assert out.startswith(f"WARNING: {warning}")
    assert "mean of 1 of 10 queries" in out
    assert "PASS" not in out
    *_, last = sorted((folder / "reports").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    reports = {path.suffix: path.read_text() for path in (folder / "reports").iterdir() if path.stem == last.stem}
    assert warning in reports[".md"].split("\n## ")[0]
    assert warning in reports[".html"].partition("<table")[0]


def test_empty_lists_without_anything_to_find_are_told_apart(run: Run, folder: Path) -> None:
    """A report counts all empty lists, and says how many of them the rule on empty lists leaves out."""
    golden.write(replace(SET, judgments=SET.judgments[:6]), folder / "open")
    (folder / "karat.toml").write_text(CONFIG.replace('"set"', '"open"'))
    (folder / "half_for_check.py").write_text("def find(query, k):\n    return ['pool'] if 'pool' in query else []\n")
    run(".", "--system", "half_for_check:find", code=1)
    (page,) = (folder / "reports").glob("*.html")
    assert "9 returned nothing, 4 of them with nothing to find" in page.read_text()
    assert "5 of 6 queries that have something relevant returned nothing" in page.read_text()
