"""Files of spans that no tracing tool writes: each is one message, and no number that is none becomes a score."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest

from karat.core import GoldenSet, InputError, Query
from karat.runs._span_traces import read_span_file

GOLDEN = GoldenSet(queries=(Query(id="q", text="When?"),))


def span(attributes: dict[str, Any], **changes: Any) -> dict[str, Any]:
    kind = {"openinference.span.kind": "RETRIEVER", "input.value": "When?"}
    return {"name": "search", "context": {"trace_id": "t"}, "attributes": {**kind, **attributes}, **changes}


def document(number: str = "0", **fields: Any) -> dict[str, Any]:
    return {f"retrieval.documents.{number}.document.{key}": value for key, value in {"id": "pool", **fields}.items()}


HOSTILE: dict[str, dict[str, Any]] = {
    "a score that is not a number": span(document(score=float("nan"))),
    "an endless score": span(document(score=float("-inf"))),
    "a score that no float holds": span(document(score=10**400)),
    "half of a surrogate pair": span(document(id="\ud800")),
    "a place of thousands of digits": span(document("9" * 5000)),
    "a time before all times": span(document(), start_time="0001-01-01T00:00:00+23:00", end_time=7),
    "spans of texts": {"info": {}, "data": {"spans": ["a"]}},
    "times that no float holds": {"resourceSpans": [{"scopeSpans": [{"spans": [{"startTimeUnixNano": 10**400}]}]}]},
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_spans_are_one_message(kind: str) -> None:
    """It names the file, in one line that is not long."""
    with pytest.raises(InputError) as error:
        read_span_file(json.dumps(HOSTILE[kind]).encode(), "spans.json", GOLDEN)
    (line,) = error.value.lines
    assert line.startswith("spans.json")
    assert len(line) < 300


@pytest.mark.parametrize("depth", [100, 400, 900])
def test_spans_that_are_nested_deep_are_read_or_refused(depth: int) -> None:
    """What JSON can hold may be deeper than what is read; nothing but a message of karat's leaves."""
    deep: Any = 1
    for _ in range(depth):
        deep = {"a": deep}
    with suppress(InputError):
        run = read_span_file(json.dumps(span({**document(), "deep": deep})).encode(), "spans.json", GOLDEN)
        assert [hit.id for hit in run.traces[0].hits] == ["pool"]
