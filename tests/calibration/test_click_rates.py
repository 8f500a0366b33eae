"""How wrong each estimator is on simulated people: the table of docs/feedback.md, and the level of every interval."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from searchers import WORLDS, Errors, Traffic, estimate_all, measure_envelope, measure_errors, simulate

from karat.stats.clicks import Attractions, estimate_coec, estimate_policy_value, estimate_propensities

pytestmark = pytest.mark.calibration

QUERIES, PAGES = 100, 300
LEVEL = 0.025
PAGE = Path(__file__).resolve().parents[2] / "docs" / "feedback.md"
TITLES = {"ctr": "CTR", "coec": "COEC", "ips": "clipped IPS", "snips": "self-normalised IPS", "sdbn": "SDBN"}


@cache
def run(world: str) -> tuple[Traffic, dict[str, Attractions]]:
    traffic = simulate(world, queries=QUERIES, pages=PAGES, rng=np.random.default_rng(WORLDS.index(world)))
    return traffic, estimate_all(traffic.shown)


def measure(world: str, name: str) -> Errors:
    traffic, estimates = run(world)
    return measure_errors(traffic, estimates[name])


def format_table() -> str:
    """Return the published table: wrong pairs, distance from the truth, and overstated items, in %."""
    lines = [f"| estimator | {' | '.join(WORLDS)} |", "|---|" + "---|" * len(WORLDS)]
    for name, title in TITLES.items():
        cells = []
        for world in WORLDS:
            errors = measure(world, name)
            rest = "" if name == "coec" else f", {errors.distance:.3f}, {100 * errors.over:.1f}"
            cells.append(f"{100 * errors.disordered:.1f}{rest}")
        lines.append(f"| {title} | {' | '.join(cells)} |")
    over = [f"{100 * measure_envelope(*run(world)).over:.1f}" for world in WORLDS]
    lines.append(f"| interval of all | {' | '.join(over)} |")
    return "\n".join(lines)


@pytest.mark.slow
def test_the_table_of_the_page_is_what_comes_out() -> None:
    """Write it anew by ``python tests/calibration/test_click_rates.py``, with src and tests/calibration on the path."""
    published = re.search(r"(?:^\| estimator \| position.*\n)(?:^\|.*\n)+", PAGE.read_text(), re.MULTILINE)
    assert published
    assert published[0].strip() == format_table()


@pytest.mark.slow
def test_intervals_keep_their_level_where_their_model_holds() -> None:
    """At most 2.5 % of items are worse than the lower end, and as many better than the upper one."""
    for world, name in (("position", "ips"), ("position", "snips"), ("cascade", "sdbn")):
        errors = measure(world, name)
        assert errors.over <= LEVEL
        assert errors.under <= LEVEL
        assert errors.distance < 0.6 * measure(world, "ctr").distance
        assert errors.disordered <= measure(world, "ctr").disordered


@pytest.mark.slow
def test_nothing_is_overstated_while_nobody_clicks_what_they_have_not_seen() -> None:
    """Also where no model fits. Where clicks are for the rank, as in the last world, no estimator can know it."""
    for world in ("position", "cascade", "mix"):
        assert measure_envelope(*run(world)).over <= LEVEL
    assert measure("mix", "sdbn").over > LEVEL  # the interval of one estimator is not enough
    assert measure("cascade", "ips").over > LEVEL
    assert measure_envelope(*run("trust")).over > LEVEL


@pytest.mark.slow
def test_clicks_over_expected_clicks_are_right_in_a_shuffled_list() -> None:
    """There the average item at each rank is the average of all, and intervals keep their level."""
    traffic = simulate("position", queries=QUERIES, pages=PAGES, rng=np.random.default_rng(9), shuffled=True)
    coec = estimate_coec(traffic.shown)
    truth = traffic.attraction / traffic.attraction.mean()
    assert (coec.low > truth).mean() <= LEVEL
    assert (coec.high < truth).mean() <= LEVEL
    looked = estimate_propensities(traffic.shown)
    assert ((looked.low <= [1, *1 / np.arange(1, 11)]) & (looked.high >= [1, *1 / np.arange(1, 11)])).all()


@pytest.mark.parametrize("self_normalised", [False, True])
def test_values_of_policies_keep_their_level(self_normalised: bool) -> None:
    """Rewards of 5 %, weights up to 5: the lower end misses the truth in at most 2.5 % of logs, the upper in 5 %."""
    rng, over, under, runs = np.random.default_rng(4), 0, 0, 1000
    logged, target = np.array([0.7, 0.2, 0.1]), np.array([0.2, 0.3, 0.5])
    rates = np.array([0.02, 0.05, 0.08])
    truth = float(target @ rates)
    for _ in range(runs):
        action = rng.choice(3, 1000, p=logged)
        rewards = rng.random(1000) < rates[action]
        value = estimate_policy_value(rewards, logged[action], target[action], self_normalised=self_normalised)
        over, under = over + (value.low > truth), under + (value.high < truth)
    assert over / runs <= LEVEL
    assert under / runs <= 2 * LEVEL


if __name__ == "__main__":
    print(format_table())
