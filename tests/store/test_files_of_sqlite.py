"""What lies beside a store: the page of the log says what may be copied, and when."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from each import each
from karat import online
from karat.core import InputError, SystemFailed
from karat.feedback import report_clicks, report_log
from karat.online.flags import change_flag, read_flags
from karat.store import open_store


def test_a_store_that_is_open_is_copied_with_its_wal(tmp_path: Path) -> None:
    """Alone it lacks what was committed last; with -wal it has all, and -shm is made anew. Closed, it stands alone."""
    path = tmp_path / "karat.db"
    change_flag(path, "first", {"percent": 5}, author="ada", reason="test")
    with open_store(path):  # somebody reads all the time
        change_flag(path, "second", {"percent": 5}, author="ada", reason="test")
        alone, whole = tmp_path / "alone.db", tmp_path / "whole.db"
        shutil.copy(path, alone)
        shutil.copy(path, whole)
        shutil.copy(f"{path}-wal", f"{whole}-wal")
    assert set(read_flags(alone)) == {"first"}
    assert set(read_flags(whole)) == {"first", "second"}
    open_store(path, write=True).close()
    assert not Path(f"{path}-wal").exists()
    assert set(read_flags(path)) == {"first", "second"}


def test_a_folder_without_rights_is_told(tmp_path: Path) -> None:
    """SQLite writes beside a store also to read it: the message says so, and does not ask about the disk."""
    path = tmp_path / "karat.db"
    open_store(path, write=True).close()
    message = "get the right to write in its folder"
    with open_store(path) as store, pytest.raises(SystemFailed, match=message), store.transaction():
        store.remove_position("x")


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    """It is there, and is not called missing."""
    with pytest.raises(InputError, match="is a folder, and a store is a file"):
        open_store(tmp_path)


@each("path", [None, 5, 1.5, b"karat.db", [], "a\0b", "\ud800", "a" * 5000])
@each(
    "use",
    [open_store, online.open, online.ingest, online.check_health, online.read_log, online.has_log, online.is_export,
     online.check_store, online.migrate_store, online.describe_missing,
     read_flags, report_log, report_clicks],
)  # fmt: skip
def test_what_can_be_no_path_is_refused(use: Callable[[Any], object], path: Any) -> None:
    """By one message in whatever takes a store, and not by an error of Python from somewhere inside."""
    with pytest.raises(InputError, match="is not a usable path"):
        use(path)
