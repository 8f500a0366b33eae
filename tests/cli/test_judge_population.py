"""Every verb counts the same answers: not the one to a question that has none, nor what was refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.answering_project import COUNT, configure, enter_project, name_model, write_scores
from cli.gate_project import main
from judges.model_server import obey, serve

COUNTED = COUNT - 1


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of a set whose first question has no answer, which the system answers."""
    folder = enter_project(tmp_path, monkeypatch)
    queries, judgments = (folder / "set" / f"{name}.jsonl" for name in ("queries", "judgments"))
    rows = [json.loads(line) for line in queries.read_text().splitlines()]
    rows[0] = {"id": "q0", "text": rows[0]["text"], "answerable": False}
    queries.write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = judgments.read_text().splitlines(keepends=True)
    judgments.write_text("".join(line for line in lines if json.loads(line)["query"] != "q0"))
    assert main(["eval", "."]) == 0
    (path,) = (folder / "runs").glob("*.jsonl")
    return path


def test_all_verbs_count_the_same_answers(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def read(*arguments: str) -> Any:
        capsys.readouterr()
        assert main(["judge", *arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    (row,) = read("run", str(run), "-j", "lexical_support", "--votes", "2")["measures"]
    assert (row["scored"], row["voted"]) == (COUNTED, COUNTED)
    assert read("flakes", str(run))["queries"] == COUNTED
    write_scores(run, {f"q{i}": [1.0] for i in range(COUNT)})
    labels = [{"query": f"q{i}", "answer": f"Fact {i} is true.", "label": i % 2} for i in range(COUNT)]
    Path("labels.jsonl").write_text("".join(json.dumps(label) + "\n" for label in labels))
    report = read("calibrate", "labels.jsonl", str(run))
    assert (report["items"], report["unjudged"]) == (COUNTED, 1)
    assert read("sample", str(run), "-o", "sample.jsonl")["drawn"] == COUNTED


def test_a_dry_run_counts_what_would_be_asked(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two calls for each answer, and none for a refusal, nor for an answer to a question that has none.

    One more finds out how the server gives JSON, until that is known.
    """
    text = run.read_text().replace('"answer":"Fact 1 is true."', '"answer":"I do not know.","refused":true')
    assert text != run.read_text()
    run.write_text(text)
    with serve(obey) as server:
        configure(Path.cwd(), name_model(server))
        for probes in (1, 0):
            capsys.readouterr()
            assert main(["judge", str(run), "-j", "faithfulness", "--dry-run", "--json"]) == 0
            assert json.loads(capsys.readouterr().out)["spending"]["calls"] == 2 * (COUNTED - 1) + probes
            assert bool(server.requests or server.probed) == (not probes)
            assert main(["judge", str(run), "-j", "refusal"]) == 0


def test_an_answer_to_a_question_without_one_is_not_sent(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its verdict would not count, and costs money; the judge of refusals is asked about it, and counts it as 0."""
    with serve(obey) as server:
        configure(Path.cwd(), name_model(server))
        capsys.readouterr()
        assert main(["judge", str(run), "-j", "faithfulness"]) == 0
        assert len(server.requests) == 2 * COUNTED
        assert not any("fact 0" in request.message for request in server.requests)
        assert "Faithfulness: 1 answer to questions that have none is not judged" in capsys.readouterr().out
        server.requests.clear()
        assert main(["judge", str(run), "-j", "refusal", "--json"]) == 0
        assert len(server.requests) == COUNT
    (row,) = json.loads(capsys.readouterr().out)["measures"]
    assert (row["scored"], row["mean"], row["spared"]) == (COUNT, pytest.approx(COUNTED / COUNT), 0)
