"""Answerers by the names that a configuration uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from karat.core import UsageError, did_you_mean, shorten
from karat.systems._stages import build
from karat.systems.answer._answerer import Answerer
from karat.systems.answer._extractive import Extractive

KINDS = ("extractive", "model")
_OURS = ("cache", "say")
"""What is passed to an answerer, and is no key of the table."""


def make_answerer(
    choice: bool | Mapping[str, Any], *, cache: Path | None = None, say: Callable[[str], None] | None = None
) -> Answerer | None:
    """Return the answerer of a table with ``kind`` and its options; None for false, the extractive one for true.

    ``cache`` is a folder in which it may keep replies of a model, and ``say`` gets its notes.

    >>> make_answerer({"kind": "extractive", "hits": 5}).hits
    5
    """
    if choice is False:
        return None
    options = {} if choice is True else dict(choice)
    kind = options.pop("kind", "extractive")
    if kind not in KINDS:
        hint = did_you_mean(str(kind), KINDS) or f"; known: {', '.join(KINDS)}"
        raise UsageError(f"[pipeline.answer] kind = {shorten(kind)} is not an answerer{hint}")
    for name in _OURS:
        if name in options:
            raise UsageError(f"[pipeline.answer] has no key {name!r}")
    if kind == "extractive":
        return build(Extractive, options, "pipeline.answer")
    from karat.systems.answer._generating import Generating  # a client of models, which few pipelines need

    return build(Generating, options, "pipeline.answer", cache=cache, say=say)
