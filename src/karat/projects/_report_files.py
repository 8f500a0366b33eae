"""The files of reports: each is named after its run, and none is overwritten."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import count
from pathlib import Path

from msgspec import UNSET

from karat.core import InputError
from karat.files import open_file, shorten_path
from karat.schema import DecisionDocument

_PREFIX = "rag-eval-"
_ENDINGS = (".jsonl.gz", ".jsonl", ".gz", ".json", ".txt", ".run")


def require_writable(folder: Path) -> None:
    """Refuse a folder that cannot be made or written to, before the questions are asked whose reports it is to hold."""
    place = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
    name = str(shorten_path(place))
    if not os.path.isdir(place):  # noqa: PTH112 (pathlib raises in a folder that may not be searched)
        raise InputError("is not a folder", source=name, hint="reports need a folder: remove it, or name another")
    if not os.access(place, os.W_OK | os.X_OK):
        raise InputError("cannot be written to", source=name, hint="name another folder for the reports")


def name_reports(
    folder: Path, document: DecisionDocument, texts: Mapping[str, str], *, decision: str = ""
) -> dict[Path, str]:
    """Return the paths of reports on a run with their texts, which are given by suffix, such as ``html``.

    The paths are ``rag-eval-RUN.SUFFIX`` in the folder; ``decision`` is the name of the file that the document was read
    from, whose name the reports share. If there is another report of that name, they get a number.
    """
    stem = _name(document, decision)
    for number in count(1):
        name = stem if number == 1 else f"{stem}-{number}"
        paths = {folder / f"{name}.{suffix}": text for suffix, text in texts.items()}
        if all(_is_free(path, text) for path, text in paths.items()):
            return paths
    raise AssertionError("count() does not end")


def _name(document: DecisionDocument, decision: str) -> str:
    if decision.startswith(_PREFIX):
        return _remove_ending(decision)
    file = document.run.file
    return f"{_PREFIX}{document.created if file is UNSET else _remove_ending(file)}"


def _remove_ending(name: str) -> str:
    ending = next((ending for ending in _ENDINGS if name.endswith(ending)), "")
    return name.removesuffix(ending)[:200] or "run"


def _is_free(path: Path, text: str) -> bool:
    """Whether a report can be written to a path: there is no file, or it has the same text already."""
    if not os.path.lexists(path):
        return True
    try:
        with open_file(path, is_input=False) as file:
            data = text.encode()
            return file.read(len(data) + 1) == data
    except (InputError, OSError):  # such as a folder, or a link that leads nowhere
        return False
