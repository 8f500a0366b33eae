"""Which part of which document the id of a hit names, seen from a golden set."""

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
    """Reads ids as the documents and blocks of a golden set.

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

    def of(self, id: str, query: str, document: str = "") -> Part:
        """Give what an id names in an answer to a query; ``document`` is what the system says it belongs to.

        An id that is no document of the set, and no chunk of one, may be that of a block. It is taken as the block that
        was judged for the query, or that the set has at all; where several documents have it, nobody can tell.
        """
        if document:
            return self._within(document, "" if id == document else id)
        if id in self.documents:
            return Part(id)
        for scheme in SCHEMES:
            name = document_of(id, scheme)
            if name != id and name in self.documents:
                return self._within(name, _rest(id, name, scheme))
        if id in self._blocks or _section(id):
            return self._within(self._document(id, query), id)
        if len(self.documents) == 1 and self._blocks:  # a set on the blocks of one document: what else could it be?
            return Part(next(iter(self.documents)), block=id)
        return Part(document_of(id))

    def _within(self, document: str, part: str) -> Part:
        if part in self._blocks or _section(part):
            return Part(document, _section(part), part)
        return Part(document, part if _SECTION.fullmatch(part) else "")

    def _document(self, block: str, query: str) -> str:
        found: Mapping[str, None] = self._of_query.get((query, block)) or self._blocks.get(block) or self.documents
        if len(found) > 1:
            one, other, *_ = found
            raise InputError(
                f"block {shorten(block)} could be in document {shorten(one)} or {shorten(other)}",
                hint=f"write its id as {shorten(f'{one}#{block}')}, or give it a 'document'",
            )
        return next(iter(found), block)


def _targets(golden: GoldenSet) -> Iterator[tuple[str, Target]]:
    yield from ((judgment.query, judgment.target) for judgment in golden.judgments)
    for query in golden.queries:
        yield from ((query.id, target) for target in (*query.negatives, *query.anchors))


def _rest(id: str, document: str, scheme: str) -> str:
    """Give what an id says of the part, where it does."""
    if scheme == "canonical":
        numbered = _CANONICAL.search(id)
        return f"S.{numbered[1]}" if numbered else ""
    return id[len(document) + 1 :] if scheme == "path" else ""


def _section(block: str) -> str:
    """Give the section in a block's id; nothing where the id is not written like one."""
    try:
        return section_of_block(block)
    except InputError:
        return ""
