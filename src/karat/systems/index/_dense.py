"""The dense index: every vector compared with the query, exactly; or a graph of neighbours, when there are many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from importlib.util import find_spec
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from karat.core import UsageError, did_you_mean
from karat.systems.index._hnsw import Hnsw
from karat.systems.index._ranking import check_k
from karat.systems.index._saved import Path_, Saved, save
from karat.systems.index._vectors import VectorIndex, Vectors, check_vectors, ranked

Method = Literal["auto", "exact", "hnsw"]

_CELLS = 1 << 24  # of a block of similarities: 64 MB


@dataclass(frozen=True, slots=True, kw_only=True)
class Dense:
    """How the dense index is made.

    Similarity is the inner product, which is the cosine for vectors of length 1, as embedders give them. Up to
    ``limit`` vectors every one is compared. Above it a graph of neighbours (HNSW: Malkov & Yashunin 2018) finds nearly
    the same in a fraction of the time, if hnswlib is installed.

    >>> index = Dense().build([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> index.search([0.0, 1.0], 2)
    [(2, 1.0), (1, 0.800000011920929)]
    """

    method: Method = "auto"
    """exact, hnsw, or auto: by the number of vectors."""
    limit: int = 100_000
    """Up to so many vectors, auto is exact."""
    links: int = 16
    """HNSW: neighbours of each vector in the graph (M)."""
    build_width: int = 200
    """HNSW: candidates while the graph is built (ef_construction)."""
    search_width: int = 100
    """HNSW: candidates while it is searched, or k if that is more (ef)."""

    def __post_init__(self) -> None:
        if self.method not in get_args(Method):
            hint = did_you_mean(self.method, get_args(Method)) or f"; known: {', '.join(get_args(Method))}"
            raise UsageError(f"unknown method {self.method!r} of the dense index{hint}")
        for name, least in (("limit", 0), ("links", 2), ("build_width", 1), ("search_width", 1)):
            if getattr(self, name) < least:
                raise UsageError(f"{name}={getattr(self, name)}; choose {least} or more")

    def chosen(self, size: int) -> Literal["exact", "hnsw"]:
        """Say how so many vectors are searched; without hnswlib, auto is exact for any number."""
        if self.method != "auto":
            return self.method
        return "hnsw" if size > self.limit and find_spec("hnswlib") is not None else "exact"

    def describe(self) -> dict[str, Any]:
        """Give all that was chosen; an index itself tells what it became, and by which library."""
        described = {one.name: getattr(self, one.name) for one in fields(self)}
        return {"method": "exact"} if self.method == "exact" else described

    def build(self, vectors: ArrayLike) -> VectorIndex:
        """Index the rows of a matrix; hits are their numbers, from 0."""
        checked = check_vectors(vectors)
        if self.chosen(len(checked)) == "exact":
            return ExactIndex(checked)
        return self._graph.build(checked)

    def load(self, path: Path_, fingerprint: str, *, size: int) -> VectorIndex:
        """Read a saved index of so many vectors; raise InputError when it was built from others, or in another way."""
        if self.chosen(size) == "hnsw":
            return self._graph.load(path, fingerprint)
        with Saved(path, fingerprint, EXACT) as saved:
            try:
                return ExactIndex(check_vectors(saved.array("vectors")))
            except UsageError as error:
                raise saved.damaged(str(error)) from None

    @property
    def _graph(self) -> Hnsw:
        return Hnsw(links=self.links, build_width=self.build_width, search_width=self.search_width)


EXACT: dict[str, Any] = {"kind": "exact", "metric": "inner product"}


class ExactIndex:
    """Vectors that are all compared with every query; made by :meth:`Dense.build`.

    The matrix product in single precision, whose last digits depend on the machine and on the number of queries, only
    narrows the choice. What is near enough to the best k is computed again in double precision, row by row: scores and
    order are the same everywhere, and equal vectors have equal scores.
    """

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        longest = float(np.sqrt(np.einsum("ij,ij->i", vectors, vectors).max(initial=0.0)))
        # Twice the bound on the rounding error of an inner product, n * eps / 2 times both lengths, and a little more.
        self._margin = (vectors.shape[1] + 4) * float(np.finfo(np.float32).eps) * longest

    def __len__(self) -> int:
        return len(self._vectors)

    def describe(self) -> dict[str, Any]:
        """Give all that decides what is found, apart from the vectors."""
        return dict(EXACT)

    def search(self, query: ArrayLike, k: int) -> list[tuple[int, float]]:
        """Give the numbers and inner products of the k best vectors, best first, equal ones by number."""
        return self.search_many(np.asarray(query)[None], k)[0]

    def search_many(self, queries: ArrayLike, k: int) -> list[list[tuple[int, float]]]:
        """Do it for the rows of a matrix: the same hits, sooner."""
        check_k(k)
        rows = check_vectors(queries, self._vectors.shape[1])
        return [self._ranked(row, near, k) for row, near in self._compared(rows)]

    def rows(self, numbers: Sequence[int]) -> Vectors:
        """Give the vectors of these numbers."""
        found: Vectors = self._vectors[np.asarray(numbers, np.int64)]
        return found

    def save(self, path: Path_, fingerprint: str) -> None:
        """Write it to one file, with the fingerprint of what it was built from."""
        save(path, fingerprint, EXACT, {"vectors": self._vectors})

    def _compared(self, rows: Vectors) -> Iterator[tuple[Vectors, Vectors]]:
        """Give each query with its similarities, as many at a time as memory is meant for."""
        step = max(1, _CELLS // max(1, len(self)))
        for start in range(0, len(rows), step):
            block = rows[start : start + step]
            # One query is a matrix times a vector, which is not slowed down by the shape.
            products = (self._vectors @ block[0])[None] if len(block) == 1 else block @ self._vectors.T
            yield from zip(block, products, strict=True)

    def _ranked(self, query: Vectors, near: Vectors, k: int) -> list[tuple[int, float]]:
        candidates = np.arange(len(near))
        if k < len(near):
            last = np.partition(near, len(near) - k)[len(near) - k]
            margin = self._margin * float(np.linalg.norm(query))
            candidates = np.flatnonzero(near >= last - np.float32(margin))
        return ranked(candidates, self._vectors.__getitem__, query, k)
