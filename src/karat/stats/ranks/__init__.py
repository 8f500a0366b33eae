"""How similar ranked lists are: RBO, tau-b, rho, Jaccard, the first document, and a class made of them."""

from karat.stats.ranks._coefficients import jaccard, kendall_tau, order_differences, rbo, spearman, top1_changed
from karat.stats.ranks._similarity import RankSimilarity, rank_similarity, similarity_class, summarise_ranks

__all__ = [
    "RankSimilarity",
    "jaccard",
    "kendall_tau",
    "order_differences",
    "rank_similarity",
    "rbo",
    "similarity_class",
    "spearman",
    "summarise_ranks",
    "top1_changed",
]
