"""Flags: which units get a feature, in what share, and who changed that."""

from karat.online.flags._changes import (
    FlagChange,
    FlagConflict,
    change_flag,
    change_flag_in,
    collect_changes,
    collect_flags,
    read_flag_history,
    read_flags,
)
from karat.online.flags._dealing import list_new_deals
from karat.online.flags._documents import list_flags, set_flag, show_flag_history
from karat.online.flags._flag import CONTROL, Flag
from karat.online.flags._live import EVERY, LiveFlags
from karat.online.flags._murmur import BUCKETS, find_bucket, murmur3_32

__all__ = [
    "BUCKETS",
    "CONTROL",
    "EVERY",
    "Flag",
    "FlagChange",
    "FlagConflict",
    "LiveFlags",
    "change_flag",
    "change_flag_in",
    "collect_changes",
    "collect_flags",
    "find_bucket",
    "list_flags",
    "list_new_deals",
    "murmur3_32",
    "read_flag_history",
    "read_flags",
    "set_flag",
    "show_flag_history",
]
