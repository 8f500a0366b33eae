"""Bounds: how far the grades of unjudged documents could move a table of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Bounds:
    """The worst and the best values over all grades that the unjudged documents in the top k could have."""

    worst: NDArray[np.float64]
    """One row per query, one column per measure; NaN for a missing value, and for a measure without bounds."""
    best: NDArray[np.float64]
    unjudged: NDArray[np.int64]
    """How many documents of each list have no judgment, down to the cut-off of the measure."""
    unknown: Mapping[str, str] = field(default_factory=dict)
    """The measures without bounds, and why they have none."""
    loose: frozenset[str] = frozenset()
    """The measures whose best value is a bound that no grades may reach."""

    def __post_init__(self) -> None:
        for array in (self.worst, self.best, self.unjudged):
            array.setflags(write=False)

    def take(self, rows: Sequence[int] | slice = slice(None), columns: Sequence[int] | slice = slice(None)) -> Bounds:
        """Return the bounds of some rows and columns."""

        def cut(array: NDArray[Any]) -> NDArray[Any]:
            return array[rows][:, columns]

        return replace(self, worst=cut(self.worst), best=cut(self.best), unjudged=cut(self.unjudged))
