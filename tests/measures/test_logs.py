"""Runs that karat or a retriever logged: read wherever a run is read, and the same scores as ``karat eval`` gives."""

from __future__ import annotations

import gzip
import json
import math
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import karat
from each import each
from karat import GoldenSet, Hit, InputError, Judgment, Query, Span, Target
from karat.core import Provenance, Run, Trace
from karat.evaluation import score_run
from karat.measures import trec_eval
from karat.measures._logs import rank_documents
from karat.runs import RunWriter

QRELS = {"q1": {"pool": 3, "spa": 1}, "q2": {"wifi": 2}, "q3": {"gym": 1}}
GOLDEN = GoldenSet(
    queries=tuple(Query(id=query, text=f"{query}?") for query in QRELS),
    judgments=tuple(
        Judgment(query=query, target=Target(document=document), grade=grade)
        for query, grades in QRELS.items()
        for document, grade in grades.items()
    ),
    relevant=1,
)
HITS = {
    # The second chunk of a document leaves no gap, and of two equal scores the first stands first.
    "q1": (
        Hit("bar", 2.5),
        Hit("pool:chunk:1", 2.0, span=Span(0, 9)),
        Hit("pool:chunk:7", 1.5),
        Hit("aaa", 1.0, content="\u00e9"),
        Hit("spa", 1.0),
    ),
    # The order is the system's own, whatever the scores say.
    "q2": (Hit("18", 0.25, "bar"), Hit("17", 0.5, "wifi")),
    "q3": (),
}
PROVENANCE = Provenance(name="mine", fingerprint="sha256:0")
MEASURES = ["nDCG@10", "RR@10", "R@2", "NumRet"]


def write_run(path: Path, traces: tuple[Trace, ...] | None = None) -> Path:
    """Write a run as ``karat eval`` does; q3 failed, and q1 was also asked again and in other words."""
    others = (
        Trace(query="q1", text="q1, please?", paraphrase=1, hits=(Hit("spa", 1.0),)),
        Trace(query="q1", text="q1?", repeat=1, hits=(Hit("spa", 1.0),)),
    )
    plain = tuple(
        Trace(query=query, text=f"{query}?", hits=hits, error="" if hits else "timed out")
        for query, hits in HITS.items()
    )
    with RunWriter(path, PROVENANCE) as writer:
        for trace in (*others, *plain) if traces is None else traces:
            writer.write(trace)
    return path


@each("name", ["mine.jsonl", "mine.json", "mine", "mine.jsonl.gz"])
def test_a_run_of_karat_scores_as_its_hits_do(tmp_path: Path, name: str) -> None:
    """The run file has the scores that ``karat eval`` computes for it, whatever the file is called."""
    path = write_run(tmp_path / "run.jsonl")
    data = path.read_bytes()
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    traces = tuple(Trace(query=query, text="", hits=hits) for query, hits in HITS.items())
    expected = score_run(GOLDEN, Run(provenance=PROVENANCE, traces=traces), MEASURES).scores
    scores = karat.score(QRELS, path, MEASURES)
    assert scores.to_dicts() == expected.to_dicts()
    assert scores.not_in_run == ()
    assert karat.score(QRELS, karat.read_run(path), MEASURES).to_dicts() == expected.to_dicts()


def test_a_run_of_karat_is_a_table_of_documents(tmp_path: Path) -> None:
    """Hits become documents, best first; scores are kept where they agree, and a failed query has no documents."""
    table = karat.read_run(write_run(tmp_path / "run.jsonl")).table()
    assert list(table["q1"]) == ["bar", "pool", "aaa", "spa"]
    assert list(table["q1"].values()) == [2.5, 2.0, 1.0, pytest.approx(1.0)]
    assert table["q1"]["spa"] < table["q1"]["aaa"]
    assert (table["q2"], table["q3"]) == ({"bar": 2.0, "wifi": 1.0}, {})


def test_trec_eval_takes_a_run_of_karat(tmp_path: Path) -> None:
    """The measures of trec_eval can be computed for it too; the tag is the name of the file."""
    path = write_run(tmp_path / "mine.jsonl")
    assert trec_eval(QRELS, path, ["runid", "recip_rank"]).split() == [
        "runid", "all", "mine.jsonl", "recip_rank", "all", "0.3333"
    ]  # fmt: skip


@pytest.mark.parametrize("cut", [1, 2, 12])
def test_an_unfinished_run_is_refused(tmp_path: Path, cut: int) -> None:
    """A run that was not finished would look like a worse system, so it is not scored."""
    data = write_run(tmp_path / "run.jsonl").read_bytes()
    part = tmp_path / "run.jsonl.part"
    part.write_bytes(data[: -len('{"end":true}\n') * (cut > 0) - (cut - 1)])
    with pytest.raises(InputError, match=r"line \d: the run is not finished; run 'karat eval' again to finish it"):
        karat.score(QRELS, part)


@each(
    ("line", "message"),
    [
        ('{"query":"q1","hits":[]}', "line 2: query 'q1' is answered twice"),
        ('{"query":"q9","hits":[{"id":"a","score":"1"}]}', "line 2: is not a trace: ValueError"),
        ('{"query":"q9","hits":[{"id":"","score":1}]}', "line 2: is not a trace: TypeError"),
        ('{"query":"q9"}', "line 2: is not a trace: KeyError('hits')"),
        ("[1]", "line 2: is not a trace: AttributeError"),
        ('{"query":"q9","hits":[{"id":"a","score":1e999}]}', "line 2: holds '1e999'"),
        ("{", "line 2: is no"),
    ],
)
def test_a_damaged_run_is_refused_by_its_line(tmp_path: Path, line: str, message: str) -> None:
    """What is not a trace is named by its line, and nothing is scored."""
    path = write_run(tmp_path / "run.jsonl", (Trace(query="q1", text="q1?"),))
    header, *rest = path.read_text().splitlines(keepends=True)
    order = [header, *rest[:1], line + "\n", *rest[1:]] if "twice" in message else [header, line + "\n", *rest]
    path.write_text("".join(order))
    with pytest.raises(InputError) as caught:
        karat.score(QRELS, path)
    assert message.replace("line 2", "line 3" if "twice" in message else "line 2") in str(caught.value)


def test_a_run_of_another_format_is_refused(tmp_path: Path) -> None:
    """A later karat may write another format, which this one does not guess at."""
    path = write_run(tmp_path / "run.jsonl")
    path.write_text(path.read_text().replace('"format":2', '"format":3'))
    with pytest.raises(InputError, match="is a run of format 3; this karat reads 1 and 2"):
        karat.score(QRELS, path)


def test_a_run_is_not_judgments_and_a_decision_is_not_a_run(tmp_path: Path) -> None:
    """Files in each other's place are named as what they are."""
    path = write_run(tmp_path / "run.jsonl")
    with pytest.raises(InputError, match=r"run.jsonl: is a run, not judgments; judgments come first, then runs"):
        karat.score(path, path)
    decision = tmp_path / "decision.json"
    decision.write_text('{\n "karat": "report", "format": 1}')
    with pytest.raises(InputError, match="is a decision, not a run; 'karat report' renders it"):
        karat.score(QRELS, decision)


def test_a_folder_names_its_newest_run(tmp_path: Path) -> None:
    """A project, or its folder of runs, in place of a run: the message has the name of the newest one."""
    runs = tmp_path / "runs"
    runs.mkdir()
    with pytest.raises(InputError, match=r"is a folder, not a file; name a file$"):
        karat.score(QRELS, tmp_path)
    for age, name in ((100, "old.jsonl"), (10, "new.jsonl"), (50, "middle.jsonl")):
        path = write_run(runs / name)
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime - age))
    for folder in (tmp_path, runs):
        with pytest.raises(InputError, match=r"name a file; the newest in .*runs is new\.jsonl"):
            karat.read_run(folder)


def traces(*records: Any) -> str:
    """Return the text of a trace file."""
    return "".join(json.dumps(record) + "\n" for record in records)


TRACES = (
    {"event": "index.build", "index_hash": "faiss:1", "ms": 7},
    {"qid": "q1", "topk": [{"id": "bar", "score": 2}, {"chunk_id": "pool:chunk:1", "similarity_score": 1.5},
                           {"id": "pool:chunk:2", "score": 1.25}, {"id": "7", "doc_id": "spa", "score": 1}]},
    {"qid": "q2", "query": "q2?", "seed": 2, "topk": ["bar"]},
    {"qid": "q2", "query": "q2?", "seed": 1, "topk": ["bar", "wifi:chunk:0"]},
    {"qid": "q2", "query": "q2, please?", "seed": 1, "paraphrase": 1, "topk": ["wifi"]},
    {"qid": "q3", "error": "timed out"},
)  # fmt: skip


def test_traces_are_a_run(tmp_path: Path) -> None:
    """Ids name documents, the lowest seed and the query as it stands count, and a failure is an empty list."""
    path = tmp_path / "traces.jsonl"
    path.write_text("\n" + traces(*TRACES))
    assert karat.read_run(path).table() == {
        "q1": {"bar": 2.0, "pool": 1.5, "spa": 1.0},
        "q2": {"bar": 2.0, "wifi": 1.0},
        "q3": {},
    }
    assert karat.score(QRELS, path, ["RR"]).to_dicts() == [
        {"query_id": "q1", "RR": 0.5},
        {"query_id": "q2", "RR": 0.5},
        {"query_id": "q3", "RR": 0.0},
    ]


def test_a_long_first_trace_is_recognised(tmp_path: Path) -> None:
    """A first line that is longer than what is looked at first is a trace all the same."""
    path = tmp_path / "log"
    path.write_text(traces({"qid": "q1", "topk": [{"id": "pool", "content": "x" * 100_000}]}))
    assert karat.read_run(path).table() == {"q1": {"pool": 1.0}}


@each(
    ("text", "message"),
    [
        (traces({"qid": "q1", "topk": ["a"]}, {"qid": "q1", "topk": ["b"]}), "line 2: query 'q1' is answered twice; "),
        (
            traces({"qid": "q1", "query": "x", "topk": []}, {"qid": "q1", "query": "y", "topk": []}),
            "line 2: query 'q1' is answered in several wordings; number the wordings with 'paraphrase'",
        ),
        (traces({"qid": "q1", "topk": [], "seed": -1}), "line 1: 'seed' is -1; it should be at least 0"),
        (traces({"topk": ["a"]}), "line 1: 'qid' is missing"),
        (traces({"qid": "q1", "index_hash": "x"}), "line 1: 'topk' is missing"),
        (traces({"qid": "q1", "error": "x", "topk": ["a"]}), "line 1: has an 'error' and hits in 'topk'"),
        (traces({"qid": "q1", "topk": [{"id": "a", "score": "1"}]}), "line 1: topk[0]: 'score' is '1', not a number"),
        (traces({"qid": "q1", "topk": []}, 5), "line 2: 5 is not an object"),
        (traces({"qid": "q1", "topk": []}) + "{", "line 2: is no"),
        (json.dumps([TRACES[1]]), "is not JSONL; write each trace on a line of its own"),
        (json.dumps(TRACES[1], indent=1), "is not JSONL; write each trace on a line of its own"),
        (traces({"event": "other", "index_hash": "x"}), "answers no query in its original wording"),
    ],
)
def test_bad_traces_are_refused(tmp_path: Path, text: str, message: str) -> None:
    """A trace that cannot be read as a ranking is an error that names its line."""
    path = tmp_path / "traces.jsonl"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        karat.score(QRELS, path)
    assert message in str(caught.value)


def test_the_scores_of_a_reranked_trace_are_read(tmp_path: Path) -> None:
    """``karat score`` reads the same names of a hit's score as ``karat eval --run``, the combined score first."""
    path = tmp_path / "traces.jsonl"
    hits = [
        {"id": "pool", "combined_score": 0.9, "similarity_score": 0.2},
        {"id": "spa", "rerank_score": 0.5, "similarity_score": 0.4},
    ]
    path.write_text(traces({"qid": "q1", "topk": hits}))
    assert karat.read_run(path).table() == {"q1": {"pool": 0.9, "spa": 0.5}}


LOWEST = -sys.float_info.max


@each(
    "scores",
    [(LOWEST, LOWEST, LOWEST), (1.0, LOWEST, LOWEST), (-math.inf, -math.inf, -math.inf), (math.inf, math.inf, 0.0)],
)
def test_scores_at_the_end_of_the_floats_do_not_tie(scores: tuple[float, ...]) -> None:
    """Equal scores below which there is no other number keep the order of the hits, with finite scores."""
    ranking = rank_documents(list(zip("bca", scores, strict=True)))
    assert list(ranking) == ["b", "c", "a"]
    assert sorted(set(ranking.values()), reverse=True) == list(ranking.values())
    assert all(map(math.isfinite, ranking.values()))


def test_repeated_documents_are_counted(tmp_path: Path) -> None:
    """The scores say how many hits were left out because their document ranks higher already, by judged query."""
    path = tmp_path / "traces.jsonl"
    rows = [
        {"qid": "q1", "topk": ["pool:chunk:1", "spa", "pool:chunk:2", "pool:chunk:3"]},
        {"qid": "q2", "topk": ["wifi", "bar"]},
        {"qid": "q3", "topk": ["gym:chunk:0", "gym:chunk:1"]},
        {"qid": "not judged", "topk": ["gym:chunk:0", "gym:chunk:1"]},
    ]
    path.write_text(traces(*rows))
    assert karat.score(QRELS, path).repeated == {"q1": 2, "q3": 1}
    assert karat.score(QRELS, karat.read_run(path)).repeated == {"q1": 2, "q3": 1}
    assert karat.score(QRELS, {"q1": {"pool": 1.0}}).repeated == {}
