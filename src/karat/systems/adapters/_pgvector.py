"""pgvector: a table of PostgreSQL with a column of vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from karat.core import SystemFailed, UsageError
from karat.net import collect_secrets, describe_error, read_variable, require_package
from karat.systems.adapters._settings import StoreOptions, StoreSettings, Surroundings
from karat.systems.adapters._store import Match, Store

_OPERATORS = {"cosine": "<=>", "l2": "<->", "inner": "<#>"}


class PgVector(Store):
    """A table of PostgreSQL with pgvector, by a connection of psycopg 3 that commits by itself (autocommit)."""

    name = "pgvector"
    package = "psycopg"
    has_ids = False

    def __init__(
        self, connection: Any, *, vector: str = "embedding", distance: str = "cosine", **options: Unpack[StoreOptions]
    ) -> None:
        """``vector`` is the column of the vectors, and ``distance`` is cosine, l2 or inner."""
        super().__init__(**options)
        if distance not in _OPERATORS:
            raise UsageError(f"[system] distance = {distance!r}; choose {', '.join(_OPERATORS)}")
        self._connection, self._vector, self._distance = connection, vector, distance
        self._sql = _require("psycopg.sql")

    def describe(self) -> dict[str, Any]:
        """Return everything known here that decides what is found."""
        return {**super().describe(), "vector": self._vector, "distance": self._distance}

    def list_collections(self) -> Iterable[str]:
        rows = self._connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables "
            "WHERE table_schema NOT IN ('pg_catalog', 'information_schema')"
        )
        return [name for schema, table in rows for name in (table, f"{schema}.{table}")]

    def create(self, size: int) -> None:
        self._connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        self._execute("CREATE TABLE {table} (number bigint PRIMARY KEY, body text, {vector} vector({size}))", size=size)

    def add(self, numbers: range, texts: Sequence[str], vectors: Any) -> None:
        statement = self._compose("INSERT INTO {table} VALUES (%s, %s, %s)")
        # NUL, which a text may hold and PostgreSQL may not, ends nothing that anybody searches for.
        bodies = [text.replace("\0", " ") for text in texts]
        with self._connection.cursor() as cursor:
            cursor.executemany(statement, list(zip(numbers, bodies, map(_write, vectors), strict=True)))

    def search(self, question: Any, k: int) -> Iterable[Match]:
        names = ["number"] if self.ingest else sorted({name for name in self._fields.values() if name})
        columns = self._sql.SQL(", ").join(map(self._sql.Identifier, names))
        # A row without a vector has no distance.
        statement = (
            "SELECT {vector} {operator} %s::vector AS distance, {columns} FROM {table} "
            "WHERE {vector} IS NOT NULL ORDER BY 1 LIMIT %s"
        )
        rows = self._execute(statement, _write(question), k, columns=columns).fetchall()
        for distance, *values in rows:
            fields = dict(zip(names, values, strict=True))
            yield Match(str(fields.get("number", "")), -distance, fields)

    def drop(self) -> None:
        self._execute("DROP TABLE {table}")

    def _compose(self, statement: str, **parts: Any) -> Any:
        names = {
            "table": self._sql.Identifier(*self.collection.split(".")),
            "vector": self._sql.Identifier(self._vector),
        }
        return self._sql.SQL(statement).format(**names, operator=self._sql.SQL(_OPERATORS[self._distance]), **parts)

    def _execute(self, statement: str, *values: Any, **parts: Any) -> Any:
        return self._connection.execute(self._compose(statement, **parts), values or None)


@dataclass(frozen=True, kw_only=True)
class PgVectorSettings(StoreSettings):
    """The table ``[system]`` with ``kind = "pgvector"``."""

    url_variable: str
    """The environment variable that holds the connection string, in which there is a password."""
    vector: str = "embedding"
    distance: str = "cosine"

    def connect(self, around: Surroundings) -> PgVector:
        """Connect to the server."""
        text = read_variable(self.url_variable, "the system pgvector", any_text=True)
        psycopg = _require("psycopg")
        try:
            parts = psycopg.conninfo.conninfo_to_dict(text)
        except psycopg.ProgrammingError:  # its message may repeat the password
            raise UsageError(f"the environment variable {self.url_variable} holds no connection string") from None
        passwords = {name: str(parts.get(name) or "") for name in ("password", "sslpassword")}
        secrets = collect_secrets("", passwords)
        try:
            connection = psycopg.connect(text, autocommit=True)
        except psycopg.OperationalError as error:
            raise SystemFailed(f"system pgvector: {secrets.redact(describe_error(error))}") from None
        where = f"{parts.get('host', '')}/{parts.get('dbname', '')}"
        options = self.options(around, where, secrets=secrets)
        store = PgVector(connection, vector=self.vector, distance=self.distance, **options)
        return store.closing(connection.close)


def _require(module: str) -> Any:
    return require_package(module, purpose="the system pgvector", extra="pgvector")


def _write(vector: Any) -> str:
    """Return a vector as pgvector reads it."""
    return f"[{','.join(map(repr, vector.tolist()))}]"
