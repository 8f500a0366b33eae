"""The folder of a piece of work: what was started, how far it is, what it printed and how it ended."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from karat.core import InputError
from karat.files import hold_folder, read_bytes, write_file
from karat.schema import to_json
from karat.schema.pages import WorkProgress

FOLDER = Path(".karat", "work")
"""Where the work of a project is, below its folder."""
HEAD, PROGRESS, END, OUTPUT, STOP = "work.json", "progress.json", "end.json", "output.txt", "stop"
Written = TypeVar("Written", bound=Struct)


def write(folder: Path, name: str, document: Struct) -> None:
    """Write a document of a piece of work, whole or not at all."""
    write_file(folder / name, [msgspec.json.encode(document).decode() + "\n"])


def write_progress(path: str | Path, stage: str, done: int, total: int) -> None:
    """Write how far a stage is to the file that a page watches; if it cannot be written, whoever watches sees less."""
    with suppress(InputError):
        write_file(Path(path), to_json(WorkProgress(stage=stage, done=done, total=total)))


def read(folder: Path, name: str, kind: type[Written]) -> Written | None:
    """Return a document of a piece of work; None if it is not there, or nothing that can be read."""
    try:
        return msgspec.json.decode(read_bytes(folder / name), type=kind)
    except (InputError, msgspec.DecodeError):
        return None


def is_held(folder: Path) -> bool:
    """Return whether a process of a piece of work lives."""
    descriptor = hold_folder(folder)
    if descriptor is None:
        return True
    os.close(descriptor)
    return False
