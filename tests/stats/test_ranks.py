"""Similarity of ranked lists: by hand, against scipy and the definition of RBO, and what must hold for any lists."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy import stats

from each import each
from karat.core import UsageError
from karat.stats.ranks import (
    jaccard,
    kendall_tau,
    order_differences,
    rank_similarity,
    rbo,
    spearman,
    top1_changed,
)
from karat.stats.ranks._coefficients import RankChange
from strategies import quick

Ids = Sequence[object]
SIMILARITIES: list[Callable[[Ids, Ids], float]] = [rbo, kendall_tau, spearman, jaccard]
EVERYTHING: list[Callable[[Ids, Ids], object]] = [*SIMILARITIES, top1_changed, order_differences, rank_similarity]

rankings = st.lists(st.integers(0, 11), unique=True, max_size=10)
persistences = st.sampled_from([0.1, 0.5, 0.8, 0.9, 0.95])


# By hand


def test_rbo_by_hand() -> None:
    """Agreements of 1, 1/2, 1 and 3/4 at p = 0.5, with the last one for all that lies below."""
    expected = 1 / 2 * 1 + 1 / 4 * 1 / 2 + 1 / 8 * 1 + 1 / 16 * 3 / 4 + 1 / 16 * 3 / 4
    assert rbo(list("abcd"), list("acbe"), 0.5) == pytest.approx(expected, abs=1e-15)


def test_rbo_of_uneven_lists_by_hand() -> None:
    """The short list agrees in 1 of 2; its third id is taken to agree by half, and the long list's third is in it."""
    agreements = [0, 1 / 2, (2 + 1 / 2) / 3, (2 + 2 / 2) / 4]
    expected = sum(0.5**d * a for d, a in enumerate(agreements, 1)) + 0.5**4 * agreements[-1]
    assert rbo(list("ab"), list("xabc"), 0.5) == pytest.approx(expected, abs=1e-15)


@each(
    ("first", "second", "p", "expected"),
    [
        ("abcdefghijklmnopqrstuvwxyz", "kxcnarvmwyp", 0.99, 0.52939174745252),
        ("abcdefg", "zcavwxy", 0.9, 0.28821728571428573),
        ("abcdefghij", "jaxbyc", 0.8, 0.38389643946666674),
        ("abc", "cdefgha", 0.5, 0.08556547619047619),
    ],
)
def test_rbo_as_another_package_gives_it(first: str, second: str, p: float, expected: float) -> None:
    """The values that rbo 0.1.3 from PyPI gives, for even and uneven lists."""
    assert rbo(list(first), list(second), p) == pytest.approx(expected, abs=1e-12)


def test_tau_by_hand() -> None:
    """Of the ten pairs of a b c d e, only b c and d e are in another order when c and b change and e stands for d."""
    assert kendall_tau(list("abcd"), list("acbe")) == pytest.approx((8 - 2) / 10)


def test_tau_with_ties_by_hand() -> None:
    """Two ids that the first list lacks are tied there: five pairs of six count, and all are in the same order."""
    assert kendall_tau(list("ab"), list("abcd")) == pytest.approx(5 / math.sqrt(5 * 6))


def test_spearman_by_hand() -> None:
    """Four ids of five are one rank off: 1 - 6 * 4 / (5 * 24)."""
    assert spearman(list("abcd"), list("acbe")) == pytest.approx(0.8)


def test_spearman_with_ties_by_hand() -> None:
    """Two ids that the first list lacks share rank 3.5 there."""
    expected = np.corrcoef([1, 2, 3.5, 3.5], [1, 2, 3, 4])[0, 1]
    assert spearman(list("ab"), list("abcd")) == pytest.approx(expected)


def test_jaccard_by_hand() -> None:
    """Two of four ids stand in both lists; of the top two, both."""
    assert jaccard(list("abc"), list("bad")) == 0.5
    assert jaccard(list("abc"), list("bad"), k=2) == 1.0
    assert jaccard(list("abc"), list("bad"), k=1) == 0.0
    assert jaccard(list("abc"), list("bad"), k=99) == 0.5


def test_top1() -> None:
    """Only the first id counts, and it changes when hits vanish or appear."""
    assert not top1_changed(list("abc"), list("acb"))
    assert top1_changed(list("abc"), list("bac"))
    assert top1_changed(list("abc"), list("xyz"))
    assert top1_changed(list("a"), [])
    assert top1_changed([], [None])
    assert not top1_changed([], [])


def test_what_moved() -> None:
    """Every id that stands elsewhere is named with both ranks; one that stays is not."""
    assert order_differences(list("abcde"), list("badcf")) == (
        RankChange(id="b", direction="up", before=2, after=1),
        RankChange(id="a", direction="down", before=1, after=2),
        RankChange(id="d", direction="up", before=4, after=3),
        RankChange(id="c", direction="down", before=3, after=4),
        RankChange(id="f", direction="entered", before=None, after=5),
        RankChange(id="e", direction="left", before=5, after=None),
    )
    assert order_differences(list("abc"), list("abc")) == ()


# Edge cases


@each("similarity", SIMILARITIES)
def test_empty_lists(similarity: Callable[[Ids, Ids], float]) -> None:
    """Two empty lists are alike; an empty one has nothing in common with another."""
    assert similarity([], []) == 1.0
    assert similarity([], ["a"]) == 0.0
    assert similarity(list("abc"), []) == 0.0


def test_lists_of_one() -> None:
    """One id in both lists is full agreement, though it has no order; two ids that trade places are the reverse."""
    assert [f(["a"], ["a"]) for f in SIMILARITIES] == [1.0, 1.0, 1.0, 1.0]
    assert [f(["a"], ["b"]) for f in SIMILARITIES] == [0.0, -1.0, -1.0, 0.0]


def test_the_reverse_order() -> None:
    """The same ids from bottom to top have a correlation of exactly -1."""
    assert kendall_tau(list("abcdefg"), list("gfedcba")) == -1.0
    assert spearman(list("abcdefg"), list("gfedcba")) == -1.0


@each("n", [1, 2, 10, 100])
def test_disjoint_lists(n: int) -> None:
    """Without a shared id there is no overlap, and tau-b is -2n / (3n - 1)."""
    first, second = list(range(n)), list(range(n, 2 * n))
    assert rbo(first, second) == jaccard(first, second) == 0.0
    assert kendall_tau(first, second) == pytest.approx(-2 * n / (3 * n - 1))
    assert len(order_differences(first, second)) == 2 * n


def test_a_list_that_was_cut_off() -> None:
    """RBO takes a shorter list to go on alike, and only Jaccard shows what is missing."""
    assert rbo(list("ab"), list("abcdef")) == 1.0
    assert jaccard(list("ab"), list("abcdef")) == pytest.approx(1 / 3)


@each("function", EVERYTHING)
def test_an_id_that_stands_twice_is_refused(function: Callable[[Ids, Ids], object]) -> None:
    """The message names the id and the list."""
    with pytest.raises(UsageError, match="id 'b' appears more than once in the first list"):
        function(list("abcb"), list("abc"))
    with pytest.raises(UsageError, match="id 'c' appears more than once in the second list"):
        function(list("abc"), list("acdcd"))


def test_an_id_that_stands_twice_below_the_cut_is_refused() -> None:
    """A cut does not hide that a list is no ranking."""
    with pytest.raises(UsageError, match="id 'b'"):
        jaccard(list("abcb"), list("abc"), k=2)


@each("function", EVERYTHING)
def test_one_text_is_not_a_list(function: Callable[[Ids, Ids], object]) -> None:
    """A single id in place of a list would be compared letter by letter."""
    with pytest.raises(UsageError, match="the second list is the text 'abc'"):
        function(["abc"], "abc")


@each("p", [0.0, 1.0, -0.1, math.nan])
def test_a_persistence_that_is_none(p: float) -> None:
    """A reader who never goes on, or never stops, sees no average."""
    with pytest.raises(UsageError, match="p is"):
        rbo(["a"], ["a"], p)
    with pytest.raises(UsageError, match="p is"):
        rank_similarity(["a"], ["a"], p=p)


def test_a_cut_above_the_first_rank() -> None:
    """There is no top 0."""
    with pytest.raises(UsageError, match="k is 0"):
        jaccard(["a"], ["a"], k=0)


def test_arrays_and_tuples_are_lists_too() -> None:
    """Ids may be whole numbers in an array."""
    assert rbo(np.array([1, 2, 3]), (1, 2, 3)) == 1.0
    assert order_differences(np.array([1, 2]), (1, 2)) == ()


# Oracles


def ranks_over_the_union(first: Ids, second: Ids) -> tuple[list[int], list[int]]:
    """Return the ranks of all ids in both lists; those that a list lacks come after its last, tied."""
    union = list(dict.fromkeys([*first, *second]))
    return tuple(
        [ranking.index(id_) if id_ in ranking else len(ranking) for id_ in union] for ranking in (first, second)
    )


@quick
@given(rankings, rankings)
@example(list(range(10)), list(range(9, -1, -1)))
@example([1], [2, 3])
def test_correlations_agree_with_scipy(first: list[int], second: list[int]) -> None:
    """Tau-b and rho over the union equal those of scipy on the tied ranks."""
    assume(first and second and len({*first, *second}) > 1)
    x, y = ranks_over_the_union(first, second)
    assert kendall_tau(first, second) == pytest.approx(stats.kendalltau(x, y, variant="b").statistic, abs=1e-12)
    assert spearman(first, second) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)


def test_long_lists_agree_with_scipy() -> None:
    """Lists of 3,000 and 2,000 ids that share some give the same correlations as in scipy."""
    rng = np.random.default_rng(5)
    first, second = rng.permutation(4000)[:3000].tolist(), rng.permutation(4000)[:2000].tolist()
    x, y = ranks_over_the_union(first, second)
    assert kendall_tau(first, second) == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)
    assert spearman(first, second) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)


def summed(first: Ids, second: Ids, p: float, depth: int = 400) -> float:
    """Return RBO by its definition, equation 4, as far as two long lists go."""
    overlaps = (len({*first[:d]} & {*second[:d]}) for d in range(1, depth + 1))
    return (1 - p) * math.fsum(p ** (d - 1) * overlap / d for d, overlap in enumerate(overlaps, 1))


def extrapolated(first: Ids, second: Ids, p: float) -> float:
    """Return RBO depth by depth, in fractions, with each unseen id worth the agreement where its list ended."""
    short, long = sorted((first, second), key=len)
    at_end = Fraction(len({*short} & {*long[: len(short)]}), len(short))
    total, agreement = 0.0, Fraction(0)
    for d in range(1, 600):
        if d <= len(long):
            seen = len({*short[:d]} & {*long[:d]})
            agreement = (seen + max(0, d - len(short)) * at_end) / Fraction(d)
        total += (1 - p) * p ** (d - 1) * float(agreement)
    return total


@quick
@given(rankings, rankings, persistences)
def test_rbo_agrees_with_a_sum_over_depths(first: list[int], second: list[int], p: float) -> None:
    """The closed form equals the sum over 600 depths, for lists of any lengths."""
    assume(first and second)
    assert rbo(first, second, p) == pytest.approx(extrapolated(first, second, p), abs=1e-10)


def test_rbo_is_exact_where_the_lists_go_on_alike() -> None:
    """After three ids in another order, 397 that are the same give the extrapolated value by definition."""
    more = list(range(397))
    assert rbo(list("abc"), list("cab"), 0.9) == pytest.approx(summed([*"abc", *more], [*"cab", *more], 0.9), abs=1e-12)


def test_rbo_lies_between_lists_that_go_on_by_half() -> None:
    """Half agree; go on with a shared id before one of each, or after it, and the extrapolated value lies between."""
    first, second = list("abcdefgh"), list("badcstuv")
    shared, left, other = ([(name, i) for i in range(200)] for name in ("shared", "one", "other"))
    sooner = [[x for pair in zip(shared, own, strict=True) for x in pair] for own in (left, other)]
    later = [[x for pair in zip(own, shared, strict=True) for x in pair] for own in (left, other)]
    above = summed([*first, *sooner[0]], [*second, *sooner[1]], 0.9)
    below = summed([*first, *later[0]], [*second, *later[1]], 0.9)
    assert below < rbo(first, second, 0.9) < above
    assert above - below < 0.03


# What holds for any lists


@quick
@given(rankings, persistences)
def test_a_list_is_exactly_like_itself(ids: list[int], p: float) -> None:
    """Nothing is lost to rounding: every similarity of a list with itself is 1.0."""
    assert [f(ids, ids) for f in SIMILARITIES] == [1.0, 1.0, 1.0, 1.0]
    assert rbo(ids, ids, p) == 1.0


@pytest.mark.parametrize("n", [1000, 30_011])
def test_a_long_list_is_exactly_like_itself(n: int) -> None:
    """Nor in long lists, where the squares of the numbers of pairs pass what a float holds exactly."""
    assert [f(range(n), range(n)) for f in SIMILARITIES] == [1.0, 1.0, 1.0, 1.0]


@quick
@given(rankings, rankings, persistences)
def test_the_order_of_the_lists_does_not_matter(first: list[int], second: list[int], p: float) -> None:
    """Every similarity is symmetric to the last bit, and what went up one way goes down the other way."""
    assert [f(first, second) for f in SIMILARITIES] == [f(second, first) for f in SIMILARITIES]
    assert rbo(first, second, p) == rbo(second, first, p)
    there, back = order_differences(first, second), order_differences(second, first)
    opposite = {"up": "down", "down": "up", "entered": "left", "left": "entered"}
    assert {(c.id, c.direction, c.before) for c in there} == {(c.id, opposite[c.direction], c.after) for c in back}


@quick
@given(rankings, rankings, persistences)
def test_bounds(first: list[int], second: list[int], p: float) -> None:
    """Overlaps lie between 0 and 1, correlations between -1 and 1; no overlap is 0 exactly when no id is shared."""
    assert 0 <= rbo(first, second, p) <= 1
    assert -1 <= kendall_tau(first, second) <= 1
    assert -1 <= spearman(first, second) <= 1
    assert (jaccard(first, second) == 0) == (not {*first} & {*second} and bool(first or second))
    assert (rbo(first, second, p) == 0) == (jaccard(first, second) == 0)


@quick
@given(rankings, rankings, st.permutations(range(12)))
def test_names_do_not_matter(first: list[int], second: list[int], names: list[int]) -> None:
    """Other names for the same ids change no similarity."""
    renamed = [f"id-{names[i]}" for i in first], [f"id-{names[i]}" for i in second]
    assert [f(first, second) for f in SIMILARITIES] == [f(*renamed) for f in SIMILARITIES]


@quick
@given(rankings, rankings)
def test_what_moved_makes_the_second_list(first: list[int], second: list[int]) -> None:
    """The first list and the changes give the second list; each direction is that of its ranks."""
    places = dict(enumerate(first, 1))
    changes = order_differences(first, second)
    for change in changes:
        assert (change.before is None, change.after is None) == (
            change.direction == "entered",
            change.direction == "left",
        )
        if change.before is not None:
            assert places.pop(change.before) == change.id
        if change.before is not None and change.after is not None:
            assert change.direction == ("up" if change.after < change.before else "down")
            assert change.after != change.before
    places |= {change.after: change.id for change in changes if change.after is not None}
    assert [places[rank] for rank in sorted(places)] == second
