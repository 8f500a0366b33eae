"""Judgments and runs in whatever form they come, behind one interface.

Small and irregular inputs become dicts, and large ones are streamed. The scores are the same either way.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from karat.core import InputError, UsageError
from karat.measures._alignment import Alignment, Judgments, align
from karat.measures._classes import collapse_run
from karat.measures._columns import Kind
from karat.measures._files import Source, find
from karat.measures._text import Table, from_mapping, read_table

if TYPE_CHECKING:
    from karat.measures._stream import Frames, Piece

Reader = Callable[[], Table]
"""Reads everything into dicts, or raises an error that says what is wrong and where."""


@dataclass(frozen=True, kw_only=True)
class Input:
    """Judgments or a run that can be read."""

    name: str
    exact: Reader | None = None
    frames: Frames | None = None
    """Streams the rows; set where that is faster. Where it fails, ``exact`` decides."""
    held: Table | None = None
    """The table, where it is in memory already."""

    def table(self) -> Table:
        """Return ``{query: {document: grade or score}}``."""
        if self.held is not None:
            return self.held
        if self.exact is not None:
            return self.exact()
        from karat.measures._frames import frames_table

        assert self.frames is not None
        return frames_table(self.frames, self.name)


@dataclass(frozen=True, kw_only=True)
class JudgmentInput(Input):
    """Judgments that can be read."""

    def judgments(self) -> Judgments:
        """Read the judgments."""
        if self.frames is not None:
            from karat.measures._frames import frame_judgments
            from karat.measures._stream import NotUnderstood

            try:
                return frame_judgments(self.frames, self.name)
            except (NotUnderstood, InputError):
                if self.exact is None:
                    raise
        return Judgments.from_dicts(self.table(), self.name)


@dataclass(frozen=True, kw_only=True)
class Rankings(Input):
    """A run that can be scored again and again; :func:`karat.read_run` returns one."""

    pieces: list[Piece] | None = None
    """What ``frames`` gave, held in memory."""
    repeated: Mapping[str, int] = field(default_factory=dict)
    """By query: how many hits were left out because a better hit of their document ranks above them."""

    def align(self, judgments: Judgments, classes: Mapping[str, str] | None = None) -> Alignment:
        """Find the ranks of the judged documents; with ``classes``, of those of classes."""
        if classes is not None:
            return align(judgments, collapse_run(self.table(), classes))
        if self.frames is not None or self.pieces is not None:
            from karat.measures._stream import NotUnderstood, align_pieces, with_pieces

            try:
                if self.frames is None:
                    return align_pieces(judgments, self.pieces or ())
                return with_pieces(self.frames, self.name, partial(align_pieces, judgments))
            except NotUnderstood:
                pass  # the exact reader, below, decides
            except InputError:
                if self.exact is None:
                    raise
        return align(judgments, self.table())

    def first_queries(self, count: int) -> list[str]:
        """Return some queries of the run."""
        return list(islice(self.table(), count))

    def prepare(self) -> Rankings:
        """Read and check everything now, so that scoring it again and again costs little."""
        if self.pieces is not None:
            return self
        if self.frames is None:
            copied = {query: dict(documents) for query, documents in self.table().items()}
            return Rankings(name=self.name, held=copied, repeated=self.repeated)
        from karat.measures._stream import NotUnderstood, with_pieces

        try:
            pieces = with_pieces(self.frames, self.name, list)
        except (NotUnderstood, InputError):
            if self.exact is None:
                raise
            return replace(self, frames=None).prepare()
        return Rankings(name=self.name, pieces=pieces)

    def table(self) -> Table:
        """Return ``{query: {document: score}}``."""
        if self.pieces is not None:
            from karat.measures._frames import pieces_table

            return pieces_table(self.pieces)
        return super().table()


def load_judgments(value: Any, format: str | None = None) -> JudgmentInput:
    """Return judgments from a path, a dict of dicts, or a Polars, pandas or Arrow table, ready to be read."""
    if isinstance(value, Rankings):
        raise UsageError("a run was given as qrels")
    if isinstance(value, str | PathLike):
        if os.path.isdir(value):  # noqa: PTH112 (pathlib raises on odd names)
            hint = "name a file of judgments; 'karat eval DIR --run FILE' scores a run on a golden set"
            raise InputError("is a folder, not a file", source=fspath(value), hint=hint)
        source = find(fspath(value), format)
        if source.log is not None:
            hint = "judgments come first, then runs"
            raise InputError(f"{_LOGS[source.log]}, not judgments", source=source.name, hint=hint)
        return JudgmentInput(name=source.name, **_readers(source, "qrels"))
    if isinstance(value, Mapping):
        return JudgmentInput(name="qrels", held=from_mapping(value, "qrels", "qrels"))
    return JudgmentInput(name="qrels", frames=_frames(value, "qrels"))


def load_run(value: Any, format: str | None = None, progress: Callable[[int], None] | None = None) -> Rankings:
    """Return a run from a path, a dict of dicts, or a Polars, pandas or Arrow table, ready to be read."""
    if isinstance(value, Rankings):
        return value
    if isinstance(value, str | PathLike):
        return run_of(find_run(fspath(value), format, progress))
    if isinstance(value, Mapping):
        return Rankings(name="run", held=from_mapping(value, "run", "run"))
    return Rankings(name="run", frames=_frames(value, "run"))


_LOGS = {"run": "is a run", "traces": "holds the traces of a run", "spans": "holds spans", "decision": "is a decision"}


def find_run(path: str, format: str | None = None, progress: Callable[[int], None] | None = None) -> Source:
    """Find the file of a run; refuse a folder or a decision, and say what to name instead."""
    if os.path.isdir(path):  # noqa: PTH112 (pathlib raises on odd names)
        raise InputError("is a folder, not a file", source=path, hint=_newest_run(Path(path)))
    source = find(path, format, progress)
    if source.log == "decision":
        raise InputError("is a decision, not a run", source=source.name, hint="'karat report' renders it")
    return source


def _newest_run(folder: Path) -> str:
    """Return advice that names the newest run of a project, or of a folder of runs."""
    for place in (folder / "runs", folder):
        runs = sorted(place.glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
        if runs:
            return f"name a file; the newest in {place} is {runs[-1].name}"
    return "name a file"


def run_of(source: Source, exact: Reader | None = None) -> Rankings:
    """Return the rankings in a file that was found; ``exact`` replaces the usual reader."""
    if source.log is not None:
        from karat.measures._logs import read_rankings

        rankings = read_rankings(source)
        return Rankings(name=source.name, held=rankings.table, repeated=rankings.repeated)
    readers = _readers(source, "run")
    return Rankings(name=source.name, **(readers if exact is None else {**readers, "exact": exact}))


def _readers(source: Source, kind: Kind) -> dict[str, Any]:
    """Return the readers of a file, by the names that the inputs above give them."""
    if source.format == "parquet":
        from karat.measures._frames import parquet_frames

        return {"frames": parquet_frames(source, kind)}
    exact = partial(read_table, source, kind)
    if source.format != "trec" or not source.large:
        return {"exact": exact}
    from karat.measures._frames import trec_frames

    return {"exact": exact, "frames": trec_frames(source, kind)}


def _frames(value: Any, kind: Kind) -> Frames:
    from_library = type(value).__module__.split(".")[0] in ("polars", "pandas", "pyarrow")
    if from_library and (hasattr(type(value), "columns") or hasattr(type(value), "column_names")):
        from karat.measures._frames import table_frames

        return table_frames(value, kind, kind)
    wanted = "give a path, a dict of dicts, or a Polars, pandas or Arrow table"
    raise UsageError(f"{kind} of type {type(value).__name__}; {wanted}")
