"""A log that keeps ids as they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dialects import dialect as dialect
from dialects import pytest_generate_tests as pytest_generate_tests
from karat import online
from karat.online import Log


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The store of a log."""
    return tmp_path / "karat.db"


@pytest.fixture
def log(path: Path) -> Iterator[Log]:
    """A log of that store."""
    with online.open(path, keep_ids=True) as log:
        yield log
