"""Judging a run again: by other judges, by the same ones, after a kill, and what that means for baselines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cli.answering_project import COUNT, configure, enter_project, name_model, write_scores
from cli.gate_project import main
from judges.model_server import obey, serve
from karat.projects import open_project
from karat.projects.judging import choose_judges, judge_run
from karat.runs import digest_run, opinions_path, read_any_run, read_opinions
from karat.schema import JudgeReport

RULES = """[gate]
extends = "none"
rules = [
  { metric = "RR@10", max_drop_abs = 0.1 },
  { metric = "LexicalSupport", max_drop_abs = 0.1 },
  { metric = "Faithfulness", max_drop_abs = 0.1 },
]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose system answers, which is the current folder."""
    return enter_project(tmp_path, monkeypatch)


def make_run(folder: Path) -> Path:
    assert main(["eval", "."]) == 0
    (run,) = (folder / "runs").glob("*.jsonl")
    return run


def judge(run: Path, *names: str) -> JudgeReport:
    project = open_project(run.parent.parent)
    return judge_run(project, run, choose_judges(project, names))


def read_means(capsys: pytest.CaptureFixture[str], run: Path, *measures: str) -> dict[str, tuple[float, int, int]]:
    """Return what eval prints of a run."""
    capsys.readouterr()
    assert main(["eval", ".", "--run", str(run), "--json", *(part for name in measures for part in ("-m", name))]) == 0
    cells = json.loads(capsys.readouterr().out)["runs"][0]["measures"]
    return {name: (cell["mean"], cell["n"], cell["total"]) for name, cell in cells.items()}


def test_other_judges_keep_what_they_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each judge's opinions are replaced by its own only, and the report says whose were kept."""
    run = make_run(folder)
    write_scores(run, {f"q{i}": [0.5] for i in range(COUNT)})
    report = judge(run, "lexical_support")
    assert report.kept == {"faithfulness": "faithfulness:m@1"}
    means = read_means(capsys, run, "Faithfulness", "LexicalSupport")
    assert means == {"Faithfulness": (0.5, COUNT, COUNT), "LexicalSupport": (1.0, COUNT, COUNT)}
    before = read_opinions(opinions_path(run))
    assert judge(run, "lexical_support").kept == report.kept
    assert read_opinions(opinions_path(run)) == before
    assert judge(run, "overlap_grade").kept == dict(before.judges)
    capsys.readouterr()
    assert main(["judge", ".", "-j", "lexical_support"]) == 0
    assert "kept what faithfulness, overlap_grade said of this run before" in capsys.readouterr().out


def test_what_cannot_be_kept_is_told(folder: Path) -> None:
    """Opinions about an earlier run of that name, and a file that cannot be read, which judging again mends."""
    run = make_run(folder)
    judge(run, "overlap_grade")
    run.write_text(run.read_text().replace("Fact 1 is true.", "Fact 1 is not true."))
    report = judge(run, "lexical_support")
    assert (report.kept, report.replaced) == ({}, "what was there is about an earlier run of this name")
    opinions_path(run).write_text("nonsense\n")
    report = judge(run, "lexical_support")
    assert report.replaced.startswith("what was there cannot be read: is not an opinion")
    assert judge(run, "lexical_support").replaced == ""


class Killed(BaseException):
    """What ends a process in the middle of it."""


@contextmanager
def killed_after(count: int) -> Iterator[Any]:
    calls = 0

    def progress(stage: str, done: int, total: int, **_: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == count:
            raise Killed

    with pytest.raises(Killed):
        yield progress


def test_a_kill_loses_nothing_that_was_there(folder: Path) -> None:
    """The opinions of others stay through it, and after it what had a reply is not asked again."""
    run = make_run(folder)
    judge(run, "lexical_support")
    before = opinions_path(run).read_bytes()
    with serve(obey) as server:
        configure(folder, name_model(server, "concurrency = 1\n"))
        project = open_project(folder)
        judges = choose_judges(project, ["refusal"])
        with killed_after(5) as progress:
            judge_run(project, run, judges, progress=progress)
        assert opinions_path(run).read_bytes() == before
        report = judge_run(project, run, judges)
        assert COUNT <= len(server.requests) <= COUNT + 1  # one was on its way
    assert list(report.kept) == ["lexical_support"]
    assert list(read_opinions(opinions_path(run)).judges) == ["lexical_support", "refusal"]


def test_each_measure_is_compared_by_its_own_judge(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another judge beside it changes nothing; a judge that changed stops the rules on its own measure alone."""
    run = make_run(folder)
    configure(folder, gate=RULES)
    judge(run, "lexical_support")
    write_scores(run, {f"q{i}": [1.0] for i in range(COUNT)})
    judge(run, "lexical_support")
    assert main(["baseline", "update", str(run)]) == 0
    assert main(["gate", str(run)]) == 0
    judge(run, "overlap_grade", "lexical_support")
    assert main(["gate", str(run)]) == 0
    path = opinions_path(run)
    path.write_text(path.read_text().replace("faithfulness:m@1", "faithfulness:m@2"))
    capsys.readouterr()
    assert main(["gate", str(run), "--json"]) == 1
    checks = {check["metric"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert [checks[name]["outcome"] for name in ("RR@10", "LexicalSupport", "Faithfulness")] == ["pass", "pass", "fail"]
    assert "another judge scored it (faithfulness:m@2, was faithfulness:m@1)" in checks["Faithfulness"]["reason"]
    assert "'karat judge bridge OLD NEW RUN'" in checks["Faithfulness"]["reason"]


def test_a_run_that_nobody_judged_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With what to type, in place of a difference in the definition of a measure."""
    run = make_run(folder)
    configure(folder, gate=RULES)
    write_scores(run, {f"q{i}": [1.0] for i in range(COUNT)})
    judge(run, "lexical_support")
    assert main(["baseline", "update", str(run)]) == 0
    opinions_path(run).unlink()
    capsys.readouterr()
    assert main(["gate", str(run)]) == 1
    printed = capsys.readouterr().out
    assert "Faithfulness: the run is not judged by faithfulness; type 'karat judge RUN -j faithfulness'" in printed
    assert "differ in" not in printed
    assert main(["compare", "baseline.json", str(run), "-m", "Faithfulness"]) == 2
    assert "run B is not judged by faithfulness; type" in capsys.readouterr().err


def test_a_run_that_nobody_judged_says_so_without_a_baseline(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A rule on a judge fails, because karat check asks no judge; what to type stands in its reason."""
    run = make_run(folder)
    configure(folder, gate='[gate]\nextends = "none"\nrules = [{ metric = "Faithfulness", min = 0.5 }]\n')
    capsys.readouterr()
    assert main(["gate", str(run)]) == 1
    assert (
        "fail  Faithfulness: the run is not judged by faithfulness; type 'karat judge RUN -j faithfulness' and then "
        "'karat gate RUN', and what is not measured does not pass"
    ) in capsys.readouterr().out


def test_opinions_of_an_earlier_format_are_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Format 1 named all judges together; a file that does not say who judged is refused."""
    run = make_run(folder)
    head = {"karat": "opinions", "format": 1, "run": digest_run(run.read_bytes()), "judge": "a,b:m@1"}
    rows: list[dict[str, Any]] = [
        {"query": "q0", "judge": judge, "value": 0.5} for judge in ("refusal", "faithfulness")
    ]
    opinions_path(run).write_text("".join(json.dumps(row) + "\n" for row in (head, *rows)))
    assert read_opinions(opinions_path(run)).judges == {"refusal": "a,b:m@1", "faithfulness": "a,b:m@1"}
    assert judge(run, "lexical_support").kept == {"refusal": "a,b:m@1", "faithfulness": "a,b:m@1"}
    assert read_means(capsys, run, "Faithfulness")["Faithfulness"] == (0.5, 1, COUNT)
    head = {**head, "format": 2, "judges": {"refusal": "x"}}
    opinions_path(run).write_text("".join(json.dumps(row) + "\n" for row in (head, *rows)))
    assert main(["eval", ".", "--run", str(run)]) == 2
    assert "does not say what decides about the opinions of 'faithfulness'" in capsys.readouterr().err


def test_judge_and_eval_give_the_same_mean(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Over queries: unanswerable ones are left out, votes count once, and what failed is no value."""
    queries = folder / "set" / "queries.jsonl"
    rows = [json.loads(line) for line in queries.read_text().splitlines()]
    rows[0] = {"id": "q0", "text": rows[0]["text"], "answerable": False}
    queries.write_text("".join(json.dumps(row) + "\n" for row in rows))
    judgments = folder / "set" / "judgments.jsonl"
    lines = judgments.read_text().splitlines(keepends=True)
    judgments.write_text("".join(line for line in lines if json.loads(line)["query"] != "q0"))
    (folder / "answering.py").write_text(
        (folder / "answering.py").read_text().replace('"Fact 99 is true." if', '"Nothing of it." if')
    )
    configure(folder, system="Bad")
    run = make_run(folder)
    project = open_project(folder)
    report = judge_run(project, run, choose_judges(project, ["lexical_support"]), votes=3)
    (row,) = report.measures
    assert read_means(capsys, run, "LexicalSupport")["LexicalSupport"] == (row.mean, row.scored, row.total)
    # Of q1 to q11, q1, q2 and q3 have an answer that shares no word but stop words with its text.
    assert (row.scored, row.total) == (COUNT - 1, COUNT)
    assert row.mean is not None
    assert row.mean < 1
    assert row.low == row.high == pytest.approx(row.mean)
    assert msgspec.to_builtins(report)["measures"][0]["scored"] == COUNT - 1


def test_a_log_of_another_program_keeps_its_opinions(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are attached to any run file, not only to those that karat wrote."""
    project = open_project(folder)
    rows = [
        {"qid": query.id, "query": query.text, "answer": query.answer, "topk": [{"id": f"d{i}", "score": 1.0}]}
        for i, query in enumerate(project.golden.queries)
    ]
    log = folder / "log.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    judge_run(project, log, choose_judges(project, ["lexical_support"]))
    run = read_any_run(log, project.golden)
    assert [trace.opinions["lexical_support"] for trace in run.traces] == [1.0] * COUNT
