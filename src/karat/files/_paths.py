"""Paths as people read them."""

from __future__ import annotations

import os
import re
from pathlib import Path

_SEP = re.escape(os.sep)
_BEGINS, _ENDS = rf"(?<![\w.~{_SEP}-])", rf"(?![\w{_SEP}-]|\.\w)"


def shorten_path(path: Path) -> Path:
    """Return a path as a user would type it here: relative to the current folder if it lies below it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def name_paths(text: str, folder: Path) -> str:
    """Return a text in which what is in a folder, or near it, is named as seen from there, and not where that is.

    >>> name_paths("/srv/hotel/golden/queries.jsonl, line 3: twice", Path("/srv/hotel"))
    'golden/queries.jsonl, line 3: twice'
    >>> name_paths("/srv/hotel: is not a golden set; nor is /srv/hotels/set.", Path("/srv/hotel"))
    'hotel: is not a golden set; nor is ../hotels/set.'
    """
    text = re.sub(f"{_BEGINS}{re.escape(str(folder))}{_SEP}", "", text)
    text = re.sub(f"{_BEGINS}{re.escape(str(folder))}{_ENDS}", lambda _: folder.name or ".", text)
    if folder.is_absolute():
        for place, above in enumerate(folder.parents[:-1], 1):
            up = (f"..{os.sep}" * place).replace("\\", r"\\")
            text = re.sub(f"{_BEGINS}{re.escape(str(above))}{_SEP}", up, text)
    return text
