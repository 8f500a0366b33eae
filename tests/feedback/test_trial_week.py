"""The week of trials of docs/trial-week.md: every number of its decisions, derived anew from the rows of the log."""

from __future__ import annotations

import json
import math
import sqlite3
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from karat.online.flags import read_flags
from karat.online.trials import read_transitions, show_trial
from karat.store import open_store

ROOT = Path(__file__).resolve().parents[2]
BETS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
IDLE = 3600.0


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store after the week."""
    path = tmp_path_factory.mktemp("week") / "trials.db"
    run = ("run-1", "ab_test", "rerank", 5.0, "g", "s", 10, None, "", "pass", "{}")
    value = ("run-1", "RR@10", "", 0.97, None, None, 10, "", 0.79, 0.18, 0.01, 1)
    with open_store(path, write=True) as store, store.transaction():
        store.add_run(run, [value])
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "examples/week"))
        patch.chdir(ROOT)
        import trials

        trials.main(str(path))
        for name in ("trials", "systems", "guests", "agent", "needs"):
            sys.modules.pop(name, None)
    return path


def log_e(differences: list[float], mean: float = 0.0, *, above: bool = True) -> float:
    """Return the logarithm of the evidence that the mean is above, or below, by the formula of the specification."""
    total = 0.0
    for bet in BETS:
        product = 1.0
        for value in differences:
            share = bet / (mean + 1) if above else -bet / (1 - mean)
            product *= 1 + share * (value - mean)
        total += product / len(BETS)
    return math.log(total)


def read_week(path: Path, feature: str) -> tuple[list[dict[str, Any]], float]:
    """Return the sessions of a trial that were over when it was decided, in the order of their ends; and that time."""
    connection = sqlite3.connect(path)
    ((state,),) = connection.execute(
        "select state from trial_logs join trials on trials.key = trial_logs.trial where feature = ?", [feature]
    )
    until = json.loads(state)["until"]
    sessions: dict[str, dict[str, Any]] = {}
    for query, session, time, hits, flags, attributes, latency, stages in connection.execute(
        "select id, session, time, hits, flags, attributes, latency, stages from queries order by time"
    ):
        teams = json.loads(attributes).get("teams", {}).get(feature)
        arm = json.loads(flags).get(feature)
        if teams is None and arm is None:
            continue
        own = sessions.setdefault(session, {"arm": arm, "pages": {}, "end": time, "success": None, "latencies": []})
        own["pages"][query] = ([hit[0] for hit in json.loads(hits)], teams, set())
        own["latencies"].append({arm: latency} if teams is None else json.loads(stages))
        own["end"] = max(own["end"], time)
    for session, query, kind, document, time, value in connection.execute(
        "select session, query, kind, document, time, value from events"
    ):
        if session in sessions:
            own = sessions[session]
            own["end"] = max(own["end"], time)
            if kind == "task_outcome":
                own["success"] = value
            elif kind == "read_after_search":
                own["pages"][query][2].add(document)
    connection.close()
    over = [own for own in sessions.values() if own["end"] + IDLE <= until]
    return sorted(over, key=lambda own: own["end"]), until


def click_rr(own: dict[str, Any]) -> float:
    ranks = [
        next((1 / rank for rank, name in enumerate(shown, 1) if name in read), 0.0)
        for shown, _, read in own["pages"].values()
    ]
    return sum(ranks) / len(ranks)


def find_share(own: dict[str, Any]) -> float:
    return sum(bool(shown) for shown, _, _ in own["pages"].values()) / len(own["pages"])


def choose(own: dict[str, Any]) -> float:
    credit = Counter(
        team for shown, teams, read in own["pages"].values() for name, team in zip(shown, teams, strict=True)
        if name in read and team
    )  # fmt: skip
    total = credit["treatment"] + credit["control"]
    return (credit["treatment"] - credit["control"]) / total if total else 0.0


def derive(path: Path, feature: str, measure: str) -> list[float]:
    """Return the differences of a trial in a measure."""
    sessions, _ = read_week(path, feature)
    if measure == "choices":
        return [choose(own) for own in sessions]
    value = {"ClickRR": click_rr, "Found": find_share, "Success": lambda own: own["success"]}[measure]
    arms = {arm: [value(own) for own in sessions if own["arm"] == arm] for arm in ("control", "treatment")}
    return [new - old for old, new in zip(arms["control"], arms["treatment"], strict=False)]


@pytest.mark.slow
def test_who_graduates_and_who_does_not(week: Path) -> None:
    """The better one is for everybody, the equal one for nobody, the harmful one and the one with junk are off."""
    after = {name: read_transitions(week, name)[-1] for name in ("rerank", "refactor", "paging", "newsletter")}
    assert {name: move.after for name, move in after.items()} == {
        "rerank": "graduated", "refactor": "rejected", "paging": "rejected", "newsletter": "rejected",
    }  # fmt: skip
    decisions = {name: move.evidence.decision for name, move in after.items() if move.evidence}
    assert decisions == {
        "rerank": "graduate", "refactor": "futile", "paging": "harm-stop", "newsletter": "harm-stop",
    }  # fmt: skip
    flags = {name: (flag.percent, flag.enabled) for name, (flag, _) in read_flags(week).items()}
    assert flags == {
        "rerank": (100, True), "refactor": (0, True), "paging": (50, False), "newsletter": (50, False),
    }  # fmt: skip


@pytest.mark.slow
def test_junk_wins_clicks_and_is_refused_all_the_same(week: Path) -> None:
    """By clicks alone it would be better, at any look; people were helped less often, and that stops it."""
    (move,) = read_transitions(week, "newsletter")
    assert move.evidence is not None
    clicks, success = move.evidence.measures
    assert (clicks.measure, clicks.decision) == ("ClickRR", "graduate")
    assert (success.measure, success.decision) == ("Success", "harm-stop")


def find_p95(latencies: list[float]) -> float:
    """Return the first of the sorted latencies, in three digits, that at least 95 of 100 do not exceed."""
    return sorted(float(f"{latency:.3g}") for latency in latencies)[math.ceil(0.95 * len(latencies)) - 1]


def check_evidence(seen: Any, differences: list[float]) -> None:
    """Compare what is said of differences with what the formulas say."""
    assert seen.n == len(differences)
    assert seen.mean == pytest.approx(sum(differences) / len(differences))
    assert seen.log_better == pytest.approx(log_e(differences), abs=1e-6)
    assert seen.log_worse == pytest.approx(log_e(differences, above=False), abs=1e-6)
    assert seen.log_below_effect == pytest.approx(log_e(differences, 0.05, above=False), abs=1e-6)
    for end in (seen.low, seen.high):
        both = (math.exp(log_e(differences, end)) + math.exp(log_e(differences, end, above=False))) / 2
        assert abs(end) == 1 or both == pytest.approx(20, rel=1e-4)


@pytest.mark.slow
def test_every_number_of_the_decisions_is_derived_anew(week: Path) -> None:
    """Differences from the rows of the log, evidence by the formula, units by counting, the interval by its roots.

    So are the numbers of the conditions, of the read-outs, and of the trial over time.
    """
    for feature in ("rerank", "refactor", "paging", "newsletter"):  # one test: the week takes longer than all of it
        check_trial(week, feature)


def check_trial(week: Path, feature: str) -> None:
    """Compare all that is said of a trial with what the rows of the log say."""
    (move,) = read_transitions(week, feature)
    seen = move.evidence
    assert seen is not None
    for measure in seen.measures:
        check_evidence(measure, derive(week, feature, measure.measure))
    sessions, _ = read_week(week, feature)
    arms = Counter(own["arm"] for own in sessions)
    both = {"control": len(sessions), "treatment": len(sessions)}
    assert dict(seen.units) == (both if feature == "rerank" else dict(arms))
    assert seen.not_from_log == 0

    deciding = derive(week, feature, seen.measures[0].measure)
    wins, losses = sum(value > 0 for value in deciding), sum(value < 0 for value in deciding)
    shown = seen.read_out
    assert shown is not None
    assert (shown.wins, shown.ties, shown.losses) == (wins, len(deciding) - wins - losses, losses)
    assert shown.probability_better == pytest.approx(stats.beta.sf(0.5, 1 + wins, 1 + losses))

    said = {condition.name: condition.detail for condition in seen.conditions}
    assert said["log"] == f"0 of {len(sessions)} sessions went on after they were measured"
    latencies = [query for own in sessions for query in own["latencies"]]
    control, treatment = ([query[arm] for query in latencies if arm in query] for arm in ("control", "treatment"))
    if min(len(control), len(treatment)) < 100:
        assert said["latency"] == "fewer than 100 latencies of each variant"
    else:
        assert said["latency"] == f"p95 {find_p95(treatment):g} ms, control {find_p95(control):g} ms"
    if feature == "rerank":
        assert "sample-ratio" not in said
    else:
        p = stats.chisquare([arms["control"], arms["treatment"]]).pvalue
        assert said["sample-ratio"] == f"p = {p:.3g} for {len(sessions)} units"

    points = show_trial(week, feature).points
    assert points[-1].n == len(deciding)
    for point in points:
        check_evidence(point, deciding[: point.n])
    if feature == "rerank":  # a session of its own for each difference
        hours = sorted({int(own["end"] // 3600) for own in sessions})
        ended = [sum(own["end"] < 3600 * (hour + 1) for own in sessions) for hour in hours]
        assert [(point.time[:13], point.n) for point in points] == [
            (datetime.fromtimestamp(3600 * (hour + 1), UTC).strftime("%Y-%m-%dT%H"), n)
            for hour, n in zip(hours, ended, strict=True)
        ]
