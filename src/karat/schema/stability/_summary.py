"""Blocks' compact summary of a run, under its own names."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Share = Annotated[float, Meta(ge=0, le=1)] | None
Distance = Annotated[float, Meta(ge=0, le=2)] | None
_NAMES = {"precision": "P@5", "recall": "R@5", "median": "ΔS_med", "p90": "ΔS_p90"}


class BlocksScores(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename=_NAMES):
    """The numbers of some questions; null where there is nothing to measure."""

    precision: Share
    recall: Share
    coverage: Share
    """CiteCoverage."""
    citation_accuracy: Share
    """CiteAccuracy."""
    median: Distance
    """The median of CiteDeltaS over all answers."""
    p90: Distance


class BlocksSummary(BlocksScores, frozen=True, kw_only=True, forbid_unknown_fields=True, rename=_NAMES):
    """What ``karat report --format blocks`` writes, and ``--baseline`` reads."""

    bad_qids: list[str]
    """Questions with an answer that cites nothing relevant or is farther than 0.60, or that cannot be measured."""
    by_type: dict[str, BlocksScores]
    """The questions that are answered by prose, code, tables and figures."""
