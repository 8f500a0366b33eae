"""``karat golden judge``, ``karat judge prefer`` and judges of the user, from karat.toml to the gate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.answering_project import COUNT, configure, enter_project, name_model
from cli.gate_project import main
from judges.model_server import Request, obey, serve
from karat import golden
from karat.schema import from_plain
from karat.schema.judging import PoolJudging, PreferenceReport


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose system answers, which is the current folder."""
    return enter_project(tmp_path, monkeypatch)


def write_pool(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [
        {"query": "q1", "query_text": "Is fact 1 true?", "document": "d1", "text": "Fact 1 is true.", "grade": None},
        {"query": "q1", "query_text": "Is fact 1 true?", "document": "d2", "text": "Something else.", "grade": None},
        {"query": "q2", "query_text": "Is fact 2 true?", "document": "d1", "text": "x", "grade": 0, "annotator": "ana"},
    ]  # fmt: skip
    (folder / "pool.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return rows


def test_a_machine_grades_a_pool_and_never_a_row_of_a_person(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Grades are marked, go into the set as such, and a person's grade of the same pair counts."""
    rows = write_pool(folder)
    assert main(["golden", "judge", "pool.jsonl", "--by", "overlap", "-o", "graded.jsonl", "--json"]) == 0
    report = from_plain(json.loads(capsys.readouterr().out), PoolJudging)
    assert (report.pairs, report.kept, report.judged, report.grades) == (3, 1, 2, {"0": 1, "1": 1})
    graded = [json.loads(line) for line in (folder / "graded.jsonl").read_text().splitlines()]
    assert graded[2] == rows[2]
    assert [(row["grade"], row["source"], row["annotator"]) for row in graded[:2]] == [
        (1, "bootstrapped", "overlap_grade"),  # the set knows yes and no; 3 of 3 words
        (0, "bootstrapped", "overlap_grade"),
    ]
    assert main(["golden", "judge", "pool.jsonl", "--by", "overlap", "-o", "graded.jsonl"]) == 2
    assert main(["golden", "judge", "pool.jsonl", "--by", "overlap", "-o", "again.jsonl"]) == 0
    honest = "it gives people's grade to 0.195 (0.176 to 0.215) of texts, far from the 0.80 that agent asks for"
    assert honest in capsys.readouterr().out
    rule = '[gate]\nextends = "none"\nrules = [{ metric = "RR@10", min = 0.5 }]\n'
    configure(folder, gate=rule)
    capsys.readouterr()
    assert main(["golden", "merge", "set", "graded.jsonl", "--in-place"]) == 0
    printed = capsys.readouterr()
    assert "no pair was judged by two annotators" in printed.out
    assert "2 judgments are a machine's (bootstrapped)" in printed.err
    caveat = f"of {COUNT + 2} judged pairs were judged by a machine (bootstrapped), and by no person"
    assert main(["check", ".", "--json"]) == 0
    assert f"1 {caveat}; 1 of them by words alone, which give people's grade to 0.195" in capsys.readouterr().out
    person = {"query": "q1", "document": "d2", "grade": 1, "annotator": "ana"}
    (folder / "ana.jsonl").write_text(json.dumps(person) + "\n")
    assert main(["golden", "merge", "set", "ana.jsonl", "--in-place"]) == 0
    assert golden.read(folder / "set").qrels()["q1"] == {"d1": 1, "d2": 1}
    capsys.readouterr()
    assert main(["check", ".", "--json"]) == 0
    assert caveat not in capsys.readouterr().out


def test_a_model_grades_a_pool_within_the_budget(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was not asked has no grade, and the report says why; a function of yours needs no model."""
    write_pool(folder)
    (folder / "own_grader.py").write_text("def grade(pairs):\n    return [0.5 for pair in pairs]\n")
    with serve(obey) as server:
        configure(folder, name_model(server, "calls = 2\nconcurrency = 1\n"))
        assert main(["golden", "judge", "pool.jsonl", "-o", "graded.jsonl", "--json"]) == 0
        report = json.loads(capsys.readouterr().out)
        assert (report["judged"], report["reasons"]) == (1, {"not asked: the budget is spent": 1})
        assert report["annotator"].startswith("passage_relevance:m@")
        assert len(server.requests) == 1
    (folder / "mine.py").write_text(
        "def grade(pairs):\n    return [3 if 'Fact' in text else 0.5 for _, text in pairs]\n"
    )
    assert main(["golden", "judge", "pool.jsonl", "--by", "own_grader:grade", "-o", "mine.jsonl"]) == 2
    assert "returned a fraction" in capsys.readouterr().err
    (folder / "bad.jsonl").write_text('{"query": "q1"}\n')
    assert main(["golden", "judge", "bad.jsonl", "--by", "overlap", "-o", "new.jsonl"]) == 2
    assert "bad.jsonl, line 1: is not a row of a pool" in capsys.readouterr().err


def test_two_runs_are_preferred_in_both_orders(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bad says fact 99 where Good says fact 0 to 3, which the model finds longer; equal answers are not asked about."""

    def reply(request: Request) -> Any:
        return {"better": "first", "reason": ""} if "Fact 3" in request.message else obey(request)

    with serve(reply) as server:
        for system in ("Good", "Bad"):
            configure(folder, name_model(server), system)
            assert main(["eval", "."]) == 0
        good, bad = sorted(map(str, (folder / "runs").glob("*.jsonl")), key=lambda run: "Bad" in run)
        capsys.readouterr()
        assert main(["judge", "prefer", good, bad, "--json"]) == 0
        report = from_plain(json.loads(capsys.readouterr().out), PreferenceReport)
        assert len(server.requests) == 2 * 4
    # From here on everything is known, also how the server is asked: it need not be there.
    assert (report.first, report.second, report.even, report.unsteady) == (0, 3, COUNT - 3, 1)
    assert (report.scored, report.total) == (COUNT, COUNT)
    assert report.difference == pytest.approx(-3 / COUNT)
    assert report.p == pytest.approx(2 / 2**3)  # of the eight ways to flip three signs, two are as far out
    assert (report.first_place, report.second_place) == (3 + 2, 3)
    assert main(["judge", "prefer", good, bad]) == 0
    assert "better in 1: 0, in 2: 3, in neither: 9, of 12/12 queries" in capsys.readouterr().out


def test_a_rubric_and_a_model_of_yours_are_measures(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Named in karat.toml; a run that only retrieves can have its passages graded."""
    (folder / "tone.md").write_text("version: 1\nscale: 0 to 4\n---\nIs it polite?\n")
    (folder / "own_nli.py").write_text("def entails(pairs):\n    return [line in text for text, line in pairs]\n")
    with serve(obey) as server:
        more = 'entails = "own_nli:entails"\nrubrics = { tone = "tone.md" }\n'
        configure(folder, name_model(server, more).replace('"faithfulness", "context_recall"', '"tone", "entailment"'))
        assert main(["eval", "."]) == 0
        assert main(["judge", "."]) == 0
    (run,) = (folder / "runs").glob("*.jsonl")
    capsys.readouterr()
    assert main(["eval", ".", "--run", str(run), "-m", "Rubric(name='tone')", "-m", "Entailment"]) == 0
    out = capsys.readouterr().out
    assert "Rubric(name='tone')  0.5000    12/12" in out
    assert "Entailment           1.0000    12/12" in out
    (folder / "answering.py").write_text("class Good:\n    def retrieve(self, query, k):\n        return ['d1']\n")
    assert main(["eval", ".", "--label", "other"]) == 0
    assert main(["judge", ".", "-j", "overlap_grade"]) == 0
    assert "OverlapGrade compares words" in capsys.readouterr().out


def test_texts_that_are_not_in_their_documents_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A system that returns its own answer as the text of a real document is supported by it in every word."""
    note = "12 hits of 12 queries have a text that is not in the document, and judges believe such texts: 'q0', 'q1', "
    rule = '[gate]\nextends = "none"\nrules = [{ metric = "RR@10", min = 0.5 }]\n'
    configure(folder, system="Liar", gate=rule)
    for verb, code in (("eval", 0), ("judge", 0), ("gate", 1)):
        assert main([verb, "."]) == code
        out = capsys.readouterr().out
        assert note in out
    assert "12 of 12 queries have 12 hits with a text that is not in the document: q0, q1, q2, q3, q4 ...;" in out
    assert "FAIL by policy karat.toml: 1 of 4 checks failed" in out  # all rules hold, and the texts are invented
    off = f"{rule}operations = {{ texts = false }}\n"
    configure(folder, system="Liar", gate=off)
    assert main(["gate", "."]) == 0
    assert "the operational rule 'texts' is switched off by [gate.operations]" in capsys.readouterr().out
    configure(folder, system="Good", gate=rule)
    assert main(["eval", "."]) == 0
    assert "that is not in the document" not in capsys.readouterr().out


def test_hits_without_a_text_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A judge sees nothing of them, and finds no support for what may well be right."""
    lines = (
        "from karat import Answer, Hit",
        "class Good:",
        "    def answer(self, query, k):",
        "        return Answer('Yes.', [1], [Hit('d0', 1.0, content='Fact 0 is true.'), Hit('elsewhere', 0.5)])",
    )
    (folder / "answering.py").write_text("\n".join(lines) + "\n")
    assert main(["eval", "."]) == 0
    capsys.readouterr()
    assert main(["judge", "."]) == 0
    told = "caveat: 12 hits have no text that is known, so that judges see nothing of them ('q0', 'q1', "
    assert told in capsys.readouterr().out
