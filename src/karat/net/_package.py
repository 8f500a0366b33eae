"""Optional packages, imported when something needs them."""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from karat.core import UsageError
from karat.files import open_file


def require_package(module: str, *, purpose: str, install: str = "", extra: str = "") -> Any:
    """Import a package; if it is not installed, raise UsageError with what needs it and how to install it.

    It is the package ``install`` of its own, or belongs to an extra of karat.

    >>> require_package("no_such_module", install="no-such", purpose="the example")
    Traceback (most recent call last):
    karat.core._errors.UsageError: the example needs no-such (No module named 'no_such_module'); pip install no-such
    """
    try:
        return import_module(module)
    except ImportError as error:
        from karat.net._source import format_pip_line

        needs = f"karat's extra {extra}" if extra else install
        line = format_pip_line(extra) if extra else f"pip install {install}"
        raise UsageError(f"{purpose} needs {needs} ({error}); {line}") from None


@cache
def find_version(distribution: str) -> str:
    """Return the installed version of a distribution, or an empty string if it is not installed.

    >>> find_version("no-such")
    ''
    """
    metadata = find_metadata(distribution)
    if metadata is None:
        return ""
    place = next((file for file in (metadata / "METADATA", metadata / "PKG-INFO") if file.is_file()), metadata)
    with open_file(place, is_input=False) as file:
        lines = (line.partition(b":") for line in file)
        return next((value.strip().decode() for key, _, value in lines if key.lower() == b"version"), "")


def find_metadata(distribution: str) -> Path | None:
    """Return where the installer keeps what it knows of a distribution, beside its packages; None if nowhere.

    ``importlib.metadata`` finds the same, and takes a third as long to import as NumPy.
    """
    name = _normalise(distribution)
    return next((Path(place, file) for place in sys.path if (file := _list_metadata(place).get(name))), None)


@cache
def _list_metadata(place: str) -> dict[str, str]:
    """Return the folders and files with metadata in a place of sys.path, by the names of their distributions."""
    try:
        names = [name for name in os.listdir(place or ".") if name.endswith((".dist-info", ".egg-info"))]  # noqa: PTH208
    except OSError:  # an archive, or nothing
        return {}
    return {_normalise(name.rpartition(".")[0].partition("-")[0]): name for name in reversed(names)}


def _normalise(name: str) -> str:
    return re.sub("[-_.]+", "_", name).lower()
