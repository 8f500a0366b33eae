"""``karat report``: a gated run in every format."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cli.gate_project import make_gated_project, make_run, make_set
from karat import golden

VERB = "report"
Run = Callable[..., tuple[str, str]]


@pytest.fixture(autouse=True)
def outside_of_github(monkeypatch: pytest.MonkeyPatch) -> None:
    """CI runs these tests on GitHub, too."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A run that its gate fails: half of the queries find their document second, a must-pass nothing."""
    golden_set = make_gated_project(tmp_path, [1] * 12, '[gate]\nmust_pass = ["q01"]\n')
    return make_run(tmp_path, golden_set, [0, *[2] * 6, *[1] * 5])


def test_markdown_is_printed_and_the_exit_code_is_zero(run: Run, file: Path) -> None:
    """A report is no gate: a run that fails is reported on with exit code 0."""
    out, err = run(file, "--date", "2026-11-16")
    assert out.startswith("# RAG Evaluation Report\n\n**Date**: 2026-11-16  \n**Golden set**: turns")
    assert "| RR@10 | 0.6667 | 1.0000 | not worse by more than 0.05 | ❌ FAIL (-33.3%) |" in out
    assert "**Overall**: ❌ FAIL by policy karat.toml (default, except must\\_pass) (2 of 5 checks failed: RR@10" in out
    assert err == ""


@pytest.mark.slow
def test_the_same_run_gives_the_same_bytes(run: Run, file: Path) -> None:
    """Twice the same, in every format that is printed; another day changes the day only."""
    for name in ("md", "json", "junit", "github", "csv", "latex"):
        first, again, later = (run(file, "--format", name, "--date", f"2026-11-{day}")[0] for day in (16, 16, 17))
        assert first == again
        assert first.replace("2026-11-16", "2026-11-17") == later.replace("2026-11-16", "2026-11-17")


def test_markdown_is_another_name_of_md(run: Run, file: Path) -> None:
    """Both write the same; a misspelt format has a suggestion."""
    day = ("--date", "2026-11-16")
    assert run(file, "--format", "markdown", *day) == run(file, "--format", "md", *day)
    assert "did you mean 'html'?" in run(file, "--format", "htlm", code=2)[1]


def test_two_identical_runs_give_the_same_report(run: Run, file: Path, tmp_path: Path) -> None:
    """A run with the same answers under the same name, in another file, is reported on in the same bytes."""
    copy = file.with_name("copy.jsonl")
    copy.write_bytes(file.read_bytes())
    assert run(file, "--date", "2026-11-16") == run(copy, "--date", "2026-11-16")


def test_json_is_the_document(run: Run, file: Path) -> None:
    """With --json or --format json."""
    out, _ = run(file, "--json", "--date", "2026-11-16")
    assert out == run(file, "--format", "json", "--date", "2026-11-16")[0]
    document = json.loads(out)
    assert (document["karat"], document["created"], document["verdict"]["outcome"]) == ("report", "2026-11-16", "fail")


FORMATS = ("md", "html", "json", "junit", "github", "csv", "latex")


def test_a_decision_is_rendered_as_its_run(run: Run, file: Path, tmp_path: Path) -> None:
    """In every format the same bytes, although run, golden set and baseline are gone by then."""
    day = ("--date", "2026-11-16", "--output", "-")
    wanted = {name: run(file, "--format", name, *day)[0] for name in FORMATS}
    decision = tmp_path.parent / f"{tmp_path.name}-decision.json"
    decision.write_text(wanted["json"])
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    assert {name: run(decision, "--format", name, "--output", "-")[0] for name in FORMATS} == wanted
    assert run(decision, "--date", "2026-11-17")[0] == wanted["md"].replace("2026-11-16", "2026-11-17", 1)


def test_a_decision_is_not_made_again(run: Run, file: Path, tmp_path: Path) -> None:
    """What would change it is refused, and it is not written over."""
    decision = tmp_path / "decision.json"
    run(file, "--json", "--output", decision)
    for option in ("--golden", "--baseline", "--policy"):
        _, err = run(decision, option, tmp_path, code=2)
        assert f"{option} is for a run, and this is a decision" in err
    before = decision.read_bytes()
    assert "would overwrite an input" in run(decision, "--output", decision, code=2)[1]
    assert decision.read_bytes() == before
    _, err = run(decision, "--format", "html", "--date", "2026-11-16")
    assert err == f"karat: report saved as {tmp_path / 'rag-eval-new.html'}\n"


def test_a_decision_from_standard_input(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As karat gate prints it; anything else is refused."""
    text, _ = run(file, "--json")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert run("-", "--json")[0] == text
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes())))
    assert "standard input: is not a decision" in run("-", code=2)[1]


def test_nothing_that_is_kept_is_written_over(
    run: Run, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by name, nor as the file of the step's summary; an empty name is a mistake of a script."""
    decision = tmp_path / "decision.json"
    run(file, "--json", "--output", decision)
    for item in (file, decision):
        for name in ("karat.toml", "baseline.json", "set/golden.toml"):
            assert "is a name of what a report is made from" in run(item, "--output", tmp_path / name, code=2)[1]
        assert "--output is empty" in run(item, "--output", "", code=2)[1]
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(item))
        before = item.read_bytes()
        assert "GITHUB_STEP_SUMMARY" in run(item, "--format", "github", code=2)[1]
        assert item.read_bytes() == before


def test_a_document_of_the_set_is_not_written_over(run: Run, tmp_path: Path) -> None:
    """Also where the project lies in its golden set, beside the reports."""
    set_ = tmp_path / "whole"
    golden.write(replace(make_set(), name="whole"), set_)
    (set_ / "texts").mkdir()
    (set_ / "texts" / "a.md").write_text("a")
    rows = [json.loads(line) for line in (set_ / "documents.jsonl").read_text().splitlines()]
    del rows[0]["text"]
    rows[0]["path"] = "texts/a.md"
    (set_ / "documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    golden_set = golden.read(set_)
    path = make_run(set_, golden_set, [1] * 12)
    assert "would overwrite an input" in run(path, "--output", set_ / "texts" / "a.md", code=2)[1]
    assert (set_ / "texts" / "a.md").read_text() == "a"


def test_what_is_no_run_is_told_by_its_name(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing, empty, in no project; each is named."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "alone.jsonl").write_text("q1 Q0 d1 1 1 x\n")
    assert "none.jsonl: no such file" in run("none.jsonl", code=2)[1]
    assert "empty.jsonl: the file is empty" in run("empty.jsonl", code=2)[1]
    assert "alone.jsonl: is not in a project" in run("alone.jsonl", code=2)[1]


def test_the_schema_is_printed(run: Run) -> None:
    """Without a run."""
    assert json.loads(run("--schema")[0])["title"] == "karat report"


def test_every_format_is_of_its_kind(run: Run, file: Path) -> None:
    """JUnit parses with its failures, CSV has a row for each query, LaTeX is a table."""
    junit = ET.fromstring(run(file, "--format", "junit")[0].encode())
    assert (junit.tag, junit.get("tests"), junit.get("failures")) == ("testsuites", "5", "2")
    assert len(list(csv.DictReader(io.StringIO(run(file, "--format", "csv")[0])))) == 12
    assert "\\toprule" in run(file, "--format", "latex")[0]


def test_github_prints_annotations_and_adds_to_the_summary(
    run: Run, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another step wrote into the summary stays; without the variable nothing is written."""
    out, _ = run(file, "--format", "github")
    assert [line.split("::")[1].split(" ")[0] for line in out.splitlines()] == ["error", "error", "notice"]
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert run(file, "--format", "github")[0] == out
    assert summary.read_text("utf-8").startswith("before\n# RAG Evaluation Report\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "none" / "summary.md"))
    _, err = run(file, "--format", "github", code=2)
    assert "cannot be written" in err


def test_a_comment_has_its_mark(run: Run, file: Path) -> None:
    """The first line is the mark by which it is found again; only Markdown has one."""
    assert run(file, "--comment")[0].startswith("<!-- karat-report turns -->\n")
    _, err = run(file, "--comment", "--format", "csv", code=2)
    assert "--comment is for Markdown" in err


def test_output_makes_its_folder(run: Run, file: Path, tmp_path: Path) -> None:
    """The file is written whole, where it was asked for, and said on standard error."""
    target = tmp_path / "new" / "folder" / "rag-eval.md"
    out, err = run(file, "--output", target, "--date", "2026-11-16")
    assert out == ""
    assert err == f"karat: report saved as {target}\n"
    assert target.read_text("utf-8") == run(file, "--date", "2026-11-16")[0]
    _, err = run(file, "--output", target / "report.md", code=2)
    assert "cannot be written" in err


def test_html_with_a_file_is_the_short_form(run: Run, file: Path, tmp_path: Path) -> None:
    """As online, shadow and trial reports have it; with another output it is a mistake."""
    run(str(file), "--html", str(tmp_path / "short.html"))
    run(str(file), "--format", "html", "-o", str(tmp_path / "long.html"))
    assert (tmp_path / "short.html").read_bytes() == (tmp_path / "long.html").read_bytes()
    run(str(file), "--html", str(tmp_path / "x.html"), "--json", code=2)


def test_html_goes_into_the_project(run: Run, file: Path, tmp_path: Path) -> None:
    """Into reports/, under the name of its run; with --output - it is printed."""
    out, err = run(file, "--format", "html", "--date", "2026-11-16")
    assert out == ""
    target = tmp_path / "reports" / "rag-eval-new.html"
    assert err == f"karat: report saved as {target}\n"
    assert target.read_text("utf-8").lower().startswith("<!doctype html>")
    assert run(file, "--format", "html", "--date", "2026-11-16", "--output", "-")[0] == target.read_text("utf-8")


def test_no_report_is_written_over_another(run: Run, file: Path, tmp_path: Path) -> None:
    """The same report again is the same file; another one of the same run gets a number."""
    texts = [run(file, "--format", "html", "--date", f"2026-11-{day}", "--output", "-")[0] for day in (16, 17)]
    for day in (16, 17, 16, 17):
        run(file, "--format", "html", "--date", f"2026-11-{day}")
    names = ["rag-eval-new.html", "rag-eval-new-2.html"]
    assert {path.name for path in (tmp_path / "reports").iterdir()} == set(names)
    assert [(tmp_path / "reports" / name).read_text("utf-8") for name in names] == texts


def test_baseline_policy_and_project_can_be_chosen(run: Run, file: Path, tmp_path: Path) -> None:
    """As with karat gate."""
    out, _ = run(file, "--policy", "threshold", "--golden", tmp_path, "--baseline", tmp_path / "baseline.json")
    assert "FAIL by policy threshold" in out
    (tmp_path / "baseline.json").unlink()
    assert "**Baseline**: none yet" in run(file)[0]


@pytest.mark.parametrize("day", ["today", "2026-02-30", "20261116", "2026-11-16/../x", ""])
def test_a_day_that_is_none_is_a_mistake(run: Run, file: Path, day: str) -> None:
    """It becomes part of a file's name, so it is checked."""
    _, err = run(file, "--date", day, code=2)
    assert "is not a day; write it as 2026-11-16" in err


def test_mistakes_are_two(run: Run, file: Path, tmp_path: Path) -> None:
    """No such run, no such baseline, no such format, two formats."""
    assert "no such file" in run(tmp_path / "none.jsonl", code=2)[1]
    assert "no such file" in run(file, "--baseline", tmp_path / "none.json", code=2)[1]
    assert "pdf" in run(file, "--format", "pdf", code=2)[1]
    assert "two things" in run(file, "--json", "--format", "md", code=2)[1]


def test_what_a_report_is_made_from_is_not_overwritten(run: Run, file: Path, tmp_path: Path) -> None:
    """Run, baseline, configuration and golden set stay as they are, whatever --output says."""
    inputs = [file, tmp_path / "baseline.json", tmp_path / "karat.toml", tmp_path / "set" / "queries.jsonl"]
    for path in inputs:
        before = path.read_bytes()
        assert re.search("would overwrite an input|is a name of what", run(file, "--output", path, code=2)[1])
        assert path.read_bytes() == before
