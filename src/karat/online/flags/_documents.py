"""Flags as documents: what the command line prints."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from karat.online._times import format_time
from karat.online.flags._changes import FlagChange, change_flag, read_flag_history, read_flags
from karat.online.flags._flag import Flag
from karat.schema.trials import FlagChangeRow, FlagHistory, FlagList, FlagRow


def list_flags(path: str | os.PathLike[str] = "karat.db") -> FlagList:
    """Return the flags of a store, by key."""
    flags = tuple(_to_row(flag, version) for flag, version in read_flags(path).values())
    return FlagList(store=str(path), flags=flags)


def show_flag_history(path: str | os.PathLike[str] = "karat.db", key: str | None = None) -> FlagHistory:
    """Return the changes of a flag, or of all, the oldest first."""
    return FlagHistory(store=str(path), changes=tuple(map(_to_change_row, read_flag_history(path, key))))


def set_flag(
    path: str | os.PathLike[str],
    key: str,
    changes: Mapping[str, Any],
    *,
    author: str,
    reason: str,
    expected: int | None = None,
) -> FlagChangeRow:
    """Change a flag by :func:`change_flag`; return what it was and what it is now."""
    change = change_flag(path, key, changes, author=author, reason=reason, expected=expected)
    if change is not None:
        return _to_change_row(change)
    flag, version = read_flags(path)[key]
    row = _to_row(flag, version)
    return FlagChangeRow(key=key, changed=False, time=None, author=author, reason=reason, before=row, after=row)


def _to_row(flag: Flag, version: int) -> FlagRow:
    return FlagRow(
        key=flag.key,
        percent=flag.percent,
        variants=dict(flag.variants),
        overrides=dict(flag.overrides),
        enabled=flag.enabled,
        shadow_percent=flag.shadow_percent,
        salt=flag.salt,
        version=version,
    )


def _to_change_row(change: FlagChange) -> FlagChangeRow:
    return FlagChangeRow(
        key=change.after.key,
        changed=True,
        time=format_time(change.time),
        author=change.author,
        reason=change.reason,
        before=None if change.before is None else _to_row(change.before, change.version - 1),
        after=_to_row(change.after, change.version),
    )
