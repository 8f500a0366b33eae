"""A store for each test."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The store of a log."""
    return tmp_path / "karat.db"
