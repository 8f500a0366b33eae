"""Large inputs: streamed through Polars in pieces that stay in the processor's cache.

The pieces hold whole queries. Of each piece only the ranks of its judged documents are kept, so memory does not grow
with the run. Rows are joined on 64-bit hashes of (query, document); the ids of the matches are then compared.
See docs/decisions/0002-scoring-engine.md for what was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from karat.core import InputError
from karat.measures._alignment import Alignment, Bools, Ints, Judgments
from karat.measures._columns import LARGEST_GRADE, Kind, bad_value, duplicate, find_columns
from karat.measures._files import Source

Frames = Callable[[], Iterator[pl.DataFrame]]
"""Starts reading anew: pieces of a table with the columns ``query``, ``document`` and ``value``, in file order."""

Hashes = NDArray[np.uint64]

_CHUNK = 4 * 2**20  # bytes of text: the fastest of 0.5 to 32 MB, and small enough for the allocator to reuse
_ROWS = 200_000
_TREC_SCHEMA: dict[Kind, dict[str, Any]] = {
    "qrels": {"query": pl.String, "iteration": pl.String, "document": pl.String, "value": pl.Int64},
    "run": dict.fromkeys(("query", "q0", "document", "rank"), pl.String) | {"value": pl.Float64, "tag": pl.String},
}
_WANTED = ["query", "document", "value"]
_TABS_TO_BLANKS = bytes.maketrans(b"\t", b" ")


class NotUnderstood(Exception):
    """The text is not as regular as the fast reader needs; the exact one reads it, or says what is wrong."""


class _Interleaved(Exception):
    """A query comes back after another one: its rows must be brought together first."""


def text_frames(source: Source, kind: Kind) -> Frames:
    """Read a large text file; raise :class:`NotUnderstood` where the exact reader should look."""
    if source.format == "trec":
        return lambda: _trec_frames(source, kind)
    return lambda: _whole_frame(source, kind).iter_slices(_ROWS)


def parquet_frames(source: Source, kind: Kind) -> Frames:
    """Read a Parquet file."""
    import io

    try:
        lazy = pl.scan_parquet(source.path if source.path is not None else io.BytesIO(source.data or b""))
        names = lazy.collect_schema().names()
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise InputError(f"is no valid Parquet file: {_first_line(error)}", source=source.name) from None
    return _checked_frames(lazy.select(find_columns(names, kind, source.name)), kind, source.name)


def frame_frames(frame: Any, kind: Kind, source: str) -> Frames:
    """Take a Polars, pandas or Arrow table."""
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, pl.DataFrame):
        names = [str(name) for name in (frame.column_names if hasattr(frame, "column_names") else frame.columns)]
        wanted = find_columns(names, kind, source)
        frame = pl.DataFrame({name: _series(frame[name]) for name in wanted})
    wanted = find_columns(frame.columns, kind, source)
    return _checked_frames(frame.select(wanted).lazy(), kind, source)


def _series(column: Any) -> pl.Series:
    """Convert a column of pandas or Arrow."""
    if hasattr(column, "to_pylist"):
        series = pl.from_arrow(column)
        assert isinstance(series, pl.Series)
        return series
    values = column.to_numpy()
    return pl.Series(values.tolist() if values.dtype == object else values, strict=False, nan_to_null=False)


def _checked_frames(lazy: pl.LazyFrame, kind: Kind, source: str) -> Frames:
    """Cast a table's three columns, and refuse what does not fit, by its row number."""
    query, document, value = lazy.collect_schema().names()
    dtype = lazy.collect_schema()[value]
    if not dtype.is_numeric():
        raise InputError(f"column {value!r} has type {dtype}", source=source, hint="it should hold numbers")
    lazy = lazy.select(
        pl.col(query).cast(pl.String).alias("query"),
        pl.col(document).cast(pl.String).alias("document"),
        pl.col(value).cast(pl.Float64).alias("value"),
    )

    def frames() -> Iterator[pl.DataFrame]:
        row = 0
        try:
            for piece in lazy.collect_batches(chunk_size=_ROWS, maintain_order=True):
                _check_rows(piece, kind, source, row)
                row += len(piece)
                yield piece if kind == "run" else piece.with_columns(pl.col("value").cast(pl.Int64))
        except (pl.exceptions.PolarsError, OSError) as error:
            raise InputError(f"cannot be read: {_first_line(error)}", source=source) from None

    return frames


def _check_rows(piece: pl.DataFrame, kind: Kind, source: str, before: int) -> None:
    for name in ("query", "document"):
        column = piece[name]
        bad = column.is_null() if column.null_count() else column == ""
        if bad.any():
            raise InputError(f"row {before + (bad.arg_max() or 0) + 1} has no {name} id", source=source)
    value = piece["value"]
    good = value.is_finite().fill_null(value=False)
    if kind == "qrels":
        good &= (value == value.floor()).fill_null(value=False) & (value.abs() <= LARGEST_GRADE).fill_null(value=False)
    if not good.all():
        row = (~good).arg_max() or 0
        raise bad_value(kind, value[row], f"{source}, row {before + row + 1}", None)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _whole_frame(source: Source, kind: Kind) -> pl.DataFrame:
    """Read a large CSV, TSV or JSONL file that has named columns."""
    import io

    content: Any = source.path if source.path is not None else io.BytesIO(source.read())
    try:
        if source.format == "jsonl":
            frame = pl.read_ndjson(content)
        else:
            tabs = source.format == "tsv"
            frame = pl.read_csv(
                content, separator="\t" if tabs else ",", quote_char=None if tabs else '"', infer_schema=False
            )
        query, document, value = find_columns(frame.columns, kind, source.name)
        number = pl.Int64 if kind == "qrels" else pl.Float64
        frame = frame.select(
            pl.col(query).cast(pl.String).alias("query"),
            pl.col(document).cast(pl.String).alias("document"),
            pl.col(value).cast(number, strict=True).alias("value"),
        )
    except (pl.exceptions.PolarsError, InputError, OSError):
        raise NotUnderstood from None
    # Blanks around a cell, empty cells and odd numbers are for the exact reader to judge.
    ids = pl.concat([frame["query"], frame["document"]])
    odd = frame.null_count().sum_horizontal()[0] or (ids == "").any() or ids.str.contains(r"^\s|\s$").any()
    if odd or not frame["value"].is_finite().all():
        raise NotUnderstood
    return frame


def _trec_frames(source: Source, kind: Kind) -> Iterator[pl.DataFrame]:
    """Cut a TREC file into pieces of whole lines, and let Polars split them into columns."""
    schema = _TREC_SCHEMA[kind]
    for text in _chunks(source):
        piece = _regular(text, len(schema))
        try:
            yield pl.read_csv(
                piece,
                has_header=False,
                separator=" ",
                quote_char=None,
                schema=schema,
                columns=[0, 2, 3 if kind == "qrels" else 4],
            )
        except (pl.exceptions.PolarsError, UnicodeDecodeError):
            raise NotUnderstood from None


def _chunks(source: Source) -> Iterator[bytes]:
    buffer = bytearray(_CHUNK)
    kept = 0
    with source.open() as file:
        while True:
            if kept == len(buffer):  # a line longer than the buffer
                buffer.extend(bytes(len(buffer)))
            with memoryview(buffer) as view:
                read = file.readinto(view[kept:])  # type: ignore[attr-defined]
            if not read:
                break
            if source.progress is not None:
                source.progress(read)
            end = kept + read
            cut = buffer.rfind(b"\n", 0, end) + 1
            if cut:
                yield bytes(memoryview(buffer)[:cut])
                buffer[: end - cut] = buffer[cut:end]
            kept = end - cut
    if kept:
        yield bytes(memoryview(buffer)[:kept]) + b"\n"


def _regular(text: bytes, width: int) -> bytes:
    """Make sure that one blank stands between columns, and nothing else: Polars would read other text as other data."""
    if _is_regular(text, width):
        return text
    text = text.removeprefix(b"\xef\xbb\xbf").translate(_TABS_TO_BLANKS, b"\r")
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    text = text.replace(b" \n", b"\n").replace(b"\n ", b"\n").removeprefix(b" ")
    while b"\n\n" in text:
        text = text.replace(b"\n\n", b"\n")
    text = text.removeprefix(b"\n")
    if not _is_regular(text, width):
        raise NotUnderstood
    return text


def _is_regular(text: bytes, width: int) -> bool:
    """Say whether separators never touch, and are as many as all lines together need.

    Polars refuses a line with more columns than the schema has; so when the sum is right, every line is.
    """
    characters = np.frombuffer(text, np.uint8)
    separators = characters <= 32
    lines = np.count_nonzero(characters == 10)
    touching = separators[1:] & separators[:-1]
    return (
        bool(len(text)) and not separators[0] and not touching.any() and np.count_nonzero(separators) == width * lines
    )


def frame_judgments(frames: Frames, source: str) -> Judgments:
    """Bring the rows of a large table of judgments into their order."""
    frame = pl.concat(list(frames()), rechunk=True).sort("query", maintain_order=True)
    if not len(frame):
        raise InputError("the file holds no rows", source=source)
    twice = frame.select("query", "document").is_duplicated()
    if twice.any():
        row = frame.row(twice.arg_max() or 0)
        raise duplicate("qrels", row[0], row[1], source, None)
    starts = _starts(frame["query"])
    return Judgments(
        queries=tuple(frame["query"].gather(starts).to_list()),
        starts=np.append(starts, len(frame)),
        documents=frame["document"].to_list(),
        grades=frame["value"].to_numpy().astype(np.int64),
        source=source,
    )


def frames_table(frames: Frames, source: str) -> dict[str, dict[str, float]]:
    """Give everything as dicts."""
    table: dict[str, dict[str, float]] = {}
    for piece in frames():
        for query, document, value in piece.select(_WANTED).iter_rows():
            documents = table.setdefault(query, {})
            if document in documents:
                raise duplicate("run", query, document, source, None)
            documents[document] = value
    return table


def align_frames(judgments: Judgments, frames: Frames, source: str, *, single: bool = False) -> Alignment:
    """Find the rank of every judged document in a streamed run; the same answer as :func:`align`."""
    try:
        return _Aligner(judgments, source, single).run(_whole_queries(frames()))
    except _Interleaved:
        together = pl.concat(list(frames())).sort("query", maintain_order=True)
        return _Aligner(judgments, source, single).run(_whole_queries(together.iter_slices(_ROWS)))


def _starts(query: pl.Series) -> Ints:
    """Give the rows at which another query begins."""
    if not len(query):
        return np.empty(0, np.int64)
    changed = (query != query.shift(1)).fill_null(value=True).to_numpy()
    return np.flatnonzero(changed)


def _whole_queries(frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Move the cuts between pieces to where a query ends."""
    open_query: list[pl.DataFrame] = []
    for frame in frames:
        if not len(frame):
            continue
        query = frame["query"]
        if open_query and open_query[0]["query"][0] != query[0]:
            yield pl.concat(open_query)
            open_query = []
        if query[-1] == query[0] and bool((query == query[0]).all()):
            open_query.append(frame)
            continue
        last = int(_starts(query)[-1])
        yield pl.concat([*open_query, frame[:last]])
        open_query = [frame[last:]]
    if open_query:
        yield pl.concat(open_query)


class _Aligner:
    def __init__(self, judgments: Judgments, source: str, single: bool) -> None:
        self._judgments = judgments
        self._source = source
        self._single = single
        self._number = {query: i for i, query in enumerate(judgments.queries)}
        self._query = np.repeat(np.arange(len(judgments.queries)), np.diff(judgments.starts))
        self._documents = pl.Series(judgments.documents, dtype=pl.String)
        self._seed, self._keys, self._order = self._index()
        # Most rows are judged for no query: a small table of bits, which stays in the cache, drops them first.
        bits = max(16, len(self._keys).bit_length() + 5)
        self._shift = np.uint64(64 - bits)
        self._maybe = np.zeros(1 << bits, np.bool_)
        self._maybe[self._keys >> self._shift] = True
        self._ranks = np.zeros(len(judgments.grades), np.int64)
        self._retrieved = np.zeros(len(judgments.queries), np.int64)
        self._in_run = np.zeros(len(judgments.queries), np.bool_)
        self._seen: set[str] = set()
        self._not_judged = 0

    def _index(self) -> tuple[int, Hashes, Ints]:
        """Sort the keys of the judged pairs, under a seed that gives no two of them the same."""
        queries = pl.Series(self._judgments.queries, dtype=pl.String)
        for seed in count():
            salts = _hash(queries, seed + 1)
            keys = _hash(self._documents, seed) ^ salts[self._query]
            order = np.argsort(keys)
            keys = keys[order]
            if not (keys[1:] == keys[:-1]).any():
                return seed, keys, order
        raise AssertionError("unreachable")

    def run(self, frames: Iterable[pl.DataFrame]) -> Alignment:
        for frame in frames:
            self._add(frame)
        return Alignment(
            queries=self._judgments.queries,
            starts=self._judgments.starts,
            grades=self._judgments.grades,
            ranks=self._ranks,
            retrieved=self._retrieved,
            in_run=self._in_run,
            not_judged=self._not_judged,
        )

    def _add(self, frame: pl.DataFrame) -> None:
        query = frame["query"]
        starts = _starts(query)
        names = query.gather(starts)
        self._note(names.to_list())
        sizes = np.diff(np.append(starts, len(frame)))
        number = np.array([self._number.get(name, -1) for name in names.to_list()], np.int64)
        known = number >= 0
        self._retrieved[number[known]] = sizes[known]
        self._in_run[number[known]] = True
        self._not_judged += int((~known).sum())
        keys = _hash(frame["document"], self._seed)
        keys ^= np.repeat(_hash(names, self._seed + 1), sizes)
        self._refuse_duplicates(frame, keys, sizes)
        scores = self._scores(frame)
        block = np.repeat(np.arange(len(starts)), sizes)
        rows, pairs = self._match(frame, keys, number[block])
        if len(rows):
            self._ranks[pairs] = _ranks(rows, scores, block, starts, frame["document"])

    def _note(self, names: list[str]) -> None:
        before = len(self._seen)
        self._seen.update(names)
        if len(self._seen) < before + len(names):
            raise _Interleaved

    def _scores(self, frame: pl.DataFrame) -> NDArray[np.floating]:
        scores = frame["value"].to_numpy()
        if not np.isfinite(scores).all():  # text only: tables were checked when they were cast
            raise NotUnderstood
        return scores.astype(np.float32) if self._single else scores

    def _match(self, frame: pl.DataFrame, keys: Hashes, number: Ints) -> tuple[Ints, Ints]:
        """Give the rows that hold a judged document of their query, and which judged pair each is."""
        rows = np.flatnonzero(self._maybe[keys >> self._shift])
        place = np.minimum(np.searchsorted(self._keys, keys[rows]), len(self._keys) - 1)
        same = self._keys[place] == keys[rows]
        rows, pairs = rows[same], self._order[place[same]]
        same_document = (frame["document"].gather(rows) == self._documents.gather(pairs)).to_numpy()
        real = same_document & (number[rows] == self._query[pairs])
        return rows[real], pairs[real]

    def _refuse_duplicates(self, frame: pl.DataFrame, keys: Hashes, sizes: Ints) -> None:
        uniform = len(sizes) > 0 and bool((sizes == sizes[0]).all())
        # Short rows sort faster than one long one, and runs mostly have the same depth for every query.
        ordered = np.sort(keys.reshape(len(sizes), -1) if uniform else keys)
        if not (ordered[..., 1:] == ordered[..., :-1]).any():
            return
        twice = frame.select("query", "document").is_duplicated()
        if twice.any():
            row = frame.row(twice.arg_max() or 0)
            raise duplicate("run", row[0], row[1], self._source, None)


def _hash(column: pl.Series, seed: int) -> Hashes:
    return column.hash(seed).to_numpy().copy()


def _ranks(rows: Ints, scores: NDArray[np.floating], block: Ints, starts: Ints, documents: pl.Series) -> Ints:
    """Give the rank of some rows within their block (query): by score, then by id, both descending."""
    same_block = block[1:] == block[:-1]
    if ((scores[1:] > scores[:-1]) & same_block).any():
        order = np.lexsort((-scores, block))
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        scores = scores[order]
    else:
        order = place = np.arange(len(scores))
    at = place[rows]
    ranks: Ints = at - starts[block[rows]] + 1
    tied = np.concatenate([[False], (scores[1:] == scores[:-1]) & same_block])
    in_tie = tied | np.append(tied[1:], False)
    if in_tie[at].any():
        _break_ties(ranks, at, in_tie, tied, order, documents)
    return ranks


def _break_ties(ranks: Ints, at: Ints, in_tie: Bools, tied: Bools, order: Ints, documents: pl.Series) -> None:
    """Order by id only those groups of equal scores that hold a judged document."""
    first = np.flatnonzero(~tied)
    group = np.searchsorted(first, at, "right") - 1
    wanted = np.unique(group[in_tie[at]])
    ends = np.append(first[1:], len(tied))
    places = np.concatenate([np.arange(first[g], ends[g]) for g in wanted])
    groups = np.repeat(wanted, ends[wanted] - first[wanted])
    frame = pl.DataFrame({"group": groups, "place": places, "document": documents.gather(order[places])})
    by_id = frame.sort("group", "document", descending=[False, True])
    moved = np.arange(len(tied))
    moved[by_id["place"].to_numpy()] = places
    ranks += moved[at] - at
