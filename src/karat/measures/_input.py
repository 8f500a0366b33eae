"""Judgments and runs in whatever form they come, behind one face.

Small and irregular inputs become dicts, large ones are streamed; which of the two it was can be seen in no score.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from karat.core import InputError, UsageError
from karat.measures._alignment import Alignment, Judgments, align
from karat.measures._columns import Kind
from karat.measures._files import find
from karat.measures._text import Table, from_mapping, read_table

if TYPE_CHECKING:
    from karat.measures._stream import Frames, Piece


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """Judgments or a run that are ready to be read: exactly, or in a stream, or either way."""

    name: str
    kind: Kind
    exact: Callable[[], Table] | None = None
    """Reads everything into dicts, or says what is wrong and where."""
    frames: Frames | None = None
    """Streams; set where that is faster. When it stumbles, ``exact`` has the last word."""
    pieces: list[Piece] | None = None
    """What ``frames`` gave, held in memory."""
    held: Table | None = None
    """What ``exact`` gave, held in memory."""

    def judgments(self) -> Judgments:
        """Read judgments."""
        if self.frames is not None:
            from karat.measures._frames import frame_judgments
            from karat.measures._stream import NotUnderstood

            try:
                return frame_judgments(self.frames, self.name)
            except (NotUnderstood, InputError):
                if self.exact is None:
                    raise
        return Judgments.from_dicts(self.table(), self.name)

    def align(self, judgments: Judgments, single: bool) -> Alignment:
        """Find the ranks of the judged documents in a run."""
        if self.frames is not None or self.pieces is not None:
            from karat.measures._stream import NotUnderstood, align_pieces, with_pieces

            aligned = partial(align_pieces, judgments, single=single)
            try:
                return (
                    aligned(self.pieces or ()) if self.frames is None else with_pieces(self.frames, self.name, aligned)
                )
            except NotUnderstood:
                pass  # the exact reader, below, has the last word
            except InputError:
                if self.exact is None:
                    raise
        return align(judgments, self.table(), single=single)

    def prepared(self) -> Loaded:
        """Read and check everything now, so that scoring it again and again costs little."""
        if self.pieces is not None:
            return self
        if self.frames is None:
            copied = {query: dict(documents) for query, documents in self.table().items()}
            return Loaded(name=self.name, kind=self.kind, held=copied)
        from karat.measures._stream import NotUnderstood, with_pieces

        try:
            pieces = with_pieces(self.frames, self.name, list)
        except (NotUnderstood, InputError):
            if self.exact is None:
                raise
            return replace(self, frames=None).prepared()
        return Loaded(name=self.name, kind=self.kind, pieces=pieces)

    def table(self) -> Table:
        """Give everything as dicts."""
        if self.held is not None:
            return self.held
        if self.exact is not None:
            return self.exact()
        from karat.measures._frames import frames_table, pieces_table

        if self.pieces is not None:
            return pieces_table(self.pieces)
        assert self.frames is not None
        return frames_table(self.frames, self.name)


def load(value: Any, kind: Kind, format: str | None = None, progress: Callable[[int], None] | None = None) -> Loaded:
    """Take a path, a dict of dicts, or a Polars, pandas or Arrow table."""
    if isinstance(value, Loaded):
        if value.kind != kind:
            raise UsageError(f"a {value.kind} was given as {kind}")
        return value
    if isinstance(value, str | PathLike):
        return _load_file(fspath(value), kind, format, progress)
    if isinstance(value, Mapping):
        return Loaded(name=kind, kind=kind, held=from_mapping(value, kind, kind))
    from_library = type(value).__module__.split(".")[0] in ("polars", "pandas", "pyarrow")
    if from_library and (hasattr(type(value), "columns") or hasattr(type(value), "column_names")):
        from karat.measures._frames import table_frames

        return Loaded(name=kind, kind=kind, frames=table_frames(value, kind, kind))
    wanted = "give a path, a dict of dicts, or a Polars, pandas or Arrow table"
    raise UsageError(f"{kind} of type {type(value).__name__}; {wanted}")


def _load_file(path: str, kind: Kind, format: str | None, progress: Callable[[int], None] | None) -> Loaded:
    source = find(path, format, progress)
    if source.format == "parquet":
        from karat.measures._frames import parquet_frames

        return Loaded(name=source.name, kind=kind, frames=parquet_frames(source, kind))
    exact = partial(read_table, source, kind)
    if source.format != "trec" or not source.large:
        return Loaded(name=source.name, kind=kind, exact=exact)
    from karat.measures._frames import trec_frames

    return Loaded(name=source.name, kind=kind, exact=exact, frames=trec_frames(source, kind))
