"""Conventions: how different communities compute measures of the same name.

Conventions fill in the parameters that a measure leaves open, and decide how to score a query without relevant
documents and a query that the run does not answer. docs/conventions.md has the table of differences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from karat.core import Measure, Undefined, UsageError, did_you_mean

Missing = Literal["zero", "exclude"]

DEFAULT_MEASURES = ("nDCG@10", "RR@10", "AP", "R@10", "P@10", "Judged@10")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conventions:
    """How one community computes its measures."""

    name: str
    measures: tuple[str, ...] = DEFAULT_MEASURES
    """The measures that are computed when none are named."""
    parameters: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Parameters to fill in, by measure."""
    relevant_from: int | None = None
    """The lowest grade that counts as relevant, for every measure that has such a parameter."""
    replaced: Mapping[str, str] = field(default_factory=dict)
    """Measures that are computed as another measure."""
    undefined: Undefined = "exclude"
    """How to score a query without relevant documents."""
    undefined_for: Mapping[str, Undefined] = field(default_factory=dict)
    """The same for individual measures."""
    missing: Missing = "zero"
    """How to score a judged query that the run does not answer."""

    def resolve(self, measure: Measure) -> Measure:
        """Return the measure that is computed when this one is asked for.

        >>> print(CONVENTIONS["rig"].resolve(Measure.parse("nDCG@5")))
        nDCG(gain='exp')@5
        >>> print(CONVENTIONS["fit"].resolve(Measure.parse("P(rel=3)@5")))
        P(rel=3)@5

        A parameter that is written out overrides the conventions, unless it has its default value: then the measure
        equals the one without the parameter, and has the same key in the table of scores. ``karat.score`` refuses
        such a measure where the conventions say otherwise. For ``rig``'s rules with a linear gain, ask for
        ``conventions="karat", undefined="one"``.
        """
        name = self.replaced.get(measure.name, measure.name)
        filled = dict(self.parameters.get(measure.name, {}))
        if self.relevant_from is not None and measure.arguments().get("rel") is not None:
            filled["rel"] = self.relevant_from
        return Measure.of(name, measure.cutoff, filled | dict(measure.params))


_EXPONENTIAL = {"nDCG": {"gain": "exp"}, "DCG": {"gain": "exp"}}

CONVENTIONS: dict[str, Conventions] = {
    c.name: c
    for c in (
        Conventions(name="karat"),
        Conventions(
            name="trec",
            measures=("AP", "GMAP", "Rprec", "Bpref", "RR", "P@5", "P@10", "nDCG"),
            parameters={"IPrec": {"rounding": "trec"}, "IPrec11": {"rounding": "trec"}, "Rprec": {"rounding": "trec"}},
            undefined="zero",
            missing="exclude",
        ),
        # Precision counts labels from 2 up, recall and RR any grade above 0. Recall is 0/0 without relevant entities,
        # and so has no value; the other measures are 0.
        Conventions(
            name="fit",
            measures=("R@5", "P@5", "RR@10", "nDCG@5"),
            parameters={"P": {"rel": 2}},
            undefined="zero",
            undefined_for={"R": "exclude"},
        ),
        # Divides by what was returned, cuts the ideal list there too, and drops failed queries.
        Conventions(
            name="beluga",
            measures=("P@1", "P@5", "P@10", "R@5", "R@10", "RR@10", "nDCG@10"),
            parameters={"nDCG": {"ideal": "returned"}},
            replaced={"P": "SetP"},
            undefined="zero",
            missing="exclude",
        ),
        # Exponential gain, relevant from grade 2 up, and recall 1 when there is nothing to find.
        Conventions(
            name="agent",
            measures=("RR@5", "RR@10", "nDCG@5", "nDCG@10", "nDCG@20", "R@5", "R@10"),
            parameters=_EXPONENTIAL,
            relevant_from=2,
            undefined="zero",
            undefined_for={"R": "one"},
        ),
        # Exponential gain; everything but precision is 1 when there is nothing to find.
        Conventions(
            name="rig",
            measures=("R@10", "P@10", "Success@10", "RR@10", "AP@10", "nDCG@10"),
            parameters=_EXPONENTIAL,
            undefined="one",
        ),
        # Sets of block ids; divides by what was returned.
        Conventions(
            name="blocks",
            measures=("P@1", "P@3", "P@5", "P@10", "R@1", "R@3", "R@5", "R@10"),
            replaced={"P": "SetP"},
            undefined="zero",
        ),
    )
}


def conventions(name: str | Conventions) -> Conventions:
    """Return the conventions of that name."""
    if isinstance(name, Conventions):
        return name
    if name not in CONVENTIONS:
        raise UsageError(
            f"unknown conventions {name!r}{did_you_mean(name, CONVENTIONS) or '; known: ' + ', '.join(CONVENTIONS)}"
        )
    return CONVENTIONS[name]
