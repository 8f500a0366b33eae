"""Trials of several treatments from the log: each beside the control, at a level that is divided among them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from feedback.trial_records import IDLE, PLAN, START, WHO, ask, count, end, put
from in_process import run_karat
from karat.core import UsageError
from karat.feedback.trials import collect_trial
from karat.online.flags import change_flag, read_flags
from karat.online.trials import (
    Observations,
    TrialPlan,
    accepts_feature,
    decide_trial,
    judge_variants,
    look_at_trial,
    record_batch,
    report_trial,
    start_trial,
)
from karat.online.trials._judgment import CorpusRun
from karat.stats.sequential import Decision, Tally, assess, trace_log_e
from karat.store import open_store

SHARES = {"control": 2.0, "a": 1.0, "b": 1.0}
THREE = replace(PLAN, shares=SHARES, guardrails=("Found",))
BETTER, SAME, WORSE = (Tally.from_counts(own) for own in ({0.5: 40, 0: 110}, {0: 150}, {-0.5: 40, 0: 110}))
CORPUS = CorpusRun(run="run-1", outcome="pass", delta=0.02)


def see(a: Tally, b: Tally) -> Observations:
    """Return all that three variants need, with differences of two of them."""
    return Observations(
        differences={"Success of a": a, "Success of b": b, "Found of a": SAME, "Found of b": SAME},
        latencies={"control": {10.0: 300}, "a": {11.0: 150}, "b": {11.0: 150}},
        units={"control": 300, "a": 150, "b": 150},
    )


def judge(a: Tally, b: Tally, corpora: dict[str, CorpusRun | None] | None = None) -> Any:
    return judge_variants(THREE, see(a, b), corpora or {"a": CORPUS, "b": CORPUS})


def test_sessions_of_each_treatment_meet_those_of_the_control(tmp_path: Path) -> None:
    """Two controls and one of each, by hand: every control meets a, and meets b."""
    path = tmp_path / "karat.db"
    start_trial(path, THREE, now=START)
    outcomes = [("control", 1.0), ("a", 0.5), ("b", 0.25), ("control", 0.0), ("a", 1.0), ("control", 0.5)]
    for number, (arm, value) in enumerate(outcomes):
        put(path, ask(f"s{number}", 1, START + number, arm), end(f"s{number}", START + number, value))
    for now in (START + 2 + IDLE, START + 2 * IDLE):  # in two readings: what waits is kept
        collect_trial(path, "rerank", now=now)
    seen = count(path)
    assert seen["difference:Success of a"] == {0.0: 1}, "0.5 - (1 + 0) / 2"
    assert seen["difference:Success of b"] == {-0.25: 1}, "0.25 - (1 + 0) / 2"
    status = look_at_trial(path, "rerank")
    assert (status.samples, status.not_from_log) == (2, 0)
    assert status.logs[0].waiting == {"control": 1, "a": 1, "b": 0}
    assert [(own.treatment, own.measure, own.n) for own in status.measures] == [
        ("a", "Success", 1), ("a", "Found", 1), ("b", "Success", 1), ("b", "Found", 1),
    ]  # fmt: skip


def test_the_best_of_those_that_are_better_graduates() -> None:
    """If its own conditions are met, those of the trial as well, and nothing harms."""
    assert judge(SAME, BETTER).decision is Decision.GRADUATE
    best = judge(BETTER, Tally.from_counts({0.5: 60, 0: 90}))
    assert (best.decision, best.treatment) == (Decision.GRADUATE, "b")
    assert judge(BETTER, WORSE).decision is Decision.HARM
    assert "b: the treatment is worse in Success" in judge(BETTER, WORSE).reason
    only_a = judge(BETTER, BETTER, {"a": CORPUS, "b": None})
    assert (only_a.decision, only_a.treatment) == (Decision.GRADUATE, "a")
    assert judge(BETTER, SAME, {"a": None, "b": CORPUS}).decision is Decision.CONTINUE
    changed = judge_variants(THREE, see(SAME, BETTER), {"a": CORPUS, "b": CORPUS}, None, ["salt"])
    assert (changed.decision, changed.reason.endswith("; not met: flag")) == (Decision.CONTINUE, True)


def test_a_trial_is_given_up_if_every_treatment_is() -> None:
    """One that may still be better keeps it going; a small gain is for a person."""
    none, small = Tally.from_counts({0: 2000}), Tally.from_counts({0.05: 900, 0: 1100})
    assert judge(none, none).decision is Decision.FUTILE
    assert judge(none, Tally.from_counts({0.5: 5, 0: 20})).decision is Decision.CONTINUE
    assert judge(none, small).decision is Decision.BELOW


def test_the_level_is_divided() -> None:
    """What is just enough for one treatment is not for two."""
    tally = next(
        own for n in range(5, 60) if assess(own := Tally.from_counts({0.5: n, 0: 150})).decision is Decision.GRADUATE
    )
    alone = replace(THREE, shares={"control": 1.0, "a": 1.0}, guardrails=())
    seen = Observations(
        differences={"Success": tally},
        latencies={"control": {10.0: 300}, "a": {11.0: 300}},
        units={"control": 300, "a": 300},
    )
    assert judge_variants(alone, seen, {"a": CORPUS}).decision is Decision.GRADUATE
    assert judge(tally, SAME).decision is Decision.CONTINUE


@pytest.mark.slow
def test_useless_treatments_graduate_as_seldom_as_one() -> None:
    """Three of them share a control, and somebody looks after every session: any graduates in less than 5 %."""
    rng = np.random.default_rng(3)
    enough, trials, graduated = np.log(3 / 0.05), 300, 0
    for _ in range(trials):
        control, treatments = rng.random(400) < 0.5, rng.random((3, 400)) < 0.5
        graduated += any(max(trace_log_e(own.astype(float) - control)) >= enough for own in treatments)
    assert graduated / trials < 0.05


def test_a_trial_of_three_from_its_start_to_the_flag(tmp_path: Path) -> None:
    """The flag says the shares; the one that graduates is for everybody, and no override names another one."""
    path = tmp_path / "karat.db"
    overrides = {"tester": "a", "other": "control"}
    change_flag(path, "rerank", {"percent": 50, "variants": {"a": 1, "b": 1}, "overrides": overrides}, **WHO)
    started = run_karat("trial", "start", "rerank", "--store", path, "--source", "sessions", "--measure", "Success",
                        "--must-show", "", "--guardrail", "Found").stdout.decode()  # fmt: skip
    assert "b: Success" in started
    assert not accepts_feature(path, "rerank")
    record_batch(path, "rerank", "monday", see(SAME, BETTER))
    assert accepts_feature(path, "rerank"), "one of both, before a run is recorded"
    with pytest.raises(UsageError, match="measure 'Success' is not in the plan of the trial"):
        record_batch(path, "rerank", "tuesday", Observations(differences={"Success": SAME}))
    with open_store(path, write=True) as store, store.transaction():
        for name in "ab":
            run = (f"run-{name}", "shadow", f"rerank:{name}", 5.0, "g", "s", 10, None, "", "pass", "{}")
            store.add_run(run, [(f"run-{name}", "RR@10", "", 0.8, None, None, 10, "", 0.78, 0.02, 0.01, 1)])
    report = report_trial(path, "rerank")
    (last,) = [own for own in report.status.measures if (own.treatment, own.measure) == ("b", "Success")]
    assert (report.measure, report.points[-1].low) == ("Success of b", last.low), "at the same level"
    outcome = decide_trial(path, "rerank", **WHO)
    assert (outcome.status.status, outcome.status.treatment) == ("graduated", "b")
    flag, _ = read_flags(path)["rerank"]
    assert (flag.percent, dict(flag.variants), dict(flag.overrides)) == (100, {"b": 1}, {"other": "control"})


def test_sources_that_compare_two(tmp_path: Path) -> None:
    """Shadow runs and interleaved lists know a control and a treatment."""
    for source in ("judgments", "interleaving"):
        with pytest.raises(UsageError, match="compares 'control' with one treatment, and not a, b: several need"):
            start_trial(tmp_path / "karat.db", TrialPlan(feature="f", source=source, shares=SHARES))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="should have one of 'control'"):
        start_trial(tmp_path / "karat.db", replace(PLAN, shares={"a": 1.0, "b": 1.0}))
    assert not (tmp_path / "karat.db").exists()
