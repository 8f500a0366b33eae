"""Texts of queries, each looked at once, however often it is asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from karat.feedback._detectors import SIMILAR, share_words
from karat.text import content, folded

Ints: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Flags: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
_MOST_TEXTS = 100_000
"""So many texts are remembered from one frame to the next."""


@dataclass(slots=True)
class Wordings:
    """Numbers of texts, with their folded form and their words."""

    _numbers: dict[str, int] = field(default_factory=dict)
    _texts: list[str] = field(default_factory=list)
    _folded: list[str] = field(default_factory=list)
    _words: dict[int, frozenset[str]] = field(default_factory=dict)

    def describe(self, texts: pl.Series) -> pl.DataFrame:
        """Return for each text its number, its key (the folded text), and its form without blanks around it."""
        if len(self._texts) > _MOST_TEXTS:
            self._numbers, self._texts, self._folded, self._words = {}, [], [], {}
        distinct = texts.unique()
        names: list[str] = distinct.to_list()
        for text in names:
            if text not in self._numbers:
                self._numbers[text] = len(self._texts)
                self._texts.append(text)
                self._folded.append(folded(text))
        numbers = [self._numbers[text] for text in names]
        table = pl.DataFrame(
            {
                "text": distinct,
                "number": numbers,
                "key": [self._folded[number] for number in numbers],
                "form": [text.strip() for text in names],
            },
            schema={"text": pl.String, "number": pl.Int64, "key": pl.String, "form": pl.String},
        )
        return texts.to_frame("text").join(table, on="text", how="left", maintain_order="left")

    def compare(self, first: Ints, second: Ints) -> Flags:
        """Return whether texts ask the same as others, as :func:`compare_words` says; both are given by numbers."""
        pairs, where = np.unique(first * len(self._texts) + second, return_inverse=True)
        left, right = np.divmod(pairs, max(len(self._texts), 1))
        similar = [self._are_similar(a, b) for a, b in zip(left.tolist(), right.tolist(), strict=True)]
        return np.array(similar, np.bool_)[where]

    def _are_similar(self, first: int, second: int) -> bool:
        if self._folded[first] == self._folded[second]:
            return True
        return share_words(self._find_words(first), self._find_words(second)) > SIMILAR

    def _find_words(self, number: int) -> frozenset[str]:
        words = self._words.get(number)
        if words is None:
            words = self._words[number] = frozenset(content(self._texts[number]))
        return words
