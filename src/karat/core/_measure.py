"""The measure language: ``nDCG(gain='exp')@10`` is a value that parses, prints itself back, and is its own key."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from karat.core._errors import MeasureError, did_you_mean
from karat.core._registry import Registry
from karat.core._spelling import respell

Value = int | float | bool | str | tuple[tuple[int, float], ...] | None
Undefined = Literal["exclude", "zero", "one"]
"""How to score a query for which a measure is undefined: leave it out, or count it as 0 or as 1."""
Kind = Literal["int", "float", "bool", "str", "gains"]

LARGEST_NUMBER = 10**15  # in a parameter or a cut-off: sums with it are still exact, and fit into 64 bits

_TEXT = re.compile(
    r"\s*+(?P<name>(?:freshness\.)?+[A-Za-z0-9_]++)\s*+(?:\((?P<params>.*)\))?\s*+(?:@\s*+(?P<cutoff>[^@\s()]++))?\s*+",
    re.DOTALL,
)
_LONGEST = 1000
"""Characters of a measure; the most that anybody needs are the gains of a dozen grades."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of a measure, such as ``rel`` in ``R(rel=2)@5``."""

    name: str
    kind: Kind
    default: Value
    help: str
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None

    def check(self, value: object, where: str) -> Value:
        """Return ``value`` in this parameter's type, or raise an error that says what it should be."""
        converted = self._convert(value)
        if converted is None:
            expected = " or ".join(map(repr, self.choices)) or {"gains": "a mapping such as {1: 1, 2: 5}"}.get(
                self.kind, f"a value of type {self.kind}"
            )
            raise MeasureError(f"{where}: {self.name}={value!r} should be {expected}")
        if isinstance(converted, int | float) and not isinstance(converted, bool):
            too_low = self.low is not None and converted < self.low
            if too_low or (self.high is not None and converted > self.high):
                low = "" if self.low is None else f"at least {self.low:g}"
                high = "" if self.high is None else f"at most {self.high:g}"
                raise MeasureError(
                    f"{where}: {self.name}={value!r} should be {' and '.join(filter(None, (low, high)))}"
                )
        return converted

    def _convert(self, value: object) -> Value:
        match self.kind:
            case "bool":
                return value if isinstance(value, bool) else None
            case "str":
                return value if isinstance(value, str) and (not self.choices or value in self.choices) else None
            case "gains":
                return _gains(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        if self.kind == "float":
            return _finite(value)
        return int(value) if abs(value) <= LARGEST_NUMBER and value == int(value) else None


def _gains(value: object) -> Value:
    """Return a mapping of grades to gains as sorted pairs, which can be hashed and printed; None if it is not one."""
    items = value.items() if isinstance(value, Mapping) else value if isinstance(value, tuple) else ()
    gains: dict[int, float] = {}
    for pair in items:
        if not isinstance(pair, tuple) or len(pair) != 2:
            return None
        grade, gain = pair
        number = _finite(gain) if type(gain) in (int, float) else None
        if type(grade) is not int or abs(grade) > LARGEST_NUMBER or number is None or grade in gains:
            return None
        gains[grade] = number
    return tuple(sorted(gains.items())) or None


def _finite(value: float) -> float | None:
    """Return a number as a float, negative zero as zero; None if it is not finite as a float."""
    try:
        number = float(value) + 0.0
    except OverflowError:
        return None
    return number if abs(number) < float("inf") else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """The definition of a measure: one row of the table of measures."""

    name: str
    """The canonical name."""
    kernel: Callable[..., Any]
    """A function of an alignment, the cut-off and the parameters that returns one value per query."""
    aliases: tuple[str, ...] = ()
    cutoff: Literal["none", "optional", "required", "recall"] = "optional"
    """Whether ``@k`` may or must follow the name; ``recall`` means a recall level in [0, 1] instead of a rank."""
    parameters: tuple[Parameter, ...] = ()
    aggregate: Literal["mean", "sum", "geometric"] = "mean"
    """How the values of the queries are aggregated."""
    undefined: str = "no relevant documents"
    """Why a query may have no value."""
    higher_is_better: bool | None = True
    """None for counts, which are neither good nor bad."""
    queries: Literal["answerable", "unanswerable", "all"] = "answerable"
    """The queries that the measure is defined for; a query is unanswerable if the right answer is no answer."""
    low: float = 0.0
    """The lowest value; minus infinity if there is none."""
    high: float | None = 1.0
    """The highest value; infinity if there is none, and None for the cut-off."""
    unjudged: Any = None
    """How unjudged documents can move a value: ``monotone`` if a better grade of a document that was returned never
    moves it the other way, ``additive``, ``share`` or ``best`` if it also is a sum over documents, a share of the
    relevant ones or what the best of them gives, ``independent`` if judgments do not matter, ``counted`` if the measure
    counts unjudged documents itself, a ``Bound``, or None if nobody knows."""
    traced: bool = False
    """Whether it looks at traces, one question after the other; then no list of documents tells its value."""

    @property
    def doc(self) -> str:
        """The kernel's docstring: formula, range, convention, citation, example."""
        return self.kernel.__doc__ or ""

    def parameter(self, name: str) -> Parameter:
        """Return the parameter with this name; raise an error that suggests similar names if there is none."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        names = [parameter.name for parameter in self.parameters]
        hint = did_you_mean(name, names) or (f"; it takes {', '.join(names)}" if names else "; it takes none")
        raise MeasureError(f"measure {self.name} has no parameter {name!r}{hint}")


MEASURES: Registry[Definition] = Registry(
    "karat.measures", "measure", MeasureError, listing="'karat measures' lists them"
)


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure with its parameters and cut-off.

    >>> Measure.parse("ndcg@10")
    Measure('nDCG@10')
    >>> str(Measure.parse("recall(rel=2)@5"))
    'R(rel=2)@5'
    >>> Measure.parse("mrr@10") == Measure.parse("RR@10")
    True
    """

    name: str
    """The canonical name, such as ``nDCG``."""
    cutoff: int | float | None = None
    """The number after the ``@``: a rank, or a recall level for ``IPrec``."""
    params: tuple[tuple[str, Value], ...] = field(default=())
    """The parameters that differ from their defaults, in the order of the measure's definition."""

    @classmethod
    def parse(cls, text: str | Measure) -> Measure:
        """Return the measure that a text names; raise :class:`MeasureError` with similar names if there is none.

        Other tools' names of a measure are known, too: ``ndcg_cut_10``, ``P.10``, ``mrr@10-l2``.
        """
        if isinstance(text, Measure):
            return text
        match = _match(text := str(text))
        if match is None:
            raise MeasureError(_explain_unreadable(text))
        name = MEASURES.get(match["name"]).name
        return cls.of(name, _cutoff(match["cutoff"], text), _params(match["params"], text))

    @classmethod
    def of(cls, name: str, cutoff: float | None = None, params: Mapping[str, object] | None = None) -> Measure:
        """Return the measure with these parts, checked against its definition.

        >>> print(Measure.of("nDCG", 10, {"gain": "exp"}))
        nDCG(gain='exp')@10
        """
        definition = MEASURES.get(name)
        arguments = dict(params or {})
        # ir-measures writes the exponential gain as dcg='exp-log2'; both spellings mean the same measure.
        if (
            arguments.get("dcg") in ("log2", "exp-log2")
            and definition.name in ("nDCG", "DCG")
            and "gain" not in arguments
        ):
            arguments["gain"] = {"log2": "linear", "exp-log2": "exp"}[str(arguments.pop("dcg"))]
        for key in arguments:
            definition.parameter(key)
        changed = []
        for parameter in definition.parameters:
            if parameter.name in arguments:
                value = parameter.check(arguments[parameter.name], f"measure {definition.name}")
                if value != parameter.default:
                    changed.append((parameter.name, value))
        return cls(definition.name, _check_cutoff(definition, cutoff), tuple(changed))

    def written(self, text: str | Measure) -> tuple[tuple[str, Value], ...]:
        """Return the parameters that the text of this measure states, including those with their default value."""
        match = _match(str(text))
        arguments = _params(match["params"], str(text)) if match else {}
        parameters = {key: self.definition.parameter(key) for key in arguments if key != "dcg"}
        return tuple((key, parameter.check(arguments[key], str(text))) for key, parameter in parameters.items())

    @property
    def definition(self) -> Definition:
        """The definition in the table of measures that this measure is an instance of."""
        return MEASURES.get(self.name)

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest value.

        >>> Measure.parse("RR@10").bounds, Measure.parse("FalseHits@5").bounds
        ((0.0, 1.0), (0.0, 5.0))
        """
        low, high = self.definition.low, self.definition.high
        gains = dict(self.params).get("gains")
        if isinstance(gains, tuple) and any(gain < 0 for _, gain in gains):
            low = -math.inf
        return low, float(self.cutoff or math.inf) if high is None else high

    def arguments(self) -> dict[str, Value]:
        """Return every parameter with its value, defaults included."""
        return {p.name: p.default for p in self.definition.parameters} | dict(self.params)

    def __str__(self) -> str:
        params = ",".join(f"{key}={_print(value)}" for key, value in self.params)
        cutoff = "" if self.cutoff is None else f"@{self.cutoff}"
        return f"{self.name}{f'({params})' if params else ''}{cutoff}"

    def __repr__(self) -> str:
        return f"Measure({str(self)!r})"


def _match(text: str) -> re.Match[str] | None:
    """Return the parts of a measure, also if it is written as other tools write it; None if it cannot be read."""
    if len(text) > _LONGEST:
        return None
    match = _TEXT.fullmatch(text)
    if match is not None and match["name"] in MEASURES and "-l" not in (match["cutoff"] or ""):
        return match
    return _TEXT.fullmatch(respell(text, MEASURES.__contains__))


def _explain_unreadable(text: str) -> str:
    if len(text) > _LONGEST:
        return f"cannot read measure of {len(text):,} characters; write it like nDCG@10 or R(rel=2)@5"
    module, _, rest = text.partition(":")
    if _TEXT.fullmatch(rest) and all(part.isidentifier() for part in module.split(".")):
        where = "with -m, in [eval] measures of karat.toml, or with karat.measures.load_measures"
        return f"cannot read measure {text!r}; write {rest} here, and name the module once: {where}"
    return f"cannot read measure {text!r}; write it like nDCG@10 or R(rel=2)@5"


def _print(value: Value) -> str:
    if isinstance(value, tuple):
        return "{" + ",".join(f"{grade}:{repr(gain).removesuffix('.0')}" for grade, gain in value) + "}"
    return repr(value)


def _params(text: str | None, whole: str) -> dict[str, object]:
    """Return the parameters of a text such as ``rel=2, gain='exp'``; values are Python literals."""
    if not text or not text.strip():
        return {}
    try:
        call = ast.parse(f"f({text})", mode="eval").body
        # Anything but a call of f means that the text itself closed the bracket.
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
            raise ValueError
        params = {}
        for word in call.keywords:
            if word.arg is None or word.arg in params:
                raise ValueError
            # A bare word is a string: people type gain=exp in a shell.
            params[word.arg] = word.value.id if isinstance(word.value, ast.Name) else ast.literal_eval(word.value)
        return params
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise MeasureError(
            f"cannot read the parameters of measure {whole!r}; write them like (rel=2, gain='exp')"
        ) from None


def _cutoff(text: str | None, whole: str) -> float | None:
    if text is None:
        return None
    try:
        number = float(text)
        return int(text) if number == int(number) and text.isdecimal() else number
    except (ValueError, OverflowError):
        raise MeasureError(f"cannot read the cut-off of measure {whole!r}; write it like @10") from None


def _check_cutoff(definition: Definition, cutoff: float | None) -> int | float | None:
    name = definition.name
    if cutoff is None:
        if definition.cutoff == "required":
            raise MeasureError(f"measure {name} needs a cut-off, such as {name}@10")
        if definition.cutoff == "recall":
            raise MeasureError(f"measure {name} needs a recall level, such as {name}@0.1")
        return None
    if definition.cutoff == "none":
        raise MeasureError(f"measure {name} takes no cut-off; write {name}")
    if definition.cutoff == "recall":
        if not 0 <= cutoff <= 1:
            raise MeasureError(f"measure {name}@{cutoff}: the recall level lies between 0 and 1")
        return float(cutoff) + 0.0  # no negative zero
    if not 1 <= cutoff <= LARGEST_NUMBER or cutoff != int(cutoff):
        raise MeasureError(f"measure {name}@{cutoff}: the cut-off is a rank, a whole number from 1 up")
    return int(cutoff)
