"""Optional packages, imported when something needs them."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from karat.core import UsageError


def require_package(module: str, *, install: str, purpose: str) -> Any:
    """Import a package; if it is not installed, raise UsageError with what needs it and how to install it.

    >>> require_package("no_such_module", install="no-such", purpose="the example")
    Traceback (most recent call last):
    karat.core._errors.UsageError: the example needs no-such (No module named 'no_such_module'); pip install no-such
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(f"{purpose} needs {install} ({error}); pip install {install}") from None


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
