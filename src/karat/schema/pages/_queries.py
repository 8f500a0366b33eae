"""The pages of two runs side by side, and of one query."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from karat.schema._comparison import ComparisonDocument
from karat.schema._types import Count, Number, Rank, Score
from karat.schema.pages._live import QueryUse
from karat.schema.pages._shared import RunLine


class ChangedQuery(Struct, frozen=True, kw_only=True):
    """A query in two runs, on one measure."""

    id: str
    text: str
    category: str
    first: Number
    second: Number
    gain: Number
    """Positive where the second run is better, also for a measure where less is better."""
    mover: str = ""
    """The channels or the stage that moved its best relevant document that moved; empty if the runs do not tell."""


class PlacedQueries(Struct, frozen=True, kw_only=True):
    """Queries with about the same scores in both runs: a dot of the plot."""

    first: Number
    second: Number
    count: Count


class ComparisonPage(Struct, frozen=True, kw_only=True):
    """Two runs: which is better, how sure that is, and what moved."""

    karat: Literal["page-comparison"] = "page-comparison"
    project: str
    first: RunLine
    second: RunLine
    comparison: ComparisonDocument
    """What karat compare says; of the queries that moved, the first of each kind."""
    measures: tuple[str, ...]
    measure: str
    """The measure of the queries and of the plot."""
    lower_is_better: bool
    queries: tuple[ChangedQuery, ...]
    dots: tuple[PlacedQueries, ...]
    """All queries with a value in both runs, by where they stand in the plot."""
    better: Count
    worse: Count
    same: Count
    unknown: Count
    """Queries without a value in one of the runs."""
    more: str | None
    """What to pass as ``after`` to get the next queries; null after the last."""


class RankedHit(Struct, frozen=True, kw_only=True):
    """A hit of a ranking."""

    rank: Rank
    id: str
    document: str
    title: str
    beginning: str
    score: Number
    grade: int | None
    """null where nobody judged it."""
    relevant: bool | None
    """null where nobody judged it."""
    other: Rank | None
    """The rank of its document in the other run; null where it is not there."""
    mover: str = ""
    """What moved its document, if the runs tell: the channels that rank it otherwise, or the first later stage that
    does."""


class ScoreBounds(Struct, frozen=True, kw_only=True):
    """The worst and the best that a score could be, over all grades that unjudged documents could have."""

    worst: Number
    best: Number
    unjudged: Count
    """How many of the documents that the measure looks at nobody judged."""


class Ranking(Struct, frozen=True, kw_only=True):
    """What a run returned for a query."""

    run: RunLine
    error: str
    answer: str
    hits: tuple[RankedHit, ...]
    total: Count
    """How many hits there are, of which these are the first."""
    scores: dict[str, Score]
    milliseconds: Score
    problem: str
    """Why the ranking cannot be shown; empty if it can."""
    bounds: dict[str, ScoreBounds] = {}
    """How far the documents that nobody judged could move each score; only where the list alone decides it."""


class RankingsPage(Struct, frozen=True, kw_only=True):
    """One query in two runs: both rankings side by side."""

    karat: Literal["page-rankings"] = "page-rankings"
    project: str
    query: str
    text: str
    category: str
    measure: str
    measures: tuple[str, ...]
    first: Ranking
    second: Ranking
    previous: str | None
    """The query before it in the list of the comparison."""
    next: str | None
    place: Count
    """Its place in that list, from 1; 0 if it is not in it."""
    of: Count


class QueryJudgment(Struct, frozen=True, kw_only=True):
    """A judgment of the query."""

    target: str
    document: str
    title: str
    grade: int
    decided: int
    """The grade that counts for the target: of the most trusted source, the lower median of its annotators."""
    decides: bool
    """Whether its source is the most trusted one that judged the target."""
    relevant: bool
    """Whether the target is relevant by the grade that counts."""
    source: str
    annotator: str
    date: str
    words: str = ""
    """What the target says, if it is a part of the document."""


class QueryRun(Struct, frozen=True, kw_only=True):
    """The query in one run."""

    run: str
    title: str
    date: str
    outcome: str | None
    scores: dict[str, Score]
    ranks: dict[str, Rank | None]
    """The rank of each relevant document; null where it was not returned."""
    error: str
    problem: str
    """Why its ranking cannot be read; empty if it can."""
    missing: dict[str, str] = {}
    """Why a score is missing, by measure."""


class QueryPage(Struct, frozen=True, kw_only=True):
    """One query through all runs."""

    karat: Literal["page-query"] = "page-query"
    project: str
    query: str
    text: str
    category: str
    type: str
    intent: str
    answer: str
    answerable: bool
    paraphrases: tuple[str, ...]
    judgments: tuple[QueryJudgment, ...]
    """The best first."""
    measures: tuple[str, ...]
    relevant: tuple[str, ...]
    """Its relevant documents, whose ranks the runs have: the first of them."""
    runs: tuple[QueryRun, ...]
    """The newest first."""
    more: Count
    """How many older runs are not shown."""
    ranking: Ranking | None
    """What the chosen run returned, by default the newest."""
    live: QueryUse | None
    """What people who asked it did; null if nobody did, or live traffic was not looked at."""
