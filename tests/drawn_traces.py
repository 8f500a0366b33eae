"""Traces of every shape that a run file holds, for hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from karat.core import Citation, Context, Hit, Place, Span, Stage, Trace

TEXTS = st.text(st.characters(codec="utf-8"), max_size=6)
WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)
IDS = (
    st.sampled_from(["wifi", "pool", "wifi:chunk:3", "17", "7.5", "true", "null", "Größe", '"', "a b", "\x1b[31m"])
    | WORDS
)
NUMBERS = st.floats(-1e6, 1e6, allow_nan=False) | st.integers(-9, 9).map(float)
TIMES = st.floats(0, 1e6, allow_nan=False)
NAMES = st.sampled_from(["candidate", "fusion", "rerank", "filter", "final-rank"])
CHANNELS = st.sampled_from(["dense", "bm25", "a.b"])
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
TABLES = st.dictionaries(WORDS, JSON, max_size=3)
SPANS = st.none() | st.builds(lambda start, size: Span(start, start + size), st.integers(0, 999), st.integers(0, 999))


def hits(ids: st.SearchStrategy[str] = IDS) -> st.SearchStrategy[Hit]:
    """A hit with some of its fields."""
    return st.builds(
        Hit,
        ids,
        NUMBERS,
        st.just("") | ids,
        SPANS,
        section=st.just("") | WORDS,
        block=st.just("") | WORDS,
        type=st.sampled_from(["", "prose", "code"]),
        content=TEXTS,
        channels=st.dictionaries(CHANNELS, st.builds(Place, st.integers(0, 99), NUMBERS), max_size=2),
        stages=st.dictionaries(NAMES, NUMBERS, max_size=2),
        source_hash=TEXTS,
        tenant=TEXTS,
        locator=TEXTS,
    )


HITS = st.lists(st.builds(Hit, IDS, NUMBERS) | hits(), max_size=3).map(tuple)
COUNTS = st.none() | st.integers(0, 50)
STAGES = st.builds(
    Stage,
    name=NAMES,
    channel=st.just("") | CHANNELS,
    inputs=COUNTS,
    outputs=COUNTS,
    milliseconds=st.none() | TIMES,
    hits=HITS,
)
CONTEXTS = st.builds(
    Context,
    session=TEXTS,
    turn=st.integers(0, 9),
    time=TEXTS,
    tenant=TEXTS,
    documents=st.lists(IDS, max_size=2).map(tuple),
    metadata=TABLES,
)
CITATIONS = st.builds(Citation, IDS, st.just("") | IDS, SPANS, section=TEXTS, block=TEXTS)
KNOWN_TELEMETRY = {
    "ΔS": st.lists(NUMBERS, max_size=3),
    "λ_state": st.sampled_from(["→", "←", "<>"]),
    "anchor": WORDS,
    "selectedMode": WORDS,
    "fallbackTriggered": st.booleans(),
    "resultCount": st.integers(0, 9),
}
KNOWN_ENVELOPE = {
    "schema_version": WORDS,
    "event": st.just("retrieve.run"),
    "ts": WORDS,
    "trace_id": st.text("0123456789abcdef", min_size=32, max_size=32) | WORDS,
    "traceId": WORDS,
    "agent_id": WORDS,
    "mem_rev": WORDS,
    "mem_hash": WORDS,
    "index_hash": st.just("faiss:v3"),
}


def _mixed(known: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda some, other: {**other, **some}, st.fixed_dictionaries({}, optional=known), TABLES)


@st.composite
def traces(draw: st.DrawFn, query: str = "q1") -> Trace:
    """A trace of a query; one that failed has no hits."""
    error = draw(st.just("") | WORDS)
    return Trace(
        query=query,
        text=draw(TEXTS),
        hits=() if error else draw(HITS),
        timings=draw(
            st.dictionaries(st.sampled_from(["total", "candidate", "rerank", "embed"]) | TEXTS, TIMES, max_size=3)
        ),
        error=error,
        judged=draw(TEXTS),
        stages=draw(st.lists(STAGES, max_size=3).map(tuple)),
        context=draw(st.just(Context()) | CONTEXTS),
        answer=draw(TEXTS),
        refused=draw(st.booleans()),
        citations=draw(st.lists(CITATIONS, max_size=2).map(tuple)),
        telemetry=draw(_mixed(KNOWN_TELEMETRY)),
        envelope=draw(_mixed(KNOWN_ENVELOPE)),
    )
