"""Exports of tracing tools as records of the log: whichever tool and form, the same queries; twice changes nothing."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cli.gate_project import main
from karat.core import InputError
from karat.online import LoggedQuery, read_log
from karat.online.receiving import import_files

QUESTION = "is there wifi, ann@example.org?"
FOUND = [("pool", 0.9), ("wifi", 0.8)]
TRACE, ROOT, SEARCH, MODEL = "0af7651916cd43dd8448eb211c80319c", "a" * 16, "b" * 16, "c" * 16


def otlp() -> dict[str, Any]:
    """Return a request as the collector's file exporter writes it."""

    def span(id_: str, parent: str, name: str, attributes: dict[str, Any]) -> dict[str, Any]:
        values = [{"key": key, "value": {"stringValue" if isinstance(value, str) else "doubleValue": value}}
                  for key, value in attributes.items()]  # fmt: skip
        times = {"startTimeUnixNano": "1794000000000000000", "endTimeUnixNano": "1794000000002000000"}
        return {"traceId": TRACE, "spanId": id_, "parentSpanId": parent, "name": name, **times, "attributes": values}

    documents = {}
    for number, (id_, score) in enumerate(FOUND):
        documents |= {f"retrieval.documents.{number}.document.id": id_}
        documents |= {f"retrieval.documents.{number}.document.score": score}
    kind = "openinference.span.kind"
    spans = [
        span(ROOT, "", "rag", {kind: "CHAIN", "session.id": "s1"}),
        span(SEARCH, ROOT, "dense", {kind: "RETRIEVER", "input.value": QUESTION, **documents}),
        span(MODEL, ROOT, "model", {kind: "LLM", "llm.output_messages.0.message.content": "Yes."}),
    ]
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": spans}]}]}


def frame() -> pd.DataFrame:
    """Return spans as Phoenix's client returns them: a column for each attribute, missing where there is none."""
    rows = []
    for id_, parent, name, kind in (
        (ROOT, None, "rag", "CHAIN"),
        (SEARCH, ROOT, "dense", "RETRIEVER"),
        (MODEL, ROOT, "model", "LLM"),
    ):
        rows.append({
            "name": name, "span_kind": kind, "parent_id": parent,
            "start_time": pd.Timestamp("2026-11-07T00:00:00Z"), "end_time": pd.Timestamp("2026-11-07T00:00:00.002Z"),
            "status_code": "OK", "status_message": "", "events": [],
            "context.span_id": id_, "context.trace_id": TRACE,
            "attributes.session.id": "s1" if id_ == ROOT else None,
            "attributes.input.value": QUESTION if id_ == SEARCH else None,
            "attributes.retrieval.documents": [{"document.id": d, "document.score": s} for d, s in FOUND]
            if id_ == SEARCH else None,
            "attributes.llm.output_messages": [{"message.role": "assistant", "message.content": "Yes."}]
            if id_ == MODEL else None,
        })  # fmt: skip
    return pd.DataFrame(rows)


def numbered(frame: pd.DataFrame) -> pd.DataFrame:
    """Return spans with times as older versions of pandas write them: milliseconds since 1970."""
    times = {name: [int(time.timestamp() * 1000) for time in frame[name]] for name in ("start_time", "end_time")}
    return frame.assign(**times)


def observations() -> list[dict[str, Any]]:
    """Return observations of Langfuse, as its API returns them."""
    times = {"startTime": "2026-11-07T00:00:00.000Z", "endTime": "2026-11-07T00:00:00.002Z"}
    found = [{"id": id_, "score": score} for id_, score in FOUND]
    return [
        {"id": "o1", "traceId": TRACE, "type": "SPAN", "name": "rag", "sessionId": "s1", **times},
        {"id": "o2", "traceId": TRACE, "type": "RETRIEVER", "name": "dense", "parentObservationId": "o1",
         "input": {"query": QUESTION}, "output": found, **times},
        {"id": "o3", "traceId": TRACE, "type": "GENERATION", "name": "model", "parentObservationId": "o1",
         "input": "?", "output": {"role": "assistant", "content": "Yes."}, **times},
    ]  # fmt: skip


def write_csv(rows: list[dict[str, Any]], path: Path) -> None:
    """Write rows as Langfuse's pages export them, with JSON in cells."""
    cells = [{k: json.dumps(v) if isinstance(v, dict | list) else v for k, v in row.items()} for row in rows]
    pd.DataFrame(cells).to_csv(path, index=False)


def lines(values: list[Any]) -> str:
    """Return values as JSON lines."""
    return "".join(json.dumps(value) + "\n" for value in values)


Write = Callable[[Path], Any]
FILES: dict[str, Write] = {
    "otlp": lambda path: path.write_text(json.dumps(otlp(), indent=1)),
    "otlp lines": lambda path: path.write_text(lines([otlp(), otlp()])),
    "phoenix records": lambda path: numbered(frame()).to_json(path, orient="records"),
    "phoenix lines": lambda path: frame().to_json(path, orient="records", lines=True, date_format="iso"),
    "phoenix columns": lambda path: frame().set_index("context.span_id").to_json(path, date_format="iso"),
    "phoenix csv": lambda path: frame().to_csv(path),
    "phoenix parquet": lambda path: frame().to_parquet(path),
    "langfuse list": lambda path: path.write_text(json.dumps(observations())),
    "langfuse lines": lambda path: path.write_text(lines(observations())),
    "langfuse page": lambda path: path.write_text(json.dumps({"data": observations(), "meta": {"page": 1}})),
    "langfuse trace": lambda path: path.write_text(
        json.dumps({"id": TRACE, "sessionId": "s1", "observations": observations()})
    ),
    "langfuse csv": lambda path: write_csv(observations(), path),
}


def read_queries(path: Path) -> list[LoggedQuery]:
    """Return the queries of a store."""
    with read_log(path) as log:
        return list(log.queries())


@pytest.mark.parametrize("name", FILES)
def test_every_export_is_the_same_query(path: Path, tmp_path: Path, name: str) -> None:
    """Text, documents, scores, order, session, answer and time are those that the application had; again, nothing."""
    file = tmp_path / "export"
    FILES[name](file)
    done = import_files(path, [file], keep_ids=True)
    assert (done.queries, done.events, done.repeated) == (1, 0, 0)
    (query,) = read_queries(path)
    assert (query.text, query.session, query.answer) == ("is there wifi, [e-mail]?", "s1", "Yes.")
    assert [(hit.id, hit.score) for hit in query.hits] == FOUND
    assert (query.latency, query.count, query.trace) == (2.0, 2, TRACE)
    again = import_files(path, [file], keep_ids=True, kind=name.partition(" ")[0])
    assert (again.queries, again.repeated) == (0, 1)
    assert read_queries(path) == [query]


def test_the_parts_of_a_trace_may_be_in_several_files(path: Path, tmp_path: Path) -> None:
    """Two files with a part each, one of them twice, and a log of UBI beside them."""
    files = [tmp_path / "one.jsonl", tmp_path / "two.json", tmp_path / "ubi.jsonl"]
    files[0].write_text(lines(observations()[:2]))
    files[1].write_text(json.dumps(observations()[1:]))
    files[2].write_text(json.dumps({"user_query": "spa?", "timestamp": "2026-11-08T00:00:00Z", "query_id": "u1"}))
    done = import_files(path, files)
    assert (done.queries, done.repeated) == (2, 0)
    wifi, spa = read_queries(path)
    assert (wifi.answer, spa.text, wifi.session != "s1") == ("Yes.", "spa?", True)


def test_scores_and_annotations_are_feedback(path: Path, tmp_path: Path) -> None:
    """Langfuse's scores, inside a trace and by themselves; Phoenix's annotations name a span, and a document."""
    score = {"id": "x1", "traceId": TRACE, "name": "user-feedback", "value": 1, "source": "API",
             "timestamp": "2026-11-07T00:01:00Z"}  # fmt: skip
    judged = {"id": "x2", "name": "judge", "value": 0.3, "source": "EVAL", "observationId": "o2", "comment": "why"}
    trace = {"id": TRACE, "sessionId": "s1", "observations": observations(), "scores": [judged]}
    (tmp_path / "trace.json").write_text(json.dumps(trace))
    (tmp_path / "scores.jsonl").write_text(lines([score]))
    done = import_files(path, [tmp_path / "trace.json", tmp_path / "scores.jsonl"], keep_ids=True)
    assert (done.queries, done.events) == (1, 2)
    other = path.with_name("phoenix.db")
    frame().to_json(tmp_path / "spans.json", orient="records", date_format="iso")
    said = {"annotation_name": "relevance", "annotator_kind": "HUMAN", "label": "relevant", "document_position": 1}
    rows = [{"span_id": SEARCH, **said}, {"span_id": "f" * 16, "annotation_name": "x", "annotator_kind": "LLM"}]
    (tmp_path / "annotations.json").write_text(json.dumps(rows))
    told = import_files(other, [tmp_path / "spans.json", tmp_path / "annotations.json"], keep_ids=True)
    assert (told.events, told.ignored) == (1, {"scores of unknown spans": 1})
    with read_log(path) as log, read_log(other) as phoenix:
        (query,) = log.queries()
        assert {(event.kind, event.value, event.query, event.session) for event in log.events()} == {
            ("task_outcome", 1.0, query.id, "s1"),
            ("evaluation", 0.3, query.id, "s1"),
        }
        (event,) = phoenix.events()
        assert (event.kind, event.document, event.rank) == ("validate_useful", "wifi", 2)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "not a file that karat imports"),
        (b"hello\n", "not a file that karat imports"),
        (b'{"a": 1}', "not a file that karat imports"),
        (b"PAR1 and no more", "not a valid Parquet file"),
        (b'{"resourceSpans": [{"scopeSpans": [{}]}]}', "cannot be read"),
        (b'{"resourceSpans": []}', "no span of a retriever"),
        (lines([otlp(), {"x": 1}]).encode(), "neither a span nor a score"),
        (lines([otlp(), 7]).encode(), "not a span"),
        (json.dumps(otlp()).replace(TRACE, "no id!").encode(), "not valid"),
        (b"traceId,startTime,id\nt,2026-11-07\n", "another number of cells"),
        (b"traceId,startTime,id\nt,yesterday,o\n", "cannot be read"),
        (b'traceId,name,value,timestamp\nt,x,1,yesterday\n', "time cannot be read"),
        (b'traceId,startTime,id\n"t,2026', "no CSV that can be read"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_one_message_and_leaves_nothing(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], data: bytes, problem: str
) -> None:
    """Exit code 2, one line, and neither a store nor a key."""
    (tmp_path / "bad").write_bytes(data)
    assert main(["online", "import", str(path), str(tmp_path / "bad")]) == 2
    err = capsys.readouterr().err
    assert (problem in err, err.count("\n")) == (True, 1)
    assert [file.name for file in tmp_path.iterdir()] == ["bad"]


def test_a_kind_that_is_not_the_files(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--from is no way around what the file says; the command prints what became of each span."""
    (tmp_path / "spans.json").write_text(json.dumps(otlp()))
    with pytest.raises(InputError, match="is otlp, and not langfuse"):
        import_files(path, [tmp_path / "spans.json"], kind="langfuse")
    value = otlp()
    value["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["attributes"].pop()
    (tmp_path / "spans.json").write_text(json.dumps(value))
    assert main(["online", "import", str(path), str(tmp_path / "spans.json"), "--from", "otlp"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["1 chain ignored"]


def test_the_longest_cell_of_csv_is_no_matter_of_the_process(tmp_path: Path) -> None:
    """What other readers of CSV refuse is what it was before."""
    before = csv.field_size_limit()
    file = tmp_path / "spans.csv"
    file.write_text(f"context.trace_id,context.span_id,name\nt,s,{'x' * (before + 1)}\n")
    with pytest.raises(InputError, match="has no span of a retriever"):  # so it was read
        import_files(tmp_path / "karat.db", [file])
    assert csv.field_size_limit() == before
