"""``karat fuse`` from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from karat import read_run
from karat.schema import json_schema

VERB = "fuse"
Run = Callable[..., tuple[str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder that holds three runs in three formats."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bm25.txt").write_text("q1 Q0 a 1 8 t\nq1 Q0 b 2 6 t\nq1 Q0 c 3 0 t\n")
    (tmp_path / "dense.json").write_text('{"q1": {"c": 0.9, "d": 0.5, "a": 0.4}, "q2": {"e": -0.1}}')
    (tmp_path / "third.csv").write_text("query_id,doc_id,score\nq2,e,3\nq2,f,4\n")
    return tmp_path


def test_rrf_is_printed_in_trecs_format(run: Run, folder: Path) -> None:
    """Without options it is RRF with k = 60; ranks count from 1, ties go by id, and the tag is the method."""
    out, _ = run("bm25.txt", "dense.json")
    both, first = repr(1 / 61 + 1 / 63), repr(1 / 62)
    assert out.splitlines() == [
        f"q1 Q0 c 1 {both} rrf",
        f"q1 Q0 a 2 {both} rrf",
        f"q1 Q0 d 3 {first} rrf",
        f"q1 Q0 b 4 {first} rrf",
        f"q2 Q0 e 1 {1 / 61!r} rrf",
    ]


def test_the_file_is_a_run(run: Run, folder: Path) -> None:
    """What is written can be read back and has the order that was written; standard output tells the counts."""
    out, _ = run("bm25.txt", "dense.json", "third.csv", "--method", "combmnz", "--norm", "minmax", "-o", "out.txt")
    assert out == "out.txt: 2 queries, 6 hits\n"
    assert read_run("out.txt").table()["q1"] == {"a": 2.0, "b": 0.75, "c": 2.0, "d": pytest.approx(0.2)}
    assert read_run("out.txt").table()["q2"] == {"e": 2.0, "f": 1.0}
    again, _ = run("out.txt", "bm25.txt", "--method", "combsum")
    assert again


@pytest.mark.parametrize("place", ["-", "/dev/stdout"])
def test_standard_output_holds_the_run_and_nothing_else(run: Run, folder: Path, place: str) -> None:
    """As without an option; no file is called -."""
    assert run("bm25.txt", "dense.json", "-o", place)[0] == run("bm25.txt", "dense.json")[0]
    assert not (folder / "-").exists()


def test_queries_that_a_run_lacks_are_counted(run: Run, folder: Path) -> None:
    """Only dense.json has q2."""
    _, err = run("bm25.txt", "dense.json", "-o", "out.txt")
    assert err == "karat: bm25.txt: lacks 1 of 2 queries\n"
    _, err = run("dense.json", "out.txt", "-o", "again.txt")
    assert err == ""


def test_all_options_together(run: Run, folder: Path) -> None:
    """Weights go by the order of the runs, depth cuts each query, and JSON says what was done."""
    out, _ = run(
        *("bm25.txt", "dense.json", "--method", "rrf", "--k", "0", "--weights", "0.25,2", "--norm", "minmax"),
        *("--depth", "2", "-o", "out.txt", "--json"),
    )
    assert json.loads(out) == {
        "written": "out.txt",
        "runs": ["bm25.txt", "dense.json"],
        "method": "rrf",
        "k": 0.0,
        "weights": {"bm25.txt": 0.25, "dense.json": 2.0},
        "depth": 2,
        "queries": 2,
        "hits": 3,
    }
    assert (folder / "out.txt").read_text() == f"q1 Q0 c 1 {0.25 / 3 + 2!r} rrf\nq1 Q0 d 2 1.0 rrf\nq2 Q0 e 1 2.0 rrf\n"


@pytest.mark.parametrize("method", ["rrf", "isr", "weighted", "combsum", "combmnz"])
@pytest.mark.parametrize("norm", ["minmax", "z", "rank"])
def test_every_method_takes_every_norm(run: Run, folder: Path, method: str, norm: str) -> None:
    """All combinations give a run of all documents."""
    out, _ = run("bm25.txt", "dense.json", "third.csv", "--method", method, "--norm", norm)
    assert sorted(line.split()[2] for line in out.splitlines()) == ["a", "b", "c", "d", "e", "f"]
    assert {line.split()[-1] for line in out.splitlines()} == {method}


def test_an_option_without_an_effect_is_told(run: Run, folder: Path) -> None:
    """Who normalises scores wants them added; rrf, the default, looks at ranks only."""
    _, err = run("bm25.txt", "dense.json", "--norm", "z")
    assert "--norm has no effect with --method rrf, only with weighted, combsum, combmnz" in err
    _, err = run("bm25.txt", "dense.json", "--method", "combsum", "--k", "60")
    assert "--k has no effect with --method combsum, only with rrf" in err
    _, err = run("bm25.txt", "dense.json", "--method", "weighted", "--norm", "z")
    assert "no effect" not in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bm25.txt",), "one run cannot be fused; name two or more"),
        (("bm25.txt", "bm25.txt"), "bm25.txt appears twice"),
        (("bm25.txt", "none.txt"), "none.txt: no such file"),
        (("bm25.txt", "dense.json", "--json"), "name the file of the run with --output"),
        (("bm25.txt", "dense.json", "-o", "bm25.txt"), "would overwrite an input"),
        (("bm25.txt", "dense.json", "--weights", "1"), "--weights 1: 1 for 2 runs"),
        (("bm25.txt", "dense.json", "--weights", "1,x"), "write numbers separated by commas"),
        (("bm25.txt", "dense.json", "--weights", "1,nan"), "a number from 0 to"),
        (("bm25.txt", "dense.json", "--method", "isr", "--weights", "1,2"), "isr takes no weights"),
        (("bm25.txt", "dense.json", "--k", "-1"), "k=-1"),
        (("bm25.txt", "dense.json", "--method", "borda"), "'borda' is not one of"),
        (("bm25.txt", "nan.txt"), "nan.txt, line 1: score 'nan' is not a finite number"),
        (("bm25.txt", "blank.json"), "id 'a b' holds a blank"),
    ],
)
def test_mistakes_are_one_message(run: Run, folder: Path, arguments: tuple[str, ...], message: str) -> None:
    """A mistake ends with exit code 2, says what it is, and writes nothing."""
    (folder / "nan.txt").write_text("q1 Q0 a 1 nan t\n")
    (folder / "blank.json").write_text('{"q1": {"a b": 1}}')
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    out, err = run(*arguments, code=2)
    assert message in err
    assert out == ""
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_a_run_file_of_karat_and_traces_can_be_fused(run: Run, folder: Path) -> None:
    """What ``karat eval`` wrote and what a retriever logged are runs like any other."""
    (folder / "eval.jsonl").write_text(
        '{"karat":"run","format":1,"name":"mine"}\n'
        '{"query":"q1","text":"?","hits":[{"id":"b:chunk:1","score":2,"document":"b"},{"id":"a","score":1}]}\n'
        '{"end":true}\n'
    )
    (folder / "traces.jsonl").write_text('{"qid": "q1", "topk": ["c:chunk:0", "c:chunk:4", "a"]}\n')
    out, _ = run("eval.jsonl", "traces.jsonl", "--method", "combsum", "--norm", "rank")
    assert out.splitlines() == ["q1 Q0 c 1 1.0 combsum", "q1 Q0 b 2 1.0 combsum", "q1 Q0 a 3 1.0 combsum"]


def test_a_folder_stands_for_its_runs(run: Run, folder: Path) -> None:
    """A folder of runs, and a project with such a folder, are fused as their files are; what is not a run is noted."""
    (folder / "project" / "runs").mkdir(parents=True)
    for name in ("bm25.txt", "dense.json"):
        (folder / "project" / "runs" / name).write_bytes((folder / name).read_bytes())
    expected = run("bm25.txt", "dense.json")[0]
    assert run("project/runs")[0] == run("project")[0] == expected
    (folder / "project" / "runs" / "x.jsonl.part").write_text("{")
    out, err = run("project")
    assert (out, err) == (
        expected,
        "karat: project/runs/x.jsonl.part: the run was not finished, left out\n"
        "karat: project/runs/bm25.txt: lacks 1 of 2 queries\n",
    )
    output = "project/runs/bm25.txt"
    assert "would overwrite an input" in run("project", "-o", output, code=2)[1]
    (folder / "project" / "runs" / "dense.json").unlink()
    assert "project/runs/bm25.txt is the only one; name two or more" in run("project/runs", code=2)[1]


def test_a_misspelt_method_has_a_suggestion(run: Run, folder: Path) -> None:
    """The message lists the methods and names the nearest."""
    assert "'rff' is not one of 'rrf', " in (err := run("bm25.txt", "dense.json", "--method", "rff", code=2)[1])
    assert "did you mean 'rrf'?" in err


def test_what_was_done_is_a_published_document(run: Run, folder: Path) -> None:
    """``--json`` has the type of its schema; parameters that the method does not use are left out."""
    for method, used in (("rrf", {"k", "weights"}), ("combsum", {"norm"})):
        out, _ = run("bm25.txt", "dense.json", "--method", method, "-o", "fused.txt", "--json")
        document = json.loads(out)
        jsonschema.validate(document, json_schema("fusion"))
        assert {"k", "weights", "norm"} & document.keys() == used
