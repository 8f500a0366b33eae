"""Sessions rebuilt from records: by hand, against brute force, and with records that are wrong."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from each import each
from feedback.records import ask, tell
from karat.feedback import Oddities, Session, compare_words, find_passed, find_reused, judge_behaviour, rebuild_sessions
from karat.feedback._pairs import count_pairs
from karat.online import (
    RE_SEARCH,
    READ_AFTER_SEARCH,
    REFERENCE,
    SCROLL_PAST,
    TASK_OUTCOME,
    VALIDATE_NOT_USEFUL,
    VALIDATE_USEFUL,
    LoggedHit,
    LoggedQuery,
)
from karat.text import folded


def rebuild(queries: list[Any], events: list[Any], **options: Any) -> tuple[list[Session], dict[str, int]]:
    odd = Oddities()
    return list(rebuild_sessions(queries, events, oddities=odd, **options)), odd.describe()


def test_a_session_by_hand() -> None:
    """Asked, read at rank 3, asked again, validated, done: every event has its query."""
    queries = [
        ask("q1", 0, "wifi password", "pool", "bar", "wifi", "spa"),
        ask("q2", 60, "wifi password of the lobby", "lobby", "wifi", answer="Use the code.", citations=("lobby",)),
        ask("q3", 70, "when does the sauna open"),
    ]
    events = [
        tell("e1", 10, READ_AFTER_SEARCH, "wifi"),
        tell("e2", 65, VALIDATE_NOT_USEFUL, "wifi"),
        tell("e3", 66, VALIDATE_USEFUL, "lobby", query="q2"),
        tell("e4", 75, READ_AFTER_SEARCH, "house rules"),
        tell("e5", 80, "print"),
        tell("e6", 120, TASK_OUTCOME, value=0.5, attributes={"knowledgeDelta": 3}),
    ]
    [session], odd = rebuild(queries, events)
    first, second, third = session.queries
    assert (dict(first.read), first.passed, first.repeated, first.outcome) == (
        {"wifi": 3},
        ("pool", "bar"),
        True,
        "asked again",
    )
    assert (second.repeats, second.useful, second.not_useful, second.reused) == (
        "q1",
        ("lobby",),
        ("wifi",),
        ("lobby",),
    )
    assert (second.outcome, third.outcome, third.is_failure) == ("used", "nothing found", True)
    assert (session.seconds, session.accessed, session.actions) == (120, ("wifi", "house rules"), 1)
    assert session.unvalidated == ("house rules",)
    assert session.events == 6
    assert session.repeat_rate == pytest.approx(1 / 3)
    assert [event.id for event in session.unmatched] == ["e4"]
    assert session.outcomes[0].attributes == {"knowledgeDelta": 3}
    assert odd == {"not_shown": 1}
    [session], _ = rebuild(
        queries[:1], [tell("e1", 10, READ_AFTER_SEARCH, "wifi"), tell("e2", 300, RE_SEARCH, query="q1")]
    )
    assert (session.seconds, session.events) == (300, 2), "events that belong to a query count, too"


@each("outcomes", [[(0.0, "unknown")], [(0.0, "used"), (1.0, "used")], [(1.0, "unknown"), (0.0, "unknown")], []])
def test_citations_do_not_speak_for_a_task_that_failed(outcomes: list[tuple[float, str]]) -> None:
    """A system that cites something in every answer is of use only where the task did not end with 0."""
    queries = [
        ask("q1", 0, "wifi password", "pool", answer="By the pool.", citations=("pool",)),
        ask("q2", 5, "when does the sauna open", "sauna", answer="At six.", citations=("sauna",)),
    ]
    events = [tell(f"e{place}", 10 + place, TASK_OUTCOME, value=value) for place, (value, _) in enumerate(outcomes)]
    events.append(tell("r1", 9, READ_AFTER_SEARCH, "sauna", query="q2"))
    [session], _ = rebuild(queries, events)
    first, second = session.queries
    expected = outcomes[-1][1] if outcomes else "used"
    assert (first.outcome, second.outcome) == (expected, "used"), "what a person read is of use all the same"
    assert first.reused == ("pool",), "it was cited, whatever came of it"
    cited = {(text, name) for text, pairs in count_pairs([session]).queries.items() for name in pairs.cited}
    assert ((folded("wifi password"), "pool") in cited) == (expected == "used")


def test_events_name_their_query_or_belong_to_the_latest_that_showed_the_document() -> None:
    """The latest, not the first; and never one that was asked later, unless clocks differ by a few seconds."""
    queries = [ask("q1", 0, "a", "x", "y"), ask("q2", 100, "b", "y", "x"), ask("q3", 200, "c", "z")]
    reads = [
        ("e1", 50, "x", ""),
        ("e2", 150, "y", ""),
        ("e3", 250, "x", "q1"),
        ("e4", 197, "z", ""),
        ("e5", 90, "z", ""),
    ]
    events = [
        tell(name, time, READ_AFTER_SEARCH, document, query=query)
        for name, time, document, query in sorted(reads, key=lambda r: r[1])
    ]
    [session], odd = rebuild(queries, events)
    assert [dict(search.read) for search in session.queries] == [{"x": 1}, {"y": 1}, {"z": 1}]
    assert [event.id for event in session.unmatched] == ["e5"]
    assert odd == {"not_shown": 1}


def test_what_is_wrong_with_records_is_counted() -> None:
    """Twice the same id, a clock that was set back, no session, nothing asked before, a query that nobody knows."""
    queries = [
        ask("q1", 100, "wifi", "wifi"), ask("q1", 100, "wifi", "wifi"), ask("q2", 50, "pool", "pool"),
        ask("q3", 120, "spa", "spa", session=""),
    ]  # fmt: skip
    events = [
        tell("e0", 1, READ_AFTER_SEARCH, "wifi"),
        tell("e1", 110, READ_AFTER_SEARCH, "wifi"),
        tell("e1", 110, READ_AFTER_SEARCH, "wifi"),
        tell("e2", 111, READ_AFTER_SEARCH, "wifi", session=""),
        tell("e3", 112, READ_AFTER_SEARCH, "wifi", query="lost"),
        tell("e4", 130, READ_AFTER_SEARCH, "spa", session="", query="q3"),
    ]
    sessions, odd = rebuild(queries, events)
    assert odd == {
        "duplicates": 2, "backwards": 1, "without_session": 1, "before_any_query": 1, "not_shown": 1,
        "unknown_query": 1,
    }  # fmt: skip
    assert [[search.query.id for search in session.queries] for session in sessions] == [["q2", "q1"], ["q3"]]
    assert dict(sessions[1].queries[0].read) == {"spa": 1}


def test_sessions_end_when_nothing_comes_for_long() -> None:
    """They are yielded then, so that a year of traffic is not held at once; the same id begins another one."""
    queries = [ask(f"q{i}", 1000.0 * i, "wifi", "wifi", session=f"s{i % 2 if i < 4 else 0}") for i in range(8)]
    seen: list[str] = []

    def watch() -> Any:
        for query in queries:
            seen.append(query.id)
            yield query

    sessions = rebuild_sessions(watch(), [], idle=2500)
    first = next(sessions)
    assert ([search.query.id for search in first.queries], seen[-1]) == (["q1", "q3"], "q6")
    assert [len(session.queries) for session in sessions] == [6]
    late = tell("e", 9000, READ_AFTER_SEARCH, "wifi", session="s1")
    found, odd = rebuild(queries, [late], idle=2500)
    assert odd == {"before_any_query": 1, "not_shown": 1}
    assert sum(len(session.queries) for session in found) == 8


def test_half_a_day_without_anything_ends_a_session() -> None:
    """Unless somebody says otherwise: twelve hours belong together, and a second more does not."""
    for seconds, sessions in ((43_200.0, 1), (43_201.0, 2)):
        found, _ = rebuild([ask("q1", 0, "wifi", "a"), ask("q2", seconds, "pool", "a")], [])
        assert len(found) == sessions


@each(
    ("first", "second", "same"),
    [
        ("wifi password", "what is the wifi password", True),
        ("wifi password", "password for the wifi in the lobby", True),
        ("reset my password", "password reset not working", True),
        ("pool hours", "bar hours", False),
        ("pool hours", "parking", False),
        ("the", "of", False),
        ("the", "THE?", True),
    ],
)
def test_asking_again_is_told_from_asking_something_else(first: str, second: str, same: bool) -> None:
    """By the words that carry the subject; a name of one thing more or less is the same question."""
    assert (compare_words(first, second) > 0.5) == same
    [session], _ = rebuild([ask("q1", 0, first, "a"), ask("q2", 599, second, "a")], [])
    assert session.queries[0].repeated == same
    [session], _ = rebuild([ask("q1", 0, first, "a"), ask("q2", 601, second, "a")], [])
    assert not session.queries[0].repeated


def test_asking_again_is_one_of_the_five_before() -> None:
    """Whoever has asked five other things meanwhile has moved on."""
    for others, again in ((4, True), (5, False)):
        between = [ask(f"o{number}", 1 + number, f"subject{number}", "a") for number in range(others)]
        queries = [ask("q1", 0, "wifi password", "a"), *between, ask("q2", 9, "wifi password", "a")]
        [session], _ = rebuild(queries, [])
        assert session.queries[0].repeated is again


def test_events_that_say_it_are_believed() -> None:
    """Asked again, scrolled past and used, though nothing else shows it; whoever changes their mind means the last."""
    events = [
        tell("e1", 1, RE_SEARCH, query="q1"), tell("e2", 2, SCROLL_PAST, "a"), tell("e3", 3, REFERENCE, "b"),
        tell("e4", 4, VALIDATE_USEFUL, "b"), tell("e5", 5, VALIDATE_NOT_USEFUL, "b"),
    ]  # fmt: skip
    [session], odd = rebuild([ask("q1", 0, "wifi", "a", "b", "c")], events)
    [search] = session.queries
    assert (search.repeated, search.passed, search.reused, search.useful, search.not_useful) == (
        True,
        ("a",),
        ("b",),
        (),
        ("b",),
    )
    assert odd == {}


@each(
    ("kind", "fields", "outcome", "odd"),
    [
        (RE_SEARCH, {}, "asked again", ""),
        (RE_SEARCH, {"document": "elsewhere"}, "asked again", ""),
        (RE_SEARCH, {"query": "lost"}, "asked again", "unknown_query"),
        (VALIDATE_NOT_USEFUL, {"query": "q2"}, "not useful", ""),
        (VALIDATE_NOT_USEFUL, {}, "not useful", ""),
        (VALIDATE_NOT_USEFUL, {"query": "q2", "rank": 2}, "not useful", ""),
        (VALIDATE_NOT_USEFUL, {"query": "lost", "rank": 2}, "not useful", "unknown_query"),
        (VALIDATE_USEFUL, {"query": "q2"}, "used", ""),
        (VALIDATE_USEFUL, {}, "used", ""),
        (VALIDATE_USEFUL, {"query": "lost"}, "unknown", "unknown_query"),
        (VALIDATE_USEFUL, {"query": "q2", "rank": 9}, "unknown", "says_nothing"),
        (READ_AFTER_SEARCH, {"query": "q2", "rank": 2}, "used", ""),
        (READ_AFTER_SEARCH, {"rank": 2}, "used", ""),
        (READ_AFTER_SEARCH, {"query": "lost", "rank": 2}, "unknown", "unknown_query"),
        (READ_AFTER_SEARCH, {"query": "q2", "rank": 9}, "unknown", "says_nothing"),
        (READ_AFTER_SEARCH, {"query": "q2"}, "unknown", "says_nothing"),
        (READ_AFTER_SEARCH, {}, "unknown", "says_nothing"),
        (REFERENCE, {"rank": 1}, "used", ""),
        (SCROLL_PAST, {}, "unknown", "says_nothing"),
        ("impression", {"query": "q2"}, "unknown", ""),
    ],
)
def test_an_event_without_a_document_is_about_the_latest_query(
    kind: str, fields: dict[str, Any], outcome: str, odd: str
) -> None:
    """What speaks against a query is never lost; what says nothing is counted, and no query counts as used for it."""
    queries = [ask("q1", 0, "wifi", "a", "b"), ask("q2", 100, "pool", "c", "d"), ask("q3", 200, "sauna", "e")]
    [session], oddities = rebuild(queries, [tell("e", 150, kind, **fields)])
    assert [search.outcome for search in session.queries] == ["unknown", outcome, "unknown"]
    assert oddities == ({odd: 1} if odd else {})


def test_what_is_said_of_all_that_was_found_grades_no_document() -> None:
    """The last word counts; a document that was called useful is of use, whatever is said of the rest."""
    queries = [ask("q1", 0, "wifi", "a", "b")]
    useful, useless = (tell("v1", 1, VALIDATE_USEFUL, query="q1"), tell("v2", 2, VALIDATE_NOT_USEFUL, query="q1"))
    [session], _ = rebuild(queries, [useful, useless])
    [search] = session.queries
    assert (search.verdict, search.outcome, search.useful, search.not_useful) == (False, "not useful", (), ())
    assert judge_behaviour([session]) == []
    [session], _ = rebuild(queries, [useless, tell("v3", 3, VALIDATE_USEFUL, rank=2)])
    [search] = session.queries
    assert (search.outcome, search.useful, search.passed) == ("used", ("b",), ("a",))
    [session], _ = rebuild(queries, [tell("r", 1, READ_AFTER_SEARCH, rank=2)])
    assert dict(session.queries[0].read) == {"b": 2}


def test_verbatim_words_are_found_and_coincidence_is_not() -> None:
    """Eight words in a row, whatever case and punctuation; seven are not enough. A chunk counts as its document."""
    text = "The code of the front door is 4711 after ten at night."
    answer = "Guests: THE CODE of the front door, is 4711 - ask at the desk."
    assert find_reused(answer, {"door": text, "pool": "The pool is open."}) == ("door",)
    assert find_reused("the code of the front door is", {"door": text}) == ()
    hits = (LoggedHit("door", 1, chunk="door:chunk:0"), LoggedHit("pool", 2))
    query = LoggedQuery("q", 0, "door code", session="s", hits=hits, answer=answer, count=2)
    [session], _ = rebuild([query], [], texts={"door": text})
    assert session.queries[0].reused == ("door",)
    cited = LoggedQuery("q", 0, "door code", session="s", hits=hits, citations=("door:chunk:0",), count=2)
    [session], _ = rebuild([cited], [])
    assert session.queries[0].reused == ("door",)
    assert find_passed(["a", "b", "a", "c"], {"b", "c"}) == ("a",)


documents = st.sampled_from("abcd")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.lists(documents, unique=True, max_size=3)), max_size=8),
    st.lists(st.tuples(st.integers(0, 30), documents), max_size=8),
)
def test_reads_go_where_brute_force_puts_them(lists: list[tuple[int, list[str]]], read: list[tuple[int, str]]) -> None:
    """Every read looks through all queries for the latest that showed its document, and was not asked later."""
    queries = [ask(f"q{i:02}", 100.0 * time, f"text {i}", *shown) for i, (time, shown) in enumerate(sorted(lists))]
    events = [tell(f"e{i}", 100.0 * time, READ_AFTER_SEARCH, name) for i, (time, name) in enumerate(sorted(read))]
    sessions, _ = rebuild(queries, events)
    found = {(a.query.id, name) for session in sessions for a in session.queries for name in a.read}
    wanted = set()
    for event in events:
        fitting = [q for q in queries if q.time <= event.time and event.document in q.documents]
        if fitting:
            wanted.add((fitting[-1].id, event.document))
    assert found == wanted


@pytest.mark.slow
def test_the_work_grows_with_the_records() -> None:
    """Function calls, not seconds: eight times the records in one session are at most ten times the calls."""

    def count(size: int) -> int:
        queries = [
            ask(f"q{i:05}", float(i), f"word{i} thing{i}", *(f"d{(i + j) % 50}" for j in range(5))) for i in range(size)
        ]
        events = [tell(f"e{i:05}", i + 0.5, READ_AFTER_SEARCH, f"d{i % 50}") for i in range(size)]
        calls = 0

        def profile(_frame: Any, event: str, _argument: Any) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        sys.setprofile(profile)
        try:
            list(rebuild_sessions(queries, events))
        finally:
            sys.setprofile(None)
        return calls

    assert count(800) <= 10 * count(100)
