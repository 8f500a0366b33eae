"""How far the bytes that a table redirects land from where they are: checked by words that occur only once.

A probe is a run of five words that occurs once in the old text and once in the new one, so that where it went is
certain without any alignment. Its drift is the number of bytes between that place and where the table sends it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from karat.migration._edition import Edition
from karat.migration._table import redirect_byte
from karat.migration._words import Shingle, Words
from karat.schema.migration import BlockMapping

_PROBE = 5  # words


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """The drift of a document's probes."""

    probes: int
    mean: float
    """The mean drift as a share of the new text; 0 without probes."""


def measure_drift(old: Edition, new: Edition, mappings: Sequence[BlockMapping]) -> Drift:
    """Return how far the redirected bytes of mapped blocks are from where they should be."""
    before, after = _find_single(old.words), _find_single(new.words)
    distances = []
    for mapping, (first, stop) in zip(mappings, old.ranges, strict=True):
        if mapping.move == "unmapped":
            continue
        for at in range(first, stop - _PROBE + 1):
            probe = old.words.shingle(at, _PROBE)
            if probe in after and before.get(probe) == at:
                landed = redirect_byte(mapping, old.words.starts[at])
                distances.append(abs(landed - new.words.starts[after[probe]]))
    mean = sum(distances) / len(distances) / max(1, new.size) if distances else 0.0
    return Drift(probes=len(distances), mean=mean)


def _find_single(words: Words) -> dict[Shingle, int]:
    """Return the probes that occur once in a text, with their places."""
    places: dict[Shingle, int] = {}
    repeated = set()
    for at in range(len(words) - _PROBE + 1):
        probe = words.shingle(at, _PROBE)
        if probe in places:
            repeated.add(probe)
        places[probe] = at
    return {probe: at for probe, at in places.items() if probe not in repeated}
