"""Measures that are sums over documents: a weight of the rank times a gain of the grade, divided by a fixed number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from karat.core import Floats, Measure, UsageError
from karat.measures._alignment import Ints
from karat.measures._graded import discount, gain_of, geometric

_LINEAR = ("DCG", "nDCG", "P", "R", "RBP")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearMeasure:
    """A measure as a sum over the documents in the top k of a query."""

    measure: Measure
    relevant: int
    """The lowest grade that counts as relevant, unless the measure says otherwise."""

    def weights(self, ranks: Ints) -> Floats:
        """Return the weight of a document at each rank; 0 below the cut-off, and at rank 0, which is no rank.

        >>> make_linear("DCG@2").weights(np.array([1, 0, 3])).tolist()
        [1.0, 0.0, 0.0]
        """
        k = self.measure.cutoff
        inside = (ranks > 0) & (ranks <= (ranks if k is None else k))
        places = np.where(inside, ranks, 1)
        match self.measure.name:
            case "DCG" | "nDCG":
                values = 1 / discount(places)
            case "RBP":
                values = geometric(self._number("p"), places)
            case "P":
                values = np.full(len(ranks), 1 / float(k or 1))
            case _:
                values = np.ones(len(ranks))
        return np.where(inside, values, 0.0)

    def gains(self, grades: Ints) -> Floats:
        """Return the gains of grades: 1 from the lowest relevant grade up, or for DCG and nDCG the measure's own."""
        arguments = self.measure.arguments()
        if "gain" in arguments:
            return gain_of(grades, str(arguments["gain"]), None)
        rel = self._number("rel") if "rel" in dict(self.measure.params) else self.relevant
        return (grades >= rel).astype(np.float64)

    def _number(self, name: str) -> float:
        value = self.measure.arguments()[name]
        assert isinstance(value, int | float)
        return value

    def divisor(self, grades: Ints) -> float:
        """Return what the sum of a query is divided by, from the grades of its judged documents.

        It is that of the judgments so far: for nDCG the DCG of the ideal list, for R the number of relevant documents.
        A query without any is taken to have one document of gain 1.
        """
        gains = self.gains(grades)
        if self.measure.name == "R":
            return max(1.0, float(gains.sum()))
        if self.measure.name == "nDCG":
            ideal = np.sort(gains)[::-1]
            return float((ideal * self.weights(np.arange(1, len(ideal) + 1))).sum()) or 1.0
        return 1.0


def make_linear(measure: str | Measure, relevant: int = 1) -> LinearMeasure:
    """Return a measure as a sum over documents; one that is not linear in the gain of each document is an error.

    >>> make_linear("AP")
    Traceback (most recent call last):
    ...
    karat.core._errors.UsageError: AP is not a sum over documents; choose DCG@k, nDCG@k, P@k, R@k or RBP@k
    """
    parsed = Measure.parse(measure)
    if parsed.name not in _LINEAR:
        choices = [f"{name}@k" for name in _LINEAR]
        raise UsageError(f"{parsed} is not a sum over documents; choose {', '.join(choices[:-1])} or {choices[-1]}")
    for name in ("judged_only", "gains", "ideal"):
        if name in dict(parsed.params):
            raise UsageError(f"{parsed}: leave out {name}, with which it is not a sum over documents")
    return LinearMeasure(measure=parsed, relevant=relevant)
