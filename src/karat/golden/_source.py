"""Where a golden set is: a set of its own, or the one that a project names."""

from __future__ import annotations

from pathlib import Path

from karat.config import Config, find_configured, read_config
from karat.core import GoldenSet
from karat.files import shorten_path
from karat.golden._format import Unrecognised, read


def open_set(
    source: str | Path | Config, format: str | None = None, *, documents: str | Path | None = None
) -> GoldenSet:
    """Read a golden set, or that of a project.

    A project is a folder with karat.toml, or with ``[tool.karat]`` in pyproject.toml, whose table ``[golden]`` names
    the set, its format and its documents. ``format`` and ``documents`` win over what the project says. Any other path
    is read as a set of its own, as :func:`read` does: that of a project has no documents then if they are elsewhere.
    """
    config = source if isinstance(source, Config) else read_config(Path(source))
    try:
        return read(
            config.golden,
            format or config.golden_format,
            documents=documents or config.documents,
            front_matter=config.front_matter,
            relevant=config.relevant,
        )
    except Unrecognised as error:
        project = find_configured(config.folder)
        if project is None:
            raise
        hint = f"there is no karat.toml in it; name the project, {shorten_path(project)}"
        raise Unrecognised(error.what, source=error.source, hint=hint) from None
