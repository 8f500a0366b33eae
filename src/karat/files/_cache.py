"""The user's cache: what is expensive to compute, kept outside of the projects, and safe to remove."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from karat.core import InputError
from karat.files._files import read_stream
from karat.files._opening import open_file
from karat.files._writing import replace_file

_VARIABLE = "KARAT_CACHE"
_OFF = ("off", "false", "no", "0")
_CHECKSUM = 32  # bytes


def find_cache_folder() -> Path | None:
    """Return the folder of the user's cache, or None if the environment turns it off.

    It is the folder that ``KARAT_CACHE`` names, or else ``$XDG_CACHE_HOME/karat`` or ``~/.cache/karat``.
    ``KARAT_CACHE=off`` turns it off. Without a home folder RuntimeError is raised.
    """
    chosen = os.environ.get(_VARIABLE, "").strip()
    if chosen.lower() in _OFF:
        return None
    shared = os.environ.get("XDG_CACHE_HOME", "")
    if chosen:
        return Path(chosen).expanduser()
    if Path(shared).is_absolute():  # others are to be ignored, says the XDG specification
        return Path(shared) / "karat"
    return Path.home() / ".cache" / "karat"


class KeptValues:
    """Values in a folder of the user's cache, by name. Only the newest are kept.

    A file that is torn, damaged, of another name or not readable counts as missing, and one that cannot be written is
    not written: then the value is computed again.
    """

    def __init__(self, kind: str, limit: int) -> None:
        self._kind, self._limit = kind, limit

    def read(self, name: str) -> bytes | None:
        """Return a value, or None if it is not there."""
        with suppress(InputError, OSError, RuntimeError, ValueError):
            if (path := self._find(name)) is not None and path.is_file():
                with open_file(path, is_input=False) as file:
                    data = read_stream(file, str(path))
                value = data[_CHECKSUM:]
                return value if data[:_CHECKSUM] == _sum(name, value) else None
        return None

    def write(self, name: str, value: bytes) -> None:
        """Keep a value, and remove the oldest ones if there are too many."""
        with suppress(InputError, OSError, RuntimeError, ValueError):
            path = self._find(name)
            if path is None:
                return
            path.parent.mkdir(parents=True, exist_ok=True)
            with replace_file(path) as file:
                file.write(_sum(name, value) + value)
            kept = sorted(path.parent.iterdir(), key=lambda other: other.stat().st_mtime, reverse=True)
            for other in kept[self._limit :]:
                other.unlink(missing_ok=True)

    def _find(self, name: str) -> Path | None:
        folder = find_cache_folder()
        return None if folder is None else folder / self._kind / name


def _sum(name: str, value: bytes) -> bytes:
    """Return a checksum of a value under its name."""
    return hashlib.sha256(b"%b %d\n%b" % (name.encode(), len(value), value)).digest()
