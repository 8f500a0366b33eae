"""What ``karat shadow replay --json`` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from karat.schema._types import Count


class ShadowReplay(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Queries that both systems were asked."""

    store: str
    feature: str
    control: Annotated[str, Meta(description="The name of the control, and a digest of what it is made of.")]
    treatment: str
    queries: Annotated[Count, Meta(description="The queries that were to be asked.")]
    before: Annotated[Count, Meta(description="Those that an earlier replay of the same systems has asked.")]
    asked: Annotated[Count, Meta(description="Those that were asked now.")]
    statuses: Annotated[Mapping[str, int], Meta(description="What became of those asked now, counted.")]
