"""Hits read in columns are those that the decoder reads, or are left to it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from each import each
from karat.core import Hit, Trace
from karat.traces import encode_trace, read_trace
from karat.traces._hit_columns import HitColumns, HitObjects
from karat.traces._trace_rows import _decode_whole

IDS = st.text(st.sampled_from('abé漢 :{}[],"\\\n\x01'), max_size=12)
SCORES = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-5, 20).map(float)
HITS = st.lists(st.builds(Hit, IDS, SCORES), max_size=4).map(tuple)
TRACES = st.lists(st.builds(Trace, query=IDS, text=IDS, hits=HITS, timings=st.just({"total": 1.5})), max_size=5)
LINE = (
    b'{"query":"q1","text":"Is there wifi?","ms":{"total":1.5},"hits":[{"id":"wifi","score":0.5},{"id":"b","score":2}]}'
)


def read(line: bytes) -> Trace:
    return read_trace(json.loads(line), "run.jsonl")


@given(traces=TRACES)
def test_traces_are_read_as_they_were_written(traces: list[Trace]) -> None:
    """In columns if no id has an escape, and by the decoder if each hit is that of a whole document."""
    lines = [encode_trace(trace) for trace in traces]
    data = b"\n".join(lines)
    columns, objects = _decode_whole(data, HitColumns()), _decode_whole(data, HitObjects())
    assert objects in (tuple(traces), None)
    assert (objects is None) == (b"\\u" in data)
    assert columns in (tuple(traces), None)
    ids = "".join(hit.id for trace in traces for hit in trace.hits)
    are_plain = all(hit.id and hit.document == hit.id for trace in traces for hit in trace.hits)
    if are_plain and not set(ids) & set("[]}") and b"\\" not in data:
        assert columns == tuple(traces)


CHANGES = st.tuples(st.integers(0, 280), st.binary(max_size=3), st.integers(0, 3))


@given(changes=st.lists(CHANGES, min_size=1, max_size=3))
@example(changes=[(77, b"[", 0), (110, b"]", 0)])
def test_damaged_lines_are_never_read_otherwise(changes: list[tuple[int, bytes, int]]) -> None:
    """A byte that is lost, added or changed anywhere gives what the decoder reads, or nothing."""
    data = b"\n".join([LINE, LINE.replace(b"q1", b"q2"), LINE.replace(b"0.5", b"-1e-3")])
    for place, new, lost in changes:
        data = data[:place] + new + data[place + lost :]
    columns = _decode_whole(data, HitColumns())
    if columns is not None:
        assert columns == _decode_whole(data, HitObjects())


@each(
    ("old", "new"),
    [
        (b'[{"id":"wifi","score":0.5},{"id":"b","score":2}]', b'{"id":"wifi","score":0.5}'),
        (b'[{"id":"wifi","score":0.5},', b'[[{"id":"wifi","score":0.5}],'),
        (b'"score":0.5', b'"score":true'),
        (b'"score":0.5', b'"score":1,"score":0.5'),
        (b'"score":0.5', b'"score":0.5,"document":"wifi"'),
        (b'"score":0.5', b'"score":[0.5]'),
        (b"}]}", b"},1]}"),
        (b"wifi", b"\xff"),
        (b"wifi", b""),
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_unusual_is_left_to_the_decoder(old: bytes, new: bytes) -> None:
    line = LINE.replace(old, new)
    assert line != LINE
    assert _decode_whole(b"\n".join([LINE, line, LINE]), HitColumns()) is None


def test_lists_without_hits_and_with_documents() -> None:
    """By hand: an empty list among others, and hits that name the documents that they are parts of."""
    empty = b'{"query":"q","text":"?","ms":{},"hits":[]}'
    traces = _decode_whole(b"\n".join([empty, LINE, empty]), HitColumns())
    assert traces == (read(empty), read(LINE), read(empty))
    named = LINE.replace(b'"score":2', b'"score":2,"document":"wifi"')
    other: Any = _decode_whole(b"\n".join([LINE, named]), HitObjects())
    assert [trace.listed.documents for trace in other] == [["wifi", "b"], ["wifi", "wifi"]]
    assert other == (read(LINE), read(named))
    twice = LINE.replace(b'"score":2', b'"score":2,"score":2')
    assert _decode_whole(twice, HitObjects()) is None
