"""Intervals, tests, decisions, power and rank similarity: functions on numbers, arrays and ranked lists."""

from karat.stats._agreement import cohen_kappa, krippendorff_alpha
from karat.stats._bayes import Successes, probability_better
from karat.stats._bootstrap import Interval, bootstrap
from karat.stats._decision import Outcome, Threshold, Verdict, decide, threshold
from karat.stats._effect import EffectSize, WinTieLoss, effect_size, win_tie_loss
from karat.stats._evidence import DropRule, Evidence, PairedScores, Scale, evidence
from karat.stats._multiple import benjamini_hochberg, bonferroni, holm
from karat.stats._paired import Claim, NonInferiority, PairedT, non_inferior, paired_t
from karat.stats._permutation import Permutation, permutation
from karat.stats._plan import Plan, plan
from karat.stats._power import detectable, power, sample_size
from karat.stats._ranks import RankChange, jaccard, kendall_tau, order_differences, rbo, spearman, top1_changed
from karat.stats._similarity import RankSimilarity, RankSummary, rank_similarity, similarity_class, summarise_ranks
from karat.stats._step_down import StepDown, westfall_young

__all__ = [
    "Claim",
    "DropRule",
    "EffectSize",
    "Evidence",
    "Interval",
    "NonInferiority",
    "Outcome",
    "PairedScores",
    "PairedT",
    "Permutation",
    "Plan",
    "RankChange",
    "RankSimilarity",
    "RankSummary",
    "Scale",
    "StepDown",
    "Successes",
    "Threshold",
    "Verdict",
    "WinTieLoss",
    "benjamini_hochberg",
    "bonferroni",
    "bootstrap",
    "cohen_kappa",
    "decide",
    "detectable",
    "effect_size",
    "evidence",
    "holm",
    "jaccard",
    "kendall_tau",
    "krippendorff_alpha",
    "non_inferior",
    "order_differences",
    "paired_t",
    "permutation",
    "plan",
    "power",
    "probability_better",
    "rank_similarity",
    "rbo",
    "sample_size",
    "similarity_class",
    "spearman",
    "summarise_ranks",
    "threshold",
    "top1_changed",
    "westfall_young",
    "win_tie_loss",
]
