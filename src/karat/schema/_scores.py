"""The JSON of ``karat score``: the means of each run, by segment and by query."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType


class MeasureBounds(Struct, frozen=True, kw_only=True):
    """How far the grades of unjudged documents could move a measure."""

    worst: float | None
    """The mean, or the sum for counts, if every unjudged document in the top k has the worst grade for it. Null for a
    measure without bounds, and where no query has a value."""
    best: float | None
    exact: bool
    """Whether some grades reach both ends. If not, ``best`` is a bound: the truth may be lower."""
    unjudged: int
    """How many documents in the top k have no judgment."""
    why: str | UnsetType = UNSET
    """Why there are no bounds."""


class MeasureScore(Struct, frozen=True, kw_only=True):
    """One measure of one run."""

    mean: float | None
    """Over the ``n`` queries that have a value; the geometric mean for GMAP and GBpref. Null where none has a value."""
    n: int
    """How many queries have a value."""
    total: int
    """How many queries there are."""
    missing: dict[str, int]
    """How many queries have no value, by reason."""
    sum: float | UnsetType = UNSET
    """For counts such as ``NumRel``."""
    definition: str | UnsetType = UNSET
    """What was computed, where conventions make it differ from what was asked for."""
    bounds: MeasureBounds | UnsetType = UNSET
    """Set with ``--bounds``."""


class SegmentScores(Struct, frozen=True, kw_only=True):
    """The measures of the queries in one segment."""

    measures: dict[str, MeasureScore]


class RepeatedHits(Struct, frozen=True, kw_only=True):
    """Hits that were left out because a better hit of their document ranks above them."""

    hits: int
    """How many hits."""
    queries: int
    """In how many queries."""


class RunScores(Struct, frozen=True, kw_only=True):
    """The scores of one run."""

    name: str
    measures: dict[str, MeasureScore]
    not_in_run: list[str]
    """Judged queries that the run does not answer."""
    not_judged: int
    """How many queries of the run have no judgments."""
    repeated: RepeatedHits | UnsetType = UNSET
    """Set where hits were left out: a document counts once, at its best rank."""
    by: dict[str, dict[str, SegmentScores]] | UnsetType = UNSET
    """By field and by its values; set with ``--by``."""
    queries: dict[str, dict[str, float | None]] | UnsetType = UNSET
    """The values of each query, by measure; set with ``--per-query``."""


class ScoreReport(Struct, frozen=True, kw_only=True):
    """What ``karat score --json`` prints."""

    qrels: str
    """The path of the judgments."""
    conventions: str
    """Whose definitions were followed."""
    runs: list[RunScores]
    highest_grade: int | UnsetType = UNSET
    """The best grade of the judgments, where it is above 255, as no golden set has it."""
