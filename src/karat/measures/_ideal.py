"""The grades of unjudged documents with which a sum of gains is lowest beside the DCG of the ideal list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from karat.core import Floats
from karat.measures._alignment import Alignment, Ints

_ITERATIONS = 100  # more than Dinkelbach's method needs: it converges faster than linearly


@dataclass(frozen=True, kw_only=True)
class Layers:
    """The grades that documents can have, from the lowest up, query after query.

    The DCG of an ideal list is the sum over its layers of what one grade has more gain than the one below it, times the
    discounts of as many ranks as documents have that grade or a better one.
    """

    query: Ints
    grade: Ints
    step: Floats
    """The gain of the grade, less that of the grade below it."""
    judged: Ints
    """How many documents have the grade or a better one."""


def find_layers(a: Alignment, top: int, gain: Callable[[Ints], Floats]) -> Layers:
    """Return the grades of the judged documents of each query, and the highest grade that others could have."""
    useful, queries = a.grades > 0, len(a.queries)
    query = np.concatenate([a.query[useful], np.arange(queries)])
    grade = np.concatenate([a.grades[useful], np.full(queries, top, np.int64)])
    order = np.lexsort((grade, query))
    query, grade = query[order], grade[order]
    starts = np.flatnonzero(np.diff(query, prepend=-1) != 0)
    first = np.flatnonzero((np.diff(query, prepend=-1) != 0) | (np.diff(grade, prepend=-1) != 0))
    ends = np.append(starts[1:], len(query))[query[first]]
    below = np.where(np.isin(first, starts), 0, grade[np.maximum(first - 1, 0)])
    # The highest grade is in each query once more than documents have it.
    return Layers(
        query=query[first], grade=grade[first], step=gain(grade[first]) - gain(below), judged=ends - first - 1
    )


def find_lowest(layers: Layers, base: Floats, query: Ints, weight: Floats, cut: Ints) -> Ints:
    """Return the grade of each unjudged document with which (base + sum of weight x gain) / ideal DCG is lowest.

    ``query`` is ascending; ``cut`` is the length of the ideal list, per query. Of documents with equal grades those
    with the least weights have them, so that the question is how many have each grade or a better one.

    Where the quotient is negative, Dinkelbach's method finds the lowest: with t the best quotient so far, it lowers
    the numerator less t times the ideal DCG, which has a term for each grade. More judged documents of a grade make
    ranks further down cheaper, so that no better grade gets more documents than a worse one, and the terms can be
    lowered one by one. Elsewhere it is lowest where all have the highest grade or none: the ideal DCG is convex.
    """
    order = np.lexsort((weight, query))
    count = np.bincount(query, minlength=len(base))
    starts = np.cumsum(count) - count + np.arange(len(base))  # of each query's sums, of which it has one more
    sums = np.zeros(len(query) + len(base))
    long = np.arange(len(base))
    for number in range(1, int(count.max(initial=0)) + 1):
        long = long[count[long] >= number]
        sums[starts[long] + number] = sums[starts[long] + number - 1] + weight[order[starts[long] - long + number - 1]]
    longest = int((layers.judged + count[layers.query]).max(initial=0))
    first = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, longest + 2)))])
    search = _Search(layers=layers, base=base, count=count, starts=starts, sums=sums, first=first, cut=cut)
    numbers = search.find_numbers()
    places = np.arange(int(numbers.sum())) + np.repeat(
        (np.cumsum(count) - count)[layers.query] - np.cumsum(numbers) + numbers, numbers
    )
    grades = np.zeros(len(query), np.int64)
    np.maximum.at(grades, order[places], np.repeat(layers.grade, numbers))
    return grades


@dataclass(frozen=True, kw_only=True)
class _Search:
    layers: Layers
    base: Floats
    count: Ints
    """The number of unjudged documents, per query."""
    starts: Ints
    sums: Floats
    """The sum of the least weights, of none, one and more documents, query after query."""
    first: Floats
    """The sum of the discounts of the first ranks, of none, one and more."""
    cut: Ints

    def find_numbers(self) -> Ints:
        """Return how many unjudged documents have each grade or a better one at the lowest quotient."""
        number, lowest = self._find_corner()
        for _ in range(_ITERATIONS):
            below = np.flatnonzero(lowest[self.layers.query] < 0)
            tried = number.copy()
            tried[below] = self._lower(below, -lowest[self.layers.query[below]])
            quotient = self._divide(tried)
            better = quotient < lowest - 1e-15
            if not better.any():
                break
            number = np.where(better[self.layers.query], tried, number)
            lowest = np.where(better, quotient, lowest)
        return number

    def _find_corner(self) -> tuple[Ints, Floats]:
        """Return the best number of documents with the highest grade, the others having none, and the quotient."""
        number = np.zeros(len(self.base), np.int64)
        lowest = self._divide(number[self.layers.query])
        rows = np.arange(len(self.layers.query))
        for tried in range(1, int(self.count.max(initial=0)) + 1):
            rows = rows[self.count[self.layers.query[rows]] >= tried]  # one long list does not make all others costly
            query, quotient = self._divide_all(rows, tried)
            better = quotient < lowest[query]
            number[query[better]], lowest[query[better]] = tried, quotient[better]
        return number[self.layers.query], lowest

    def _divide_all(self, rows: Ints, number: int) -> tuple[Ints, Floats]:
        """Return the queries of some layers, and their quotients with as many documents in each layer."""
        query, step = self.layers.query[rows], self.layers.step[rows]
        first = np.flatnonzero(np.diff(query, prepend=-1) != 0)
        queries = query[first]
        gained = np.add.reduceat(step, first) * self.sums[self.starts[queries] + number]
        ideal = np.add.reduceat(step * self._discount(self.layers.judged[rows] + number, query), first)
        return queries, _divide(self.base[queries] + gained, ideal)

    def _divide(self, number: Ints) -> Floats:
        query, step = self.layers.query, self.layers.step
        gained = np.bincount(query, step * self.sums[self.starts[query] + number], len(self.base))
        ideal = np.bincount(query, step * self._discount(self.layers.judged + number, query), len(self.base))
        return _divide(self.base + gained, ideal)

    def _lower(self, layers: Ints, factor: Floats) -> Ints:
        """Return the number of documents for some layers with the least sum of weights plus factor x discounts."""
        query, judged = self.layers.query[layers], self.layers.judged[layers]
        number = np.zeros(len(layers), np.int64)
        least = factor * self._discount(judged, query)
        most = self.count[query]
        rows = np.arange(len(layers))
        for tried in range(1, int(most.max(initial=0)) + 1):
            rows = rows[most[rows] >= tried]
            own = query[rows]
            cost = self.sums[self.starts[own] + tried] + factor[rows] * self._discount(judged[rows] + tried, own)
            better = cost < least[rows]
            number[rows[better]] = tried
            least[rows[better]] = cost[better]
        return number

    def _discount(self, number: Ints, query: Ints) -> Floats:
        discounts: Floats = self.first[np.minimum(number, self.cut[query])]
        return discounts


def _divide(sums: Floats, ideal: Floats | Ints) -> Floats:
    quotient: Floats = np.divide(sums, ideal, out=np.full(len(ideal), np.inf), where=ideal > 0)
    return quotient
