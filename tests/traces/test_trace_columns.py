"""Traces read in columns are those that the decoder reads, or are left to it."""

from __future__ import annotations

import pickle
from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from each import each
from karat.core import Hit, Trace, TraceTable, list_hits, list_queries, map_hits, select_detailed
from karat.traces import encode_trace
from karat.traces._hit_columns import HitObjects
from karat.traces._trace_columns import decode_columns
from karat.traces._trace_rows import _decode_whole

IDS = st.text(st.sampled_from("abé漢 :{,"), min_size=1, max_size=12)
TEXTS = st.text(st.sampled_from('abé漢 :{}[],"\\\n\t/'), max_size=12)
SCORES = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-5, 20).map(float)
HITS = st.lists(st.builds(Hit, IDS, SCORES), max_size=4).map(tuple)
TIMES = st.floats(-10, 1e6)
TRACES = st.lists(st.tuples(TEXTS, IDS, HITS, TIMES, TIMES), min_size=1, max_size=5)  # text, digest, hits, two times
LINE = (
    b'{"query":"q1","text":"Is \\"it\\" free?","judged":"20f3","ms":{"total":1.5,"embed":0.25},'
    b'"hits":[{"id":"wifi","score":0.5},{"id":"b","score":2}]}'
)
LINES = b"\n".join([LINE, LINE.replace(b"q1", b"q2"), LINE.replace(b"q1", b"q3").replace(b"0.5", b"-1e-3")])


def read(data: bytes) -> TraceTable | None:
    return decode_columns(data, 0, len(data))


@given(rows=TRACES, has_digest=st.booleans(), stages=st.sampled_from([("total",), ("total", "embed"), ("é 1", "a")]))
def test_traces_are_read_as_they_were_written(
    rows: list[tuple[str, str, tuple[Hit, ...], float, float]], has_digest: bool, stages: tuple[str, ...]
) -> None:
    """In columns, unless an id has an escape or a text a rare one."""
    traces = tuple(
        Trace(query=f"é{n}", text=text, judged=f"-{judged}" * has_digest, hits=hits, timings=dict(zip(stages, times)))  # noqa: B905
        for n, (text, judged, hits, *times) in enumerate(rows)
    )
    data = b"\n".join(map(encode_trace, traces))
    table = read(data)
    assert table in (traces, None)
    written = "".join(trace.text + trace.judged for trace in traces)
    if not set(written) & set("\\") and all(hit.id == hit.document for trace in traces for hit in trace.hits):
        assert table is not None


CHANGES = st.tuples(
    st.integers(0, 460), st.binary(max_size=3) | st.sampled_from([b"\\", b'"', b"\n"]), st.integers(0, 3)
)


@given(changes=st.lists(CHANGES, min_size=1, max_size=3))
@example(changes=[(440, b"", 3)])
@example(changes=[(11, b"\\", 0)])
def test_damaged_lines_are_never_read_otherwise(changes: list[tuple[int, bytes, int]]) -> None:
    """A byte that is lost, added or changed anywhere gives what the decoder reads, or nothing."""
    data = LINES
    for place, new, lost in changes:
        data = data[:place] + new + data[place + lost :]
    table = read(data)
    if table is not None:
        assert table == _decode_whole(data, HitObjects())


@each(
    ("old", "new"),
    [
        (b'"query":"q2"', b'"query":"q1"'),  # twice
        (b'"query":"q2"', b'"query":"q\\"2"'),
        (b'"query":"q2"', b'"query":""'),
        (b'"embed":0.25', b'"embed":0.25,"rerank":1'),
        (b'"embed":0.25', b'"total":0.25'),
        (b'"embed":0.25', b'"embed":1e16'),
        (b'"embed":0.25', b'"embed":"1"'),
        (b'"judged":"20f3",', b""),
        (b"free", b"fr\\u0065e"),
        (b"free", b"fr\\\\ee"),
        (b"free", b"\xff"),
        (b'"hits":', b'"error":"late","hits":'),
        (b'"text":', b'"paraphrase":1,"text":'),
        (b"}]}", b'}],"answer":"yes"}'),
        (b"{", b" {"),
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_unusual_is_left_to_the_decoder(old: bytes, new: bytes) -> None:
    first, second, third = LINES.split(b"\n")
    changed = second.replace(old, new, 1)
    assert read(LINES) is not None
    assert changed != second
    assert read(b"\n".join([first, changed, third])) is None


def test_a_table_is_the_sequence_of_its_traces() -> None:
    """Its columns are those of its objects, which are made once; a copy is a plain tuple."""
    table = read(LINES)
    assert table is not None
    assert "objects" not in vars(table)
    assert list_queries(table) == ("q1", "q2", "q3")
    assert list(table.texts) == table.texts[:] == ['Is "it" free?'] * 3
    assert table.timings["total"].tolist() == [1.5, 1.5, 1.5]
    assert select_detailed(table) == ()
    assert list(map_hits(table.by_query)) == list(table.by_query)
    assert [(trace.query, trace.judged, dict(trace.timings)) for trace in table.take({"q3", "q0"})] == [
        ("q3", "20f3", {"total": 1.5, "embed": 0.25})
    ]
    assert "objects" not in vars(table)
    assert table.by_query["q2"] is table[1]
    assert table.take({"q3", "q0"})[0] is table[2]  # they are there now, and not made again
    assert "q4" not in table.by_query
    assert [trace.listed for trace in table] == list(list_hits(table))
    assert table[1:] == tuple(table)[1:]
    objects = tuple(replace(trace) for trace in table)
    assert (list_queries(objects), select_detailed(objects)) == (["q1", "q2", "q3"], objects)
    assert table == objects
    assert repr(table) == repr(objects)
    assert pickle.loads(pickle.dumps(table)) == objects
