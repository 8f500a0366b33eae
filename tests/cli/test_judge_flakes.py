"""``karat judge flakes`` and ``karat judge bridge``: who is noisy, and from one judge to another."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.answering_project import COUNT, configure, enter_project, name_model, write_scores
from cli.gate_project import main
from judges.model_server import Request, obey, serve
from karat.gate import read_baseline
from karat.schema import from_plain
from karat.schema.judging import BridgeReport, FlakesReport
from karat.stats import estimate_mean


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose system answers, which is the current folder."""
    return enter_project(tmp_path, monkeypatch)


def make_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[Path, Path]:
    """Return two runs of one system; in the second it says something else of facts 2 and 3."""
    assert main(["eval", "."]) == 0
    capsys.readouterr()
    (run,) = (folder / "runs").glob("*.jsonl")
    again = run.with_name("again.jsonl")
    text = run.read_text()
    for number in (2, 3):
        text = text.replace(f'"answer":"Fact {number} is true."', f'"answer":"Fact {number} is new."')
        text = text.replace(f'"answer": "Fact {number} is true."', f'"answer": "Fact {number} is new."')
    assert text != run.read_text()
    again.write_text(text)
    return run, again


def flakes(capsys: pytest.CaptureFixture[str], *arguments: str) -> FlakesReport:
    assert main(["judge", "flakes", *arguments, "--json"]) == 0, capsys.readouterr().err
    return from_plain(json.loads(capsys.readouterr().out), FlakesReport)


def test_who_is_noisy_is_told_by_votes_and_answers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Votes on one answer differ by the judge; scores of different answers by the system; both, or neither."""
    run, again = make_runs(folder, capsys)
    steady: dict[str, list[float]] = {f"q{i}": [1.0, 1.0, 1.0] for i in range(COUNT)}
    write_scores(run, {**steady, "q1": [1.0, 0.0, 1.0], "q3": [1.0, 0.8, 1.0]})
    write_scores(again, {**steady, "q1": [0.0, 1.0, 1.0], "q2": [0.2, 0.2, 0.2], "q3": [0.0, 0.3, 0.0]})
    report = flakes(capsys, str(run), str(again))
    kinds = {row.query: row.kind for row in report.flaky}
    assert kinds == {"q1": "judge", "q2": "system", "q3": "both"}
    assert report.counts == {"stable": COUNT - 3, "judge": 1, "system": 1, "both": 1}
    (system,) = (row for row in report.flaky if row.query == "q2")
    assert (system.spread, system.judge_spread, system.different) == (pytest.approx(0.8), 0.0, 2)
    assert main(["judge", "flakes", str(run), str(again)]) == 0
    assert f"{COUNT - 3} stable, 1 noisy system, 1 noisy judge, 1 both" in capsys.readouterr().out
    assert flakes(capsys, str(run), str(again), "--tolerance", "0.9").counts == {"stable": COUNT - 1, "judge": 1}


def test_one_vote_does_not_tell_who(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Unless the answer is the same in both runs: then it is the judge."""
    run, again = make_runs(folder, capsys)
    scores = {f"q{i}": [1.0] for i in range(COUNT)}
    write_scores(run, scores)
    write_scores(again, {**scores, "q1": [0.0], "q2": [0.0]})
    report = flakes(capsys, str(run), str(again))
    assert {row.query: row.kind for row in report.flaky} == {"q1": "judge", "q2": "unknown"}
    assert any("every answer has one vote" in note for note in report.notes)
    assert any("every query has one answer" in note for note in flakes(capsys, str(run)).notes)
    again.with_suffix(".opinions").unlink()
    assert main(["judge", "flakes", str(run), str(again)]) == 2
    assert "nobody has judged the run" in capsys.readouterr().err
    shutil.copy(run.with_suffix(".opinions"), again.with_suffix(".opinions"))
    assert main(["judge", "flakes", str(run), str(again)]) == 2
    assert "has opinions about another run" in capsys.readouterr().err
    write_scores(again, scores, "refusal")
    assert main(["judge", "flakes", str(run), str(again), "-j", "refusal"]) == 2
    assert f"{run.name}: is not judged by 'refusal'" in capsys.readouterr().err


def harsh(request: Request) -> Any:
    """Support no claim about an even fact."""
    reply = obey(request)
    if request.kind == "ClaimVerdicts" and int(request.numbered("claim")[0].split()[1]) % 2 == 0:
        reply["verdicts"][0].update(supported=False, quote="", chunk=0)
    return reply


@pytest.mark.slow
def test_a_baseline_moves_to_another_judge(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the mean difference on a sample, with its interval; later runs are compared on the sample alone."""
    rule = '[gate]\nextends = "none"\nrules = [{ metric = "Faithfulness", min = 0.9, non_inferior = true }]\n'
    with serve(obey) as kind, serve(harsh) as strict:
        tables = {"old.toml": name_model(kind), "new.toml": name_model(strict)}
        for name, table in tables.items():
            names = table.replace('"faithfulness", "context_recall"', '"faithfulness"')
            tables[name] = names
            (folder / name).write_text(f"[judges]\n{names}")
        configure(folder, tables["old.toml"], gate=rule)
        assert main(["eval", "."]) == 0
        assert main(["judge", "."]) == 0
        (run,) = map(str, (folder / "runs").glob("*.jsonl"))
        assert main(["baseline", "update", run]) == 0
        capsys.readouterr()
        line = ["judge", "bridge", "old.toml", "new.toml", run, "--n", "8"]
        assert main([*line, "-o", "moved.json", "--json"]) == 0, capsys.readouterr().err
        report = from_plain(json.loads(capsys.readouterr().out), BridgeReport)
        (row,) = report.measures
        moved = read_baseline("moved.json").evaluation.scores.column("Faithfulness")
        expected = estimate_mean(np.array(list(moved.values())) - 1.0)
        assert (report.sampled, row.scored, len(moved)) == (8, 8, 8)
        assert moved == {query: float(int(query[1:]) % 2) for query in moved}
        assert expected[1] < -1  # which no difference of two scores is
        assert (row.shift.value, row.shift.low, row.shift.high) == pytest.approx((expected[0], -1.0, expected[2]))
        assert row.moved is not None
        assert row.moved.value == pytest.approx(1 + expected[0])
        assert row.moved.low == 0.0
        assert [(limit.kind, limit.limit) for limit in row.limits] == [("min", 0.9)]
        assert row.limits[0].moved.value == pytest.approx(0.9 + expected[0])
        assert report.spending[0].calls == 0  # the old judge has said all of it before
        configure(folder, tables["new.toml"], gate=rule.replace("0.9", "0.4"))
        assert main(["judge", "."]) == 0
        assert re.search(
            r"replaced what faithfulness:m@\w+ said: it is faithfulness:m@\w+ now", capsys.readouterr().out
        )
        assert main(["judge", "."]) == 0
        assert "replaced" not in capsys.readouterr().out
        assert main(["gate", run]) == 1
        printed = capsys.readouterr().out
        assert "another judge scored it (faithfulness:m@" in printed
        assert "'karat judge bridge OLD NEW RUN'" in printed
        assert "lost most" not in printed  # nothing of it is compared
        assert main(["gate", run, "--baseline", "moved.json"]) == 0
        assert main(line) == 0
        assert "min 0.4 is" in capsys.readouterr().out
        assert main([*line, "-o", "again.json"]) == 0  # the new judge's opinions stand beside the run by now
        assert (folder / "again.json").read_text() == (folder / "moved.json").read_text()
        assert main(["judge", "bridge", "new.toml", "old.toml", run, "-o", "back.json"]) == 2
        assert "name the file with the table [judges] that the baseline was judged with" in capsys.readouterr().err
        other = Path(run).with_name("other.jsonl")
        other.write_text(re.sub(r'("answer": ?"Fact \d+ is) true', r"\1 false", Path(run).read_text()))
        assert main([*line[:4], str(other), "-o", "other.json"]) == 2
        assert "the run is not that of the baseline: the old judge gives" in capsys.readouterr().err
        more = [text.replace('["faithfulness"]', '["faithfulness", "refusal"]') for text in tables.values()]
        for name, text in zip(("old2.toml", "new2.toml"), more, strict=True):
            (folder / name).write_text(f"[judges]\n{text}")
        assert main(["judge", "bridge", "old2.toml", "new2.toml", run, "--n", "8", "-o", "third.json"]) == 0
        assert "RefusalRightness" not in capsys.readouterr().out  # which the baseline does not have
        assert main(["judge", "bridge", "old.toml", "old.toml", run]) == 2
        assert "nothing to bridge" in capsys.readouterr().err
    assert main(["judge", "bridge", "set/golden.toml", "old.toml", run]) == 2
    assert "has no table [judges]" in capsys.readouterr().err
