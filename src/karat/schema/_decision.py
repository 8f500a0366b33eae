"""The decision document: what the gate decided on a run, and everything that the decision rests on."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from karat.schema._checks import CheckEntry, MeasureEntry, Outcome
from karat.schema._floor import LexicalFloor
from karat.schema._golden import GoldenReport
from karat.schema._queries import Passage, QueryFailure, QueryRow
from karat.schema._types import Count, Day, Number, Score, SystemChange
from karat.schema.judging import UncertaintyRow

DECISION_FORMAT: Final = 1
"""The number of the format; a document with a higher one needs a newer karat."""


class VerdictFailure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A check that failed: what was measured, and the threshold or the baseline that it was held against."""

    metric: Annotated[str, Meta(description="The name of the check.")]
    current: Score
    threshold: Score | UnsetType = UNSET
    baseline: Score | UnsetType = UNSET
    degradation: str | UnsetType = UNSET
    message: str


class Verdict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The outcome of the gate."""

    outcome: Annotated[Outcome, Meta(description="error: no decision, because the run failed.")]
    exit_code: Annotated[Literal[0, 1, 3, 4], Meta(description="The exit code of karat gate.")]
    passed: Annotated[
        bool,
        Meta(description="Whether the exit code is 0: it passed, or it is inconclusive and the policy lets that pass."),
    ]
    policy: str
    extends: (
        Annotated[str, Meta(description="The policy that this one changes; empty if it stands alone.")] | UnsetType
    ) = UNSET
    changes: Annotated[tuple[str, ...], Meta(description="What it changes in that policy.")] | UnsetType = UNSET
    on_inconclusive: Literal["pass", "fail"]
    list_below: Annotated[dict[str, Number], Meta(description="Limits for a single query, by measure.")] = {}
    failures: tuple[VerdictFailure, ...]


class RunFacts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The run that was decided on."""

    name: str
    title: Annotated[str, Meta(description="The label of the run, or its system and commit.")] | UnsetType = UNSET
    file: Annotated[str, Meta(description="The name of the run's file.")] | UnsetType = UNSET
    id: (
        Annotated[
            str,
            Meta(description="The id of the run: as in spans, metrics and log records (karat.run.id), and the store."),
        ]
        | UnsetType
    ) = UNSET
    origin: (
        Annotated[dict[str, Any], Meta(description="Label, commit, branch, dirty, machine and ci, as far as known.")]
        | UnsetType
    ) = UNSET
    fingerprint: str
    system: Annotated[dict[str, Any], Meta(description="What the system reports about itself.")]
    settings: dict[str, Any]
    versions: dict[str, Any]
    queries: Count
    failed: Count
    unfound: Annotated[
        tuple[str, ...],
        Meta(description="Queries that found nothing relevant, although there is something, and did not fail."),
    ]
    false_answers: (
        Annotated[tuple[str, ...], Meta(description="Unanswerable queries that got hits, and no refusal.")] | UnsetType
    ) = UNSET
    coverage: Score

    @property
    def shown(self) -> str:
        """The name that people read; that of the system in a document of an older karat."""
        return self.title or self.name


class GoldenFacts(Struct, frozen=True, kw_only=True):
    """The golden set of the run, and its size."""

    name: str
    version: str | UnsetType = UNSET
    fingerprint: str | UnsetType = UNSET
    questions: Annotated[str, Meta(description="The fingerprint of everything but the documents.")] | UnsetType = UNSET
    documents: Count
    queries: Count
    judgments: Count

    @property
    def full_name(self) -> str:
        """Name and version."""
        return f"{self.name} {self.version or ''}".strip()


class BaselineFacts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The baseline that the run was compared with."""

    name: str
    title: Annotated[str, Meta(description="The label of its run, or its system and commit.")] | UnsetType = UNSET
    fingerprint: str
    recorded: str
    forced: Annotated[str, Meta(description="Why it was recorded although the gate failed; empty if it did not.")]
    changes: Annotated[tuple[SystemChange, ...], Meta(description="What differs in the system.")]

    @property
    def shown(self) -> str:
        """The name that people read; that of the system in a document of an older karat."""
        return self.title or self.name


class MoverRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A query whose score changed, on the measure on which it changed most."""

    query: str
    measure: str
    baseline: Number
    candidate: Number
    moved: Annotated[tuple[str, ...], Meta(description="What became of its documents.")]


class SegmentRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The queries with one value of a field, and their means."""

    field: str
    value: str
    queries: Count
    ids: Annotated[tuple[str, ...], Meta(description="Its queries; a query may be in several segments.")]
    means: dict[str, Score]
    baseline: Annotated[
        dict[str, Score] | None, Meta(description="The baseline's means over the queries that both have.")
    ]
    compared: (
        Annotated[
            dict[str, Score],
            Meta(description="The run's means over the queries that both have; absent if those are all."),
        ]
        | UnsetType
    ) = UNSET

    @property
    def key(self) -> tuple[str, str]:
        """Field and value."""
        return self.field, self.value

    def current(self, name: str) -> float | None:
        """Return the mean of a measure that stands beside the baseline's: over the queries of both, or else of all."""
        compared = self.compared.get(name) if self.compared else None
        return self.means.get(name) if compared is None else compared


class StageTimes(Struct, frozen=True, kw_only=True):
    """Milliseconds that a stage of the system took."""

    n: Number
    mean: Number
    p50: Number
    p95: Number
    p99: Number


class Histogram(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Milliseconds per query; there is one edge more than counts."""

    edges: tuple[Number, ...]
    counts: tuple[Count, ...]


class LatencyFacts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long the stages took, in the run and in the baseline."""

    stages: dict[str, StageTimes]
    baseline: dict[str, StageTimes]
    histogram: Histogram


class Recommendation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something worth doing, why, and the queries that it rests on."""

    rule: str
    finding: str
    advice: str
    queries: tuple[str, ...]


class GoldenErrors(Struct, frozen=True, kw_only=True):
    """What karat check prints instead of a decision if the golden set has errors."""

    lint: GoldenReport


class DecisionDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A decision of the gate with everything that it is based on; every report is rendered from it. Format 1."""

    karat: Literal["report"]
    kind: Literal["eval.retrieval_report"]
    format: Literal[1]
    created: Annotated[Day, Meta(description="The day of the report; all else is the same for the same run.")]
    verdict: Verdict
    run: RunFacts
    golden: GoldenFacts
    baseline: BaselineFacts | None
    measures: tuple[MeasureEntry, ...]
    checks: tuple[CheckEntry, ...]
    caveats: Annotated[tuple[str, ...], Meta(description="What limits how far the numbers can be trusted.")]
    movers: Annotated[tuple[MoverRow, ...], Meta(description="The queries that changed, the greatest losses first.")]
    segments: tuple[SegmentRow, ...]
    latency: LatencyFacts
    queries: tuple[QueryRow, ...]
    passages: Annotated[
        dict[str, Passage], Meta(description="Title and beginning of what was found, by the id of the hit.")
    ]
    failures: Annotated[tuple[QueryFailure, ...], Meta(description="The queries that failed, and why.")]
    recommendations: Annotated[
        tuple[Recommendation, ...], Meta(description="What to look at next, by rules over the numbers.")
    ]
    fixed: (
        Annotated[tuple[str, ...], Meta(description="Queries that failed in the baseline, and no longer do.")]
        | UnsetType
    ) = UNSET
    lexical_floor: (
        Annotated[LexicalFloor, Meta(description="What words alone reach; absent from documents of an older karat.")]
        | UnsetType
    ) = UNSET
    uncertainty: (
        Annotated[
            tuple[UncertaintyRow, ...],
            Meta(description="Where the uncertainty of tests on a judge's scores comes from; absent without such."),
        ]
        | UnsetType
    ) = UNSET
    lint: (
        Annotated[
            GoldenReport,
            Meta(description="What karat check reports about the golden set; absent from other commands."),
        ]
        | UnsetType
    ) = UNSET
