"""The longest runs of words that a text shares with another."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from karat.golden.lint._copying import Source
from karat.golden.lint._sequences import Sequences

WORDS = st.lists(st.sampled_from("abcd"), max_size=12)


@given(WORDS, WORDS)
def test_the_longest_run_that_ends_at_each_word_is_that_of_trying_all(text: list[str], words: list[str]) -> None:
    """Whatever repeats in text and query, each length is that of the longest run found by looking at every run."""
    runs = {tuple(text[i:j]) for i in range(len(text) + 1) for j in range(i, len(text) + 1)}
    lengths = [
        max(n for n in range(end + 1) if tuple(words[end - n : end]) in runs) for end in range(1, len(words) + 1)
    ]
    assert list(Sequences(text).longest(words)) == lengths


def test_a_text_has_at_most_two_states_for_each_word() -> None:
    """However words repeat, there are fewer than twice as many states as words: nothing is squared."""
    rng = random.Random(1)
    for letters in ("a", "ab", "abcdefgh"):
        assert len(Sequences([rng.choice(letters) for _ in range(1_000)])._length) < 2_000


def test_a_long_query_of_mere_grammar_is_not_copied_and_its_last_words_are_seen() -> None:
    """A run of stop words is no copy however long it is, until it goes on to five words of the subject."""
    grammar = ["the", "of", "a", "to", "in", "and", "is", "it"] * 250
    subject = ["reset", "button", "access", "point", "router"]
    text = " ".join([*grammar, *subject])
    assert not Source(text).gave(" ".join([*grammar, "x", *grammar]))
    assert Source(text).gave(" ".join(["y"] * 900 + [*grammar[-9:], *subject]))
