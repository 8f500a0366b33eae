"""The table of formats, and the two functions that use it: read and write."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from karat.core import Document, GoldenSet, InputError, Judgment, Query, Registry, Target, UsageError
from karat.files import Mistakes, Reading
from karat.golden._documents import read_documents
from karat.golden._losses import losses


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How one kind of golden set is read and written."""

    name: str
    summary: str
    read: Callable[[Path, Reading], GoldenSet]
    recognise: Callable[[Path], bool]
    """Look at names and first bytes only; never raise."""
    write: Callable[[GoldenSet, Path], None] | None = None
    """Write to a path that does not exist yet; None for a format that is only read."""
    folder: bool = False
    """Whether it writes a folder, not a file."""
    keeps: frozenset[str] = frozenset()
    """What of the model it can hold, as in ``query.paraphrases``."""


FORMATS: Registry[Format] = Registry("karat.formats", "format", UsageError, module="karat.golden.formats")

_PARTS: dict[str, Any] = {
    "set": GoldenSet,
    "document": Document,
    "query": Query,
    "judgment": Judgment,
    "target": Target,
}
EVERYTHING = frozenset(f"{part}.{field.name}" for part, kind in _PARTS.items() for field in fields(kind))


def read(path: str | Path, format: str | None = None, *, documents: str | Path | None = None) -> GoldenSet:
    """Read a golden set; the format is recognised unless it is named.

    ``documents`` names a folder or a file of documents, for formats that hold none. What reading noticed (unknown
    keys, rows that were dropped) is in the set's ``notes``; a mistake raises an error that tells all mistakes.
    """
    source = Path(path)
    if not source.exists():
        raise InputError("no such file or folder", source=str(path))
    reading = Reading()
    golden = (FORMATS.get(format) if format else _recognise(source)).read(source, reading)
    reading.finish()
    if documents is not None:
        if golden.documents:
            raise UsageError(f"{path} holds documents itself; name no others ({documents})")
        golden = replace(golden, documents=read_documents(Path(documents), reading))
        reading.finish()
    return replace(golden, notes=reading.notes())


def _recognise(path: Path) -> Format:
    found = [known for known in FORMATS if known.recognise(path)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(known.name for known in found or FORMATS)
    what = f"could be {names}" if found else "is no golden set that karat recognises"
    raise InputError(what, source=str(path), hint="name its format" + ("" if found else f": {names}"))


def write(golden: GoldenSet, path: str | Path, format: str = "karat") -> tuple[str, ...]:
    """Write a golden set to a new file or folder, whole or not at all; give notes on what the format cannot hold."""
    chosen, target = FORMATS.get(format), Path(path)
    if chosen.write is None:
        raise UsageError(f"karat reads {chosen.name} and does not write it")
    if target.exists() and not (chosen.folder and target.is_dir() and not any(target.iterdir())):
        raise InputError("is there already", source=str(path), hint="choose a new name, or remove it")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=".karat-", dir=target.parent))
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", source=str(path)) from None
    try:
        made = temporary / target.name
        chosen.write(golden, made)
        lost = () if chosen.keeps == EVERYTHING else tuple(losses(golden, _read_back(made, chosen), chosen.name))
        made.replace(target)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", source=str(path)) from None
    except UnicodeEncodeError:
        raise InputError("cannot be written: a text holds half of a surrogate pair", source=str(path)) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return lost


def _read_back(path: Path, format: Format) -> GoldenSet:
    """Read what was just written: only that tells what the format could hold."""
    reading = Reading()
    try:
        golden = format.read(path, reading)
        reading.finish()
    except InputError as error:
        first = error.errors[0] if isinstance(error, Mistakes) else error
        raise InputError(f"{format.name} cannot hold this set: {first.what}", source=path.name) from None
    return golden
