"""Hits that say the same as a hit above them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from karat.causes._corpus import Corpus
from karat.core import Hit
from karat.text import words

_ALIKE = 0.8
"""The share of the words in a row that two texts have in common if one is a copy of the other; independent texts on the
same subject hardly share any."""
_ROW = 4
_SKETCH = 8


class Copies:
    """Finds copies among hits; the words of each text are read once."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._rows: dict[str, frozenset[str]] = {}

    def mark(self, hits: Iterable[Hit], text: Callable[[Hit], str], limit: int) -> list[bool]:
        """Return for each hit whether it repeats one above it: a document, a class, or a text of nearly the same words.

        It stops when ``limit`` hits are no copies.
        """
        class_of = self._corpus.golden.class_of
        seen: set[str] = set()
        sketches: dict[str, list[frozenset[str]]] = {}
        marks: list[bool] = []
        for hit in hits:
            name = class_of.get(hit.document, hit.document)
            own = self._read(text(hit))
            # Copies share most of their first rows in the order of the alphabet, so that not every pair is compared.
            sketch = sorted(own)[:_SKETCH]
            near = {id(other): other for row in sketch for other in sketches.get(row, ())}.values()
            alike = any(len(own & other) >= _ALIKE * min(len(own), len(other)) for other in near)
            marks.append(name in seen or alike)
            seen.add(name)
            for row in sketch:
                sketches.setdefault(row, []).append(own)
            if marks.count(False) == limit:
                break
        return marks

    def _read(self, text: str) -> frozenset[str]:
        if text not in self._rows:
            spoken = words(text)
            starts = range(len(spoken) - _ROW + 1)
            self._rows[text] = frozenset(" ".join(spoken[start : start + _ROW]) for start in starts)
        return self._rows[text]
