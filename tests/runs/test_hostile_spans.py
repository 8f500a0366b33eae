"""Files of spans that no tracing tool writes: each is one message, and no number that is none becomes a score."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from each import each
from in_process import run_karat
from karat import golden
from karat.core import GoldenSet, Hit, InputError, Query, Stage, Trace
from karat.runs._span_traces import read_span_file
from karat.traces import TRACE_FORMATS, Clock

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
    "times of the wrong type": {"resourceSpans": [{"scopeSpans": [{"spans": [{"startTimeUnixNano": [1]}]}]}]},
    "attributes that are a list": {**span({}), "attributes": [1]},
    "a context that is a text": [span(document()), {**span({}), "context": "t"}],
    "an id that is a list": span(document(id=["a"])),
    "a query that is a list": span({**document(), "karat.query": [1]}),
    "spans of a format to come": span({**document(), "karat.query": "q", "karat.format": 2}),
    "spans of no format": span({**document(), "karat.query": "q", "karat.format": "1; rm"}),
    "a trace of karat's without its query": span({**document(score=1.0), "karat.format": 1}),
    "a trace of karat's with times that are none": span(
        {**document(score=1.0), "karat.format": 1, "karat.query": "q", "karat.ms": "\x1b[31m"}
    ),
    "a trace of karat's with a table that is a list": span(
        {**document(score=1.0), "karat.format": 1, "karat.query": "q", "karat.telemetry": "[1]"}
    ),
}


def test_hostile_spans_are_one_message() -> None:
    """It names the file, in one line that is not long."""
    for kind, value in HOSTILE.items():
        try:
            read_span_file(json.dumps(value).encode(), "spans.json", GOLDEN)
            pytest.fail(f"{kind} is read")
        except InputError as error:
            (line,) = error.lines
        assert line.startswith("spans.json"), kind
        assert len(line) < 300, kind


@each(
    ("data", "message"),
    [
        (json.dumps(span(document())).encode()[:-9], "line 1: is not valid JSON"),
        (json.dumps(span(document())).encode() + b'\n{"name": "s', "line 2: is not valid JSON"),
        (json.dumps(span(document())).encode() + b'\n{"name": "\xff"}', "line 2: byte 0xff is not UTF-8"),
        (json.dumps([span(document())], indent=1).encode().replace(b"pool", b"p\xe9ol"), "is not UTF-8"),
        (json.dumps(span(document())).encode() + b"\n7", "holds something that is not a span"),
        (json.dumps(span(document(id="x" * 10**6, score=float("nan")))).encode(), "is not finite"),
    ],
    ids=["cut off", "second line cut off", "not UTF-8", "a list that is not UTF-8", "a number", "a huge id"],
)
def test_damaged_files_are_one_message_with_the_line(data: bytes, message: str) -> None:
    """Whatever tool wrote it."""
    with pytest.raises(InputError, match=message) as error:
        read_span_file(data, "spans.json", GOLDEN)
    assert len(str(error.value)) < 300


def named(trace: str, id_: str, parent: str | None = None) -> dict[str, Any]:
    return span(document(), context={"trace_id": trace, "span_id": id_}, parent_id=parent)


def test_spans_that_are_there_twice_are_counted_once() -> None:
    """A collector may send a batch again; a span of another request may have the same id."""
    spans = [named("t", "1"), named("t", "1"), named("u", "1")]
    run = read_span_file(json.dumps(spans).encode(), "spans.json", GOLDEN)
    assert [len(trace.stages) for trace in run.traces] == [1, 1]
    assert run.notes == ("spans.json: 1 spans that are there twice are counted once",)


def test_parents_that_go_in_circles_or_are_missing_do_no_harm() -> None:
    """Which spans belong together is told by their trace."""
    spans = [named("t", "1", "2"), named("t", "2", "1"), named("t", "3", "3"), named("t", "4", "nobody")]
    run = read_span_file(json.dumps(spans).encode(), "spans.json", GOLDEN)
    assert [len(trace.stages) for trace in run.traces] == [4]
    assert run.notes == ()


def test_stages_and_requests_of_karats_own_that_were_torn_apart_are_counted() -> None:
    """A sampler may have dropped the request, or one of its stages."""
    trace = Trace(query="q", text="When?", hits=(Hit("pool", 1.0),), stages=(Stage(name="rerank"), Stage(name="mmr")))
    row = TRACE_FORMATS["openinference"].make_row(trace, Clock(name="mine"))
    (group,) = row["resourceSpans"]
    (scope,) = group["scopeSpans"]

    def read(*places: int) -> Any:
        spans = [scope["spans"][place] for place in places]
        torn = {"resourceSpans": [{"scopeSpans": [{**scope, "spans": spans}]}]}
        return read_span_file(json.dumps(torn).encode(), "spans.json", GOLDEN)

    assert read(2, 1, 0).traces == (trace,)
    lacking = read(2, 0)
    assert lacking.traces == (replace(trace, stages=trace.stages[1:]),)
    assert lacking.notes == ("spans.json: 1 requests lack some of their stages",)
    orphans = read(1, 2)
    assert (orphans.traces, len(orphans.notes)) == ((), 1)
    assert "2 stages without the span of their request are left out" in orphans.notes[0]


def test_secrets_of_a_span_do_not_get_into_the_run() -> None:
    """Attributes that karat does not know are not kept, and an error does not repeat those that are secret."""
    secret = "sk-7Hq2mZ0xW9aa11"
    failed = span(
        {"http.request.header.authorization": f"Bearer {secret}", "url.full": f"https://me:{secret}@host/"},
        status={
            "status_code": "ERROR",
            "description": f"401 for https://me:pw@host: Bearer {secret}, Basic bWU6cHc9PQ==",
        },
    )
    run = read_span_file(json.dumps(failed).encode(), "spans.json", GOLDEN)
    assert secret not in repr(run)
    assert run.traces[0].error == "401 for https://host: Bearer ***, Basic ***"


def test_no_terminal_obeys_a_span(tmp_path: Path) -> None:
    """Neither notes nor results print control characters from outside."""
    bad = "\x1b]0;owned\x07\u202e"
    spans = [span({**document(id=bad), "input.value": bad}), span(document(), context={"trace_id": bad})]
    (tmp_path / "spans.json").write_text(json.dumps(spans))
    (tmp_path / "qrels.txt").write_text("q 0 pool 1\n")
    golden.write(GOLDEN, tmp_path / "set")
    for arguments in (
        ("runs", "convert", tmp_path / "spans.json", tmp_path / "out.jsonl", "--golden", tmp_path / "set"),
        ("eval", tmp_path / "set", "--run", tmp_path / "spans.json", "-m", "RR"),
        ("score", tmp_path / "qrels.txt", tmp_path / "spans.json", "--per-query"),
    ):
        process = run_karat(*arguments)
        printed = (process.stdout + process.stderr).decode()
        assert "Traceback" not in printed
        assert not {"\x1b", "\x07", "\u202e"} & {*printed}


@pytest.mark.parametrize("depth", [100, 400, 900])
def test_spans_that_are_nested_deep_are_read_or_refused(depth: int) -> None:
    """What JSON can hold may be deeper than what is read; nothing but a message of karat's leaves."""
    deep: Any = 1
    for _ in range(depth):
        deep = {"a": deep}
    with suppress(InputError):
        run = read_span_file(json.dumps(span({**document(), "deep": deep})).encode(), "spans.json", GOLDEN)
        assert [hit.id for hit in run.traces[0].hits] == ["pool"]
