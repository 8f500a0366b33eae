"""Values that ppi-python and scikit-learn gave, which are too heavy to be installed for this.

They were computed once, in an environment of their own: ppi-python 0.2.3 (``ppi_mean_pointestimate``, and
``ppi_mean_ci`` with ``alpha=0.05``, with the ``lam`` that they choose) and scikit-learn 1.9.1 (``cohen_kappa_score``,
``roc_auc_score``), with NumPy 2.4.6, on the very numbers that the functions below return.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import TypeAlias

import numpy as np
import pytest

from karat.stats import CorrectedMean, cohen_kappa, correct_difference, correct_mean
from karat.stats.trust import measure_agreement

Sample: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]
NORMAL = NormalDist().inv_cdf(0.975)


def graded(n: int, others: int) -> Sample:
    """Return graded labels, a judge's scores of the same items, and of others."""
    labels = np.array([(37 * i % 11) / 10 for i in range(n)])
    judged = np.clip(labels + np.array([((53 * i % 7) - 3) / 20 for i in range(n)]), 0, 1)
    truth = np.array([(29 * i % 11) / 10 for i in range(others)])
    return labels, judged, np.clip(truth + np.array([((31 * i % 7) - 2) / 20 for i in range(others)]), 0, 1)


def binary(n: int, others: int) -> Sample:
    """Return labels of 0 and 1, which a judge contradicts in one of six."""
    labels = np.array([float(37 * i % 10 < 7) for i in range(n)])
    judged = np.array([label if 53 * i % 6 else 1 - label for i, label in enumerate(labels.tolist())])
    return labels, judged, np.array([float(29 * i % 10 < 6) for i in range(others)])


def require_equal(ours: CorrectedMean, sample: Sample, theirs: tuple[float, float, float]) -> None:
    """Compare a corrected mean with that of ppi-python, which differs in three known ways.

    Its covariance divides by n and its variances by n and N, where ours divide by one less; so its weight is ours times
    (n - 1) / n, exactly. Its interval is normal, and ours is that of Student's t, which is wider.
    """
    labels, judged, others = sample
    n, (mean, low, high) = len(labels), theirs
    weight = ours.weight * (n - 1) / n
    assert labels.mean() + weight * (others.mean() - judged.mean()) == pytest.approx(mean, abs=1e-12)
    assert ours.mean == pytest.approx(mean, abs=ours.weight / n)
    width = 2 * NORMAL * ours.error / (high - low)
    assert 1 <= width < 1 + 1 / n
    assert ours.high - ours.low > high - low


@pytest.mark.parametrize(
    ("sample", "theirs"),
    [
        (graded(40, 200), (0.5346310710386938, 0.4873932115074063, 0.5818689305699813)),
        (graded(400, 2000), (0.5345644948818152, 0.5195065824082847, 0.5496224073553457)),
        (binary(120, 600), (0.7, 0.634185669638514, 0.7658143303614859)),
    ],
)
def test_the_corrected_mean_is_that_of_ppi_python(sample: Sample, theirs: tuple[float, float, float]) -> None:
    require_equal(correct_mean(*sample, two_valued=False), sample, theirs)


def test_the_two_pairs_are_part_of_the_sample() -> None:
    """ppi-python on the labelled items and (1, 0) and (0, 1)."""
    labels, judged, others = binary(120, 600)
    sample = np.append(labels, [1, 0]), np.append(judged, [0, 1]), others
    require_equal(
        correct_mean(labels, judged, others), sample, (0.6975174805648021, 0.6304064193716034, 0.7646285417580009)
    )


def test_the_corrected_difference_is_that_of_ppi_python() -> None:
    """On the differences of two runs, item by item."""
    before = graded(60, 300)
    steps = [((17 * i % 5) - 2) / 10 for i in range(60)], [((17 * i % 5) - 1) / 10 for i in range(60)]
    shifts = (*steps, [((13 * i % 5) - 1) / 10 for i in range(300)])
    after = [np.clip(old + np.array(shift), 0, 1) for old, shift in zip(before, shifts, strict=True)]
    ours = correct_difference(*((old, new) for old, new in zip(before, after, strict=True)))
    labels, judged, others = (new - old for old, new in zip(before, after, strict=True))
    require_equal(ours, (labels, judged, others), (-0.003080662475950978, -0.019126587168534367, 0.012965262216632412))


def test_kappa_and_auroc_are_those_of_scikit_learn() -> None:
    """Of grades from 0 to 3, and of scores with many ties."""
    people = [(7 * i * i + i) % 4 for i in range(60)]
    judge = [min(3, max(0, grade + ((11 * i % 5) - 2) // 2)) for i, grade in enumerate(people)]
    assert cohen_kappa(people, judge) == pytest.approx(0.4285714285714286, abs=1e-12)
    assert cohen_kappa(people, judge, weights="quadratic") == pytest.approx(0.8, abs=1e-12)
    good = np.array([float(grade >= 2) for grade in people])
    scores = np.array([(13 * i % 9) / 10 + (0.3 if is_good else 0.0) for i, is_good in enumerate(good.tolist())])
    agreement = measure_agreement(
        scores / 2, good, levels=[0.0, 1.0], positive=0.5, rng=np.random.default_rng(1), resamples=20
    )
    assert agreement["auroc"].value == pytest.approx(0.7905555555555556, abs=1e-12)
    graded_scores = measure_agreement(
        np.array(judge) / 3, np.array(people) / 3, levels=[0, 1 / 3, 2 / 3, 1], positive=0.5,
        rng=np.random.default_rng(1), resamples=20,
    )  # fmt: skip
    assert graded_scores["quadratic_kappa"].value == pytest.approx(0.8, abs=1e-12)
