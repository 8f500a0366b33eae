"""Every file that karat reads: it is read, or refused with one message. What can be written again reads back equal."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

import karat
from faults.fuzz.cases import Case
from faults.fuzz.checking import expect_karat_errors
from karat import golden, reports
from karat.config import read_config
from karat.core import (
    Document,
    GoldenSet,
    Hit,
    Judgment,
    KaratError,
    Place,
    Provenance,
    Query,
    Run,
    Session,
    Span,
    Target,
    Trace,
)
from karat.evaluation import score_run
from karat.experiments import append_log, plan_document, read_log, read_sweep
from karat.experiments._finished_runs import FinishedRuns
from karat.files import GitRepository, Reading
from karat.gate import Baseline, read_baseline, read_policy, write_baseline
from karat.golden.lint import check as lint
from karat.golden.lint import read_index
from karat.measures import read_classes, read_field
from karat.measures._files import find
from karat.measures._parquet_size import refuse_bomb
from karat.measures._text import read_like_trec_eval
from karat.projects import gate_run, open_project, report_document
from karat.projects._policy_document import policy_document
from karat.runs import RunWriter, read_any_run, read_begun, read_header, read_run_file
from karat.runs._runfile import _read_lines
from karat.start._repository import Repository
from karat.systems import HttpSystem, Stages, build
from karat.systems._stages import build_stage
from karat.systems.index import Lexical
from karat.systems.index._saved import Saved, save

GOLDEN = GoldenSet(
    name="hotel",
    version="1.2.0",
    documents=(
        Document(id="wifi", text="# Wifi\n\nThe code is 42.\n\n## Guests\n\nAsk at the desk.", title="Wifi"),
        Document(id="pool", text="The pool opens at six.", format="text", tags=("a",), metadata={"a": [1, None]}),
    ),
    queries=(
        Query(id="q1", text="What is the code?", paraphrases=("Wifi code?",), category="facts", answer="42",
              negatives=(Target(document="pool"),), must_show=("wifi",), session=Session(id="s", documents=("pool",))),
        Query(id="q2", text="When does the pool open?", category="times", type="factual", intent="pool"),
        Query(id="q3", text="Is there a gym?", answerable=False),
    ),
    judgments=(
        Judgment(query="q1", target=Target(document="wifi", span=Span(8, 24)), grade=3, annotator="ana"),
        Judgment(query="q2", target=Target(document="pool"), grade=2, confidence=0.5, date="2026-11-17"),
        Judgment(query="q2", target=Target(document="wifi"), grade=0),
    ),
)  # fmt: skip
PLAIN = replace(
    GOLDEN,
    queries=tuple(Query(id=query.id, text=query.text) for query in GOLDEN.queries[:2]),
    judgments=tuple(
        Judgment(query=judgment.query, target=Target(document=judgment.target.document), grade=1)
        for judgment in GOLDEN.judgments[:2]
    ),
    grades=("not relevant", "relevant"),
    relevant=1,
)
RUN = Run(
    provenance=Provenance(name="mine", golden=golden.identify(GOLDEN), system={"kind": "test"},
                          fingerprint="sha256:0", settings={"k": 10, "paraphrases": False, "repeat": 1}),
    traces=(
        Trace(query="q1", text="What is the code?", timings={"embed": 1.0, "total": 2.5}, hits=(
            Hit("wifi:chunk:0", 2.0, span=Span(0, 24), content="The code", channels={"lexical": Place(1, 3.5)}),
            Hit("pool", 1.0, section="S.1", stages={"fusion": 0.5}, locator="page 3"),
        )),
        Trace(query="q2", text="When does the pool open?", hits=(Hit("pool", 1.5),), timings={"total": 3.0}),
        Trace(query="q3", text="Is there a gym?", error="timed out"),
    ),
)  # fmt: skip
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


def run(case: Case) -> None:
    """Read the files of a case."""
    with work_folder() as folder:
        case.write(folder)
        KINDS[case.kind](folder)


@contextmanager
def work_folder() -> Iterator[Path]:
    """Make a folder, in memory where the system has one there, and remove it."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="karat-fuzz-", dir=memory if memory.is_dir() else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def first_file(folder: Path) -> Path:
    """Return the set of a case: the folder ``set``, or else the first file."""
    return folder / "set" if (folder / "set").is_dir() else min(folder.iterdir(), default=folder / "missing")


def read_golden(format: str | None) -> Callable[[Path], None]:
    """Return a reader of golden sets that sends what it reads through karat's own format and back."""

    def read(folder: Path) -> None:
        result = golden.read(first_file(folder), format)
        golden.fingerprint(result)
        target = folder / "written"
        try:
            golden.write(result, target)
        except KaratError:
            return
        assert replace(golden.read(target), notes=()) == replace(result, notes=()), "a set changes when it is written"

    return read


def lint_golden(folder: Path) -> None:
    lint(golden.read(first_file(folder)))


def read_documents(folder: Path) -> None:
    reading = Reading()
    golden.read_documents(first_file(folder), reading)
    reading.finish()


def read_run(folder: Path) -> None:
    """Read a run of any kind, write it as karat's own, read that, and score it."""
    path = first_file(folder)
    read_header(path), read_begun(path)
    run = read_any_run(path, GOLDEN)
    with RunWriter(folder / "again.jsonl", run.provenance) as writer:
        for trace in run.traces:
            writer.write(trace)
    assert read_run_file(folder / "again.jsonl").traces == run.traces, "a run changes when it is written"
    score_run(GOLDEN, run, ["RR@10", "nDCG@5"])


def read_own_run(folder: Path) -> None:
    """Read a run of karat's in the short way and in the long one, which have to agree."""
    path = first_file(folder)
    short = outcome(lambda: read_run_file(path).traces)
    if short is not None:
        long = outcome(lambda: _read_lines(path.read_bytes(), str(path))[1])
        assert short == long, "the short way reads another run"


def outcome(read: Callable[[], Any]) -> Any:
    """Return what is read, or None if it is refused."""
    try:
        return read()
    except KaratError:
        return None


def resume_run(folder: Path) -> None:
    """Go on with an unfinished run, whatever stands in it."""
    with RunWriter(folder / "run.jsonl", RUN.provenance) as writer:
        writer.write(Trace(query="q9", text="?"))
    read_run_file(folder / "run.jsonl")


def score_files(folder: Path) -> None:
    """Score two files; where the streaming reader is used, it gives the same."""
    paths = {path.name.partition(".")[0].partition("-")[0]: path for path in sorted(folder.iterdir())}
    if paths.keys() >= {"qrels", "run"}:
        karat.score(paths["qrels"], paths["run"], ["nDCG@5", "P@1", "AP", "NumRet"])


def read_lenient(folder: Path) -> None:
    read_like_trec_eval(find(first_file(folder), "trec"), {"q1"})


def read_pool_files(folder: Path) -> None:
    golden.merge(GOLDEN, [first_file(folder)], annotator="ben")


def read_own_baseline(folder: Path) -> None:
    """Read a baseline, write it, and read it again."""
    baseline = read_baseline(first_file(folder))
    write_baseline(baseline, folder / "again.json")
    again = read_baseline(folder / "again.json")
    write_baseline(again, folder / "third.json")
    assert (folder / "again.json").read_bytes() == (folder / "third.json").read_bytes(), "a baseline changes"


def read_project(folder: Path) -> None:
    """Read a configuration with all of its tables, without loading the code that it names."""
    config = read_config(folder)
    for use in (
        lambda: build_stage(Lexical, Stages.from_table(config.pipeline).lexical, "lexical"),
        lambda: build(HttpSystem, config.system, "system").describe() if config.system else None,
        lambda: policy_document(read_policy(None, config.gate, measures=config.eval.measures)),
    ):
        with expect_karat_errors():
            use()


def read_policy_file(folder: Path) -> None:
    policy = read_policy(str(first_file(folder)), {}, measures=["RR@10"], floors={"P@5": 0.5})
    reports.describe_policy(policy_document(policy))


def read_sweep_file(folder: Path) -> None:
    msgspec.json.encode(plan_document(read_sweep(first_file(folder), limit=50)))


def read_experiments(folder: Path) -> None:
    """Read a log and add an entry, which is read again."""
    path = first_file(folder)
    before = read_log(path)
    (added,) = append_log(path, [{"description": "fuzz", "results": {"RR@10": 0.25}}])
    after = read_log(path)
    assert after[: len(before)] == before, "entries change"
    assert added in {entry.id for entry in after}


def read_decision(folder: Path) -> None:
    """Read a decision, write it as JSON, and read that."""
    document = reports.read_document(str(first_file(folder)))
    if document is not None:
        (folder / "again.json").write_text(reports.render_json(document), encoding="utf-8")
        assert reports.read_document(str(folder / "again.json")) == document, "a decision changes when it is written"


def read_saved_index(folder: Path) -> None:
    with Saved(first_file(folder), "sha256:0", {"kind": "a"}) as saved:
        saved.array("numbers")
        saved.extract("extra", folder / "copy")


def read_parquet_size(folder: Path) -> None:
    refuse_bomb(find(first_file(folder), "parquet"))


def read_repository(folder: Path) -> None:
    repository = Repository(folder)
    for name in repository.find_requirements(folder):
        list(repository.read_requirements(name)), repository.read_table(name)


def read_checkout(folder: Path) -> None:
    repository = GitRepository(tree=folder, own=folder / "git", shared=folder / "git")
    with suppress(OSError, ValueError):  # whoever asks takes the commit for unknown
        repository.read_head(), repository.read_tags()


def gate(folder: Path) -> None:
    """Decide on a run of a project, and report on it."""
    project = open_project(folder)
    run = read_any_run(folder / "run.jsonl", project.golden)
    document = report_document(gate_run(project, run, baseline=folder / "baseline.json"))
    for render in (reports.render_text, reports.render_markdown, reports.render_html, reports.render_json):
        render(document)


KINDS: dict[str, Callable[[Path], object]] = {
    "golden": read_golden(None),
    **{f"golden-{known.name}": read_golden(known.name) for known in golden.FORMATS},
    "lint": lint_golden,
    "documents": read_documents,
    "run": read_run,
    "own-run": read_own_run,
    "unfinished-run": resume_run,
    "runs": lambda folder: golden.read_runs([folder]),
    "score": score_files,
    "trec-eval": read_lenient,
    "classes": lambda folder: read_classes(first_file(folder)),
    "field": lambda folder: read_field(first_file(folder), "category"),
    "pool": read_pool_files,
    "index": lambda folder: read_index(first_file(folder)),
    "baseline": read_own_baseline,
    "config": read_project,
    "policy": read_policy_file,
    "sweep": read_sweep_file,
    "experiments": read_experiments,
    "finished": lambda folder: "a" in FinishedRuns(first_file(folder)),
    "decision": read_decision,
    "saved-index": read_saved_index,
    "parquet-size": read_parquet_size,
    "repository": read_repository,
    "checkout": read_checkout,
    "gate": gate,
}


def make_seeds() -> list[Case]:
    """Return a small right file of each kind, from karat's own writers or written by hand."""
    with work_folder() as folder:
        return [*_golden_seeds(folder), *_run_seeds(folder), *_other_seeds(folder)]


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
    for kind in ("run", "own-run", "runs"):
        yield Case(kind=kind, files={"run.jsonl": own})
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


def _other_seeds(folder: Path) -> Iterator[Case]:
    baseline = Baseline(evaluation=score_run(GOLDEN, RUN, ["RR@10", "nDCG@5"]), recorded="2026-11-17", forced="why")
    write_baseline(baseline, folder / "baseline.json")
    own = (folder / "baseline.json").read_bytes()
    fit = '{"version": "1", "recorded_at": "2026-11-17", "metrics": {"mrr": 1, "latency": {"p95": 9}}}'
    yield Case(kind="baseline", files={"baseline.json": own})
    yield Case(kind="baseline", files={"fit.json": fit.encode()})
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
    (folder / "project" / "karat.toml").write_text(CONFIG)
    project = open_project(folder / "project")
    document = report_document(gate_run(project, RUN, baseline=folder / "baseline.json"), created="2026-11-17")
    yield Case(kind="decision", files={"decision.json": reports.render_json(document).encode()})
