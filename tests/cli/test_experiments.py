"""``karat experiments``: what was tried, listed, shown and compared."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import validate

from karat.schema import json_schema

VERB = "experiments"
Run = Callable[..., tuple[str, str]]
# The first two in the format fit, the third as karat writes it.
LOG = {
    "experiments": [
        {
            "id": "exp-001",
            "date": "2026-01-04",
            "description": "Reduce chunk size to 256 tokens",
            "config_changes": {"chunking.max_tokens": 256, "chunking.overlap_tokens": 25},
            "results": {"recall_at_5": 0.79, "precision_at_5": 0.71, "mrr": 0.72, "ndcg_at_5": 0.76},
            "verdict": "REJECTED (recall degraded below threshold)",
        },
        {
            "id": "exp-002",
            "date": "2026-01-05",
            "description": "Increase rerank threshold to 0.6",
            "config_changes": {"reranking.threshold": 0.6},
            "results": {"recall_at_5": 0.84, "precision_at_5": 0.74, "mrr": 0.77, "ndcg_at_5": 0.81},
            "verdict": "ACCEPTED (all metrics improved)",
        },
        {
            "id": "exp-003",
            "config_changes": {"pipeline.chunk.size": 128, "pipeline.chunk.overlap": 25},
            "results": {"R@5": 0.81, "latency.p95": 12.5, "nDCG@5": None},
            "verdict": "REJECTED (inconclusive: a\u001b[31m)",
            "tests": {"p": 0.5},
        },
    ]
}


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log in the current folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "experiments.json"
    path.write_text(json.dumps(LOG))
    return path


def test_list(run: Run, log: Path) -> None:
    """One row for each, with the results that most have, under karat's names."""
    assert [line.split("  ") for line in re.sub("   +", "  ", run("list")[0]).splitlines()] == [
        ["id", "date", "description", "R@5", "P@5", "RR", "nDCG@5", "verdict"],
        [
            "exp-001",
            "2026-01-04",
            "Reduce chunk size to 256 tokens",
            "0.7900",
            "0.7100",
            "0.7200",
            "0.7600",
            "REJECTED",
        ],
        [
            "exp-002",
            "2026-01-05",
            "Increase rerank threshold to 0.6",
            "0.8400",
            "0.7400",
            "0.7700",
            "0.8100",
            "ACCEPTED",
        ],
        ["exp-003", "-", "pipeline.chunk.size=128 pipeline.chunk.overlap=25", "0.8100", "-", "-", "-", "REJECTED"],
        [""],
        ["not shown: latency.p95; karat experiments show ID has them"],
    ]
    out, _ = run("list", "--accepted")
    assert "exp-002" in out
    assert "exp-001" not in out


def test_list_of_another_folder_and_as_json(run: Run, log: Path) -> None:
    """JSON has the entries as they stand in the file; the log may be named, or its folder."""
    assert json.loads(run("list", "--json", "--log", log)[0]) == LOG
    assert json.loads(run("list", "--json", "--log", log.parent)[0]) == LOG


def test_json_is_as_the_published_schema_says(run: Run, log: Path) -> None:
    """The log with entries of fit and of karat, one entry, and the difference of two."""
    validate(json.loads(run("list", "--json")[0]), json_schema("experiments"))
    validate(json.loads(run("show", "exp-003", "--json")[0]), json_schema("experiment"))
    validate(json.loads(run("diff", "exp-001", "exp-003", "--json")[0]), json_schema("experiment-diff"))


def test_numbers_that_no_float_can_hold(run: Run, log: Path) -> None:
    """JSON has whole numbers of any size: they are shown as they are, and have no difference to a fraction."""
    entries = [{"id": "a", "results": {"x": 10**400, "y": 1e308}}, {"id": "b", "results": {"x": 0.5, "y": -1e308}}]
    log.write_text(json.dumps({"experiments": entries}))
    assert str(10**400)[:20] in run("show", "a")[0]
    results = json.loads(run("diff", "a", "b", "--json")[0])["results"]
    assert [results[name]["difference"] for name in ("x", "y")] == [None, None]
    assert run("diff", "a", "b")[0].count("-\n") == 2


def test_an_empty_log(run: Run, log: Path) -> None:
    """It is said that there is nothing."""
    log.write_text('{"experiments": []}')
    assert run("list")[0] == "no experiment\n"


def test_show(run: Run, log: Path) -> None:
    """What was changed, what it scored, the verdict with its reason, and what else is known."""
    assert run("show", "exp-003")[0] == (
        "exp-003\n\n"
        "changed                 value\n"
        "pipeline.chunk.size       128\n"
        "pipeline.chunk.overlap     25\n\n"
        "result        value\n"
        "R@5          0.8100\n"
        "latency.p95    12.5\n"
        "nDCG@5            -\n\n"
        "exp-003  REJECTED: inconclusive: a\\x1b[31m\n\n"
        "  tests.p: 0.5\n"
    )
    assert json.loads(run("show", "exp-001", "--json")[0]) == LOG["experiments"][0]


def test_diff(run: Run, log: Path) -> None:
    """Keys that differ, whatever they are called; results with their differences; both verdicts."""
    assert run("diff", "exp-001", "exp-003")[0] == (
        "changed              exp-001  exp-003\n"
        "pipeline.chunk.size      256      128\n\n"
        "result       exp-001  exp-003    delta\n"
        "R@5           0.7900   0.8100  +0.0200\n"
        "P@5           0.7100        -        -\n"
        "RR            0.7200        -        -\n"
        "nDCG@5        0.7600        -        -\n"
        "latency.p95        -     12.5        -\n\n"
        "exp-001  REJECTED: recall degraded below threshold\n"
        "exp-003  REJECTED: inconclusive: a\\x1b[31m\n"
    )
    document = json.loads(run("diff", "exp-001", "exp-002", "--json")[0])
    assert document["config_changes"]["pipeline.rerank.threshold"] == {"first": None, "second": 0.6}
    assert document["results"]["RR"]["difference"] == pytest.approx(0.05)
    assert run("diff", "exp-001", "exp-001")[0].startswith("the same configuration\n")


def test_mistakes_are_told(run: Run, log: Path) -> None:
    """An id that is not there, a log that is not there, a log that is damaged."""
    assert "no experiment is called 'exp-01', did you mean" in run("show", "exp-01", code=2)[1]
    assert "elsewhere.json: no such file" in run("list", "--log", "elsewhere.json", code=2)[1]
    log.write_text("{")
    assert "experiments.json, line 1: is not valid JSON" in run("list", code=2)[1]
    assert log.read_text() == "{"
