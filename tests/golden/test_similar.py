"""Texts that are nearly the same."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.golden.lint import _similar
from karat.golden.lint._similar import Groups, Pair, clusters, near_duplicates
from karat.text._words import letters
from strategies import quick

VOCABULARY = [f"w{i}" for i in range(5_000)]


def brute_force(texts: list[str], threshold: float, width: int = 3) -> dict[tuple[int, int], float]:
    """Compare every pair, in plain Python."""
    sets = []
    for text in texts:
        split = text.split()
        sets.append(set(zip(*(split[i:] for i in range(width)), strict=False)))
    shares = {(i, j): len(sets[i] & sets[j]) / len(sets[i] | sets[j]) for i, j in combinations(range(len(sets)), 2)}
    return {pair: share for pair, share in shares.items() if share >= threshold}


def changed(text: list[str], count: int, rng: random.Random) -> list[str]:
    """Replace some words."""
    copy = list(text)
    for place in rng.sample(range(len(copy)), count):
        copy[place] = rng.choice(VOCABULARY)
    return copy


def families(seed: int, count: int, length: int, most: int) -> list[str]:
    """Return texts in families of one to three, with up to ``most`` words changed."""
    rng = random.Random(seed)
    texts: list[str] = []
    for _ in range(count):
        base = rng.choices(VOCABULARY, k=length)
        texts += [" ".join(base)] + [
            " ".join(changed(base, rng.randint(1, most), rng)) for _ in range(rng.randrange(3))
        ]
    rng.shuffle(texts)
    return texts


def test_a_pair_by_hand() -> None:
    """Ten words have eight runs of three; with the last word changed seven are shared, of nine."""
    text = "a b c d e f g h i j"
    other = "a b c d e f g h i k"
    assert near_duplicates([text, other], threshold=0.7) == [Pair(0, 1, 7 / 9)]
    assert near_duplicates([text, other], threshold=0.78) == []


def test_case_and_punctuation_do_not_count() -> None:
    """The words decide, so that another spelling is the same text."""
    assert near_duplicates(["Check-in: from 3 PM!", "nothing of the kind", "check in FROM 3 pm"]) == [Pair(0, 2, 1.0)]


def test_the_same_text_is_paired_with_its_first() -> None:
    """Copies give a star, not all pairs, and other texts are compared with the first copy only."""
    text = "the pool opens at seven and closes at ten in the evening on all days"
    near = text + " but sundays"
    assert near_duplicates([text, text, near, text]) == [Pair(0, 1, 1.0), Pair(0, 2, 13 / 15), Pair(0, 3, 1.0)]


def test_empty_texts_are_like_nothing() -> None:
    """Texts without words have no pairs, not even with each other."""
    assert near_duplicates([]) == []
    assert near_duplicates(["", " ", "...", "word"]) == []
    assert near_duplicates(["", "word", "", "word"]) == [Pair(1, 3, 1.0)]


def test_short_texts_are_compared_whole() -> None:
    """A text of fewer words than a run has is one run."""
    assert near_duplicates(["free wifi", "free wifi!", "free parking"]) == [Pair(0, 1, 1.0)]


def test_text_without_spaces_is_compared_by_character() -> None:
    """One changed character of thirty leaves 25 of 31 runs; as one long word it would leave nothing."""
    text = "".join(chr(0x4E00 + i) for i in range(30))
    assert near_duplicates([text, text[:15] + chr(0x5E00) + text[16:]]) == [Pair(0, 1, 25 / 31)]


def test_letters_find_queries_in_another_order() -> None:
    """Queries are too short for runs of words: three-letter runs of each word find order and endings changed."""
    texts = ["reset wifi password", "wifi password reset", "reset wifi passwords", "cancel my booking"]
    pairs = near_duplicates(texts, tokens=letters, width=1)
    assert [(pair.first, pair.second) for pair in pairs] == [(0, 1), (0, 2), (1, 2)]
    assert pairs[0].similarity == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(("length", "most"), [(30, 2), (80, 6), (200, 14)])
def test_pairs_are_those_of_brute_force(length: int, most: int) -> None:
    """Against all pairs compared one by one: 99 in 100 are found, none is invented, every similarity is exact."""
    texts = families(length, 160, length, most)
    expected = brute_force(texts, 0.8)
    pairs = {(pair.first, pair.second): pair.similarity for pair in near_duplicates(texts)}
    assert len(expected) > 40
    assert pairs.items() <= expected.items()
    assert len(pairs) >= 0.99 * len(expected)


@pytest.mark.slow
@pytest.mark.parametrize("threshold", [0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
def test_pairs_at_the_threshold_itself_are_found(threshold: float) -> None:
    """The hardest case: of 2,000 pairs just at the threshold 99 in 100 are found, whatever the threshold."""
    rng = random.Random(3)
    # Of 60 runs of three words, the last ones differ: as many as the threshold allows.
    other = max(n for n in range(60) if (60 - n) / (60 + n) >= threshold)
    texts = []
    for i in range(2_000):
        base = [f"{i}x{k}" for k in rng.sample(range(1_000), 62)]
        texts += [" ".join(base), " ".join([*base[:-other], *(f"{i}y{k}" for k in range(other))])]
    pairs = near_duplicates(texts, threshold=threshold)
    assert all(pair == (pair.first, pair.first + 1, (60 - other) / (60 + other)) for pair in pairs)
    assert len(pairs) >= 0.99 * 2_000


@pytest.mark.slow
def test_a_crowd_hangs_together_without_all_pairs() -> None:
    """Of 2,000 fillings of one template each has some pairs, not 1,999, and together they are one group."""
    rng = random.Random(5)
    base = rng.choices(VOCABULARY, k=200)
    texts = [" ".join(changed(base, 2, rng)) for _ in range(2_000)]
    pairs = near_duplicates(texts)
    assert len(pairs) < 17 * len(texts)
    assert clusters(pairs) == [list(range(2_000))]


def test_in_a_crowd_the_closest_are_found() -> None:
    """Below the threshold a crowd is no group, and the pairs above it inside the crowd still come out."""
    rng = random.Random(6)
    base = rng.choices(VOCABULARY, k=100)
    texts = [changed(base, 10, rng) for _ in range(1_000)]
    texts += [changed(text, 1, rng) for text in texts[:100]]
    pairs = {(pair.first, pair.second) for pair in near_duplicates([" ".join(text) for text in texts])}
    planted = {(i, 1_000 + i) for i in range(100)}
    assert len(pairs & planted) >= 95


def test_pieces_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts taken one by one, and forgotten at once, give the same pairs as all together."""
    texts = families(9, 60, 40, 3)
    together = near_duplicates(texts)
    for name in ("_PIECE", "_REMEMBERED", "_HELD", "_WORDS_KNOWN"):
        monkeypatch.setattr(_similar, name, 1)
    assert near_duplicates(texts) == together
    assert len(together) > 20


@pytest.mark.slow
def test_every_process_finds_the_same() -> None:
    """Python's own hashes are salted in each process; the pairs do not depend on them."""
    code = (
        "import random; from karat.golden.lint._similar import near_duplicates; rng = random.Random(1);"
        "base = [str(rng.random())[2:] for _ in range(60)];"
        "texts = [' '.join(w if rng.random() < 0.97 else 'x%d' % rng.randrange(99) for w in base) for _ in range(80)];"
        "print(near_duplicates(texts, threshold=0.7))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert outputs.pop().count("Pair") > 20


@pytest.mark.parametrize("threshold", [0.0, 0.29, 1.01])
def test_a_threshold_that_pairs_everything_or_nothing_is_refused(threshold: float) -> None:
    """Below 0.3 nearly every pair would be a candidate."""
    with pytest.raises(ValueError, match=r"between 0\.3 and 1"):
        near_duplicates(["a"], threshold=threshold)


def test_lone_surrogates_are_text() -> None:
    """Half a pair, as JSON can hold it, is compared like any other character."""
    assert near_duplicates(["broken \ud83d emoji here", "broken \ud83d emoji here"]) == [Pair(0, 1, 1.0)]


WORDS = st.sampled_from("abcd")
TEXTS = st.lists(st.lists(WORDS, max_size=9).map(" ".join), max_size=12)


@quick
@given(TEXTS)
def test_what_is_told_is_true(texts: list[str]) -> None:
    """Pairs are in order, each once, and as alike as they are said to be; of equal texts none is left out."""
    pairs = near_duplicates(texts)
    assert pairs == sorted(set(pairs))
    shares = brute_force([" ".join(text.split() + ["$"] * (3 - len(text.split()))) for text in texts], 0.8)
    for first, second, similarity in pairs:
        assert first < second
        assert shares[first, second] == similarity
    repeated = {i for i, text in enumerate(texts) if text and text in texts[:i]}
    assert repeated <= {pair.second for pair in pairs}


@quick
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=12))
def test_groups_are_the_connected_components(links: list[tuple[int, int]]) -> None:
    """Against a search from each place."""
    groups = Groups[int]()
    for first, other in links:
        groups.join(first, other)
    for start in range(10):
        reached, before = {start}, set()
        while reached != before:
            before = set(reached)
            reached |= {b for a, b in links if a in before} | {a for a, b in links if b in before}
        assert reached == {other for other in range(10) if groups.together(start, other)}
        assert groups.size(start) == len(reached)
