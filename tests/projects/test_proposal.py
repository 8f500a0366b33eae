"""Floors and must-pass queries that a first good run suggests."""

from __future__ import annotations

import json
import math
import statistics
import sys
import tomllib
from pathlib import Path

import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from cli.gate_project import TOML, make_project, make_run, make_set
from each import each
from evaluations import make_evaluation
from karat.cli import main
from karat.gate import Must, Policy, Rule, named_policy, read_policy
from karat.projects.baselines._proposal import propose_rules

VALUES = [1.0, 1.0, 0.5, 1.0, 0.25, 1.0, 0.5, 1.0, 1.0, 1.0]


def test_a_floor_is_the_mean_minus_the_larger_margin() -> None:
    """By hand: two standard errors are more than 5 % here; must-pass queries are those at rank 1."""
    run = make_evaluation(values={"RR@10": {f"q{i}": value for i, value in enumerate(VALUES)}})
    proposal = propose_rules(run, named_policy("default", ["RR@10"]))
    assert proposal is not None
    (floor,) = proposal.floors
    mean, error = statistics.mean(VALUES), statistics.stdev(VALUES) / math.sqrt(len(VALUES))
    assert floor.margin == pytest.approx(2 * error)
    assert floor.floor == math.floor(100 * (mean - 2 * error)) / 100
    assert proposal.must_pass == ("q0", "q1", "q3", "q5", "q7")


@each(("right", "n", "floor"), [(4, 4, 0.5), (34, 36, 0.81), (20, 20, 0.83), (196, 200, 0.93)])
def test_few_right_answers_do_not_make_a_high_floor(right: int, n: int, floor: float) -> None:
    """Four of four have a standard error of 0, and could be half right: Wilson's bound for z = 2, by statsmodels."""
    run = make_evaluation(values={"Success@5": {f"q{i}": float(i < right) for i in range(n)}})
    proposal = propose_rules(run, named_policy("rig", ["Success@5"]))
    assert proposal is not None
    low, _ = proportion_confint(right, n, alpha=2 * stats.norm.sf(2), method="wilson")
    margin = max(right / n - low, 0.05 * right / n)
    assert proposal.floors[0].margin == pytest.approx(margin)
    assert proposal.floors[0].floor == floor == math.floor(100 * (right / n - margin) + 1e-9) / 100


def test_the_number_of_possible_must_pass_queries_is_said() -> None:
    """Five are shown of the seven at rank 1, in the text to paste and in the data."""
    run = make_evaluation(values={"RR@10": {f"q{i}": value for i, value in enumerate(VALUES)}})
    proposal = propose_rules(run, named_policy("default", ["RR@10"]))
    assert proposal is not None
    assert (len(proposal.must_pass), proposal.certain) == (5, 7)
    assert "5 of 7 that were found at rank 1; name those that must never be lost." in proposal.toml


def test_constant_scores_have_the_tolerated_drop_as_margin() -> None:
    """Without any spread 5 % of the mean are left."""
    run = make_evaluation(values={"R@5": {f"q{i}": 0.8 for i in range(10)}})
    proposal = propose_rules(run, named_policy("rig", ["R@5"]))
    assert proposal is not None
    assert (proposal.floors[0].floor, proposal.must_pass) == (0.76, ())


def test_what_is_pasted_keeps_the_policy_and_adds_floors() -> None:
    """The whole text is TOML for the end of [gate]: what must stay at rank 1, and each rule with a floor."""
    run = make_evaluation(values={"RR@10": {f"q{i}": value for i, value in enumerate(VALUES)}})
    before = named_policy("rig", ["RR@10"])
    proposal = propose_rules(run, before)
    assert proposal is not None
    file = f'[gate]\nextends = "rig"\n{proposal.toml}'  # it has the table already, as init wrote it
    after = read_policy(None, tomllib.loads(file)["gate"], measures=["RR@10"])
    assert after.rules == (Rule(metric="RR@10", min=proposal.floors[0].floor, max_drop_abs=0.0),)
    assert after.must_pass == tuple(Must(query=query, metric="RR@10", min=1.0) for query in proposal.must_pass)
    assert (proposal.must_pass_metric, proposal.must_pass) == ("RR@10", ("q0", "q1", "q3", "q5", "q7"))
    assert propose_rules(run, after) is None


def test_a_dead_run_suggests_nothing() -> None:
    """There is no floor below 0, and none for measures where lower is better."""
    run = make_evaluation(values={"RR@10": {"q1": 0.0, "q2": 0.0}, "DupRate@10": {"q1": 0.0, "q2": 0.1}})
    policy = Policy(rules=(Rule(metric="RR@10", non_inferior=True), Rule(metric="DupRate@10", max_rise_abs=0.1)))
    assert propose_rules(run, policy) is None


def test_the_command_proposes_and_writes_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the terminal as a text to paste, with --json as data; karat.toml stays as it is."""
    path = make_run(tmp_path, make_project(tmp_path, golden_set=make_set(12)), [1] * 9 + [2] * 3)
    monkeypatch.setattr(sys, "argv", ["karat", "baseline", "update", str(path)])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    assert not ended.value.code
    assert '[[gate.rules]]\nmetric = "RR@10"\nmin = 0.74 # 0.8750 - 0.1306\nnon_inferior = true\n' in out
    assert "gate" in tomllib.loads(out), "nothing but TOML is on standard output"
    assert "the policy has no floors" in err
    assert (tmp_path / "karat.toml").read_text() == TOML
    monkeypatch.setattr(sys, "argv", ["karat", "baseline", "update", str(path), "--json"])
    with pytest.raises(SystemExit):
        main()
    report = json.loads(capsys.readouterr().out)
    assert [floor["floor"] for floor in report["proposal"]["floors"]] == [0.74]
    assert report["queries"] == 12
