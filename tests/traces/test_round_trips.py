"""Every format of traces: what is written is read again as it was, but for the losses that the format names."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

from drawn_traces import traces
from each import each
from karat.core import Citation, Context, Hit, InputError, Place, Span, Stage, Trace
from karat.runs import read_whole_run
from karat.traces import TRACE_FORMATS, Clock, TraceFormat, decode_trace, drop_losses, read_span_traces

FORMATS = sorted(TRACE_FORMATS)
LOGS = ("agent", "blocks")
HIT = Hit(
    "17", 0.5, "wifi", Span(0, 9), section="S.1", block="B1", type="prose", content="Wifi is free.",
    channels={"dense": Place(1, 0.5)}, stages={"fusion": 0.1}, source_hash="sha256:aa", tenant="acme", locator="page 3",
)  # fmt: skip
FULL = Trace(
    query="q1", text="Is there wifi?", hits=(HIT, Hit("pool", 0.25, span=Span(9, 3))),
    timings={"total": 2.5, "candidate": 1.0, "embed": 0.5}, judged="sha256:bb",
    stages=(Stage(name="candidate", channel="dense", inputs=9, outputs=1, milliseconds=1.0, hits=(HIT,)),
            Stage(name="fusion", milliseconds=0.25), Stage(name="rerank", outputs=2, hits=(HIT,))),
    context=Context(session="s", turn=1, time="2026-11-17", tenant="acme", documents=("pool",), metadata={"a": [1]}),
    answer="Yes.", refused=True, citations=(Citation("17", "wifi", Span(0, 4), section="S.1"),),
    telemetry={"ΔS": [0.3], "λ_state": "→", "anchor": "S.1", "selectedMode": "deep", "mine": {"x": None}},
    envelope={"trace_id": "t-1", "event": "answer.decide", "schema_version": "1", "index_hash": "faiss:v3", "mine": 1},
)  # fmt: skip


def write_and_read(form: TraceFormat, trace: Trace, folder: Path) -> Trace:
    line = form.encode(trace, Clock(name="mine", k=5))
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    if form.name == "karat":
        return decode_trace(line, "run.jsonl", 2)
    if form.name not in LOGS:
        (again,) = read_span_traces([line], "spans.jsonl").traces
        return again
    path = folder / "log.jsonl"
    path.write_bytes(line)
    (again,) = read_whole_run(path).traces
    return again


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=25, deadline=None)
@given(trace=traces())
def test_what_is_written_is_read_again_but_for_the_losses(
    name: str, trace: Trace, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever a trace holds."""
    form = TRACE_FORMATS[name]
    smaller, _ = drop_losses(trace, form.losses)
    assert write_and_read(form, smaller, tmp_path_factory.getbasetemp()) == smaller


def test_a_full_trace_loses_what_the_table_says(tmp_path: Path) -> None:
    """A trace that has everything, and one that failed; what is left is read as it was."""
    for form in TRACE_FORMATS.values():
        smaller, names = drop_losses(FULL, form.losses)
        assert names == [loss.name for loss in form.losses], form.name
        assert write_and_read(form, smaller, tmp_path) == smaller, form.name
        failed, _ = drop_losses(replace(FULL, hits=(), error="timed out: \x1b[31m"), form.losses)
        assert write_and_read(form, failed, tmp_path) == failed, form.name


def test_a_citation_keeps_its_document_beside_a_hit_with_its_id(tmp_path: Path) -> None:
    """A log may name the document of neither, of the hit alone or of both: what it leaves out is that of the id."""
    for hit, cited in (("", ""), ("pool", ""), ("", "pool"), ("pool", "pool"), ("pool", "spa")):
        trace = Trace(query="q", text="?", hits=(Hit("a", 1.0, hit),), citations=(Citation("a", cited),))
        for form in TRACE_FORMATS.values():
            smaller, _ = drop_losses(trace, form.losses)
            assert write_and_read(form, smaller, tmp_path) == smaller, (form.name, hit, cited)


def test_half_of_a_surrogate_pair_and_very_large_numbers_are_written(tmp_path: Path) -> None:
    """JSON can hold them, and a system may return them."""
    odd = Trace(query="q", text="?", answer="\ud800", telemetry={"n": 2**70})
    for name in ("karat", "openinference", "mlflow", "langfuse"):
        assert write_and_read(TRACE_FORMATS[name], odd, tmp_path) == odd, name


@each(("name", "loss"), [(name, loss.name) for name in FORMATS for loss in TRACE_FORMATS[name].losses])
def test_every_loss_is_real(name: str, loss: str, tmp_path: Path) -> None:
    """A trace that has only that of the losses is not read as it was, or not at all."""
    form = TRACE_FORMATS[name]
    kept, _ = drop_losses(FULL, [other for other in form.losses if other.name != loss])
    assert drop_losses(kept, form.losses)[1] == [loss]
    with suppress(InputError):
        assert write_and_read(form, kept, tmp_path) != kept


def test_losses_have_names_of_their_own() -> None:
    """By which a conversion counts them."""
    for form in TRACE_FORMATS.values():
        names = [loss.name for loss in form.losses]
        assert len(names) == len(set(names))
        assert all(loss.text for loss in form.losses)


def test_a_plain_trace_loses_nothing() -> None:
    """Ids and scores have a place in every format, and dropping nothing makes no copy."""
    plain = Trace(query="q", text="?", hits=(Hit("a", 1.0),))
    for form in TRACE_FORMATS.values():
        assert drop_losses(plain, form.losses)[0] is plain


def test_the_docs_have_the_table_of_losses() -> None:
    """docs/traces.md says what each format loses, in the words of the table."""
    page = (Path(__file__).parents[2] / "docs" / "traces.md").read_text()
    for form in TRACE_FORMATS.values():
        lost = "; ".join(loss.text for loss in form.losses) or "nothing"
        assert f"| `{form.name}` | {form.text} | {lost} |\n" in page
