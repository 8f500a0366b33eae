"""How far a judge agrees with people: by other software, by hand, at the ends, and coverage by simulation."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from scipy import stats as scipy
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import proportion_confint

from karat.stats import cohen_kappa
from karat.stats.trust import check_draw, estimate_share, measure_agreement, measure_people

LEVELS = [0.0, 1 / 3, 2 / 3, 1.0]


def draw_graded(seed: int, n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Return scores of a judge that is right within noise, and labels on four levels."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(LEVELS, n, p=[0.4, 0.3, 0.2, 0.1])
    return np.clip(labels + rng.normal(0.1, 0.25, n), 0, 1).round(2), labels


def measure(values: np.ndarray, labels: np.ndarray, **options: object) -> dict[str, object]:
    settings = {"levels": LEVELS, "positive": 0.5, "rng": np.random.default_rng(1), **options}
    return measure_agreement(values, labels, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(3))
def test_values_are_those_of_other_software(seed: int) -> None:
    """SciPy, statsmodels and krippendorff, on ties of all kinds."""
    values, labels = draw_graded(seed)
    result = {name: estimate.value for name, estimate in measure(values, labels).items()}
    graded = np.rint(values * 3).astype(int)
    told = np.rint(labels * 3).astype(int)
    table = np.zeros((4, 4))
    np.add.at(table, (told, graded), 1)
    expected = {
        "pearson": scipy.pearsonr(values, labels).statistic,
        "spearman": scipy.spearmanr(values, labels).statistic,
        "kappa": cohens_kappa(table).kappa,
        "quadratic_kappa": cohens_kappa(table, weights=np.arange(4), wt="quadratic").kappa,
        "alpha": krippendorff.alpha(np.array([told, graded]), level_of_measurement="ordinal"),
        "auroc": scipy.mannwhitneyu(values[labels >= 0.5], values[labels < 0.5]).statistic
        / ((labels >= 0.5).sum() * (labels < 0.5).sum()),
        "agreement": (graded == told).mean(),
        "within_one": (abs(graded - told) <= 1).mean(),
        "difference": (values - labels).mean(),
    }
    for name, value in expected.items():
        assert result[name] == pytest.approx(value, abs=1e-12), name


def test_the_calibration_error_by_hand() -> None:
    """Two of four scores of 0.9 are right, both of 0.1 are wrong: (4 x 0.4 + 2 x 0.1) / 6."""
    values, labels = np.array([0.9] * 4 + [0.1] * 2), np.array([1.0, 1, 0, 0, 0, 0])
    result = measure(values, labels, levels=[0.0, 1.0])
    assert result["calibration_error"].value == pytest.approx((4 * 0.4 + 2 * 0.1) / 6)
    perfect = measure(np.array([1.0, 0.0] * 10), np.array([1.0, 0.0] * 10), levels=[0.0, 1.0])
    assert [perfect[name].value for name in ("calibration_error", "kappa", "auroc")] == [0.0, 1.0, 1.0]


@pytest.mark.slow
def test_resamples_are_what_drawing_items_gives() -> None:
    """Weights and rows that are really drawn have the same quantiles; queries are drawn as a whole."""
    values, labels = draw_graded(7)
    rng = np.random.default_rng(3)
    draws = [rng.integers(0, len(values), len(values)) for _ in range(600)]
    rounded = np.rint(values * 3), np.rint(labels * 3)
    expected = {
        "spearman": [scipy.spearmanr(values[own], labels[own]).statistic for own in draws[:300]],
        "quadratic_kappa": [cohen_kappa(rounded[0][own], rounded[1][own], weights="quadratic") for own in draws],
    }
    result = measure(values, labels)
    for name, own in expected.items():
        low, high = np.quantile(own, [0.025, 0.975])
        assert result[name].low == pytest.approx(low, abs=0.03), name
        assert result[name].high == pytest.approx(high, abs=0.03), name
    twice = measure(np.repeat(values, 4), np.repeat(labels, 4), groups=np.repeat(np.arange(len(values)), 4))
    assert twice["kappa"].low == pytest.approx(result["kappa"].low, abs=0.02)
    assert twice["kappa"].value == pytest.approx(result["kappa"].value)


def test_what_is_undefined_has_no_number() -> None:
    """Equal labels have no correlation; a judge that always says the same has an AUROC of one half."""
    flat = measure(np.full(20, 0.5), np.array([1.0, 0.0] * 10), levels=[0.0, 1.0])
    assert np.isnan(flat["pearson"].value)
    assert flat["auroc"].value == 0.5
    assert flat["kappa"].value == 0.0
    same = measure(np.linspace(0, 1, 20), np.ones(20), levels=[0.0, 1.0])
    assert np.isnan([same["auroc"].value, same["spearman"].value]).all()
    rare = measure(np.linspace(0, 1, 20), np.array([1.0] + [0.0] * 19), levels=[0.0, 1.0])
    assert np.isnan(rare["auroc"].low)  # a third of the resamples have no good item
    with pytest.raises(ValueError, match="every item has one of each"):
        measure(np.ones(2), np.ones(3))


def test_the_threshold_of_two_levels() -> None:
    """With 0.8 the score 0.7 is a no."""
    values, labels = np.array([0.7, 0.9, 0.2] * 5), np.array([0.0, 1.0, 0.0] * 5)
    assert measure(values, labels, levels=[0.0, 1.0])["agreement"].value == pytest.approx(2 / 3)
    assert measure(values, labels, levels=[0.0, 1.0], threshold=0.8)["agreement"].value == 1.0


def test_a_share_has_the_interval_of_statsmodels() -> None:
    """Wilson's, also at the ends."""
    for count, total in ((0, 5), (3, 7), (90, 100), (100, 100)):
        share = estimate_share(count, total)
        assert (share.low, share.high) == pytest.approx(proportion_confint(count, total, method="wilson"), abs=1e-12)
    assert np.isnan(estimate_share(0, 0).value)


def test_people_among_themselves() -> None:
    """Three people of whom not all labelled everything, by the package krippendorff and by hand."""
    nan = float("nan")
    table = [[1, 0, 1, 1, nan, 0], [1, 0, 0, 1, 1, nan], [1, 1, 1, 1, 1, 0]]
    result = measure_people(table, rng=np.random.default_rng(0), resamples=50)
    assert result is not None
    assert (result.people, result.items) == (3, 6)
    assert result.alpha.value == pytest.approx(krippendorff.alpha(np.array(table), level_of_measurement="ordinal"))
    pairs = [([1, 0, 1, 1], [1, 0, 0, 1]), ([1, 0, 1, 1, 0], [1, 1, 1, 1, 0]), ([1, 0, 0, 1, 1], [1, 1, 1, 1, 1])]
    assert result.kappa.value == pytest.approx(np.mean([cohen_kappa(a, b) for a, b in pairs]))
    assert measure_people([[1, nan], [nan, 0]], rng=np.random.default_rng(0)) is None


def test_a_draw_is_tested_as_scipy_does() -> None:
    """Near SciPy's exact p-value; random draws are refused as seldom as they should, chosen ones always."""
    rng = np.random.default_rng(5)
    drawn, rest = rng.random(60), rng.random(500) ** 1.3
    assert check_draw(drawn, rest) == pytest.approx(scipy.ks_2samp(drawn, rest).pvalue, rel=0.15)
    scores = rng.random(400)
    rates = []
    for _ in range(400):
        order = rng.permutation(400)
        rates.append(check_draw(scores[order[:50]], scores[order[50:]]) < 0.05)
    assert np.mean(rates) < 0.08
    chosen = np.sort(scores)
    assert check_draw(chosen[:50], chosen[50:]) < 0.001
    assert check_draw([0.0] * 50, [0.0] * 20 + [1.0] * 180) < 0.001
    assert check_draw([], [1.0]) == 1.0


@pytest.mark.slow
def test_intervals_cover_what_is_true() -> None:
    """Of 120 samples of 80 labels, 19 of 20 intervals have the kappa and the AUROC of the whole world."""
    rng = np.random.default_rng(11)
    labels = (rng.random(200_000) < 0.6).astype(float)
    values = np.clip(np.where(labels == 1, 0.7, 0.45) + rng.normal(0, 0.2, 200_000), 0, 1)
    options = {"levels": [0.0, 1.0], "positive": 0.5}
    kappa = cohen_kappa((values >= 0.5).astype(int), labels.astype(int))
    auroc = scipy.mannwhitneyu(values[labels == 1], values[labels == 0]).statistic / (labels.sum() * (1 - labels).sum())
    covered = {"kappa": 0, "auroc": 0}
    for _ in range(120):
        own = rng.integers(0, 200_000, 80)
        result = measure_agreement(values[own], labels[own], rng=rng, resamples=300, **options)
        for name, truth in (("kappa", kappa), ("auroc", auroc)):
            covered[name] += result[name].low <= truth <= result[name].high
    assert all(106 <= count <= 119 for count in covered.values()), covered
