"""Interleaved lists: by hand, what holds for any rankings, and the credit of a session."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any
from uuid import UUID

import pytest

from karat.core import UsageError
from karat.online.interleaving import Interleaved, compare_session, interleave


def test_by_hand() -> None:
    """Where both agree at the top nobody has a team; then each picks its best that is not there, in either order."""
    rankings = {"new": ["w", "x", "y"], "old": ["w", "y", "z"]}
    lists = {
        interleave(rankings, session=f"s{i}", query="q").documents: interleave(rankings, session=f"s{i}", query="q")
        for i in range(40)
    }
    assert set(lists) == {("w", "x", "y", "z"), ("w", "y", "x", "z")}
    assert lists["w", "x", "y", "z"].teams == (None, "new", "old", "old")  # new has nothing left for the last round
    assert lists["w", "y", "x", "z"].teams == (None, "old", "new", "old")


def test_what_holds_for_any_rankings() -> None:
    """No document twice, all that fit, in the order of each team's own ranking, and the same list again."""
    rng = random.Random(4)
    for case in range(300):
        rankings = {system: rng.sample("abcdefghij", rng.randint(0, 8)) for system in "nop"[: rng.randint(2, 3)]}
        k = rng.randint(1, 10)
        shown = interleave(rankings, k, session=f"s{case}", query="q")
        assert len(set(shown.documents)) == len(shown.documents)
        assert len(shown.documents) == min(k, len(set().union(*rankings.values())))
        for system, ranking in rankings.items():
            own = [document for document, team in zip(shown.documents, shown.teams, strict=True) if team == system]
            assert own == sorted(own, key=ranking.index)
        assert interleave(dict(reversed(rankings.items())), k, session=f"s{case}", query="q") == shown


def test_every_round_has_one_of_each_system() -> None:
    """However the draw falls, nobody gets more places than the others, or earlier ones."""
    rankings = {"n": list("abcde"), "o": list("fghij"), "p": list("klmno")}
    firsts: Counter[str | None] = Counter()
    for case in range(300):
        teams = interleave(rankings, 12, session=f"s{case}", query="q").teams
        assert all(set(teams[place : place + 3]) == {"n", "o", "p"} for place in range(0, 12, 3))
        firsts[teams[3]] += 1
    assert all(70 < count < 130 for count in firsts.values())


def test_draws_differ_by_session_query_and_salt() -> None:
    """About half of the draws change with each of them."""
    rankings = {"new": list("abcdef"), "old": list("fedcba")}
    base = [interleave(rankings, session=f"s{i}", query="q").teams[0] for i in range(400)]
    assert 160 < base.count("new") < 240
    for change in ({"query": "p"}, {"salt": "second"}):
        other = [interleave(rankings, session=f"s{i}", **({"query": "q"} | change)).teams[0] for i in range(400)]
        assert 140 < sum(a != b for a, b in zip(base, other, strict=True)) < 260


def test_a_draw_is_pinned() -> None:
    """Another version of karat or Python must draw the same: people see their list again."""
    shown = interleave({"a": list("xyz"), "b": list("yzw"), "c": list("wxv")}, session="s1", query="wifi", salt="t")
    assert "".join(shown.documents) == "wxyzv"
    assert "".join(team or "-" for team in shown.teams) == "cabac"


def test_the_credit_of_a_session() -> None:
    """Clicks of a team over those of both, over all pages; twice on one document is once; no click is a tie."""
    shown = Interleaved(systems=("new", "old"), documents=("a", "b", "c"), teams=("new", "old", None))
    assert shown.credit(["a", "a", "c", "elsewhere"]) == {"new": 1, "old": 0}
    assert compare_session([(shown, ["a"]), (shown, ["a", "b"])], "new", "old") == pytest.approx(1 / 3)
    assert compare_session([(shown, ["c"]), (shown, [])], "new", "old") == 0
    assert compare_session([], "new", "old") == 0
    with pytest.raises(UsageError, match="'newer' has no part"):
        compare_session([(shown, [])], "newer", "old")


def test_a_session_is_any_id() -> None:
    """As in the log and for a flag: a number is its text, and no session is the empty one."""
    rankings = {"new": ["w", "x"], "old": ["y", "z"]}
    for own, text in ((7, "7"), (None, ""), (UUID(int=7), str(UUID(int=7)))):
        assert interleave(rankings, session=own, query="q") == interleave(rankings, session=text, query="q")  # type: ignore[arg-type]
    numbers = {"new": [1, 2], "old": [1, 3]}
    assert interleave(numbers, session="s", query="q").documents[0] == 1  # type: ignore[arg-type]


@pytest.mark.parametrize("ranking", ["wifi", [("w", 0.5)], [object()], [{"id": "w"}], [None], None, 7])
def test_a_ranking_that_has_no_ids(ranking: Any) -> None:
    """Pairs with scores would never be the other system's documents, and a text is not its letters."""
    with pytest.raises(UsageError, match="a ranking is a list of ids of documents"):
        interleave({"new": ranking, "old": ["w"]}, session="s", query="q")


def test_what_is_refused() -> None:
    """One system, and no room."""
    with pytest.raises(UsageError, match="two systems"):
        interleave({"a": ["x"]}, session="", query="")
    with pytest.raises(UsageError, match="k=0"):
        interleave({"a": ["x"], "b": ["y"]}, 0, session="", query="")
