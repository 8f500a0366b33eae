"""Pseudo-relevance feedback: RM3's weights by hand, and what it does to a search."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from each import each
from karat.core import UsageError
from karat.systems._expand import QueryExpansion
from karat.systems.index import Lexical
from strategies import quick

PLAIN = Lexical(stemmer="none", stop_words="none")


def test_weights_by_hand() -> None:
    """Two hits of scores 3 and 1 are believed 3/4 and 1/4; the two best words are kept, and share one half.

    pool 3/4 * 1/4 = 0.1875; sauna 3/4 * 2/4 + 1/4 * 1/2 = 0.5; bar 3/4 * 1/4 = 0.1875; lift 1/4 * 1/2 = 0.125. Of equal
    ones the first by letters is kept: bar, and sauna; they add up to 0.6875.
    """
    hits = [(["pool", "sauna", "sauna", "bar"], 3.0), (["sauna", "lift"], 1.0)]
    weights = QueryExpansion(terms=2).weights(["pool", "pool", "when"], hits)
    assert weights == pytest.approx(
        {"pool": 0.5 * 2 / 3, "when": 0.5 / 3, "sauna": 0.5 * 0.5 / 0.6875, "bar": 0.5 * 0.1875 / 0.6875}
    )


def test_a_word_of_both_gets_both_shares() -> None:
    """A word of the query that the hits have too is added to."""
    assert QueryExpansion(original=0.6).weights(["pool"], [(["pool"], 9.0)]) == pytest.approx({"pool": 1.0})


def test_only_the_first_hits_are_believed() -> None:
    """Words of later hits play no part, and neither do hits without words or score."""
    hits = [([], 5.0), (["aa"], 0.0), (["bb"], 2.0), (["cc"], 1.0)]
    assert set(QueryExpansion(hits=3).weights(["qq"], hits)) == {"qq", "bb"}


def test_nothing_to_learn_from_changes_nothing() -> None:
    """Without hits the query is searched for as it is."""
    assert QueryExpansion().weights(["pool", "pool"], []) == {"pool": 2.0}
    assert QueryExpansion().weights([], [(["pool"], 1.0)]) == {}


WORDS = st.lists(st.sampled_from(["aa", "bb", "cc", "dd"]), min_size=1, max_size=6)


@quick
@given(WORDS, st.lists(st.tuples(WORDS, st.floats(0.1, 50)), min_size=1, max_size=12), st.floats(0, 1))
def test_weights_are_shares(query: list[str], hits: list[tuple[list[str], float]], original: float) -> None:
    """Weights are not negative and add up to 1; all of it is the query's when feedback gets no share."""
    weights = QueryExpansion(original=original).weights(query, hits)
    assert sum(weights.values()) == pytest.approx(1)
    assert min(weights.values()) >= 0
    alone = QueryExpansion(original=1).weights(query, hits)
    assert {word for word, weight in alone.items() if weight} == set(query)


def test_finds_what_the_query_does_not_name() -> None:
    """A text without any word of the query is found through the words that its hits share."""
    texts = ["pool sauna", "pool sauna steam", "sauna steam bath", "lift repair"]
    index = PLAIN.build(texts)
    assert 2 not in dict(index.search("pool", 9))
    hits = QueryExpansion(hits=2, terms=3).search(index, texts.__getitem__, "pool", 9)
    assert [number for number, _ in hits] == [0, 1, 2]
    assert QueryExpansion().search(index, texts.__getitem__, "zebra", 9) == []


def test_all_of_the_query_gives_the_same_order() -> None:
    """With original=1 the order is that of the plain search, with scores divided by the length of the query."""
    texts = ["aa bb", "bb cc", "aa aa cc", "dd"]
    index = PLAIN.build(texts)
    hits = QueryExpansion(original=1).search(index, texts.__getitem__, "aa bb", 9)
    assert hits == [(number, pytest.approx(score / 2)) for number, score in index.search("aa bb", 9)]


@each("options", [{"hits": 0}, {"terms": 0}, {"original": 1.1}, {"original": float("nan")}])
def test_mistakes_are_named(options: dict[str, float]) -> None:
    """Parameters that make no sense are refused by name."""
    with pytest.raises(UsageError, match=next(iter(options))):
        QueryExpansion(**options)  # type: ignore[arg-type]
