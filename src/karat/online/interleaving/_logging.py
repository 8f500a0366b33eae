"""What a log has to know of a list: whose each document of it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karat.online._asked import Asked
from karat.online.interleaving._draft import Interleaved

TEAMS = "teams"
"""The attribute of a query that has the team of each of its documents, by feature."""


def log_interleaved(
    asked: Asked,
    feature: str,
    shown: Interleaved,
    rankings: Mapping[str, Sequence[Any]],
    latencies: Mapping[str, float] | None = None,
) -> None:
    """Record the list that was shown, whose each document is, and what each system had found.

    ``latencies`` has the milliseconds that each system took.
    """
    asked.results(list(shown.documents), channels={name: list(ids) for name, ids in rankings.items()}, stages=latencies)
    asked.note(**{TEAMS: {feature: list(shown.teams)}})
