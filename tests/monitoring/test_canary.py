"""Canaries: steps while all is fine, back after two alert windows or a change of the index, one decider at a time."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from each import each
from in_process import run_karat
from karat.config import ALERTS, CanaryConfig, OnlineConfig
from karat.core import InputError
from karat.monitoring import CANARY_AUTHOR, decide_canary
from karat.online import LoggedQuery
from karat.online.flags import change_flag, read_flag_history, read_flags
from karat.reports import describe_canary
from karat.schema.watch import CanaryReport
from karat.store import open_store
from monitoring.hotel import QUESTIONS, make_project
from monitoring.logs import DAY, make_query, write

ON = ("errors", "index", "p95")
CONFIG = OnlineConfig(
    samples=20,
    least=5,
    alerts={name: replace(limit, on=name in ON) for name, limit in ALERTS.items()},
    canary=CanaryConfig(recall_drop=None),
)


@pytest.fixture
def flag(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store whose flag has been at 5 % since the day began."""
    set_flag(path, monkeypatch, DAY, {"percent": 5})
    return path


def set_flag(path: Path, monkeypatch: pytest.MonkeyPatch, time: float, changes: dict[str, Any]) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("karat.online.flags._changes.time.time", lambda: time)
        change_flag(path, "rerank", changes, author="ada", reason="canary")


def make_arms(number: int, *, live: dict[str, Any] | None = None, **canary: Any) -> list[LoggedQuery]:
    """Return twenty queries with the feature and twenty without, in a window."""
    start = DAY + number * 300
    shared = {"build": "b", "index": "i"}
    return [
        make_query(f"{arm}{number}-{i}", start + i, f"question {i}", flags={"rerank": variant}, **{**shared, **fields})
        for arm, variant, fields in (("c", "treatment", canary), ("l", "control", live or {}))
        for i in range(20)
    ]


def decide(path: Path, windows: int, config: OnlineConfig = CONFIG, **options: Any) -> CanaryReport:
    return decide_canary(path, "rerank", config=config, now=DAY + windows * 300 + 60, **options)


def test_it_goes_on_after_two_windows_that_are_fine(flag: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Step by step to everybody; each change is in the history of the flag, with its evidence."""
    percents = [5.0]
    for step in range(3):
        first = 2 * step
        write(flag, make_arms(first))
        waiting = decide(flag, first + 1, apply=True)
        assert (waiting.decision, waiting.applied, waiting.measured) == ("hold", False, True)
        assert waiting.reason == "1 of 2 windows are complete since the flag was changed"
        write(flag, make_arms(first + 1))
        dry = decide(flag, first + 2)
        assert (dry.decision, dry.applied, read_flags(flag)["rerank"][0].percent) == ("promote", False, percents[-1])
        monkeypatch.setattr("karat.online.flags._changes.time.time", lambda end=first + 2: DAY + end * 300 - 0.5)
        report = decide(flag, first + 2, apply=True)
        assert (report.decision, report.applied) == ("promote", True)
        percents.append(read_flags(flag)["rerank"][0].percent)
    assert percents == [5, 25, 50, 100]
    assert decide(flag, 6).decision == "done"
    last = read_flag_history(flag, "rerank")[-1]
    assert last.author == CANARY_AUTHOR
    assert last.reason.startswith("promote, 50 % to 100 %: 2 windows in a row are fine (2023-11-15T00:20:00Z to ")


def test_what_is_said_if_only_alerts_are_measured(flag: Path) -> None:
    """That nothing is compared with the others is said; an alert of both windows is named once."""
    alerts_only = replace(CONFIG, alerts={name: replace(limit, on=name == "errors") for name, limit in ALERTS.items()})
    for number in range(2):
        write(flag, make_arms(number))
    reason = decide(flag, 2, alerts_only).reason
    assert reason.endswith("): no alert fires, and nothing is compared with those that have not got it")
    for number in (2, 3):
        write(flag, make_arms(number, error="down"))
    assert decide(flag, 4).reason == "alerts in two windows in a row, since 2023-11-15T00:10:00Z: errors"


def test_it_goes_back_after_two_alert_windows(flag: Path) -> None:
    """One is not enough, nor are two with a fine one between; then everybody gets the control, and a person decides."""
    for number, error in enumerate(("down", "", "down")):
        write(flag, make_arms(number, error=error))
        assert decide(flag, number + 1, apply=True).decision == "hold"
    write(flag, make_arms(3, latency=131.0))
    report = decide(flag, 4, apply=True)
    assert (report.decision, report.next, report.applied) == ("roll back", 0, True)
    assert report.reason == "alerts in two windows in a row, since 2023-11-15T00:10:00Z: errors; p95"
    (now, version) = read_flags(flag)["rerank"]
    assert (now.enabled, now.percent, version, now.assign("anybody")) == (False, 5, 2, "control")
    assert describe_canary(report).startswith("rerank at 5 %: roll back, off (done); alerts in two windows")
    history = run_karat("flag", "history", "rerank", "--store", flag).stdout.decode()
    assert "rerank version 2: off; by karat canary: roll back, off: alerts in two windows" in history
    assert run_karat("flag", "list", "--store", flag).stdout.decode().split().count("off") == 2, "percent and shadow"
    again = decide(flag, 4, apply=True)
    assert (again.decision, again.applied) == ("off", False)
    assert len(read_flag_history(flag, "rerank")) == 2
    change_flag(flag, "rerank", {"enabled": True}, author="ada", reason="it was the network")
    assert decide(flag, 4).decision == "hold"  # only what comes after that counts


def test_a_robot_does_not_hide_that_the_canary_is_slow(flag: Path) -> None:
    """A thousand quick queries of one session count as twenty: people get it twice as late, and it goes back."""
    for number in range(2):
        start = DAY + number * 300
        quick = [
            make_query(f"r{number}-{i}", start + i / 10, flags={"rerank": "treatment"}, session="robot", latency=5.0,
                       build="b", index="i")
            for i in range(1000)
        ]  # fmt: skip
        write(flag, [*make_arms(number, latency=200.0), *quick])
    report = decide(flag, 2)
    assert (report.decision, "p95" in report.reason) == ("roll back", True)


def test_any_change_of_the_index_takes_it_back(flag: Path) -> None:
    """At once, even after a window that is fine; not if the build changes, too."""
    write(flag, make_arms(0))
    write(flag, make_arms(1, build="b2", index="i2"))
    assert decide(flag, 2).decision == "promote"
    write(flag, make_arms(2, build="b2", index="i3"))
    report = decide(flag, 3)
    assert report.decision == "roll back"
    assert "'i2' since 2023-11-15T00:05:00Z, 'i3' since 2023-11-15T00:10:00Z" in report.reason


def test_a_canary_is_no_worse_than_the_others(flag: Path) -> None:
    """Lambda flips at most theirs, the median of delta-S at most 0.40: it stays as long as that is not so."""
    alerts = {**CONFIG.alerts, **{name: ALERTS[name] for name in ("divergent", "delta_s_median")}}
    config = replace(CONFIG, alerts=alerts)
    calm = {"attributes": {"delta_s": 0.41, "lambda": "convergent"}}
    for number in range(2):
        write(flag, make_arms(number, live=calm, **calm))
    report = decide(flag, 2, config)
    assert (report.decision, report.measured) == ("hold", True)
    assert report.reason.endswith("is not fine: delta_s_median is 0.41 (at most 0.4)")
    near = {"attributes": {"delta_s": 0.40, "lambda": "convergent"}}
    for number in (2, 3):
        queries = make_arms(number, live=near, **near)
        queries[0] = replace_attributes(queries[0], {"delta_s": 0.1, "lambda": "divergent"})
        write(flag, queries)
    report = decide(flag, 4, config)
    assert report.reason.endswith("is not fine: divergent is 0.05 (at most that of the others)")
    for number in (4, 5):
        write(flag, make_arms(number, live=near, **near))
    assert decide(flag, 6, config).decision == "promote"


def replace_attributes(query: LoggedQuery, attributes: dict[str, Any]) -> LoggedQuery:
    return structs.replace(query, attributes=attributes)


def test_what_cannot_be_measured_does_not_go_on(flag: Path) -> None:
    """Without the latencies of the others, and with other normalisers, nothing is compared."""
    for number in range(2):
        write(flag, make_arms(number, live={"latency": None}))
    report = decide(flag, 2)
    assert (report.decision, report.measured) == ("hold", False)
    assert "p95: there is no complete window before it" in report.reason
    for number in (2, 3):
        write(flag, make_arms(number, live={"normaliser": "n1"}, normaliser="n2"))
    assert "different normalisers, and are not compared: n2 and n1" in decide(flag, 4).reason
    assert decide(flag, 4, OnlineConfig(samples=20, least=5)).measured is False


def test_nobody_has_it_before_a_run_has_passed(path: Path) -> None:
    """A flag at 0 % goes to the first step if the run recorded last for the feature passed; an unknown one is told."""
    with pytest.raises(InputError, match="no flag 'rerank'"):
        decide_canary(path.with_name("x.db"), "rerank") if path.exists() else _missing(path)
    change_flag(path, "rerank", {"percent": 0}, author="ada", reason="new")
    report = decide(path, 1)
    assert (report.decision, report.measured) == ("hold", False)
    assert "no run of 'rerank' is recorded" in report.reason
    outcomes = {"fail": "hold", "inconclusive": "hold", "error": "hold", "pass": "promote"}
    for number, (outcome, decision) in enumerate(outcomes.items()):
        with open_store(path, write=True) as store, store.transaction():
            store.add_run((f"r{number}", "shadow", "rerank", 1.0, "", "", 3, None, "", outcome, "{}"), [])
        assert decide(path, 1).decision == decision
    assert decide(path, 1, apply=True).applied
    assert read_flags(path)["rerank"][0].percent == 5


def _missing(path: Path) -> None:
    change_flag(path, "other", {"percent": 1}, author="ada", reason="x")
    decide_canary(path, "rerank")


def test_of_two_who_decide_at_once_one_does(flag: Path) -> None:
    """Both look at the same version; the flag moves one step, and the other is told."""
    for number in range(2):
        write(flag, make_arms(number))
    gate, reports = threading.Barrier(4), []

    def run() -> None:
        gate.wait()
        reports.append(decide(flag, 2, apply=True))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(report.applied for report in reports) == 1
    assert len(read_flag_history(flag, "rerank")) == 2
    assert read_flags(flag)["rerank"][0].percent == 25
    overtaken = [report for report in reports if not report.applied and report.decision == "promote"]
    assert all("somebody changed it meanwhile" in report.notes[-1] for report in overtaken)


def test_the_command_says_what_it_would_do(flag: Path, tmp_path: Path) -> None:
    """0 it goes on, 1 it goes back, 4 it stays; text, JSON and a page."""
    folder = tmp_path / "project"
    folder.mkdir()
    off = "\n".join(f"{name} = false" for name in ALERTS if name not in ON)
    (folder / "karat.toml").write_text(
        f"[online]\nsamples = 20\nleast = 5\n[online.canary]\nrecall_drop = false\n[online.alerts]\n{off}\n"
    )
    arguments = ["online", "canary", flag, "rerank", "--project", folder, "--at"]
    write(flag, [*make_arms(0), *make_arms(1)])
    stays = run_karat(*arguments, "2023-11-15T00:06:00Z")
    assert stays.returncode == 4, stays.stderr
    page = tmp_path / "page.html"
    goes = run_karat(*arguments, "2023-11-15T00:11:00Z", "--apply", "--html", page, "--json")
    report = json.loads(goes.stdout)
    assert (goes.returncode, report["decision"], report["applied"], report["next"]) == (0, "promote", True, 25)
    assert "rerank: promote" in page.read_text()
    back = run_karat(*arguments, "2023-11-15T00:11:00Z")
    assert back.returncode == 4  # the flag was changed now, and no window is newer
    assert b"no query with a variant of the flag is logged" in back.stderr


@each(
    "canary, reason",
    [
        ({"citations": ("wifi",)}, ""),
        (
            {"citations": ("pool",)},
            "coverage is 0 (an alert below 0.7 for 5 min); coverage is 0 (at least that of the others)",
        ),
        ({"citations": ("wifi",), "documents": ("x", "pool")}, "recall is 0 (at most 0.02 below that of the others)"),
    ],
)
def test_by_a_golden_set_a_canary_is_no_worse_than_the_others(
    tmp_path: Path, canary: dict[str, Any], reason: str
) -> None:
    """It cites what is relevant as often, and finds it as often: R@5 may be lower by 0.02 at most."""
    path = tmp_path / f"{len(reason)}.db"
    with pytest.MonkeyPatch.context() as patch:
        set_flag(path, patch, DAY, {"percent": 5})
    on = ("errors", "coverage")
    config = replace(
        CONFIG,
        least=2,
        alerts={name: replace(limit, on=name in on) for name, limit in ALERTS.items()},
        canary=CanaryConfig(windows=1),
    )
    answer = {"answer": "So it is.", "citations": ("wifi",)}
    queries = make_arms(0, live=answer, **{**answer, **canary})
    write(path, [structs.replace(query, text=QUESTIONS["wifi"][0]) for query in queries])
    report = decide_canary(path, "rerank", make_project(), config=config, now=DAY + 400)
    assert report.decision == ("hold" if reason else "promote")
    assert report.reason.endswith(f"is not fine: {reason}") if reason else "recall 1 beside 1" in report.reason


def test_answers_that_cite_nothing_take_no_canary_back(flag: Path) -> None:
    """A canary equal to its control, whose answers cite the right document or, 3 of 20, nothing."""
    on = ("errors", "citation")
    config = replace(CONFIG, alerts={name: replace(limit, on=name in on) for name, limit in ALERTS.items()})
    for number in range(2):
        write(flag, [make_answer(query, ("wifi",) if place % 20 > 2 else ())
                     for place, query in enumerate(make_arms(number))])  # fmt: skip
    report = decide_canary(flag, "rerank", make_project(), config=config, now=DAY + 660)
    assert (report.decision, [rule.canary for rule in report.windows[-1].rules if rule.name == "citation"]) == (
        "promote",
        [1.0],
    )


def test_a_canary_counts_every_answer_to_a_popular_question(flag: Path) -> None:
    """Of its twenty answers, the first five cite what is relevant, and the others do not: a quarter, not all."""
    on = ("errors", "coverage")
    config = replace(CONFIG, alerts={name: replace(limit, on=name in on) for name, limit in ALERTS.items()})
    for number in range(2):
        write(flag, [make_answer(query, ("wifi",) if place < 5 or place >= 20 else ("pool",))
                     for place, query in enumerate(make_arms(number))])  # fmt: skip
    report = decide_canary(flag, "rerank", make_project(), config=config, now=DAY + 660)
    rules = {(rule.name, rule.kind): (rule.canary, rule.live, rule.state) for rule in report.windows[-1].rules}
    assert rules["coverage", "alert"] == (0.25, None, "firing")
    assert rules["coverage", "step"] == (0.25, 1.0, "firing")
    assert report.decision == "roll back"


def make_answer(query: LoggedQuery, citations: tuple[str, ...]) -> LoggedQuery:
    return structs.replace(query, text=QUESTIONS["wifi"][0], answer="So it is.", citations=citations)


def test_nothing_is_measured_with_every_alert_off(flag: Path) -> None:
    """Windows of which nothing is asked are not fine, however many there are."""
    off = replace(CONFIG, alerts={name: replace(limit, on=False) for name, limit in ALERTS.items()})
    write(flag, [*make_arms(0, error="down"), *make_arms(1, error="down")])
    report = decide(flag, 2, off, apply=True)
    assert (report.decision, report.measured, report.applied) == ("hold", False, False)
    assert "switched off" in report.reason


def test_a_canary_that_went_silent_does_not_go_on(flag: Path) -> None:
    """Two windows were fine, and then its hosts died: the others go on, and it logs nothing."""
    write(flag, [*make_arms(0), *make_arms(1)])
    assert decide(flag, 2).decision == "promote"
    later = [make_query(f"later-{i}", DAY + 700 + i, flags={"rerank": "control"}) for i in range(135)]
    write(flag, later[:134])
    assert decide(flag, 5).decision == "promote"  # 0.95 ** 134 is 0.00104
    write(flag, later[134:])
    silent = decide(flag, 5, apply=True)
    assert (silent.decision, silent.measured, silent.next) == ("hold", False, 5.0)
    assert "while 135 sessions without it did" in silent.reason
    stale = decide(flag, 20, replace(CONFIG, stale_minutes=60))
    assert (stale.decision, "ended 1.5 hours ago" in stale.reason) == ("hold", True)


def test_an_index_that_few_queries_say_is_not_known(flag: Path) -> None:
    """One query in twenty says its index: that of the others may be any; but one that changed is enough to tell."""
    rows = [
        query if query.id.endswith("-0") else structs.replace(query, index="", build="")
        for query in (*make_arms(0), *make_arms(1))
    ]
    write(flag, rows)
    report = decide(flag, 2)
    assert (report.decision, report.measured) == ("hold", False)
    assert "19 of 20 queries do not say their index" in report.reason
    write(flag, [structs.replace(query, id=f"{query.id}x", index="other") for query in rows if query.index])
    assert decide(flag, 2).decision == "roll back"


def test_a_store_that_cannot_be_read_is_no_mistake_of_the_caller(path: Path) -> None:
    """Cron gets 3 for a damaged store, and 2 for a name that is wrong."""
    assert run_karat("online", "canary", path, "rerank").returncode == 2
    path.write_bytes(b"not a database, but long enough to be taken for one" * 100)
    assert run_karat("online", "canary", path, "rerank").returncode == 3
