"""Small right files of every kind that karat reads, from its own writers or written by hand."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from faults.fuzz.cases import Case, work_folder
from faults.fuzz.samples import GOLDEN, PLAIN, RUN
from karat import golden, reports
from karat.core import (
    KaratError,
)
from karat.evaluation import score_run
from karat.gate import Baseline, write_baseline
from karat.labelling import Answer, QueuePlan, make_queue, open_desk, propose_labels, save_label
from karat.projects import gate_run, open_project, report_document
from karat.runs import RunWriter, convert_run, digest_run, write_opinions
from karat.schema import OpinionDocument
from karat.systems.index._saved import save
from karat.traces import TRACE_FORMATS

CONFIG = """[golden]
path = "set"
profile = "small"

[pipeline]
chunk = { name = "sentence", size = 64 }
lexical = { k1 = 1.2, b = 0.75 }
dense = false
depth = 20

[eval]
measures = ["RR@10", "nDCG@5"]
k = 10
repeat = 1
undefined = "exclude"

[gate]
extends = "default"
on_inconclusive = "pass"
must_pass = ["q1"]

[[gate.rules]]
metric = "RR@10"
max_drop_rel = 0.05
where = { category = "facts" }
"""
HTTP = '[system]\nurl = "http://localhost:1/x"\nhits = "data.hits"\nid = "id"\ntimeout = 5\nbody = { index = "a" }\n'
POLICY = """[gate]
extends = "default"
alpha = 0.05
must_pass = [{ query = "q1", metric = "RR@10", min = 0.5 }]

[[gate.rules]]
metric = "latency.p95"
max = 500
max_rise_rel = 0.2

[gate.operations]
failed = 0.1

[gate.list_below]
"RR@10" = 0.5
"""
SWEEP = """objective = "nDCG@5"
require_gain = true
description = "sizes"

[base]
"eval.k" = 5

[grid]
"pipeline.chunk.size" = [128, 256]
"pipeline.lexical.b" = [0.5, 0.75]
"""
VARIANTS = """[[variant]]
name = "a"
description = "b"
"pipeline.lexical" = { b = 0.5 }

[[variant]]
name = "c"
pipeline.depth = 9
"""
LOG = {
    "experiments": [
        {"id": "exp-001", "date": "2026-11-17", "description": "a", "config_changes": {"pipeline.depth": 9},
         "results": {"nDCG@5": 0.5, "recall_at_5": 1}, "verdict": "KEEP: better"}
    ]
}  # fmt: skip
TRACES = """{"qid": "q1", "query": "What is the code?", "seed": 1, "topk": [{"id": "wifi", "score": 0.8, \
"offsets": [8, 24], "type": "prose"}, "pool"], "index_hash": "a", "normaliser": "karat-1", "latency_ms": {"total": 2.5}}
{"qid": "q2", "event": "retrieval", "topk": [], "doc": "pool"}
{"qid": "q3", "error": "no"}
"""
SPANS = """[{"name": "dense", "context": {"trace_id": "7f", "span_id": "1"}, "parent_id": null, "start_time": \
"2026-11-17T09:00:00Z", "end_time": "2026-11-17T09:00:00.5Z", "status": {"status_code": "OK"}, "attributes": \
{"openinference.span.kind": "RETRIEVER", "input.value": "What is the code?", "session.id": "s", "retrieval.documents": \
[{"document": {"id": "wifi", "score": 0.5, "content": "The code", "metadata": {"a": 1}}}]}},
{"name": "s", "context": {"trace_id": "8f"}, "attributes": {"gen_ai.operation.name": "search_memory", \
"gen_ai.memory.query.text": "When?", "gen_ai.memory.records": "[{\\"id\\": \\"pool\\"}]", "gen_ai.request.top_k": 5}}]
"""
TOPICS = (
    "<top>\n<num> Number: 301\n<title> Crime &amp; Co\n<desc> Description:\nAll.\n<narr> Narrative:\nMore.\n</top>\n"
)
DOCS = "<DOC>\n<DOCNO> FT1 </DOCNO>\n<HEADLINE>\nPolio\n</HEADLINE>\n<TEXT>\n1 &lt; 2.\n<P>3</P>\n</TEXT>\n</DOC>\n"
SMART = ".I 1\n.T\nwing in a\nslipstream .\n.A\na. b.\n.B\nj. 25, 1958.\n.W\nan experimental study .\n.I 2\n.W\ntext\n"
BLOCKS = """{"qid": "Q1", "paraphrases": ["a", "b", "c"], "relevant": ["S.1.p.Bk1"], "anchor_section": "S.1", \
"negatives": ["S.2.p.Bk1"], "offsets": {"S.1.p.Bk1": [0, 9]}, "normaliser": "karat-1", "doc": "d"}
"""
DEEPEVAL = 'input,expected_output,context,name\n"What, now?",a,"one|two",q1\nb,,,q2\n'
RUNS = {
    "run.txt": "q1 Q0 wifi 1 2.5 tag\nq1 Q0 pool 2 1.5 tag\nq2 Q0 pool 1 3 tag\n",
    "run.csv": 'query_id,doc_id,score\nq1,wifi,2.5\nq1,"po,ol",1\nq2,pool,3\n',
    "run.tsv": "query-id\tcorpus-id\tscore\nq1\twifi\t2.5\nq2\tpool\t3\n",
    "run.json": '{"q1": {"wifi": 2.5, "pool": 1}, "q2": {"pool": 3}}',
    "run-2.json": '{"q1": ["wifi", "pool"], "q2": []}',
    "run.jsonl": '{"query_id": "q1", "doc_id": "wifi", "score": 2.5}\n{"qid": "q2", "doc_id": "pool", "score": 3}\n',
}
QRELS = {
    "qrels.txt": "q1 0 wifi 3\nq1 0 pool 0\nq2 0 pool 1\n",
    "qrels.csv": "query_id,doc_id,relevance,category\nq1,wifi,3,a\nq2,pool,1,b\n",
    "qrels.tsv": "q1\t0\twifi\t3\nq2\t0\tpool\t1\n",
    "qrels.json": '{"q1": {"wifi": 3, "pool": 0}, "q2": {"pool": 1}}',
    "qrels.jsonl": '{"query_id": "q1", "doc_id": "wifi", "rel": 3, "metadata": {"category": "a"}}\n',
}


def make_seeds() -> list[Case]:
    """Return a small right file of each kind, from karat's own writers or written by hand."""
    with work_folder() as folder:
        parts = _golden_seeds, _run_seeds, _judging_seeds, _other_seeds
        return [case for part in parts for case in part(folder)]


def make_desk(folder: Path) -> Case:
    """Return the files of a project in which two people label, and one proposes what they say."""
    project = folder / "labelled"
    golden.write(GOLDEN, project / "set")
    (project / "karat.toml").write_text('[golden]\npath = "set"\n')
    query, document = GOLDEN.queries[0].id, GOLDEN.documents[0].id
    (project / "rows.jsonl").write_text(json.dumps({"query": query, "document": document, "grade": None}) + "\n")
    desk = open_desk(project)
    make_queue(desk, QueuePlan(name="first", kind="rows", sources=(str(project / "rows.jsonl"),), overlap=1.0))
    save_label(desk, "first", "ana", Answer(query=query, document=document, grade=1, key="a"))
    propose_labels(desk, "first", by="ana", unfinished=True)
    (project / "labels" / "guidelines.md").write_text("Be fair.\n")
    files = read_files(project, "").items()
    return Case(kind="desk", files={name[1:]: data for name, data in files if "/." not in name})


def read_files(path: Path, prefix: str) -> dict[str, bytes]:
    """Return the files of a folder, or one file, under a name that begins with a prefix."""
    if path.is_file():
        return {prefix: path.read_bytes()}
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return {f"{prefix}/{file.relative_to(path).as_posix()}": file.read_bytes() for file in files}


def _golden_seeds(folder: Path) -> Iterator[Case]:
    for known in golden.FORMATS:
        if known.write is not None:
            for i, golden_set in enumerate((GOLDEN, PLAIN)):
                target = folder / f"{known.name}{i}"
                try:
                    golden.write(golden_set, target, known.name)
                except KaratError:  # not every format holds every set
                    continue
                files = read_files(target, "set" if known.folder else "golden.jsonl")
                yield Case(kind=f"golden-{known.name}", files=files)
                yield Case(kind="golden", files=files)
                yield Case(kind="lint", files=files)
    techniques = [_attack("attack-pattern", f"T{n}") for n in range(5)]
    group = _attack("intrusion-set", "G1")
    uses = [
        {"type": "relationship", "id": f"r{i}", "relationship_type": "uses", "source_ref": group["id"],
         "target_ref": technique["id"]}
        for i, technique in enumerate(techniques)
    ]  # fmt: skip
    bundle = json.dumps({"type": "bundle", "id": "b", "objects": [*techniques, group, *uses]}).encode()
    yield Case(kind="golden-attack", files={"attack.json": bundle})
    smart = {"set/cran.all": SMART, "set/cran.qry": ".I 001\n.W\nheat ?\n", "set/cranqrel": "1 1 2\n1 2 -1\n"}
    yield Case(kind="golden-smart", files=encode_all(smart))
    trec = {
        "set/topics.1": TOPICS,
        "set/ft.dat": DOCS,
        "set/qrels": "301 0 FT1 1\n",
        "set/scale.toml": "relevant = 1\n",
    }
    yield Case(kind="golden-trec", files=encode_all(trec))
    yield Case(kind="golden-blocks", files=encode_all({"blocks.jsonl": BLOCKS}))
    yield Case(kind="golden-deepeval", files=encode_all({"goldens.csv": DEEPEVAL}))
    table = 'id;question;documents;grade;answerable\nq1;open?;hours,contact;2;\nq2;maps?;["a", "b"];1;true\n'
    yield Case(kind="golden-table", files=encode_all({"desk.csv": table}))
    yield Case(
        kind="documents", files=encode_all({"set/a.md": "# A\n\nb", "set/b/c.json": '{"a": ["b"]}', "set/d.txt": "e"})
    )
    rows = '{"id": "a", "text": "b", "title": "c", "metadata": {"d": 1}}\n{"_id": 7, "contents": "e"}\n'
    yield Case(kind="documents", files=encode_all({"rows.jsonl": rows}))
    yield Case(kind="index", files=encode_all({"ids.txt": 'a\nb\n{"id": "c"}\n{"doc_id": 7}\n'}))
    pooled = '{"query": "q1", "document": "pool", "grade": 1, "text": "x"}\n{"query": "q2", "document": "wifi"}\n'
    yield Case(kind="pool", files=encode_all({"pool.jsonl": pooled}))


def _attack(kind: str, name: str) -> dict[str, Any]:
    references = [{"source_name": "mitre-attack", "external_id": name}]
    about = {"name": name, "description": f"About {name}.(Citation: A)", "external_references": references}
    return {"type": kind, "id": f"{kind}--{name}", **about}


def encode_all(texts: dict[str, str]) -> dict[str, bytes]:
    """Return texts as the contents of files."""
    return {name: text.encode() for name, text in texts.items()}


def write_run(path: Path) -> bytes:
    """Write the run as karat does, with a fixed time, and return it."""
    origin = replace(RUN.provenance.origin, begun="2026-11-17T00:00:00.000Z", label="a")
    with RunWriter(path, replace(RUN.provenance, origin=origin)) as writer:
        for trace in RUN.traces:
            writer.write(trace)
    return path.read_bytes()


def _run_seeds(folder: Path) -> Iterator[Case]:
    own = write_run(folder / "own.jsonl")
    for kind in ("run", "own-run", "runs", "convert"):
        yield Case(kind=kind, files={"run.jsonl": own})
    for name in TRACE_FORMATS:
        convert_run(folder / "own.jsonl", folder / "spans.jsonl", name)
        for kind in ("run", "convert"):
            yield Case(kind=kind, files={"spans.jsonl": (folder / "spans.jsonl").read_bytes()})
    yield Case(kind="convert", files={"spans.json": SPANS.encode()})
    yield Case(kind="unfinished-run", files={"run.jsonl.part": own.removesuffix(b'{"end":true}\n')})
    for kind in ("run", "runs"):
        yield Case(kind=kind, files={"traces.jsonl": TRACES.encode()})
    for name, text in RUNS.items():
        yield Case(kind="run", files={name: text.encode()})
        for judged, grades in QRELS.items():
            if Path(judged).suffix == Path(name).suffix or name == "run.txt":
                yield Case(kind="score", files={judged: grades.encode(), name: text.encode()})
    yield Case(kind="score", files={"qrels.txt": QRELS["qrels.txt"].encode(), "run.jsonl": own})
    packed = gzip.compress(RUNS["run.txt"].encode(), mtime=0)
    yield Case(kind="score", files={"qrels.txt": QRELS["qrels.txt"].encode(), "run.gz": packed})
    yield Case(kind="trec-eval", files={"run.txt": RUNS["run.txt"].encode()})
    for name, text in {
        "classes.json": '{"A": ["a", "b"], "c": "B"}',
        "classes.csv": "a,A\nb,A\n",
        "classes.txt": "a A\n",
    }.items():
        yield Case(kind="classes", files={name: text.encode()})
    for name in ("qrels.csv", "qrels.jsonl"):
        yield Case(kind="field", files={name: QRELS[name].encode()})
    buffer = io.BytesIO()
    pl.DataFrame({"query_id": ["q1", "q2"], "doc_id": ["a", "b"], "score": [1.0, 2.0]}).write_parquet(buffer)
    yield Case(kind="parquet-size", files={"run.parquet": buffer.getvalue()})


def _judging_seeds(folder: Path) -> Iterator[Case]:
    own = write_run(folder / "judged.jsonl")
    query = RUN.traces[0].query
    votes: tuple[float | None, ...] = (1.0, 0.5, None)
    opinions = [
        OpinionDocument(query=query, judge="faithfulness", value=value, reason="no JSON", vote=vote)
        for vote, value in enumerate(votes)
    ]
    write_opinions(folder / "judged.opinions", digest_run(own), {"faithfulness": "faithfulness:m@1"}, opinions)
    files = {"run.jsonl": own, "run.opinions": (folder / "judged.opinions").read_bytes()}
    yield Case(kind="opinions", files=files)
    yield Case(kind="rubric", files={"tone.md": b"version: 1\nscale: 1 to 5\n---\nIs it polite?\n"})
    grade = {"query": "q1", "document": "a", "grade": 2, "annotator": "ana"}
    rows = [grade, {**grade, "annotator": "m", "grade": 3, "source": "bootstrapped"}]
    yield Case(kind="labels", files={"labels.jsonl": "".join(json.dumps(row) + "\n" for row in rows).encode()})


def _other_seeds(folder: Path) -> Iterator[Case]:
    baseline = Baseline(evaluation=score_run(GOLDEN, RUN, ["RR@10", "nDCG@5"]), recorded="2026-11-17", forced="why")
    write_baseline(baseline, folder / "baseline.json")
    own = (folder / "baseline.json").read_bytes()
    fit = '{"version": "1", "recorded_at": "2026-11-17", "metrics": {"mrr": 1, "latency": {"p95": 9}}}'
    yield Case(kind="baseline", files={"baseline.json": own})
    yield Case(kind="baseline", files={"fit.json": fit.encode()})
    numbers = '"P@5": 0.4, "R@5": 1, "coverage": 0.7, "citation_accuracy": null, "\u0394S_med": 0.3, "\u0394S_p90": 0.5'
    yield Case(kind="baseline", files={"blocks.json": f'{{{numbers}, "bad_qids": ["q1"], "by_type": {{}}}}'.encode()})
    yield Case(kind="config", files={"karat.toml": CONFIG.encode()})
    yield Case(kind="config", files={"karat.toml": (CONFIG.partition("[pipeline]")[0] + HTTP).encode()})
    yield Case(
        kind="config", files={"pyproject.toml": b"[tool.karat.golden]\npath = 'set'\n[tool.karat.eval]\nk = 3\n"}
    )
    yield Case(kind="policy", files={"policy.toml": POLICY.encode()})
    yield Case(kind="sweep", files={"sweep.toml": SWEEP.encode()})
    yield Case(kind="sweep", files={"sweep.toml": VARIANTS.encode()})
    yield Case(kind="experiments", files={"experiments.json": json.dumps(LOG, indent=1).encode()})
    yield Case(kind="finished", files={"finished": b'\n"a"\n["b", "c"]\n'})
    (folder / "extra").write_bytes(b"extra")
    save(
        folder / "index",
        "sha256:0",
        {"kind": "a"},
        {"numbers": pl.Series([1.0, 2.0]).to_numpy()},
        {"extra": folder / "extra"},
    )
    yield Case(kind="saved-index", files={"index": (folder / "index").read_bytes()})
    requirements = {
        "requirements.txt": "-r other.txt\nkarat # a\n",
        "other.txt": "a==1\n",
        "pyproject.toml": "[project]\nname = 'a'\n",
    }
    yield Case(kind="repository", files=encode_all(requirements))
    commit = "0123456789" * 4
    refs = {
        "git/HEAD": "ref: refs/heads/main\n",
        "git/packed-refs": f"# pack\n{commit} refs/heads/main\n",
        "git/refs/tags/v1": commit,
    }
    yield Case(kind="checkout", files=encode_all(refs))
    golden.write(GOLDEN, folder / "project" / "set")
    files = read_files(folder / "project" / "set", "set")
    files |= {"karat.toml": CONFIG.encode(), "baseline.json": own, "run.jsonl": (folder / "own.jsonl").read_bytes()}
    yield Case(kind="gate", files=files)
    yield make_desk(folder)
    (folder / "project" / "karat.toml").write_text(CONFIG)
    project = open_project(folder / "project")
    document = report_document(gate_run(project, RUN, baseline=folder / "baseline.json"), created="2026-11-17")
    yield Case(kind="decision", files={"decision.json": reports.render_json(document).encode()})
