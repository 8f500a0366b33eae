"""Runs as files: what is written is read, whatever a system put into it, and what is damaged is told."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat.core import GoldenSet, Hit, InputError, Place, Run, Span, SystemFailed, Trace
from karat.experiments import RunWriter, make_run, read_run_file
from karat.experiments._runfile import trace_record
from karat.systems import hits_of

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(), max_size=8)  # with halves of surrogate pairs
HITS = st.builds(
    Hit,
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8),
    NUMBERS,
    span=st.none() | st.builds(Span, st.integers(0, 99), st.integers(0, 99)),
    content=TEXTS,
    section=TEXTS,
    channels=st.dictionaries(TEXTS, st.builds(Place, st.integers(), NUMBERS), max_size=2),
    stages=st.dictionaries(TEXTS, NUMBERS, max_size=2),
)
TRACES = st.builds(
    Trace, query=TEXTS, text=TEXTS, hits=st.lists(HITS, max_size=3).map(tuple), error=TEXTS,
    timings=st.dictionaries(TEXTS, NUMBERS, max_size=2), paraphrase=st.integers(0, 3), repeat=st.integers(0, 3),
)  # fmt: skip
EMPTY = Run(name="r", golden={}, system={}, fingerprint="")


@settings(max_examples=60, deadline=None)
@given(st.lists(TRACES, max_size=4, unique_by=lambda trace: (trace.query, trace.paraphrase, trace.repeat)))
def test_what_is_written_is_what_is_read(tmp_path_factory: pytest.TempPathFactory, traces: list[Trace]) -> None:
    """Any text, also such as no file could hold, and any number come back as they were."""
    path = tmp_path_factory.mktemp("run") / "run.jsonl"
    with RunWriter(path, EMPTY) as writer:
        for trace in traces:
            writer.write(trace)
    assert list(read_run_file(path).traces) == traces


def test_a_damaged_run_file_is_read_or_refused(tmp_path: Path, letters: GoldenSet) -> None:
    """Never anything but a run or one clear message, whatever byte is changed, lost or doubled."""
    path = tmp_path / "run.jsonl"
    hit = {"id": "a:chunk:1", "score": 0.5, "span": [1, 2], "channels": {"x": [1, 0.5]}, "stages": {"y": 0.1}}
    make_run(letters, lambda query, k: [hit], output=path)
    data, draw, refused = path.read_bytes(), random.Random(7), 0
    for _ in range(600):
        at, width = draw.randrange(len(data)), draw.choice((0, 1, 1, 1, 9))
        new = draw.choice((b"", b"0", b"-", b'"', b"{", b"[]", b"null", b"true", b"1e999", b"\n", b"\xff", b"\\ud800"))
        path.write_bytes(data[:at] + new + data[at + width :])
        try:
            assert isinstance(read_run_file(path), Run)
        except InputError:
            refused += 1
    assert refused > 300


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("golden", 5, "the header has 'golden' as 5"),
        ("versions", None, "the header has 'versions' as None"),
        ("settings", {"k": "ten"}, "the header has k as 'ten'"),
        ("name", ..., "the header lacks 'name'"),
    ],
)
def test_a_header_that_lacks_something(
    tmp_path: Path, letters: GoldenSet, key: str, value: object, message: str
) -> None:
    """It is told with the key."""
    path = tmp_path / "run.jsonl"
    make_run(letters, lambda query, k: [query[0]], output=path)
    first, rest = path.read_text().split("\n", 1)
    head = {
        name: value if name == key else old for name, old in json.loads(first).items() if name != key or value != ...
    }
    path.write_text(json.dumps(head) + "\n" + rest)
    with pytest.raises(InputError, match=message):
        read_run_file(path)


def test_a_query_that_is_answered_twice(tmp_path: Path, letters: GoldenSet) -> None:
    """One of the answers would be lost without a word."""
    path = tmp_path / "run.jsonl"
    make_run(letters, lambda query, k: [query[0]], output=path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:3], lines[1], *lines[3:]]))
    with pytest.raises(InputError, match="line 4: query 'qa' is answered twice"):
        read_run_file(path)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.binary(max_size=3) | HITS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(
            st.sampled_from(
                ["id", "score", "document", "span", "channels", "stages", "content", "tenant", "type", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(ANYTHING)
def test_any_answer_is_hits_that_can_be_kept_or_a_failure(answer: object) -> None:
    """What is taken can be written and read; everything else is the system's failure, and no other error."""
    try:
        hits = hits_of(answer, 5, "acme")
    except SystemFailed:
        return
    record = trace_record(Trace(query="q", text="t", hits=hits))
    assert json.loads(json.dumps(record, allow_nan=False)) == record
