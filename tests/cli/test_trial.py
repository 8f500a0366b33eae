"""``karat trial``: from start to decision on the command line, with its exit codes."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from cli.gate_project import accept, main, make_project, make_run, make_set
from karat import online
from karat.online.flags import change_flag, read_flags
from karat.online.trials import TrialPlan, read_transitions
from karat.store import open_store

WHO = ("--author", "ada", "--reason", "as planned")
GOOD = {
    "batch": "monday",
    "differences": {
        "RR@10": [[0.5, 20], [0.5, 20], [0, 110]],
        "MustShowAll@10": [[0, 150]],
        "unjudged": [[0, 150]],
    },
    "latencies": {"control": [[10, 150]], "treatment": [[11, 150]]},
    "units": {"control": 150, "treatment": 150},
}


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    change_flag("karat.db", "rerank", {"percent": 50}, author="ada", reason="canary")


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str, str]:
    code = main(("trial", *arguments))
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def record(capsys: pytest.CaptureFixture[str], batch: dict[str, object]) -> tuple[object, str, str]:
    Path("batch.json").write_text(json.dumps(batch))
    return call(capsys, "record", "rerank", "batch.json")


def test_a_trial_from_start_to_graduation(capsys: pytest.CaptureFixture[str]) -> None:
    """It goes on until every condition is met: 4, then 0; and the flag is for everybody."""
    assert "rerank, trial 1: running, continue" in call(capsys, "start", "rerank")[1]
    assert record(capsys, GOOD) == (0, "monday: recorded\n", "")
    assert record(capsys, GOOD)[1] == "monday: was recorded before, and counts once\n"
    code, out, _ = call(capsys, "decide", "rerank", *WHO)
    assert code == 4
    assert out.startswith("the trial goes on\n")
    assert (
        "not met  corpus: no run on the golden set is recorded: karat online record REPORT STORE --feature rerank"
        in out
    )
    assert "met      latency: p95 11 ms, control 10 ms" in out
    run = ("run-1", "shadow", "rerank", 5.0, "g", "s", 10, None, "", "pass", "{}")
    value = ("run-1", "RR@10", "", 0.8, None, None, 10, "", 0.78, 0.02, 0.01, 1)
    with open_store("karat.db", write=True) as store, store.transaction():
        store.add_run(run, [value])
    status = call(capsys, "status", "rerank")[1]
    assert "40 wins, 110 ties, 0 losses; P(better) = 1.000" in status
    assert "Looks: 3; looking changes nothing" in status
    code, out, _ = call(capsys, "decide", "rerank", *WHO)
    assert code == 0
    assert "trial 1: running -> graduated; by ada: graduate: the treatment is better in RR@10" in out
    assert read_flags("karat.db")["rerank"][0].percent == 100
    assert call(capsys, "decide", "rerank", *WHO)[0] == 2, "it is over"
    assert call(capsys, "list")[1].splitlines()[1].split()[:3] == ["rerank", "1", "graduated"]


def test_a_harmful_treatment_is_stopped(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1, and the flag is off."""
    options = ("--guardrail", "R@5", "--share", "control=1", "--share", "treatment=1", "--source", "interleaving")
    call(capsys, "start", "rerank", *options)
    record(capsys, {"batch": "b", "differences": {"R@5": [[-0.5, 40], [0, 60]]}})
    code, out, _ = call(capsys, "decide", "rerank", "--json", *WHO)
    outcome = json.loads(out)
    assert (code, outcome["exit_code"], outcome["status"]["decision"]) == (1, 1, "harm-stop")
    assert outcome["transition"]["evidence"]["reason"] == "the treatment is worse in R@5"
    assert not read_flags("karat.db")["rerank"][0].enabled


def test_interleaved_lists_measure_choices(capsys: pytest.CaptureFixture[str]) -> None:
    """What people choose never passes for a measure of a list; the decision says that there is no flag."""
    start = ("start", "mixed", "--source", "interleaving", "--must-show", "")
    code, _, err = call(capsys, *start, "--measure", "nDCG@10")
    assert (code, "measure what people choose, and not nDCG@10: the measure is 'choices'" in err) == (2, True)
    assert "nothing is decided in choices after 0 differences" in call(capsys, *start)[1]
    assert TrialPlan(feature="mixed", source="interleaving").on_golden_set == "RR@10"
    Path("batch.json").write_text(json.dumps({"batch": "b", "differences": {"choices": [[-1, 60]]}}))
    call(capsys, "record", "mixed", "batch.json")
    out = call(capsys, "decide", "mixed", *WHO)[1]
    assert "the treatment is worse in choices; as planned; it has no flag, so that nobody gets anything else" in out


def test_by_hand_and_back(capsys: pytest.CaptureFixture[str]) -> None:
    """Stopped, and opened again; JSON has the same."""
    call(capsys, "start", "rerank")
    assert "running -> rejected; by ada: as planned" in call(capsys, "stop", "rerank", *WHO)[1]
    assert json.loads(call(capsys, "reopen", "rerank", "--json", *WHO)[1])["after"] == "running"
    assert [move.after for move in read_transitions("karat.db", "rerank")] == ["rejected", "running"]
    (trial,) = json.loads(call(capsys, "list", "--json")[1])["trials"]
    assert (trial["status"], trial["version"]) == ("running", 3)


def test_a_feature_that_is_tried_again(capsys: pytest.CaptureFixture[str]) -> None:
    """Its second trial says that it is one: error rates are those of one trial."""
    call(capsys, "start", "rerank")
    assert "again and again" not in call(capsys, "status", "rerank")[1]
    call(capsys, "stop", "rerank", *WHO)
    call(capsys, "start", "rerank")
    assert "Trial 2 of this feature: error rates are those of one trial" in call(capsys, "status", "rerank")[1]


def test_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    """From a batch of earlier sessions; a small effect takes longer, and one that is too small is not found."""
    Path("batch.json").write_text(
        json.dumps({"batch": "b", "differences": {"RR@10": [[0.5, 10], [-0.5, 10], [0, 80]]}})
    )
    found = json.loads(call(capsys, "plan", "batch.json", "--json")[1])
    later = json.loads(call(capsys, "plan", "batch.json", "--effect", "0.03", "--json")[1])
    assert found["half"] < found["most_of_them"] < later["most_of_them"] < found["most"]
    assert (found["sessions"], found["measure"]) == (100, "RR@10")
    text = call(capsys, "plan", "batch.json", "--effect", "0.001", "--most", "100")[1]
    assert "50 %                       over 100" in text
    assert "has no differences in 'RR@5'" in call(capsys, "plan", "batch.json", "--measure", "RR@5")[2]
    assert "cannot be simulated" in call(capsys, "plan", "batch.json", "--effect", "0.6")[2]


def test_a_trial_is_measured_from_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    """What the sessions that are over came to, once; and how long a trial with such sessions would take."""
    start = ("start", "rerank", "--source", "sessions", "--measure", "Success", "--must-show", "", "--idle", "0.001")
    with online.open("karat.db") as log:
        log.record("wifi", ["a"], session="early", flags={"rerank": "control"}, time=1e9)
    call(capsys, *start)
    early = call(capsys, "collect", "rerank")[1]
    assert re.match(r"rerank: 0 sessions .+; what began before the trial, 20[0-9T:.-]+Z, does not count\n", early)
    with online.open("karat.db") as log:
        for number in range(8):
            arm = "treatment" if number % 2 else "control"
            log.record("wifi", ["a"], session=f"s{number}", flags={"rerank": arm})
    code, out, _ = call(capsys, "collect", "rerank")
    assert code == 0
    assert out.startswith("rerank: 8 sessions that were over by 20")
    assert out.endswith("\ndifferences: 4 in Success\n")
    again = json.loads(call(capsys, "collect", "rerank", "--json")[1])
    assert (again["sessions"], again["differences"]) == (0, {})
    record(capsys, {"batch": "b", "differences": {"Success": [[0.5, 3]]}})
    status = call(capsys, "status", "rerank")[1]
    assert "3 of 7 differences are not from the log: nothing has checked them" in status
    assert ": 8 sessions that were over by 20" in status
    with online.open("karat.db") as log:
        for number in range(40):
            log.feedback("task_outcome", session=f"late{number}", value=number % 2)
            log.record("wifi", ["a"], session=f"late{number}")
    call(capsys, "collect", "rerank")
    text = call(capsys, "plan", "--measure", "Success", "--effect", "0.3", "--most", "500")[1]
    assert "trials that have found it  pairs of sessions" in text
    assert "measured by judgments" in call(capsys, "plan", "--source", "judgments")[2]


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ({}, "is not a batch of observations: $: missing required field `batch`"),
        ({"batch": "b", "extra": 1}, "unknown field `extra`"),
        ({"batch": "b", "differences": {"RR@10": [[2, 1]]}}, "not between -1 and 1"),
        ({"batch": "b", "differences": {"RR@10": [[0, -1]]}}, "a count of -1"),
        ({"batch": "b", "differences": {"RR@5": [[0, 1]]}}, "'RR@5' is not in the plan"),
        ({"batch": "b", "latencies": {"control": [[-5, 1]]}}, "both are 0 or more"),
        ({"batch": "b", "units": {"control": -1}}, "negative"),
    ],
)
def test_a_batch_that_is_refused(capsys: pytest.CaptureFixture[str], batch: dict[str, object], message: str) -> None:
    """One message, exit code 2, and nothing counts."""
    call(capsys, "start", "rerank")
    code, out, err = record(capsys, batch)
    assert (code, out) == (2, "")
    assert message in err.replace("Object ", "$: ").replace("object ", "")
    assert json.loads(call(capsys, "status", "rerank", "--json")[1])["samples"] == 0


def test_what_else_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Features without a trial, a second one at once, shares that are no numbers."""
    assert "no trial of 'rerank'" in call(capsys, "status", "rerank")[2]
    assert call(capsys, "list")[1] == "karat.db has no trials; karat trial start begins one\n"
    assert "is not a number" in call(capsys, "start", "rerank", "--share", "a=b")[2]
    call(capsys, "start", "rerank")
    assert call(capsys, "start", "rerank")[2] == "karat: a trial of 'rerank' is not over: stop it, or let it decide\n"


@pytest.mark.slow
def test_a_gate_asks_the_trial_of_a_feature(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The policy of graduation passes a better run only if the trial that is named accepts the feature.

    It needs no run that was recorded for the trial: the gate itself says what the golden set does. Looks are free.
    """
    plain = make_set()
    questions = (replace(plain.queries[0], must_show=("d01",)), *plain.queries[1:])
    golden_set = make_project(tmp_path, golden_set=make_set(queries=questions))
    accept(tmp_path, make_run(tmp_path, golden_set, [2] * 12, "old"), policy="agent")
    better = str(make_run(tmp_path, golden_set, [1] * 12, "new"))

    def gate(*options: str) -> tuple[object, str]:
        code = main(("gate", better, "--policy", "agent-graduation", *options))
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    code, out = gate()
    assert (code, "no trial on live traffic is named" in out) == (1, True)
    call(capsys, "start", "rerank")
    code, out = gate("--trial", "rerank")
    assert (code, "0.0000 is below 1" in out) == (1, True)
    record(capsys, GOOD)
    code, out = gate("--trial", "rerank")
    assert (code, "sequential_test" in out) == (0, True)
    record(capsys, {"batch": "tuesday", "units": {"control": 150}})
    assert gate("--trial", "rerank")[0] == 1, "the sample ratio is no longer what was planned"
    record(capsys, {"batch": "wednesday", "units": {"treatment": 150}})
    assert gate("--trial", "rerank")[0] == 0
    call(capsys, "stop", "rerank", *WHO)
    assert gate("--trial", "rerank")[0] == 1, "a person has rejected it"
    assert "Looks: 3;" in call(capsys, "status", "rerank")[1], "its start, its end, and this one"
    assert gate("--trial", "rerenk") == (2, "karat: karat.db: no trial of 'rerenk', did you mean 'rerank'?\n")


def test_a_plan_that_can_never_graduate_is_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    """What has to be shown is known only of golden queries, which sessions of a log may never ask."""
    code, _, err = call(capsys, "start", "rerank", "--source", "sessions", "--measure", "Success")
    assert code == 0
    assert "MustShowAll@10 is known only of golden queries, and the feature cannot graduate without it" in err
    call(capsys, "stop", "rerank", "--reason", "a wrong plan", *WHO[2:])
    assert call(capsys, "start", "rerank", "--source", "sessions", "--measure", "Success", "--must-show", "")[2] == ""
