"""Alerts: each by hand on windows of its own, what is not measured, and how they open and close."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from each import each
from karat import online
from karat.config import ALERTS, AlertLimit, OnlineConfig
from karat.core import InputError
from karat.monitoring import RULES, exit_code, list_open_alerts, watch
from karat.online import RE_SEARCH, LoggedEvent
from karat.reports import describe_watch, list_watch_tables, render_watch_html
from karat.store import open_store
from monitoring.logs import CONFIG, DAY, find, look, make_query, make_window, write


def only(*names: str, **limits: AlertLimit) -> OnlineConfig:
    """Return a configuration in which some alerts are on."""
    alerts = {name: replace(limit, on=name in names or name in limits) for name, limit in ALERTS.items()}
    return replace(CONFIG, alerts={**alerts, **limits})


def test_every_alert_has_a_rule() -> None:
    """Those that karat.toml knows are those that are judged."""
    assert list(RULES) == list(ALERTS)


def test_defaults_are_those_of_the_source() -> None:
    """Coverage, citation, delta-S, lambda, tau and p95, and for how long."""
    known = {name: (limit.limit, limit.minutes) for name, limit in ALERTS.items()}
    assert {**known, **known} | {
        "coverage": (0.70, 5), "citation": (0.95, 5), "delta_s_p90": (0.60, 3), "delta_s_median": (0.45, 3),
        "divergent": (0.10, 0), "rank_similarity": (0.6, 5), "p95": (0.30, 0), "index": (None, 0),
    } == known  # fmt: skip
    config = OnlineConfig()
    assert (config.samples, config.minutes, config.canary.steps[0]) == (200, 5, 5.0)
    assert (known["silence"], config.stale_minutes) == ((60, 0), 360), "far less than a day"


@each(
    "name, value, state",
    [
        ("errors", 0.05, "firing"),
        ("errors", 0.0, "fine"),
        ("nothing_found", 0.2, "firing"),
        ("nothing_found", 0.15, "fine"),
        ("asked_again", 0.3, "firing"),
        ("asked_again", 0.25, "fine"),
    ],
)
def test_shares_of_queries_by_hand(tmp_path: Path, name: str, value: float, state: str) -> None:
    """An alert from its limit on; the share is of the queries in the window."""
    path, count = tmp_path / f"{name}-{value}.db", round(20 * value)
    queries = make_window(0, 20)
    for i in range(count):
        if name == "errors":
            queries[i] = make_query(f"0-{i}", DAY + i, error="down", documents=(), count=None)
        elif name == "nothing_found":
            queries[i] = make_query(f"0-{i}", DAY + i, documents=(), count=0)
        else:
            queries[i] = make_query(f"0-{i}", DAY + i + 100, f"question {19 - i} please", session=f"0-{19 - i}")
    write(path, queries)
    alert = find(look(path, 1), name)
    assert (alert.value, alert.n, alert.state) == (pytest.approx(value), 20, state)


def test_what_is_asked_again_may_begin_before_the_window(path: Path) -> None:
    """Ten minutes before, in the same session; events that say so count as well, and seven of one query once."""
    write(path, [make_query("a", DAY - 60, "pool hours", session="x"), *make_window(0, 20),
                 make_query("b", DAY + 30, "pool hours today", session="x")])  # fmt: skip
    assert find(look(path, 1), "asked_again").value == pytest.approx(1 / 21)
    write(path, [], [LoggedEvent(str(i), DAY + i, RE_SEARCH, session="x") for i in range(7)])
    assert find(look(path, 1), "asked_again").value == pytest.approx(1 / 21)
    write(path, [], [LoggedEvent(f"e{i}", DAY + 60, RE_SEARCH, session=f"0-{i}") for i in range(6)])
    assert find(look(path, 1), "asked_again").value == pytest.approx(7 / 21)
    old = [make_query("o1", DAY - 7200, "sauna", session="y"), make_query("o2", DAY - 7100, "bar", session="")]
    write(path, old, [LoggedEvent("f1", DAY + 60, RE_SEARCH, session="y"),
                      LoggedEvent("f2", DAY + 60, RE_SEARCH, query="o2")])  # fmt: skip
    assert find(look(path, 1), "asked_again").value == pytest.approx(8 / 21), "o2 has no session"


def test_p95_rises_above_the_median_of_the_windows_before(path: Path) -> None:
    """By more than 30 %; one slow window before does not hide it, and a fixed baseline needs none."""
    for number, latency in enumerate((100.0, 300.0, 100.0, 130.0)):
        write(path, make_window(number, latency=latency))
    report = look(path, 4)
    assert [w.signals["p95"].value for w in report.windows] == [None, 2.0, -0.5, pytest.approx(0.3)]
    assert find(report, "p95").state == "fine"
    write(path, make_window(4, latency=131.0))
    alert = find(look(path, 5, record=False), "p95")
    assert alert.value == pytest.approx(131 / 115 - 1)  # the median of 100, 300, 100 and 130
    fixed = look(path, 5, replace(CONFIG, p95_ms=100.0), record=False)
    assert (find(fixed, "p95").state, find(fixed, "p95").value) == ("firing", pytest.approx(0.31))


def test_lists_are_compared_with_the_first_of_the_same_text(path: Path) -> None:
    """Tau-b by hand: two of three pairs turned is -1/3, and a change does not become normal at once."""
    write(path, make_window(0, documents=("a", "b", "c")))
    write(path, make_window(1, documents=("a", "b", "c")))
    for number in (2, 3):
        write(path, make_window(number, documents=("c", "a", "b")))
    report = look(path, 4)
    values = [w.signals["rank_similarity"].value for w in report.windows]
    assert values == [None, 1.0, pytest.approx(-1 / 3), pytest.approx(-1 / 3)]
    assert (find(report, "rank_similarity").state, find(report, "rank_similarity").minutes) == ("firing", 10)


def test_delta_s_and_lambda_as_hosts_log_them(path: Path) -> None:
    """Median and p90 interpolated; a number or a list, names or arrows; from the limits on."""
    distances = [0.3, *[0.45] * 10, *[0.6] * 9]
    queries = [
        make_query(str(i), DAY + i, attributes={"delta_s": d} if i % 2 else {"ΔS": [d, 0.9], "λ_state": "→"})
        for i, d in enumerate(distances)
    ]
    queries.append(make_query("x", DAY + 50, attributes={"delta_s": True, "lambda": "divergent"}))
    write(path, queries)
    report = look(path, 1)
    assert (find(report, "delta_s_median").value, find(report, "delta_s_median").state) == (0.45, "firing")
    assert (find(report, "delta_s_p90").value, find(report, "delta_s_p90").state) == (0.6, "firing")
    assert find(report, "divergent").value == pytest.approx(1 / 11)
    assert find(report, "divergent").state == "fine"


def test_the_index_changes_while_the_build_does_not(path: Path) -> None:
    """It stays an alert until the build changes, or the day before is over; with the build it may change."""
    write(path, make_window(0, build="b1", index="i1", normaliser="n"))
    assert find(look(path, 1), "index").state == "fine"
    for number in (1, 2):
        write(path, make_window(number, build="b1", index="i2", normaliser="n"))
    report = look(path, 3)
    alert = find(report, "index")
    assert (alert.state, alert.value, report.status) == ("firing", 20.0, "alert")
    assert alert.evidence == ("build 'b1': index 'i1' since 2023-11-15T00:00:00Z, 'i2' since 2023-11-15T00:05:00Z",)
    write(path, make_window(3, build="b2", index="i2", normaliser="n"))
    assert find(look(path, 4), "index").state == "fine"


def test_windows_with_different_normalisers_are_not_compared(path: Path) -> None:
    """Neither lists nor latencies; a window that has several is compared with none."""
    write(path, make_window(0, build="b1", index="i", normaliser="n1"))
    write(path, make_window(1, build="b1", index="i", normaliser="n2"))
    report = look(path, 2)
    for name in ("rank_similarity", "p95"):
        assert find(report, name).state == "not measurable"
        assert find(report, name).reason == "windows with different normalisers are not compared: n2, before n1"
    assert find(report, "normaliser").state == "firing"
    mixed = [make_query(f"m{i}", DAY + 600 + i, build="b2", index="i", normaliser=f"n{i % 2}") for i in range(20)]
    write(path, mixed)
    assert "several normalisers" in find(look(path, 3), "p95").reason
    write(path, make_window(3, build="b3", index="i", normaliser="n2"))
    assert find(look(path, 4), "rank_similarity").value == 1.0  # with the window that has the same one


@each(
    "name, reason",
    [
        ("coverage", "no answer is logged"),
        ("citation", "no answer is logged"),
        ("delta_s_p90", "no answer is logged"),
        ("divergent", "no answer is logged"),
        ("index", "no query says its index"),
        ("normaliser", "no query says its normaliser"),
        ("rank_similarity", "no complete window before"),
        ("p95", "0 queries have a latency; 5 are needed"),
        ("nothing_found", "0 queries of which it is known what came back; 5 are needed"),
        ("asked_again", "0 queries with a session; 5 are needed"),
    ],
)
def test_what_is_not_measured_is_never_fine(tmp_path: Path, name: str, reason: str) -> None:
    """It says why, and the exit code is 4."""
    path = tmp_path / f"{name}.db"
    write(path, make_window(0, latency=None, session="", documents=(), count=None))
    report = look(path, 1, only(name))
    (alert,) = report.alerts
    assert (alert.state, alert.value, report.status, exit_code(report)) == ("not measurable", None, "not measurable", 4)
    assert reason in alert.reason


def test_an_index_without_a_build_says_nothing(path: Path) -> None:
    """Nobody can tell whether it may change."""
    write(path, make_window(0, index="i1"))
    assert "not their build" in find(look(path, 1), "index").reason


def test_without_a_complete_window_nothing_is_measurable(path: Path) -> None:
    """With too few queries, and with none that are new; a log without a store has none either."""
    config = only("errors")
    write(path, make_window(0, 19))
    few = look(path, 2, config)
    assert "the one since 2023-11-15T00:00:00Z has 19 queries" in find(few, "errors").reason
    assert few.window is None
    write(path, make_window(1, 20))
    assert look(path, 2, config).status == "fine"
    stale = watch(path, config=replace(config, stale_minutes=60), now=DAY + 8000)
    assert "ended 2.1 hours ago" in find(stale, "errors").reason
    with pytest.raises(InputError):
        watch(path.with_name("none.db"), config=config)
    other = path.with_name("journal.db")
    with online.open(other) as log:
        log.record("a", [])
    report = watch(other, config=config)
    assert (report.status, report.waiting, other.exists()) == ("not measurable", 1, False)


def test_silence_is_told(path: Path) -> None:
    """From an hour on, by default; the others are not measurable then, and an alert that is open stays open."""
    config = only("silence", "errors", "dropped")
    write(path, make_window(0, 20, error="down"))
    report = look(path, 1, config)
    assert (find(report, "silence").state, find(report, "silence").value) == ("fine", pytest.approx((360 - 19) / 60))
    assert (report.newest, report.opened) == ("2023-11-15T00:00:19Z", ("errors",))
    assert describe_watch(report).endswith("2 of 3 alerts are fine. The newest query is 6 minutes old.")
    for hours, state in ((0.9, "fine"), (17.7, "firing")):
        later = watch(path, config=config, now=DAY + 19 + hours * 3600)
        assert find(later, "silence").state == state
    assert (later.status, later.opened, later.closed) == ("alert", ("silence",), ())
    assert find(later, "errors").reason.startswith("nothing was asked for 17.7 hours: the newest query is of 2023")
    assert describe_watch(later).endswith("The newest query is 17.7 hours old.")
    write(path, [make_query("late", DAY + 18 * 3600)])
    again = watch(path, config=config, now=DAY + 18 * 3600 + 60)
    assert again.closed == ("silence",)
    empty = path.with_name("empty.db")
    write(empty, [])
    assert find(watch(empty, config=config, now=DAY), "silence").reason == "no query is in the store"


def test_an_alert_holds_for_as_long_as_it_says(path: Path) -> None:
    """Windows in a row that are beyond the limit add up; one that is not begins anew."""
    config = only(errors=AlertLimit(limit=0.5, minutes=10))
    states = []
    for number, error in enumerate(("down", "", "down", "down", "down")):
        write(path, make_window(number, error=error))
        alert = find(look(path, number + 1, config), "errors")
        states.append((alert.state, alert.minutes))
    assert states == [("beyond", 5), ("fine", 0), ("beyond", 5), ("firing", 10), ("firing", 15)]


def test_what_is_beyond_its_limit_is_not_fine(path: Path) -> None:
    """Every query failed, for 5 of 10 minutes: no alert yet, and no word that it is fine."""
    config = only("nothing_found", errors=AlertLimit(limit=0.5, minutes=10))
    write(path, make_window(0, error="down"))
    report = look(path, 1, config)
    alert = find(report, "errors")
    assert (alert.value, alert.state, alert.minutes, alert.minutes_needed) == (1.0, "beyond", 5, 10)
    assert (report.status, report.opened) == ("fine", ())
    assert "errors is beyond the limit, not long enough to fire; 1 of 2 alerts is fine." in describe_watch(report)
    table = next(iter(list_watch_tables(report)))
    assert [row[:2] for row in table.rows] == [("errors", "beyond, for 5 of 10 min"), ("nothing_found", "fine")]
    page = render_watch_html(report)
    assert "Beyond a limit" in page
    assert "beyond</span>, for 5 of 10 min" in page


def test_an_open_alert_that_is_beyond_its_limit_again_is_not_closed(path: Path) -> None:
    """After ten bad minutes nobody could tell for a window, and the next is bad: five of ten minutes, still open."""
    config = only(errors=AlertLimit(limit=0.5, minutes=10))
    write(path, [*make_window(0, error="down"), *make_window(1, error="down")])
    assert look(path, 2, config).opened == ("errors",)
    later = look(path, 2, replace(config, alerts={"errors": AlertLimit(limit=0.5, minutes=15)}))
    assert (find(later, "errors").state, later.status, later.closed) == ("beyond", "alert", ())
    write(path, make_window(2))
    assert look(path, 3, config).closed == ("errors",)


def test_an_alert_is_opened_and_closed_once(path: Path) -> None:
    """It stays open while it fires, and while nobody can tell; a switch that is turned off closes it."""
    config = only(errors=AlertLimit(limit=0.5))
    changes = []
    for number, error in enumerate(("down", "down", "", "", "down")):
        write(path, make_window(number, error=error))
        report = look(path, number + 1, config)
        changes.append((report.status, report.opened, report.closed, find(report, "errors").opened))
    first, second = "2023-11-15T00:06:00Z", "2023-11-15T00:26:00Z"
    assert changes == [
        ("alert", ("errors",), (), first),
        ("alert", (), (), first),
        ("fine", (), ("errors",), None),
        ("fine", (), (), None),
        ("alert", ("errors",), (), second),
    ]
    stale = watch(path, config=replace(config, stale_minutes=1), now=DAY + 9000)
    assert (find(stale, "errors").state, stale.status, stale.closed) == ("not measurable", "alert", ())
    assert "Z: errors is open, and cannot be measured now; 0 of 1 alert are fine; 1 is not" in describe_watch(stale)
    assert [alert.name for alert in list_open_alerts(path)] == ["errors"]
    off = watch(path, config=only("nothing_found"), now=DAY + 9001)
    assert (off.closed, list_open_alerts(path)) == (("errors",), ())
    with open_store(path) as store:
        assert [(row[1], row[3] is not None) for row in store.alerts.list_all()] == [("errors", True), ("errors", True)]


def test_a_dry_look_changes_nothing(path: Path) -> None:
    """It says the same, and opens no alert."""
    write(path, make_window(0, error="down"))
    report = look(path, 1, record=False)
    assert (find(report, "errors").state, report.opened, list_open_alerts(path)) == ("firing", (), ())


def test_records_that_hosts_drop_are_an_alert_once(path: Path) -> None:
    """Those since the last look; the next one is fine if no more were dropped."""
    with online.open(path) as log:
        log.record("a", [])
        log.record("b", [], flags=1)
    online.ingest(path)
    config = only("dropped")
    now = 1.8e9
    first, second = (watch(path, config=config, now=now + i) for i in range(2))
    assert (find(first, "dropped").value, first.status, first.opened) == (1.0, "alert", ("dropped",))
    assert (find(second, "dropped").value, second.status, second.closed) == (0.0, "fine", ("dropped",))


def test_drops_are_an_alert_where_there_are_no_new_windows(path: Path) -> None:
    """A log that nobody writes to for a day but in vain."""
    write(path, make_window(0))
    assert look(path, 1, only("errors", "dropped")).status == "fine"
    with online.open(path) as log:
        log.record("a", [], time=DAY + 1)
        log.record("b", [], flags=1)
    online.ingest(path)
    late = watch(path, config=only("errors", "dropped"), now=DAY + 5 * 86_400)
    assert (late.opened, find(late, "errors").state) == (("dropped",), "not measurable")


def test_windows_before_those_that_are_shown_are_normal_too(path: Path) -> None:
    """Of them only the times are read: the baseline is the median of all windows of the day."""
    for number, latency in enumerate((100.0, 100.0, 100.0, 300.0, 300.0)):
        write(path, make_window(number, latency=latency))
    report = look(path, 5, replace(CONFIG, shown=1))
    assert (len(report.windows), find(report, "p95").value) == (1, pytest.approx(2.0))
    assert find(report, "p95").evidence == ("p95 300.0 ms, baseline 100.0 ms (the median of 4 windows before)",)
    write(
        path, [make_query(f"m{i}", DAY + 1500 + i, build="b", normaliser=f"n{i % 2}", latency=1.0) for i in range(20)]
    )
    write(path, make_window(6, latency=300.0))
    mixed = look(path, 7, replace(CONFIG, shown=1))
    assert find(mixed, "p95").evidence == ("p95 300.0 ms, baseline 100.0 ms (the median of 5 windows before)",)


def test_a_baseline_of_nothing_and_a_journal_with_damage(path: Path) -> None:
    """No rise can be told from 0 ms; what cannot be read of the journal is noted."""
    write(path, make_window(0, latency=0.0))
    write(path, make_window(1, latency=0.0))
    assert find(look(path, 2), "p95").reason == "the baseline's p95 is 0 ms"
    journal = path.with_name("karat.db.journal")
    journal.mkdir()
    (journal / "broken.seg").write_bytes(b"x" * 5000)
    names = {segment.suffix for segment in journal.iterdir()}
    assert names
    assert any("cannot be read" in note for note in look(path, 2, record=False).notes)


def test_all_alerts_off_is_not_fine(path: Path) -> None:
    """A watch that asks for nothing has measured nothing, and says so."""
    write(path, make_window(0, error="down"))
    off = replace(CONFIG, alerts={name: replace(limit, on=False) for name, limit in ALERTS.items()})
    report = look(path, 1, off)
    assert (report.status, exit_code(report)) == ("not measurable", 4)
    assert "every alert is switched off: nothing is watched" in report.notes
