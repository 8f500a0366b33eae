"""Evaluation: a run with its scores by query, repeat and segment, its latency, and its failures."""

from karat.evaluation._comparable import (
    FIT_PARTS,
    comparison_key,
    flatten,
    name_parts,
    require_comparable,
    system_changes,
)
from karat.evaluation._document import evaluation_report
from karat.evaluation._evaluation import Evaluation, Segment, Segments, empty_scores
from karat.evaluation._latency import summarise_latency
from karat.evaluation._rescoring import needed_depth, revise_evaluation
from karat.evaluation._revision import Revision
from karat.evaluation._scoring import MEASURES, deepest_cutoff, default_measures, pass_rates, score_run
from karat.evaluation._segments import FIELDS, segment_queries

__all__ = [
    "FIELDS",
    "FIT_PARTS",
    "MEASURES",
    "Evaluation",
    "Revision",
    "Segment",
    "Segments",
    "comparison_key",
    "deepest_cutoff",
    "default_measures",
    "empty_scores",
    "evaluation_report",
    "flatten",
    "name_parts",
    "needed_depth",
    "pass_rates",
    "require_comparable",
    "revise_evaluation",
    "score_run",
    "segment_queries",
    "summarise_latency",
    "system_changes",
]
