"""LanceDB: tables in a folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any, Unpack

from karat.core import InputError, UsageError
from karat.net import require_package
from karat.systems.adapters._settings import StoreOptions, StoreSettings, Surroundings
from karat.systems.adapters._store import Match, Store

_DISTANCES = ("cosine", "l2", "dot")


class LanceDb(Store):
    """A table of LanceDB, by the connection that ``lancedb.connect`` returns."""

    name = "lancedb"
    package = "lancedb"
    has_ids = False

    def __init__(
        self, database: Any, *, vector: str = "vector", distance: str = "cosine", **options: Unpack[StoreOptions]
    ) -> None:
        """``vector`` is the column of the vectors, and ``distance`` is cosine, l2 or dot."""
        super().__init__(**options)
        if distance not in _DISTANCES:
            raise UsageError(f"[system] distance = {distance!r}; choose {', '.join(_DISTANCES)}")
        self._database, self._vector, self._distance = database, vector, distance
        self._table: Any = None

    def describe(self) -> dict[str, Any]:
        """Return everything known here that decides what is found."""
        return {**super().describe(), "vector": self._vector, "distance": self._distance}

    def list_collections(self) -> Iterable[str]:
        tables: Iterable[str] = self._database.list_tables().tables
        return tables

    def create(self, size: int) -> None:
        arrow = require_package("pyarrow", purpose="the system lancedb", extra="lancedb")
        vectors = arrow.list_(arrow.float32(), size)
        schema = arrow.schema([("number", arrow.int64()), ("text", arrow.string()), (self._vector, vectors)])
        self._table = self._database.create_table(self.collection, schema=schema)

    def add(self, numbers: range, texts: Sequence[str], vectors: Any) -> None:
        rows = zip(numbers, texts, vectors.tolist(), strict=True)
        self._table.add([{"number": number, "text": text, self._vector: vector} for number, text, vector in rows])

    def search(self, question: Any, k: int) -> Iterable[Match]:
        if self._table is None:
            self._table = self._database.open_table(self.collection)
        search = self._table.search(question.tolist(), vector_column_name=self._vector)
        rows = search.distance_type(self._distance).limit(k).to_list()
        return [Match(str(row.get("number", "")), -row["_distance"], row) for row in rows]

    def drop(self) -> None:
        self._database.drop_table(self.collection)


@dataclass(frozen=True, kw_only=True)
class LanceDbSettings(StoreSettings):
    """The table ``[system]`` with ``kind = "lancedb"``; without ``path`` it is in a temporary folder."""

    path: str = ""
    """The folder of the database."""
    vector: str = "vector"
    distance: str = "cosine"

    def connect(self, around: Surroundings) -> LanceDb:
        """Open the folder."""
        lancedb = require_package("lancedb", purpose="the system lancedb", extra="lancedb")
        path = around.folder / self.path
        if self.path and not path.is_dir():
            raise InputError("no such folder", source=str(path), hint="correct path in [system]")
        folder = TemporaryDirectory(prefix="karat-") if not self.path else None
        database = lancedb.connect(folder.name if folder else str(path))
        store = LanceDb(database, vector=self.vector, distance=self.distance, **self.options(around, self.path))
        return store.closing(folder.cleanup) if folder else store
