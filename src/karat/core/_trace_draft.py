"""Making very many traces, as :mod:`karat.core._drafts` makes hits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karat.core._hit import Hit
from karat.core._trace import Trace

_NOTHING: Any = Trace(query="", text="")


class _TraceDraft:
    __slots__ = Trace.__slots__


def make_trace(
    query: str, text: str, hits: Sequence[Hit], timings: Mapping[str, float], error: str = "", judged: str = ""
) -> Trace:
    """Return ``Trace(query=query, text=text, ...)``, in a fifth of the time.

    >>> make_trace("q", "?", (), {"total": 1.5}) == Trace(query="q", text="?", timings={"total": 1.5})
    True
    """
    draft: Any = _TraceDraft()
    draft.query = query
    draft.text = text
    draft.hits = hits
    draft.timings = timings
    draft.error = error
    draft.judged = judged
    draft.paraphrase = draft.repeat = 0
    draft.stages = draft.citations = ()
    draft.answer = ""
    draft.refused = False
    draft.context = _NOTHING.context
    draft.opinions = _NOTHING.opinions
    draft.telemetry = _NOTHING.telemetry
    draft.envelope = _NOTHING.envelope
    draft.__class__ = Trace
    trace: Trace = draft
    return trace
