"""A table from names to values, filled by karat itself and by the entry points of other packages."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Generic, TypeVar

from karat.core._errors import KaratError, did_you_mean

T = TypeVar("T")


class Registry(Generic[T]):
    """A table from names to values; names are case-insensitive and may have aliases.

    The built-in values are registered by a module (by default the one with the name of the group, such as
    ``karat.measures``), which is imported at the first look-up. If a name is still unknown, the entry points of the
    group are loaded, so that another package can add a value by declaring an entry point.
    """

    def __init__(
        self,
        group: str,
        kind: str,
        error: type[KaratError] = KaratError,
        *,
        module: str = "",
        homes: Mapping[str, str] = MappingProxyType({}),
        listing: str = "",
    ) -> None:
        """``homes`` has the module of each value that can be imported without the others.

        ``listing`` says where the names are listed, if they are too many for a message.
        """
        self.group = group
        self.module = module or group
        self._homes = homes
        self._listing = listing
        self.kind = kind
        self._error = error
        self._values: dict[str, T] = {}
        self._folded: dict[str, str] = {}
        self._loaded = False
        self._plugins_loaded = False

    def add(self, name: str, value: T, aliases: tuple[str, ...] = ()) -> None:
        """Register ``value``; each name and alias can be registered only once."""
        keys = {word.lower() for word in (name, *aliases)}
        if duplicates := keys & self._folded.keys():
            taken = self._folded[min(duplicates)]
            raise ValueError(f"there is a {self.kind} {taken!r} already; choose another name")
        self._folded.update(dict.fromkeys(keys, name))
        self._values[name] = value

    def get(self, name: str) -> T:
        """Return the value of a name or an alias; raise an error that suggests similar names if it is unknown."""
        if name in self._homes:
            importlib.import_module(self._homes[name])
        else:
            self._load()
        if name.lower() not in self._folded:
            self._load_plugins()
        canonical = self._folded.get(name.lower())
        if canonical is None:
            known = self._listing or f"known: {', '.join(sorted(self._values, key=str.lower))}"
            hint = did_you_mean(name, self._folded) or f"; {known}"
            raise self._error(f"unknown {self.kind} {name!r}{hint}")
        return self._values[canonical]

    def __contains__(self, name: str) -> bool:
        self._load()
        return name.lower() in self._folded

    def __iter__(self) -> Iterator[T]:
        self._load()
        self._load_plugins()
        return iter([self._values[name] for name in sorted(self._values, key=str.lower)])

    def list_added(self) -> list[T]:
        """Return the values that were added so far: for the module that adds them, which must not load plug-ins."""
        return list(self._values.values())

    def _load(self) -> None:
        if not self._loaded:
            self._loaded = True
            importlib.import_module(self.module)

    def _load_plugins(self) -> None:
        if self._plugins_loaded:
            return
        self._plugins_loaded = True
        # Imported here: reading the installed packages' metadata costs more than scoring a small run.
        from importlib.metadata import entry_points

        for point in entry_points(group=self.group):
            try:
                point.load()
            except Exception as error:
                self._plugins_loaded = False
                raise self._error(f"plug-in {point.name!r} ({point.value}) cannot be loaded: {error!r}") from error
