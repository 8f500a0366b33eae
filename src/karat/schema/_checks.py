"""The measures and the checks of a decision document."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeGuard

from msgspec import UNSET, Meta, Struct, UnsetType

from karat.schema._labels import LabelCorrection
from karat.schema._scores import MeasureBounds
from karat.schema._types import Count, Number, Score

Outcome = Literal["pass", "fail", "inconclusive", "error"]
CheckKind = Literal[
    "min", "max", "max_drop_abs", "max_drop_rel", "max_rise_abs", "max_rise_rel", "significant_drop", "non_inferior",
    "must_pass", "min_gain_abs", "failed", "unscored", "unasked", "removed", "new",
    "moved", "empty", "texts", "slow", "attempt",
]  # fmt: skip
Status = Literal["PASS", "DEGRADED", "FAIL", "INCONCLUSIVE", "UNCHECKED"]


class MeasureComparison(Struct, frozen=True, kw_only=True):
    """How a measure compares with the baseline, on the queries that both have."""

    difference: Number
    low: Number | None
    high: Number | None
    p_corrected: Number | None
    wins: int
    ties: int
    losses: int
    significant: bool


_COMPARED = ("low", "high", "p_corrected", "wins", "ties", "losses", "significant")


class MeasureRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A measure: its mean, what it is held against, and how it compares with the baseline.

    ``baseline``, ``compared`` and the fields from ``difference`` on cover the queries that run and baseline share;
    without a baseline they are absent.
    """

    name: str
    definition: str
    lower_is_better: bool = False
    mean: Score
    interval: Annotated[
        tuple[Number, Number] | None,
        Meta(description="The 95 % interval of the mean (BCa bootstrap over the queries); null below two queries."),
    ]
    n: Count
    baseline: Annotated[Score, Meta(description="The mean of the baseline over the queries that both have.")]
    compared: Annotated[Score, Meta(description="The mean of the run over the queries that both have.")] | UnsetType = (
        UNSET
    )
    n_compared: Annotated[Count, Meta(description="How many queries have a value in both.")] | UnsetType = UNSET
    floor: Score
    status: Annotated[
        Status,
        Meta(
            description="FAIL: a check failed. DEGRADED: worse than the baseline. INCONCLUSIVE: a check is. "
            "UNCHECKED: no check looks at it."
        ),
    ]
    values: Annotated[tuple[Number, ...], Meta(description="The scores of the queries in ascending order.")]
    difference: Score | UnsetType = UNSET
    low: Score | UnsetType = UNSET
    high: Score | UnsetType = UNSET
    p: Score | UnsetType = UNSET
    p_corrected: Score | UnsetType = UNSET
    p_t: Score | UnsetType = UNSET
    effect: Score | UnsetType = UNSET
    wins: Count | UnsetType = UNSET
    ties: Count | UnsetType = UNSET
    losses: Count | UnsetType = UNSET
    significant: bool | UnsetType = UNSET
    bounds: (
        Annotated[
            MeasureBounds,
            Meta(description="Of the mean; set where a rule looks at it and unjudged documents could move it."),
        ]
        | UnsetType
    ) = UNSET
    by_labels: (
        Annotated[
            LabelCorrection,
            Meta(description="As people's labels correct it, which rules use; all other numbers are the judge's."),
        ]
        | UnsetType
    ) = UNSET

    def __post_init__(self) -> None:
        if _is_number(self.compared) and self.n_compared is UNSET:
            raise ValueError("it has a mean over the queries that both have, but no n_compared")
        if not _is_number(self.difference):
            return
        missing = [name for name in _COMPARED if getattr(self, name) is UNSET]
        if missing:
            raise ValueError(f"it has a difference, but no {', '.join(missing)}")
        if _is_number(self.low) and not _is_number(self.high):
            raise ValueError("its interval has a lower end, but no upper end")

    @property
    def comparison(self) -> MeasureComparison | None:
        """How the measure compares with the baseline; None if there is no difference."""
        if not _is_number(self.difference):
            return None
        return MeasureComparison(
            **{name: getattr(self, name) for name in MeasureComparison.__struct_fields__}  # __post_init__ checks them
        )

    @property
    def current(self) -> float | None:
        """The mean that stands beside the baseline's: that over the queries of both, or else of all."""
        return self.compared if _is_number(self.compared) else self.mean

    @property
    def is_partial(self) -> bool:
        """Whether only some of the run's queries are compared, so that the mean over all is another number."""
        return _is_number(self.compared) and self.n_compared != self.n

    def gain(self, difference: float | None) -> float:
        """Return how much better a difference is: its opposite if lower is better, and 0 if there is none."""
        if difference is None:
            return 0.0
        return -difference if self.lower_is_better else difference

    @property
    def overall_gain(self) -> float:
        """How much better the mean became; 0 if it cannot be compared."""
        return self.gain(self.difference if _is_number(self.difference) else None)


def _has_number(name: str) -> dict[str, Any]:
    """Return the JSON Schema of an object that has a number under a name."""
    return {"required": [name], "properties": {name: {"type": "number"}}}


MeasureEntry = Annotated[
    MeasureRow,
    Meta(
        extra_json_schema={
            "allOf": [
                {"if": _has_number("compared"), "then": {"required": ["n_compared"]}},
                {
                    "if": _has_number("difference"),
                    "then": {
                        "required": list(_COMPARED),
                        "if": _has_number("low"),
                        "then": {"properties": {"high": {"type": "number"}}},
                    },
                },
            ]
        }
    ),
]
"""A measure, with what its ``__post_init__`` checks in the words of JSON Schema."""


class CheckRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that a rule asks for, and whether it holds."""

    metric: Annotated[
        str, Meta(description="Absent where a query has to find anything relevant, or (limit 0) nothing.")
    ] = ""
    kind: CheckKind
    outcome: Outcome
    reason: str
    where: Annotated[
        Annotated[dict[str, str], Meta(min_length=1, max_length=1)] | None,
        Meta(description="The segment that the check looks at: a field of the queries and its value."),
    ] = None
    query: Annotated[str, Meta(description="The query that has to pass by itself.")] = ""
    current: Number | None = None
    baseline: Number | None = None
    difference: Number | None = None
    low: Number | None = None
    high: Number | None = None
    limit: Number | None = None
    p: Number | None = None
    p_worse: Number | None = None
    n: Count | None = None
    total: Annotated[
        Count | None, Meta(description="How many queries of the run have a value, if only n of them are compared.")
    ] = None
    unanswered: Annotated[
        Count | None,
        Meta(description="How many answers count as the worst value because they were refused, or say nothing."),
    ] = None
    unjudged: Annotated[
        Count | None, Meta(description="How many answers count as the worst value because the judge failed on them.")
    ] = None
    unknown: Annotated[
        Count | None,
        Meta(description="How many answers count as the worst value because the text of a hit or citation is unknown."),
    ] = None
    scored: Annotated[
        Count | None,
        Meta(
            description="How many answerable queries the mean is of, if the golden set has nothing relevant for some."
        ),
    ] = None
    answerable: Annotated[
        Count | None, Meta(description="How many answerable queries there are, if the mean is of some of them only.")
    ] = None
    needed: Annotated[
        Count | None,
        Meta(
            description="How many queries would show the observed drop, or rule out the tolerated one if the true one "
            "is the observed one."
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.total is not None and self.n is None:
            raise ValueError("it has a total, but no n")

    @property
    def name(self) -> str:
        """The metric, with its segment or its query."""
        if self.query:
            return f"{self.query} {self.metric}".rstrip()
        return self.metric if self.segment is None else f"{self.metric} {self.segment[0]}={self.segment[1]}"

    @property
    def segment(self) -> tuple[str, str] | None:
        """Field and value of the segment that the check looks at; None for all queries."""
        return next(iter(self.where.items())) if self.where else None


CheckEntry = Annotated[CheckRow, Meta(extra_json_schema={"if": _has_number("total"), "then": _has_number("n")})]
"""A check, with what its ``__post_init__`` checks in the words of JSON Schema."""


def _is_number(value: object) -> TypeGuard[Number]:
    return isinstance(value, int | float)
