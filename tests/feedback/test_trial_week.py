"""The week of trials of docs/trial-week.md: every number of its decisions, derived anew from the rows of the log."""

from __future__ import annotations

import json
import math
import sqlite3
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from karat.online.flags import read_flags
from karat.online.trials import read_transitions
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
    for query, session, time, hits, flags, attributes in connection.execute(
        "select id, session, time, hits, flags, attributes from queries order by time"
    ):
        teams = json.loads(attributes).get("teams", {}).get(feature)
        arm = json.loads(flags).get(feature)
        if teams is None and arm is None:
            continue
        own = sessions.setdefault(session, {"arm": arm, "pages": {}, "end": time, "success": None})
        own["pages"][query] = ([hit[0] for hit in json.loads(hits)], teams, set())
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
    value = click_rr if measure == "ClickRR" else lambda own: own["success"]
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


@pytest.mark.slow
def test_every_number_of_the_decisions_is_derived_anew(week: Path) -> None:
    """Differences from the rows of the log, evidence by the formula, units by counting, the interval by its roots."""
    for feature in ("rerank", "refactor", "paging", "newsletter"):
        (move,) = read_transitions(week, feature)
        assert move.evidence is not None
        for measure in move.evidence.measures:
            if measure.measure == "Found":
                continue
            differences = derive(week, feature, measure.measure)
            assert measure.n == len(differences)
            assert measure.mean == pytest.approx(sum(differences) / len(differences))
            assert measure.log_better == pytest.approx(log_e(differences), abs=1e-6)
            assert measure.log_worse == pytest.approx(log_e(differences, above=False), abs=1e-6)
            assert measure.log_below_effect == pytest.approx(log_e(differences, 0.05, above=False), abs=1e-6)
            for end in (measure.low, measure.high):
                both = (math.exp(log_e(differences, end)) + math.exp(log_e(differences, end, above=False))) / 2
                assert both == pytest.approx(20, rel=1e-4)
        sessions, _ = read_week(week, feature)
        arms = Counter(own["arm"] for own in sessions)
        assert dict(move.evidence.units) == (
            {"control": len(sessions), "treatment": len(sessions)} if feature == "rerank" else dict(arms)
        )
        assert move.evidence.not_from_log == 0
