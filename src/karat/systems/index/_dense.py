"""The dense index: exact comparison with every vector, or a graph of neighbours for many vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from karat.core import UsageError, did_you_mean
from karat.systems.index._ranking import check_k
from karat.systems.index._saved import Path_, Saved, save
from karat.systems.index._vectors import VectorIndex, Vectors, check_vectors, rank

if TYPE_CHECKING:
    from karat.systems.index._hnsw import Hnsw

Method = Literal["auto", "exact", "hnsw"]

_CELLS = 1 << 24  # of a block of similarities: 64 MB


@dataclass(frozen=True, slots=True, kw_only=True)
class Dense:
    """The parameters of the dense index.

    Similarity is the inner product, which is the cosine for vectors of length 1, as embedders return them. Up to
    ``limit`` vectors each is compared with the query. Above it a graph of neighbours (HNSW: Malkov & Yashunin 2018)
    finds nearly the same in a fraction of the time, if hnswlib is installed.

    >>> index = Dense().build([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> index.search([0.0, 1.0], 2)
    [(2, 1.0), (1, 0.800000011920929)]
    """

    method: Method = "auto"
    """exact, hnsw, or auto, which decides by the number of vectors."""
    limit: int = 100_000
    """The largest number of vectors for which auto is exact."""
    links: int = 16
    """The neighbours of each vector in the graph (HNSW's M)."""
    build_width: int = 200
    """The candidates while the graph is built (HNSW's ef_construction)."""
    search_width: int = 100
    """The candidates while the graph is searched, or k if that is more (HNSW's ef)."""

    def __post_init__(self) -> None:
        if self.method not in get_args(Method):
            hint = did_you_mean(self.method, get_args(Method)) or f"; known: {', '.join(get_args(Method))}"
            raise UsageError(f"unknown method {self.method!r} of the dense index{hint}")
        for name, least in (("limit", 0), ("links", 2), ("build_width", 1), ("search_width", 1)):
            if getattr(self, name) < least:
                raise UsageError(f"{name}={getattr(self, name)}; choose {least} or more")

    def choose(self, size: int) -> Literal["exact", "hnsw"]:
        """Return the method for a number of vectors; without hnswlib, auto is exact for any number."""
        if self.method != "auto":
            return self.method
        return "hnsw" if size > self.limit and find_spec("hnswlib") is not None else "exact"

    def describe(self) -> dict[str, Any]:
        """Return the options; an index describes the method that was chosen, and its library."""
        options = {option.name: getattr(self, option.name) for option in fields(self)}
        return {"method": "exact"} if self.method == "exact" else options

    def build(self, vectors: ArrayLike) -> VectorIndex:
        """Return an index of the rows of a matrix; a hit is the number of a row, from 0."""
        checked = check_vectors(vectors)
        if self.choose(len(checked)) == "exact":
            return ExactIndex(checked)
        return self._graph.build(checked)

    def load(self, path: Path_, fingerprint: str, *, size: int) -> VectorIndex:
        """Read a saved index of ``size`` vectors; raise InputError if it was built from others, or in another way."""
        if self.choose(size) == "hnsw":
            return self._graph.load(path, fingerprint)
        with Saved(path, fingerprint, EXACT) as saved:
            try:
                return ExactIndex(check_vectors(saved.array("vectors")))
            except UsageError as error:
                raise saved.damaged(str(error)) from None

    @property
    def _graph(self) -> Hnsw:
        from karat.systems.index._hnsw import Hnsw

        return Hnsw(links=self.links, build_width=self.build_width, search_width=self.search_width)


EXACT: dict[str, Any] = {"kind": "exact", "metric": "inner product"}


class ExactIndex:
    """An index that compares every query with all vectors; made by :meth:`Dense.build`.

    The last digits of a matrix product in single precision depend on the machine and on the number of queries, so it
    only selects candidates. Those near enough to the best k are computed again in double precision, row by row: scores
    and order are the same everywhere, and equal vectors have equal scores.
    """

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        longest = float(np.sqrt(np.einsum("ij,ij->i", vectors, vectors).max(initial=0.0)))
        # Twice the bound on the rounding error of an inner product, n * eps / 2 times both lengths, and a little more.
        self._margin = (vectors.shape[1] + 4) * float(np.finfo(np.float32).eps) * longest

    def __len__(self) -> int:
        return len(self._vectors)

    def describe(self) -> dict[str, Any]:
        """Return everything that decides what is found, apart from the vectors."""
        return dict(EXACT)

    def search(self, query: ArrayLike, k: int) -> list[tuple[int, float]]:
        """Return the numbers and inner products of the k best vectors, best first, equal ones by number."""
        return self.search_many(np.asarray(query)[None], k)[0]

    def search_many(self, queries: ArrayLike, k: int) -> list[list[tuple[int, float]]]:
        """Search for each row of a matrix; faster than one by one, with the same hits."""
        check_k(k)
        rows = check_vectors(queries, self._vectors.shape[1])
        return [self._rank(row, near, k) for row, near in self._compare(rows)]

    def rows(self, numbers: Sequence[int]) -> Vectors:
        """Return the vectors with these numbers."""
        vectors: Vectors = self._vectors[np.asarray(numbers, np.int64)]
        return vectors

    def save(self, path: Path_, fingerprint: str) -> None:
        """Write the index to one file, with the fingerprint of what it was built from."""
        save(path, fingerprint, EXACT, {"vectors": self._vectors})

    def _compare(self, rows: Vectors) -> Iterator[tuple[Vectors, Vectors]]:
        """Yield each query with its similarities, computed in blocks of limited size."""
        step = max(1, _CELLS // max(1, len(self)))
        for start in range(0, len(rows), step):
            block = rows[start : start + step]
            # One query is a matrix times a vector, which is not slowed down by the shape.
            products = (self._vectors @ block[0])[None] if len(block) == 1 else block @ self._vectors.T
            yield from zip(block, products, strict=True)

    def _rank(self, query: Vectors, near: Vectors, k: int) -> list[tuple[int, float]]:
        candidates = np.arange(len(near))
        if k < len(near):
            last = np.partition(near, len(near) - k)[len(near) - k]
            margin = self._margin * float(np.linalg.norm(query))
            candidates = np.flatnonzero(near >= last - np.float32(margin))
        return rank(candidates, self._vectors.__getitem__, query, k)
