"""Evaluation: a run with its scores, by query, repeat and segment, and how long it took."""

from karat.evaluation._evaluation import MEASURES, Evaluation, deepest, score_run, trials
from karat.evaluation._latency import Latency, latency
from karat.evaluation._segments import FIELDS, groups
from karat.evaluation._snapshot import snapshot, snapshot_run
from karat.evaluation._values import PARTS, Snapshot, changes, check_comparable, comparison_key, flat, identity

__all__ = [
    "FIELDS",
    "MEASURES",
    "PARTS",
    "Evaluation",
    "Latency",
    "Snapshot",
    "changes",
    "check_comparable",
    "comparison_key",
    "deepest",
    "flat",
    "groups",
    "identity",
    "latency",
    "score_run",
    "snapshot",
    "snapshot_run",
    "trials",
]
