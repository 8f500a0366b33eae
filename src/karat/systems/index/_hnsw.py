"""A graph of neighbours for many vectors, through hnswlib."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from karat.net import find_version, require_package
from karat.systems.index._ranking import check_k
from karat.systems.index._saved import Path_, Saved, save
from karat.systems.index._vectors import Vectors, check_vectors, rank

_SEED = 100
_GRAPH = "graph.bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hnsw:
    """The parameters of building and searching the graph."""

    links: int
    build_width: int
    search_width: int

    def describe(self) -> dict[str, Any]:
        """Return everything that decides what is found, apart from the vectors."""
        return {
            "kind": "hnsw",
            "metric": "inner product",
            "links": self.links,
            "build_width": self.build_width,
            "search_width": self.search_width,
            "hnswlib": find_version("hnswlib"),
        }

    def build(self, vectors: Vectors) -> HnswIndex:
        """Build the graph on one core: with more, the neighbours of a vector would depend on chance."""
        graph = _library().Index(space="ip", dim=vectors.shape[1])
        graph.init_index(
            max_elements=max(1, len(vectors)), M=self.links, ef_construction=self.build_width, random_seed=_SEED
        )
        if len(vectors):
            graph.add_items(vectors, np.arange(len(vectors)), num_threads=1)
        return HnswIndex(graph, self)

    def load(self, path: Path_, fingerprint: str) -> HnswIndex:
        """Read a saved graph; raise InputError if it was built from something else, or in another way."""
        library = _library()
        with Saved(path, fingerprint, self.describe()) as saved, tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / _GRAPH
            saved.extract(_GRAPH, copy)
            graph = library.Index(space="ip", dim=int(saved.array("dimensions")))
            graph.load_index(str(copy))
        return HnswIndex(graph, self)


class HnswIndex:
    """An index that finds nearly all of the best vectors in a graph, with exact scores and order."""

    def __init__(self, graph: Any, parameters: Hnsw) -> None:
        self._graph = graph
        self._parameters = parameters
        graph.set_ef(parameters.search_width)

    def __len__(self) -> int:
        return int(self._graph.get_current_count())

    def describe(self) -> dict[str, Any]:
        """Return everything that decides what is found, apart from the vectors."""
        return self._parameters.describe()

    def search(self, query: ArrayLike, k: int) -> list[tuple[int, float]]:
        """Return the numbers and inner products of nearly the k best vectors, best first, equal ones by number."""
        return self.search_many(np.asarray(query)[None], k)[0]

    def search_many(self, queries: ArrayLike, k: int) -> list[list[tuple[int, float]]]:
        """Search for each row of a matrix."""
        check_k(k)
        return [self._search(row, k) for row in check_vectors(queries, self._graph.dim)]

    def save(self, path: Path_, fingerprint: str) -> None:
        """Write the index to one file, with the fingerprint of what it was built from."""
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / _GRAPH
            self._graph.save_index(str(copy))
            dimensions = np.array(self._graph.dim)
            save(path, fingerprint, self.describe(), {"dimensions": dimensions}, {_GRAPH: copy})

    def _search(self, query: Vectors, k: int) -> list[tuple[int, float]]:
        wanted = min(k, len(self))
        if not wanted:
            return []
        try:
            numbers = np.sort(self._graph.knn_query(query, k=wanted, num_threads=1)[0][0].astype(np.int64))
        except RuntimeError:  # fewer can be reached in a graph with few links: compare all
            numbers = np.arange(len(self))
        return rank(numbers, self.rows, query, k)

    def rows(self, numbers: Sequence[int] | NDArray[Any]) -> Vectors:
        """Return the vectors with these numbers."""
        return np.asarray(self._graph.get_items(numbers), np.float32)


def _library() -> Any:
    return require_package("hnswlib", install="hnswlib", purpose="a dense index with method 'hnsw'")
