"""Packages that karat runs without until someone asks for what they do."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from karat.core import UsageError


def package(module: str, *, install: str, what: str) -> Any:
    """Import a package when it is used; where it is not installed, say what needs it and how to get it.

    >>> package("no_such_module", install="no-such", what="the example")
    Traceback (most recent call last):
    karat.core._errors.UsageError: the example needs no-such (No module named 'no_such_module'); pip install no-such
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(f"{what} needs {install} ({error}); pip install {install}") from None


def version_of(distribution: str) -> str:
    """Give the version that is installed, or nothing.

    >>> version_of("no-such")
    ''
    """
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""
