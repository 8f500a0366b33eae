"""Every verb that takes a run takes one of any kind."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import click
import polars as pl
import pytest

from cli.gate_project import main, make_gated_project, make_run
from cli.test_outputs import commands
from karat.cli._main import cli
from karat.core import Hit
from karat.runs import read_any_run
from karat.traces import TRACE_FORMATS

VERBS = {
    "baseline diff": ["baseline", "diff", "{run}", "--golden", "."],
    "baseline update": ["baseline", "update", "{run}", "--golden", ".", "--baseline", "other.json"],
    "compare": ["compare", "{run}", "runs/old.jsonl", "--golden", "."],
    "eval": ["eval", ".", "--run", "{run}"],
    "explain": ["explain", "{run}", "--golden", ".", "--no-ask"],
    "fuse": ["fuse", "{run}", "runs/old.jsonl"],
    "gate": ["gate", "{run}", "--golden", "."],
    "golden pool": ["golden", "pool", "{run}", "--golden", "."],
    "label queue": ["label", "queue", "first", "{run}", "--golden", "."],
    "power": ["power", "--run", "{run}", "--golden", "."],
    "report": ["report", "{run}", "--golden", "."],
    "runs convert": ["runs", "convert", "{run}", "converted.jsonl", "--golden", "."],
    "runs show": ["runs", "show", "{run}", "--golden", "."],
    "score": ["score", "qrels.txt", "{run}"],
    "show": ["show", "{run}", "q01", "--golden", "."],
    "trend": ["trend", "{run}", "runs/old.jsonl", "--golden", "."],
}
OPTIONS = {
    ("baseline rebase", "--from"): "a run of the accepted system, which another program's file cannot show to be one",
    ("online record", "--control"): "the name of a run that a store has",
    ("explain", "--against"): ["explain", "runs/old.jsonl", "--golden", ".", "--no-ask", "--against", "{run}"],
    ("power", "--against"): ["power", "--run", "runs/old.jsonl", "--golden", ".", "--against", "{run}"],
}
"""Options that name a run: how they are tried, or why not."""
JUDGING = {
    "judge prefer": ["judge", "prefer", "{run}", "runs/old.jsonl", "--golden", "."],
    "judge run": ["judge", "run", "{run}", "--golden", "."],
    "judge sample": ["judge", "sample", "{run}", "--golden", ".", "--output", "rows.jsonl"],
}
"""Verbs that look at answers, of which these runs have none."""
ELSEWHERE = {"judge bridge", "judge calibrate", "judge flakes", "judge show", "stability", "export"}
"""Verbs that need judged answers, repeats or MLflow; they have tests of their own."""
KINDS = ["karat", "trec", "json", "csv", "parquet", *sorted({*TRACE_FORMATS} - {"karat", "blocks"})]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A gated project with a run in every kind of file; its lists are shorter than what the baseline was asked for."""
    folder = tmp_path_factory.mktemp("kinds")
    golden_set = make_gated_project(folder, [1] * 12)
    own = make_run(folder, golden_set, [1] * 11 + [2], "karat")
    (folder / "qrels.txt").write_text("".join(f"{j.query} 0 {j.target.document} 1\n" for j in golden_set.judgments))
    lists: dict[str, tuple[Hit, ...]] = {
        trace.query: tuple(trace.hits) for trace in read_any_run(own, golden_set).traces
    }
    rows = [(query, hit.id, hit.score) for query, hits in lists.items() for hit in hits]
    (folder / "runs" / "trec.txt").write_text("".join(f"{q} Q0 {d} 1 {score} tag\n" for q, d, score in rows))
    scores = {query: {hit.id: hit.score for hit in hits} for query, hits in lists.items()}
    (folder / "runs" / "json.json").write_text(json.dumps(scores))
    frame = pl.DataFrame(rows, schema=["query", "document", "score"], orient="row")
    frame.write_csv(folder / "runs" / "csv.csv")
    frame.write_parquet(folder / "runs" / "parquet.parquet")
    for kind in KINDS[5:]:
        arguments = ["runs", "convert", str(own), str(folder / "runs" / f"{kind}.jsonl"), "--to", kind]
        assert main(arguments) == 0
    return folder


def test_every_verb_that_takes_a_run_is_tried() -> None:
    """A new verb stands in a table above, or this fails."""
    takes = {
        verb
        for verb, command in commands(cli)
        for parameter in command.params
        if (isinstance(parameter, click.Argument) and "RUN" in (parameter.metavar or "")) or "--run" in parameter.opts
    }
    assert takes == VERBS.keys() | JUDGING.keys() | ELSEWHERE
    named = {
        (verb, max(parameter.opts, key=len))
        for verb, command in commands(cli)
        for parameter in command.params
        if isinstance(parameter, click.Option) and parameter.metavar == "RUN" and "--run" not in parameter.opts
    }
    assert named == OPTIONS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_of_any_kind_is_taken(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    """It is read, and the verb does with it what it does with karat's own."""
    monkeypatch.chdir(project)
    (name,) = (str(path) for path in Path("runs").glob(f"{kind}.*"))
    tried = VERBS | {" ".join(name): words for name, words in OPTIONS.items() if isinstance(words, list)}
    for verb, words in tried.items():
        code = main([word.replace("{run}", name) for word in words])
        shown = capsys.readouterr()
        assert (code, "not used" in shown.out) == (0, False), (verb, shown.err)  # trend lists what it cannot read
        Path("converted.jsonl").unlink(missing_ok=True)
        Path("other.json").unlink(missing_ok=True)
        shutil.rmtree("labels", ignore_errors=True)
    for verb, words in JUDGING.items():
        code = main([word.replace("{run}", name) for word in words])
        message = capsys.readouterr().err
        assert (code, "answer" in message) == (2, True), (verb, message)


def test_shorter_lists_of_another_program_are_taken_as_complete(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file does not say how many hits were asked for; the decision says what was assumed."""
    monkeypatch.chdir(project)
    assert main(["gate", "runs/trec.txt", "--golden", "."]) == 0
    note = "the run has at most 4 hits for a query, and the baseline was asked for 10: it is taken as complete"
    assert note in capsys.readouterr().out
    assert main(["gate", "runs/karat.jsonl", "--golden", "."]) == 0
    assert "taken as complete" not in capsys.readouterr().out
