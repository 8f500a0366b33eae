"""What a store asks of its database, whichever that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

Row = tuple[Any, ...]
HALF = "a text holds half of a surrogate pair, which is not a character, and no store can hold it"


class Database(Protocol):
    """An open database. Statements are those that all of them understand; see ``_statements``."""

    place: str
    """What messages call it: the path of a file, or an address, which holds no secret."""
    version: int
    """How many steps its tables have taken: that of this karat, since others are refused."""
    hint: str
    """What stands behind ``queries`` where its index of origins has to be used."""

    def transaction(self) -> AbstractContextManager[None]:
        """Do all of a block, or nothing of it; nobody else writes meanwhile."""
        ...

    def execute(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run a statement; return how many rows it changed."""
        ...

    def execute_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> int:
        """Run a statement with each of several rows; return how many rows of the table were changed."""
        ...

    def rows(self, statement: str, *values: Any) -> Iterator[Row]:
        """Yield the rows that a statement selects, which fit into memory."""
        ...

    def stream(self, statement: str, *values: Any) -> Iterator[Row]:
        """Yield rows as they are needed: all queries of a year do not fit."""
        ...

    def add(self, table: str, rows: Sequence[Row], refused: dict[int, str] | None, new: set[str] | None = None) -> int:
        """Add records to a table, and count their traffic; return how many were not there yet.

        A row that breaks a rule of the table raises, or, if ``refused`` is given, goes there by its index, with why.
        The ids of queries or events that were not there yet go to ``new``, if it is given.
        """
        ...

    def remove_before(self, table: str, time: float) -> int:
        """Remove the records of a table that are older than a time; return how many those were."""
        ...

    def measure(self) -> int:
        """Return how many bytes the store takes."""
        ...

    def find_damage(self) -> list[str]:
        """Return what the database itself says is wrong with the store."""
        ...

    def compact(self) -> bool:
        """Rewrite the store without a byte of what was deleted; return False if a reader still has the old pages."""
        ...

    def columns(self, table: str) -> list[str]:
        """Return the names of the columns of a table."""
        ...

    def fill(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Write rows of another store into a table as they are, numbers of rows included."""
        ...

    def close(self) -> None:
        """Close the database."""
        ...
