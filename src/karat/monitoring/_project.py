"""The project of a watch: its limits, and its golden set if it has one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from karat.config import OnlineConfig, read_config
from karat.core import InputError
from karat.projects import Project, open_project


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """How live traffic is watched."""

    config: OnlineConfig
    project: Project | None = None
    """None if there is no golden set."""
    note: str = ""


def open_watched(folder: str | os.PathLike[str] | None = None) -> Watched:
    """Return the limits of a folder's karat.toml, and its golden set; the defaults without a folder.

    A karat.toml without a table ``[golden]`` may be without a golden set, too: then there is a note.
    """
    if folder is None:
        return Watched(config=OnlineConfig())
    config = read_config(Path(folder))
    try:
        return Watched(config=config.online, project=open_project(Path(folder)))
    except InputError as error:
        if config.golden != Path(folder) or not (Path(folder) / "karat.toml").is_file():
            raise
        return Watched(config=config.online, note=f"there is no golden set in {folder}: {error.what}")
