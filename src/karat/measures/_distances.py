"""Delta-S: how far the meaning of what was retrieved or cited is from that of the question.

The vectors are of an embedder of its own, whatever the system embeds with: no index measures itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from karat.core import Hit, Parameter, Target
from karat.measures._citations import FIRST, NO_ANCHORS
from karat.measures._cited import CITES_NOTHING, UNKNOWN_TEXT, explain_silence, is_answered, list_citations, part_of
from karat.measures._evidence import NOTHING, Case, trace_measure

NO_EMBEDDER = "no embedder"
_NOT_LOGGED = "no delta-S was logged"
_KEY = "ΔS"
_FARTHEST = 2.0
BANDS = {"stable": (0.0, 0.40), "transitional": (0.40, 0.60), "risk": (0.60, math.inf)}
"""Where each of blocks' bands begins, and below what it ends."""
_TO = Parameter(
    name="to",
    kind="str",
    default="question",
    help="what the distance is to; 'both' is the larger one",
    choices=("question", "anchor", "both"),
)
_STAT = Parameter(
    name="stat",
    kind="str",
    default="median",
    help="which of the distances of the top k counts",
    choices=("median", "mean", "p90", "max"),
)
_LOGGED = Parameter(
    name="logged", kind="bool", default=False, help="whether the distances that the system logged count, as they are"
)


@trace_measure(
    "DeltaS", _STAT, _TO, _LOGGED, aliases=("delta_s",), undefined=NO_EMBEDDER, higher_is_better=False, high=_FARTHEST
)
def delta_s(case: Case, k: int, *, stat: str, to: str, logged: bool) -> float | str:
    """Delta-S: how far the meaning of the top k results is from that of the question.

    Formula: DeltaS@k = median over the top k of 1 - cos(question, text of the result)
    Range: 0 to 2, lower is better; below 0.40 is stable, from 0.60 on a risk, and between them transitional
    Convention: by the embedder granite-embedding-30m-english, whatever the system embeds with; the text of a result is
        its content, or else that of its part of the golden set; the nearest anchor counts; percentiles are
        interpolated linearly; a question that failed has no value, and the worst one in the gate
    Citation: blocks, delta-S

    >>> import numpy as np
    >>> from karat.core import GoldenSet, Hit, Query, Trace
    >>> from karat import score_hits
    >>> def embed(texts): return np.array([{"pool?": (1.0, 0.0), "Pool.": (0.8, 0.6)}[text] for text in texts])
    >>> trace = Trace(query="q", text="pool?", hits=(Hit("pool", 1.0, content="Pool."),))
    >>> golden = GoldenSet(queries=(Query(id="q", text="pool?"),))
    >>> score_hits(golden, {"q": trace.hits}, ["DeltaS@5"], traces={"q": trace}, embed=embed).mean()
    {'DeltaS@5': 0.2}
    """
    hits = case.hits(k)
    if not hits:
        return NOTHING
    if logged:
        distances: Sequence[float] | str = _read_logged(case, hits)
    else:
        distances = _measure(case, [_read_text(case, part_of(hit), hit) for hit in hits], to)
    return distances if isinstance(distances, str) else _summarise(distances, stat)


@trace_measure(
    "CiteDeltaS", FIRST, _TO, _LOGGED, aliases=("cited_delta_s",), cutoff="none", undefined=NO_EMBEDDER,
    higher_is_better=False, high=_FARTHEST,
)  # fmt: skip
def cite_delta_s(case: Case, k: None, *, first: bool, to: str, logged: bool) -> float | str:
    """Delta-S of citations: how far the meaning of what the answer cites is from that of the question.

    Formula: CiteDeltaS = the largest 1 - cos(question, cited text)
    Range: 0 to 2, lower is better; below 0.40 is stable, from 0.60 on a risk, and between them transitional
    Convention: by the embedder granite-embedding-30m-english, whatever the system embeds with; over the questions that
        were answered with citations; a citation whose text is not known has no value, and the worst one in the gate,
        as a question that failed; ``first`` is the first citation, which blocks calls the chosen one
    Citation: blocks, delta-S of the cited snippet

    >>> import numpy as np
    >>> from karat.core import Citation, Document, GoldenSet, Query, Trace
    >>> from karat import score_hits
    >>> def embed(texts): return np.array([{"pool?": (1.0, 0.0), "Pool.": (0.8, 0.6)}[text] for text in texts])
    >>> golden = GoldenSet(documents=(Document(id="pool", text="Pool."),), queries=(Query(id="q", text="pool?"),))
    >>> trace = Trace(query="q", text="pool?", answer="Yes.", citations=(Citation("pool"),))
    >>> score_hits(golden, {"q": ()}, ["CiteDeltaS"], traces={"q": trace}, embed=embed).mean()
    {'CiteDeltaS': 0.2}
    """
    if not is_answered(case):
        return explain_silence(case)
    hits = {hit.id: hit for hit in reversed(case.trace.hits)}
    named = [hits.get(citation.id) for citation in case.trace.citations[: 1 if first else None]]
    if not named:
        return CITES_NOTHING
    if logged:
        distances: Sequence[float] | str = (
            _NOT_LOGGED if None in named else _read_logged(case, [hit for hit in named if hit is not None])
        )
    else:
        parts = zip(list_citations(case, first=first), named, strict=True)
        distances = _measure(case, [_read_text(case, part, hit) for part, hit in parts], to)
    return distances if isinstance(distances, str) else max(distances)


def _read_text(case: Case, part: Target, hit: Hit | None) -> str:
    """Return the text of a hit, or of what cites one: its content if it is the whole hit, or else that of the part."""
    if hit is not None and hit.content.strip() and part == part_of(hit):
        return hit.content.strip()
    return case.evidence.text(part)


def _measure(case: Case, texts: Sequence[str], to: str) -> list[float] | str:
    """Return the distance of each text, or why there is none: a mean of the others could be better than the truth."""
    if case.evidence.embed is None:
        return NO_EMBEDDER
    if to != "question" and not case.gold.anchors:
        return NO_ANCHORS
    question = (case.trace.text or case.gold.text).strip()
    if not question or not all(texts):
        return UNKNOWN_TEXT
    columns = [case.evidence.measure_distances(question, texts)] if to != "anchor" else []
    columns += [_measure_to_anchor(case, texts)] if to != "question" else []
    known = [distance for column in columns for distance in column if distance is not None]
    if len(known) < len(texts) * len(columns):
        return UNKNOWN_TEXT
    return [max(known[place :: len(texts)]) for place in range(len(texts))]


def _measure_to_anchor(case: Case, texts: Sequence[str]) -> list[float | None]:
    """Return the distance of each text to the nearest anchor; None if the text of no anchor is known."""
    anchors = filter(None, map(case.evidence.text, dict.fromkeys(case.gold.anchors)))
    columns = [case.evidence.measure_distances(anchor, texts) for anchor in anchors]
    known = [[distance for distance in row if distance is not None] for row in zip(*columns, strict=True)]
    return [min(row, default=None) for row in known] if columns else [None] * len(texts)


def _read_logged(case: Case, hits: Sequence[Hit]) -> list[float] | str:
    """Return the distances that the system logged of some of its hits; they stand beside the hits, one for each."""
    logged: Any = case.trace.telemetry.get(_KEY)
    if not isinstance(logged, list | tuple) or len(logged) != len(case.trace.hits):
        return _NOT_LOGGED
    places = {hit.id: place for place, hit in reversed(list(enumerate(case.trace.hits)))}
    distances = [logged[places[hit.id]] for hit in hits]
    if not all(_is_distance(distance) for distance in distances):
        return _NOT_LOGGED
    return list(map(float, distances))


def _is_distance(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _FARTHEST


def _summarise(distances: Sequence[float], stat: str) -> float:
    if stat == "mean":
        return math.fsum(distances) / len(distances)
    return interpolate(distances, {"median": 0.5, "p90": 0.9, "max": 1.0}[stat])


def count_bands(distances: Iterable[float]) -> dict[str, int]:
    """Return how many distances are in each of blocks' bands.

    >>> count_bands([0.1, 0.39, 0.4, 0.6])
    {'stable': 2, 'transitional': 1, 'risk': 1}
    """
    values = list(distances)
    return {name: sum(low <= value < high for value in values) for name, (low, high) in BANDS.items()}


def interpolate(values: Sequence[float], share: float) -> float:
    """Return a quantile, interpolated linearly between the two nearest ranks.

    >>> interpolate([0.1, 0.2, 0.4], 0.5), round(interpolate([0.1, 0.2, 0.4], 0.9), 4)
    (0.2, 0.36)
    """
    ranked = sorted(values)
    place = share * (len(ranked) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ranked) - 1)
    return ranked[low] + (ranked[high] - ranked[low]) * (place - low)
