"""The report on live traffic: by hand, with hostile texts, and the level of its intervals."""

from __future__ import annotations

import math
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from scipy import stats as scipy

from feedback.records import ask, tell
from karat import online
from karat.core import GoldenSet, Judgment, Query, Target, UsageError
from karat.feedback import (
    Oddities,
    harvest_log,
    rebuild_sessions,
    report_clicks,
    report_log,
    report_sessions,
    summarise_sessions,
)
from karat.online import READ_AFTER_SEARCH, TASK_OUTCOME, VALIDATE_NOT_USEFUL, VALIDATE_USEFUL, export_log
from karat.online._shadow_records import ShadowDraft
from karat.online._stored import event_row, query_row
from karat.online.shadow import report_shadow
from karat.reports import render_online_html
from karat.schema.feedback import OnlineReport
from karat.stats.clicks import clustered_share
from karat.store import open_store

DAY = 86400.0
GOLD = GoldenSet(
    name="set",
    queries=(
        Query(id="g1", text="Where is the pool?", intent="find"),
        Query(id="g2", text="What does breakfast cost?"),
    ),
    judgments=(Judgment(query="g1", target=Target(document="pool"), grade=3),),
)


def make_report(golden: GoldenSet | None = GOLD) -> OnlineReport:
    queries = [
        ask(
            "1",
            10,
            "where is pool",
            "pool",
            "spa",
            session="a",
            intent="find",
            latency=10.0,
            answer="There.",
            citations=("pool",),
        ),
        ask("2", 20, "wifi password", "spa", session="a", latency=30.0),
        ask("3", 30, "wifi password lobby", "wifi", session="a", latency=20.0),
        ask("4", DAY + 1, "Where is the pool?", "spa", session="b", intent="find", answer="No idea.", weight=2.0),
        ask("5", DAY + 2, "helipad", session="c"),
        ask("6", DAY + 3, "helipad", session="d"),
        ask("7", DAY + 4, "not recorded", session="e", count=None),
        ask("8", DAY + 5, "broken", session="e", error="timeout", count=None),
    ]
    events = [
        tell("e1", 12, READ_AFTER_SEARCH, "spa", session="a"),
        tell("e2", 35, VALIDATE_USEFUL, "wifi", session="a"),
        tell("e3", 50, TASK_OUTCOME, session="a", value=0.5),
        tell("e4", DAY + 2, VALIDATE_NOT_USEFUL, "spa", session="b"),
        tell("e5", DAY + 9, READ_AFTER_SEARCH, "x", session="zz"),
    ]
    odd = Oddities()
    return report_sessions(rebuild_sessions(queries, events, oddities=odd), golden, store="live.db", oddities=odd)


def test_a_report_by_hand() -> None:
    """Eight queries of five sessions; what nobody recorded is in no total of what was found."""
    report = make_report()
    assert (report.queries, report.estimated, report.sessions, report.first) == (8, 9, 5, "1970-01-01T00:00:10Z")
    rates = {rate.name: (rate.count, rate.total) for rate in report.rates}
    assert rates == {
        "nothing found": (2, 7), "error": (1, 8), "asked again": (1, 8), "not useful": (1, 8), "used": (2, 8),
        "used, by the answer alone": (0, 8), "failed": (5, 8), "unknown": (1, 8), "useful, of those validated": (1, 2),
    }  # fmt: skip
    assert report.latency is not None
    assert (report.latency.n, report.latency.p50, report.rank_read, report.task_outcome) == (3, 20.0, 2, 0.5)
    assert [(day.day, day.queries, day.failures) for day in report.days] == [("1970-01-01", 3, 1), ("1970-01-02", 5, 4)]
    assert (report.worst[0].text, report.worst[0].failures) == ("helipad", 2)
    assert {intent.intent: (intent.queries, intent.golden_share) for intent in report.intents} == {
        "": (6, 0.5),
        "find": (2, 0.5),
    }
    assert report.oddities == {"before_any_query": 1, "not_shown": 1}
    assert len(report.notes) == 3


def test_the_last_outcome_of_a_session_counts_and_nothing_is_cut(tmp_path: Path) -> None:
    """By hand, alike from a store and from files: the last number counts, and one beyond 1 says nothing."""
    said = {"a": (1.0, 0.5), "b": (0.25,), "c": (1.0, 7.0), "d": (7.0,), "e": (None,), "f": (0.5, None)}
    queries = [ask(name, 1.0, "wifi", "wifi", session=name) for name in said]
    events = [
        tell(f"{name}{place}", 2.0 + place, TASK_OUTCOME, session=name, value=value)
        for name, values in said.items()
        for place, value in enumerate(values)
    ]
    oddities = Oddities()
    sessions = list(rebuild_sessions(queries, events, oddities=oddities))
    outcomes = {session.id: session.task_outcome for session in sessions}
    assert outcomes == {"a": 0.5, "b": 0.25, "c": None, "d": None, "e": None, "f": 0.5}
    report = report_sessions(sessions, oddities=oddities)
    assert (report.tasks, report.task_outcome) == (3, (0.5 + 0.25 + 0.5) / 3)
    assert report.oddities == {"odd_outcomes": 2}
    path = tmp_path / "live.db"
    with open_store(path, write=True) as store, store.transaction():
        store.add_queries([query_row(query) for query in queries])
        store.add_events([event_row(event) for event in events])
    export_log(path, tmp_path / "files", format="parquet")
    again = report_log(tmp_path / "files")
    assert (again.tasks, again.task_outcome, again.oddities) == (3, report.task_outcome, report.oddities)


def test_what_only_the_answer_uses_is_counted_beside_what_people_use(tmp_path: Path) -> None:
    """An agent that cites something each time looks useful: two of four used queries rest on its own word alone."""
    path = tmp_path / "live.db"
    with online.open(path) as log:
        for number, event in enumerate(("", "", READ_AFTER_SEARCH, VALIDATE_USEFUL)):
            log.record(f"question {number}", ["a"], session=number, answer="As [a] says.", citations=["a"])
            if event:
                log.feedback(event, session=number, document="a")
        log.record("nobody cites", ["a"], session="last", answer="No idea.")
    online.ingest(path)
    report = report_log(path)
    rates = {rate.name: (rate.count, rate.total) for rate in report.rates}
    assert (rates["used"], rates["used, by the answer alone"], rates["unknown"]) == ((4, 5), (2, 5), (1, 5))
    online.export_log(path, tmp_path / "files", format="parquet")
    assert report_log(tmp_path / "files").rates == report.rates


def test_a_report_says_what_is_not_in_it(tmp_path: Path) -> None:
    """Records that wait in the journal may be failures; whoever reads the rates has to know."""
    path = tmp_path / "live.db"
    with online.open(path) as log:
        log.record("first", ["a"], session="s")
        online.ingest(path)
        assert not any("wait" in note or "lost" in note for note in report_log(path).notes)
        log.record("second", [], session="s")
        log.record("third", [], session="s")
    report = report_log(path)
    assert report.queries == 1
    assert report.notes[-1] == f"2 records wait in the journal and are not counted here: run karat online ingest {path}"
    with online.open(path, segment_bytes=8192) as log:
        log.record("x" * 100_000, [], session="s")
    online.ingest(path)
    reason = f"karat online health {path} says how many, and why"
    assert report_log(path).notes[-1] == f"records were lost and are not counted here: {reason}"
    online.acknowledge_drops(path, author="me", reason="a test")
    assert "lost" not in report_log(path).notes[-1]


def test_drift_is_what_the_set_does_not_have() -> None:
    """Two of eight queries are in it; both have answers, and one of them cites what is relevant."""
    drift = make_report().drift
    assert drift is not None
    assert (drift.covered.count, drift.covered.total, drift.unseen, drift.not_asked) == (2, 8, 5, 1)
    assert (drift.citations.count, drift.citations.total) == (1, 2)
    assert drift.most_asked[0].text == "helipad"
    near = report_sessions(rebuild_sessions([ask("1", 1, "what will breakfast cost us", "a")], []), GOLD).drift
    assert near is not None
    assert near.most_asked[0].nearest == "g2"
    assert near.most_asked[0].nearest_text == "What does breakfast cost?"
    assert make_report(None).drift is None


def test_the_nearest_golden_query_is_the_one_with_the_same_words() -> None:
    """Another one may share all of its words, too, since words without meaning do not count."""
    golden = GoldenSet(queries=tuple(Query(id=name, text=text) for name, text in (
        ("a", "VPN token?"), ("z", "the vpn token, please"), ("y", "how do I get into the office"),
    )))  # fmt: skip
    for text, nearest in (("vpn token", "a"), ("The VPN token please", "z"), ("a vpn token for me", "z")):
        report = report_sessions(rebuild_sessions([ask("1", 1, text, error="no index")], []), golden)
        assert report.worst[0].nearest == nearest


def test_a_report_without_queries_says_so() -> None:
    """Nothing is a number then."""
    report = report_sessions([], GOLD)
    assert (report.queries, report.first, report.latency, report.minutes_per_session) == (0, "", None, None)
    assert {rate.share for rate in report.rates} == {None}
    assert report.notes == ("there are no queries",)
    assert "There are no queries" in render_online_html(report)


def test_a_query_ends_as_it_ends_most_often_and_has_one_outcome_in_all_tables() -> None:
    """Two of five found nothing and three are unknown; what is asked again and found nothing is not counted twice."""
    queries = [ask(str(i), 10.0 * i, "sauna", *("a" * (i > 1)), session=f"s{i}", latency=0.2) for i in range(5)]
    queries += [ask("5", 100, "pool bar", session="t"), ask("6", 110, "pool bar hours", "a", session="t")]
    queries += [ask("7", 200, "gym", session="u"), ask("8", 300, "gym", "a", session="v")]
    report = report_sessions(rebuild_sessions(queries, []), GOLD, store="live.db")
    assert {query.text: (query.outcome, query.failures) for query in report.worst} == {
        "sauna": ("unknown", 2), "pool bar": ("nothing found", 1), "gym": ("nothing found", 1),
    }  # fmt: skip
    rates = {rate.name: rate.count for rate in report.rates}
    assert rates == {**dict.fromkeys(rates, 0), "nothing found": 4, "failed": 4, "unknown": 5}
    assert sum(intent.asked_again for intent in report.intents) == rates["asked again"]
    assert "p50 0.2 ms, p95" in render_online_html(report)


def test_a_span_without_queries_is_told_and_a_reversed_one_is_refused(tmp_path: Path) -> None:
    """A store with queries is not called empty."""
    path = tmp_path / "live.db"
    with online.open(path) as log:
        for at in (1.7e9 + 10, 1.7e9 + 20):
            log.record("wifi", ["a"], session="s", time=at)
    online.ingest(path)
    assert report_log(path, since=1.7e9 + 30).notes == ("none of the 2 queries in the store is in this span",)
    assert harvest_log(path, since=1.7e9 + 30).report.notes == report_log(path, until=1.7e9 + 5).notes
    for read in (report_log, harvest_log):
        with pytest.raises(UsageError, match="ends before it begins"):
            read(path, since=1.7e9 + 30, until=1.7e9 + 20)


def test_a_page_cuts_long_queries_and_marks_days_without_traffic() -> None:
    """The whole text opens; the nearest golden query has its text; events of no session are told; one is one."""
    long = "sauna " * 400
    queries = [ask("1", 0, long, session="s"), ask("2", DAY * 40, "what will breakfast cost us", session="t")]
    odd = Oddities()
    sessions = rebuild_sessions(queries, [tell("e", 5, READ_AFTER_SEARCH, "x", session="")], oddities=odd)
    page = render_online_html(report_sessions(sessions, GOLD, oddities=odd))
    assert f"<summary>{long[:120]} ...</summary>" in page
    assert "g2: What does breakfast cost?" in page
    assert "Beside the golden set set: 2 of its own were not asked" in page
    assert '<td>1970-01-02 to 1970-02-09</td><td class="number">no traffic</td>' in page
    assert "0, and 1 that belongs to no session or query" in page
    one = report_sessions(rebuild_sessions([ask("1", 0, "wifi", "a")], [])).notes
    assert one[:2] == (
        "1 session is few: look at the intervals",
        "the outcome of 1 query is unknown; it does not count as used",
    )


def test_a_summary_of_a_session_by_hand() -> None:
    """Reciprocal ranks only where the set knows what is right: rank 2, nothing right, and a query it does not have."""
    queries = [
        ask("1", 0, "where is pool", "spa", "spa", "pool"), ask("2", 60, "Where is the pool?", "spa"),
        ask("3", 90, "helipad", "roof"), ask("4", 95, "what does breakfast cost", "menu"),
    ]  # fmt: skip
    events = [
        tell("e1", 5, READ_AFTER_SEARCH, "pool"), tell("e2", 96, VALIDATE_NOT_USEFUL, "roof"),
        tell("e3", 120, TASK_OUTCOME, value=1.0, attributes={"learningIndex": 7}),
    ]  # fmt: skip
    [summary] = summarise_sessions(rebuild_sessions(queries, events), GOLD)
    assert [query.reciprocal_rank for query in summary.queries] == [0.5, 0.0, None, None]
    assert (summary.mean_reciprocal_rank, summary.searches, summary.accessed, summary.minutes) == (0.25, 4, 1, 2.0)
    assert (summary.repeat_rate, summary.queries[1].repeats) == (0.25, "1")
    assert summary.task_outcomes == ({"value": 1.0, "learningIndex": 7},)
    assert [(v.document, v.useful) for v in summary.queries[2].validated] == [("roof", False)]
    assert (summary.queries[0].results, summary.queries[0].selected) == (("spa", "pool"), ("pool",))
    assert summary.unvalidated == ("pool",)
    [alone] = summarise_sessions(rebuild_sessions(queries, []))
    assert alone.mean_reciprocal_rank is None


class Page(HTMLParser):
    """The elements of a page, and the texts in it."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, _: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.seen.append(data)


def test_hostile_texts_are_texts_on_the_page() -> None:
    """No markup comes from a query, a document, an intent or a store; no script is there at all."""
    evil = "</td><script>alert(1)</script><img src=x onerror=alert(1)>\u202e\x1b[31m"
    sessions = list(rebuild_sessions([ask("1", 1, evil, session=evil, intent=evil)], []))
    golden = GoldenSet(name=evil, queries=(Query(id=evil, text=evil + " more"),))
    page = Page()
    text = render_online_html(report_sessions(sessions, golden, store=evil))
    page.feed(text)
    assert not {"script", "img"} & set(page.tags)
    assert sum("<script>alert(1)" in seen for seen in page.seen) >= 3
    assert not {"\u202e", "\x1b"} & set(text)
    assert "script-src" not in text


def test_dates_and_numbers_of_the_page_stay_whole() -> None:
    """Days of the lead do not break over lines, and numbers stand under each other."""
    sessions = list(rebuild_sessions([ask("1", 0, "wifi", "a"), ask("2", 86_400 * 3, "pool", "b", session="t")], []))
    page = render_online_html(report_sessions(sessions, store="karat.db"))
    assert 'in 2 sessions, <span class="whole">1970-01-01</span> to <span class="whole">1970-01-04</span>.' in page
    assert '<td>1970-01-01</td><td class="number">1</td>' in page
    assert '<th scope="col" class="number">failures</th>' in page


def test_shares_of_clusters() -> None:
    """One query a session is Clopper and Pearson; sessions that agree with themselves count once; nothing is 0 to 1."""
    exact = scipy.binomtest(3, 12).proportion_ci(0.95, method="exact")
    assert clustered_share([1] * 3 + [0] * 9, [1] * 12) == (0.25, pytest.approx(exact.low), pytest.approx(exact.high))
    assert clustered_share([9] * 3 + [0] * 9, [9] * 12) == pytest.approx((0.25, exact.low, exact.high))
    share, low, high = clustered_share([0] * 5, [40] * 5)
    assert (share, low) == (0.0, 0.0)
    assert high == pytest.approx(scipy.beta.ppf(0.975, 1, 5))
    assert math.isnan(clustered_share([], [])[0])
    assert clustered_share([0, 0], [0, 0])[1:] == (0.0, 1.0)


@pytest.mark.calibration
@pytest.mark.slow
def test_intervals_of_shares_keep_their_level_though_sessions_are_alike() -> None:
    """Sessions of one to nine queries, each with a rate of its own: the truth is inside in 95 %, not so by queries."""
    rng = np.random.default_rng(8)
    inside, naive, runs = 0, 0, 100
    for _ in range(runs):
        totals = rng.integers(1, 10, 60)
        counts = rng.binomial(totals, rng.beta(0.3, 1.2, 60))
        share, low, high = clustered_share(counts, totals)
        inside += low <= 0.2 <= high
        naive += abs(share - 0.2) <= 1.96 * math.sqrt(share * (1 - share) / totals.sum())
    assert inside / runs >= 0.92
    assert naive / runs < 0.85


def test_whatever_reads_a_log_tells_what_waits(tmp_path: Path) -> None:
    """Reports, harvests, estimates and shadows do not read the journal, and say how many records they lack."""
    path = tmp_path / "live.db"
    with online.open(path) as log:
        log.record("wifi", ["a"], session="s")
        log.write(ShadowDraft("1", 1.7e9, "f", "wifi", control=("a",), treatment=("a",)))
    online.ingest(path)
    with online.open(path) as log:
        log.record("pool", ["b"], session="s")
    note = f"1 record waits in the journal and is not counted here: run karat online ingest {path}"
    reports = report_log(path), harvest_log(path).report, report_clicks(path), report_shadow(path, "f")
    assert [report.notes.count(note) for report in reports] == [1, 1, 1, 1]
    online.ingest(path)
    reports = report_log(path), harvest_log(path).report, report_clicks(path), report_shadow(path, "f")
    assert not any("waits" in note for report in reports for note in report.notes)
