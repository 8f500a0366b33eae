"""What the sources demand of an evaluation: the tests of fit, and the floor and the list of the CI of beluga.

Where a source contradicts itself the test says so, and holds to the numbers that can be counted.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from gating import run_of

import karat
from karat import golden
from karat.cli import main
from karat.core import Document, GoldenSet, Judgment, Query, Target
from karat.gate import decide, named_policy

ROOT = Path(__file__).resolve().parents[2]


def verb(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """Call karat, and give its exit code."""
    monkeypatch.setattr(sys, "argv", ["karat", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_1_golden_dataset_loads() -> None:
    """000, 8.1: the dataset parses, has its entities, queries and expected results; 50 and 20 of them at least."""
    golden_set = golden.read(ROOT / "examples" / "hotel")
    assert len(golden_set.documents) >= 50
    assert len(golden_set.queries) >= 20
    judged = {judgment.query for judgment in golden_set.judgments}
    assert all(query.id in judged for query in golden_set.queries if query.answerable)


def test_2_metrics_calculate_correctly() -> None:
    """000, 8.2: 3 of 5 relevant are retrieved, recall 0.6; so is precision, and not the 0.4 of the source (ERR-01)."""
    relevant = {f"relevant-{i}": 1 for i in range(1, 6)}
    retrieved = ["relevant-1", "irrelevant", "relevant-2", "irrelevant-too", "relevant-3"]
    run = {name: float(-place) for place, name in enumerate(retrieved)}
    assert karat.score({"q": relevant}, {"q": run}, ["R@5", "P@5"]).mean() == {"R@5": 0.6, "P@5": 0.6}


def test_3_regression_detection() -> None:
    """000, 8.3: recall 0.75 is below 0.80; the check fails, and the failure names the metric and the threshold.

    The source's own test hands over a record with nothing else in it, and its code lets all that is missing pass
    (ERR-13): here each missing number fails by its name.
    """
    decision = decide(run_of({"R@5": [0.75]}), None, named_policy("fit"))
    assert decision.exit_code == 1
    recall, *others = decision.failures
    assert (recall.metric, recall.limit, recall.reason) == ("R@5", 0.8, "0.7500 is below 0.8")
    assert {check.metric for check in others} == {"P@5", "RR@10", "nDCG@5", "latency.p50", "latency.p95", "latency.p99"}


def test_4_end_to_end_evaluation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """000, 8.4: all 20 queries are asked, the metrics computed, a record of it is written, the exit code is 0.

    And then what the source wants of CI: the run becomes the baseline, and the gate lets it pass.
    """
    words = [f"{a}{b}" for a in ("alder", "birch", "cedar", "elm", "fir") for b in ("gate", "hall", "mill", "yard")]
    golden_set = GoldenSet(
        name="twenty",
        grades=("no", "yes"),
        relevant=1,
        documents=tuple(Document(id=word, text=f"All about the {word} and its hours.") for word in words),
        queries=tuple(Query(id=f"q-{word}", text=f"when does {word} open") for word in words),
        judgments=tuple(Judgment(query=f"q-{word}", target=Target(document=word), grade=1) for word in words),
        gate={"R@5": 0.8, "RR@10": 0.7, "nDCG@5": 0.75},
    )
    golden.write(golden_set, tmp_path / "set")
    (tmp_path / "karat.toml").write_text('[golden]\npath = "set"\n[pipeline]\ndense = false\n')
    assert verb(monkeypatch, "eval", tmp_path, "--json") == 0
    (report,) = json.loads(capsys.readouterr().out)["runs"]
    assert report["measures"]["R@5"] == {"mean": 1.0, "n": 20, "total": 20, "missing": {}}
    assert set(report["latency"]["total"]) >= {"p50", "p95", "p99"}
    (run,) = (tmp_path / "runs").iterdir()
    assert len(run.read_text().splitlines()) == 20 + 2
    assert verb(monkeypatch, "baseline", "update", run) == 0
    assert verb(monkeypatch, "gate", run) == 0
    assert "PASS by policy default" in capsys.readouterr().out


@pytest.mark.parametrize(("scores", "code"), [([0.4, 1.0], 0), ([0.39, 1.0], 1)])
def test_ci_floor_of_the_mean_reciprocal_rank(scores: list[float], code: int) -> None:
    """001, RunCIEvaluation: a mean MRR below 0.7 ends the process with a failure, and 0.7 does not (H08)."""
    assert decide(run_of({"RR@10": scores}), None, named_policy("beluga")).exit_code == code


def test_failure_cases_are_those_below_three_tenths() -> None:
    """001, Analyze Failure Cases: queries with an RR below 0.3 are listed; 0.3 itself is not (H09)."""
    ((measure, limit),) = named_policy("beluga").list_below.items()
    scores = run_of({measure: [1.0, 0.3, 0.29, 0.0]}).values(measure)
    assert [query for query, value in scores.items() if value < limit] == ["q3", "q4"]
