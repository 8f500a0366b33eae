"""A saved index: one file, written atomically, with the fingerprint of what it was built from."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.core import InputError
from karat.files import make_folder, open_file, replace_file

_FORMAT = 1
Path_ = str | os.PathLike[str]


def fingerprint(description: Mapping[str, Any], texts: Iterable[str]) -> str:
    """Return ``sha256:`` and 64 digits over what an index is built from: a description, and texts in their order.

    >>> first = fingerprint({"kind": "bm25"}, ["a", "b"])
    >>> first == fingerprint({"kind": "bm25"}, ["a", "b"]), first == fingerprint({"kind": "bm25"}, ["ab", ""])
    (True, False)
    """
    digest = hashlib.sha256(json.dumps(description, sort_keys=True, allow_nan=False).encode())
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(b"\n%d\n" % len(data))  # the length keeps "ab", "" apart from "a", "b"
        digest.update(data)
    return f"sha256:{digest.hexdigest()}"


def save(
    path: Path_,
    fingerprint: str,
    description: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    files: Mapping[str, Path] | None = None,
) -> None:
    """Write arrays and files into one archive, atomically: a reader finds the old archive or the new one."""
    target = Path(path)
    about = {"format": _FORMAT, "fingerprint": fingerprint, "description": description}
    try:
        make_folder(target.parent)
        with replace_file(target) as file, zipfile.ZipFile(file, "w") as archive:
            archive.writestr("about.json", json.dumps(about))
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)
            for name, source in (files or {}).items():
                archive.write(source, name)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", source=os.fspath(path)) from None


class Saved:
    """An open archive that was built from the same, in the same way; use it in a ``with`` statement.

    InputError is raised if there is no file, or if it is damaged or was built from other texts or parameters.
    """

    def __init__(self, path: Path_, fingerprint: str, description: Mapping[str, Any]) -> None:
        self._name = os.fspath(path)
        self._file = open_file(path)
        try:
            self._archive = zipfile.ZipFile(self._file)
            if any(member.compress_type != zipfile.ZIP_STORED for member in self._archive.infolist()):
                raise ValueError("it is packed, and karat packs nothing")  # a small file could unpack to a huge one
            self._check(fingerprint, json.loads(json.dumps(description)))
        except InputError:
            self._file.close()
            raise
        except _DAMAGE as error:
            self._file.close()
            raise self._damaged(error) from None

    def __enter__(self) -> Saved:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()
        self._file.close()

    def array(self, name: str) -> NDArray[Any]:
        """Return an array, read-only."""
        try:
            with self._archive.open(f"{name}.npy") as member:
                array: NDArray[Any] = np.lib.format.read_array(member, allow_pickle=False)
                member.read(1)  # at the end of a member zipfile compares its checksum
        except _DAMAGE as error:
            raise self._damaged(error) from None
        array.setflags(write=False)
        return array

    def extract(self, name: str, target: Path) -> None:
        """Copy a file out of the archive."""
        try:
            with self._archive.open(name) as member, target.open("wb") as file:
                shutil.copyfileobj(member, file, 1 << 20)
        except _DAMAGE as error:
            raise self._damaged(error) from None

    def damaged(self, message: str) -> InputError:
        """Return the error for contents that make no sense."""
        return self._damaged(ValueError(message))

    def _check(self, fingerprint: str, description: Any) -> None:
        try:
            about = json.loads(self._archive.read("about.json"))
            actual = about["format"], about["description"], about["fingerprint"]
        except (*_DAMAGE, TypeError) as error:
            raise self._damaged(error) from None
        for problem, value, wanted in zip(_PROBLEMS, actual, (_FORMAT, description, fingerprint), strict=True):
            if value != wanted:
                raise InputError(f"{problem}: {value}, not {wanted}", source=self._name, hint="build it again")

    def _damaged(self, error: Exception) -> InputError:
        return InputError(f"is not a saved index, or damaged: {error}", source=self._name, hint="build it again")


_PROBLEMS = ("saved in another format", "built in another way", "built from something else")
_DAMAGE = (
    OSError, EOFError, KeyError, ValueError, RuntimeError, NotImplementedError, MemoryError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What reading a damaged archive may raise; ValueError and MemoryError come from NumPy."""
