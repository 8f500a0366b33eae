"""``karat judge sample`` and ``karat judge calibrate``: from answers drawn at random to numbers with intervals."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.answering_project import enter_project, write_scores
from cli.gate_project import main
from karat.schema import from_plain
from karat.schema.judging import CalibrationReport, LabelSample
from karat.stats import correct_mean
from karat.stats.trust import measure_agreement

COUNT = 200


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a run of 200 answers."""
    folder = tmp_path_factory.mktemp("trust")
    with pytest.MonkeyPatch.context() as patch:
        enter_project(folder, patch, COUNT)
        assert main(["eval", "."]) == 0
    return folder


@pytest.fixture
def run(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The run, in a copy of the project, which is the current folder."""
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "answering", raising=False)
    (path,) = (tmp_path / "runs").glob("*.jsonl")
    return path


def draw_world(seed: int = 0) -> tuple[dict[str, float], dict[str, float]]:
    """Return what people would say of all answers, and what a judge says, which is right in nine of ten."""
    rng = np.random.default_rng(seed)
    truth = {f"q{i}": float(rng.random() < 0.7) for i in range(COUNT)}
    scores = {query: float(value if rng.random() < 0.9 else 1 - value) for query, value in truth.items()}
    return truth, scores


def sample(capsys: pytest.CaptureFixture[str], count: int) -> list[dict[str, Any]]:
    assert main(["judge", "sample", ".", "--n", str(count), "-o", "labels.jsonl", "--json"]) == 0
    report = from_plain(json.loads(capsys.readouterr().out), LabelSample)
    assert (report.drawn, report.answers) == (count, COUNT)
    return [json.loads(line) for line in Path("labels.jsonl").read_text().splitlines()]


def calibrate(capsys: pytest.CaptureFixture[str], rows: list[dict[str, Any]], *options: str) -> CalibrationReport:
    Path("filled.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["judge", "calibrate", "filled.jsonl", *options, "--json"]) == 0, capsys.readouterr().err
    return from_plain(json.loads(capsys.readouterr().out), CalibrationReport)


@pytest.mark.slow
def test_labels_of_people_say_how_far_a_judge_can_be_trusted(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Drawn, labelled by two people, and held against the judge; every number is that of the library."""
    truth, scores = draw_world()
    write_scores(run, {query: [value] for query, value in scores.items()})
    rows = sample(capsys, 80)
    assert {"query", "question", "answer", "texts", "reference", "label"} == rows[0].keys()
    ana = [{**row, "label": truth[row["query"]], "annotator": "ana"} for row in rows]
    bo = [{**row, "annotator": "bo"} for row in ana[:40]]
    bo[0]["label"] = 1 - bo[0]["label"]
    report = calibrate(capsys, [*ana, *bo, {"query": "q1", "label": None}])
    keys = [row["query"] for row in rows]
    # Where two disagree, the lower label counts.
    labels = [min(truth[key], float(not truth[key])) if i == 0 else truth[key] for i, key in enumerate(keys)]
    judged = [scores[key] for key in keys]
    assert (report.items, report.annotators, report.unlabelled) == (80, ["ana", "bo"], 1)
    expected = measure_agreement(judged, labels, levels=[0, 1], positive=0.5, rng=np.random.default_rng(0))
    for name, estimate in expected.items():
        shown = report.statistics[name]
        assert (shown.value, shown.low, shown.high) == (estimate.value, estimate.low, estimate.high), name
    assert np.sum(report.confusion) == 80
    assert report.confusion[0][1] == sum(label == 0 and score == 1 for label, score in zip(labels, judged, strict=True))
    rest = [value for key, value in scores.items() if key not in keys]
    corrected = correct_mean(labels, judged, rest)
    assert report.corrected is not None
    assert (report.corrected.mean, report.corrected.low) == (corrected.mean, corrected.low)
    assert report.people is not None
    assert report.people.items == 40
    assert report.base_rate.value == pytest.approx(np.mean(labels))
    assert main(["judge", "calibrate", "filled.jsonl"]) == 0
    out = capsys.readouterr().out
    assert "faithfulness: 80 labels of 80 queries" in out
    assert "people among themselves" in out
    assert "1 rows without a label" in out


def test_a_sample_that_the_judge_chose_is_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Labels of what it calls bad say nothing about the rest: nothing is corrected, and the report says why."""
    truth, scores = draw_world(1)
    write_scores(run, {query: [value] for query, value in scores.items()})
    worst = sorted(scores, key=lambda query: scores[query])[:60]
    report = calibrate(capsys, [{"query": query, "label": truth[query]} for query in worst])
    assert report.corrected is None
    assert any("not a random sample" in note for note in report.notes)
    assert any("rows without 'answer'" in note for note in report.notes)


def test_labels_of_other_answers_do_not_count(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nor those of unknown questions; answers that the judge did not score are told, and count as its worst score."""
    truth, scores = draw_world(2)
    votes: dict[str, list[float | None]] = {query: [value] for query, value in scores.items()}
    rows = [{**row, "label": truth[row["query"]]} for row in sample(capsys, 50)]
    for row in rows[:3]:
        votes[row["query"]] = [None]
    write_scores(run, votes)
    rows[3]["answer"] = "Something that an earlier run said."
    report = calibrate(capsys, [*rows, {"query": "q999", "label": 1}])
    assert (report.items, report.unjudged, report.changed, report.unknown) == (46, 3, 1, 1)
    assert report.corrected is not None
    assert report.corrected.labels == 49


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([{"query": "q1", "label": 3}], [], "label 3 is not a number from 0 to 1; if people gave grades"),
        ([{"query": "q1", "label": "good"}], [], "label 'good' is not a number"),
        ([{"query": "q1", "label": 1}] * 2, [], "query 'q1' has two labels of somebody"),
        ([{"query": "x", "label": 1}], [], "no label is about something that faithfulness scored"),
        ([{"query": "q1", "label": 1}], ["-j", "refusal"], "'refusal' did not judge the run"),
        ([{"query": "q1", "label": 1}], ["--threshold", "2"], "threshold=2; name a score above 0, up to 1"),
        ([{"query": "q1", "label": 1}], ["--positive", "2"], "positive=2; name a label above 0, up to 1"),
    ],
)
def test_labels_that_are_none_are_refused(
    run: Path, capsys: pytest.CaptureFixture[str], rows: list[dict[str, Any]], options: list[str], message: str
) -> None:
    """One message, exit code 2."""
    write_scores(run, {"q1": [1.0]})
    Path("filled.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["judge", "calibrate", "filled.jsonl", *options]) == 2
    assert message in capsys.readouterr().err


def test_a_run_that_nobody_judged_and_a_sample_that_is_there(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both say what to do."""
    Path("filled.jsonl").write_text('{"query": "q1", "label": 1}\n')
    assert main(["judge", "calibrate", "filled.jsonl"]) == 2
    assert "run 'karat judge' first" in capsys.readouterr().err
    assert main(["judge", "sample", ".", "-o", "filled.jsonl"]) == 2
    assert "exists already" in capsys.readouterr().err


def test_grades_of_a_pool_are_held_against_those_of_people(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On four levels; what a machine graded is no label of a person, in whichever file it is."""
    people, machine = [0, 1, 2, 3, 3, 0] * 5, [0, 1, 3, 3, 2, 1] * 5
    rows = [{"query": f"q{i}", "document": "d", "grade": grade, "annotator": "ana"} for i, grade in enumerate(people)]
    graded = [
        {"query": f"q{i}", "document": "d", "grade": grade, "annotator": "m", "source": "bootstrapped"}
        for i, grade in enumerate(machine)
    ]
    Path("graded.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*graded, *rows]))
    report = calibrate(capsys, [*rows, *graded], "--pool", "graded.jsonl")
    assert (report.judge, report.items) == ("m", 30)
    assert report.statistics["agreement"].value == pytest.approx(0.5)
    assert report.statistics["within_one"].value == 1.0
    assert report.statistics["difference"].value == pytest.approx((0 + 0 + 1 + 0 - 1 + 1) / 6 / 3)
    assert report.confusion[2][3] == 5
    Path("graded.jsonl").write_text("".join(json.dumps(row) + "\n" for row in graded))
    few = calibrate(capsys, [{**row, "grade": 3 * (row["grade"] > 1)} for row in rows], "--pool", "graded.jsonl")
    assert len(few.levels) == 4  # all grades of the scale, though people gave only two of them


def test_refused_answers_are_not_drawn(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nor answers to questions that have none: no judge but refusal scores them. How many there are is told."""
    lines = run.read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    refused = [row["query"] for row in rows if row.get("answer")][:3]
    rows = [row | {"refused": True} if row.get("query") in refused else row for row in rows]
    run.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["judge", "sample", ".", "--n", "300", "-o", "labels.jsonl", "--json"]) == 0
    report = from_plain(json.loads(capsys.readouterr().out), LabelSample)
    assert (report.drawn, report.answers, report.refused) == (COUNT - 3, COUNT - 3, 3)
    drawn = {json.loads(line)["query"] for line in Path("labels.jsonl").read_text().splitlines()}
    assert drawn.isdisjoint(refused)
    assert main(["judge", "sample", ".", "--n", "300", "-o", "all.jsonl", "--refusals"]) == 0
    assert capsys.readouterr().out == f"all.jsonl: {COUNT} of {COUNT} answers; fill in label and annotator\n"
