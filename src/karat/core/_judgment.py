"""A judgment: how well a document, or a part of one, answers a query, and who says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

Source = Literal["validated", "manual", "implicit", "bootstrapped"]
SOURCES: tuple[Source, ...] = get_args(Source)
"""Where a judgment comes from, the most trusted source first: confirmed by a second person, made by one person,
derived from behaviour such as clicks, made by a machine. The most trusted source that has judged a pair decides."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A range of bytes in a document's canonical text, the end excluded.

    >>> Span(0, 10).overlap(Span(4, 20))
    6
    """

    start: int
    end: int

    def __len__(self) -> int:
        return max(0, self.end - self.start)

    def overlap(self, other: Span) -> int:
        """Return the number of bytes that both spans cover."""
        return max(0, min(self.end, other.end) - max(self.start, other.start))


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a judgment is about: a document, or a section, a block or a span of it.

    >>> str(Target(document="wifi", section="S.2"))
    'wifi#S.2'
    """

    document: str
    section: str = ""
    block: str = ""
    span: Span | None = None

    def __str__(self) -> str:
        part = self.block or self.section
        bytes_ = f"@{self.span.start}-{self.span.end}" if self.span is not None else ""
        return f"{self.document}{'#' + part if part else ''}{bytes_}"

    @property
    def whole(self) -> bool:
        """Whether it is the whole document."""
        return not self.section and not self.block and self.span is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """How well a target answers a query, and who judged it."""

    query: str
    target: Target
    grade: int
    source: Source = "manual"
    annotator: str = ""
    confidence: float | None = None
    date: str = ""
    channels: tuple[str, ...] = ()
    """The retrieval channels that found the document for judging."""
    quote: str = ""
    """The words of a span when it was judged, by which it is seen that the document was edited."""


class _JudgmentDraft:
    __slots__ = Judgment.__slots__


def make_judgment(
    query: str, target: Target, grade: int, source: Source = "manual", annotator: str = "", date: str = ""
) -> Judgment:
    """Return ``Judgment(query=query, target=target, ...)``, in a quarter of the time.

    >>> wifi = Target(document="wifi")
    >>> make_judgment("q", wifi, 3) == Judgment(query="q", target=wifi, grade=3)
    True
    """
    draft: Any = _JudgmentDraft()
    draft.query = query
    draft.target = target
    draft.grade = grade
    draft.source = source
    draft.annotator = annotator
    draft.confidence = None
    draft.date = date
    draft.channels = ()
    draft.quote = ""
    draft.__class__ = Judgment
    judgment: Judgment = draft
    return judgment
