"""What the verbs of ``karat golden`` print with ``--json``."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

Severity = Literal["error", "warning"]
Bump = Literal["major", "minor", "patch", "none"]
Bytes = tuple[int, int]
"""Start and end of a range of bytes, the end excluded."""


class GoldenFinding(Struct, frozen=True, kw_only=True):
    """Something that a rule of the linter found."""

    rule: str
    severity: Severity
    message: str
    where: tuple[str, ...]
    """The ids that it is about: the first few of them."""
    count: int
    """How many there are in all."""
    fix: str


class GoldenFloors(Struct, frozen=True, kw_only=True):
    """The floors that a system has to reach, by measure."""

    declared: bool
    """False where nobody declared any, and the usual floors are meant."""
    floors: dict[str, float]


class GoldenCeiling(Struct, frozen=True, kw_only=True):
    """The best mean of a measure that any ranking can reach on the set. Where it is unknown, ``because`` says why."""

    computed: str | UnsetType = UNSET
    """The measure with the set's lowest relevant grade filled in."""
    best: float | None
    scored: int | UnsetType = UNSET
    total: int | UnsetType = UNSET
    below: dict[str, int] | UnsetType = UNSET
    """How many queries cannot reach 1, by reason."""
    because: str


class GoldenDetectable(Struct, frozen=True, kw_only=True):
    """The smallest drop that some queries can tell from chance, by the standard deviation of their differences."""

    queries: int
    """Queries with a relevant document; those worded alike count once."""
    two_sided: dict[str, float | None]
    one_sided: dict[str, float | None]


class GoldenResolution(Struct, frozen=True, kw_only=True):
    """The smallest drops that the set can tell from chance, over all queries and in each category."""

    power: float
    alpha: float
    all: GoldenDetectable
    categories: dict[str, GoldenDetectable]


class GoldenReport(Struct, frozen=True, kw_only=True):
    """The linter's findings about a golden set. A set that cannot be read has no counts and no resolution."""

    name: str
    version: str
    profile: str | None
    documents: int | UnsetType = UNSET
    queries: int | UnsetType = UNSET
    judgments: int | UnsetType = UNSET
    ok: bool
    """Whether there is no error."""
    errors: int
    warnings: int
    findings: tuple[GoldenFinding, ...]
    """Errors first."""
    ignored: dict[str, int]
    """How many findings were left out, by rule."""
    gate: GoldenFloors
    ceilings: dict[str, GoldenCeiling]
    resolution: GoldenResolution | None


class GoldenRule(Struct, frozen=True, kw_only=True):
    """A rule of the linter, explained."""

    rule: str
    severity: Severity
    summary: str | UnsetType = UNSET
    more: str | UnsetType = UNSET
    why: str | UnsetType = UNSET
    example: str | UnsetType = UNSET
    fix: str | UnsetType = UNSET


class GoldenConversion(Struct, frozen=True, kw_only=True):
    """A golden set, written in another format."""

    written: str
    format: str
    documents: int
    queries: int
    judgments: int
    notes: tuple[str, ...]
    """What reading the set noticed."""
    lost: tuple[str, ...]
    """What the new format cannot hold."""


class GoldenSample(Struct, frozen=True, kw_only=True):
    """A sample of queries."""

    written: str
    queries: tuple[str, ...]
    """The ids of the queries that were drawn."""
    groups: dict[str, int]
    """How many were drawn of each group, where the sample is stratified."""


class GoldenSynthesis(Struct, frozen=True, kw_only=True):
    """A golden set made by machine."""

    written: str
    documents: int
    queries: int
    fingerprint: str


class GoldenTag(Struct, frozen=True, kw_only=True):
    """The version and git tag that the next release of a set should have."""

    tag: str
    version: str
    bump: Bump
    since: str | None
    """The release that it was compared with."""
    fingerprint: str
    declared: str
    """The version that the set declares now."""


class GoldenPool(Struct, frozen=True, kw_only=True):
    """How many pairs of query and document there are to judge."""

    pairs: int
    unjudged: int
    written: int


class GoldenDecision(Struct, frozen=True, kw_only=True):
    """Which of two runs is better by the judgments so far, and how much is left to judge."""

    measure: str
    runs: tuple[str, str]
    better: str | None
    """The run that is probably better; null if that is not known."""
    difference: float
    """The mean of the second run minus that of the first, with unjudged documents as good as those that were judged."""
    sd: float
    """The standard deviation of the difference, because of what nobody judged."""
    judged_difference: float
    """The difference by the judged documents alone, as if none of the others were relevant."""
    share: float
    """The share of unjudged documents with a gain that ``difference`` assumes."""
    highest_share: float
    """The highest share that the confidence allows for."""
    confidence: float
    """The least probability that the better run is better on these queries, for any share of unjudged documents with a
    gain from 0 to the highest; 0.5 if the better run is not known."""
    judged: int
    """How many pairs of query and document that the runs rank differently are judged."""
    unjudged: int
    """How many are not, and can be."""
    lacking: int
    """How many are not and cannot be, because the golden set lacks the document."""
    written: int
    """How many of them were written, those that matter most first."""


class AnnotatorKappa(Struct, frozen=True, kw_only=True):
    """Cohen's kappa with quadratic weights of two annotators."""

    annotators: tuple[str, str]
    kappa: float | None
    """Null where it is undefined."""
    pairs: int


class DisputedPair(Struct, frozen=True, kw_only=True):
    """A pair that annotators grade differently."""

    query: str
    target: str
    grades: dict[str, int]
    """The grade by annotator."""


class AnnotatorAgreement(Struct, frozen=True, kw_only=True):
    """How far annotators agree on the pairs that several of them judged."""

    annotators: tuple[str, ...]
    pairs: int
    """How many pairs at least two of them judged."""
    same: float | None
    """The share of these pairs on which all gave the same grade."""
    kappa: tuple[AnnotatorKappa, ...]
    alpha: float | None
    """Krippendorff's alpha, ordinal; null where it is undefined."""
    settled: int
    """How many disputes a judgment of the source ``validated`` settled."""
    disputed: tuple[DisputedPair, ...]
    """The pairs that are still disputed, the widest apart first."""


class GoldenMerge(Struct, frozen=True, kw_only=True):
    """Judgments that were merged into a golden set."""

    added: int
    replaced: int
    without_grade: int
    agreement: AnnotatorAgreement | None
    """Null where no pair was judged by two annotators."""
    new_queries: int = 0
    """Queries of a candidate that a person has judged, and that the set now has."""
    unseen_queries: int = 0
    """Queries of a candidate that nobody has judged, and that were left out."""
    paraphrases: int = 0
    """Wordings of a candidate that a person has accepted as those of golden queries."""


class GoldenChange(Struct, frozen=True, kw_only=True):
    """Which documents, or which queries, changed."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: dict[str, tuple[str, ...]]
    """The fields that scores depend on and that changed, by id."""
    extended: dict[str, tuple[str, ...]]
    """The fields to which something was only added, by id."""
    described: tuple[str, ...]
    """Those of which only the description changed."""


class GradedPair(Struct, frozen=True, kw_only=True):
    """A pair of query and target with its grade."""

    query: str
    target: str
    grade: int


class RegradedPair(Struct, frozen=True, kw_only=True):
    """A pair of query and target whose grade changed."""

    query: str
    target: str
    before: int
    after: int


class GoldenPairs(Struct, frozen=True, kw_only=True):
    """Which judged pairs changed."""

    added: tuple[GradedPair, ...]
    removed: tuple[GradedPair, ...]
    regraded: tuple[RegradedPair, ...]


class GoldenSetting(Struct, frozen=True, kw_only=True):
    """A setting of a golden set that changed."""

    before: Any
    after: Any


class GoldenDiff(Struct, frozen=True, kw_only=True):
    """What changed from one golden set to another."""

    bump: Bump
    documents: GoldenChange
    queries: GoldenChange
    pairs: GoldenPairs
    settings: dict[str, GoldenSetting]
    """The settings that scores depend on: grades, threshold, normaliser, classes."""
    described: bool
    """Whether something changed that no score depends on."""


class OutlineSection(Struct, frozen=True, kw_only=True):
    """A section of a document, with the bytes of its parts."""

    id: str
    title: str
    depth: int
    parent: str
    heading: Bytes
    body: Bytes
    whole: Bytes
    anchor: Bytes | None


class OutlineBlock(Struct, frozen=True, kw_only=True):
    """A block of a document, with its bytes."""

    id: str
    type: str
    section: str
    span: Bytes


class GoldenOutline(Struct, frozen=True, kw_only=True):
    """The sections and blocks of one document."""

    document: str
    normaliser: str
    changed: bool
    """Whether the canonical text has other bytes than the document."""
    bytes: int
    sections: tuple[OutlineSection, ...]
    blocks: tuple[OutlineBlock, ...] | UnsetType = UNSET
