"""Paths as people read them."""

from __future__ import annotations

from pathlib import Path


def shorten_path(path: Path) -> Path:
    """Return a path as a user would type it here: relative to the current folder if it lies below it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
