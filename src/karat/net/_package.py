"""Optional packages, imported when something needs them."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from karat.core import UsageError
from karat.net._source import format_pip_line


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
        needs = f"karat's extra {extra}" if extra else install
        line = format_pip_line(extra) if extra else f"pip install {install}"
        raise UsageError(f"{purpose} needs {needs} ({error}); {line}") from None


@cache
def find_version(distribution: str) -> str:
    """Return the installed version of a distribution, or an empty string if it is not installed.

    >>> find_version("no-such")
    ''
    """
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""
