"""A store for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from dialects import dialect as dialect
from dialects import pytest_generate_tests as pytest_generate_tests


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The store of a log."""
    return tmp_path / "karat.db"
