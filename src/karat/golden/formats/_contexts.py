"""Contexts: the passages that answer a question, which ragas and deepeval write instead of documents.

A context becomes a document. If the file gives it no id, its id is derived from its text, so that the same passage
under two questions is one document.
"""

from __future__ import annotations

from collections.abc import Sequence

from karat.core import Document, GoldenSet, Judgment, Target
from karat.files import Row
from karat.golden.formats._offsets import Offsets
from karat.golden.formats._records import digest


class Contexts:
    """The documents and judgments that are collected while records are read."""

    def __init__(self) -> None:
        self._documents: dict[str, Document] = {}
        self._judgments: list[Judgment] = []

    def add(self, row: Row, query: str, texts: Sequence[str], ids: Sequence[str]) -> None:
        """Add the contexts of a query: texts, ids, or both."""
        if texts and ids and len(texts) != len(ids):
            raise row.error(f"{len(texts)} contexts have {len(ids)} ids")
        names = ids or [f"c-{digest(text)}" for text in texts]
        for name, text in zip(names, texts, strict=False):
            document = self._documents.setdefault(name, Document(id=name, text=text))
            if document.text != text:
                raise row.error(f"context {name!r} had another text before", "give it an id of its own")
        self._judgments += [
            Judgment(query=query, target=Target(document=name), grade=1) for name in dict.fromkeys(names)
        ]

    @property
    def documents(self) -> tuple[Document, ...]:
        """The contexts, each of them once."""
        return tuple(self._documents.values())

    @property
    def judgments(self) -> tuple[Judgment, ...]:
        """A judgment for each context of each query: it is relevant."""
        return tuple(self._judgments)


def collect_contexts(golden: GoldenSet) -> dict[str, dict[str, str | None]]:
    """Return for each query the ids and texts of what is relevant to it. A text is None if the set does not hold it.

    A span becomes the passage that it marks, with its own id. A section or a block becomes its whole document.
    """
    contexts: dict[str, dict[str, str | None]] = {query.id: {} for query in golden.queries}
    texts: dict[str, Offsets] = {}
    for (query, target), grade in golden.decided.items():
        if grade < golden.relevant or query not in contexts:
            continue
        document = golden.document_by_id.get(target.document)
        if target.span is None or document is None:
            contexts[query][target.document] = None if document is None else document.text
        else:
            text = texts.setdefault(document.id, Offsets(document.text))
            contexts[query][str(target)] = text.passage(target.span)
    return contexts
