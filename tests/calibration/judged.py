"""Real runs on judged collections, resampled: the scores of three settings of BM25 on Cranfield and on SciFact.

A world draws n queries with replacement, and says which scores are the baseline's and which the candidate's:
``null``: the scores of two settings, and chance decides for each query which of them is the baseline's;
``lost``: the candidate is the baseline, but one in six queries, of those that worked, lost all that it had found;
``shifted``: the candidate is a worse setting, without normalisation by length.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import karat
from karat import golden
from karat.core import Provenance, Scores
from karat.evaluation import Evaluation
from karat.gate import Policy, decide
from karat.systems.index import Lexical

MEASURES = ("R@5", "P@5", "RR@10", "nDCG@5")
SIZES = (30, 50, 100, 300)
WORLDS = ("null", "lost", "shifted")
_SETTINGS = {"plain": {}, "no stemmer": {"stemmer": "none"}, "no length": {"b": 0.0}}
_FAST = {"total": {"n": 1.0, "mean": 10.0, "p50": 10.0, "p95": 10.0, "p99": 10.0}}
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Collection:
    """The scores of each setting: a row for each query, a column for each measure."""

    name: str
    scores: dict[str, Floats]

    def draw(self, world: str, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return the scores of a baseline and a candidate on n queries."""
        rows = rng.integers(0, len(self.scores["plain"]), n)
        plain = self.scores["plain"][rows]
        if world == "shifted":
            return plain, self.scores["no length"][rows]
        if world == "null":
            other, swapped = self.scores["no stemmer"][rows], rng.random((n, 1)) < 0.5
            return np.where(swapped, other, plain), np.where(swapped, plain, other)
        candidate = plain.copy()
        working = np.flatnonzero(plain.any(axis=1))
        candidate[rng.choice(working, min(n // 6, len(working)), replace=False)] = 0.0
        return plain, candidate


@cache
def read_collection(path: Path) -> Collection:
    """Search a collection with each setting, and score what comes back."""
    found = golden.read(path)
    ids = [document.id for document in found.documents]
    texts = [f"{document.title} {document.text}" for document in found.documents]
    scores = {}
    for name, options in _SETTINGS.items():
        index = Lexical(**options).build(texts)
        run = {query.id: {ids[i]: score for i, score in index.search(query.text, 10)} for query in found.queries}
        scores[name] = np.nan_to_num(karat.score(found.qrels(), run, MEASURES).values)
    return Collection(name=path.name, scores=scores)


def rates(collection: Collection, policy: Policy, world: str, n: int, *, runs: int, seed: int = 0) -> Counter[str]:
    """Return how many simulated runs have each outcome."""
    rng = np.random.default_rng([seed, n, WORLDS.index(world)])
    outcomes: Counter[str] = Counter()
    for _ in range(runs):
        before, after = (_evaluate(values) for values in collection.draw(world, n, rng))
        outcomes[decide(after, before, policy).outcome.value] += 1
    return outcomes


def _evaluate(values: Floats) -> Evaluation:
    queries = tuple(f"q{i}" for i in range(len(values)))
    columns = {**dict(zip(MEASURES, values.T, strict=True)), "RR": values[:, 2]}
    scores = Scores.from_columns(
        "run", {name: dict(zip(queries, column.tolist(), strict=True)) for name, column in columns.items()}
    )
    lists = dict.fromkeys(queries, ("d1",))
    return Evaluation(
        provenance=Provenance(name="run"), scores=scores, means=scores.mean(), queries=queries, latency=_FAST,
        total=len(queries), lists=lists,
    )  # fmt: skip
