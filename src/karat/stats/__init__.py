"""Intervals, tests, corrections, decisions, power and agreement: functions on numbers and arrays."""

from typing import TYPE_CHECKING

from karat.core import open_lazily
from karat.stats._bootstrap import bootstrap
from karat.stats._decision import Outcome, Verdict, decide, threshold
from karat.stats._effect import effect_size, win_tie_loss
from karat.stats._evidence import DropRule, PairedScores, Scale, evidence
from karat.stats._generator import make_generator
from karat.stats._paired import non_inferior, paired_t
from karat.stats._permutation import permutation
from karat.stats._power import detectable, power, sample_size
from karat.stats._quantiles import pick_evenly, quantiles
from karat.stats._step_down import westfall_young

if TYPE_CHECKING:
    from karat.stats import clicks as clicks
    from karat.stats import ranks as ranks
    from karat.stats import sequential as sequential
    from karat.stats._agreement import cohen_kappa, krippendorff_alpha
    from karat.stats._bayes import Successes, probability_better
    from karat.stats._crossed import crossed_interval, crossed_variance
    from karat.stats._difference import DifferenceEstimate, estimate_difference
    from karat.stats._labelled import LEAST_LABELS, CorrectedMean, correct_difference, correct_mean, estimate_mean
    from karat.stats._multiple import benjamini_hochberg, bonferroni, holm
    from karat.stats._value_counts import ValueCounts

__all__ = [
    "LEAST_LABELS",
    "CorrectedMean",
    "DifferenceEstimate",
    "DropRule",
    "Outcome",
    "PairedScores",
    "Scale",
    "Successes",
    "ValueCounts",
    "Verdict",
    "benjamini_hochberg",
    "bonferroni",
    "bootstrap",
    "cohen_kappa",
    "correct_difference",
    "correct_mean",
    "crossed_interval",
    "crossed_variance",
    "decide",
    "detectable",
    "effect_size",
    "estimate_difference",
    "estimate_mean",
    "evidence",
    "holm",
    "krippendorff_alpha",
    "make_generator",
    "non_inferior",
    "paired_t",
    "permutation",
    "pick_evenly",
    "power",
    "probability_better",
    "quantiles",
    "sample_size",
    "threshold",
    "westfall_young",
    "win_tie_loss",
]

# Imported at first use: a check needs few of them.
_HOME = {
    **dict.fromkeys(("cohen_kappa", "krippendorff_alpha"), "_agreement"),
    **dict.fromkeys(("Successes", "probability_better"), "_bayes"),
    **dict.fromkeys(("crossed_interval", "crossed_variance"), "_crossed"),
    **dict.fromkeys(("DifferenceEstimate", "estimate_difference"), "_difference"),
    **dict.fromkeys(
        ("LEAST_LABELS", "CorrectedMean", "correct_difference", "correct_mean", "estimate_mean"), "_labelled"
    ),
    **dict.fromkeys(("benjamini_hochberg", "bonferroni", "holm"), "_multiple"),
    "ValueCounts": "_value_counts",
}

if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(__name__, _HOME)
