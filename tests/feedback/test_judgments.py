"""Judgments from behaviour, by hand: what counts more, what counts once, and what is unjudged."""

from __future__ import annotations

import pytest
from scipy import stats as scipy

from feedback.records import ask, tell
from karat.feedback import (
    AskedQuery,
    Session,
    count_pairs,
    grade_like_agent,
    judge_behaviour,
    learn_trigger_phrases,
    list_validations,
    rebuild_sessions,
    track_confidence,
)
from karat.online import READ_AFTER_SEARCH, VALIDATE_NOT_USEFUL, VALIDATE_USEFUL


def visit(name: str, text: str = "wifi", documents: str = "abc", **uses: object) -> Session:
    """Return a session with one query that returned some documents."""
    return Session(id=name, queries=(AskedQuery(query=ask(name, 0, text, *documents, session=name), **uses),))  # type: ignore[arg-type]


def test_validation_counts_more_than_citations_and_those_more_than_reading() -> None:
    """Each with its own interval and n; a tie of votes has no grade, and what nobody touched no judgment."""
    sessions = [visit(f"s{i}", read={"a": 1, "b": 2}, reused=("b",), useful=("c",) if i < 3 else ()) for i in range(30)]
    sessions += [visit(f"t{i}", not_useful=("c", "d")) for i in range(2)] + [
        visit("u", useful=("d",), not_useful=("e",), documents="ad")
    ]
    sessions.append(visit("v", useful=("e",)))
    found = {judgment.document: judgment for judgment in judge_behaviour(sessions)}
    assert {name: (j.grade, j.evidence, j.n) for name, j in found.items()} == {
        "a": (2, "read", 34), "b": (2, "cited", 33), "c": (3, "validated", 5), "d": (0, "validated", 3),
        "e": (None, "validated", 2),
    }  # fmt: skip
    exact = scipy.binomtest(3, 5).proportion_ci(0.95, method="exact")
    assert (found["c"].low, found["c"].high, found["c"].estimate) == (
        pytest.approx(exact.low),
        pytest.approx(exact.high),
        0.6,
    )
    assert found["a"].estimator == "sdbn"  # nothing moved, so that nobody knows who looks where
    assert found["a"].low >= 0.3


def test_few_lists_are_no_judgment_and_neither_is_what_nobody_read() -> None:
    """Nine lists are too few; c was shown ten times and not read, which says nothing."""
    assert judge_behaviour([visit(f"s{i}", read={"a": 1}) for i in range(9)]) == []
    [judgment] = judge_behaviour([visit(f"s{i}", read={"a": 1}) for i in range(10)])
    assert (judgment.document, judgment.n, judgment.grade) == ("a", 10, 2)
    [rare] = judge_behaviour([visit(f"s{i}", read={"a": 1} if i == 0 else {}) for i in range(40)])
    assert (rare.grade, rare.low < 0.1 < rare.high) == (None, True)


def test_reading_grades_by_the_lower_end_of_its_interval() -> None:
    """From 0.1 on a document is marginal, from 0.3 on relevant: readers among a hundred, around both limits."""
    ends = {}
    for readers, grade in ((16, None), (17, 1), (39, 1), (40, 2)):
        sessions = [visit(f"s{i}", documents="a", read={"a": 1} if i < readers else {}) for i in range(100)]
        [own] = judge_behaviour(sessions)
        assert own.grade == grade
        ends[readers] = own.low
    assert ends[16] < 0.1 <= ends[17]
    assert ends[39] < 0.3 <= ends[40]


def test_one_session_counts_once_and_spelling_does_not_count() -> None:
    """Somebody who asks six times and reads once is one reader; the form that most people write is shown."""
    six = [ask(f"q{i}", i, "The WiFi?", "a", "b") for i in range(6)]
    queries = [*six, ask("r", 99, "wifi", "b", "a", "a", session="t"), ask("s", 100, "wifi", "a", session="u")]
    events = [tell("e", 3.5, READ_AFTER_SEARCH, "a")]
    counts = count_pairs(rebuild_sessions(queries, events))
    assert counts.queries["wifi"].cells == {  # by rank: shown, read, at or above the last one that was read, that one
        "a": {1: [2, 1, 2, 1], 2: [1, 0, 1, 0]},
        "b": {1: [1, 0, 1, 0], 2: [1, 0, 0, 0]},
    }
    cells = counts.cells
    assert list(zip(cells.items.tolist(), cells.ranks.tolist(), cells.shown.tolist(), strict=True)) == [
        (0, 1, 2), (0, 2, 1), (1, 1, 1), (1, 2, 1),
    ]  # fmt: skip
    [judgment] = judge_behaviour(counts, minimum=1)
    assert judgment.query == "wifi"


def test_grades_of_agent_by_hand() -> None:
    """Read 2, useful 3, not useful 0 unless somebody else says useful, and everything else that was shown 1."""
    sessions = [visit("s", read={"a": 1}, not_useful=("b", "c")), visit("t", useful=("c",))]
    assert grade_like_agent(sessions) == {"wifi": {"a": 2, "b": 0, "c": 3}}
    assert grade_like_agent([visit("s", documents="abcdef")], depth=2) == {"wifi": {"a": 1, "b": 1}}


def test_phrases_need_two_sessions_and_no_majority_against_them() -> None:
    """The same session counts once; a document that is more often not useful learns nothing."""
    read = {"a": 1}
    sessions = [
        visit("s", "the door code", read=read),
        visit("t", "Door code?", read=read),
        visit("u", "pin", read=read),
    ]
    sessions += [visit(f"v{i}", "code", read={"b": 1}, not_useful=("b",)) for i in range(3)]
    [phrase] = learn_trigger_phrases(sessions)
    assert (phrase.document, phrase.phrase, phrase.sessions) == ("a", "door code", 2)
    assert [phrase.phrase for phrase in learn_trigger_phrases(sessions, least=1)] == ["door code", "pin"]


def test_validations_keep_their_query_and_move_confidence() -> None:
    """Steps of +0.10 and -0.05 between 0 and 1; promotion at 0.9 with five; a negative one names the query and rank."""
    queries = [ask(f"q{i}", i * 10, "door code", "x", "door") for i in range(8)]
    kinds = [VALIDATE_USEFUL] * 6 + [VALIDATE_NOT_USEFUL] * 2
    events = [tell(f"e{i}", i * 10 + 1, kind, "door") for i, kind in enumerate(kinds)]
    said = list(list_validations(rebuild_sessions(queries, events)))
    assert [(v.query, v.text, v.rank) for v in said if not v.useful] == [("q6", "door code", 2), ("q7", "door code", 2)]
    steps = [track_confidence(said[:n])[0] for n in range(1, 9)]
    assert [step.confidence for step in steps] == [0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 0.95, 0.9]
    assert [step.promotable for step in steps] == [False] * 4 + [True] * 4
    assert (steps[-1].validations, steps[-1].useful) == (8, 6)
