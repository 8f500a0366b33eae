"""Which document of a golden set, and which part of it, the id of a hit names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from karat.core import SCHEMES, GoldenSet, InputError, Target, document_of, shorten
from karat.text import section_of_block

_SECTION = re.compile(r"S(?:\.[0-9]{1,9})+", re.ASCII)
_CANONICAL = re.compile(r"\|s=([0-9]{1,9}(?:\.[0-9]{1,9})*)\|", re.ASCII)


class Part(NamedTuple):
    """A document, or a section or a block of it."""

    document: str
    section: str = ""
    block: str = ""


class Parts:
    """The documents and blocks of a golden set, by which ids of hits are resolved.

    >>> from karat.core import Judgment
    >>> target = Target(document="manual", block="S.4.2.p.Bk011a")
    >>> parts = Parts(GoldenSet(judgments=(Judgment(query="q", target=target, grade=1),)))
    >>> parts.of("S.4.2.p.Bk011a", "q")
    Part(document='manual', section='S.4.2', block='S.4.2.p.Bk011a')
    >>> parts.of("manual:chunk:3", "q"), parts.of("manual#S.1", "q")
    (Part(document='manual', section='', block=''), Part(document='manual', section='S.1', block=''))
    """

    def __init__(self, golden: GoldenSet) -> None:
        self.documents = dict.fromkeys(document.id for document in golden.documents)
        self._blocks: dict[str, dict[str, None]] = {}
        self._of_query: dict[tuple[str, str], dict[str, None]] = {}
        for query, target in _targets(golden):
            self.documents[target.document] = None
            if target.block:
                self._blocks.setdefault(target.block, {})[target.document] = None
                self._of_query.setdefault((query, target.block), {})[target.document] = None
        self._suffixed = any(document_of(document) != document for document in self.documents)

    def of(self, id: str, query: str, document: str = "") -> Part:
        """Return the part that an id names among the hits of a query.

        ``document`` is the document that the system names, if it does. An id that is neither a document of the set
        nor a chunk of one may be the id of a block: of the block that was judged for the query, or else of one that
        was judged for any query. If several documents have such a block, the id is ambiguous, which is an error.
        Where documents of the set themselves have ids such as ``wifi:chunk:3``, an unknown id is a document as well.
        """
        if document:
            return self._within(document, "" if id == document else id)
        if id in self.documents:
            return Part(id)
        for scheme in SCHEMES:
            name = document_of(id, scheme)
            if name != id and name in self.documents:
                return self._within(name, _part_of(id, name, scheme))
        if id in self._blocks or _section_of(id):
            return self._within(self._document(id, query), id)
        if len(self.documents) == 1 and self._blocks:  # the set is about the blocks of one document
            return Part(next(iter(self.documents)), block=id)
        return Part(id if self._suffixed else document_of(id))

    def by_scheme(self, id: str, scheme: str) -> Part:
        """Return the part that an id names in one scheme of ids, whether or not the set has the document."""
        name = document_of(id, scheme)
        return Part(id) if name == id else self._within(name, _part_of(id, name, scheme))

    def _within(self, document: str, part: str) -> Part:
        if part in self._blocks or _section_of(part):
            return Part(document, _section_of(part), part)
        return Part(document, part if _SECTION.fullmatch(part) else "")

    def _document(self, block: str, query: str) -> str:
        documents: Mapping[str, None] = self._of_query.get((query, block)) or self._blocks.get(block) or self.documents
        if len(documents) > 1:
            first, second, *_ = documents
            raise InputError(
                f"block {shorten(block)} could be in document {shorten(first)} or {shorten(second)}",
                hint=f"write its id as {shorten(f'{first}#{block}')}, or give it a 'document'",
            )
        return next(iter(documents), block)


def _targets(golden: GoldenSet) -> Iterator[tuple[str, Target]]:
    yield from ((judgment.query, judgment.target) for judgment in golden.judgments)
    for query in golden.queries:
        yield from ((query.id, target) for target in (*query.negatives, *query.anchors))


def _part_of(id: str, document: str, scheme: str) -> str:
    """Return the section or block that an id names after its document, or ``""`` if it names none."""
    if scheme == "canonical":
        section = _CANONICAL.search(id)
        return f"S.{section[1]}" if section else ""
    return id[len(document) + 1 :] if scheme == "path" else ""


def _section_of(block: str) -> str:
    """Return the section that the id of a block names, or ``""`` if the id does not have that form."""
    if not block.startswith("S."):  # as nearly all, for which an error takes longer to make than a run to read
        return ""
    try:
        return section_of_block(block)
    except InputError:
        return ""
