"""Reasons that lie in the golden set: whatever a system returns, the measure has no value."""

from __future__ import annotations

from karat.measures._citations import NO_ANCHORS, NO_NEGATIVES, NO_TOP_CHUNK
from karat.measures._cited import NO_GOLD
from karat.measures._freshness import NO_VERSIONS
from karat.measures._measure import ANSWERABLE, UNANSWERABLE
from karat.measures._memory import NO_CHAIN, NO_INTENT, NO_MUST_SHOW, NO_TIERS, NOT_COLD, NOT_WARM
from karat.measures._tiers import NO_SUCH_TIER

NOT_FOR = frozenset({ANSWERABLE, UNANSWERABLE})
"""Why a measure has no value for a query that it is not for."""
UNTESTABLE = NOT_FOR | {
    NO_ANCHORS, NO_CHAIN, NO_GOLD, NO_INTENT, NO_MUST_SHOW, NO_NEGATIVES, NO_SUCH_TIER, NO_TIERS, NO_TOP_CHUNK,
    NO_VERSIONS, NOT_COLD, NOT_WARM,
}  # fmt: skip
"""Reasons that lie in the golden set alone."""
