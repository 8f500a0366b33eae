"""Every file that karat reads: it is read, or refused with one message. What can be written again reads back equal."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

import karat
from faults.fuzz.cases import Case, work_folder
from faults.fuzz.checking import expect_karat_errors
from faults.fuzz.reader_seeds import make_seeds
from faults.fuzz.samples import GOLDEN, RUN
from karat import golden, reports
from karat.config import read_config
from karat.core import (
    KaratError,
    Trace,
)
from karat.evaluation import score_run
from karat.experiments import append_log, plan_document, read_log, read_sweep
from karat.experiments._finished_runs import FinishedRuns
from karat.files import GitRepository, Reading
from karat.gate import read_baseline, read_policy, write_baseline
from karat.golden.lint import check as lint
from karat.golden.lint import read_index
from karat.judges import load_prompt, make_rubric_judge
from karat.labelling import measure_labels, measure_status, next_task, open_desk, show_proposal
from karat.measures import read_classes, read_field
from karat.measures._files import find
from karat.measures._parquet_size import refuse_bomb
from karat.measures._text import read_like_trec_eval
from karat.projects import gate_run, open_project, report_document
from karat.projects._policy_document import policy_document
from karat.projects.judging import calibrate_pool
from karat.runs import (
    RunWriter,
    convert_run,
    read_any_run,
    read_begun,
    read_header,
    read_run_file,
    read_whole_run,
)
from karat.runs._runfile import _read_lines
from karat.start._repository import Repository
from karat.systems import HttpSystem, Stages, build
from karat.systems._stages import build_stage
from karat.systems.index import Lexical
from karat.systems.index._saved import Saved

__all__ = ["KINDS", "make_seeds", "run"]


def run(case: Case) -> None:
    """Read the files of a case."""
    with work_folder() as folder:
        case.write(folder)
        KINDS[case.kind](folder)


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


def convert(folder: Path) -> None:
    """Write a run of any kind for tracing tools, which hold all of it, and read that."""
    path = first_file(folder)
    traces = read_whole_run(path).traces
    for name in ("openinference", "genai-memory", "mlflow", "langfuse"):
        convert_run(path, folder / "again", name)
        again = read_whole_run(folder / "again").traces
        assert sorted(again, key=_key) == sorted(traces, key=_key), f"a run changes when it is written as {name}"


def _key(trace: Trace) -> tuple[str, int, int]:
    return (trace.query, trace.paraphrase, trace.repeat)


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
    """Score a run by judgments, each in any format."""
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
    source = find(first_file(folder), "parquet")
    with source.open() as file:
        refuse_bomb(file, source.name)


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


def read_opinions(folder: Path) -> None:
    """Read a run with what judges say of it, and score that."""
    run = read_any_run(folder / "run.jsonl", GOLDEN)
    score_run(GOLDEN, run, ["Faithfulness", "JudgeNoise(name='faithfulness')"])


def read_rubric(folder: Path) -> None:
    make_rubric_judge("tone", first_file(folder), load_prompt("rubric"))


def read_labels(folder: Path) -> None:
    """Hold the grades of a machine against those of people, both from one file."""
    path = first_file(folder)
    calibrate_pool(path, path)


def read_desk(folder: Path) -> None:
    """Look at all that people label in a project."""
    desk = open_desk(folder)
    measure_status(desk)
    measure_labels(desk)
    next_task(desk, "first", "bo")
    show_proposal(desk, "1")


KINDS: dict[str, Callable[[Path], object]] = {
    "golden": read_golden(None),
    **{f"golden-{known.name}": read_golden(known.name) for known in golden.FORMATS},
    "lint": lint_golden,
    "documents": read_documents,
    "run": read_run,
    "own-run": read_own_run,
    "convert": convert,
    "unfinished-run": resume_run,
    "runs": lambda folder: golden.read_runs([folder]),
    "score": score_files,
    "trec-eval": read_lenient,
    "opinions": read_opinions,
    "rubric": read_rubric,
    "labels": read_labels,
    "desk": read_desk,
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
