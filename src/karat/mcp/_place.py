"""Where a call takes place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The project of a call, who calls, and where notes and progress go."""

    folder: Path
    agent: str
    say: Callable[[str], None]
    progress: Callable[..., None]
