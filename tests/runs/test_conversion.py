"""``karat runs convert``: a run in another format and back, what is lost, and what is refused."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from each import each
from karat.core import GoldenSet, Hit, InputError, Provenance, Query, Run, Trace, UsageError
from karat.projects import require_complete
from karat.runs import RunWriter, convert_run, make_run, read_any_run, read_run_file, read_whole_run
from karat.traces import TRACE_FORMATS
from traces.test_round_trips import FULL

RunKarat = Callable[..., Any]
SETTINGS = {"k": 5, "paraphrases": True, "repeat": 2}


def write(path: Path, *some: Trace) -> Run:
    run = Run(provenance=Provenance(name="mine", settings=SETTINGS), traces=some)
    with RunWriter(path, run.provenance) as writer:
        for trace in some:
            writer.write(trace)
    return read_run_file(path)


TRACES = (
    Trace(query="q1", text="Is there wifi?", hits=(Hit("wifi", 2.0), Hit("wifi:chunk:3", 1.0)), timings={"total": 1.5}),
    Trace(query="q1", text="Wifi?", hits=(Hit("pool", 2.0),), paraphrase=1),
    Trace(query="q1", text="Is there wifi?", hits=(Hit("wifi", 2.0),), repeat=1),
    Trace(query="q2", text="When?", error="timed out"),
    Trace(query="q2", text="When?", repeat=1),
)


def test_a_run_survives_every_format(tmp_path: Path) -> None:
    """Questions, wordings, repeats, failures, hits and k; what is lost of a plain run is only where it comes from."""
    for name in TRACE_FORMATS:
        (tmp_path / name).mkdir()
        check_format(tmp_path / name, name)


def check_format(tmp_path: Path, name: str) -> None:
    run = write(tmp_path / "run.jsonl", *TRACES[:1], *TRACES[2:])
    report = convert_run(tmp_path / "run.jsonl", tmp_path / "out", name)
    assert (report.traces, report.failed, report.format) == (4, 1, name)
    lost = [part.name for part in report.lost]
    assert lost == {"karat": [], "blocks": ["times", "origin"]}.get(name, ["origin"])
    again = read_run_file(tmp_path / "out") if name == "karat" else read_whole_run(tmp_path / "out")
    kept = run.traces if name != "blocks" else tuple(Trace(**{**_fields(t), "timings": {}}) for t in run.traces)
    assert sorted(again.traces, key=_key) == sorted(kept, key=_key)
    if name not in ("agent", "blocks"):
        assert again.provenance.settings["k"] == 5
    back = convert_run(tmp_path / "out", tmp_path / "back.jsonl")
    assert (back.traces, back.failed) == (4, 1)
    assert sorted(read_run_file(tmp_path / "back.jsonl").traces, key=_key) == sorted(kept, key=_key)


def _key(trace: Trace) -> tuple[str, int, int]:
    return (trace.query, trace.paraphrase, trace.repeat)


def _fields(trace: Trace) -> dict[str, Any]:
    return {"query": trace.query, "text": trace.text, "hits": trace.hits, "error": trace.error, "repeat": trace.repeat}


def test_a_run_of_karat_is_copied_to_the_letter(tmp_path: Path, letters: GoldenSet) -> None:
    """Header, origin and all, packed or not; a paraphrase is one."""
    make_run(letters, lambda query, k: [query[0]], output=tmp_path / "run.jsonl")
    convert_run(tmp_path / "run.jsonl", tmp_path / "copy.jsonl")
    assert (tmp_path / "copy.jsonl").read_bytes() == (tmp_path / "run.jsonl").read_bytes()
    (tmp_path / "run.jsonl.gz").write_bytes(gzip.compress((tmp_path / "run.jsonl").read_bytes()))
    convert_run(tmp_path / "run.jsonl.gz", tmp_path / "unpacked.jsonl")
    assert (tmp_path / "unpacked.jsonl").read_bytes() == (tmp_path / "run.jsonl").read_bytes()


def test_losses_are_counted(tmp_path: Path) -> None:
    """One entry for each kind, with how many traces had it."""
    write(tmp_path / "run.jsonl", FULL, *TRACES[3:])
    report = convert_run(tmp_path / "run.jsonl", tmp_path / "log.jsonl", "blocks")
    counts = {part.name: part.traces for part in report.lost}
    assert counts == {**{loss.name: 1 for loss in TRACE_FORMATS["blocks"].losses}, "origin": 3}


def test_the_golden_set_tells_questions_and_documents(tmp_path: Path) -> None:
    """Of a run that another program made; without it, all requests are kept, and a question is its text."""
    span = {
        "name": "search", "context": {"trace_id": "7f"},
        "attributes": {"openinference.span.kind": "RETRIEVER", "retrieval.documents": [{"document": {"id": "wifi"}}]},
    }  # fmt: skip
    texts = ("Wifi?", "Who?")
    rows = [
        {**span, "context": {"trace_id": text}, "attributes": {**span["attributes"], "input.value": text}}
        for text in texts
    ]
    (tmp_path / "spans.jsonl").write_text("\n".join(map(json.dumps, rows)))
    golden = GoldenSet(name="hotel", queries=(Query(id="q1", text="Is there wifi?", paraphrases=("Wifi?",)),))
    report = convert_run(tmp_path / "spans.jsonl", tmp_path / "run.jsonl", golden=golden, k=10)
    run = read_run_file(tmp_path / "run.jsonl")
    questions = [(trace.query, trace.paraphrase) for trace in run.traces]
    assert questions == [("q1", 1), ("q1", 0)], "the set asks it as it stands, too"
    assert (run.provenance.settings["k"], run.provenance.golden["name"]) == (10, "hotel")
    assert [note for note in report.notes if "not in golden set" in note]
    report = convert_run(tmp_path / "spans.jsonl", tmp_path / "all.jsonl")
    assert [trace.query for trace in read_run_file(tmp_path / "all.jsonl").traces] == ["Wifi?", "Who?"]
    assert report.notes == (
        f"{tmp_path}/spans.jsonl: no span says how many documents were asked for; k is taken as 1, "
        "the length of the longest list",
    )


@each(
    ("text", "message"),
    [
        ('{"karat":"run","format":2}\n{"end":true}\n', "lacks 'name'"),
        ('HEAD3\n{"end":true}\n', "is a run of format 3, and this karat reads 1 and 2"),
        ("HEAD\n" + '{"query":"q","text":"","ms":{},"hits":[]}\n', "the run was not finished"),
        ("HEAD\n" + '{"query":"q","text":"","ms":{},"hits":[]}\n' * 2 + '{"end":true}\n', "'q' is answered twice"),
        ('HEAD\n{"query":"q","text":"","ms":{},"hits":[{}]}\n{"end":true}\n', "line 2: is not a trace"),
        ('HEAD\n{"end":true}\n{"query":"q"}\n', "line 3: goes on after its end"),
        ("HEAD\n{", "line 2: is not valid JSON"),
        ('HEAD\n"\xff"\n', "is not UTF-8"),
        ("", "the file is empty"),
    ],
)
def test_a_damaged_run_leaves_no_file(tmp_path: Path, text: str, message: str) -> None:
    """One message, and the file that was there before stays."""
    write(tmp_path / "good.jsonl")
    head = (tmp_path / "good.jsonl").read_text().split("\n")[0]
    newer = head.replace('"format":2', '"format":3')
    (tmp_path / "run.jsonl").write_bytes(text.replace("HEAD3", newer).replace("HEAD", head).encode("latin-1"))
    (tmp_path / "out").write_text("before")
    with pytest.raises(InputError, match=message):
        convert_run(tmp_path / "run.jsonl", tmp_path / "out", "mlflow")
    assert (tmp_path / "out").read_text() == "before"
    assert {path.name for path in tmp_path.iterdir()} == {"good.jsonl", "run.jsonl", "out"}


def test_a_trec_run_that_lacks_a_query_becomes_a_run_that_karat_takes(tmp_path: Path, letters: GoldenSet) -> None:
    """What the file does not answer is written as failed, with a note; a format without such a trace leaves it out."""
    first, *others = (query.id for query in letters.queries)
    (tmp_path / "bm25.txt").write_text(f"{first} Q0 a 1 2.0 bm25\n")
    report = convert_run(tmp_path / "bm25.txt", tmp_path / "bm25.jsonl", golden=letters)
    run = read_run_file(tmp_path / "bm25.jsonl")
    require_complete(letters, run)
    assert [trace.query for trace in run.traces if trace.error == "not in the run"] == others
    assert any("not in the run, and written as failed" in note for note in report.notes)
    assert convert_run(tmp_path / "bm25.txt", tmp_path / "spans", "openinference", golden=letters).traces == 1


def test_what_contradicts_the_file_is_refused(tmp_path: Path) -> None:
    """A format that is none, a k of a run that has one, a k below the lists, and a folder."""
    write(tmp_path / "run.jsonl", TRACES[0])
    with pytest.raises(UsageError, match="no format of traces is called 'lang', did you mean 'langfuse'"):
        convert_run(tmp_path / "run.jsonl", tmp_path / "out", "lang")
    with pytest.raises(UsageError, match="k is in the file"):
        convert_run(tmp_path / "run.jsonl", tmp_path / "out", k=3)
    with pytest.raises(UsageError, match="k is in the file"):
        read_any_run(tmp_path / "run.jsonl", GoldenSet(), k=3)
    with pytest.raises(InputError, match="is a folder"):
        convert_run(tmp_path / "run.jsonl", tmp_path, "agent")
    (tmp_path / "run.txt").write_text("q1 Q0 wifi 1 2.5 mine\nq1 Q0 pool 2 1.5 mine\n")
    with pytest.raises(UsageError, match="k is 1, and a list has 2 hits"):
        convert_run(tmp_path / "run.txt", tmp_path / "out", k=1)
    convert_run(tmp_path / "run.txt", tmp_path / "out", "openinference", k=7)
    assert read_whole_run(tmp_path / "out").provenance.settings["k"] == 7
