"""A judge that fails: what ``karat judge`` returns, and what the gate says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.answering_project import COUNT, configure, enter_project, name_model, write_scores
from cli.gate_project import main
from judges.model_server import Request, obey, serve

RULES = '[gate]\nextends = "none"\nrules = [{ metric = "Faithfulness", min = 0.7, max_drop_abs = 0.1 }]\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose system answers, which is the current folder."""
    return enter_project(tmp_path, monkeypatch)


def read_checks(capsys: pytest.CaptureFixture[str], run: Path) -> dict[str, Any]:
    capsys.readouterr()
    main(["gate", str(run), "--json"])
    checks = json.loads(capsys.readouterr().out)["checks"]
    return {check["kind"]: check for check in checks if check["metric"] == "Faithfulness"}


def test_a_gate_says_how_many_answers_were_not_judged(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They count as worst: 10 of 12 have 1, which is 0.8333; if none was judged, that is said first."""
    configure(folder, gate=RULES)
    assert main(["eval", "."]) == 0
    (run,) = (folder / "runs").glob("*.jsonl")
    write_scores(run, {f"q{i}": [1.0] for i in range(COUNT)})
    assert main(["baseline", "update", str(run)]) == 0
    write_scores(run, {f"q{i}": [1.0 if i > 1 else None] for i in range(COUNT)})
    checks = read_checks(capsys, run)
    assert checks["min"]["reason"] == "0.8333 is at least 0.7; 2 not judged counted as worst"
    assert checks["max_drop_abs"]["reason"].endswith("; 2 not judged counted as worst")
    assert [check["outcome"] for check in checks.values()] == ["pass", "fail"]
    assert main(["gate", str(run)]) == 1
    assert "Faithfulness  at least 0.7, 2 not judged as worst" in capsys.readouterr().out
    write_scores(run, {f"q{i}": [None] for i in range(COUNT)})
    checks = read_checks(capsys, run)
    assert checks["min"]["reason"] == "no answer was judged: 0.0000 is below 0.7; 12 not judged counted as worst"


@pytest.mark.parametrize(
    ("more", "reason"),
    [("", "12 the judge failed: the judge's reply cannot be used"), ("calls = 1\n", "12 not asked: the budget is")],
)
def test_judges_that_judge_nothing_end_with_3(
    folder: Path, capsys: pytest.CaptureFixture[str], more: str, reason: str
) -> None:
    """As an evaluation does in which every question fails. What finds out how to ask is a call, too."""
    with serve(lambda _: "It is great!") as server:
        configure(folder, name_model(server, more).replace(', "context_recall"', ""))
        assert main(["eval", "."]) == 0
        capsys.readouterr()
        assert main(["judge", "."]) == 3
    printed = capsys.readouterr().out
    assert "Faithfulness     -    0/12" in printed
    assert f"Faithfulness is missing: {reason}" in printed
    assert ".opinions says why, for each answer" in printed
    assert f"{len(server.probed) + len(server.requests)} call" in printed
    assert not (more and server.requests)


@pytest.mark.parametrize(
    ("more", "reason"), [("", "the judge's reply cannot be used"), ("calls = 1\n", "not asked: the budget is spent")]
)
def test_a_preference_or_a_pool_that_nobody_judged_ends_with_3(
    folder: Path, capsys: pytest.CaptureFixture[str], more: str, reason: str
) -> None:
    """With one message, and without a file of grades that has none."""
    pair = {"query": "q1", "query_text": "Is fact 1 true?", "document": "d1", "text": "Fact 1 is true.", "grade": None}
    (folder / "pool.jsonl").write_text(json.dumps(pair) + "\n")
    with serve(lambda _: "It is great!") as server:
        for system in ("Good", "Liar"):
            configure(folder, name_model(server, more), system)
            assert main(["eval", "."]) == 0
        runs = sorted(map(str, (folder / "runs").glob("*.jsonl")))
        capsys.readouterr()
        assert main(["judge", "prefer", *runs, "--json", "--no-cache"]) == 3
        printed = capsys.readouterr()
        assert printed.out == ""
        assert f"no question could be judged: 12 {reason}" in printed.err
        assert main(["golden", "judge", "pool.jsonl", "-o", "graded.jsonl", "--json", "--no-cache"]) == 3
        printed = capsys.readouterr()
        assert printed.out == ""
        assert f"no pair could be graded, and nothing was written: 1 {reason}" in printed.err
    assert not (folder / "graded.jsonl").exists()


def misquote(request: Request) -> Any:
    """Support every claim by words that no text has."""
    reply = obey(request)
    for verdict in reply.get("verdicts", ()):
        verdict.update(quote="words that are not there")
    return reply


def test_verdicts_with_invented_quotes_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serve(misquote) as server:
        configure(folder, name_model(server).replace(', "context_recall"', ""))
        assert main(["eval", "."]) == 0
        assert main(["judge", "."]) == 0
    told = "Faithfulness: 12 verdicts did not count: the quoted words are not in the text"
    assert told in capsys.readouterr().out.splitlines()


def test_show_says_that_nothing_is_asked_about_a_refusal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure(folder, system="Shy")
    assert main(["eval", "."]) == 0
    capsys.readouterr()
    assert main(["judge", "show", "faithfulness", ".", "--query", "q1"]) == 0
    assert capsys.readouterr().out == "faithfulness asks nothing about this answer: the answer was refused\n"
    assert main(["judge", "show", "lexical_support", ".", "--query", "q1"]) == 0
    assert "lexical_support asks no model" in capsys.readouterr().out
