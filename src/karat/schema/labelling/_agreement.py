"""What ``karat label agreement`` prints."""

from __future__ import annotations

from msgspec import Struct

from karat.schema._types import Count


class LabelEstimate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A number with its interval; null where it is undefined."""

    value: float | None
    low: float | None
    high: float | None
    why: str = ""
    """Why the number or its interval is missing."""


class LabelPair(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far two people agree: Cohen's kappa with quadratic weights."""

    people: tuple[str, str]
    pairs: Count
    kappa: LabelEstimate
    same: float


class LabellerAgreement(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far one person agrees with all others."""

    who: str
    graded: Count
    shared: Count
    """Pairs that somebody else has graded, too."""
    kappa: LabelEstimate
    """Cohen's kappa with quadratic weights, over all others together."""
    mean_grade: float | None
    """The mean of this person's grades of shared pairs."""
    mean_grade_of_others: float | None


class CategoryAgreement(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far people agree on the queries of a category."""

    category: str
    pairs: Count
    alpha: LabelEstimate


class LabelDispute(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pair on which people disagree, or of which they cannot tell."""

    query: str
    document: str
    grades: dict[str, int | None]
    """The grade by person; null if that person cannot tell."""


class LabelAgreement(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far people agree on the pairs that several of them graded; intervals are of 95 %, from resampled queries."""

    people: tuple[str, ...]
    pairs: Count
    same: float | None
    """The share of these pairs on which all gave the same grade."""
    alpha: LabelEstimate
    """Krippendorff's alpha, ordinal."""
    fleiss: LabelEstimate
    """Fleiss' kappa, for which all grades are equally far apart."""
    kappa: tuple[LabelPair, ...]
    by_person: tuple[LabellerAgreement, ...]
    by_category: tuple[CategoryAgreement, ...]
    settled: Count
    disputes: tuple[LabelDispute, ...]
    """Those that nobody has settled, the widest apart first."""
    notes: tuple[str, ...] = ()
    """What to know before the numbers are believed, and what to do."""
    left_out: tuple[str, ...] = ()
    """Files whose labels are not counted, since they cannot be read, and what to do."""
