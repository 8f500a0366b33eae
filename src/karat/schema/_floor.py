"""What words alone reach, beside the whole system."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from karat.schema._types import Count, Score


class FloorRatio(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What words alone reach on a measure, as a share of what the whole system reaches."""

    measure: str
    floor: Annotated[Score, Meta(description="The mean of the lexical channel alone.")]
    full: Annotated[Score, Meta(description="The mean of the whole system.")]
    ratio: Annotated[Score, Meta(description="null where the whole system has 0.")]
    advice: Annotated[
        Literal["PAUSE", "RATIONALIZE", "PROCEED", ""],
        Meta(description="PAUSE from 0.80 up, RATIONALIZE from 0.50 up, PROCEED below; empty without a ratio."),
    ]


class LexicalFloor(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the lexical channel of a run reaches alone."""

    queries: Annotated[Count, Meta(description="The queries whose lexical channel the run recorded.")]
    measures: tuple[FloorRatio, ...]
    note: Annotated[str, Meta(description="Why there are no measures; empty if there are some.")]
