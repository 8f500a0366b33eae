"""What must not slip into a trial unseen: sessions of two logs, a flag that deals anew, a robot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from feedback.trial_records import IDLE, PLAN, START, WHO, ask, count, end, put
from karat import online
from karat.cli._trial_text import collected_text
from karat.feedback.trials import collect_trial
from karat.online.flags import change_flag
from karat.online.trials import TrialPlan, decide_trial, look_at_trial, reopen_trial, start_trial, stop_trial
from karat.schema.trials import TrialStatus
from karat.store import open_store

AS_BEFORE = {"percent": 50.0, "salt": "", "overrides": {}, "enabled": True, "variants": {"treatment": 1}}
LATER = START + 10 * IDLE


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "karat.db"
    start_trial(path, PLAN, now=START)
    return path


def find_condition(status: TrialStatus, name: str) -> tuple[bool, str]:
    (condition,) = [own for own in status.conditions if own.name == name]
    return condition.met, condition.detail


def make_sessions(number: int) -> list[Any]:
    """Return sessions of both variants, each with a query and an outcome."""
    sessions = []
    for place in range(number):
        name, arm = f"s{place}", ("control", "treatment")[place % 2]
        sessions += [ask(name, 1, START + place, arm), end(name, START + place + 0.5, float(place % 3 == 0))]
    return sessions


def test_the_same_records_in_two_logs_count_once(path: Path, tmp_path: Path) -> None:
    """A log that was exported and imported elsewhere is a copy: every session of it is told, and left out."""
    records, copy = make_sessions(40), tmp_path / "copy.db"
    put(path, *records[:40])
    put(copy, *records)
    assert collect_trial(path, "rerank", now=LATER).sessions == 20
    before = count(path)
    seen = collect_trial(path, "rerank", log=copy, now=LATER)
    assert (seen.sessions, seen.repeated, seen.late) == (20, 20, 0), "the copy has twenty that are new"
    again = collect_trial(path, "rerank", log=copy, now=LATER + IDLE)
    assert (again.sessions, again.repeated) == (0, 0)
    assert count(path)["units:control"] == {0.0: 20}
    assert sum(before["difference:Success"].values()) * 2 == sum(count(path)["difference:Success"].values())
    status = look_at_trial(path, "rerank")
    assert sorted((log.over, log.repeated) for log in status.logs) == [(20, 0), (20, 20)]
    assert find_condition(status, "log") == (True, "0 of 40 sessions went on after they were measured")


def test_an_outcome_that_is_not_from_0_to_1_is_left_out_and_nothing_graduates(path: Path) -> None:
    """By hand: of six sessions two end with 7 or -1, old records; they were cut to 1 and to 0 before."""
    put(path, *make_sessions(4))
    put(path, ask("x", 1, START + 5, "treatment"), end("x", START + 6, 1.0), end("x", START + 7, 7.0))
    put(path, ask("y", 1, START + 5, "control"), end("y", START + 6, -1.0))
    seen = collect_trial(path, "rerank", now=LATER)
    assert (seen.sessions, seen.unreadable) == (4, 2)
    # s0 1.0 and s1 0.0 are a pair, s2 0.0 and s3 1.0 another: -1 and +1
    assert count(path)["difference:Success"] == {-1.0: 1, 1.0: 1}
    assert find_condition(look_at_trial(path, "rerank"), "log")[0] is False
    assert "2 are left out: their variant, or the value of their task_outcome" in collected_text(seen)


def test_of_several_outcomes_of_a_session_the_last_one_counts(path: Path) -> None:
    """As in reports: 1 then 0.25 in the control, and 0.5 alone in the treatment, differ by 0.25."""
    put(path, ask("x", 1, START + 5, "control"), end("x", START + 6, 1.0), end("x", START + 7, 0.25))
    put(path, ask("y", 1, START + 5, "treatment"), end("y", START + 6, 0.5))
    collect_trial(path, "rerank", now=LATER)
    assert count(path)["difference:Success"] == {0.25: 1}


def test_a_session_whose_parts_are_in_two_logs_counts_once_and_against(path: Path, tmp_path: Path) -> None:
    """Two hosts took turns: what the second one has was not measured, and nothing graduates."""
    other = tmp_path / "host2.db"
    put(path, ask("s1", 1, START + 1), end("s1", START + 2, 1.0))
    put(other, ask("s1", 2, START + 3), end("s1", START + 4, 0.0))
    collect_trial(path, "rerank", now=LATER)
    seen = collect_trial(path, "rerank", log=other, now=LATER)
    assert (seen.sessions, seen.repeated, seen.late) == (0, 0, 1)
    assert count(path)["units:treatment"] == {0.0: 1}
    assert find_condition(look_at_trial(path, "rerank"), "log")[0] is False


def test_of_two_readers_of_copies_one_measures_a_session(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one finds out when it writes, begins again, and leaves the session out."""
    other = tmp_path / "host2.db"
    for log in (path, other):
        put(log, *make_sessions(4))
    from karat.feedback.trials import _collect

    add, turns = _collect.add_from_log, []

    def overtake(*arguments: Any) -> bool:
        if not turns:
            turns.append(1)
            assert collect_trial(path, "rerank", log=other, now=LATER).sessions == 4
        return bool(add(*arguments))

    monkeypatch.setattr(_collect, "add_from_log", overtake)
    seen = collect_trial(path, "rerank", now=LATER)
    assert (seen.sessions, seen.repeated) == (0, 4)
    assert count(path)["units:control"] == {0.0: 2}


def test_marks_of_sessions_go(path: Path) -> None:
    """With a session that is forgotten, and with the trial when the next one begins; they name nobody."""
    put(path, *make_sessions(4))
    collect_trial(path, "rerank", now=LATER)

    def marks() -> list[Any]:
        with open_store(path) as store:
            return list(store._rows("select session from trial_sessions"))

    assert [len(mark) for (mark,) in marks()] == [8] * 4
    online.forget(path, session="s1")
    assert len(marks()) == 3
    stop_trial(path, "rerank", **WHO)
    assert len(marks()) == 3, "it may be opened again"
    start_trial(path, PLAN, now=START)
    assert marks() == []


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"salt": "again"}, "salt"),
        ({"overrides": {"big-customer": "treatment"}}, "overrides"),
        ({"percent": 60}, "rollout"),
        ({"enabled": False}, "kill switch"),
        ({"variants": {"other": 1}}, "variants"),
    ],
)
def test_a_flag_that_deals_anew_is_told_and_nothing_graduates(
    tmp_path: Path, changes: dict[str, Any], what: str
) -> None:
    """However little the numbers say of it; the share of the shadow deals nothing."""
    path = tmp_path / "karat.db"
    change_flag(path, "rerank", {"percent": 50}, **WHO)
    start_trial(path, PLAN)
    change_flag(path, "rerank", {"shadow_percent": 5}, **WHO)
    assert find_condition(look_at_trial(path, "rerank"), "flag") == (True, "as it was when the trial started")
    change_flag(path, "rerank", changes, author="bob", reason="why not")
    status = look_at_trial(path, "rerank")
    met, detail = find_condition(status, "flag")
    assert not met
    assert detail.startswith(f"changed since the trial started: {what} (")
    assert detail.endswith(", bob); start a new trial")
    change_flag(path, "rerank", AS_BEFORE, **WHO)
    assert not find_condition(look_at_trial(path, "rerank"), "flag")[0], "what happened meanwhile stays in the log"


def test_a_flag_beside_the_log_of_another_host_is_looked_at_too(path: Path, tmp_path: Path) -> None:
    """The host reads its flags from its own store, which is that of its log."""
    other = tmp_path / "host2.db"
    change_flag(other, "rerank", {"percent": 50}, **WHO)
    put(other, *make_sessions(4))
    collect_trial(path, "rerank", log=other, now=LATER)
    assert "flag" not in {own.name for own in look_at_trial(path, "rerank").conditions}
    change_flag(other, "rerank", {"salt": "again"}, author="bob", reason="why not")
    collect_trial(path, "rerank", log=other, now=LATER)
    met, detail = find_condition(look_at_trial(path, "rerank"), "flag")
    assert (met, detail[:39]) == (False, "changed since the trial started: salt (")


@pytest.mark.slow
def test_the_decision_itself_is_no_change(tmp_path: Path) -> None:
    """A trial that was stopped for harm switches its flag off; to open it again needs the flag as it was."""
    path = tmp_path / "karat.db"
    change_flag(path, "rerank", {"percent": 50}, **WHO)
    start_trial(path, PLAN, now=START)
    for number in range(400):
        arm = ("control", "treatment")[number % 2]
        put(path, ask(f"s{number}", 1, START + number, arm), end(f"s{number}", START + number, float(arm == "control")))
    collect_trial(path, "rerank", now=LATER)
    assert decide_trial(path, "rerank", **WHO).status.status == "rejected"
    assert find_condition(look_at_trial(path, "rerank"), "flag")[0]
    reopen_trial(path, "rerank", **WHO)
    met, detail = find_condition(look_at_trial(path, "rerank"), "flag")
    assert (met, "kill switch" in detail) == (False, True)


@pytest.mark.slow
def test_a_robot_does_not_hide_that_the_treatment_is_slow(tmp_path: Path) -> None:
    """One session asks 5,000 times what is in the cache: its latencies count as twenty, which lie evenly."""
    path = tmp_path / "karat.db"
    start_trial(path, TrialPlan(feature="rerank", source="sessions", measure="Success", must_show="", idle=IDLE),
                now=START)  # fmt: skip
    people = [
        ask(f"s{number}", 1, START + number, arm, latency=100.0 if arm == "control" else 300.0)
        for number in range(400)
        for arm in (("control", "treatment")[number % 2],)
    ]
    robot = [
        ask("robot", number, START + number / 10, "treatment", latency=1 + number / 1000) for number in range(5000)
    ]
    put(path, *people, *robot)
    collect_trial(path, "rerank", now=LATER)
    times = count(path)["latency:treatment"]
    assert sum(times.values()) == 200 + 20
    assert (min(times), times[300.0]) == (1.12, 200)
    assert find_condition(look_at_trial(path, "rerank"), "latency") == (False, "p95 300 ms, control 100 ms")
