"""Rows that wait on the disk until all rows of their part are there."""

from __future__ import annotations

import io
from pathlib import Path
from typing import BinaryIO

import polars as pl


class Spill:
    """Parts of rows: in memory up to a number of bytes, then in one file, to which frames are appended."""

    def __init__(self, path: Path, parts: int, memory: int) -> None:
        self._path, self._memory = path, memory
        self._held: list[list[pl.DataFrame]] = [[] for _ in range(parts)]
        self._places: list[list[tuple[int, int]]] = [[] for _ in range(parts)]
        """Where the frames of each part are in the file, and how long they are."""
        self._size = 0
        self._file: BinaryIO | None = None

    @property
    def parts(self) -> int:
        """How many there are."""
        return len(self._held)

    def add(self, frame: pl.DataFrame, part: pl.Series) -> None:
        """Add rows; ``part`` says for each of them where it belongs."""
        for (number,), rows in (
            frame.with_columns(part.alias("\0part")).partition_by("\0part", as_dict=True, include_key=False).items()
        ):
            self._held[number].append(rows)
        self._size += int(frame.estimated_size())
        if self._size > self._memory:
            self._write()

    def take(self, part: int) -> pl.DataFrame | None:
        """Return all rows of a part, or None if there are none."""
        frames, self._held[part] = self._held[part], []
        if self._file is not None:
            for place, length in self._places[part]:
                self._file.seek(place)
                frames.append(pl.read_ipc(io.BytesIO(self._file.read(length))))
        return pl.concat(frames) if frames else None

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _write(self) -> None:
        if self._file is None:
            self._file = self._path.open("w+b")
        place = self._file.seek(0, io.SEEK_END)
        for part, frames in enumerate(self._held):
            if frames:
                content = io.BytesIO()
                pl.concat(frames).write_ipc(content, compression="lz4")
                self._file.write(content.getbuffer())
                self._places[part].append((place, content.tell()))
                place += content.tell()
                frames.clear()
        self._size = 0
