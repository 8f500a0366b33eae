"""Trials: from their start to a decision, by writers and deciders at once, with every condition of graduation."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from karat.core import InputError, MeasureError, UsageError
from karat.online._times import format_time
from karat.online.flags import change_flag, read_flag_history, read_flags
from karat.online.trials import (
    Observations,
    TrialPlan,
    decide_trial,
    judge_trial,
    list_trials,
    look_at_trial,
    read_transitions,
    record_batch,
    reopen_trial,
    report_trial,
    start_trial,
    stop_trial,
)
from karat.online.trials._judgment import CorpusRun, LogUse
from karat.stats.sequential import Decision, Tally
from karat.store import open_store

WHO: dict[str, Any] = {"author": "ada", "reason": "as planned"}
PLAN = TrialPlan(feature="rerank", guardrails=("R@5",))
BETTER, WORSE, SAME = (Tally.from_counts(counts) for counts in ({0.5: 40, 0: 110}, {-0.5: 40, 0: 110}, {0: 150}))
GOOD = Observations(
    differences={"RR@10": BETTER, "R@5": SAME, "MustShowAll@10": SAME, "unjudged": SAME},
    latencies={"control": {10.0: 150}, "treatment": {11.0: 150}},
    units={"control": 150, "treatment": 150},
)
CORPUS = CorpusRun(run="run-1", outcome="pass", delta=0.02, baseline="main 8cc564a", recorded="2026-11-01")


def change(seen: Observations, **differences: Tally) -> Observations:
    return replace(seen, differences={**seen.differences, **differences})


def unmet(seen: Observations, plan: TrialPlan = PLAN, corpus: CorpusRun | None = CORPUS) -> list[str]:
    """Return the conditions that are not met; then nothing graduates."""
    judged = judge_trial(plan, seen, corpus)
    missing = [condition.name for condition in judged.conditions if not condition.met]
    assert (judged.decision is Decision.GRADUATE) == (not missing)
    return missing


def test_a_better_treatment_graduates_if_every_condition_is_met() -> None:
    """Improvement on the corpus, the test, no drop of must-show documents, latency; and fair, planned evidence."""
    assert unmet(GOOD) == []
    assert judge_trial(PLAN, GOOD, CORPUS).reason == "the treatment is better in RR@10, and every condition is met"


def test_each_condition_alone_is_enough_to_refuse() -> None:
    """Whatever is missing, worse or not measured."""
    assert unmet(GOOD, corpus=None) == ["corpus"]
    assert unmet(GOOD, corpus=replace(CORPUS, delta=0.0)) == ["corpus"]
    assert unmet(GOOD, corpus=replace(CORPUS, delta=None)) == ["corpus"]
    assert unmet(GOOD, corpus=replace(CORPUS, outcome="inconclusive")) == ["corpus"]
    assert unmet(GOOD, replace(PLAN, least=151))[:1] == ["sequential"]
    assert unmet(change(GOOD, **{"MustShowAll@10": Tally.from_counts({-1: 1, 0: 500})})) == ["must-show"]
    assert unmet(change(GOOD, **{"MustShowAll@10": Tally()})) == ["must-show"]
    assert unmet(replace(GOOD, latencies={"control": {10.0: 150}, "treatment": {12.0: 150}})) == ["latency"]
    assert unmet(replace(GOOD, latencies={"control": {10.0: 150}, "treatment": {11.0: 99}})) == ["latency"]
    assert unmet(replace(GOOD, latencies={})) == ["latency"]
    assert unmet(change(GOOD, unjudged=Tally.from_counts({0.2: 50, 0: 100}))) == ["judged"]
    assert unmet(change(GOOD, unjudged=Tally())) == ["judged"]
    assert unmet(GOOD, replace(PLAN, source="clicks")) == ["judged"]
    assert unmet(replace(GOOD, units={"control": 150, "treatment": 300})) == ["sample-ratio"]
    assert unmet(replace(GOOD, units={})) == ["sample-ratio"]
    assert unmet(change(GOOD, **{"R@5": Tally()})) == ["guardrails"]
    one = Tally.from_counts({0: 1})
    assert unmet(change(GOOD, **{"R@5": one, "MustShowAll@10": one})) == ["must-show", "guardrails"], "too few sessions"


def test_a_condition_that_is_not_met_says_what_is_missing() -> None:
    """An improvement, a gate that passes, or differences; never numbers that read as if all were well."""
    detail = lambda **fields: judge_trial(PLAN, GOOD, replace(CORPUS, **fields)).conditions[0].detail  # noqa: E731
    assert detail(delta=0.0).startswith("it has to improve RR@10: +0.0000 in RR@10, pass: run-1 against baseline")
    assert detail(outcome="fail").startswith("its gate has to pass: +0.0200 in RR@10, fail: run-1")
    assert detail(delta=-0.1, outcome="fail").startswith("it has to improve RR@10 and its gate has to pass: -0.1000")
    futile = judge_trial(PLAN, change(GOOD, **{"RR@10": SAME}), CORPUS)
    assert (futile.decision, futile.conditions[1].detail) == (Decision.FUTILE, "futile after 150 differences")
    few = judge_trial(replace(PLAN, least=151), GOOD, CORPUS).conditions[1].detail
    assert few == "graduate after 150 differences; 151 are needed"


def test_a_log_may_lose_one_session_of_a_hundred() -> None:
    """Not more that went on or cannot be read, and shares of the variants within six standard deviations."""
    for fields, met in (
        ({"late": 10}, True),
        ({"late": 11}, False),
        ({"late": 10, "unreadable": 10}, True),
        ({"late": 0, "unreadable": 11}, False),
        ({"late": 0, "skew": 6.0}, True),
        ({"late": 0, "skew": 6.1}, False),
    ):
        judged = judge_trial(PLAN, GOOD, CORPUS, LogUse(over=1000, **fields))  # type: ignore[arg-type]
        assert (judged.conditions[-1].name, judged.conditions[-1].met) == ("log", met)
        assert judged.decision is (Decision.GRADUATE if met else Decision.CONTINUE)


def test_the_corpus_condition_names_the_baseline(path: Path) -> None:
    """By title or name, and day, as the decision has them; a better number than that of an old baseline says little."""
    run = ("run-2", "shadow", "rerank", 6.0, "g", "s", 10, None, "", "pass",
           '{"baseline": {"name": "main", "title": "", "recorded": "2026-11-01"}}')  # fmt: skip
    value = ("run-2", "RR@10", "", 0.8, None, None, 10, "", 0.78, 0.02, 0.01, 1)
    with open_store(path, write=True) as store, store.transaction():
        assert store.add_run(run, [value])
    (detail,) = [own.detail for own in look_at_trial(path, "rerank").conditions if own.name == "corpus"]
    assert detail == "+0.0200 in RR@10, pass: run-2 against baseline main of 2026-11-01"
    nameless = judge_trial(PLAN, GOOD, replace(CORPUS, baseline="", recorded="")).conditions[0].detail
    assert nameless.endswith("run-1 against baseline without a name")


def test_a_report_does_not_speak_of_times_to_come(path: Path) -> None:
    """The hour of what was measured just now is not over: it ends when somebody looks."""
    record_batch(path, "rerank", "monday", GOOD)
    (point,) = report_trial(path, "rerank").points
    assert point.time <= format_time(time.time())


def test_a_flag_that_gives_the_feature_to_nobody_is_refused(path: Path) -> None:
    """Switched on later it would keep the trial from graduating; without a flag the host deals by itself."""
    plan = TrialPlan(feature="idf", source="sessions", measure="Success", must_show="")
    change_flag(path, "idf", {"percent": 50.0, "enabled": False}, author="ada", reason="made")
    with pytest.raises(UsageError, match="is switched off: nobody gets the feature"):
        start_trial(path, plan)
    change_flag(path, "idf", {"percent": 0.0, "enabled": True}, author="ada", reason="emptied")
    with pytest.raises(UsageError, match="has a rollout of 0 %"):
        start_trial(path, plan)
    change_flag(path, "idf", {"percent": 5.0}, author="ada", reason="begun")
    assert start_trial(path, plan).status == "running"
    assert start_trial(path, replace(plan, feature="other")).status == "running"


def test_read_outs_never_decide() -> None:
    """Wald's test, the bootstrap and the posterior all say yes, and the trial goes on: the e-process does not."""
    seen = change(GOOD, **{"RR@10": Tally.from_counts({0.5: 12, -0.5: 3, 0: 135})})
    judged = judge_trial(replace(PLAN, sigma=0.1), seen, CORPUS)
    assert judged.read_out is not None
    assert (judged.read_out.wald_says, judged.decision) == ("graduate", Decision.CONTINUE)
    assert judged.read_out.wald == pytest.approx(0.05 / 0.1**2 * (12 * 0.5 - 3 * 0.5 - 150 * 0.025))
    assert judged.read_out.probability_better > 0.95
    assert judged.read_out.bootstrap_low is not None
    assert judged.read_out.bootstrap_low > 0
    assert judge_trial(PLAN, seen, CORPUS).read_out != judged.read_out
    with pytest.raises(UsageError, match="sigma=0"):
        replace(PLAN, sigma=0)


def test_interleaving_needs_neither_judgments_nor_groups() -> None:
    """People saw both in one list."""
    bare = Observations(differences={"RR@10": BETTER}, latencies=GOOD.latencies)
    assert unmet(bare, replace(PLAN, source="interleaving", guardrails=(), must_show="")) == []


def test_harm_stops_whatever_else_holds() -> None:
    """In the deciding measure, or in a guardrail of a treatment that is better otherwise."""
    for seen, where in ((change(GOOD, **{"RR@10": WORSE}), "RR@10"), (change(GOOD, **{"R@5": WORSE}), "R@5")):
        judged = judge_trial(PLAN, seen, None)
        assert (judged.decision, judged.reason) == (Decision.HARM, f"the treatment is worse in {where}")


def record_improvement(path: Path) -> None:
    """Record a run on the golden set that improved."""
    run = ("run-1", "shadow", "rerank", 5.0, "g", "s", 10, None, "", "pass", "{}")
    value = ("run-1", "RR@10", "", 0.8, None, None, 10, "", 0.78, 0.02, 0.01, 1)
    with open_store(path, write=True) as store, store.transaction():
        assert store.add_run(run, [value])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with a flag, a run that improved, and a trial that runs."""
    path = tmp_path / "karat.db"
    change_flag(path, "rerank", {"percent": 50}, **WHO)
    record_improvement(path)
    start_trial(path, PLAN)
    return path


def test_a_trial_from_its_start_to_its_graduation(path: Path) -> None:
    """Looks are counted, the flag is for everybody, and the transition has its evidence; agent's view shows it."""
    assert decide_trial(path, "rerank", **WHO).transition is None
    assert record_batch(path, "rerank", "monday", GOOD)
    status = look_at_trial(path, "rerank")
    assert (status.decision, status.samples, status.looks, status.status) == ("graduate", 150, 3, "running")
    assert list_trials(path).trials == (status,)
    outcome = decide_trial(path, "rerank", **WHO)
    done = outcome.transition
    assert done is not None
    assert (outcome.exit_code, outcome.status.status, outcome.status.version) == (0, "graduated", 2)
    assert (done.before, done.after, done.version, done.author) == ("running", "graduated", 2, "ada")
    assert done.evidence is not None
    assert (done.evidence.measures, done.evidence.looks) == (status.measures, 4)
    assert read_transitions(path, "rerank") == (done,)
    assert read_flags(path)["rerank"][0].percent == 100
    assert read_flag_history(path, "rerank")[-1].reason.startswith("graduate: the treatment is better in RR@10")
    with pytest.raises(UsageError, match="is graduated, and not running"):
        record_batch(path, "rerank", "tuesday", GOOD)
    with open_store(path) as store:
        (row,) = store._rows("select status, sample_count, graduated_at is not null from eval_ab_tests")
    assert row == ("graduated", 150, 1)


@pytest.mark.parametrize(
    ("tally", "after", "flag"),
    [
        (WORSE, "rejected", {"enabled": False, "percent": 50}),
        (SAME, "rejected", {"enabled": True, "percent": 0}),
        (Tally.from_counts({1 / 6: 30, 0: 220}), "paused", {"enabled": True, "percent": 50}),
    ],
    ids=["harm", "futile", "below"],
)
def test_what_becomes_of_the_flag(path: Path, tally: Tally, after: str, flag: dict[str, object]) -> None:
    """Harm switches it off, futility ends the rollout, and what is too small waits for a person."""
    record_batch(path, "rerank", "monday", Observations(differences={"RR@10": tally}))
    outcome = decide_trial(path, "rerank", **WHO)
    assert (outcome.status.status, outcome.exit_code) == (after, 4 if after == "paused" else 1)
    now = read_flags(path)["rerank"][0]
    assert {name: getattr(now, name) for name in flag} == flag


def test_batches_add_up_once_whoever_sends_them(path: Path) -> None:
    """Four writers send ten batches each, all of them twice: every session counts once."""
    one = Observations(
        differences={"RR@10": Tally.of([0.5, 0, -0.25])},
        latencies={"control": {10.04: 1}, "treatment": {10.03: 1}},
        units={"control": 2, "treatment": 1},
    )

    def send(writer: int) -> int:
        batches = [f"{writer}-{number}" for number in range(10)] * 2
        return sum(record_batch(path, "rerank", batch, one) for batch in batches)

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(send, range(4))) == 40
    with open_store(path) as store:
        seen = Observations.from_series(store.trials.values(1))
    assert seen.tally("RR@10") == Tally.from_counts({0.5: 40, 0: 40, -0.25: 40})
    assert seen.latencies == {"control": {10.0: 40}, "treatment": {10.0: 40}}
    assert seen.units == {"control": 80, "treatment": 40}


def test_of_deciders_at_once_one_decides(path: Path) -> None:
    """Eight decide at the same time: one transition, one change of the flag, and seven are told."""
    record_batch(path, "rerank", "monday", GOOD)
    start = threading.Barrier(8)

    def decide(_: int) -> object:
        start.wait()
        try:
            return decide_trial(path, "rerank", **WHO)
        except UsageError:
            return None

    with ThreadPoolExecutor(8) as pool:
        assert sum(done is not None for done in pool.map(decide, range(8))) == 1
    assert len(read_transitions(path, "rerank")) == 1
    assert len(read_flag_history(path, "rerank")) == 2


KILL = """
import os, signal, sys
from karat.online.trials import decide_trial
from karat.store import TrialTables
move = TrialTables.move
def die(*arguments, **options):
    move(*arguments, **options)
    os.kill(os.getpid(), signal.SIGKILL)
TrialTables.move = die
decide_trial(sys.argv[1], "rerank", author="a", reason="b")
"""


@pytest.mark.sqlite
@pytest.mark.slow
def test_a_process_that_dies_in_a_transition_leaves_the_one_before(path: Path) -> None:
    """Neither the trial nor the flag has moved, and the next one decides."""
    record_batch(path, "rerank", "monday", GOOD)
    process = subprocess.run([sys.executable, "-c", KILL, str(path)], env=dict(os.environ), check=False)
    assert process.returncode == -signal.SIGKILL
    assert look_at_trial(path, "rerank").status == "running"
    assert read_flags(path)["rerank"][0].percent == 50
    assert decide_trial(path, "rerank", **WHO).transition is not None


def test_a_clock_that_goes_backwards_changes_no_order(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Transitions are in the order of versions, and the trial can still be decided."""
    moments = iter([1000.0] * 3 + [500.0] * 3 + [700.0] * 3)
    monkeypatch.setattr("karat.online.trials._trial.time.time", lambda: next(moments))
    stop_trial(path, "rerank", **WHO)
    reopen_trial(path, "rerank", **WHO)
    stop_trial(path, "rerank", **WHO)
    moves = read_transitions(path, "rerank")
    assert [(move.version, move.after) for move in moves] == [(2, "rejected"), (3, "running"), (4, "rejected")]
    assert [move.time for move in moves] != sorted(move.time for move in moves)


def test_decisions_of_people_and_back_again(path: Path) -> None:
    """Stopped, opened again with all that was measured, stopped, and another trial: all of it is written down."""
    record_batch(path, "rerank", "monday", Observations(differences={"RR@10": SAME}))
    with pytest.raises(UsageError, match="is not over"):
        start_trial(path, PLAN)
    assert stop_trial(path, "rerank", author="bob", reason="budget").after == "rejected"
    assert reopen_trial(path, "rerank", author="bob", reason="more budget").evidence is None
    assert look_at_trial(path, "rerank").samples == 150
    stop_trial(path, "rerank", author="bob", reason="no")
    assert [move.after for move in read_transitions(path, "rerank")] == ["rejected", "running", "rejected"]
    with pytest.raises(UsageError, match="is rejected already"):
        stop_trial(path, "rerank", **WHO)
    assert start_trial(path, PLAN).number == 2
    with pytest.raises(UsageError, match="is running"):
        reopen_trial(path, "rerank", **WHO)


def test_what_is_refused(path: Path) -> None:
    """Plans that make no sense, measurements that were not planned, and trials that do not exist."""
    for fields, message in (
        ({"feature": "a b"}, "key 'a b'"),
        ({"source": "click"}, "did you mean 'clicks'"),
        ({"least": 0}, "least=0"),
        ({"measure": "R@5"}, "cannot be a guardrail"),
        ({"latency_ratio": 0.5}, "1 or more"),
        ({"unjudged_margin": 2}, "a share"),
        ({"shares": {"control": 1}}, "two or more variants"),
    ):
        with pytest.raises(UsageError, match=message):
            replace(PLAN, **fields)  # type: ignore[arg-type]
    for unknown in ({"measure": "nDGC@3"}, {"guardrails": ("nDGC@3",)}, {"must_show": "nDGC@3"}):
        with pytest.raises(MeasureError, match="did you mean 'ndcg'"):
            start_trial(path, replace(PLAN, **{"feature": "other", **unknown}))  # type: ignore[arg-type]
    for typed in ("success", "Sucess"):
        with pytest.raises(MeasureError, match="did you mean 'Success'"):
            start_trial(path, TrialPlan(feature="other", source="sessions", measure=typed))
    with pytest.raises(UsageError, match="'RR@5' is not in the plan of the trial"):
        record_batch(path, "rerank", "x", Observations(differences={"RR@5": SAME}))
    with pytest.raises(UsageError, match="variant 'treatmnt' is not in the plan"):
        record_batch(path, "rerank", "x", Observations(units={"treatmnt": 1}))
    with pytest.raises(UsageError, match="both are 0 or more"):
        Observations(latencies={"control": {-1.0: 1}})
    for name in ("", " ", None):
        with pytest.raises(UsageError, match="the batch has no name"):
            record_batch(path, "rerank", name, Observations(differences={PLAN.measure: SAME}))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no trial of 'rerenk', did you mean 'rerank'"):
        look_at_trial(path, "rerenk")
    with pytest.raises(UsageError, match="an author and a reason"):
        stop_trial(path, "rerank", author="", reason="x")


def test_a_count_that_no_store_holds_and_a_variant_that_nobody_planned(path: Path) -> None:
    """Refused before they are added: a trial that cannot be read any more could not even be stopped."""
    start_trial(path, TrialPlan(feature="f"))
    for count in (10_000_001, 2**63 - 1, 10**30):
        cases: list[dict[str, Any]] = [
            {"differences": {"RR@10": Tally.from_counts({0.5: count})}},
            {"units": {"control": count}},
            {"latencies": {"control": {1.0: count}}},
        ]
        for fields in cases:
            with pytest.raises(UsageError, match="too large; record batches of up to 10,000,000"):
                record_batch(path, "f", "huge", Observations(**fields))
    with pytest.raises(
        UsageError, match="variant 'treatmnet' is not in the plan of the trial, did you mean 'treatment'"
    ):
        record_batch(path, "f", "typo", Observations(latencies={"treatmnet": {1.0: 500}}))
    assert look_at_trial(path, "f").samples == 0


def test_every_planned_variant_needs_its_latency() -> None:
    """One of which nothing was measured is not as quick as the other."""
    plan = TrialPlan(feature="f", shares={"control": 1, "a": 1, "b": 1})
    seen = Observations(latencies={"control": {10.0: 200}, "a": {10.0: 200}})
    (latency,) = [own for own in judge_trial(plan, seen).conditions if own.name == "latency"]
    assert not latency.met


def test_a_mistyped_store_is_not_made(tmp_path: Path) -> None:
    """To look for a trial, or to end one, makes no store, which would be healthy ever after."""
    path = tmp_path / "typo" / "karat.db"
    calls: list[Callable[[], object]] = [
        lambda: look_at_trial(path, "f"),
        lambda: report_trial(path, "f"),
        lambda: decide_trial(path, "f", author="ada"),
        lambda: stop_trial(path, "f", author="ada", reason="test"),
        lambda: reopen_trial(path, "f", author="ada", reason="test"),
        lambda: record_batch(path, "f", "1", Observations()),
    ]
    for call in calls:
        with pytest.raises(InputError, match="no such store"):
            call()
    assert list(tmp_path.iterdir()) == []
