"""One thing that a system returned for a query: a document, or a part of one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field

from karat.core._errors import UsageError, did_you_mean
from karat.core._golden import Span

SCHEMES: Mapping[str, re.Pattern[str]] = {
    "chunk": re.compile(r"(.+):chunk:[0-9]+", re.DOTALL),
    "prefix": re.compile(r"chunk-(.+):[0-9]+", re.DOTALL),
    "path": re.compile(r"([^#]+)#.+", re.DOTALL),
    "canonical": re.compile(r"([^|]+)\|r=[^|]+\|s=.+", re.DOTALL),
    "opaque": re.compile(r"(.*)", re.DOTALL),
}
"""How systems write the id of a chunk; the group is the document: ``wifi:chunk:3``, ``chunk-wifi:3``,
``wifi#s03#p002``, ``wifi|r=1a2b3c4d|s=4.2|p=000|b=011``; and an id that says nothing but itself."""


def document_of(id: str, scheme: str = "chunk") -> str:
    """Return the document that the id of a chunk names, or the id itself if it does not follow that scheme.

    >>> document_of("refund-policy:chunk:3"), document_of("refund-policy")
    ('refund-policy', 'refund-policy')
    >>> document_of("chunk-refund-policy:0", "prefix"), document_of("wifi#s03#p002", "path")
    ('refund-policy', 'wifi')
    """
    if scheme not in SCHEMES:
        hint = did_you_mean(scheme, SCHEMES) or f"; known: {', '.join(SCHEMES)}"
        raise UsageError(f"unknown scheme of chunk ids {scheme!r}{hint}")
    match = SCHEMES[scheme].fullmatch(id)
    return match[1] if match else id


@dataclass(frozen=True, slots=True)
class Place:
    """Where one channel had a hit: its rank, from 1, and its score there."""

    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Hit:
    """What a system returned, under the id that the system gave it.

    >>> Hit("wifi:chunk:3", 0.8).document
    'wifi'
    >>> Hit("17", 0.8, document="wifi", span=Span(120, 480)).whole
    False
    """

    id: str
    score: float
    document: str = ""
    """The document that it belongs to; where none is given, the one that the id names (see :func:`document_of`)."""
    span: Span | None = None
    """Where it stands in the document's canonical text, in bytes."""
    _: KW_ONLY
    section: str = ""
    """The id of the section that it is, or lies in."""
    block: str = ""
    """The id of the block that it is."""
    type: str = ""
    """prose, code, table or figure, where it is known."""
    content: str = ""
    channels: Mapping[str, Place] = field(default_factory=dict)
    """Which channels found it, before fusion, and where."""
    stages: Mapping[str, float] = field(default_factory=dict)
    """Its score after each stage, as in ``{"fusion": 0.03, "rerank": 0.9}``."""
    source_hash: str = ""
    """The hash of the document that it was made from, as the system knows it."""
    tenant: str = ""
    """Whose document it is, in an index that holds those of several."""
    locator: str = ""
    """Where it is in its source, in the system's own words, such as ``page 3``."""

    def __post_init__(self) -> None:
        if not self.document and isinstance(self.id, str):  # what is no id is told where it is used
            object.__setattr__(self, "document", document_of(self.id))

    @property
    def whole(self) -> bool:
        """Whether it is the document itself: it has the document's id, and nothing says that it is a part."""
        return self.id == self.document and self.span is None and not (self.section or self.block)
