"""Answerers by the names that a configuration uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karat.core import UsageError, did_you_mean, shorten
from karat.systems._stages import build
from karat.systems.answer._answerer import Answerer
from karat.systems.answer._extractive import Extractive

_KINDS: Mapping[str, type[Any]] = {"extractive": Extractive}


def make_answerer(choice: bool | Mapping[str, Any]) -> Answerer | None:
    """Return the answerer of a table with ``kind`` and its options; None for false, the extractive one for true.

    >>> make_answerer({"kind": "extractive", "hits": 5}).hits
    5
    """
    if choice is False:
        return None
    options = {} if choice is True else dict(choice)
    kind = options.pop("kind", "extractive")
    if kind not in _KINDS:
        hint = did_you_mean(str(kind), _KINDS) or f"; known: {', '.join(_KINDS)}"
        raise UsageError(f"[pipeline.answer] kind = {shorten(kind)} is not an answerer{hint}")
    answerer: Answerer = build(_KINDS[kind], options, "pipeline.answer")
    return answerer
