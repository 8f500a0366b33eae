"""Old ids in a new index: where a citation of an earlier version leads, and whether it is of the same text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from karat.migration._table import list_targets
from karat.schema.migration import BlockMapping, MigrationTable


class Redirect(NamedTuple):
    """Where an id leads: its blocks in the new version, any of which will do; none if it has no place there."""

    targets: tuple[str, ...]
    is_known: bool
    """Whether the table has the id."""


class Redirects:
    """The redirects of a table. An id that several documents have needs its document.

    >>> mapping = BlockMapping(old_block_id="c_17", new_block_id="c_19", move="shift", old_off=0, old_end=9, new_off=4,
    ...                        new_end=13, runs=((0, 4),), conf=1.0, coverage=1.0)
    >>> table = MigrationTable(doc_id="wifi", from_version="v1", to_version="v2", mappings=(mapping,))
    >>> redirects = Redirects([table])
    >>> redirects.resolve("c_17").targets, redirects.accepts("c_19", "c_17"), redirects.accepts("c_18", "c_17")
    (('c_19',), True, False)
    """

    def __init__(self, table: Iterable[MigrationTable]) -> None:
        self._by_document: dict[tuple[str, str], BlockMapping] = {}
        self._by_id: dict[str, BlockMapping | None] = {}
        for document in table:
            for mapping in document.mappings:
                self._by_document[document.doc_id, mapping.old_block_id] = mapping
                known = mapping.old_block_id in self._by_id
                self._by_id[mapping.old_block_id] = None if known else mapping

    def find(self, id: str, document: str = "") -> BlockMapping | None:
        """Return what became of an old id; None if the table has no such id, or without a document, several."""
        if document and (mapping := self._by_document.get((document, id))) is not None:
            return mapping
        return None if document else self._by_id.get(id)

    def resolve(self, id: str, document: str = "") -> Redirect:
        """Return where an old id leads."""
        mapping = self.find(id, document)
        return Redirect(() if mapping is None else list_targets(mapping), is_known=mapping is not None)

    def accepts(self, id: str, cited: str, document: str = "") -> bool:
        """Return whether a block of the new version holds what a citation of the old version names."""
        return id in self.resolve(cited, document).targets
