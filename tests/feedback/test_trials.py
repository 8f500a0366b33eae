"""Trials from the log: every session that is over counts once, for what it came to, whoever reads it and when."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from karat import online
from karat.core import GoldenSet, InputError, Judgment, Query, SystemFailed, Target, UsageError
from karat.feedback.trials import collect_trial, plan_from_log
from karat.feedback.trials._blocks import find_ratio, find_skew
from karat.online import LoggedEvent, LoggedHit, LoggedQuery
from karat.online._shadow_records import LoggedShadow
from karat.online._stored import event_row, query_row, shadow_row
from karat.online.flags import change_flag
from karat.online.interleaving import interleave, log_interleaved
from karat.online.trials import (
    Observations,
    TrialPlan,
    look_at_trial,
    read_transitions,
    record_batch,
    start_trial,
    stop_trial,
)
from karat.schema.trials import TrialForecast
from karat.stats.sequential import StoppingRule, Tally, plan_sessions
from karat.store import open_store

START, IDLE, HOUR = 1_000_000.0, 1800.0, 3600.0
WHO: dict[str, Any] = {"author": "ada", "reason": "test"}
PLAN = TrialPlan(feature="rerank", source="sessions", measure="Success", must_show="", idle=IDLE)
Record = LoggedQuery | LoggedEvent | LoggedShadow


def ask(session: str, number: int, time: float, arm: str = "treatment", **fields: Any) -> LoggedQuery:
    hits = fields.pop("hits", ("a", "b", "c"))
    return LoggedQuery(
        f"{session}-{number}", time, fields.pop("text", "wifi"), session=session,
        hits=tuple(LoggedHit(name, rank) for rank, name in enumerate(hits, 1)), count=len(hits),
        flags={} if "attributes" in fields else {"rerank": arm}, **fields,
    )  # fmt: skip


def end(session: str, time: float, value: float) -> LoggedEvent:
    return LoggedEvent(f"{session}-end-{time}", time, "task_outcome", session=session, value=value)


def put(path: Path, *records: Record) -> None:
    with open_store(path, write=True) as store, store.transaction():
        store.add_queries([query_row(own) for own in records if isinstance(own, LoggedQuery)])
        store.add_events([event_row(own) for own in records if isinstance(own, LoggedEvent)])
        store.add_shadow_runs([shadow_row(own) for own in records if isinstance(own, LoggedShadow)])


def count(path: Path) -> dict[str, dict[float, int]]:
    with open_store(path) as store:
        return store.trials.values(1)


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
        ask("s4", 1, START + 4, "control"), end("s4", START + 12, 7.0),
        ask("s5", 1, START + 5, "control"), end("s5", START + 13, 1.0),
        ask("none", 1, START + 5, attributes={}),
    )  # fmt: skip
    seen = collect_trial(path, "rerank", now=START + 13 + IDLE)
    assert (seen.sessions, seen.open, seen.late, dict(seen.differences)) == (5, 0, 0, {"Success": 2})
    assert count(path) == {
        "difference:Success": {0.75: 1, -0.5: 1},  # 1 - 0.25; 0.5 - 1, for an outcome is at most 1
        "latency:control": {10.0: 1},
        "latency:treatment": {20.0: 1, 30.0: 1},
        "origin:log": {0.0: 2},
        "units:control": {0.0: 3},
        "units:treatment": {0.0: 2},
    }
    status = look_at_trial(path, "rerank")
    assert (status.samples, status.not_from_log, status.logs[0].waiting) == (2, 0, {"control": 1, "treatment": 0})
    assert status.logs[0].until == "1970-01-12T14:16:53.000000Z"


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


GOLDEN = GoldenSet(
    name="small",
    queries=(Query(id="q1", text="wifi", must_show=("a",)),),
    judgments=(
        Judgment(query="q1", target=Target(document="a"), grade=3),
        Judgment(query="q1", target=Target(document="b"), grade=0),
    ),
)


def test_interleaved_lists_from_the_log(tmp_path: Path) -> None:
    """Through a real log: choices by session, both rankings by judgments, latencies of each system."""
    path = tmp_path / "karat.db"
    plan = TrialPlan(feature="rerank", source="interleaving", guardrails=("RR@10",), measure="choices", idle=IDLE)
    start_trial(path, plan, now=START)
    rankings = {"control": ["b", "c", "a"], "treatment": ["a", "b", "c"]}
    with online.open(path) as log:
        for number in range(20):
            shown = interleave(rankings, session=f"s{number}", query="wifi")
            with log.session(f"s{number}"):
                asked = log.query("wifi")
                log_interleaved(asked, "rerank", shown, rankings, {"control": 10.0, "treatment": 12.0})
                asked.finish(time=START + number, latency=14.0)
                log.feedback("read_after_search", document="a", query=asked.id, time=START + number + 1)
    collect_trial(path, "rerank", golden=GOLDEN, now=START + 3 * IDLE)
    seen = count(path)
    wins = [interleave(rankings, session=f"s{number}", query="wifi").credit(["a"]) for number in range(20)]
    assert seen["difference:choices"] == {1.0: sum(own["treatment"] for own in wins)}
    assert seen["difference:RR@10"] == {0.666666667: 20}
    assert seen["difference:MustShowAll@10"] == {0.0: 20}
    assert seen["latency:treatment"] == {12.0: 20}
    assert {own.name: own.met for own in look_at_trial(path, "rerank").conditions}["judged"]


def test_a_document_that_was_called_useless_earns_nothing(tmp_path: Path) -> None:
    """Junk that is clicked and then refused is no choice; teams that do not fit the list are left out."""
    path = tmp_path / "karat.db"
    start_trial(path, TrialPlan(feature="rerank", source="interleaving", measure="choices", must_show="", idle=IDLE),
                now=START)  # fmt: skip
    fits = {"teams": {"rerank": ["treatment", "control", None]}}
    put(
        path,
        ask("s1", 1, START, attributes=fits),
        LoggedEvent("e1", START + 1, "read_after_search", session="s1", query="s1-1", document="a"),
        LoggedEvent("e2", START + 2, "validate_not_useful", session="s1", query="s1-1", document="a"),
        LoggedEvent("e3", START + 3, "read_after_search", session="s1", query="s1-1", document="b"),
        ask("s2", 1, START, attributes={"teams": {"rerank": ["treatment"]}}),
        ask("s3", 1, START, attributes={"teams": {"rerank": ["typo", "control", None]}}),
    )
    collect_trial(path, "rerank", now=START + 3 * IDLE)
    assert count(path)["difference:choices"] == {-1.0: 1}
    status = look_at_trial(path, "rerank")
    assert status.logs[0].unreadable == 2
    (condition,) = [own for own in status.conditions if own.name == "log"]
    assert (condition.met, condition.detail) == (
        False, "0 of 1 sessions went on after they were measured; 2 more could not be read"
    )  # fmt: skip


def test_a_longer_list_earns_nothing_by_its_length(tmp_path: Path) -> None:
    """Who reads any document, whatever it is, prefers neither system, though the treatment shows twice as many."""
    path = tmp_path / "karat.db"
    plan = TrialPlan(feature="rerank", source="interleaving", measure="choices", must_show="", idle=IDLE)
    start_trial(path, plan, now=START)
    rng = random.Random(1)
    lists = {"disjoint": list("pqrstuvwxy"), "the same and more": list("bcaed") + list("vwxyz"), "same": list("ecadb")}
    for text, new in lists.items():
        rankings = {"control": list("abcde"), "treatment": new}
        for number in range(400):
            name = f"{text}{number}"
            shown = interleave(rankings, session=name, query=text)
            noted: dict[str, Any] = {"attributes": {"teams": {"rerank": list(shown.teams)}}}
            channels = {system: tuple(own) for system, own in rankings.items()}
            put(
                path,
                ask(name, 1, START + 1, text=text, hits=shown.documents, channels=channels, **noted),
                LoggedEvent(
                    f"{name}-r", START + 2, "read_after_search", session=name, document=rng.choice(shown.documents)
                ),
            )
    collect_trial(path, "rerank", now=START + 2 * IDLE)
    values = count(path)["difference:choices"]
    mean = sum(value * number for value, number in values.items()) / 1200
    assert abs(mean) < 3 / 1200**0.5


def test_a_treatment_that_finds_nothing_loses_what_people_choose(tmp_path: Path) -> None:
    """A list of the control alone still counts for it; one of the treatment alone counts for nobody."""
    path = tmp_path / "karat.db"
    plan = TrialPlan(feature="rerank", source="interleaving", measure="choices", must_show="", idle=IDLE)
    start_trial(path, plan, now=START)
    for number, (team, other) in enumerate((("control", "treatment"), ("treatment", "control"))):
        noted: dict[str, Any] = {"attributes": {"teams": {"rerank": [team] * 3}}}
        put(
            path,
            ask(f"s{number}", 1, START + 1, channels={team: ("a", "b", "c"), other: ()}, **noted),
            LoggedEvent(f"r{number}", START + 2, "read_after_search", session=f"s{number}", document="b"),
        )
    collect_trial(path, "rerank", now=START + 2 * IDLE)
    assert count(path)["difference:choices"] == {-1.0: 1, 0.0: 1}


def test_shadow_runs_from_the_log(tmp_path: Path) -> None:
    """Both lists by judgments, one difference a session; a treatment that failed has returned nothing."""
    path = tmp_path / "karat.db"
    plan = TrialPlan(feature="rerank", measure="RR@10", idle=IDLE)
    start_trial(path, plan, now=START)

    def run(number: int, session: str, **fields: Any) -> LoggedShadow:
        fields = {"control": ("b", "a"), "treatment": ("a", "x"), "text": "wifi", **fields}
        latencies = {"control_latency": 10.0, "treatment_latency": 11.0}
        return LoggedShadow(f"r{number}", START + number, "rerank", session=session, **latencies, **fields)

    put(
        path,
        run(1, "s1"), run(2, "s1", treatment=(), status="timeout"),
        run(3, "s2"), run(4, "s2", status="queue full"), run(5, "s3", text="not judged"),
        run(6, "s4", treatment=(), status="breaker open"),
    )  # fmt: skip
    with pytest.raises(UsageError, match=r"RR@10 is measured by judgments: name the golden set"):
        collect_trial(path, "rerank", now=START + 3 * IDLE)
    collect_trial(path, "rerank", golden=GOLDEN, now=START + 3 * IDLE)
    seen = count(path)
    assert seen["difference:RR@10"] == {0.0: 1, 0.5: 1, -0.5: 1}  # s1: (1 - 1/2 + 0 - 1/2) / 2
    assert seen["difference:unjudged"] == {0.25: 1, 0.5: 1, 0.0: 1}
    assert seen["units:control"] == seen["units:treatment"]
    assert seen["latency:treatment"] == {11.0: 4}  # not of the call that failed, which may take no time


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


def forecast(path: Path, **fields: Any) -> TrialForecast:
    plan = TrialPlan(**{"feature": "rerank", "must_show": "", "idle": IDLE, **fields})
    return plan_from_log(path, plan, golden=GOLDEN, most=2000)


def test_a_plan_by_replay_of_earlier_sessions(tmp_path: Path) -> None:
    """Half of them succeeded: a pair of sessions differs by 1 half of the time, as the true distribution says."""
    path = tmp_path / "karat.db"
    with pytest.raises(InputError, match="no such store"):
        forecast(path, source="sessions", measure="Success")
    put(path, *(own for n in range(1000) for own in (ask(f"s{n}", 1, START + n), end(f"s{n}", START + n, n % 2))))
    plan = forecast(path, source="sessions", measure="Success", rule=StoppingRule(effect=0.2))
    assert plan.sessions > 400
    assert plan.replayed == pytest.approx(0, abs=4 * plan.sd / plan.sessions**0.5), "both variants are the same system"
    rng = np.random.default_rng(1)
    known = plan_sessions(Tally.from_counts({-1: 250, 0: 500, 1: 250}), 0.2, rng=rng, most=2000)
    assert known.most_of_them is not None
    assert plan.most_of_them == pytest.approx(known.most_of_them, rel=0.25)
    later = forecast(path, source="sessions", measure="Success", rule=StoppingRule(effect=0.1)).most_of_them
    assert later is None or later > 2 * known.most_of_them


def test_a_plan_by_replay_of_both_systems(tmp_path: Path) -> None:
    """By judgments, and by what people read after the same query: a better list is ahead in the replay, too."""
    path = tmp_path / "karat.db"
    lists = {"control": ("b", "c", "a"), "treatment": ("a", "b", "c")}
    put(path, *(LoggedShadow(f"r{n}", START + n, "rerank", "wifi", session=f"s{n}", **lists) for n in range(40)))
    judged = forecast(path, measure="RR@10")
    assert (judged.sessions, judged.replayed, judged.source) == (40, 0.666666667, "judgments")
    with pytest.raises(UsageError, match="never graduates"):
        forecast(path, source="clicks")
    for number in range(60):  # a is read twice as often as b
        read = ("a", "a", "b")[number % 3]
        event = LoggedEvent(f"e{number}", START, "read_after_search", session=f"p{number}", document=read)
        put(path, ask(f"p{number}", 1, START, attributes={}), event)
    chosen = forecast(path, source="interleaving", measure="choices")
    assert chosen.sessions == 40
    assert chosen.replayed is not None
    assert chosen.replayed > 0.1
    with pytest.raises(InputError, match="no sessions that tell anything about choices"):
        forecast(path, feature="other", source="interleaving", measure="choices")


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
