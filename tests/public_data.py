"""Public collections, which are not in the repository. Tests that read them have the marker ``public_data``.

The environment variable ``KARAT_DATA`` names their folder; without it, it is ``../shared/data`` beside the repository.
If a collection is missing, its tests are skipped and say what is UNTESTED. ``docs/public-data.md`` says where to get
it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("KARAT_DATA") or ROOT.parent / "shared" / "data").absolute()


def skip_without(path: Path, untested: str) -> pytest.MarkDecorator:
    """Return a mark that skips tests if a collection is missing, and says what is not tested then."""
    return pytest.mark.skipif(not path.exists(), reason=explain_missing(path, untested))


def explain_missing(path: Path, untested: str) -> str:
    """Return why a test is skipped, and what to do about it."""
    return f"UNTESTED: {untested}; {path} is missing: set KARAT_DATA, see docs/public-data.md"
