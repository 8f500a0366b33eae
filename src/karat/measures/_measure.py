"""The decorator that turns a kernel into a measure, and the parameters that many measures share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from karat.core import MEASURES, Definition, Floats, KaratError, Measure, MeasureError, Parameter
from karat.measures._alignment import Alignment, Ints
from karat.measures._evidence import judge_each

_ROUNDING = 1e-9


class Kernel(Protocol):
    """Computes one value per query, NaN where the measure is undefined."""

    def __call__(self, a: Alignment, k: Any, /, **params: Any) -> Floats: ...


@dataclass(frozen=True, slots=True)
class Bound:
    """The bounds of a measure that is not monotone in the grade of each document."""

    compute: Callable[..., tuple[Floats, Floats]]
    """A function of an alignment, the cut-off, :class:`Unjudged` and the parameters that returns the lowest and the
    highest value per query over all grades that unjudged documents could have."""
    exact: bool = True
    """Whether some grades reach the best value; if not, it is only a bound."""
    difference: Callable[..., Ints] | None = None
    """A function of two alignments, the cut-off, a :class:`Pool` of documents, the highest grade and the parameters
    that returns the grades of the pool with which the first alignment is worst beside the second."""
    unless: tuple[str, str] = ("", "")
    """A parameter and its value for which nobody knows the difference."""


K = TypeVar("K", bound=Callable[..., Floats])

NO_SPANS = "no spans judged, or hits without spans"
"""Why a span measure is undefined. It says nothing about the system, so no convention replaces it by 0 or 1."""
UNANSWERABLE = "unanswerable: the right answer is no answer"
"""Why a measure of answers is undefined for a query that has none."""
ANSWERABLE = "the query has an answer"
"""Why a measure of unanswerable queries is undefined."""

REL = Parameter(name="rel", kind="int", default=1, low=0, help="lowest grade that counts as relevant")
JUDGED_ONLY = Parameter(
    name="judged_only", kind="bool", default=False, help="remove unjudged documents from the ranking first"
)
GAIN = Parameter(
    name="gain", kind="str", default="linear", choices=("linear", "exp"), help="gain of a grade: itself, or 2^grade - 1"
)
GAINS = Parameter(
    name="gains", kind="gains", default=None, help="gain of some grades, as in {1: 1, 2: 5}; the others keep theirs"
)
MAX_GRADE = Parameter(name="max_grade", kind="int", default=4, low=1, help="top of the grading scale")
ROUNDING = Parameter(
    name="rounding",
    kind="str",
    default="exact",
    choices=("exact", "trec"),
    help="how a share of the relevant documents becomes a number of them: rounded up, or as trec_eval 9 does",
)


def measure(
    name: str,
    *parameters: Parameter,
    aliases: tuple[str, ...] = (),
    cutoff: Literal["none", "optional", "required", "recall"] = "optional",
    aggregate: Literal["mean", "sum", "geometric"] = "mean",
    undefined: str = "no relevant documents",
    higher_is_better: bool | None = True,
    queries: Literal["answerable", "unanswerable", "all"] = "answerable",
    low: float = 0.0,
    high: float | None = 1.0,
    unjudged: Literal["monotone", "additive", "share", "best", "independent", "counted"] | Bound | None = None,
) -> Callable[[K], K]:
    """Register the decorated function as a measure.

    The function takes an :class:`Alignment`, a cut-off and the declared parameters, and returns one value per query,
    NaN where the measure is undefined.

    - ``aliases``: other names by which the measure can be asked for;
    - ``cutoff``: whether a cut-off ``@k`` is required, optional or not allowed; ``recall`` is a recall level;
    - ``aggregate``: how the values of the queries become one;
    - ``undefined``: the reason that is given for a NaN;
    - ``higher_is_better``: None for a count, which is neither better nor worse;
    - ``queries``: whether the measure is for queries that have an answer, for those that have none, or for all;
    - ``low``, ``high``: the least and the greatest value of a query, ``math.inf`` if there is none, None for the
      cut-off. A query that fails has the worse of the two, and a gate refuses limits that no value can break;
    - ``unjudged``: ``monotone`` if a better grade of a returned document never makes a value worse (or never better,
      where lower is better), and a relevant document that was not returned never makes it better. Then bounds over
      unjudged documents are exact. Of three kinds of such measures the bounds of the difference of two runs are exact,
      too: ``additive`` is a sum to which each returned document adds something by its grade and rank alone, and not
      more at a lower rank; ``share`` is the number of relevant documents that were returned, divided by something that
      grows with the number of all relevant ones, at most by 1 for each, and is never less than it; ``best`` is the most
      that any relevant document gives by its rank, where higher is better. ``independent`` if judgments do not matter,
      ``counted`` if the measure counts unjudged documents itself. A :class:`Bound` computes bounds. None if nobody
      knows them.
    """

    def register(kernel: K) -> K:
        definition = Definition(
            name=name,
            kernel=kernel,
            aliases=aliases,
            cutoff=cutoff,
            parameters=parameters,
            aggregate=aggregate,
            undefined=undefined,
            higher_is_better=higher_is_better,
            queries=queries,
            low=low,
            high=high,
            unjudged=unjudged,
        )
        MEASURES.add(name, definition, aliases)
        return kernel

    return register


def compute(measure: Measure, alignment: Alignment) -> Floats:
    """Return one value per query, NaN where the measure is undefined. It may be so for queries it is not meant for."""
    return explain(measure, alignment)[0]


def explain(measure: Measure, alignment: Alignment) -> tuple[Floats, Sequence[str] | None]:
    """Return one value per query, and why it has none; None for reasons if there is only that of the definition.

    What the code of a user's own measure raises is an error that names the measure and the line.
    """
    if _is_of_karat(measure):
        return _compute(measure, alignment)
    try:
        return _compute(measure, alignment)
    except KaratError:
        raise
    except Exception as error:  # whatever the user's code raises
        from karat.measures._own import describe_exception

        kernel = measure.definition.kernel
        what = describe_exception(error, getattr(getattr(kernel, "__code__", None), "co_filename", ""))
        raise MeasureError(f"measure {kernel.__module__}:{measure}: {what}") from error


def _is_of_karat(measure: Measure) -> bool:
    return measure.definition.kernel.__module__.startswith("karat.")


def _compute(measure: Measure, alignment: Alignment) -> tuple[Floats, Sequence[str] | None]:
    arguments, definition = measure.arguments(), measure.definition
    if definition.traced:
        judge, queries = definition.kernel, alignment.queries
        values, why = judge_each(judge, alignment.evidence, queries, definition.undefined, measure.cutoff, **arguments)
        return _require_declared(measure, values, len(queries)), why
    if arguments.pop("judged_only", False):
        alignment = alignment.judged_only
    kernel: Kernel = definition.kernel
    return _require_declared(measure, kernel(alignment, measure.cutoff, **arguments), len(alignment.queries)), None


def _require_declared(measure: Measure, values: Floats, queries: int) -> Floats:
    """Return the values of a measure; those of a user's own are held to what it declares."""
    definition = measure.definition
    if _is_of_karat(measure):
        return values
    values = np.asarray(values, np.float64)
    if values.shape != (queries,):
        shape = " x ".join(map(str, values.shape)) or "one"
        raise MeasureError(f"{measure} returned {shape} values for {queries:,} queries; return one for each, in order")
    high = measure.cutoff if definition.high is None else definition.high
    most = np.inf if high is None else float(high)
    outside = values[np.isinf(values) | (values < definition.low - _ROUNDING) | (values > most + _ROUNDING)]
    if len(outside):
        raise MeasureError(
            f"{measure} returned {outside[0]:g}, outside of the range that it declares, {definition.low:g} to {most:g};"
            " correct it, or declare another with low= and high=; return NaN where a query has no value"
        )
    return values


def ratio(numerator: NDArray[Any], denominator: NDArray[Any]) -> Floats:
    """Return the quotient, NaN (undefined) where the denominator is 0."""
    out = np.full(len(denominator), np.nan)
    quotient: Floats = np.divide(numerator, denominator, out=out, where=denominator != 0)
    return quotient
