"""Bad input is one message with exit code 2; nothing is written, and nobody sees a traceback."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from karat.cli import main
from karat.measures import _files

QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\n"
RUN = "q1 Q0 d1 1 2.0 t\nq1 Q0 d2 2 1.0 t\nq2 Q0 d1 1 3.5 t\n"
CSV = "query_id,doc_id,score\nq1,d1,2.0\nq1,d2,1.0\n"


def parquet(**columns: Any) -> bytes:
    """Write a Parquet file."""
    buffer = io.BytesIO()
    pl.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["d1", "d2"], "score": [1.0, 2.0]} | columns).write_parquet(
        buffer
    )
    return buffer.getvalue()


def scored(text: str) -> str:
    """Put a score into the second line of the run."""
    return RUN.replace("1.0", text)


def graded(text: str) -> str:
    """Put a grade into the second line of the judgments."""
    return QRELS.replace("d2 0", f"d2 {text}")


# what is wrong: (judgments, run, name of the run, message)
BAD: dict[str, tuple[str | bytes, str | bytes, str, str]] = {
    **{
        f"score {text}": (QRELS, scored(text), "run.txt", f"run.txt, line 2: score {text!r} is not a finite number; ")
        for text in ("nan", "inf", "-inf", "1e999", "3,5", "x", "1_000", "\u0663")
    },
    **{
        f"grade {text}": (graded(text), RUN, "run.txt", f"qrels.txt, line 2: grade {text!r} is not a whole number; ")
        for text in ("1.5", "x", "1_000", "\u0663", "nan")
    },
    "grade huge": (graded("9" * 40), RUN, "run.txt", "qrels.txt, line 2: grade '9999999"),
    "too few columns": (QRELS, RUN.replace(" 1.0 t", " 1.0"), "run.txt", "run.txt, line 2: 5 columns instead of 6; "),
    "too many columns": (QRELS, RUN.replace(" 1.0 t", " 1.0 t t"), "run.txt", "run.txt, line 2: 7 columns instead"),
    "judgments too few": ("q1 0 d1 1\nq1 d1 1\n", RUN, "run.txt", "qrels.txt, line 2: 3 columns instead of 4; "),
    "swapped files": (RUN, QRELS, "run.txt", "qrels.txt, line 1: 6 columns instead of 4; "),
    "empty run": (QRELS, "", "run.txt", "run.txt: the file is empty"),
    "empty judgments": ("", RUN, "run.txt", "qrels.txt: the file is empty"),
    "only blanks": (QRELS, " \n\t\n", "run.txt", "run.txt: the file holds only blanks"),
    "no query in common": (
        QRELS,
        RUN.replace("q", "topic-"),
        "run.txt",
        "run.txt: no query in common with {}qrels.txt; the run has 'topic-1', 'topic-2'; the judgments have 'q1', 'q2'",
    ),
    "duplicate": (
        QRELS,
        RUN + "q1 Q0 d2 4 0 t\n",
        "run.txt",
        "run.txt, line 4: document 'd2' appears twice for query 'q1'; ",
    ),
    "judged twice": (QRELS + QRELS, RUN, "run.txt", "qrels.txt, line 4: document 'd1' appears twice for query 'q1'; "),
    "not UTF-8": (QRELS, RUN.encode() + b"q1 Q0 \xe9 1 1 t\n", "run.txt", "run.txt, line 4: byte 0xe9 is not UTF-8; "),
    "UTF-16": (QRELS, RUN.encode("utf-16"), "run.txt", "run.txt, line 1: byte 0xff is not UTF-8; "),
    "NUL": (QRELS, RUN.replace("d2", "d\0"), "run.txt", "run.txt, line 2: a NUL byte, which text never has; "),
    "truncated gzip": (QRELS, gzip.compress(RUN.encode())[:-9], "run.gz", "run.gz: cannot be unpacked: "),
    "truncated Parquet": (QRELS, parquet()[:-9], "run.parquet", "run.parquet: is not a valid Parquet file: "),
    "no Parquet": (QRELS, RUN, "run.parquet", "run.parquet: is not a valid Parquet file: "),
    "Parquet without a column": (
        QRELS,
        parquet(score=["a", "b"]),
        "run.pq",
        "run.pq: column 'score' has type String; ",
    ),
    "Parquet null": (QRELS, parquet(doc_id=["d1", None]), "run.pq", "run.pq: row 2 has no document id"),
    "Parquet NaN": (QRELS, parquet(score=[1.0, float("nan")]), "run.pq", "run.pq, row 2: score nan is not a finite"),
    "Parquet duplicate": (QRELS, parquet(doc_id=["d1", "d1"]), "run.pq", "run.pq: document 'd1' appears twice for"),
    "open quote": (
        QRELS,
        CSV.replace("d2", '"d2'),
        "run.csv",
        "run.csv, line 3: is not valid CSV: a quote is opened here",
    ),
    "CSV score": (
        QRELS,
        CSV.replace("1.0", '"3,5"'),
        "run.csv",
        "run.csv, line 3: score '3,5' is not a finite number; ",
    ),
    "CSV columns": (
        QRELS,
        CSV.replace("score", "points"),
        "run.csv",
        "run.csv, line 1: no score column among 'query_id'",
    ),
    "CSV ragged": (QRELS, CSV.replace("1.0", "1.0,1"), "run.csv", "run.csv, line 3: 4 columns instead of 3; "),
    "CSV header only": (QRELS, CSV.split("\n")[0], "run.csv", "run.csv: the file holds no rows"),
    "JSON": (QRELS, '{"q1": {"d1": 1}', "run.json", "run.json, line 1: is not valid JSON: "),
    "JSON NaN": (QRELS, '{"q1": {"d1": NaN}}', "run.json", "run.json, query 'q1', document 'd1': score nan is not"),
    "JSON keys": (QRELS, '{"q1":\n {"d1": 1, "d1": 2}}', "run.json", "run.json, line 2: key 'd1' appears twice in one"),
    "JSON type": (QRELS, '{"q1": {"d1": "1"}}', "run.json", "run.json, query 'q1', document 'd1': score '1' is text; "),
    "JSON deep": (QRELS, "[" * 200_000, "run.json", "run.json: is nested too deep"),
    "JSON surrogate": (QRELS, '{"q1": {"\\ud800": 1}}', "run.json", "run.json, query 'q1': id '\\ud800' is not valid"),
    "JSONL": (
        QRELS,
        '{"qid": "q1", "doc": "d1", "score": 1}\n5\n',
        "run.jsonl",
        "run.jsonl, line 2: 5 is not a record; ",
    ),
    "huge id": (QRELS, scored("x" * 1_000_000), "run.txt", "run.txt, line 2: score 'xxxxxxxx"),
}


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Call the command line with a mistake; give the message."""

    def mistaken(*arguments: str | Path) -> str:
        monkeypatch.setattr(sys, "argv", ["karat", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert ended.value.code == 2, err
        assert out == ""
        assert "Traceback" not in err
        assert len(err) < 700
        return err

    return mistaken


def write(path: Path, content: str | bytes) -> Path:
    """Write a file."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("large", [False, True], ids=["exact", "streamed"])
def test_bad_files_are_explained_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[..., str], what: str, large: bool
) -> None:
    """Every mistake in a file is one line with file, line and value; an old output stays, and nothing new appears."""
    if large:
        monkeypatch.setattr(_files, "_LARGE", 0)
    qrels, run, name, message = BAD[what]
    paths = write(tmp_path / "qrels.txt", qrels), write(tmp_path / name, run)
    output = write(tmp_path / "out.json", "old")
    error = call("score", *paths, "--output", output)
    assert error.startswith(f"karat: {tmp_path}/{message.format(f'{tmp_path}/')}")
    assert error.count("\n") == 1
    assert output.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["qrels.txt", name, "out.json"])


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with judgments, a run and classes."""
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("qrels.txt", QRELS),
        ("run.txt", RUN),
        ("classes.txt", "d1 A\nd1 B\n"),
        ("q.csv", "qid,a\nq1,b\n"),
    ):
        write(tmp_path / name, text)
    (tmp_path / "folder").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("score missing.txt run.txt", "karat: missing.txt: no such file"),
        ("score qrels.txt folder", "karat: folder: is a folder, not a file"),
        ("score folder run.txt", "karat: folder: is a folder, not a file; name a file of judgments; 'karat eval DIR"),
        ("score qrels.txt run.txt/x", "karat: run.txt/x: cannot be read: Not a directory"),
        ("score qrels.txt run.txt -m ncdg@10", "karat: unknown measure 'ncdg', did you mean 'ndcg"),
        ("score qrels.txt run.txt -m nDCG@0", "karat: measure nDCG@0: the cut-off is a rank"),
        ("score qrels.txt run.txt -m nDCG@10@", "karat: cannot read measure 'nDCG@10@'"),
        (
            "score qrels.txt run.txt -m nDCG(gian=exp)",
            "karat: measure nDCG has no parameter 'gian', did you mean 'gain'",
        ),
        ("score qrels.txt run.txt -m P", "karat: measure P needs a cut-off, such as P@10"),
        ("scoer qrels.txt run.txt", "no verb 'scoer', did you mean 'score' or 'store'"),
        ("score qrels.txt run.txt --per-qeury", "No such option '--per-qeury'. Did you mean '--per-query'?"),
        ("score - - ", "karat: standard input (-) can be read only once"),
        ("score qrels.txt - -", "karat: standard input (-) can be read only once"),
        ("score - run.txt --classes -", "karat: standard input (-) can be read only once"),
        ("score - run.txt --by a", "karat: standard input (-) can be read only once"),
        ("score qrels.txt run.txt -o folder", "karat: folder: cannot be written: Is a directory"),
        ("score qrels.txt run.txt -o nowhere/x", "karat: nowhere/x: cannot be written: No such file or directory"),
        ("score qrels.txt run.txt -o run.txt/x", "karat: run.txt/x: cannot be written: Not a directory"),
        (f"score qrels.txt run.txt -o {'x' * 300}", "cannot be written: File name too long"),
        ("score qrels.txt run.txt -o run.txt", "karat: --output run.txt would overwrite an input"),
        ("score qrels.txt run.txt --by kind", "karat: qrels.txt: TREC files have no named columns; give a JSONL"),
        (
            "score qrels.txt run.txt --by kind --queries q.csv",
            "karat: q.csv, line 2: no field 'kind'; there are 'qid', 'a'",
        ),
        ("score qrels.txt run.txt --by kind --queries no.csv", "karat: no.csv: no such file"),
        (
            "score qrels.txt run.txt --queries q.csv",
            "karat: --queries needs a field; name it with --by",
        ),
        ("score qrels.txt run.txt --pass-at 2", "karat: pass@2 needs at least 2 trials, and there are 1"),
        ("score qrels.txt run.txt --pass-at 0", "0 is not in the range x>=1"),
        ("score qrels.txt run.txt --pass-at 1 --threshold nan", "karat: --threshold nan is not a finite number"),
        (
            "score qrels.txt run.txt --classes classes.txt",
            "karat: classes.txt, line 2: document 'd1' is in two classes",
        ),
        ("score qrels.txt run.txt --classes no.txt", "karat: no.txt: no such file"),
        ("score qrels.txt run.txt --format jsno", "'jsno' is not one of"),
        ("score qrels.txt run.txt --format json", "karat: qrels.txt, line 1: is not valid JSON"),
        ("measures ncdg", "karat: unknown measure 'ncdg', did you mean 'ndcg"),
    ],
)
def test_bad_commands_are_explained(files: Path, call: Callable[..., str], arguments: str, message: str) -> None:
    """Every mistake on the command line is explained with what to do, and leaves no file behind."""
    before = sorted(files.rglob("*"))
    assert message in call(*arguments.split())
    assert sorted(files.rglob("*")) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_named(files: Path, call: Callable[..., str]) -> None:
    """An output in a folder that may not be written to is one message."""
    (files / "folder").chmod(0o500)
    assert "cannot be written: Permission denied" in call("score", "qrels.txt", "run.txt", "-o", "folder/out.txt")


def test_a_full_disk_leaves_the_old_file(
    files: Path, call: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the disk is full, the old output stays and the temporary file goes."""
    resource = pytest.importorskip("resource")
    signal = pytest.importorskip("signal")
    write(files / "qrels.json", json.dumps({f"q{i}": {"d": 1} for i in range(2000)}))
    output = write(files / "out.json", "old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        message = call("score", "qrels.json", "qrels.json", "--per-query", "-o", "out.json")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert message == "karat: out.json: cannot be written: File too large\n"
    assert output.read_text() == "old"
    assert not list(files.glob(".karat*"))


@pytest.mark.parametrize("measure", ["DCG(gain=exp)", "nDCG(gain=exp)", "DCG(gains={1:1.7e308,2:1.7e308})"])
def test_infinite_scores_are_an_error(files: Path, call: Callable[..., str], measure: str) -> None:
    """A gain that no number can hold is refused, and printed neither as Infinity nor as a missing value."""
    write(files / "qrels.txt", "q1 0 d1 2\nq1 0 d2 2\n" if "gains" in measure else "q1 0 d1 2000\n")
    message = call("score", "qrels.txt", "run.txt", "-m", measure, "--json")
    assert re.match(r"karat: .*(is infinite; a grade is too large for its gain|more than a number can hold)", message)
