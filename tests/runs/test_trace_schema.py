"""The published schema of a trace: every line that karat writes fits it, and what does not fit is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator, ValidationError

from drawn_traces import traces
from each import each
from karat.core import Citation, Context, GoldenSet, Hit, InputError, Place, Provenance, Span, Stage, Trace
from karat.runs import RunWriter, make_run, read_run_file
from karat.schema import TRACE_FORMAT, json_schema
from karat.traces._trace_rows import decode_traces, encode_trace, read_trace

TRACE = Draft202012Validator(json_schema("trace"))
HEADER = Draft202012Validator(json_schema("run-header"))
FULL = Trace(
    query="q1", text="Is there wifi?", timings={"total": 2.5}, paraphrase=1, repeat=2, judged="sha256:aa",
    hits=(Hit("wifi:chunk:3", 0.5, span=Span(0, 9), type="prose", channels={"dense": Place(1, 0.5)}),),
    stages=(Stage(name="candidate", channel="dense", inputs=9, outputs=1, milliseconds=1.0, hits=(Hit("wifi", 1.0),)),),
    context=Context(session="s", turn=1, documents=("pool",), metadata={"a": [1]}), answer="Yes.", refused=True,
    citations=(Citation("wifi", span=Span(0, 4)),), telemetry={"ΔS": [0.3]}, envelope={"trace_id": "t"},
)  # fmt: skip


def write(path: Path, *some: Trace) -> list[Any]:
    path.unlink(missing_ok=True)
    with RunWriter(path, Provenance(name="mine"), resume=False) as writer:
        for trace in some:
            writer.write(trace)
    return [json.loads(line) for line in path.read_text().split("\n")[:-1]]


def test_the_lines_of_a_run_file_fit_the_schemas(tmp_path: Path, letters: GoldenSet) -> None:
    """A header and traces, of a plain system and with all that a trace can have; the last line is the end."""
    make_run(letters, lambda query, k: [query[0]], output=tmp_path / "plain.jsonl")
    plain = [json.loads(line) for line in (tmp_path / "plain.jsonl").read_text().splitlines()]
    full = write(tmp_path / "full.jsonl", FULL)
    for header, *rows, end in (plain, full):
        HEADER.validate(header)
        assert header["format"] == TRACE_FORMAT
        for row in rows:
            TRACE.validate(row)
        assert end == {"end": True}
    assert set(full[1]) | {"error"} == set(json_schema("trace")["properties"])


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(trace=traces())
def test_every_trace_fits_its_schema_and_is_read_as_it_was(trace: Trace) -> None:
    """Whatever a system records, by the short way and by the long one."""
    line = encode_trace(trace)
    TRACE.validate(json.loads(line))
    assert decode_traces(line) in ((trace,), None)
    assert read_trace(json.loads(line), "run.jsonl", 2) == trace


@each(
    "change",
    [{"hits": [{"id": "a"}]}, {"ms": {"total": "fast"}}, {"repeat": -1}, {"unknown": 1}, {"context": {"turn": "1"}},
     {"stages": [{"hits": []}]}, {"citations": [{"span": [1]}]}, {"query": None}],
    ids=str,
)  # fmt: skip
def test_what_does_not_fit_is_refused_by_the_schema(tmp_path: Path, change: dict[str, Any]) -> None:
    """And by the reader, but for a key that it does not know, which a later format may have."""
    header, row, end = write(tmp_path / "run.jsonl", FULL)
    with pytest.raises(ValidationError):
        TRACE.validate({**row, **change})
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in (header, {**row, **change}, end)))
    if "unknown" in change:
        assert read_run_file(tmp_path / "run.jsonl").traces == (FULL,)
    else:
        with pytest.raises(InputError, match="line 2: is not a trace"):
            read_run_file(tmp_path / "run.jsonl")


def test_format_1_is_still_read(tmp_path: Path) -> None:
    """It is format 2 without stages, context, answer, citations, telemetry and envelope."""
    plain = replace(
        FULL, stages=(), context=Context(), answer="", citations=(), refused=False, telemetry={}, envelope={}
    )
    header, row, end = write(tmp_path / "run.jsonl", plain)
    HEADER.validate({**header, "format": 1})
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(r) + "\n" for r in ({**header, "format": 1}, row, end)))
    assert read_run_file(tmp_path / "run.jsonl").traces == (plain,)
