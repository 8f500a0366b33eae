"""Runs as files: what is written is read, whatever a system put into it, and what is damaged is told."""

from __future__ import annotations

import gzip
import json
import random
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from each import each
from karat.core import (
    Citation,
    Context,
    GoldenSet,
    Hit,
    InputError,
    Place,
    Provenance,
    Run,
    Span,
    Stage,
    SystemFailed,
    Trace,
)
from karat.measures import read_run
from karat.projects._project import run_path
from karat.runs import RunWriter, Settings, make_run, read_run_file
from karat.runs._making import describe_run
from karat.runs._runfile import make_header, read_begun
from karat.schema import LONGEST
from karat.systems import Retrieved, adapt, read_hits
from karat.traces import decode_traces, trace_record

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
TIMES = st.floats(-LONGEST, LONGEST)
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
FACTS = st.dictionaries(TEXTS, st.recursive(
    st.none() | st.booleans() | st.integers() | NUMBERS | TEXTS,
    lambda values: st.lists(values, max_size=2) | st.dictionaries(TEXTS, values, max_size=2), max_leaves=4,
), max_size=2)  # fmt: skip
STAGES = st.builds(
    Stage, name=TEXTS, channel=TEXTS, inputs=st.none() | st.integers(0, 9), outputs=st.none() | st.integers(0, 9),
    milliseconds=st.none() | TIMES, hits=st.lists(HITS, max_size=2).map(tuple),
)  # fmt: skip
CITATIONS = st.builds(
    Citation, st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8),
    span=st.none() | st.builds(Span, st.integers(0, 99), st.integers(0, 99)), section=TEXTS, block=TEXTS,
)  # fmt: skip
TRACES = st.builds(
    Trace, query=TEXTS, text=TEXTS, hits=st.lists(HITS, max_size=3).map(tuple), error=TEXTS,
    timings=st.dictionaries(TEXTS, TIMES, max_size=2), paraphrase=st.integers(0, 3), repeat=st.integers(0, 3),
    stages=st.lists(STAGES, max_size=2).map(tuple), citations=st.lists(CITATIONS, max_size=2).map(tuple),
    answer=TEXTS, refused=st.booleans(),
    context=st.builds(Context, session=TEXTS, turn=st.integers(0, 9), time=TEXTS, tenant=TEXTS, metadata=FACTS),
    telemetry=FACTS, envelope=FACTS,
).map(lambda trace: replace(trace, hits=()) if trace.error else trace)  # fmt: skip
EMPTY = Provenance(name="r")


@pytest.mark.slow
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
    stage = Stage(name="candidate", channel="x", inputs=9, outputs=1, milliseconds=0.5, hits=(Hit("a", 0.5),))
    make_run(letters, lambda query, k: Retrieved([hit], {}, stages=[stage], telemetry={"mode": "deep"}), output=path)
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


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(ANYTHING)
def test_any_answer_is_hits_that_can_be_kept_or_a_failure(answer: object) -> None:
    """What is taken can be written and read; everything else is the system's failure, and no other error."""
    try:
        hits = read_hits(answer, 5, "acme")
    except SystemFailed:
        return
    record = trace_record(Trace(query="q", text="t", hits=hits))
    assert json.loads(json.dumps(record, allow_nan=False)) == record


def _head(path: Path) -> dict[str, object]:
    head: dict[str, object] = json.loads(path.read_bytes().splitlines()[0])
    return head


def test_a_run_says_when_it_was_begun(tmp_path: Path, letters: GoldenSet) -> None:
    """In UTC, to the millisecond, in the first line of its file, packed or not; the run itself knows nothing of it."""
    path = tmp_path / "run.jsonl"
    before = datetime.now(tz=UTC)
    before = before.replace(microsecond=before.microsecond // 1000 * 1000)
    run = make_run(letters, lambda query, k: [query[0]], output=path)
    start = read_begun(path)
    assert start is not None
    assert before <= start <= datetime.now(tz=UTC)
    assert _head(path)["begun"] == start.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert read_run_file(path) == run
    assert "begun" not in make_header(run.provenance)
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_begun(packed) == start


@pytest.mark.parametrize(
    "said",
    [None, 5, "", "yesterday", "2026-02-30T00:00:00Z", "2026-01-01T25:00:00Z", "2026-01-01", "2026-01-01T00:00:00"],
)
def test_a_file_that_does_not_say_it_is_a_run_too(tmp_path: Path, letters: GoldenSet, said: object) -> None:
    """One from before, and one in which it is no time."""
    path = tmp_path / "run.jsonl"
    run = make_run(letters, lambda query, k: [query[0]], output=path)
    head, rest = path.read_text().split("\n", 1)
    record = json.loads(head) | {"begun": said}
    if said is None:
        del record["begun"]
    path.write_text(json.dumps(record) + "\n" + rest)
    assert read_begun(path) is None
    origin = replace(run.provenance.origin, begun="")
    assert read_run_file(path) == replace(run, provenance=replace(run.provenance, origin=origin))


@each("data", [b"", b"\xff", b"[]\n", b"[" * 200_000, b"\x1f\x8b\x08", b"\x1f\x8b" + b"x" * 99])
def test_what_is_no_run_was_begun_at_no_time(tmp_path: Path, data: bytes) -> None:
    """It is not for this to complain of it."""
    path = tmp_path / "run.jsonl"
    path.write_bytes(data)
    assert read_begun(path) is None
    assert read_begun(tmp_path) is None
    assert read_begun(tmp_path / "gone") is None


def test_a_run_that_is_taken_up_was_begun_when_it_was(tmp_path: Path, letters: GoldenSet) -> None:
    """Its first time stays, also where the file has none because an older karat began it."""
    path, part = tmp_path / "run.jsonl", tmp_path / "run.jsonl.part"
    questions: list[str] = []

    def find(query: str, k: int) -> list[str]:
        questions.append(query)
        return [query[0]]

    make_run(letters, find, output=path)
    first, second, *_ = path.read_text().splitlines(keepends=True)
    for old in ({"begun": "2001-02-03T04:05:06Z"}, {}):
        questions.clear()
        head = {key: value for key, value in json.loads(first).items() if key != "begun"} | old
        part.write_text(json.dumps(head, ensure_ascii=False, separators=(",", ":")) + "\n" + second)
        make_run(letters, find, output=path)
        assert {key: value for key, value in _head(path).items() if key == "begun"} == old
        assert len(questions) == len(letters.queries)  # one of them to warm up


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"total":', '"total":1e308,"x":', "1e\\+308 ms is longer than anything takes"),
        ('"score":', f'"span":[0,{10**20}],"score":', "no text has byte 100000000000000000000"),
        ('"format":2', f'"format":"{"9" * 5000}"', "is a run of format '9{39}\\.\\.\\.', and this karat reads 1 and 2"),
    ],
)
def test_a_number_that_nothing_has_is_damage(
    tmp_path: Path, letters: GoldenSet, old: str, new: str, message: str
) -> None:
    """Times that add up to infinity, bytes that no array can count, and a format that fills the screen."""
    path = tmp_path / "run.jsonl"
    make_run(letters, lambda query, k: [query[0]], output=path)
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        read_run_file(path)


def test_nothing_is_made_of_a_header_with_nan(tmp_path: Path, letters: GoldenSet) -> None:
    """No header of karat's has one, so that the unfinished run is another's, and left alone."""
    part = tmp_path / "run.jsonl.part"
    part.write_text('{"karat": "run", "name": NaN}\n{"query": "a"}\n')
    with pytest.raises(InputError, match="has an unfinished run of another kind"):
        make_run(letters, lambda query, k: [query[0]], output=tmp_path / "run.jsonl")
    assert part.exists()


def test_when_a_run_was_begun_is_no_part_of_what_it_is(tmp_path: Path, letters: GoldenSet) -> None:
    """The name of its file does not change by it, so that a run that was begun yesterday is taken up today."""
    system = adapt(lambda query, k: [query[0]], name="mine")
    path = run_path(tmp_path, letters, system, Settings())
    with RunWriter(path, describe_run(letters, system, Settings())) as writer:
        writer.write(Trace(query=letters.queries[0].id, text=letters.queries[0].text))
    head, answer, _ = path.read_text().splitlines(keepends=True)
    path.unlink()
    part = path.with_name(path.name + ".part")
    part.write_text(head.replace(json.loads(head)["begun"], "2001-02-03T04:05:06Z") + answer)
    assert run_path(tmp_path, letters, system, Settings()) == path
    with RunWriter(path, describe_run(letters, system, Settings())) as writer:
        assert len(writer.done) == 1
    assert _head(path)["begun"] == "2001-02-03T04:05:06Z"


def test_a_run_keeps_the_stages_and_the_telemetry_that_a_system_records(tmp_path: Path, letters: GoldenSet) -> None:
    """Their hits may be whatever hits may be, their times are among those of the trace, and the file has all of it."""
    stages = [
        Stage(name="candidate", channel="dense", outputs=2, milliseconds=1.5, hits=[("a", 0.9), "b"]),  # type: ignore[arg-type]
        Stage(name="rerank", inputs=2, hits=({"id": "b", "score": 0.7},)),  # type: ignore[arg-type]
    ]
    path = tmp_path / "run.jsonl"
    run = make_run(
        letters, lambda query, k: Retrieved(["b"], {}, stages=stages, telemetry={"mode": "deep"}), output=path
    )
    trace = run.traces[0]
    assert [(stage.label, [hit.id for hit in stage.hits]) for stage in trace.stages] == [
        ("candidate.dense", ["a", "b"]), ("rerank", ["b"]),
    ]  # fmt: skip
    assert trace.timings["candidate.dense"] == 1.5
    assert trace.telemetry == {"mode": "deep"}
    assert read_run_file(path).traces == run.traces
    assert decode_traces(b"\n".join(path.read_bytes().splitlines()[1:-1])) == run.traces  # the short way reads all


@pytest.mark.parametrize(
    ("recorded", "message"),
    [
        ({"stages": "fusion"}, "as its stages, not a list of Stage"),
        ({"stages": [Stage(name="fusion", hits=(None,))]}, "stage 'fusion': hit 1 is None"),  # type: ignore[arg-type]
        ({"stages": [Stage(name="fusion", milliseconds=-1.0)]}, "stage 'fusion': a count or a time is below 0"),
        ({"stages": [Stage(name="fusion", outputs="many")]}, "stage 'fusion': invalid literal"),  # type: ignore[arg-type]
        ({"telemetry": {"ratio": float("nan")}}, "as its telemetry: Out of range float values"),
    ],
)
def test_stages_and_telemetry_that_no_file_could_hold_fail_the_question(
    letters: GoldenSet, recorded: dict[str, Any], message: str
) -> None:
    with pytest.raises(SystemFailed, match=re.escape(message)):
        make_run(letters, lambda query, k: Retrieved(["a"], {}, **recorded))


def test_a_run_of_format_1_is_read(tmp_path: Path, letters: GoldenSet) -> None:
    """A file that an earlier karat wrote has the same traces, and is scored the same."""
    path = tmp_path / "run.jsonl"
    run = make_run(letters, lambda query, k: ["a"], output=path)
    path.write_text(path.read_text().replace('"format":2', '"format":1', 1))
    assert read_run_file(path) == run
    assert read_run(path).table() == {trace.query: {"a": 1.0} for trace in run.traces}
    path.write_text(path.read_text().replace('"format":1', '"format":3', 1))
    with pytest.raises(InputError, match="is a run of format 3, and this karat reads 1 and 2"):
        read_run_file(path)
