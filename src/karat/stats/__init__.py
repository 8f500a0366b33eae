"""Intervals, tests, power and rank similarity: functions on numbers, arrays and ranked lists."""

from karat.stats._agreement import cohen_kappa, krippendorff_alpha
from karat.stats._power import detectable, power, sample_size
from karat.stats._ranks import RankChange, jaccard, kendall_tau, order_differences, rbo, spearman, top1_changed
from karat.stats._similarity import RankSimilarity, RankSummary, rank_similarity, similarity_class, summarise_ranks

__all__ = [
    "RankChange",
    "RankSimilarity",
    "RankSummary",
    "cohen_kappa",
    "detectable",
    "jaccard",
    "kendall_tau",
    "krippendorff_alpha",
    "order_differences",
    "power",
    "rank_similarity",
    "rbo",
    "sample_size",
    "similarity_class",
    "spearman",
    "summarise_ranks",
    "top1_changed",
]
