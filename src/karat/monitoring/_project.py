"""The project of a watch: its limits, and its golden set if it has one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from karat.config import OnlineConfig, read_config
from karat.core import InputError
from karat.projects import Project, open_project

_BY_GOLDEN = ("coverage", "citation", "delta_s_p90", "delta_s_median", "divergent")
"""The alerts that a golden set may measure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """How live traffic is watched."""

    config: OnlineConfig
    project: Project | None = None
    """None if there is no golden set."""
    note: str = ""


def open_watched(folder: str | os.PathLike[str] | None = None) -> Watched:
    """Return the limits of a folder's karat.toml, and its golden set; the defaults without a folder.

    A karat.toml without a table ``[golden]`` may be without a golden set, too: there is a note if an alert needs one.
    """
    if folder is None:
        return Watched(config=OnlineConfig())
    config = read_config(Path(folder))
    try:
        return Watched(config=config.online, project=open_project(Path(folder)))
    except InputError as error:
        if config.golden != Path(folder) or not (Path(folder) / "karat.toml").is_file():
            raise
        needed = any(limit.on for name, limit in config.online.alerts.items() if name in _BY_GOLDEN)
        note = f"{folder} has no golden set that karat can read ({error.what}): what needs one is not measured"
        return Watched(config=config.online, note=note if needed else "")
