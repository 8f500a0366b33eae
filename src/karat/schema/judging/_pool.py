"""What a machine graded of a pool."""

from __future__ import annotations

from msgspec import Struct

from karat.schema._opinion import JudgeSpending
from karat.schema._types import Count


class PoolJudging(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``karat golden judge --json`` prints."""

    output: str
    annotator: str
    """Under whose name the grades are written; their source is bootstrapped."""
    pairs: Count
    kept: Count
    """Rows that had a grade, which stays as it is."""
    judged: Count
    grades: dict[str, Count]
    """How many pairs got which grade."""
    reasons: dict[str, Count]
    """Why pairs have no grade, and how many."""
    spending: JudgeSpending
