"""The embedder of delta-S, which is the same whatever the system under test embeds with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.core import Measure, Scores
from karat.evaluation._evaluation import Evaluation

_DISTANCES = ("DeltaS", "CiteDeltaS")


class PinnedEmbedder:
    """Embeds with the built-in model, which is loaded with the first text that is not in the user's cache.

    Texts of results come up again and again: each is embedded once. Without ``cache`` nothing is kept on disk.
    """

    def __init__(self, *, cache: bool = True) -> None:
        self._cache = cache
        self._vectors: dict[str, NDArray[np.float32]] = {}

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text."""
        if new := [text for text in dict.fromkeys(texts) if text not in self._vectors]:
            self._vectors.update(zip(new, self._embed(new), strict=True))
        return np.stack([self._vectors[text] for text in texts])

    def close(self) -> None:
        """Forget the vectors, and close the cache."""
        self._vectors.clear()
        if "_embed" in vars(self) and (close := getattr(self._embed, "close", None)):
            close()

    @cached_property
    def _embed(self) -> Callable[[Sequence[str]], Any]:
        from karat.systems.embed import Granite, find_cache, with_cache

        embedder = Granite()
        try:
            place = find_cache() if self._cache else None
        except RuntimeError:  # without a home folder
            place = None
        return embedder if place is None else with_cache(embedder, place)


def list_tables(evaluation: Evaluation, measure: str) -> list[Scores]:
    """Return the tables that have a measure, each with the queries that it was asked.

    There is one for each wording and repeat, or else that of all.
    """
    tables = [table for table in evaluation.variants.values() if measure in table.columns]
    tables = tables or [evaluation.scores] * (measure in evaluation.scores.columns)
    return [table.select(table.rows.keys() - set(table.not_in_run)) if table.not_in_run else table for table in tables]


def cited_distances(evaluation: Evaluation, queries: Collection[str] | None = None) -> list[float]:
    """Return the distance of each answer from its question, in all wordings and repeats, or only for ``queries``."""
    return [
        value
        for table in list_tables(evaluation, "CiteDeltaS")
        for value in table.column("CiteDeltaS", _select(table, queries)).values()
    ]


def _select(table: Scores, queries: Collection[str] | None) -> list[str] | None:
    return None if queries is None else [query for query in queries if query in table.rows]


def list_distances(scores: Scores) -> list[str]:
    """Return the measures that are distances of meanings."""
    return [name for name in scores.measures if Measure.parse(name).name in _DISTANCES]


def name_embedder(scores: Scores) -> Scores:
    """Return scores whose distances say by which embedder they are: those by different ones are not compared."""
    named = list_distances(scores)
    if not named:
        return scores
    from karat.systems.embed import Granite

    by = {name: "log" if Measure.parse(name).arguments().get("logged") else Granite.name for name in named}
    return replace(scores, definitions={**scores.definitions, **{name: f"{name} by {by[name]}" for name in named}})
