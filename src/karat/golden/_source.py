"""Where a golden set is: a set of its own, or the one that a project names."""

from __future__ import annotations

from pathlib import Path

from karat.config import Config, read_config
from karat.core import GoldenSet
from karat.golden._format import read


def open_set(
    source: str | Path | Config, format: str | None = None, *, documents: str | Path | None = None
) -> GoldenSet:
    """Read a golden set, or that of a project.

    A project is a folder with karat.toml, or with ``[tool.karat]`` in pyproject.toml, whose table ``[golden]`` names
    the set, its format and its documents. ``format`` and ``documents`` win over what the project says. Any other path
    is read as a set of its own, as :func:`read` does: that of a project has no documents then if they are elsewhere.
    """
    config = source if isinstance(source, Config) else read_config(Path(source))
    return read(config.golden, format or config.golden_format, documents=documents or config.documents)
