"""A case: what is fed, and the files or texts that it is fed with. It is kept as one readable file."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

KEPT = Path(__file__).parent / "kept"
"""The cases that broke a promise once, by target."""
_MARK = b"\n=== "
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(?:[./][A-Za-z0-9][A-Za-z0-9_-]*)*")
_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Files by name, for the reader, parser or renderer ``kind``."""

    kind: str
    files: Mapping[str, bytes]

    def encode(self) -> bytes:
        """Return the case as the bytes that a fuzzer changes."""
        parts = [name.encode() + b"\n" + content for name, content in self.files.items()]
        return _MARK.join([self.kind.encode(), *parts])

    @classmethod
    def decode(cls, data: bytes) -> Case:
        """Return the case of any bytes. A file whose name is not plain is left out: it could be anywhere."""
        kind, *parts = data.split(_MARK)
        files = {}
        for part in parts:
            line, _, content = part.partition(b"\n")
            name = line.decode(errors="replace")
            if _NAME.fullmatch(name) and len(name) <= _LONGEST_NAME:
                files[name] = content
        return cls(kind=kind.decode(errors="replace"), files=files)

    def write(self, folder: Path) -> None:
        """Write the files into an empty folder. A file whose place is taken is left out."""
        for name, content in self.files.items():
            path = folder / name
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            except (FileExistsError, NotADirectoryError, IsADirectoryError):
                continue


def read_kept(target: str) -> list[Case]:
    """Return the cases of a target that broke a promise once."""
    return [Case.decode(path.read_bytes()) for path in sorted((KEPT / target).iterdir())]


@contextmanager
def work_folder() -> Iterator[Path]:
    """Make a folder, in memory where the system has one there, and remove it."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="karat-fuzz-", dir=memory if memory.is_dir() else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
