"""The labels of one person: a file that is only ever appended to, and on the disk before anybody is told so.

A line is written whole and synced under the lock of the folder, so that people, servers and commands can work at the
same time. A process that is killed may leave a part of a line, which nobody was told of: the next one that writes
removes it, and says so.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote, unquote

import msgspec

from karat.core import InputError, UsageError, is_blank, shorten
from karat.files import access_file, append_file, lock_folder, max_bytes, open_file, open_own, sync_folder, too_large
from karat.schema.labelling import LabelHead, LabelLine

VERSION = 1
ENDING = ".jsonl"
_LONGEST = 64
_TAIL = 1000  # bytes
_HEAD = msgspec.json.Decoder(LabelHead)
_LINE = msgspec.json.Decoder(LabelLine)


def name_file(who: str) -> str:
    """Return the name of a person's file.

    >>> name_file("ana"), name_file("Ana Ng"), name_file("../x")
    ('ana.jsonl', 'Ana%20Ng.jsonl', '%2E.%2Fx.jsonl')
    """
    check_name(who)
    name = quote(who, safe="@+")
    return ("%2E" + name[1:] if name.startswith(".") else name) + ENDING


def check_name(who: str) -> None:
    """Refuse a name that is empty, too long, or not to be printed on one line."""
    if is_blank(who) or who != who.strip() or not who.isprintable():
        raise UsageError(f"{shorten(who)} is not a name; say who labels, such as ana")
    if len(who.encode()) > _LONGEST:
        raise UsageError(f"the name {shorten(who)} has more than {_LONGEST} bytes")


def list_names(folder: Path) -> tuple[str, ...]:
    """Return whose files a folder has."""
    return tuple(unquote(path.name.removesuffix(ENDING)) for path in sorted(folder.glob(f"*{ENDING}")))


@lru_cache(maxsize=4096)
def fold_name(who: str) -> str:
    """Return a name as people read it: without case, width and the number of blanks.

    Letters of other alphabets that only look alike stay apart.

    >>> fold_name("Ana  Ng") == fold_name("ana ng"), fold_name("ana") == fold_name("anna")
    (True, False)
    """
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", who).casefold()).split())


def check_namesake(who: str, known: Iterable[str]) -> None:
    """Refuse a name that differs from a known one only in case or width: one person would count as two."""
    folded, names = fold_name(who), tuple(known)
    if who in names:
        return
    for name in names:
        if fold_name(name) == folded:
            raise UsageError(f"{shorten(who)} is {shorten(name)} in other letters; use that spelling, or another name")


@dataclass(slots=True, kw_only=True)
class Journal:
    """The file of one person, and how far it has been read."""

    path: Path
    who: str
    keys: dict[str, LabelLine] = field(default_factory=dict)
    """Every line by its key."""
    repairs: list[str] = field(default_factory=list)
    """What was removed when somebody wrote."""
    _place: int = 0
    _file: tuple[int, int] = (0, 0)
    _changed: int = 0
    _tail: bytes = b""
    """The end of what was read: if something else stands there now, the file was rewritten in place."""
    _lines: int = 0

    def read_on(self) -> tuple[bool, list[LabelLine]]:
        """Return whether the file is another one than before, and its new lines: all of them if it is.

        What comes after the last line end is left for later: somebody may be writing it.
        """
        if not self.path.exists():
            replaced = self._file != (0, 0)
            self._forget()
            return replaced, []
        with open_file(self.path, is_input=False) as file:
            try:
                return self._read(file)
            except InputError:
                self._forget()
                raise

    def _read(self, file: BinaryIO) -> tuple[bool, list[LabelLine]]:
        status = os.fstat(file.fileno())
        identity = (status.st_dev, status.st_ino)
        is_same = self._file == identity and not self._is_rewritten(file, status)
        replaced = self._file != (0, 0) and not is_same
        if replaced:
            self._forget()
        self._file, self._changed = identity, status.st_mtime_ns
        if status.st_size <= self._place:
            return replaced, []
        if status.st_size > max_bytes():
            raise too_large(str(self.path), max_bytes())
        file.seek(self._place)
        data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        fresh = [line for line in map(self._decode, whole.splitlines()) if line is not None]
        self._place += len(whole)
        self._tail = (self._tail + whole[-_TAIL:])[-_TAIL:]
        return replaced, fresh

    def _is_rewritten(self, file: BinaryIO, status: os.stat_result) -> bool:
        """Return whether something else was done to the file than to append to it, as far as a quick look tells."""
        if status.st_mtime_ns == self._changed and status.st_size >= self._place:
            return False
        if status.st_size <= self._place:
            return True
        file.seek(self._place - len(self._tail))
        return file.read(len(self._tail)) != self._tail

    def _forget(self) -> None:
        self.keys.clear()
        self._place, self._file, self._lines = 0, (0, 0), 0
        self._changed, self._tail = 0, b""

    def _decode(self, data: bytes) -> LabelLine | None:
        """Return the label of a line; None for a head, an empty line, and a key that was read before."""
        self._lines += 1
        if not data.strip():
            return None
        if self._lines == 1 or data.startswith(b'{"karat"'):  # a merge of two files may leave two heads
            self._check_head(data)
            return None
        try:
            line = _LINE.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            hint = "put it right, or remove the line"
            raise InputError(
                f"is not a label: {shorten(str(error))[1:-1]}", source=str(self.path), line=self._lines, hint=hint
            ) from None
        if line.key in self.keys:
            return None
        self.keys[line.key] = line
        return line

    def _check_head(self, data: bytes) -> None:
        try:
            head = _HEAD.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise InputError("is not a file of labels", source=str(self.path), line=self._lines) from None
        if head.version > VERSION:
            hint = "use a newer karat"
            raise InputError(f"has version {head.version}", source=str(self.path), line=self._lines, hint=hint)
        if head.who != self.who:
            problem = f"has the labels of {shorten(head.who)}, not of {shorten(self.who)}"
            raise InputError(problem, source=str(self.path), line=self._lines, hint="rename the file")

    def append(self, line: LabelLine) -> tuple[bool, list[LabelLine], LabelLine]:
        """Write a line, unless its key is there; when it returns, the line is on the disk.

        Return what :meth:`read_on` returns, with the line itself where it is new, and the line that the key has.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with lock_folder(self.path.parent):
            replaced, fresh = self.read_on()
            if self._repair():
                fresh += self.read_on()[1]
            if (known := self.keys.get(line.key)) is not None:
                return replaced, fresh, known
            is_new = self._lines == 0
            if is_new:
                check_namesake(self.who, list_names(self.path.parent))
            data = (
                msgspec.json.encode(LabelHead(karat="labels", version=VERSION, who=self.who)) + b"\n" if is_new else b""
            )
            self._write(data + msgspec.json.encode(line) + b"\n", is_new=is_new)
            again, more = self.read_on()
        return replaced or again, fresh + more, line

    def _write(self, data: bytes, *, is_new: bool) -> None:
        try:
            append_file(self.path, data)
            if is_new:
                sync_folder(self.path.parent)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", source=str(self.path)) from None

    def _repair(self) -> bool:
        """Remove what a process that was killed wrote of its last line; nobody was told that it was saved.

        A last line that is whole and only lacks its end, as an editor may leave it, is kept: then return True.
        """
        if not self.path.exists():
            return False
        descriptor = access_file(str(self.path), lambda: open_own(self.path, os.O_RDWR))
        try:
            if (torn := os.fstat(descriptor).st_size - self._place) > 0:
                if _is_line(os.pread(descriptor, torn, self._place)):  # an editor took the end of the last line
                    os.pwrite(descriptor, b"\n", self._place + torn)
                    os.fsync(descriptor)
                    return True
                os.ftruncate(descriptor, self._place)
                os.fsync(descriptor)
                self.repairs.append(
                    f"{self.path.name}: the last line was cut off while it was written; its {torn:,} bytes were "
                    "removed, and nothing that was saved is lost"
                )
        finally:
            os.close(descriptor)
        return False


def _is_line(data: bytes) -> bool:
    """Return whether some bytes are a whole label."""
    try:
        _LINE.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True
