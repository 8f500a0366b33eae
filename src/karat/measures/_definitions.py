"""The table of measures as a document."""

from __future__ import annotations

from collections.abc import Iterable

from karat.core import Definition
from karat.schema import MeasureDefinition, MeasureListing, MeasureParameter


def list_measures(definitions: Iterable[Definition]) -> MeasureListing:
    """Return how measures are written, what parameters they take, and what they compute.

    >>> from karat.core import MEASURES
    >>> [measure.name for measure in list_measures([MEASURES.get("mrr")]).measures]
    ['RR']
    """
    return MeasureListing(measures=tuple(map(_describe, definitions)))


def _describe(definition: Definition) -> MeasureDefinition:
    return MeasureDefinition(
        name=definition.name,
        aliases=definition.aliases,
        cutoff=definition.cutoff,
        parameters=tuple(
            MeasureParameter(name=p.name, type=p.kind, default=p.default, help=p.help) for p in definition.parameters
        ),
        aggregate=definition.aggregate,
        higher_is_better=definition.higher_is_better,
        queries=definition.queries,
        doc=definition.doc,
    )
