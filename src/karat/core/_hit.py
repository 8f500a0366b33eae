"""A hit: a document, or a part of one, that a system returned for a query."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

from karat.core._errors import UsageError, did_you_mean
from karat.core._judgment import Span

SCHEMES: Mapping[str, re.Pattern[str]] = {
    "chunk": re.compile(r"(.+):chunk:[0-9]+", re.DOTALL),
    "prefix": re.compile(r"chunk-(.+):[0-9]+", re.DOTALL),
    "path": re.compile(r"([^#]+)#.+", re.DOTALL),
    "canonical": re.compile(r"([^|]+)\|r=[^|]+\|s=.+", re.DOTALL),
    "opaque": re.compile(r"(.*)", re.DOTALL),
}
"""How systems write the id of a chunk; the pattern's group is the document. Examples: ``wifi:chunk:3``,
``chunk-wifi:3``, ``wifi#s03#p002``, ``wifi|r=1a2b3c4d|s=4.2|p=000|b=011``. An opaque id is its own document."""

BLOCK_TYPES = ("prose", "code", "table", "figure", "caption")
"""What a hit can be."""

Ids = Literal["auto", "chunk", "prefix", "path", "canonical", "opaque"]
"""How the ids of hits name documents and parts: in one of the :data:`SCHEMES`, or ``auto`` for any of them and for the
ids of judged blocks, where they name something of the golden set."""


def document_of(id: str, scheme: str = "chunk") -> str:
    """Return the document that the id of a chunk names, or the id itself if it does not follow the scheme.

    >>> document_of("refund-policy:chunk:3"), document_of("refund-policy")
    ('refund-policy', 'refund-policy')
    >>> document_of("chunk-refund-policy:0", "prefix"), document_of("wifi#s03#p002", "path")
    ('refund-policy', 'wifi')
    """
    if scheme == "chunk" and ":chunk:" not in id:  # as in nearly all ids of whole documents
        return id
    if scheme not in SCHEMES:
        hint = did_you_mean(scheme, SCHEMES) or f"; known: {', '.join(SCHEMES)}"
        raise UsageError(f"unknown scheme of chunk ids {scheme!r}{hint}")
    match = SCHEMES[scheme].fullmatch(id)
    return match[1] if match else id


@dataclass(frozen=True, slots=True)
class Place:
    """The rank, from 1, and the score of a hit in one channel."""

    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Hit:
    """What a system returned, under the system's own id.

    >>> Hit("wifi:chunk:3", 0.8).document
    'wifi'
    >>> Hit("17", 0.8, document="wifi", span=Span(120, 480)).whole
    False
    """

    id: str
    score: float
    document: str = ""
    """The document that it belongs to; by default the one that the id names (see :func:`document_of`)."""
    span: Span | None = None
    """Its position in the document's canonical text, in bytes."""
    _: KW_ONLY
    section: str = ""
    """The id of the section that it is, or is part of."""
    block: str = ""
    """The id of the block that it is."""
    type: str = ""
    """prose, code, table, figure or caption; empty if unknown."""
    content: str = ""
    channels: Mapping[str, Place] = field(default_factory=dict)
    """The channels that found it before fusion, and its place in each."""
    stages: Mapping[str, float] = field(default_factory=dict)
    """Its score after each stage, such as ``{"fusion": 0.03, "rerank": 0.9}``."""
    source_hash: str = ""
    """The hash of the document that it was made from, as the system reports it."""
    tenant: str = ""
    """The owner of the document, if the index holds documents of several tenants."""
    locator: str = ""
    """Where it is in its source, in the system's own words, such as ``page 3``."""

    def __post_init__(self) -> None:
        if not self.document and isinstance(self.id, str):  # an id of another type is reported where hits are checked
            object.__setattr__(self, "document", document_of(self.id))

    @property
    def whole(self) -> bool:
        """Whether it is the whole document: it has the document's id, and neither a span, section nor block."""
        return self.id == self.document and self.span is None and not (self.section or self.block)
