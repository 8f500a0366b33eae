"""Delta-S by hand: vectors whose cosines are plain numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from each import each
from karat import score_hits
from karat.core import Citation, Document, GoldenSet, Hit, Query, Span, Target, Trace

VECTORS = {
    "Pool?": (1.0, 0.0),
    "near": (0.8, 0.6),  # 0.2 from the question
    "far": (0.0, 1.0),  # 1.0 from it, 0.4 from "near", and 0 from the anchor
    "away": (-3.0, 4.0),  # of length 5: 1.6 from the question, 0.2 from "far"
    "opposite": (-1.0, 0.0),
    "nothing": (0.0, 0.0),
    "far\n\nnear": (0.6, 0.8),
}
QUERY = Query(id="q", text="Pool?", anchors=(Target(document="guide", span=Span(0, 3)),))
GOLDEN = GoldenSet(documents=(Document(id="guide", text="far\n\nnear"),), queries=(QUERY,))
HITS = tuple(Hit(name, 1.0, content=name) for name in ("near", "far", "away"))
TRACE = Trace(query="q", text="Pool?", hits=HITS)
LOGGED = replace(TRACE, telemetry={"ΔS": [0.31, 0.59, 0.7]})


def embed(texts: Sequence[str]) -> Any:
    return np.array([VECTORS[text] for text in texts])


def value(trace: Trace, measure: str, golden: GoldenSet = GOLDEN, **options: Any) -> float | str | None:
    """Return the value of a measure, or the reason why there is none."""
    options = {"embed": embed, **options}
    scores = score_hits(golden, {"q": trace.hits}, [measure], traces={"q": trace}, **options)
    (name,) = scores.measures
    number = scores.value("q", name)
    return scores.reason("q", name) if number is None else number


def cite(*citations: Citation, **fields: Any) -> Trace:
    return replace(TRACE, answer="At noon.", citations=citations, **fields)


@each(
    ("trace", "measure", "expected"),
    [
        (TRACE, "DeltaS@1", 0.2),
        (TRACE, "DeltaS@2", 0.6),  # between 0.2 and 1.0
        (TRACE, "DeltaS@3", 1.0),
        (TRACE, "DeltaS(stat='mean')@3", 2.8 / 3),
        (TRACE, "DeltaS(stat='max')@3", 1.6),
        (TRACE, "DeltaS(stat='p90')@3", 1.0 + 0.8 * 0.6),
        (TRACE, "DeltaS(to='anchor')@1", 0.4),
        (TRACE, "DeltaS(to='anchor',stat='max')@3", 0.4),  # 0.4, 0 and 0.2
        (TRACE, "DeltaS(to='both')@3", 1.0),  # 0.4, 1.0 and 1.6: the larger one of each
        (replace(TRACE, hits=(Hit("x", 1.0, content="opposite"),)), "DeltaS@5", 2.0),
        (replace(TRACE, hits=(Hit("x", 1.0, content="Pool?"),)), "DeltaS@5", 0.0),
        (replace(TRACE, hits=(Hit("guide", 1.0),)), "DeltaS@5", 0.4),  # the text of the document
        (replace(TRACE, hits=(Hit("c", 1.0, document="guide", span=Span(5, 9)),)), "DeltaS@5", 0.2),
        (replace(TRACE, hits=(Hit("x", 1.0), *HITS)), "DeltaS@5", "the text is not known"),
        (replace(TRACE, hits=(Hit("x", 1.0, content="nothing"),)), "DeltaS@5", "the text is not known"),
        (replace(TRACE, hits=()), "DeltaS@5", "nothing retrieved"),
        (LOGGED, "DeltaS(logged=True)@2", 0.45),
        (LOGGED, "DeltaS(logged=True,stat='max')@2", 0.59),
        (TRACE, "DeltaS(logged=True)@2", "no delta-S was logged"),
        (replace(LOGGED, telemetry={"ΔS": [0.31]}), "DeltaS(logged=True)@1", "no delta-S was logged"),
        (replace(LOGGED, telemetry={"ΔS": [0.3, "x", 0.1]}), "DeltaS(logged=True)@2", "no delta-S was logged"),
        (replace(LOGGED, telemetry={"ΔS": [0.3, True, -1]}), "DeltaS(logged=True)@3", "no delta-S was logged"),
    ],
)
def test_results(trace: Trace, measure: str, expected: float | str) -> None:
    """The distance of the top k: a share of it would be better than the truth, so that all texts have to be known."""
    assert value(trace, measure) == (expected if isinstance(expected, str) else pytest.approx(expected, abs=1e-9))


@each(
    ("trace", "measure", "expected"),
    [
        (cite(Citation("near")), "CiteDeltaS", 0.2),
        (cite(Citation("near"), Citation("far")), "CiteDeltaS", 1.0),  # the farthest citation
        (cite(Citation("near"), Citation("far")), "CiteDeltaS(first=True)", 0.2),
        (cite(Citation("guide", span=Span(5, 9))), "CiteDeltaS", 0.2),
        (cite(Citation("guide", span=Span(5, 9))), "CiteDeltaS(to='both')", 0.4),
        (cite(Citation("unknown")), "CiteDeltaS", "the text is not known"),
        (cite(), "CiteDeltaS", "the answer cites nothing"),
        (replace(TRACE, refused=True), "CiteDeltaS", "the answer was refused"),
        (Trace(query="q", text="Pool?", error="timed out"), "CiteDeltaS", "nothing retrieved"),
        (TRACE, "CiteDeltaS", "no answer recorded"),
        (cite(Citation("far"), telemetry=LOGGED.telemetry), "CiteDeltaS(logged=True)", 0.59),
        (cite(Citation("guide"), telemetry=LOGGED.telemetry), "CiteDeltaS(logged=True)", "no delta-S was logged"),
    ],
)
def test_citations(trace: Trace, measure: str, expected: float | str) -> None:
    """The farthest citation of an answer counts, so that one more citation never makes it better."""
    assert value(trace, measure) == (expected if isinstance(expected, str) else pytest.approx(expected, abs=1e-9))


def test_what_is_missing_is_named() -> None:
    """Without an embedder, or an anchor, there is no number."""
    bare = replace(GOLDEN, queries=(Query(id="q", text="Pool?"),))
    assert value(TRACE, "DeltaS@3", embed=None) == "no embedder"
    assert value(TRACE, "DeltaS(to='anchor')@3", bare) == "no anchor in the golden set"
    lost = replace(GOLDEN, queries=(replace(QUERY, anchors=(Target(document="gone", span=Span(0, 3)),)),))
    assert value(TRACE, "DeltaS(to='anchor')@3", lost) == "the text is not known"
