"""Passages of a golden set, found in the documents that they come from.

ragas and deepeval write the passages that answer a question, and not the documents that they are from. A system returns
documents, or parts of them, under ids of their own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from karat.core import Document, GoldenSet, InputError, Target, count_things, shorten
from karat.files import Reading
from karat.text import canonical

_BETWEEN = "\0"
"""Stands between two documents, and in none."""


def find_passages(golden: GoldenSet, documents: Sequence[Document], reading: Reading, source: str) -> GoldenSet:
    """Return a set whose judgments of passages are of the documents that contain them, line breaks and blanks aside.

    A passage that several documents contain is in each of them. One that no document contains is a mistake: without it
    its question would look answered by less. A passage with the id of a document is that document.
    """
    known, texts = {document.id for document in documents}, _Places(documents)
    found: dict[str, list[str]] = {}
    for passage in golden.documents:
        found[passage.id] = [passage.id] if passage.id in known else list(texts.find(passage.text))
        if not found[passage.id]:
            problem = f"none of the documents has the passage {shorten(passage.text)}"
            hint = "name the documents that it is from, or leave the documents out"
            reading.errors.append(InputError(problem, source=source, hint=hint))
    if several := sum(len(places) > 1 for places in found.values()):
        reading.note(
            f"{source}: {count_things(several, 'passage is', 'passages are')} in several documents, and judged in each"
        )
    judgments = {
        (judgment.query, document): replace(judgment, target=Target(document=document))
        for judgment in golden.judgments
        for document in found.get(judgment.target.document, [judgment.target.document])
    }
    return replace(golden, documents=tuple(documents), judgments=tuple(judgments.values()))


class _Places:
    """All documents as one text, in which a passage is found at once."""

    def __init__(self, documents: Sequence[Document]) -> None:
        texts = [_squeeze(document.text) + _BETWEEN for document in documents]
        self._ids = [document.id for document in documents]
        self._starts = [0, *accumulate(map(len, texts))][:-1]
        self._text = "".join(texts)

    def find(self, passage: str) -> Iterator[str]:
        """Yield the documents that contain a passage, each of them once."""
        words = _squeeze(passage)
        place = self._text.find(words) if words else -1
        while place >= 0:
            number = bisect_right(self._starts, place) - 1
            yield self._ids[number]
            after = self._starts[number + 1] if number + 1 < len(self._starts) else len(self._text)
            place = self._text.find(words, after)


def _squeeze(text: str) -> str:
    """Return the words of a text with one blank between them."""
    return " ".join(canonical(text).split())
