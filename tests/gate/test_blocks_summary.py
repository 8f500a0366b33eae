"""Blocks' compact summary of a run, by hand: written, and read as a baseline."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from gating import run_of

from each import each
from karat.core import InputError
from karat.gate import Policy, Rule, decide, is_baseline, read_baseline, summarise_blocks
from karat.schema import to_plain

SOURCE = {
    "P@5": 0.38, "R@5": 0.81, "coverage": 0.74, "citation_accuracy": 0.96, "ΔS_med": 0.37, "ΔS_p90": 0.52,
    "bad_qids": ["Q-0137"], "by_type": {"prose": {"R@5": 0.9}},
}  # fmt: skip
"""The shape that the source gives; it leaves open what is in by_type."""
COLUMNS = {
    "P@5": [0.2, 0.4, 0.0], "R@5": [1.0, 0.5, 0.0], "CiteCoverage": [1.0, 1.0, 0.0], "CiteAccuracy": [1.0, 1.0, 0.0],
    "CiteDeltaS": [0.1, 0.3, 0.7],
}  # fmt: skip


def test_a_summary_has_the_names_and_the_order_of_the_source() -> None:
    """Means, quantiles between neighbours (0.3 + 0.4 x 0.8), what is bad, and the same by type."""
    run = replace(run_of(COLUMNS), segments={("block", "code"): ["q1"], ("block", "prose"): ["q1", "q2", "q3"]})
    summary = to_plain(summarise_blocks(run))
    assert list(summary) == list(SOURCE)
    by_type = summary.pop("by_type")
    assert summary == {
        "P@5": 0.2, "R@5": 0.5, "coverage": pytest.approx(2 / 3), "citation_accuracy": pytest.approx(2 / 3),
        "ΔS_med": 0.3, "ΔS_p90": 0.62, "bad_qids": ["q3"],
    }  # fmt: skip
    assert by_type["code"] == {
        "P@5": 0.2, "R@5": 1.0, "coverage": 1.0, "citation_accuracy": 1.0, "ΔS_med": 0.1, "ΔS_p90": 0.1,
    }  # fmt: skip
    assert by_type["prose"]["R@5"] == 0.5


@each(
    ("covered", "distance", "bad"),
    [(1.0, 0.60, False), (1.0, 0.61, True), (0.0, 0.1, True), (0.5, 0.1, False), (float("nan"), 0.1, True),
     (1.0, float("nan"), True)],
)  # fmt: skip
def test_a_question_is_bad(covered: float, distance: float, bad: bool) -> None:
    """If nothing relevant is cited, the distance is above 0.60, or nobody can tell."""
    run = run_of({"CiteCoverage": [covered, 1.0], "CiteDeltaS": [distance, 0.2]})
    assert summarise_blocks(run).bad_qids == (["q1"] if bad else [])


def test_one_bad_wording_is_enough() -> None:
    """The mean of 0.2 and 0.7 is good, and the answer at 0.7 is not."""
    tables = [run_of({"CiteCoverage": [1.0], "CiteDeltaS": [distance]}).scores for distance in (0.2, 0.7)]
    run = replace(
        run_of({"CiteCoverage": [1.0], "CiteDeltaS": [0.45]}), variants={(0, 0): tables[0], (1, 0): tables[1]}
    )
    assert summarise_blocks(run).bad_qids == ["q1"]


def test_nothing_measured_is_null_and_bad() -> None:
    """A run that only retrieves has no answers: no number, and no question that is known to be good."""
    summary = summarise_blocks(run_of({"P@5": [0.2], "R@5": [1.0]}))
    assert (summary.coverage, summary.median, summary.p90, summary.bad_qids) == (None, None, None, ["q1"])


def test_a_summary_is_a_baseline(tmp_path: Path) -> None:
    """Of means alone: recall may fall by two points, to 0.79 and no further."""
    path = tmp_path / "live.json"
    path.write_text(json.dumps(SOURCE))
    assert is_baseline(path.read_bytes())
    live = read_baseline(path).evaluation
    assert live.means == {
        "P@5": 0.38, "R@5": 0.81, "CiteCoverage": 0.74, "CiteAccuracy": 0.96, "delta_s.median": 0.37,
        "delta_s.p90": 0.52,
    }  # fmt: skip
    rules = Policy(rules=(Rule(metric="R@5", max_drop_abs=0.02), Rule(metric="delta_s.p90", max_rise_abs=0.01)))
    good = run_of({"R@5": [0.79], "CiteDeltaS": [0.53]})
    assert decide(good, live, rules).outcome.value == "pass"
    bad = run_of({"R@5": [0.78], "CiteDeltaS": [0.54]})
    assert [check.name for check in decide(bad, live, rules).failures] == ["R@5", "delta_s.p90"]


@each("change", [{"R@5": 1.2}, {"ΔS_med": "low"}, {"bad_qids": "Q-1"}, {"coverage": True}])
def test_a_damaged_summary_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    """With the place of what is wrong."""
    path = tmp_path / "live.json"
    path.write_text(json.dumps({**SOURCE, **change}))
    (name,) = change
    with pytest.raises(InputError, match=r"is a damaged summary of blocks: \$\." + name):
        read_baseline(path)
