"""``karat score``: the table, JSON, files, several runs, groups, trials and classes."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import karat
from karat.cli import main

QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\nq3 0 d1 0\n"
GOOD = "q1 Q0 d1 1 2.0 t\nq1 Q0 d2 2 1.0 t\nq2 Q0 d1 1 3.5 t\nq3 Q0 d1 1 1 t\n"
POOR = "q1 Q0 d2 1 2.0 t\nq1 Q0 d1 2 1.0 t\nq2 Q0 d9 1 3.5 t\nq2 Q0 d1 2 3 t\nq9 Q0 d1 1 1 t\n"


class Cli:
    """karat's command line in this process."""

    def __init__(self, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]) -> None:
        self._patch = patch
        self._capture = capture

    def __call__(self, *arguments: str | Path, code: int = 0) -> str:
        """Run a command that ends with ``code``; return its standard output, or its message if there is an error."""
        self._patch.setattr(sys, "argv", ["karat", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = self._capture.readouterr()
        assert ended.value.code == code, err
        assert (out if code else err) == ""
        return err if code else out

    def json(self, *arguments: str | Path) -> Any:
        """Run a command that prints JSON, without NaN or infinities."""

        def refuse(constant: str) -> None:
            raise AssertionError(constant)

        return json.loads(self("score", *arguments, "--json"), parse_constant=refuse)


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Call the command line."""
    return Cli(monkeypatch, capsys)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with judgments and two runs."""
    for name, text in (("qrels.txt", QRELS), ("good.txt", GOOD), ("poor.txt", POOR)):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_json_has_its_shape(cli: Cli, files: Path) -> None:
    """``--json`` gives means with counts and reasons, at full precision, and values by query only when asked."""
    document = cli.json("qrels.txt", "good.txt", "-m", "nDCG@10", "-m", "P@3", "--per-query")
    assert document == {
        "qrels": "qrels.txt",
        "conventions": "karat",
        "runs": [
            {
                "name": "good.txt",
                "measures": {
                    "nDCG@10": {"mean": 1.0, "n": 2, "total": 3, "missing": {"no relevant documents": 1}},
                    "P@3": {"mean": 2 / 9, "n": 3, "total": 3, "missing": {}},
                },
                "not_in_run": [],
                "not_judged": 0,
                "queries": {
                    "q1": {"nDCG@10": 1.0, "P@3": 1 / 3},
                    "q2": {"nDCG@10": 1.0, "P@3": 1 / 3},
                    "q3": {"nDCG@10": None, "P@3": 0.0},
                },
            }
        ],
    }
    assert "queries" not in cli.json("qrels.txt", "good.txt")["runs"][0]


def test_bounds_over_unjudged_documents(cli: Cli, files: Path) -> None:
    """In q2 the unjudged d9 stands above d1: if it were relevant, RR would be 1 there instead of a half."""
    arguments = ("qrels.txt", "poor.txt", "-m", "RR", "-m", "nDCG@2", "-m", "Bpref", "--bounds")
    out = cli("score", *arguments)
    assert (
        "if unjudged documents were judged   worst     now    best  unjudged\n"
        "RR                                 0.5000  0.5000  0.7500         1\n"
    ) in out
    assert "\nBpref: no bounds, none are known\n" in out
    measures = cli.json(*arguments)["runs"][0]["measures"]
    assert measures["RR"]["bounds"] == {"worst": 0.5, "best": 0.75, "exact": True, "unjudged": 1}
    assert measures["nDCG@2"]["bounds"]["exact"]
    assert measures["Bpref"]["bounds"] == {
        "worst": None, "best": None, "exact": False, "unjudged": 1, "why": "none are known",
    }  # fmt: skip
    counted = cli.json("qrels.txt", "poor.txt", "-m", "Hits@2", "--bounds")["runs"][0]["measures"]["Hits@2"]
    assert (counted["sum"], counted["bounds"]["best"]) == (2.0, 3.0)
    two = cli("score", "qrels.txt", "good.txt", "poor.txt", "-m", "RR", "--bounds")
    assert "\ngood.txt\nif unjudged documents" in two
    refused = cli("score", "qrels.txt", "good.txt", "--bounds", "--pass-at", "1", code=2)
    assert "--bounds are those of single runs; leave out --pass-at" in refused


def test_what_bounds_leave_out_names_the_runs_on_a_page(cli: Cli, files: Path) -> None:
    """The same words about several runs stand there once."""
    arguments = ("qrels.txt", "good.txt", "poor.txt", "-m", "Bpref", "--bounds", "-o", "page.html")
    cli("score", *arguments)
    page = (files / "page.html").read_text()
    assert page.count("Bpref: no bounds, none are known") == 1
    assert "good.txt, poor.txt: Bpref: no bounds, none are known" in page


def test_json_has_full_precision(cli: Cli, files: Path) -> None:
    """Values in JSON are the doubles that the library gives."""
    scores = karat.score("qrels.txt", "poor.txt", ["nDCG", "AP"])
    (run,) = cli.json("qrels.txt", "poor.txt", "-m", "nDCG", "-m", "AP", "--per-query")["runs"]
    assert {name: cell["mean"] for name, cell in run["measures"].items()} == scores.mean()
    assert [{"query_id": query, **values} for query, values in run["queries"].items()] == scores.to_dicts()


def test_a_grade_above_those_of_golden_sets_is_noted(cli: Cli, files: Path) -> None:
    """It is scored, as trec_eval does it; but one 0 too many makes a gain that outweighs all others."""
    Path("qrels.txt").write_text("q1 0 d1 2\nq1 0 d2 255\n")
    assert "golden sets" not in cli("score", "qrels.txt", "good.txt")
    assert "highest_grade" not in cli.json("qrels.txt", "good.txt")
    Path("qrels.txt").write_text("q1 0 d1 2\nq1 0 d2 100000\n")
    note = (
        "qrels.txt: a grade is 100,000, and golden sets have none above 255: gains such as those of nDCG grow with it"
    )
    assert cli("score", "qrels.txt", "good.txt", "poor.txt").count(note) == 1
    assert cli.json("qrels.txt", "good.txt")["highest_grade"] == 100000


def test_a_mean_of_nothing_is_null(cli: Cli, files: Path) -> None:
    """Where no query has a value, JSON has null and a reason, and the table a dash."""
    Path("qrels.txt").write_text("q1 0 d1 0\n")
    cell = cli.json("qrels.txt", "good.txt", "-m", "AP")["runs"][0]["measures"]["AP"]
    assert cell == {"mean": None, "n": 0, "total": 1, "missing": {"no relevant documents": 1}}
    assert cli("score", "qrels.txt", "good.txt", "-m", "AP").splitlines()[1].split() == ["AP", "-", "0/1"]


def test_measures_behind_a_comma_are_several(cli: Cli, files: Path) -> None:
    """Tools that take a list get one; commas between parameters are none of it."""
    error = cli("score", "qrels.txt", "good.txt", "-m", "nDCG@10,AP", code=2)
    assert error == "karat: 'nDCG@10,AP' names several measures; write -m nDCG@10 -m AP\n"
    assert "nDCG" in cli("score", "qrels.txt", "good.txt", "-m", "nDCG(gain='exp', judged_only=True)@10")


def test_repeated_documents_are_noted(cli: Cli, files: Path) -> None:
    """The note has the number of hits that were left out and of queries they are in; so has the JSON."""
    Path("log.jsonl").write_text(
        '{"qid": "q1", "topk": ["d1:chunk:0", "d1:chunk:1", "d2", "d1:chunk:2"]}\n'
        '{"qid": "q2", "topk": ["d1"]}\n{"qid": "q3", "topk": ["d1"]}\n'
    )
    text = cli("score", "qrels.txt", "log.jsonl", "-m", "P@1")
    note = "log.jsonl: 2 hits of documents that rank higher already, left out, in 1 query\n"
    assert text.endswith(f"\n\n{note}")
    assert cli.json("qrels.txt", "log.jsonl")["runs"][0]["repeated"] == {"hits": 2, "queries": 1}
    assert "repeated" not in cli.json("qrels.txt", "good.txt")["runs"][0]


def test_json_is_ascii_on_one_line(cli: Cli, files: Path) -> None:
    """JSON is escaped to ASCII, so that no encoding and no control character can spoil it."""
    Path("qrels.txt").write_text("\u95ee\x9b\x1b[31m 0 d1 1\n")
    Path("good.txt").write_text("\u95ee\x9b\x1b[31m Q0 d1 1 1 t\n")
    text = cli("score", "qrels.txt", "good.txt", "--json", "--per-query")
    assert text.isascii()
    assert text.rstrip("\n").isprintable()
    assert list(json.loads(text)["runs"][0]["queries"]) == ["\u95ee\x9b\x1b[31m"]


def test_the_table_of_one_run(cli: Cli, files: Path) -> None:
    """One run gives one column; what its numbers leave out is said below."""
    assert cli("score", "qrels.txt", "poor.txt", "-m", "nDCG@10", "-m", "P@1") == (
        "measure  poor.txt  queries\n"
        "nDCG@10    0.6309      2/3\n"
        "P@1        0.0000      3/3\n"
        "\n"
        "poor.txt: 1 query without a value (no relevant documents), left out of nDCG@10\n"
        "poor.txt: 1 query judged but not in the run, scored as an empty list: q3\n"
        "poor.txt: 1 query in the run without judgments, ignored\n"
    )


def test_the_best_of_several_runs_is_marked(cli: Cli, files: Path) -> None:
    """Of several runs the best value is marked: the lowest where lower is better, and none of counts.

    Nothing is marked where the means are over different numbers of queries.
    """
    measures = ["nDCG@10", "InvRate", "Hole@2", "RBPres", "NumRet", "R@100"]
    text = cli("score", "qrels.txt", "poor.txt", "good.txt", *(w for m in measures for w in ("-m", m)))
    marked = {line.split()[0]: ["*" in cell for cell in line.split()[1:3]] for line in text.splitlines()[1:7]}
    assert marked == {
        "nDCG@10": [False, True],
        "InvRate": [False, False],
        "Hole@2": [False, False],
        "RBPres": [False, True],
        "NumRet": [False, False],
        "R@100": [True, True],
    }
    means = cli.json("qrels.txt", "poor.txt", "good.txt", *(w for m in measures for w in ("-m", m)))["runs"]
    for name, low_is_better in (("nDCG@10", False), ("RBPres", True)):
        values = [run["measures"][name]["mean"] for run in means]
        assert marked[name][int(np.argmin(values) if low_is_better else np.argmax(values))]


def test_nothing_is_marked_for_one_run(cli: Cli, files: Path) -> None:
    """One run is neither best nor worst."""
    assert "*" not in cli("score", "qrels.txt", "good.txt")


@pytest.mark.slow
def test_large_counts_are_printed_in_full(cli: Cli, files: Path) -> None:
    """A count of seven digits is not rounded to six."""
    numbers = np.arange(1_234_569)
    run = pl.DataFrame({"query_id": numbers % 3 + 1, "doc_id": numbers, "score": numbers})
    run.with_columns(query_id=pl.format("q{}", "query_id"), doc_id=pl.format("d{}", "doc_id")).write_parquet(
        "run.parquet"
    )
    assert " 1234569 " in cli("score", "qrels.txt", "run.parquet", "-m", "NumRet")


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        (["a/run.txt", "b/run.txt"], ["a/run.txt", "b/run.txt"]),
        (["x/a/run.txt", "x/b/run.txt", "other.txt"], ["a/run.txt", "b/run.txt", "other.txt"]),
        (["a/run.txt", "a/run.txt"], ["a/run.txt", "a/run.txt (2)"]),
        (["a/run.txt", "./a/run.txt", "b/run.txt"], ["a/run.txt", "a/run.txt (2)", "b/run.txt"]),
        (["a/run.txt", "x/a/run.txt"], ["a/run.txt", "x/a/run.txt"]),
        (["a/run.txt", "other.txt"], ["run.txt", "other.txt"]),
    ],
)
def test_runs_of_the_same_name_are_told_apart(cli: Cli, files: Path, runs: list[str], names: list[str]) -> None:
    """As much of the path is shown as tells runs apart, and the same run twice is numbered."""
    for run in runs:
        Path(run).parent.mkdir(parents=True, exist_ok=True)
        Path(run).write_text(GOOD)
    assert [run["name"] for run in cli.json("qrels.txt", *runs)["runs"]] == names
    heading = cli("score", "qrels.txt", *runs).splitlines()[0]
    assert all(name in heading for name in names)


def test_long_names_of_runs_stay_apart(cli: Cli, files: Path) -> None:
    """Two runs whose shortened names are the same are numbered in the table."""
    paths = [f"{'experiment' * 4}{letter}{'variant' * 4}.txt" for letter in "ab"]
    for path in paths:
        Path(path).write_text(GOOD)
    heading = cli("score", "qrels.txt", *paths).splitlines()[0].split("  ")
    assert len({cell.strip() for cell in heading if "exp" in cell}) == 2


def test_a_run_may_come_from_standard_input(cli: Cli, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``-`` stands for standard input, for judgments or one run."""
    for arguments, text in ((("-", "good.txt"), QRELS), (("qrels.txt", "-"), GOOD)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        (run,) = cli.json(*arguments, "-m", "P@1")["runs"]
        assert run["measures"]["P@1"]["mean"] == 2 / 3
    assert run["name"] == "standard input"


def test_process_substitution_works(files: Path) -> None:
    """Both files may come through the shell's <(command)."""
    line = f"{sys.executable} -m karat score <(cat qrels.txt) <(gzip -c good.txt) -m P@1 --json"
    process = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=600, check=True)
    assert json.loads(process.stdout)["runs"][0]["measures"]["P@1"]["mean"] == 2 / 3


def test_values_by_query(cli: Cli, files: Path) -> None:
    """``--per-query`` adds a table of all queries for each run."""
    text = cli("score", "qrels.txt", "good.txt", "poor.txt", "-m", "AP", "--per-query")
    assert "good.txt by query\nquery      AP\nq1     1.0000\nq2     1.0000\nq3          -\n" in text
    assert "poor.txt by query\nquery      AP\nq1     0.5000\nq2     0.5000\nq3          -\n" in text


def test_means_by_a_field(cli: Cli, files: Path) -> None:
    """``--by`` gives means by a field of the queries, which stands in their table or in the judgments."""
    Path("queries.jsonl").write_text('{"_id": "q1", "metadata": {"kind": "a"}}\n{"_id": "q2", "kind": "b"}\n')
    options = ["--by", "kind", "--queries", "queries.jsonl", "-m", "P@1"]
    groups = cli.json("qrels.txt", "good.txt", *options)["runs"][0]["by"]["kind"]
    assert {value: group["measures"]["P@1"]["mean"] for value, group in groups.items()} == {"a": 1, "b": 1, "": 0}
    assert "good.txt by kind\nkind       P@1  queries\n(none)  0.0000      1/1\na       1.0000      1/1\n" in (
        cli("score", "qrels.txt", "good.txt", *options)
    )
    assert cli.json("qrels.txt", "good.txt", *options, "--format", "trec")
    Path("qrels.csv").write_text("qid,doc,rel,kind\nq1,d1,1,a\nq2,d1,1,b\n")
    groups = cli.json("qrels.csv", "good.txt", "--by", "kind", "-m", "P@1")["runs"][0]["by"]["kind"]
    assert list(groups) == ["a", "b"]


def test_repeated_trials(cli: Cli, files: Path) -> None:
    """``--pass-at`` takes the runs as trials of one system."""
    (run,) = cli.json("qrels.txt", "good.txt", "poor.txt", "--pass-at", "2", "-m", "P@1")["runs"]
    assert run["name"] == "2 trials"
    assert {name: cell["mean"] for name, cell in run["measures"].items()} == {
        "pass@2(P@1>=1)": 2 / 3,
        "pass^2(P@1>=1)": 0.0,
    }
    assert "pass@2(P@1>=1)" in cli("score", "qrels.txt", "good.txt", "poor.txt", "--pass-at", "2", "-m", "P@1")


def test_classes_of_documents(cli: Cli, files: Path) -> None:
    """``--classes`` lets documents stand for each other."""
    Path("classes.txt").write_text("d1 A\nd9 A\n")
    (run,) = cli.json("qrels.txt", "poor.txt", "--classes", "classes.txt", "-m", "RR", "--per-query")["runs"]
    assert run["queries"]["q2"] == {"RR": 1.0}


def test_conventions_are_named(cli: Cli, files: Path) -> None:
    """What a convention computed under a name is said in the table and in JSON."""
    arguments = ["qrels.txt", "good.txt", "--conventions", "rig", "-m", "nDCG@5"]
    document = cli.json(*arguments)
    assert document["conventions"] == "rig"
    assert document["runs"][0]["measures"]["nDCG@5"]["definition"] == "nDCG(gain='exp')@5"
    assert "conventions rig: nDCG@5 is nDCG(gain='exp')@5" in cli("score", *arguments)


def test_a_field_and_ids_are_harmless_on_the_terminal(cli: Cli, files: Path) -> None:
    """Control characters and huge ids from files are escaped and cut wherever they are printed."""
    evil = "\x1b]0;title\x07\x9b2J\u202e"
    Path("q.json").write_text(json.dumps({evil: {"d1": 1}, "x" * 1_000_000: {"d1": 1}, f"{evil}2": {"d1": 1}}))
    Path(f"{evil}.json").write_text(json.dumps({evil: {"d1": 1}, "x" * 1_000_000: {"d1": 1}}))
    Path("f.json").write_text(json.dumps([{"qid": evil, evil: evil}]))
    text = cli("score", "q.json", f"{evil}.json", "--per-query", "--by", evil, "--queries", "f.json")
    assert "\\x1b]0;title\\x07\\x9b2J\\u202e" in text
    assert all(line.isprintable() for line in text.split("\n"))
    assert max(map(len, text.split("\n"))) < 300
    Path("bad.json").write_text(json.dumps({evil: {evil: evil}}))
    for arguments in (("bad.json", "q.json"), (f"{evil}/nope", "q.json"), ("q.json", f"{evil}.json", f"--{evil}")):
        message = cli("score", *arguments, code=2)
        assert all(line.isprintable() for line in message.split("\n"))
        assert len(message) < 600


def test_output_is_written_to_a_file(cli: Cli, files: Path) -> None:
    """``--output`` writes what would be printed, as JSON if the name says so, and prints nothing."""
    wanted = cli("score", "qrels.txt", "good.txt")
    assert cli("score", "qrels.txt", "good.txt", "-o", "out.txt") == ""
    assert Path("out.txt").read_text() == wanted
    assert cli("score", "qrels.txt", "good.txt", "-o", "out.json") == ""
    assert json.loads(Path("out.json").read_text()) == cli.json("qrels.txt", "good.txt")
    assert cli("score", "qrels.txt", "good.txt", "-o", "-") == wanted
    assert sorted(path.name for path in files.iterdir()) == ["good.txt", "out.json", "out.txt", "poor.txt", "qrels.txt"]


def test_output_follows_a_link(cli: Cli, files: Path) -> None:
    """A link to a file stays a link, and its file is replaced."""
    (files / "folder").mkdir()
    Path("folder/real.json").write_text("old")
    Path("link.json").symlink_to("folder/real.json")
    cli("score", "qrels.txt", "good.txt", "-o", "link.json")
    assert Path("link.json").is_symlink()
    assert json.loads(Path("folder/real.json").read_text())


def test_output_may_have_a_long_name(cli: Cli, files: Path) -> None:
    """The temporary file beside the output does not make its name too long."""
    name = "x" * 250 + ".json"
    cli("score", "qrels.txt", "good.txt", "-o", name)
    assert json.loads(Path(name).read_text())


def test_output_to_a_pipe_or_device_does_not_replace_it(cli: Cli, files: Path) -> None:
    """What the shell passes for >(command) is written to; a named pipe, which might wait for ever, is refused."""
    reader, writer = os.pipe()
    cli("score", "qrels.txt", "good.txt", "-o", f"/dev/fd/{writer}")
    os.close(writer)
    with os.fdopen(reader) as file:
        assert file.read() == cli("score", "qrels.txt", "good.txt")
    cli("score", "qrels.txt", "good.txt", "-o", "/dev/null")
    assert Path("/dev/null").is_char_device()
    os.mkfifo("pipe")
    assert "pipe: is a named pipe, not a file" in cli("score", "qrels.txt", "good.txt", "-o", "pipe", code=2)
    assert Path("pipe").is_fifo()


def test_output_does_not_overwrite_what_is_read(cli: Cli, files: Path) -> None:
    """A slip such as ``-o run.txt`` does not cost the run."""
    Path("link.txt").symlink_to("good.txt")
    for output in ("good.txt", "./good.txt", "link.txt", "qrels.txt"):
        assert "would overwrite an input" in cli("score", "qrels.txt", "good.txt", "-o", output, code=2)
    assert (Path("good.txt").read_text(), Path("qrels.txt").read_text()) == (GOOD, QRELS)


KILLED = """
import os, sys
import karat.cli
def kill(event, arguments):
    if event == {event!r} and {target!r} in str(arguments[0]):
        os.kill(os.getpid(), 9)
sys.addaudithook(kill)
sys.argv = ["karat", "score", "qrels.txt", "good.txt", "-o", "out.json"]
karat.cli.main()
"""


@pytest.mark.parametrize(("event", "target"), [("open", ".tmp"), ("os.rename", ".tmp")])
def test_a_kill_while_writing_leaves_the_old_file(files: Path, event: str, target: str) -> None:
    """A process that dies when it opens or renames its temporary file leaves the old output."""
    Path("out.json").write_text("old")
    code = KILLED.format(event=event, target=target)
    process = subprocess.run([sys.executable, "-c", code], timeout=600, capture_output=True)
    assert process.returncode == -signal.SIGKILL
    assert Path("out.json").read_text() == "old"


@pytest.mark.slow
def test_a_kill_at_any_time_leaves_the_old_file_or_the_new_one(files: Path) -> None:
    """Whenever a process is killed, its output is whole: the old or the new."""
    Path("qrels.json").write_text(json.dumps({f"q{i}": {"d1": 1} for i in range(10_000)}))
    Path("run.json").write_text(json.dumps({f"q{i}": {"d1": 1} for i in range(10_000)}))
    command = [sys.executable, "-m", "karat", "score", "qrels.json", "run.json", "--per-query", "-o", "out.json"]
    started = time.monotonic()
    subprocess.run(command, check=True, timeout=600)
    took = time.monotonic() - started
    new = Path("out.json").read_text()
    for share in (0.5, 0.7, 0.8, 0.9, 0.95, 1.0):
        Path("out.json").write_text("old")
        process = subprocess.Popen(command)
        time.sleep(took * share)
        process.kill()
        process.wait()
        assert Path("out.json").read_text() in ("old", new)


def test_ids_that_never_meet_are_noticed(cli: Cli, files: Path) -> None:
    """A run that names documents otherwise than the judgments scores 0, and the table says why that may be."""
    Path("run.txt").write_text("q1 Q0 D1 1 2.0 t\nq2 Q0 D1 1 1.0 t\n")
    assert "run.txt: no judged document was retrieved; do both" in cli("score", "qrels.txt", "run.txt", "-m", "P@1")
    assert "no judged document" not in cli("score", "qrels.txt", "good.txt", "-m", "P@1")


@pytest.mark.slow
def test_output_to_a_stream_keeps_what_was_written_before(files: Path) -> None:
    """``-o /dev/stdout`` and ``/dev/stderr`` add to a file that they are redirected to."""
    for stream, redirected in (("/dev/stdout", "> log.txt"), ("/dev/stderr", "2> log.txt")):
        line = f"{sys.executable} -m karat score qrels.txt good.txt -m P@1 -o {stream}"
        echo = "echo header" if stream == "/dev/stdout" else "echo header >&2"
        subprocess.run(["/bin/sh", "-c", f"({echo}; {line}) {redirected}"], check=True)
        lines = Path("log.txt").read_text().splitlines()
        assert lines[0] == "header"
        assert lines[1].startswith("measure")
