"""The registry of formats, and the functions that read and write a golden set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from karat.config import FrontMatter
from karat.core import Document, GoldenSet, InputError, Judgment, Query, Registry, Session, Target, UsageError
from karat.files import Mistakes, Reading, new_folder
from karat.golden._documents import read_documents
from karat.golden._kept import copy_source
from karat.golden._losses import describe_losses
from karat.golden._sources_of_passages import find_passages


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format of golden sets: how it is recognised, read and written."""

    name: str
    summary: str
    read: Callable[[Path, Reading], GoldenSet]
    recognise: Callable[[Path], bool]
    """Return whether a path has this format, by names and first bytes only. It must not raise."""
    explain: Callable[[Path], str] | None = None
    """Return why a path that no format has is nearly of this one, in words that follow its name; "" if it is not."""
    write: Callable[[GoldenSet, Path], None] | None = None
    """Write to a path that does not exist yet. None if karat only reads the format."""
    folder: bool = False
    """Whether a written set is a folder and not a file."""
    keeps: frozenset[str] = frozenset()
    """The fields of the model that the format can hold, such as ``query.paraphrases``."""
    passages: bool = False
    """Whether its documents are passages of others, which may be named when a set is read."""
    published: str = ""
    """Where such sets are published, for the message about a path that does not exist."""


FORMATS: Registry[Format] = Registry(
    "karat.formats",
    "format",
    UsageError,
    module="karat.golden.formats._all",
    homes={"karat": "karat.golden.formats._karat"},  # a set of karat's own needs none of the others
)

_PARTS: dict[str, Any] = {
    "set": GoldenSet,
    "document": Document,
    "query": Query,
    "session": Session,
    "judgment": Judgment,
    "target": Target,
}
EVERYTHING = frozenset(f"{part}.{field.name}" for part, kind in _PARTS.items() for field in fields(kind))


def read(
    path: str | Path,
    format: str | None = None,
    *,
    documents: str | Path | None = None,
    front_matter: FrontMatter = "text",
    relevant: int | None = None,
) -> GoldenSet:
    """Return the golden set of a file or folder. The format is recognised unless it is named.

    ``documents`` names a folder or a file of documents, for formats that hold none, or passages of them.
    ``front_matter`` says what that of Markdown files is: ``text``, as it stands, or the source of their ``title``.
    ``relevant`` is the lowest relevant grade of a file that does not say so; one that says otherwise is refused. The
    set's ``notes`` tell about unknown keys and rows that were left out. Mistakes are raised as one error that lists all
    of them.
    """
    source = Path(path)
    if not source.exists():
        raise InputError("no such file or folder", source=str(path), hint=_where_published(source, format))
    reading = Reading(relevant)
    chosen = FORMATS.get(format) if format else _recognise(source)
    golden = chosen.read(source, reading)
    reading.finish()
    if relevant is not None and golden.relevant != relevant:
        problem = (
            f"says that grades are relevant from {golden.relevant} on, and [golden] of karat.toml from {relevant} on"
        )
        raise InputError(problem, source=str(path), hint="leave relevant out of karat.toml, or correct one of them")
    if documents is not None:
        if golden.documents and not chosen.passages:
            raise UsageError(f"{path} holds documents of its own; leave out {documents}")
        texts = read_documents(Path(documents), reading, front_matter=front_matter)
        if golden.documents:
            golden = find_passages(golden, texts, reading, str(path))
        else:
            golden = replace(golden, judgments=golden.held_judgments, documents=texts)
        reading.finish()
    with_notes = replace(golden, judgments=golden.held_judgments, notes=reading.notes())
    copy_source(golden, with_notes)  # which a set with other documents has lost
    return with_notes


class Unrecognised(InputError):
    """What was read as a golden set has no format that karat knows."""


def _where_published(path: Path, format: str | None) -> str:
    """Return where sets of the named format are published, or of a format whose name is part of the path."""
    candidates = [FORMATS.get(format)] if format else [known for known in FORMATS if known.name in path.name.lower()]
    return next((candidate.published for candidate in candidates if candidate.published), "")


def _recognise(path: Path) -> Format:
    if (path / "golden.toml").is_file():
        return FORMATS.get("karat")  # whatever else lies there; no package that adds formats has to be looked for
    formats = [known for known in FORMATS if known.recognise(path)]
    if len(formats) == 1:
        return formats[0]
    names = ", ".join(candidate.name for candidate in formats or FORMATS)
    if formats:
        raise InputError(f"could be {names}", source=str(path), hint="name its format")
    problem = "is not a golden set that karat recognises"
    for known in FORMATS:
        if known.explain is not None and (reason := known.explain(path)):
            raise Unrecognised(f"{problem}: {reason}", source=str(path))
    own = "call the columns of a table of your own 'question' and 'document'"
    start = "'karat init' starts a project" if path.is_dir() else own
    raise Unrecognised(problem, source=str(path), hint=f"name its format: {names}; {start}")


def write(golden: GoldenSet, path: str | Path, format: str = "karat") -> tuple[str, ...]:
    """Write a golden set to a new file or folder, whole or not at all. Return notes on what the format cannot hold."""
    chosen, target = FORMATS.get(format), Path(path)
    if chosen.write is None:
        raise UsageError(f"karat reads {chosen.name} and does not write it")
    if target.exists() and not (chosen.folder and target.is_dir() and not any(target.iterdir())):
        raise InputError("already exists", source=str(path), hint="choose a new name, or remove it")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with new_folder(target.parent) as temporary:
            written = temporary / target.name
            chosen.write(golden, written)
            keeps_all = chosen.keeps == EVERYTHING
            lost = () if keeps_all else tuple(describe_losses(golden, _read_back(written, chosen), chosen.name))
            written.replace(target)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", source=str(path)) from None
    except UnicodeEncodeError:
        raise InputError("cannot be written: a text holds half of a surrogate pair", source=str(path)) from None
    return lost


def _read_back(path: Path, format: Format) -> GoldenSet:
    """Return the set that was just written, which shows what the format could hold."""
    reading = Reading()
    try:
        golden = format.read(path, reading)
        reading.finish()
    except InputError as error:
        first = error.errors[0] if isinstance(error, Mistakes) else error
        raise InputError(f"{format.name} cannot hold this set: {first.what}", source=path.name) from None
    return golden
