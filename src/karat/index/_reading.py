"""Reading an index: runs, their queries, and the traces that their files hold."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from karat.core import InputError, Trace
from karat.index._columns import SIZE, Columns, Mark, unpack_columns, unpack_series
from karat.index._database import find_index, has_trigrams, open_to_read, read_meta
from karat.index._signature import Signature, sign_project
from karat.index._traces import decode_line, read_lines, select
from karat.schema import ComparisonDocument, DecisionDocument, GoldenFinding, GoldenReport
from karat.schema.pages import IndexState, RunLine

__all__ = ["Index", "IndexedDocument", "IndexedQuery", "IndexedRun", "Mark", "open_index"]

Kept = TypeVar("Kept", bound=Struct)
_TRIGRAM = 3  # characters of the shortest text that is found without looking through all
NAMED = "<u4"
"""The positions of the queries that a finding of the linter names."""
MARKS = -1
"""The number of the series of what became of queries; those from 0 are measures, and after them the milliseconds."""


class IndexedRun(Struct, frozen=True, kw_only=True):
    """A run as the index has it."""

    line: RunLine
    measures: tuple[str, ...]
    """The measures of its columns."""
    reasons: tuple[str, ...]
    """Why values are missing; the codes of its columns refer to them by number, from 1."""


class IndexedJudgment(Struct, frozen=True, kw_only=True):
    """A judgment of a query."""

    target: str
    document: str
    grade: int
    source: str
    annotator: str
    date: str
    decided: int
    """The grade that counts for its target: of the most trusted source, the lower median of its annotators."""
    decides: bool
    """Whether its source is the most trusted one that judged the target."""
    excerpt: str = ""
    """The beginning of what was judged, if that is a part of the document."""


class IndexedQuery(Struct, frozen=True, kw_only=True):
    """A query of the golden set, with its judgments."""

    position: int
    """Its place in the golden set, from 0."""
    id: str
    text: str
    category: str = ""
    type: str = ""
    intent: str = ""
    answer: str = ""
    answerable: bool = True
    paraphrases: tuple[str, ...] = ()
    judgments: tuple[IndexedJudgment, ...] = ()
    judged: int = 0
    """How many documents were judged, or parts of them."""
    relevant: int = 0
    """How many of them are relevant."""

    @property
    def grades(self) -> dict[str, int]:
        """The grade of each judged document, as :meth:`karat.core.Grades.by_document` returns it."""
        grades: dict[str, int] = {}
        for judgment in self.judgments:
            grades[judgment.document] = max(judgment.decided, grades.get(judgment.document, judgment.decided))
        return grades

    def list_relevant(self, least: int) -> list[str]:
        """Return the documents of at least a grade, the best first."""
        return order_best({id_: grade for id_, grade in self.grades.items() if grade >= least})


class IndexedDocument(Struct, frozen=True, kw_only=True):
    """Title and beginning of a document."""

    id: str
    title: str
    beginning: str


@contextmanager
def open_index(folder: str | Path) -> Iterator[Index]:
    """Open the index of a project to read it. Where there is none yet, it has no runs."""
    place = Path(folder)
    connection = open_to_read(find_index(place))
    try:
        connection.execute("begin")  # all that is read is of one moment
        yield Index(place, connection)
    finally:
        connection.close()


class Index:
    """An open index. What it returns is as the files were when they were last read."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder, self._connection = folder, connection
        self.meta: Mapping[str, str] = read_meta(connection)
        """The name of the project and of its golden set, the lowest relevant grade, and others."""

    @property
    def relevant(self) -> int:
        """The lowest grade that counts as relevant."""
        return int(self.meta.get("relevant", "2"))

    def sign(self) -> Signature:
        """Return the signature of the project's files as they are now."""
        golden = self.meta.get("golden_path", "")
        return sign_project(self.folder, Path(golden) if golden else None)

    def find_state(self, signature: Signature | None = None) -> IndexState:
        """Return how far the index is behind the files."""
        now = signature or self.sign()
        known = dict(self._connection.execute("select file, stamp from run").fetchall())
        is_old = now.project != self.meta.get("signature")
        waiting = len(now.runs) if is_old else sum(known.get(name) != stamp for name, stamp in now.runs.items())
        gone = len(known.keys() - now.runs.keys())
        return IndexState(waiting=max(waiting + gone, int(is_old)), problem=self.meta.get("problem", ""))

    def list_runs(self) -> list[IndexedRun]:
        """Return all runs, the newest first."""
        rows = self._connection.execute("select row from run").fetchall()
        runs = [msgspec.json.decode(row, type=IndexedRun) for (row,) in rows]
        return sorted(runs, key=lambda run: (run.line.order, run.line.id), reverse=True)

    def find_run(self, id_: str) -> IndexedRun | None:
        """Return a run by its id; None if the index does not have it."""
        row = self._connection.execute("select row from run where id = ?", (id_,)).fetchone()
        return None if row is None else msgspec.json.decode(row[0], type=IndexedRun)

    def read_report(self, id_: str) -> DecisionDocument | None:
        """Return the decision on a run, without its queries; None if there is none."""
        row = self._connection.execute("select report from run where id = ?", (id_,)).fetchone()
        return None if row is None or row[0] is None else unpack(row[0], DecisionDocument)

    def read_kept(self, kind: str, key: str, type_: type[Kept]) -> Kept | None:
        """Return a document that the indexer kept; None if it did not."""
        row = self._connection.execute("select body from kept where kind = ? and key = ?", (kind, key)).fetchone()
        return None if row is None else unpack(row[0], type_)

    def list_findings(self) -> list[tuple[GoldenFinding, NDArray[np.int64]]]:
        """Return what the linter says, errors first, each with the positions of all queries that it names."""
        report = self.read_kept("lint", "", GoldenReport)
        rows = self._connection.execute("select key, body from kept where kind = 'named'")
        named = {int(key): np.frombuffer(body, NAMED).astype(np.int64) for key, body in rows}
        nobody = np.zeros(0, np.int64)
        return [(own, named.get(place, nobody)) for place, own in enumerate(report.findings if report else ())]

    def read_comparison(self, first: str, second: str) -> ComparisonDocument | None:
        """Return the comparison of two runs as they are now; None if it was not made yet."""
        return self.read_kept("comparison", comparison_key(self._connection, first, second), ComparisonDocument)

    def read_columns(self, run: IndexedRun, positions: Sequence[int] | None = None) -> Columns:
        """Return what a run has of some queries, by their positions in the golden set, or of all of them.

        Positions that no query has are left out.
        """
        if positions is None:
            rows = self._connection.execute(
                "select body from block join run on run = key where id = ? order by number", (run.line.id,)
            ).fetchall()
            return unpack_columns([body for (body,) in rows], len(run.measures))
        numbers = sorted({position // SIZE for position in positions})
        row = self._connection.execute("select key from run where id = ?", (run.line.id,)).fetchone()
        statement = "select number, body from block where run = ? and number in"
        blocks = dict(self._select(statement, numbers, row[0] if row else None))
        columns = unpack_columns([blocks[number] for number in numbers if number in blocks], len(run.measures))
        starts = {number: place * SIZE for place, number in enumerate(number for number in numbers if number in blocks)}
        places = [starts[position // SIZE] + position % SIZE for position in positions if position // SIZE in starts]
        return columns.take([place for place in places if place < len(columns.marks)])

    def read_series(self, run: IndexedRun, measure: str | None) -> NDArray[np.float64]:
        """Return the scores of all queries by a measure, or their milliseconds for None; NaN for a missing value.

        A run that could not be scored has none.
        """
        number = len(run.measures) if measure is None else run.measures.index(measure)
        body = self._read_series(run, number)
        return np.zeros(0) if body is None else unpack_series(body)

    def read_marks(self, run: IndexedRun) -> NDArray[np.uint8]:
        """Return what became of each query of a run, as sums of :class:`Mark`."""
        body = self._read_series(run, MARKS)
        return np.zeros(0, np.uint8) if body is None else np.frombuffer(body, np.uint8)

    def _read_series(self, run: IndexedRun, number: int) -> bytes | None:
        """Return a series; None of a run that could not be scored."""
        row = self._connection.execute(
            "select body from series join run on run = key where id = ? and number = ?", (run.line.id, number)
        ).fetchone()
        return None if row is None else bytes(row[0])

    def read_query_columns(self, position: int) -> dict[str, tuple[IndexedRun, Columns]]:
        """Return one query in every run that has it, by the id of the run."""
        rows = self._connection.execute(
            # cross: for each run its block; SQLite would otherwise look through the blocks of all runs
            "select row, body from run cross join block on run = key where number = ?",
            (position // SIZE,),
        ).fetchall()
        place, pairs = position % SIZE, {}
        for row, body in rows:
            run = msgspec.json.decode(row, type=IndexedRun)
            columns = unpack_columns([body], len(run.measures))
            if place < len(columns.marks) and columns.marks[place] & Mark.ASKED:
                pairs[run.line.id] = (run, columns.take([place]))
        return pairs

    def count_queries(self) -> int:
        """Return how many queries the golden set has."""
        return int(self.meta.get("queries", "0"))

    def find_query(self, id_: str) -> IndexedQuery | None:
        """Return a query of the golden set by its id."""
        row = self._connection.execute("select position, body from query where id = ?", (id_,)).fetchone()
        return None if row is None else _read_query(row)

    def read_queries(self, positions: Iterable[int]) -> list[IndexedQuery]:
        """Return the queries at some positions, in that order."""
        wanted = list(positions)
        rows = self._select("select position, body from query where position in", wanted)
        queries = {row[0]: _read_query(row) for row in rows}
        return [queries[position] for position in wanted if position in queries]

    def search_queries(self, text: str = "", category: str = "") -> NDArray[np.int64] | None:
        """Return the positions of queries whose id or wording contains a text, and of a category; None for all.

        Letters are the same in either case.
        """
        if not text and not category:
            return None
        positions = self._find_texts(fold(text)) if text else None
        if not category:
            return positions
        names = self._read_categories()
        if category not in names:
            return np.zeros(0, np.int64)
        row = self._connection.execute("select body from kept where kind = 'categories' and key = 'codes'").fetchone()
        codes = np.frombuffer(zlib.decompress(row[0]), np.uint32)
        wanted = names.index(category)
        return np.flatnonzero(codes == wanted) if positions is None else positions[codes[positions] == wanted]

    def _find_texts(self, text: str) -> NDArray[np.int64]:
        """Return the positions of queries that contain a folded text, in one row: there may be very many."""
        if len(text) >= _TRIGRAM and has_trigrams(self._connection):  # they know no shorter one
            statement = "select group_concat(rowid) from trigrams where body match ?"
            wanted = '"{}"'.format(text.replace('"', '""'))
        else:
            statement, wanted = "select group_concat(position) from sought where instr(body, ?)", text
        (joined,) = self._connection.execute(statement, (wanted,)).fetchone()
        return np.sort(np.array(joined.split(","), np.int64)) if joined else np.zeros(0, np.int64)

    def _read_categories(self) -> list[str]:
        row = self._connection.execute("select body from kept where kind = 'categories' and key = 'names'").fetchone()
        return [] if row is None else msgspec.json.decode(row[0], type=list[str])

    def list_categories(self) -> tuple[str, ...]:
        """Return the categories of the queries."""
        return tuple(name for name in self._read_categories() if name)

    def read_documents(self, ids: Iterable[str]) -> dict[str, IndexedDocument]:
        """Return title and beginning of some documents, those that the golden set has."""
        rows = self._select("select id, title, beginning from document where id in", list(dict.fromkeys(ids)))
        return {id_: IndexedDocument(id=id_, title=title, beginning=beginning) for id_, title, beginning in rows}

    def read_trace(self, run: IndexedRun, query: IndexedQuery) -> Trace | None:
        """Return what a run answered to a query, in its own words; None if it was not asked.

        Raise InputError if the run file is another by now, until it is indexed again.
        """
        line = self._read_lines(run, [query]).get(query.position)
        return None if line is None else decode_line(line, run.line.file, query.id)

    def read_traces(self, run: IndexedRun, queries: Sequence[IndexedQuery]) -> dict[str, Trace]:
        """Return what a run answered to some queries, by their ids, which takes less time than one after the other.

        Those that it was not asked, and those whose lines are not in the file any more, are left out.
        """
        traces: dict[str, Trace] = {}
        try:
            lines = self._read_lines(run, queries)
        except InputError:  # the file is gone
            return traces
        for query in queries:
            if query.position in lines:
                with suppress(InputError):  # it is another file by now
                    traces[query.id] = decode_line(lines[query.position], run.line.file, query.id)
        return traces

    def _read_lines(self, run: IndexedRun, queries: Sequence[IndexedQuery]) -> dict[int, bytes]:
        positions = [query.position for query in queries]
        own = run.line
        return read_lines(self._connection, self.folder, own.file, own.id, len(run.measures), positions)

    def _select(self, statement: str, values: Sequence[Any], *before: Any) -> Iterator[tuple[Any, ...]]:
        return select(self._connection, statement, values, *before)


def comparison_key(connection: sqlite3.Connection, first: str, second: str) -> str:
    """Return the key under which a comparison is kept: it changes when one of the runs is read again."""
    stamps = dict(connection.execute("select id, stamp from run where id in (?, ?)", (first, second)).fetchall())
    return "\n".join((first, stamps.get(first, ""), second, stamps.get(second, "")))


def order_best(grades: Mapping[str, int]) -> list[str]:
    """Return documents by their grades, the best first."""
    return sorted(grades, key=lambda id_: (-grades[id_], id_))


def fold(text: str) -> str:
    """Return a text as it is searched: without case, and without what no text of SQLite can hold."""
    return text.casefold().replace("\0", "\ufffd").encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def pack(document: Struct) -> bytes:
    """Return a document as the index keeps it."""
    return zlib.compress(msgspec.json.encode(document), 1)


def unpack(body: bytes, type_: type[Kept]) -> Kept:
    """Return a document that was packed."""
    return msgspec.json.decode(zlib.decompress(body), type=type_)


def _read_query(row: tuple[Any, ...]) -> IndexedQuery:
    return msgspec.json.decode(row[1], type=IndexedQuery)
