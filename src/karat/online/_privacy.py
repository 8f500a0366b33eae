"""What must not be written: redaction of texts, keyed hashes of ids, and the choice of what is logged at all."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

from karat.core import InputError, SystemFailed, UsageError, name_type, shorten
from karat.files import append_file, make_own, read_bytes
from karat.online._personal import hide_personal
from karat.online._plain import Room, to_plain

KEY_VARIABLE = "KARAT_ONLINE_KEY"
_LEAST_KEY = 16
_HASH_BYTES = 16
_KNOWN_IDS, _LONGEST_KNOWN = 256, 256
_LEAST_LONG, _MOST_LONG = 10**12, 10**19  # numbers of 13 to 19 digits


class Redaction:
    """What is replaced in texts: e-mail addresses, telephone and card numbers, keys, and the user's own patterns.

    >>> Redaction()("mail ann@example.org or call +49 151 1234567")
    'mail [e-mail] or call [phone]'
    >>> Redaction({"order": "ORD-[0-9]+"})("where is ORD-1234, paid with 4111 1111 1111 1111")
    'where is [order], paid with [card]'
    """

    def __init__(self, patterns: Mapping[str, str] | Iterable[str] = (), *, usual: bool = True) -> None:
        """Compile the patterns, regular expressions by the name that replaces them; ``usual`` is karat's own ones."""
        named = patterns if isinstance(patterns, Mapping) else dict.fromkeys(patterns, "")
        pairs = named.items() if isinstance(patterns, Mapping) else [("hidden", pattern) for pattern in named]
        self._usual = usual
        self._own: list[tuple[re.Pattern[str], str]] = []
        for name, pattern in pairs:
            try:
                self._own.append((re.compile(pattern), f"[{name}]"))
            except (re.error, TypeError) as error:
                problem = f"{shorten(pattern)} is not a regular expression: {error}"
                raise UsageError(f"{problem}; fix it: without it texts would be logged as they are") from None

    @property
    def function(self) -> Callable[[str], str]:
        """The same as a function that takes the shortest way, for those who wait."""
        return self if self._own or not self._usual else hide_personal

    def __call__(self, text: str) -> str:
        """Return a text without what must not be written."""
        for pattern, mark in self._own:
            text = pattern.sub(mark.replace("\\", r"\\"), text)
        if self._usual:
            text = hide_personal(text)
        return text

    def clean(self, value: Any, room: Room | None = None) -> Any:
        """Return a value as JSON has it, with all texts in it redacted, keys of objects too.

        What JSON does not have becomes text first, so that nothing comes past. More texts than there is room for raise.

        >>> Redaction().clean({"who": {"ann@example.org"}, "card": 4111111111111111})
        {'who': ['[e-mail]'], 'card': '[card]'}
        """
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is int or kind is float:
            return self._clean_number(value)
        if isinstance(value, str):
            return self(value if room is None else room.take(value))
        if isinstance(value, Mapping):
            return {self._clean_key(key, room): self.clean(inner, room) for key, inner in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.clean(inner, room) for inner in value]
        if isinstance(value, bytes | bytearray | memoryview):
            return self.clean(bytes(value).decode("utf-8", "replace"), room)
        return self.clean(to_plain(value), room)

    def _clean_key(self, key: Any, room: Room | None) -> Any:
        clean = self.clean(key, room)
        return clean if isinstance(clean, str | int) else str(clean)

    def _clean_number(self, value: float) -> Any:
        """Return a number, or its text if that is a card's or a telephone's; milliseconds since 1970 are neither."""
        if not _LEAST_LONG <= abs(value) < _MOST_LONG or _LEAST_LONG <= value < 2 * _LEAST_LONG:
            return value
        text = f"{value:.0f}"
        return value if (hidden := self(text)) == text else hidden


def make_redaction(redact: bool | Mapping[str, str] | Redaction) -> Redaction:
    """Return what a setting says: karat's own patterns, with those of a mapping, or a redaction as it is.

    Anything else is refused: patterns that nobody reads would leave texts as they are.
    """
    if not isinstance(redact, bool | Mapping | Redaction):
        hint = "use True, False, or your own patterns by the names that replace them, such as {'order': 'ORD-[0-9]+'}"
        raise UsageError(f"redact={shorten(redact)} is no redaction; {hint}")
    return redact if isinstance(redact, Redaction) else Redaction(redact if isinstance(redact, Mapping) else ())


def hash_id(key: bytes, kind: str, id: str) -> str:
    """Return a keyed hash of the id of a session or user: without the key nobody can tell whose it is.

    >>> hash_id(b"0" * 32, "session", "ann") == hash_id(b"0" * 32, "user", "ann")
    False
    """
    return make_hasher(key, kind)(id)


def make_hasher(key: bytes, kind: str) -> Callable[[str], str]:
    """Return a function that hashes ids of a kind, and remembers the last ones: a session asks more than once."""
    return _Hashes(key, kind).__getitem__


class _Hashes(dict[str, str]):
    """Keyed hashes by id; a look into a dict is what the host waits for."""

    def __init__(self, key: bytes, kind: str) -> None:
        self._keyed = blake2b(digest_size=_HASH_BYTES, key=key, person=kind.encode())  # the work on the key, once

    def __missing__(self, id: str) -> str:
        own = self._keyed.copy()
        own.update(id.encode("utf-8", "surrogatepass"))
        digest = own.hexdigest()
        if len(id) <= _LONGEST_KNOWN:
            if len(self) >= _KNOWN_IDS:
                self.clear()
            self[id] = digest
        return digest


def make_sampler(rate: float) -> Callable[[str], bool]:
    """Return a function that chooses a share of all ids, always the same ones.

    >>> chosen = [n for n in range(10_000) if make_sampler(0.25)(str(n))]
    >>> 2300 < len(chosen) < 2700
    True
    """
    limit = int(rate * (1 << 64))

    def choose(id: str) -> bool:
        data = id.encode("utf-8", "surrogatepass")
        return int.from_bytes(blake2b(data, digest_size=8, person=b"sample").digest(), "big") < limit

    return choose


def parse_key(text: str) -> bytes:
    """Return the key that a text stands for: blake2b takes up to 64 bytes, so that a longer one is hashed."""
    if not isinstance(text, str):
        raise UsageError(f"the key that ids are hashed with is {name_type(text)}, and has to be a text")
    data = text.strip().encode(errors="surrogatepass")
    if len(data) < _LEAST_KEY:
        hint = "python -c 'import secrets; print(secrets.token_hex())' makes one"
        raise UsageError(f"the key that ids are hashed with has {len(data)} characters, and needs {_LEAST_KEY}; {hint}")
    return data if len(data) <= 64 else blake2b(data).digest()


def read_key(path: Path) -> bytes | None:
    """Return the key of a log: that of the variable, or of the file beside the store; None if there is neither."""
    if text := os.environ.get(KEY_VARIABLE):
        return parse_key(text)
    return parse_key(read_bytes(path).decode()) if path.exists() else None


def make_key(path: Path) -> bytes:
    """Return the key of a log; if there is none, make one in a file that only its owner can read."""
    key = read_key(path)
    if key is not None:
        return key
    new = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_hex().encode())
        os.link(new, path)  # fails if another process was faster: then its key is the key
    except FileExistsError:
        pass
    except OSError as error:
        raise SystemFailed(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        with suppress(OSError):  # it was not made
            new.unlink()
    key = read_key(path)
    assert key is not None
    return key


def find_key(path: Path, key: str | None = None) -> bytes:
    """Return the key that ids of a log are hashed with: the given one, that of the variable, or that of the file."""
    return make_key(path) if key is None else parse_key(key)


def note_key(path: Path, key: bytes) -> None:
    """Record that ids are hashed with a key, so that whoever forgets somebody with another one is told."""
    check = _check_key(key)
    if check in read_key_checks(path):
        return
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        make_own(path, 0o600)  # neither a link nor a pipe, for whose reader a host would wait
        append_file(path, f"{check}\n".encode())
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", source=str(path)) from None


def read_key_checks(path: Path) -> set[str]:
    """Return the checks of the keys of a log; none if earlier versions wrote it."""
    return set(read_bytes(path).decode("ascii", "replace").split()) if path.is_file() else set()


def count_other_keys(path: Path, key: bytes | None) -> tuple[bool, int]:
    """Return whether ids of a log may have been hashed with a key, and how many other keys there are."""
    checks = read_key_checks(path)
    own = _check_key(key) if key is not None else ""
    return not checks or own in checks, len(checks - {own})


def _check_key(key: bytes) -> str:
    return hash_id(key, "check", "karat.online")
