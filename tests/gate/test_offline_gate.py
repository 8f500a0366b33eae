"""Section 1 of the statistics, step by step, against a second implementation on SciPy and statsmodels.

The second one shares no code with karat: exact sign flips are SciPy's, or counted on a lattice where there are too many
for it; the correction of Westfall and Young is written out in plain Python, or drawn with other flips; the bound is
SciPy's t; means and margins are fractions.
"""

from __future__ import annotations

import gc
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from gating import gate, run_of
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import TTestPower

from karat.gate import Check, Rule
from step_down_oracle import adjusted_by_draws, adjusted_by_hand
from strategies import quick, thorough

PARTS = 12
"""Scores are multiples of 1/12, which makes sums of differences whole numbers."""
MEASURES = ("RR", "R@5", "P@5", "nDCG@5")
ALPHA = 0.05
Pairs = list[tuple[int, int]]


@dataclass(frozen=True)
class Expected:
    """What section 1 says of one measure."""

    outcome: str
    p: float
    exact: bool
    near: bool
    """Whether chance in the test, or the last bit, decides."""
    margin: float
    needed: float | None


@pytest.fixture(scope="module", autouse=True)
def _frozen() -> Iterator[None]:
    """Spare the garbage collector, which statsmodels calls at every correction, all that was there before."""
    gc.freeze()
    yield
    gc.unfreeze()


def sign_flips(differences: list[int]) -> float:
    """The chance that random signs give a sum as low as this one: SciPy for few, a count on a lattice for many."""
    changed = [difference for difference in differences if difference]
    return scipy_flips(changed) if 2 <= len(changed) <= 7 else counted_flips(changed)


def scipy_flips(changed: list[int]) -> float:
    """All ways, as SciPy tries them: it needs two differences at least, and time for each way."""
    result = stats.permutation_test(
        (np.array(changed, float),), lambda x, axis: x.sum(axis=axis), permutation_type="samples",
        n_resamples=np.inf, alternative="less", vectorized=True,
    )  # fmt: skip
    return float(result.pvalue)


def counted_flips(changed: list[int]) -> float:
    """The share of all ways, for any number of differences: for each sum, a whole number, how many ways lead to it."""
    ways: dict[int, int] = {0: 1}
    for difference in changed:
        further: Counter[int] = Counter()
        for total, n in ways.items():
            further[total + difference] += n
            further[total - difference] += n
        ways = further
    return float(Fraction(sum(n for total, n in ways.items() if total <= sum(changed)), 2 ** len(changed)))


def expected(columns: list[Pairs]) -> list[Expected]:
    """Decide by the text of section 1."""
    rows = [[after - before for before, after in pairs] for pairs in columns]
    changed = sum(any(query) for query in zip(*rows, strict=True))
    if len(columns) == 1:
        adjusted = [sign_flips(rows[0])]
    elif changed <= 8:
        adjusted = adjusted_by_hand(rows)
    else:
        adjusted = adjusted_by_draws(np.array(rows, float), 20_000).tolist()
    exact = changed <= 16
    drawn = not exact or (len(columns) > 1 and changed > 8)
    return [_expected(pairs, p, exact=exact, drawn=drawn) for pairs, p in zip(columns, adjusted, strict=True)]


def _expected(pairs: Pairs, adjusted: float, *, exact: bool, drawn: bool) -> Expected:
    n = len(pairs)
    change = [after - before for before, after in pairs]
    was = Fraction(sum(before for before, _ in pairs), n * PARTS)
    margin = max(was * 5 / 100, min(Fraction(1, 100), was / 2) if was else Fraction(1, 100))
    mean = Fraction(sum(change), n * PARTS)
    spread = (
        math.sqrt(n * sum(difference * difference for difference in change) - sum(change) ** 2) if n > 1 else math.nan
    )
    spread /= PARTS * math.sqrt(n * (n - 1)) if n > 1 else 1
    bound = float(mean) - stats.t.ppf(1 - ALPHA, n - 1) * spread / math.sqrt(n) if n > 1 else -math.inf
    if not any(change):
        outcome = "pass"
    elif adjusted <= ALPHA and mean < -margin:
        outcome = "fail"
    elif bound > -margin:
        outcome = "pass"
    else:
        outcome = "inconclusive"
    # Beyond 16 changes karat draws 9,999 flips, and the oracle beyond 8: both are off by a few standard errors.
    error = 6 * math.sqrt(adjusted * (1 - adjusted) / 9_999) + 2 / 10_000 if drawn else 0.0
    near = abs(adjusted - ALPHA) <= error + 1e-12 or abs(bound + float(margin)) < 1e-9
    effect = -mean if mean < -margin else margin + min(mean, 0)  # if the true drop is the observed one
    needed = None if not spread or math.isnan(spread) or not effect else spread**2 / float(effect) ** 2
    return Expected(outcome, float(adjusted), not drawn, near, float(margin), needed)


def decided(columns: list[Pairs], *, test: str = "non_inferior") -> tuple[Check, ...]:
    """What karat's gate says."""
    names = MEASURES[: len(columns)]
    old = run_of({name: [before / PARTS for before, _ in pairs] for name, pairs in zip(names, columns, strict=True)})
    new = run_of({name: [after / PARTS for _, after in pairs] for name, pairs in zip(names, columns, strict=True)})
    return gate(new, old, *(Rule(metric=name, **{test: True}) for name in names)).checks  # type: ignore[arg-type]


def agrees(columns: list[Pairs]) -> list[Expected]:
    """Fail unless both say the same; where chance decides, p must be near."""
    wanted = expected(columns)
    any_drawn = not all(item.exact for item in wanted)
    for check, rule in zip(decided(columns), wanted, strict=True):
        assert check.p == pytest.approx(rule.p, abs=0.03 if any_drawn else 1e-12), (columns, check)
        assert check.limit == pytest.approx(rule.margin, rel=1e-12)
        if not rule.near:
            assert check.outcome.value == rule.outcome, (columns, check, rule)
    return wanted


def world(rng: np.random.Generator) -> list[Pairs]:
    """Draw the scores of some measures: unchanged, better, worse or only different, by little or by much."""
    n, columns = int(rng.integers(1, 45)), []
    for _ in range(int(rng.integers(1, len(MEASURES) + 1))):
        before = rng.integers(0, PARTS + 1, n)
        kind, size = rng.choice(["same", "noise", "worse", "better", "a hair"]), int(rng.integers(1, PARTS))
        step = {"same": np.zeros(n), "noise": rng.integers(-size, size + 1, n), "worse": -rng.integers(0, size + 1, n),
                "better": rng.integers(0, size + 1, n), "a hair": -(rng.random(n) < 0.2).astype(int)}  # fmt: skip
        step = step[str(kind)] * (rng.random(n) < rng.choice([0.2, 0.6, 1.0]))
        after = np.clip(before + step, 0, PARTS).astype(int)
        columns.append([(int(a), int(b)) for a, b in zip(before, after, strict=True)])
    return columns


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 5, 9, 13, 16])
def test_the_lattice_counts_what_scipy_tries(size: int) -> None:
    """Both ways to the exact p are the same, up to all 65,536 ways of 16 differences, and karat's is too."""
    rng = np.random.default_rng(size)
    changed = [int(difference) for difference in rng.choice([-5, -3, -2, -1, 1, 2, 4], size)]
    assert counted_flips(changed) == pytest.approx(scipy_flips(changed), abs=1e-15)
    (check,) = decided([[(6, 6 + difference) for difference in changed]])
    assert check.p == counted_flips(changed)


@pytest.mark.slow
def test_both_agree_on_many_worlds() -> None:
    """In 250 drawn worlds, in which each outcome comes up often, and few are left to chance."""
    rng = np.random.default_rng(20261116)
    checks = [check for _ in range(250) for check in agrees(world(rng))]
    counts = Counter(check.outcome for check in checks)
    assert min(counts["pass"], counts["fail"], counts["inconclusive"]) > 60, counts
    assert sum(check.near for check in checks) < 0.05 * len(checks)
    assert sum(not check.exact for check in checks) > 40


pairs = st.tuples(st.integers(0, PARTS), st.integers(0, PARTS))
falls = st.integers(1, PARTS).flatmap(lambda top: st.tuples(st.just(top), st.integers(0, top)))
same = st.integers(0, PARTS).map(lambda both: (both, both))


@st.composite
def families(draw: st.DrawFn) -> list[Pairs]:
    """Scores of one to four measures on the same queries."""
    n = draw(st.integers(1, 16))
    kinds = draw(st.lists(st.sampled_from([pairs, falls, same, st.one_of(same, falls)]), min_size=1, max_size=4))
    return [draw(st.lists(kind, min_size=n, max_size=n)) for kind in kinds]


@pytest.mark.slow
@thorough
@given(families())
def test_both_agree_whatever_the_scores(columns: list[Pairs]) -> None:
    """Up to 16 queries, where the test is exact and nothing is left to chance."""
    wanted = agrees(columns)
    assume(not any(check.near for check in wanted))


@pytest.mark.slow
@quick
@given(families())
def test_a_significant_drop_fails_exactly_where_section_1_does(columns: list[Pairs]) -> None:
    """The rule without non-inferiority: the same failures; all else passes, if it could have failed."""
    wanted = expected(columns)
    for check, rule, pairs in zip(decided(columns, test="significant_drop"), wanted, columns, strict=True):
        if not rule.near:
            assert (check.outcome.value == "fail") == (rule.outcome == "fail")
        if check.outcome.value == "inconclusive":
            fell = sum(before - after for before, after in pairs) > len(pairs) * PARTS * rule.margin
            assert fell or len(pairs) < 5
            assert check.p is not None
            assert check.p > ALPHA


@pytest.mark.slow
@quick
@given(families(), st.randoms(use_true_random=False))
def test_the_order_of_the_queries_does_not_matter(columns: list[Pairs], random: object) -> None:
    """Nor in which order the measures stand: with few changes every number is the same."""
    order = list(range(len(columns[0])))
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = [[column[i] for i in order] for column in columns]
    for first, other in zip(decided(columns), decided(shuffled), strict=True):
        assert first.outcome is other.outcome
        assert first.p == other.p
        assert first.difference == pytest.approx(other.difference, abs=1e-12)


@pytest.mark.slow
def test_the_number_of_queries_needed_is_that_of_statsmodels() -> None:
    """One-sided, 5 %, 80 %; for many queries 6.18 s^2 / m^2."""
    rng, seen = np.random.default_rng(7), 0
    while seen < 25:
        columns = [world(rng)[0]]
        (check,), (first,) = decided(columns), expected(columns)
        if check.needed is None or first.needed is None:
            continue
        theirs = TTestPower().solve_power(
            effect_size=1 / math.sqrt(first.needed), alpha=ALPHA, power=0.8, alternative="larger"
        )
        assert check.needed == math.ceil(theirs - 1e-6)
        if check.needed > 300:
            assert check.needed == pytest.approx(6.18 * first.needed, rel=0.02)
        seen += 1


def test_fewer_than_five_changes_cannot_reach_the_level() -> None:
    """All fall from 1 to 0: four of them are p = 1/16 and said to be too few, five are p = 1/32 and fail."""
    four, five = (decided([[(PARTS, 0)] * n + [(PARTS, PARTS)] * 4])[0] for n in (4, 5))
    assert (four.outcome.value, four.p) == ("inconclusive", 1 / 16)
    assert "too few changed to test: 4 of 8 queries, so p cannot be below 0.062, and 0.05 is needed" in four.reason
    assert (five.outcome.value, five.p) == ("fail", 1 / 32)
