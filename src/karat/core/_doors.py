"""Doors of packages that import what is behind a name when somebody asks for it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


def open_lazily(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package: the first use of a name imports the module that is its home.

    A name that has no home may be that of a package inside, which is imported.

    >>> get = open_lazily("karat.core", {"did_you_mean": "_errors"})
    >>> get("did_you_mean")("rd", ["red"])
    ", did you mean 'red'?"
    >>> open_lazily("karat.online", {})("flags").__name__
    'karat.online.flags'
    >>> get("no_such_name")
    Traceback (most recent call last):
    AttributeError: module 'karat.core' has no attribute 'no_such_name'
    """

    def get(name: str) -> Any:
        if name not in homes:
            return _import_package(package, name)
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)  # so that the next use is as fast as that of any name
        return value

    return get


def _import_package(package: str, name: str) -> ModuleType:
    """Return a package inside another one, or raise AttributeError if there is none of that name."""
    path = f"{package}.{name}"
    if not name.startswith("_"):
        try:
            return import_module(path)
        except ModuleNotFoundError as error:
            if error.name != path:  # it is there, and lacks something that it needs
                raise
    raise AttributeError(f"module {package!r} has no attribute {name!r}")
