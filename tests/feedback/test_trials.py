"""Trials from the log: every session that is over counts once, for what it came to, whoever reads it and when."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from feedback.trial_records import GOLDEN, IDLE, PLAN, START, WHO, Record, ask, count, end, put
from karat.core import SystemFailed, UsageError
from karat.feedback.trials import collect_trial
from karat.feedback.trials._blocks import find_ratio, find_skew
from karat.online import LoggedEvent
from karat.online.flags import change_flag
from karat.online.trials import (
    Observations,
    TrialPlan,
    look_at_trial,
    read_transitions,
    record_batch,
    start_trial,
    stop_trial,
)
from karat.stats.sequential import Tally


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "karat.db"
    start_trial(path, PLAN, now=START)
    return path


def test_sessions_are_compared_in_pairs_by_what_they_came_to(path: Path) -> None:
    """Outcome of the task, units and latencies by variant; by hand."""
    put(
        path,
        ask("s1", 1, START + 1, "control", latency=10.0), end("s1", START + 9, 0.25),
        ask("s2", 1, START + 2, latency=20.0), end("s2", START + 5, 0.0), end("s2", START + 10, 1.0),
        ask("s3", 1, START + 3, latency=30.0), end("s3", START + 11, 0.5),
        ask("s4", 1, START + 4, "control"), end("s4", START + 12, 1.0),
        ask("s5", 1, START + 5, "control"), end("s5", START + 13, 1.0),
        ask("none", 1, START + 5, attributes={}),
    )  # fmt: skip
    seen = collect_trial(path, "rerank", now=START + 13 + IDLE)
    assert (seen.sessions, seen.open, seen.late, dict(seen.differences)) == (5, 0, 0, {"Success": 2})
    assert count(path) == {
        "difference:Success": {0.75: 1, -0.5: 1},  # 1 - 0.25; 0.5 - 1
        "latency:control": {10.0: 1},
        "latency:treatment": {20.0: 1, 30.0: 1},
        "origin:log": {0.0: 2},
        "units:control": {0.0: 3},
        "units:treatment": {0.0: 2},
    }
    status = look_at_trial(path, "rerank")
    assert (status.samples, status.not_from_log, status.logs[0].waiting) == (2, 0, {"control": 1, "treatment": 0})
    assert status.logs[0].until == "2023-11-14T22:43:33.000000Z"


def test_a_session_is_over_after_a_pause(path: Path) -> None:
    """One that may go on waits; who comes back later, or began before the trial, is not counted again."""
    put(path, ask("early", 1, START - 1), ask("early", 2, START + 1), ask("s1", 1, START + 1), ask("s2", 1, START + 50))
    seen = collect_trial(path, "rerank", now=START + 1 + IDLE)
    assert (seen.sessions, seen.open) == (1, 1)
    put(path, ask("s1", 2, START + 3 * IDLE, error="broke"), end("s1", START + 3 * IDLE, 0.0))
    seen = collect_trial(path, "rerank", now=START + 10 * IDLE)
    assert (seen.sessions, seen.open, seen.late) == (1, 0, 0), "s2; s1 came back after a pause"
    assert count(path)["units:treatment"] == {0.0: 2}
    (log,) = look_at_trial(path, "rerank").logs
    assert (log.over, log.before, log.late) == (2, 1, 0)


def test_what_arrives_late_is_told_or_counted(path: Path) -> None:
    """More of a session that was measured is left out, and told; a whole session that arrives late counts."""
    put(path, ask("s1", 1, START + 1))
    collect_trial(path, "rerank", now=START + 5 * IDLE)
    put(path, end("s1", START + 9, 0.0), ask("host2", 1, START + 2, "control"), end("host2", START + 3, 1.0))
    seen = collect_trial(path, "rerank", now=START + 5 * IDLE)
    assert (seen.sessions, seen.late) == (1, 1)
    again = collect_trial(path, "rerank", now=START + 6 * IDLE)
    assert (again.sessions, again.late) == (0, 0)
    assert count(path)["difference:Success"] == {-1.0: 1}, "nothing was used in s1 when it was measured"
    status = look_at_trial(path, "rerank")
    (condition,) = [own for own in status.conditions if own.name == "log"]
    assert (condition.met, condition.detail) == (False, "1 of 2 sessions went on after they were measured")


def simulate(seed: int, sessions: int = 150, host: str = "s") -> list[list[Record]]:
    """Return the records of sessions that overlap in time, some with long pauses, each session in a list."""
    rng = random.Random(seed)
    listed: list[list[Record]] = []
    for number in range(sessions):
        name, time = f"{host}{number}", START + rng.uniform(0, 40 * IDLE)
        records: list[Record] = []
        for place in range(rng.choice([1, 2, 3])):
            records.append(ask(name, place, time, rng.choice(["control", "treatment"]) if not place else "control"))
            time += rng.choice([30.0, 300.0, 1.2 * IDLE])
        records.append(end(name, time, rng.choice([0.0, 0.5, 1.0])))
        listed.append(records)
    return listed


def read_in_steps(path: Path, records: Sequence[Record], steps: int) -> dict[str, dict[float, int]]:
    """Let records arrive in the order of time, and read the log at every step."""
    start_trial(path, PLAN, now=START)
    ordered = sorted(records, key=lambda own: own.time)
    last = ordered[-1].time + IDLE + 1
    for step in range(1, steps + 1):
        now = START + (last - START) * step / steps
        put(path, *(own for own in ordered if own.time <= now))  # what is there already is not put in again
        collect_trial(path, "rerank", now=now)
    return count(path)


@pytest.mark.slow
def test_it_does_not_matter_when_and_how_often_the_log_is_read(tmp_path: Path) -> None:
    """Once at the end, or at 23 times: the same sessions, the same pairs, the same counts; as an oracle counts them."""
    sessions = simulate(3)
    records = [own for session in sessions for own in session]
    at_once = read_in_steps(tmp_path / "a.db", records, 1)
    assert at_once == read_in_steps(tmp_path / "b.db", records, 23)
    assert at_once["difference:Success"] == pair_by_hand(sessions)
    assert sum(at_once["difference:Success"].values()) > 50


def pair_by_hand(sessions: Sequence[Sequence[Any]]) -> dict[float, int]:
    """Return how often each difference occurs, by another way: values of both variants in the order of their ends."""
    ended: dict[str, list[tuple[float, float]]] = {"control": [], "treatment": []}
    for records in sessions:
        times = [own.time for own in records]
        stop = next((n for n in range(1, len(times)) if times[n] - times[n - 1] > IDLE), len(times))
        outcome = records[-1].value if stop == len(times) else 0.0  # nobody had read anything before the pause
        ended[records[0].flags["rerank"]].append((times[stop - 1], outcome))
    ranked = {name: [value for _, value in sorted(own)] for name, own in ended.items()}
    differences = [new - old for old, new in zip(ranked["control"], ranked["treatment"], strict=False)]
    return {value: differences.count(value) for value in sorted(set(differences))}


def test_any_number_of_readers_and_logs_add_up_once(tmp_path: Path) -> None:
    """Four processes read two logs at once, again and again: every session counts once."""
    path, other = tmp_path / "karat.db", tmp_path / "host2.db"
    start_trial(path, PLAN, now=START)
    for place, log in enumerate((path, other)):
        own = [record for session in simulate(place, 30, f"host{place}-") for record in session]
        put(log, *own)
    now = START + 100 * IDLE

    def read(turn: int) -> int:
        return collect_trial(path, "rerank", log=(path, other)[turn % 2], now=now).sessions

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(read, range(12))) == 60
    units = {name: sum(own.values()) for name, own in count(path).items() if name.startswith("units")}
    assert sum(units.values()) == 60
    assert [log.over for log in look_at_trial(path, "rerank").logs] == [30, 30]


def test_a_clock_that_goes_backwards_loses_and_repeats_nothing(path: Path) -> None:
    """A reading at an earlier time than the last one finds nothing new; the next one goes on."""
    put(path, ask("s1", 1, START + 1), ask("s2", 1, START + IDLE))
    assert collect_trial(path, "rerank", now=START + 1 + IDLE).sessions == 1
    assert collect_trial(path, "rerank", now=START - 500).sessions == 0
    assert collect_trial(path, "rerank", now=START + 2 * IDLE).sessions == 1


def test_a_reader_that_dies_leaves_nothing_half_done(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How far the log was read and what was measured are written together: the next one counts everything, once."""
    put(path, ask("c", 1, START, "control"), ask("t", 1, START))
    with monkeypatch.context() as patch:

        def die(*_: object) -> bool:
            raise KeyboardInterrupt

        patch.setattr("karat.store.TrialTables.add_batch", die)
        with pytest.raises(KeyboardInterrupt):
            collect_trial(path, "rerank", now=START + 3 * IDLE)
    assert count(path) == {}
    assert look_at_trial(path, "rerank").logs == ()
    assert collect_trial(path, "rerank", now=START + 3 * IDLE).sessions == 2


def test_others_that_read_all_the_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is never the first gives up with one message, and nothing is counted twice."""
    put(path, ask("c", 1, START, "control"))
    monkeypatch.setattr("karat.store.TrialTables.set_log", lambda *_: False)
    with pytest.raises(SystemFailed, match="others read the same log"):
        collect_trial(path, "rerank", now=START + 3 * IDLE)
    assert count(path) == {}


def test_a_session_with_two_variants_counts_for_the_first(path: Path) -> None:
    """The flag was changed while it went on: it is told, and not moved to where it looks better."""
    put(path, ask("s1", 1, START + 1), ask("s1", 2, START + 2, "control"), end("s1", START + 3, 1.0))
    put(path, ask("s2", 1, START + 1, "typo"))
    collect_trial(path, "rerank", now=START + 2 * IDLE)
    (log,) = look_at_trial(path, "rerank").logs
    assert (log.mixed, log.unreadable) == (1, 1)
    assert count(path)["units:treatment"] == {0.0: 1}


def test_planned_shares_are_those_of_the_flag(tmp_path: Path) -> None:
    """Of a flag at 20 %, a block has four controls and one treatment, and that is the ratio that is checked."""
    path = tmp_path / "karat.db"
    change_flag(path, "rerank", {"percent": 20}, **WHO)
    start_trial(path, PLAN, now=START)
    for number in range(50):
        arm, value = ("treatment", 1.0) if number % 5 == 0 else ("control", number % 5 / 4)
        records = ask(f"s{number}", 1, START + number, arm), end(f"s{number}", START + number + 0.5, value)
        put(path, *records)
    collect_trial(path, "rerank", now=START + 5 * IDLE)
    assert count(path)["difference:Success"] == {0.375: 10}, "1 - (0.25 + 0.5 + 0.75 + 1) / 4"
    (ratio,) = [own for own in look_at_trial(path, "rerank").conditions if own.name == "sample-ratio"]
    assert (ratio.met, ratio.detail) == (True, "p = 1 for 50 units")
    assert (find_ratio(80, 20), find_ratio(1, 3), find_ratio(0.01, 99.99)) == ((4, 1), (1, 3), (1, 100))


def test_a_latency_below_zero_is_not_measured(tmp_path: Path) -> None:
    """A clock was set back meanwhile: it neither counts as quick, nor keeps the trial from being measured."""
    path = tmp_path / "karat.db"
    start_trial(path, TrialPlan(feature="rerank", source="sessions", measure="InTime@500", must_show="", idle=IDLE),
                now=START)  # fmt: skip
    put(path, ask("s1", 1, START + 1, "control", latency=10.0), ask("s2", 1, START + 2, latency=-5.0),
        ask("s2", 2, START + 3, latency=900.0), ask("s3", 1, START + 4, latency=-5.0))  # fmt: skip
    collect_trial(path, "rerank", now=START + 2 * IDLE)
    assert count(path)["difference:InTime@500"] == {-1.0: 1}
    assert count(path)["latency:treatment"] == {900.0: 1}


@pytest.mark.slow
def test_a_flag_that_is_changed_on_the_way_decides_nothing(path: Path) -> None:
    """80 %, then 20 %: as many sessions of either in the end, but the treatment had the better week."""
    rng = random.Random(1)
    records: list[Record] = []
    for number in range(1200):
        early = number < 600
        arm = "treatment" if rng.random() < (0.8 if early else 0.2) else "control"
        time = START + number
        records += [ask(f"s{number}", 1, time, arm), end(f"s{number}", time, float(rng.random() < 0.3 + 0.4 * early))]
    put(path, *records)
    for now in (START + 300 + IDLE, START + 2 * IDLE + 600):
        collect_trial(path, "rerank", now=now)
    status = look_at_trial(path, "rerank")
    met = {own.name: own.met for own in status.conditions}
    assert (status.measures[0].decision, met["sample-ratio"]) == ("graduate", True), "neither of them can tell"
    assert not met["log"]
    (detail,) = [own.detail for own in status.conditions if own.name == "log"]
    assert "14 standard deviations off for a while" in detail


@pytest.mark.slow
def test_chance_alone_is_no_skew() -> None:
    """Twenty logs of ten thousand sessions each, dealt as planned, at two shares."""
    rng = random.Random(2)
    for shares in ({"control": 1.0, "treatment": 1.0}, {"control": 99.0, "treatment": 1.0}):
        names, weights = list(shares), list(shares.values())
        assert max(find_skew(rng.choices(names, weights, k=10_000), shares, {})[1] for _ in range(20)) < 6


def test_units_that_are_lost_are_found(path: Path) -> None:
    """A treatment that loses a third of its sessions looks good in the rest: the sample ratio says so."""
    arms = {number: "treatment" if number % 2 else "control" for number in range(600) if number % 6 != 1}
    put(path, *(ask(f"s{number}", 1, START + number, arm) for number, arm in arms.items()))
    collect_trial(path, "rerank", now=START + 5 * IDLE)
    (ratio,) = [own for own in look_at_trial(path, "rerank").conditions if own.name == "sample-ratio"]
    assert not ratio.met


def test_every_measure_of_behaviour(tmp_path: Path) -> None:
    """By hand: one session of each variant, and the differences in all measures at once."""
    path = tmp_path / "karat.db"
    guardrails = ("ClickRR", "Found", "AskedOnce", "InTime@100")
    start_trial(path, TrialPlan(feature="rerank", source="sessions", measure="Success", guardrails=guardrails,
                                must_show="", idle=IDLE), now=START)  # fmt: skip
    put(
        path,
        ask("c", 1, START, "control", latency=90.0, text="wifi"),
        LoggedEvent("r1", START + 1, "read_after_search", session="c", query="c-1", document="b", rank=2),
        ask("c", 2, START + 2, "control", latency=200.0, text="wifi password", hits=()),
        LoggedEvent("r2", START + 3, "re_search", session="c", query="c-1"),
        ask("t", 1, START, latency=50.0),
        LoggedEvent("r3", START + 1, "read_after_search", session="t", query="t-1", document="a", rank=1),
    )
    collect_trial(path, "rerank", now=START + 5 * IDLE)
    seen = {name.removeprefix("difference:"): own for name, own in count(path).items() if "difference" in name}
    assert seen == {
        "Success": {1.0: 1},  # the last query of c found nothing
        "ClickRR": {0.75: 1},  # 1 - (1/2 + 0) / 2
        "Found": {0.5: 1},
        "AskedOnce": {0.5: 1},
        "InTime@100": {0.5: 1},
    }


def test_what_a_file_says_is_not_from_the_log(path: Path) -> None:
    """The status counts it, and the evidence of a decision keeps it."""
    put(path, ask("c", 1, START, "control"), ask("t", 1, START))
    collect_trial(path, "rerank", now=START + 3 * IDLE)
    record_batch(path, "rerank", "by hand", Observations(differences={"Success": Tally.of([0.5] * 9)}))
    status = look_at_trial(path, "rerank")
    assert (status.samples, status.not_from_log) == (10, 9)
    stop_trial(path, "rerank", **WHO)
    (done,) = read_transitions(path, "rerank")
    assert done.evidence is not None
    assert done.evidence.not_from_log == 9
    with pytest.raises(UsageError, match="is rejected, and not running"):
        collect_trial(path, "rerank")


def test_what_is_refused(tmp_path: Path) -> None:
    """Sources and plans that a log cannot serve, and ids that are those of logs."""
    path = tmp_path / "karat.db"
    start_trial(path, TrialPlan(feature="a", source="clicks"))
    with pytest.raises(UsageError, match="unfair to what was not in it"):
        collect_trial(path, "a", golden=GOLDEN)
    start_trial(path, TrialPlan(feature="b", source="sessions", measure="Success"))
    with pytest.raises(UsageError, match="begin with 'log:'"):
        record_batch(path, "b", "log:1", Observations())
    with pytest.raises(UsageError, match="it needs the source 'sessions'"):
        start_trial(path, TrialPlan(feature="c", measure="Success"))
    with pytest.raises(UsageError, match="idle=0"):
        TrialPlan(feature="c", idle=0)


def test_clicks_alone_are_not_enough() -> None:
    """A trial that decides by clicks needs something beside them that junk cannot win."""
    from karat.online.trials import judge_trial

    def is_judged(**fields: Any) -> bool:
        plan = TrialPlan(feature="a", source="sessions", **fields)
        return {own.name: own.met for own in judge_trial(plan, Observations()).conditions}["judged"]

    assert not is_judged(measure="ClickRR", guardrails=("Found",))
    assert is_judged(measure="ClickRR", guardrails=("Success",))
    assert is_judged(measure="ClickRR", guardrails=("nDCG@10",))
    assert is_judged(measure="Success")
    assert not is_judged(measure="RR@10"), "nobody measured what has no judgment"
