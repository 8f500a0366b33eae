"""Flags in a store: who changed what, when and why, and that two changes at once are one after the other."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import msgspec

from karat.core import InputError, UsageError, did_you_mean, is_text, shorten
from karat.online.flags._flag import Flag
from karat.store import Row, Store, open_store

_FIELDS = tuple(field.name for field in fields(Flag) if field.init)
_LONGEST = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagChange:
    """A change of a flag."""

    version: int
    """The number of the flag's changes, from 1."""
    time: float
    """Seconds since 1970, by the clock of who changed it; versions are in order even if clocks are not."""
    author: str
    reason: str
    before: Flag | None
    """None if the flag is new."""
    after: Flag


class FlagConflict(UsageError):
    """Somebody else changed the flag meanwhile."""


def read_flags(path: str | os.PathLike[str] = "karat.db") -> dict[str, tuple[Flag, int]]:
    """Return the flags of a store by their keys, each with its version."""
    with open_store(path) as store:
        return collect_flags(store)


def read_flag_history(path: str | os.PathLike[str] = "karat.db", key: str | None = None) -> tuple[FlagChange, ...]:
    """Return the changes of a flag, or of all flags, in the order in which they happened."""
    with open_store(path) as store:
        changes = collect_changes(store, key)
        if key is not None and not changes:
            raise _unknown(store, key)
        return changes


def change_flag(
    path: str | os.PathLike[str],
    key: str,
    changes: Mapping[str, Any],
    *,
    author: str,
    reason: str,
    expected: int | None = None,
) -> FlagChange | None:
    """Change fields of a flag, or make it; return the change, or None if the flag is like that already.

    With ``expected`` it is changed only if that is its version (0: only if it is new): of two who have looked at the
    same version, one changes it, and the other gets a :class:`FlagConflict` and can look again.
    """
    for what, text in (("author", author), ("reason", reason)):
        if not is_text(text, _LONGEST):
            raise UsageError(f"a change of a flag needs {what}, of up to {_LONGEST:,} letters")
    if not isinstance(changes, Mapping):
        raise UsageError(f"changes={shorten(changes)} is not a mapping of fields, such as {{'percent': 5}}")
    for name in changes:
        if name not in _FIELDS or name == "key":
            raise UsageError(f"a flag has no field {name!r} to change{did_you_mean(name, _FIELDS)}")
    with open_store(path, write=True) as store, store.transaction():
        return change_flag_in(store, key, changes, author=author, reason=reason, expected=expected)


def change_flag_in(
    store: Store, key: str, changes: Mapping[str, Any], *, author: str, reason: str, expected: int | None = None
) -> FlagChange | None:
    """Change a flag by :func:`change_flag` inside a transaction, together with something else."""
    row = store.flag(key)
    before, version = (None, 0) if row is None else (_to_flag(row[3], store), int(row[1]))
    if expected is not None and expected != version:
        raise FlagConflict(
            f"flag {key!r} is at version {version} and not {expected}: somebody changed it meanwhile; look again"
        )
    after = Flag(key=key, **changes) if before is None else replace(before, **changes)
    if after == before:
        return None
    change = FlagChange(version=version + 1, time=time.time(), author=author, reason=reason, before=before, after=after)
    if not store.change_flag(_to_row(change)):
        raise AssertionError(f"flag {key!r} changed inside a transaction")
    return change


def collect_flags(store: Store) -> dict[str, tuple[Flag, int]]:
    """Return the flags of an open store."""
    return {key: (_to_flag(document, store), version) for key, version, _, document in store.flags()}


def collect_changes(store: Store, key: str | None = None) -> tuple[FlagChange, ...]:
    """Return the changes of a flag, or of all flags, of an open store, the oldest first."""
    return tuple(_to_change(row, store) for row in store.flag_changes(key))


def _unknown(store: Store, key: str) -> InputError:
    keys = [name for name, *_ in store.flags()]
    return InputError(f"no flag {key!r}{did_you_mean(key, keys)}", source=store.place)


def _to_row(change: FlagChange) -> Row:
    before = None if change.before is None else _to_document(change.before)
    return (
        change.after.key, change.version, change.time, change.author, change.reason, before, _to_document(change.after),
    )  # fmt: skip


def _to_change(row: Row, store: Store) -> FlagChange:
    _, version, moment, author, reason, before, after = row
    return FlagChange(
        version=version,
        time=moment,
        author=author,
        reason=reason,
        before=None if before is None else _to_flag(before, store),
        after=_to_flag(after, store),
    )


def _to_document(flag: Flag) -> str:
    values = {name: getattr(flag, name) for name in _FIELDS}
    values |= {name: dict(values[name]) for name in ("variants", "overrides")}
    return msgspec.json.encode(values).decode()


def _to_flag(document: str, store: Store) -> Flag:
    try:
        values = msgspec.json.decode(document, type=dict[str, Any])
        return Flag(**values)
    except (msgspec.MsgspecError, TypeError, AttributeError, UsageError) as error:
        hint = "restore the store from a backup, or set the flag again with the karat that wrote it"
        raise InputError(f"a flag cannot be read: {error}", source=store.place, hint=hint) from None
