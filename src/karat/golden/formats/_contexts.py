"""Contexts: passages that a question is answered from, as ragas and deepeval write them instead of documents.

A context becomes a document. Its id is made of its text where the file gives none, so that the same passage under two
questions is one document.
"""

from __future__ import annotations

from collections.abc import Sequence

from karat.core import Document, GoldenSet, Judgment, Target
from karat.files import Row
from karat.golden.formats._offsets import Offsets
from karat.golden.formats._records import digest


class Contexts:
    """The documents and judgments that come together while records are read."""

    def __init__(self) -> None:
        self._documents: dict[str, Document] = {}
        self._judgments: list[Judgment] = []

    def add(self, row: Row, query: str, texts: Sequence[str], ids: Sequence[str]) -> None:
        """Take the contexts of a query, or only their ids, where there are no texts."""
        if texts and ids and len(texts) != len(ids):
            raise row.error(f"{len(texts)} contexts have {len(ids)} ids")
        names = list(dict.fromkeys(ids or [f"c-{digest(text)}" for text in texts]))
        for name, text in zip(ids or [f"c-{digest(text)}" for text in texts], texts, strict=False):
            known = self._documents.setdefault(name, Document(id=name, text=text))
            if known.text != text:
                raise row.error(f"context {name!r} has another text here than before", "give it an id of its own")
        self._judgments += [Judgment(query=query, target=Target(document=name), grade=1) for name in names]

    @property
    def documents(self) -> tuple[Document, ...]:
        """Every context once."""
        return tuple(self._documents.values())

    @property
    def judgments(self) -> tuple[Judgment, ...]:
        """The contexts of each query are relevant to it."""
        return tuple(self._judgments)


def contexts_of(golden: GoldenSet) -> dict[str, dict[str, str | None]]:
    """Give for each query the id and text of what is relevant to it; None for a text that the set does not have.

    A span is the passage that it marks, with an id of its own; a section or a block is its whole document.
    """
    found: dict[str, dict[str, str | None]] = {query.id: {} for query in golden.queries}
    texts: dict[str, Offsets] = {}
    for (query, target), grade in golden.decided.items():
        if grade < golden.relevant or query not in found:
            continue
        document = golden.document_by_id.get(target.document)
        if target.span is None or document is None:
            found[query][target.document] = None if document is None else document.text
        else:
            text = texts.setdefault(document.id, Offsets(document.text))
            found[query][str(target)] = text.passage(target.span)
    return found
