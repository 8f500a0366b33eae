"""Clicks as evidence: by hand, by brute force, and beside SciPy, statsmodels and logged traffic of a shop."""

from __future__ import annotations

import csv
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy
from statsmodels.stats.contingency_tables import StratifiedTable

from karat.stats.clicks import (
    Attractions,
    Cells,
    ClickTotals,
    Impressions,
    Propensities,
    combine_intervals,
    estimate_coec,
    estimate_ctr,
    estimate_ips,
    estimate_policy_value,
    estimate_propensities,
    estimate_sdbn,
)
from karat.stats.clicks._quantiles import beta_quantiles, gamma_quantiles
from public_data import find_collection

LISTS = [[0, 1, 2], [1, 0, 2], [0, 2, 1], [2, 1, 0]]
CLICKS = [[1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 0, 0]]
SHOWN = Impressions(
    pages=np.repeat([7, 3, 9, 5], 3), items=np.ravel(LISTS), ranks=np.tile([1, 2, 3], 4), clicks=np.ravel(CLICKS)
)
"""Four lists of three items; their numbers say nothing about their order."""


@pytest.mark.slow
def test_quantiles_are_those_of_scipy() -> None:
    """From shapes of a twentieth, where quantiles are tiny, to thousands."""
    rng = np.random.default_rng(0)
    a, b = np.exp(rng.uniform(np.log(0.05), np.log(2000), (2, 200)))
    for p in (0.001, 0.025, 0.5, 0.975):
        np.testing.assert_allclose(gamma_quantiles(p, a), scipy.gamma.ppf(p, a), rtol=1e-8)
        wanted = scipy.beta.ppf(p, a, b)
        np.testing.assert_allclose(beta_quantiles(p, a, b), wanted, rtol=1e-8, atol=1e-280)


def test_each_estimator_by_hand() -> None:
    """Clicks: item 0 at rank 1; item 2 at ranks 3, 2 and 1. Rates by rank: 1/2, 1/4, 1/4. Two impressions are added."""
    ctr = estimate_ctr(SHOWN, minimum=4)
    mean = 4 / 12
    assert ctr.clicks.tolist() == [1, 0, 3]
    assert ctr.value == pytest.approx([(1 + 2 * mean) / 6, (0 + 2 * mean) / 6, (3 + 2 * mean) / 6])
    # The second list has no click, so all of it was read; the third was read to rank 2, and the fourth to rank 1.
    sdbn = estimate_sdbn(SHOWN, minimum=1)
    assert sdbn.n.tolist() == [3, 2, 4]
    assert sdbn.value == pytest.approx([(1 + 8 / 9) / 5, (8 / 9) / 4, (3 + 8 / 9) / 6])
    assert estimate_sdbn(SHOWN, satisfied=True, minimum=1).clicks.tolist() == [0, 0, 3]
    coec = estimate_coec(SHOWN, minimum=1)
    expected = np.array([1 / 2 + 1 / 4 + 1 / 2 + 1 / 4, 1 / 4 + 1 / 2 + 1 / 4 + 1 / 4, 1 / 4 + 1 / 4 + 1 / 4 + 1 / 2])
    assert coec.value == pytest.approx((np.array([1, 0, 3]) + expected / 2) / (expected + expected / 2))
    looked = Propensities.from_values([1.0, 0.5, 0.25])
    ips = estimate_ips(SHOWN, looked, minimum=1)
    total = np.array([1, 0, 4 + 2 + 1])
    assert ips.value == pytest.approx(np.clip((total + 2 * 8 / 12) / 6, ips.low, ips.high))
    clipped = estimate_ips(SHOWN, looked, clip=2.0, minimum=1)
    assert clipped.value == pytest.approx((np.array([1, 0, 2 + 2 + 1]) + 2 * 6 / 12) / 6)
    # Looks that the weights of 1, 2 and 2 stand for: 1, 1 and 1/2.
    looks = np.array([1 + 1 + 1 + 0.5, 1 + 1 + 0.5 + 1, 0.5 + 0.5 + 1 + 1])
    normalised = estimate_ips(SHOWN, looked, clip=2.0, self_normalised=True, minimum=1)
    assert normalised.value == pytest.approx(np.clip((np.array([1, 0, 5]) + 2 * 6 / looks.sum()) / (looks + 2), 0, 1))


def test_intervals_are_those_of_clopper_and_pearson_and_of_fay_and_feuer() -> None:
    """Computed anew from SciPy's quantiles; equal weights make the second one that of Garwood."""
    ctr = estimate_ctr(SHOWN, minimum=1)
    exact = [scipy.binomtest(k, 4).proportion_ci(0.95, method="exact") for k in (1, 0, 3)]
    assert ctr.low == pytest.approx([ends.low for ends in exact])
    assert ctr.high == pytest.approx([ends.high for ends in exact])
    shown = Impressions(pages=range(40), items=[0] * 40, ranks=[2] * 40, clicks=[1] * 5 + [0] * 35)
    ips = estimate_ips(shown, Propensities.from_values([1.0, 0.5]))
    assert ips.low[0] == pytest.approx(scipy.gamma.ppf(0.025, 5) * 2 / 40)
    assert ips.high[0] == pytest.approx(scipy.gamma.ppf(0.975, 6) * 2 / 40)


def test_what_was_shown_too_rarely_is_unjudged_and_what_was_not_clicked_is_not_bad() -> None:
    """Nine impressions are no estimate; thirty without a click leave everything up to a tenth possible."""
    shown = Impressions(pages=range(39), items=[0] * 9 + [1] * 30, ranks=[1] * 39, clicks=[1] * 9 + [0] * 30)
    for estimate in (estimate_ctr(shown), estimate_sdbn(shown), estimate_ips(shown, Propensities.from_values([1.0]))):
        assert estimate.known.tolist() == [False, True]
        assert (estimate.low[0], estimate.high[0]) == (0.0, 1.0)
        assert estimate.value[1] > 0
        assert estimate.low[1] == 0
        assert estimate.high[1] > 0.1
    low, high = combine_intervals([estimate_ctr(shown)])
    assert (low[0], high[0], low[1]) == (0.0, 1.0, 0.0)
    nothing = Impressions(pages=[], items=[], ranks=[], clicks=[])
    assert (
        len(estimate_ctr(nothing).value) == len(estimate_sdbn(nothing).value) == len(estimate_coec(nothing).value) == 0
    )
    assert estimate_propensities(nothing).depth == 1


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=5, unique_by=lambda p: p[0]), max_size=12)
)
def test_counts_are_those_of_brute_force(lists: list[list[tuple[int, bool]]]) -> None:
    """List by list, in plain Python: what was read, what was clicked, and what a rank brings on average."""
    rows = [
        (page, item, rank, clicked) for page, own in enumerate(lists) for rank, (item, clicked) in enumerate(own, 1)
    ]
    shown = Impressions(
        **{name: [row[i] for row in rows] for i, name in enumerate(("pages", "items", "ranks", "clicks"))}
    )
    examined, last = dict.fromkeys(range(5), 0), dict.fromkeys(range(5), 0)
    for own in lists:
        ends = [rank for rank, (_, clicked) in enumerate(own) if clicked]
        for rank, (item, _) in enumerate(own):
            examined[item] += not ends or rank <= ends[-1]
            last[item] += bool(ends) and rank == ends[-1]
    count = shown.item_count
    assert estimate_sdbn(shown).n.tolist() == [examined[item] for item in range(count)]
    assert estimate_sdbn(shown, satisfied=True).clicks.tolist() == [last[item] for item in range(count)]
    estimates = [estimate_ctr(shown, minimum=1), estimate_sdbn(shown, minimum=1)]
    low, high = combine_intervals(estimates)
    for estimate in estimates:
        assert (estimate.low[estimate.known] <= estimate.value[estimate.known]).all()
        assert (estimate.value[estimate.known] <= estimate.high[estimate.known]).all()
        assert (low[estimate.known] <= estimate.low[estimate.known]).all()
        assert (high[estimate.known] >= estimate.high[estimate.known]).all()


def test_propensities_are_the_risk_ratios_of_statsmodels() -> None:
    """Ranks are compared on the items that stood at both, and ratios are multiplied."""
    rng = np.random.default_rng(3)
    order = np.array([rng.permutation(6) for _ in range(900)])
    rate = np.array([0.8, 0.4, 0.6, 0.3, 0.7, 0.5])[order] / np.arange(1, 7)
    shown = Impressions(
        pages=np.repeat(np.arange(900), 6), items=order.ravel(), ranks=np.tile(np.arange(1, 7), 900),
        clicks=(rng.random(order.shape) < rate).ravel(),
    )  # fmt: skip
    wanted = [1.0, 1.0]
    for upper in range(1, 6):
        tables = []
        for item in range(6):
            cells = []
            for rank in (upper + 1, upper):
                own = shown.clicks[(shown.items == item) & (shown.ranks == rank)]
                cells.append([own.sum(), (~own).sum()])
            tables.append(cells)
        wanted.append(wanted[-1] * StratifiedTable([np.array(table, float) for table in tables]).riskratio_pooled)
    looked = estimate_propensities(shown)
    assert looked.value == pytest.approx(wanted)
    assert looked.reason == ""
    assert (looked.low[1:] <= 1 / np.arange(1, 7)).all()
    assert (looked.high[1:] >= 1 / np.arange(1, 7)).all()


def test_ranks_that_share_no_items_have_no_propensity() -> None:
    """Nothing tells position from relevance if nothing ever moves; then there is no estimate, and a reason."""
    shown = Impressions(pages=np.repeat(range(50), 2), items=[0, 1] * 50, ranks=[1, 2] * 50, clicks=[1, 0] * 50)
    looked = estimate_propensities(shown)
    assert looked.depth == 1
    assert looked.reason == "ranks 1 and 2 share items with 0 clicks at one of them; 10 needed"
    ips = estimate_ips(shown, looked)
    assert ips.n.tolist() == [50, 0]
    assert ips.known.tolist() == [True, False]


def test_wrong_arrays_are_refused() -> None:
    """Each with the reason."""
    with pytest.raises(ValueError, match="every impression has a page, item, rank and click"):
        Impressions(pages=[0], items=[0, 1], ranks=[1], clicks=[1])
    with pytest.raises(ValueError, match="ranks from 1"):
        Impressions(pages=[0], items=[0], ranks=[0], clicks=[1])
    with pytest.raises(ValueError, match="same rank of one page"):
        Impressions(pages=[0, 0], items=[0, 1], ranks=[1, 1], clicks=[1, 0])
    with pytest.raises(ValueError, match="above 0 and up to 1"):
        Propensities.from_values([1.0, 0.0])
    with pytest.raises(ValueError, match="each impression has all"):
        estimate_policy_value([1], [0.5, 0.5], [1])
    with pytest.raises(ValueError, match="above 0 and up to 1"):
        estimate_policy_value([1, 0], [0.0, 0.5], [1, 1])
    with pytest.raises(ValueError, match="read-only"):
        SHOWN.items[0] = 3
    assert isinstance(estimate_ctr(SHOWN), Attractions)


def test_values_of_policies_by_hand() -> None:
    """Weights of 2, 0, 0 and 4: cut at 3 the mean falls, and the self-normalised one divides by the weights."""
    rewards, logged, target = [1, 1, 0, 1], [0.5, 0.5, 0.5, 0.25], [1.0, 0.0, 0.0, 1.0]
    assert estimate_policy_value(rewards, logged, target).mean == (2 + 4) / 4
    cut = estimate_policy_value(rewards, logged, target, clip=3)
    assert (cut.mean, cut.clipped, cut.effective) == ((2 + 3) / 4, 1, 25 / 13)
    assert estimate_policy_value([0, 1, 0, 1], logged, target, self_normalised=True).mean == pytest.approx(4 / 6)
    assert math.isnan(estimate_policy_value([1, 0], [0.5, 0.5], [0, 0]).mean)


@pytest.mark.public_data
def test_values_of_policies_agree_with_those_that_ran() -> None:
    """Open Bandit was logged at random, so that any choice of items can be taken out of it as if it had been made.

    A shop that favours some items is drawn from the first half, with known chances. From that the value of choosing at
    random, and of choosing among ten items, is estimated; the second half has what they really brought.
    """
    path = find_collection("clicks") / "open_bandit_random_men.csv"
    with path.open() as file:
        rows = [
            (int(row["item_id"]), int(row["click"]), float(row["propensity_score"])) for row in csv.DictReader(file)
        ]
    items, clicks, chances = (np.array(column) for column in zip(*rows, strict=True))
    assert chances == pytest.approx(1 / 34)
    rng = np.random.default_rng(0)
    first = rng.random(len(items)) < 0.5
    favour = 0.15 + 0.85 * (np.arange(34) % 3 == 0)  # the share of an item's impressions that stays
    kept = first & (rng.random(len(items)) < favour[items])
    logged = (favour / favour.sum())[items[kept]]
    for chosen in (np.arange(34), np.arange(10)):
        target = np.isin(items[kept], chosen) / len(chosen)
        real = clicks[~first & np.isin(items, chosen)]
        error = 1.96 * real.std() / np.sqrt(len(real))
        for options in ({}, {"clip": 20.0}, {"self_normalised": True}):
            value = estimate_policy_value(clicks[kept], logged, target, **options)
            assert value.low - error <= real.mean() <= value.high + error
            assert value.high - value.low < 0.03
        # Without weights, the favoured items stand for all.
        assert value.effective < kept.sum()


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_estimates_do_not_depend_on_what_else_is_estimated(seed: int, parts: int) -> None:
    """Items by themselves, with the totals of all parts, have to the last bit what they have among all items."""
    rng = np.random.default_rng(seed)
    pages, depth, count = 120, 4, 9
    items = np.concatenate([rng.permutation(count)[:depth] for _ in range(pages)])
    shown = Impressions(
        pages=np.repeat(np.arange(pages), depth), items=items, ranks=np.tile(np.arange(1, depth + 1), pages),
        clicks=rng.random(pages * depth) < 0.4,
    )  # fmt: skip
    cells = Cells.count(shown)
    owner = rng.integers(0, parts, count)
    some = [_pick(cells, owner[cells.items] == part) for part in range(parts)]
    totals = ClickTotals()
    for own in some:
        totals.merge(ClickTotals.from_plain(ClickTotals.of(own).to_plain()))
    assert totals.to_plain() == ClickTotals.of(cells).to_plain()
    looked = estimate_propensities(totals)
    assert looked.value.tolist() == estimate_propensities(shown).value.tolist()
    snips = partial(estimate_ips, propensities=looked, self_normalised=True)
    for whole, estimate in (
        (estimate_ctr(shown), estimate_ctr),
        (estimate_sdbn(shown), estimate_sdbn),
        (estimate_sdbn(shown, satisfied=True), partial(estimate_sdbn, satisfied=True)),
        (estimate_coec(shown), estimate_coec),
        (estimate_ips(shown, looked), partial(estimate_ips, propensities=looked)),
        (estimate_ips(shown, looked, self_normalised=True), snips),
    ):
        for part, own in enumerate(some):
            mine = np.unique(cells.items[owner[cells.items] == part])
            made = estimate(own, whole=totals)
            for name in ("value", "low", "high", "n", "clicks"):
                expected = getattr(whole, name)[mine]
                assert np.array_equal(getattr(made, name)[mine], expected, equal_nan=name == "value"), (name, part)


def _pick(cells: Cells, which: np.ndarray) -> Cells:
    names = ("items", "ranks", "shown", "clicks", "examined", "last")
    return Cells(**{name: getattr(cells, name)[which] for name in names})
