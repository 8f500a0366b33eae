"""Estimators of how attractive an item is: the probability that somebody who looks at it clicks it.

None of them says anything of an item that was shown too rarely, and an item without a click is not a bad one: the
interval says what is known. Ends of intervals are exact for independent impressions (Clopper and Pearson), or
conservative (Fay and Feuer): an interval is rather too wide.

All are functions of how often an item was shown and clicked at each rank (:class:`Cells`), and of the totals of all
items (:class:`ClickTotals`). So they are the same to the last bit however items are divided into parts: give the cells
of some items, and the totals of all as ``whole``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from karat.stats.clicks._cells import Cells, ClickTotals
from karat.stats.clicks._impressions import LEAST_IMPRESSIONS, Attractions, Bools, Floats, Impressions, Ints
from karat.stats.clicks._propensities import Propensities, find_totals
from karat.stats.clicks._quantiles import beta_quantiles, gamma_quantiles

CLIP = 10.0
"""The largest weight of a click. A click at a rank that fewer than one in ten look at counts as if one in ten did."""
PRIOR_STRENGTH = 2.0
"""How many impressions the mean of all items counts for in the estimate of each."""


def estimate_ctr(
    shown: Impressions | Cells,
    *,
    whole: ClickTotals | None = None,
    minimum: int = LEAST_IMPRESSIONS,
    confidence: float = 0.95,
) -> Attractions:
    """Return the share of an item's impressions that were clicked.

    It is too low for whatever stands further down, where fewer people look. But the lower end of its interval holds for
    every way of looking at a list, since nobody clicks what they have not seen.

    >>> pages = np.arange(20)
    >>> shown = Impressions(pages=pages, items=pages * 0, ranks=pages * 0 + 1, clicks=pages < 5)
    >>> ctr = estimate_ctr(shown)
    >>> ctr.value.round(3).tolist(), ctr.low.round(3).tolist(), ctr.high.round(3).tolist()
    ([0.25], [0.087], [0.491])
    """
    cells, totals = _find_cells(shown, whole)
    rate = sum(totals.clicks) / max(sum(totals.shown), 1)
    n, clicks = cells.count_by_item(cells.shown), cells.count_by_item(cells.clicks)
    return _make_share("ctr", clicks, n, rate, minimum, confidence)


def estimate_sdbn(
    shown: Impressions | Cells,
    *,
    satisfied: bool = False,
    whole: ClickTotals | None = None,
    minimum: int = LEAST_IMPRESSIONS,
    confidence: float = 0.95,
) -> Attractions:
    """Return the share of clicks among the impressions at or above the last click of their page.

    It assumes that people read from the top, item by item, and stop only when something has satisfied them. With
    ``satisfied`` only the last click of a page counts, which is what ended the search.

    Chapelle and Zhang, A dynamic Bayesian network click model for web search ranking, WWW 2009, algorithm 1.

    >>> shown = Impressions(pages=[0, 0, 0], items=[0, 1, 2], ranks=[1, 2, 3], clicks=[0, 1, 0])
    >>> sdbn = estimate_sdbn(shown, minimum=1)
    >>> sdbn.n.tolist(), sdbn.clicks.tolist()
    ([1, 1, 0], [0, 1, 0])
    """
    cells, totals = _find_cells(shown, whole)
    rate = (totals.last if satisfied else sum(totals.clicks)) / max(totals.examined, 1)
    n, clicks = cells.count_by_item(cells.examined), cells.count_by_item(cells.last if satisfied else cells.clicks)
    return _make_share("sdbn-satisfied" if satisfied else "sdbn", clicks, n, rate, minimum, confidence)


def estimate_coec(
    shown: Impressions | Cells,
    *,
    whole: ClickTotals | None = None,
    minimum: int = LEAST_IMPRESSIONS,
    confidence: float = 0.95,
) -> Attractions:
    """Return an item's clicks over those that its ranks would have brought to the average item.

    1 is as many as expected. It assumes that all ranks show equally good items; if the better ones stand first, the
    first ranks expect too much, and items there are underrated.

    Zhang and Jones, Comparing click logs and editorial labels for training query rewriting, WWW 2007.

    >>> pages = np.repeat(np.arange(20), 2)
    >>> items = np.tile([0, 1], 20)
    >>> coec = estimate_coec(Impressions(pages=pages, items=items, ranks=np.where(pages < 10, items, 1 - items) + 1,
    ...                                  clicks=(items == 0) & (pages % 2 == 0)))
    >>> coec.value.round(2).tolist()
    [1.91, 0.09]
    """
    cells, totals = _find_cells(shown, whole)
    n, clicks = cells.count_by_item(cells.shown), cells.count_by_item(cells.clicks)
    at_rank, clicks_at_rank = (np.array(own or [0], np.int64) for own in (totals.shown, totals.clicks))
    rates = np.divide(clicks_at_rank, at_rank, out=np.zeros(len(at_rank)), where=at_rank > 0)
    few, many = _exact_interval(clicks_at_rank, at_rank, confidence)
    expected, least, most = (cells.sum_by_item(ends[cells.ranks] * cells.shown) for ends in (rates, few, many))
    low, high = _exact_interval(clicks, n, confidence)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = (clicks + PRIOR_STRENGTH * expected / n) / (expected + PRIOR_STRENGTH * expected / n)
        low, high = np.nan_to_num(low * n / most), np.where(least > 0, high * n / least, np.inf)
    unknown = (n < minimum) | (expected == 0)
    return _hide(unknown, Attractions(estimator="coec", value=value, low=low, high=high, n=n, clicks=clicks), np.inf)


def estimate_ips(
    shown: Impressions | Cells,
    propensities: Propensities,
    *,
    clip: float = CLIP,
    self_normalised: bool = False,
    whole: ClickTotals | None = None,
    minimum: int = LEAST_IMPRESSIONS,
    confidence: float = 0.95,
) -> Attractions:
    """Return an item's clicks, each weighted by one over the share of people who look at its rank.

    It assumes that whether somebody looks depends on the rank alone. Weights above ``clip`` are cut, so that one click
    far down does not decide; then the estimate is rather too low. The ``self_normalised`` one divides by the weight
    that all impressions would have had if looked at, and not by their number, which mends that. Impressions at ranks
    whose propensity is not known are left out.

    Horvitz and Thompson, A generalization of sampling without replacement, JASA 47, 1952; Joachims, Swaminathan and
    Schnabel, Unbiased learning-to-rank with biased feedback, WSDM 2017; Swaminathan and Joachims, The self-normalized
    estimator for counterfactual learning, NeurIPS 2015. Interval: Fay and Feuer, Confidence intervals for directly
    standardized rates, Statistics in Medicine 16, 1997, with the ends of the propensities' intervals.

    >>> pages = np.arange(40)
    >>> shown = Impressions(pages=pages, items=pages * 0, ranks=pages * 0 + 2, clicks=pages < 5)
    >>> ips = estimate_ips(shown, Propensities.from_values([1.0, 0.5]))
    >>> ips.value.round(3).tolist(), ips.low.round(3).tolist(), ips.high.round(3).tolist()
    ([0.25], [0.081], [0.583])
    """
    cells, totals = _find_cells(shown, whole)
    usable = propensities.known_at(cells.ranks)
    items, ranks, number, clicked = (own[usable] for own in (cells.items, cells.ranks, cells.shown, cells.clicks))
    count = cells.item_count
    n, clicks = (np.bincount(items, own, minlength=count).astype(np.int64) for own in (number, clicked))

    def weigh(theta: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the weighted clicks of each item, their squares, the largest weight, and the divisor."""
        weight = np.minimum(1 / theta[ranks], clip)
        largest, looks = np.zeros(count), theta[ranks] * weight if self_normalised else np.ones(len(ranks))
        np.maximum.at(largest, items, weight)
        total, squares, divisor = (
            np.bincount(items, own, minlength=count).astype(np.float64)
            for own in (weight * clicked, weight**2 * clicked, looks * number)
        )
        return total, squares, largest, divisor

    total, _, _, divisor = weigh(propensities.value)
    rate = _find_rate(totals, propensities.value, clip, self_normalised=self_normalised)
    least, most = weigh(propensities.high), weigh(propensities.low)
    low = _weighted_interval(*least[:3], confidence)[0]
    high = _weighted_interval(*most[:3], confidence)[1]
    name = "snips" if self_normalised else "ips"
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = np.nan_to_num(low / least[3]), np.nan_to_num(high / most[3], nan=1.0)
        value = (total + PRIOR_STRENGTH * rate) / (divisor + PRIOR_STRENGTH)
    value, low, high = (np.clip(ends, 0.0, 1.0) for ends in (value, low, high))
    value = np.clip(value, low, high)
    return _hide(n < minimum, Attractions(estimator=name, value=value, low=low, high=high, n=n, clicks=clicks), 1.0)


@lru_cache(maxsize=4096)
def exact_interval(count: int, total: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson for a share; 0 to 1 of nothing.

    >>> [round(end, 3) for end in exact_interval(3, 4)]
    [0.194, 0.994]
    """
    low, high = _exact_interval(np.array([count]), np.array([total]), confidence)
    return float(low[0]), float(high[0])


def combine_intervals(estimates: Sequence[Attractions]) -> tuple[Floats, Floats]:
    """Return for each item the interval that holds those of all estimates that have one: [0, 1] if none has.

    With :func:`estimate_ctr` among them the lower end does not depend on how people look at lists.
    """
    known = np.stack([estimate.known for estimate in estimates])
    low = np.where(known, np.stack([estimate.low for estimate in estimates]), np.inf).min(axis=0)
    high = np.where(known, np.stack([estimate.high for estimate in estimates]), -np.inf).max(axis=0)
    is_bounded = known.any(axis=0)
    return np.where(is_bounded, low, 0.0), np.where(is_bounded, high, 1.0)


def _find_cells(shown: Impressions | Cells, whole: ClickTotals | None) -> tuple[Cells, ClickTotals]:
    """Return the counts of some items, and the totals of all: of those alone, unless there are others."""
    cells = shown if isinstance(shown, Cells) else Cells.count(shown)
    return cells, find_totals(cells) if whole is None else whole


def _find_rate(totals: ClickTotals, theta: Floats, clip: float, *, self_normalised: bool) -> float:
    """Return the weighted clicks of all items over their divisors, at the ranks whose propensities are known."""
    depth = min(totals.deepest, len(theta) - 1) + 1
    shown, clicks = (np.array(own[:depth], np.float64) for own in (totals.shown, totals.clicks))
    weight = np.minimum(1 / theta[: len(shown)], clip)
    looks = theta[: len(shown)] * weight if self_normalised else np.ones(len(shown))
    divisor = math.fsum((looks * shown).tolist())
    return math.fsum((weight * clicks).tolist()) / divisor if divisor else 0.0


def _make_share(estimator: str, clicks: Ints, n: Ints, rate: float, minimum: int, confidence: float) -> Attractions:
    """Return clicks / n, drawn to the mean of all items as if by a few more impressions, with its interval."""
    low, high = _exact_interval(clicks, n, confidence)
    value = np.clip((clicks + PRIOR_STRENGTH * rate) / (n + PRIOR_STRENGTH), low, high)
    return _hide(
        n < minimum, Attractions(estimator=estimator, value=value, low=low, high=high, n=n, clicks=clicks), 1.0
    )


def _hide(unknown: Bools, estimate: Attractions, highest: float) -> Attractions:
    """Return an estimate without the items of which too little is known."""
    return Attractions(
        estimator=estimate.estimator,
        value=np.where(unknown, np.nan, estimate.value),
        low=np.where(unknown, 0.0, estimate.low),
        high=np.where(unknown, highest, estimate.high),
        n=estimate.n,
        clicks=estimate.clicks,
    )


def _exact_interval(clicks: Ints, n: Ints, confidence: float) -> tuple[Floats, Floats]:
    """Return the interval of Clopper and Pearson for each share; [0, 1] of nothing. Equal pairs are computed once.

    It holds for impressions at several ranks, too: a sum of unequal chances varies less than one of equal ones
    (Hoeffding, On the distribution of the number of successes in independent trials, 1956).
    """
    pairs, where = np.unique(np.stack([clicks, n]), axis=1, return_inverse=True)
    k, of = pairs.astype(np.float64)
    tail = (1 - confidence) / 2
    low, high = np.zeros(len(k)), np.ones(len(k))
    some, rest = k > 0, k < of
    low[some] = beta_quantiles(tail, k[some], of[some] - k[some] + 1)
    high[rest] = beta_quantiles(1 - tail, k[rest] + 1, of[rest] - k[rest])
    return low[where.ravel()], high[where.ravel()]


def _weighted_interval(total: Floats, squares: Floats, largest: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return the interval of Fay and Feuer for the expected value of each weighted count."""
    tail, low, high = (1 - confidence) / 2, np.zeros(len(total)), np.zeros(len(total))
    some, shown = total > 0, largest > 0
    low[some] = gamma_quantiles(tail, total[some] ** 2 / squares[some]) * squares[some] / total[some]
    more, spread = total[shown] + largest[shown], squares[shown] + largest[shown] ** 2
    high[shown] = gamma_quantiles(1 - tail, more**2 / spread) * spread / more
    return low, high
