"""What logs of blocks and agent have besides hits is kept, not dropped, and survives a run file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from each import each
from karat.core import Citation, Context, GoldenSet, Hit, InputError, Place, Query, Span, Stage
from karat.runs import RunWriter, read_any_run, read_run_file

GOLDEN = GoldenSet(queries=(Query(id="Q-1", text="Explain."),))
BLOCKS = {
    "schema_version": "1.2", "event": "retrieve.run", "trace_id": "t-9", "agent_id": "writer", "mem_rev": "r7",
    "mem_hash": "sha256:aa", "qid": "Q-1", "query": "Explain.",
    "topk": [{"id": "S.4.2.p.Bk011a", "score": 0.83, "offsets": [204611, 205279], "type": "prose"}],
    "ΔS": [0.31], "λ_state": "→", "anchor": "S.4.2", "index_hash": "faiss:v3:hnsw:cos", "ts": "2025-08-27T12:30:22Z",
    "answer": "It unlocks.", "answer_citations": [{"id": "S.4.2.p.Bk011a", "offsets": [204611, 204700]}],
}  # fmt: skip
AGENT = {
    "traceId": "t-1", "qid": "Q-1", "query": "Explain.", "sessionId": "s1", "turnNumber": 2, "totalLatencyMs": 12.0,
    "candidateLatencyMs": 5.0, "selectedMode": "deep", "fallbackTriggered": False, "tokenUsageRatio": 0.4,
    "telemetry": {"custom": [1, 2]},
    "stages": [
        {"stage": "candidate", "channel": "vector", "outputCount": 2, "hits": [{"id": "7", "score": 0.9}, "8"]},
        {"stage": "fusion", "inputCount": 2, "outputCount": 1, "durationMs": 1.5},
    ],
    "topk": [{"id": "7", "score": 0.5, "channels": {"vector": [1, 0.9]}}, {"id": "8", "score": 0.4,
             "sourceChannels": ["bm25", "graph"]}],
}  # fmt: skip


def read(tmp_path: Path, *rows: dict[str, Any]) -> Any:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_any_run(path, GOLDEN)


def test_the_log_of_blocks_keeps_its_envelope_and_its_observations(tmp_path: Path) -> None:
    """Delta-S, lambda and anchor are telemetry, citations are citations, and the envelope is whole."""
    trace = read(tmp_path, BLOCKS).traces[0]
    assert trace.telemetry == {"ΔS": [0.31], "λ_state": "→", "anchor": "S.4.2"}
    assert trace.answer == "It unlocks."
    assert trace.citations == (Citation("S.4.2.p.Bk011a", span=Span(204611, 204700)),)
    envelope = ("schema_version", "event", "ts", "trace_id", "agent_id", "mem_rev", "mem_hash", "index_hash")
    assert trace.envelope == {name: BLOCKS[name] for name in envelope}


@each("delta", ["delta_s", "deltaS", "delta_S", "∆S"])
@each("state", ["lambda_state", "lambdaState", "lambda", "λ"])
def test_other_spellings_of_delta_and_lambda_are_the_same_fields(tmp_path: Path, delta: str, state: str) -> None:
    """In ASCII, and with the sign for an increment; nothing is dropped with a note that nobody reads."""
    row = {key: value for key, value in BLOCKS.items() if key not in ("ΔS", "λ_state")}
    notes: list[str] = []
    (tmp_path / "log.jsonl").write_text(json.dumps({**row, delta: [0.31], state: "→"}))
    run = read_any_run(tmp_path / "log.jsonl", GOLDEN, say=notes.append)
    assert run.traces[0].telemetry == {"ΔS": [0.31], "λ_state": "→", "anchor": "S.4.2"}
    assert [note for note in notes if "unknown key" in note] == []


def test_the_log_of_agent_keeps_stages_channels_session_and_modes(tmp_path: Path) -> None:
    """Stages with counts and lists, the channels of each result, and times by stage."""
    trace = read(tmp_path, AGENT).traces[0]
    assert trace.stages == (
        Stage(name="candidate", channel="vector", outputs=2, hits=(Hit("7", 2.0), Hit("8", 1.0))),
        Stage(name="fusion", inputs=2, outputs=1, milliseconds=1.5),
    )
    assert [dict(hit.channels) for hit in trace.hits] == [
        {"vector": Place(1, 0.9)}, {"bm25": Place(0, 0.0), "graph": Place(0, 0.0)},
    ]  # fmt: skip
    assert trace.context == Context(session="s1", turn=2)
    assert trace.timings == {"total": 12.0, "candidate": 5.0, "fusion": 1.5}
    modes = {"selectedMode": "deep", "fallbackTriggered": False, "tokenUsageRatio": 0.4}
    assert trace.telemetry == {"custom": [1, 2], **modes}
    assert trace.envelope == {"traceId": "t-1"}


@pytest.mark.parametrize("row", [BLOCKS, AGENT], ids=["blocks", "agent"])
def test_a_run_file_holds_all_of_it(tmp_path: Path, row: dict[str, Any]) -> None:
    """Written by karat and read again, the trace of a log is the same."""
    run = read(tmp_path, row)
    with RunWriter(tmp_path / "run.jsonl", run.provenance) as writer:
        for trace in run.traces:
            writer.write(trace)
    assert read_run_file(tmp_path / "run.jsonl").traces == run.traces


@each(
    ("change", "message"),
    [
        ({"stages": [{"stage": "fusion", "durationMs": -1}]}, "'ms' is -1"),
        ({"stages": [{"channel": "vector"}]}, "'stage' .or 'name'. is missing"),
        ({"stages": [{"stage": "fusion", "inputCount": -2}]}, "has a count below 0"),
        ({"turnNumber": -1}, "'turn' is -1"),
        ({"topk": [{"id": "7", "channels": 5}]}, "'channels' is neither a list of names nor a mapping"),
        ({"topk": [{"id": "7", "channels": {"x": "first"}}]}, "channel 'x' should have a rank and a score"),
        ({"answer_citations": [{"offsets": [1, 2]}]}, "'id' .or 'chunk_id'. is missing"),
    ],
)
def test_a_mistake_in_what_a_log_has_besides_hits_is_named(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    """One message, with the line."""
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, {**AGENT, **change})
    assert "line 1" in str(caught.value)
