"""``karat runs convert`` on the command line: what it prints, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

from jsonschema import validate

from in_process import run_karat
from karat.core import Hit, Provenance, Trace
from karat.runs import RunWriter
from karat.schema import json_schema


def write(path: Path) -> Path:
    with RunWriter(path, Provenance(name="mine", settings={"k": 5})) as writer:
        writer.write(Trace(query="q1", text="Is there wifi?", hits=(Hit("wifi", 1.0),), answer="Yes."))
        writer.write(Trace(query="q2", text="When?", error="timed out"))
    return path


def test_a_conversion_says_what_it_wrote_and_what_is_lost(tmp_path: Path) -> None:
    """The result on standard output, each loss on standard error with the number of traces that had it."""
    process = run_karat(
        "runs", "convert", write(tmp_path / "run.jsonl"), tmp_path / "new" / "log.jsonl", "--to", "agent"
    )
    assert process.returncode == 0
    assert process.stdout.decode() == f"{tmp_path}/new/log.jsonl: 2 traces, 1 of them failed\n"
    assert process.stderr.decode().splitlines() == [
        "karat: agent cannot hold answers (1 of 2 traces)",
        "karat: agent cannot hold where the run comes from: golden set, system, settings and versions (2 of 2 traces)",
    ]
    rows = [json.loads(line) for line in (tmp_path / "new" / "log.jsonl").read_text().splitlines()]
    assert [(row["qid"], [hit["id"] for hit in row["topk"]]) for row in rows] == [("q1", ["wifi"]), ("q2", [])]


def test_a_conversion_as_json(tmp_path: Path) -> None:
    """A document with a published schema."""
    run = write(tmp_path / "run.jsonl")
    process = run_karat("runs", "convert", run, tmp_path / "spans.jsonl", "--to", "genai", "--json")
    report = json.loads(process.stdout)
    validate(report, json_schema("runs-converted"))
    assert (report["traces"], report["failed"], report["format"]) == (2, 1, "genai")
    assert [part["name"] for part in report["lost"]] == ["origin"]


def test_a_conversion_does_not_overwrite_its_input(tmp_path: Path) -> None:
    """Nor what it does not know how to write; the exit code is that of wrong usage."""
    run = write(tmp_path / "run.jsonl")
    before = run.read_bytes()
    process = run_karat("runs", "convert", run, run, "--to", "agent")
    assert (process.returncode, b"would overwrite an input" in process.stderr) == (2, True)
    process = run_karat("runs", "convert", run, tmp_path / "x", "--to", "otlp")
    assert (process.returncode, b"no format of traces is called 'otlp'; there are karat, agent" in process.stderr) == (
        2,
        True,
    )
    assert run.read_bytes() == before
    assert not (tmp_path / "x").exists()
