"""Adapters: vector stores, search engines, retrievers of other frameworks, services and run files as systems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from karat.systems.adapters._http import HttpSystem
    from karat.systems.adapters._kinds import ADAPTERS, Adapter, list_systems, open_system, register
    from karat.systems.adapters._runs import RunFolder
    from karat.systems.adapters._sqlite import SqliteFts
    from karat.systems.adapters._store import Match, Store, StoreOptions, StoreSettings, Surroundings

# Imported at first use: a project names one kind of system, or none.
_HOME = {
    **dict.fromkeys(("ADAPTERS", "Adapter"), "_kinds"),
    "HttpSystem": "_http",
    "Match": "_store",
    "RunFolder": "_runs",
    "SqliteFts": "_sqlite",
    **dict.fromkeys(("Store", "StoreOptions", "StoreSettings", "Surroundings"), "_store"),
    **dict.fromkeys(("list_systems", "open_system", "register"), "_kinds"),
}

__all__ = [
    "ADAPTERS",
    "Adapter",
    "HttpSystem",
    "Match",
    "RunFolder",
    "SqliteFts",
    "Store",
    "StoreOptions",
    "StoreSettings",
    "Surroundings",
    "list_systems",
    "open_system",
    "register",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        from importlib import import_module

        return getattr(import_module(f"karat.systems.adapters.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
