"""``karat trec-eval`` as a script sees it: its output, its messages and its exit codes.

NIST's own tests, encodings and pipes have a process of their own each; what only depends on the arguments has none.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from each import each
from in_process import run_karat
from public_data import DATA, skip_without

NIST = DATA / "trec_eval"
needs_nist = skip_without("trec_eval")

QRELS = "1 0 a 1\n1 0 b 2\n1 0 c 0\n2 0 d 1\n3 0 e 1\n"
RUN = "1 Q0 a 1 3.5 first\n1\tQ0  x 2 2.5 first\n1 Q0 b 3 1.5 first\n2 Q0 d 1 1 last\n"


def start(
    *arguments: str | Path, stdin: bytes = b"", environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run ``karat trec-eval`` in a process of its own."""
    command = [sys.executable, "-m", "karat", "trec-eval", *map(str, arguments)]
    return subprocess.run(
        command, input=stdin, capture_output=True, check=False, timeout=600, env=os.environ | (environment or {})
    )


def run(*arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    """Run ``karat trec-eval`` in this process."""
    return run_karat("trec-eval", *arguments)


def output(*arguments: str | Path, stdin: bytes | None = None) -> str:
    """Return what a command prints; it should succeed and have nothing else to say."""
    process = run(*arguments) if stdin is None else start(*arguments, stdin=stdin)
    assert (process.returncode, process.stderr) == (0, b"")
    return process.stdout.decode()


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Judgments and a run."""
    qrels, results = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text(QRELS)
    results.write_text(RUN)
    return qrels, results


@pytest.mark.public_data
@needs_nist
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [([], "out.test"), (["-m", "all_trec"], "out.test.a"), (["-m", "all_trec", "-q"], "out.test.aq")],
)
def test_nist_s_own_tests(arguments: list[str], expected: str) -> None:
    """The output for NIST's test files is the one that trec_eval's own tests compare with, byte for byte."""
    process = start(*arguments, NIST / "qrels.test", NIST / "results.test")
    assert (process.returncode, process.stderr) == (0, b"")
    assert process.stdout == (NIST / expected).read_bytes()


@pytest.mark.public_data
@needs_nist
@pytest.mark.parametrize(
    ("arguments", "digest"),
    [
        # trec_eval's own test of parameters, and flags that its tests use on other files.
        (
            "-q -miprec_at_recall..10,.20,.25,.75,.50 -m P.5,7,3 -m recall.20,2000 -m Rprec_mult.5.0,0.2,0.35 "
            "-mutility.2,-1,0,0 -m 11pt_avg..25,.5,.75 -mndcg.1=3,2=9,4=4.5 -mndcg_cut.10,20,23.4 -msuccess.2,5,20",
            "491ffd9028ca6a96d240cf086e0a017222fddbcf1065168703c72c80a6c2754a",
        ),
        ("-q -c -m all_trec", "3d9b36a5491f043b8b821d21ada40279f59608941e8ebcf35a0780efeba71f64"),
        ("-q -J -m all_trec", "09d4adddf2014a4a8a4d7950c612e506dbfd0f663c64bb83ec1194e0d9bad018"),
        ("-q -M 20 -m all_trec -m relstring.20", "3c808b0880d48ed5d2e57ff7269848cf91b00c54436ad8df8e1d1c4f534b866b"),
        ("-cJ -M100 -l2 -m all_trec -m yaap", "661e78b61c2299710e0156bee75809018915da0682f6ef6c3d158c1c84e508b0"),
        (
            "-m set -N 1000 -m utility.1,-1,-0.5,0.25",
            "7a2019ebd5d9fbb45427687994ff392a1376c04e63158a9898ca8a2529661c2d",
        ),
    ],
)
def test_flags_and_parameters_on_nist_s_files(arguments: str, digest: str) -> None:
    """The output has the SHA-256 of what the compiled trec_eval 9.0.8 printed for the same arguments."""
    process = run(*arguments.split(), NIST / "qrels.test", NIST / "results.test")
    assert (process.returncode, process.stderr) == (0, b"")
    assert hashlib.sha256(process.stdout).hexdigest() == digest


def test_the_official_measures(files: tuple[Path, Path]) -> None:
    """Without flags the averages of the official measures are printed, the tag of the last line first."""
    lines = output(*files).splitlines()
    assert lines[:6] == [
        "runid                 \tall\tlast",
        "num_q                 \tall\t2",
        "num_ret               \tall\t4",
        "num_rel               \tall\t3",
        "num_rel_ret           \tall\t3",
        "map                   \tall\t0.9167",
    ]
    assert len(lines) == 30


@pytest.mark.parametrize(
    ("bundled", "apart"),
    [
        (["-qc", "-mmap"], ["-q", "-c", "-m", "map"]),
        (["-qcl2", "-mP.5,10", "-M100"], ["-q", "-c", "-l", "2", "-m", "P.5,10", "-M", "100"]),
        (["-nqmndcg.1=3.5,2=9"], ["-n", "-q", "-m", "ndcg.1=3.5,2=9"]),
        (["-Jmutility.1,-2,0,0", "-N9"], ["-J", "-m", "utility.1,-2,0,0", "-N", "9"]),
        (["-m11pt_avg", "-Rqrels", "-Ttrec_results"], ["-m", "11pt_avg", "-R", "qrels", "-T", "trec_results"]),
        (["--query_eval_wanted", "--measure=map", "--level_for_rel=2"], ["-q", "-m", "map", "-l", "2"]),
        (
            ["--complete_rel_info_wanted", "--nosummary", "--Judged_docs_only", "--Max_retrieved_per_topic", "1"],
            ["-c", "-n", "-J", "-M", "1"],
        ),
        (["--query", "--comp", "--meas=map", "--lev", "2"], ["-q", "-c", "-m", "map", "-l", "2"]),
        (["--nos", "--query", "--Jud", "--Max=1", "--Rel=qrels", "--Res", "trec_results"], ["-nqJ", "-M", "1"]),
    ],
)
def test_options_are_written_as_for_getopt(files: tuple[Path, Path], bundled: list[str], apart: list[str]) -> None:
    """Short options may be bundled and their values attached, long ones are trec_eval's, and files may come first."""
    expected = output(*apart, *files)
    assert output(*bundled, *files) == output(*files, *bundled) == expected


@pytest.mark.parametrize("option", ["-v", "--version", "--vers"])
def test_the_version_is_that_of_trec_eval(option: str) -> None:
    """The version is printed as trec_eval prints it: one line on standard error, and exit code 0."""
    process = run(option)
    assert (process.returncode, process.stdout, process.stderr) == (0, b"", b"trec_eval version 9.0.8\n")


def test_flags_do_what_they_say(files: tuple[Path, Path]) -> None:
    """-q adds queries, -c counts missing ones, -n leaves out averages, -l, -M and -J change what is seen."""
    start = "map                   \t"
    assert output("-qmmap", *files) == f"{start}1\t0.8333\n{start}2\t1.0000\n{start}all\t0.9167\n"
    assert output("-cmmap", *files) == f"{start}all\t0.6111\n"
    assert output("-nmmap", *files) == ""
    assert output("-l2", "-mmap", *files) == f"{start}all\t0.1667\n"
    assert output("-M1", "-mmap", *files) == f"{start}all\t0.7500\n"
    assert output("-Jmmap", *files) == f"{start}all\t1.0000\n"


@pytest.mark.slow
def test_a_run_may_come_through_a_pipe_or_gzipped(files: tuple[Path, Path], tmp_path: Path) -> None:
    """Standard input, a device that is a pipe, and a gzipped file give the same bytes as the file."""
    qrels, results = files
    packed = tmp_path / "run.gz"
    packed.write_bytes(gzip.compress(results.read_bytes()))
    expected = output("-q", *files)
    assert output("-q", qrels, packed) == expected
    assert output("-q", qrels, "-", stdin=results.read_bytes()) == expected
    assert output("-q", qrels, "/dev/stdin", stdin=results.read_bytes()) == expected
    assert output("-q", "-", results, stdin=qrels.read_bytes()) == expected


def test_ids_are_printed_as_they_are(tmp_path: Path) -> None:
    """Ids and tags come out in the bytes in which they came in, whatever the encoding of the terminal."""
    qrels, results = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("\u00fc1 0 a 1\n", encoding="utf-8")
    results.write_text("\u00fc1 Q0 a 1 1 \u540d\n", encoding="utf-8")
    process = start("-q", "-mrunid", "-mmap", qrels, results, environment={"PYTHONIOENCODING": "ascii"})
    assert process.stdout.decode().splitlines() == [
        "map                   \t\u00fc1\t1.0000",
        "runid                 \tall\t\u540d",
        "map                   \tall\t1.0000",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-m", "ncdg"], "karat: unknown measure 'ncdg', did you mean 'ndcg' or 'Rndcg'?\n"),
        (["-m", "all_prefs"], "karat reads the qrels format only\n"),
        (["-m", "P."], "parameters should follow the dot, as in P.5,10\n"),
        (["-R", "prefs"], "-R prefs: karat trec-eval reads judgments in the qrels format only\n"),
        (
            ["--Rel_info_format=qrels_prefs"],
            "-R qrels_prefs: karat trec-eval reads judgments in the qrels format only\n",
        ),
        (["-Rqrels_jg"], "-R qrels_jg: karat trec-eval reads judgments in the qrels format only\n"),
        (["-R", "qrel"], "-R qrel: unknown format; karat trec-eval reads qrels\n"),
        (["-l", "x"], "'x' is not a valid integer"),
        (["-M", "-1"], "-1 is not in the range x>=0"),
        (["-Z", "zscores"], "-Z: karat trec-eval prints no Z scores; compute them from its output with -q\n"),
        (["--Zscore=zscores"], "-Z: karat trec-eval prints no Z scores; compute them from its output with -q\n"),
        (["-D", "1"], "-D: karat trec-eval prints no debugging output\n"),
        (["-o"], "-o: trec_eval 9 has dropped the old output format, and so has karat trec-eval\n"),
        (["--Output=1"], "-o: trec_eval 9 has dropped the old output format, and so has karat trec-eval\n"),
        (["--Re=qrels"], "No such option '--Re'"),
        (["--Quer"], "No such option '--Quer'"),
    ],
)
def test_mistakes_on_the_command_line(files: tuple[Path, Path], arguments: list[str], message: str) -> None:
    """A mistake is one message on standard error, nothing on standard output, and exit code 2."""
    process = run(*arguments, *files)
    assert (process.returncode, process.stdout) == (2, b"")
    assert message in process.stderr.decode()
    assert "Traceback" not in process.stderr.decode()


@each(
    ("qrels", "results", "message"),
    [
        (QRELS, "1 Q0 a 1 x tag\n", "run, line 1: score 'x' is not a finite number"),
        (QRELS, "1 Q0 a 1 1\n", "run, line 1: 5 columns instead of 6"),
        (QRELS, "1 Q0 a 1 1 t\n1 Q0 a 2 0 t\n", "run, line 2: document 'a' appears twice for query '1'"),
        (QRELS, "", "run: the file is empty"),
        (QRELS, "9 Q0 a 1 1 t\n", "no query in common"),
        ("1 0 a 1.5\n", RUN, "qrels, line 1: grade '1.5' is not a whole number"),
    ],
)
def test_what_trec_eval_would_misread(tmp_path: Path, qrels: str, results: str, message: str) -> None:
    """Bad input is an error that names the file and the line, with exit code 2."""
    (tmp_path / "qrels").write_text(qrels)
    (tmp_path / "run").write_text(results)
    process = run(tmp_path / "qrels", tmp_path / "run")
    assert (process.returncode, process.stdout) == (2, b"")
    assert message in process.stderr.decode()


def test_missing_files(files: tuple[Path, Path]) -> None:
    """A file that is not there, a file too few, and standard input twice are said to be so."""
    assert b"nowhere: no such file" in run(files[0], "nowhere").stderr
    assert b"Missing argument 'RUN'" in run(files[0]).stderr
    assert b"standard input (-) can be read only once" in run("-", "-").stderr


def test_help_has_an_example() -> None:
    """The help says what the verb is for, and shows a command line."""
    text = output("--help")
    assert "Example: karat trec-eval -q -m map -m P.5,10" in text
    assert "-m, --measure MEASURE[.PARAMS]" in text
