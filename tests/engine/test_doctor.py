"""What an engine needs, and what is said where it is missing; no cluster is started."""

from __future__ import annotations

import io
import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from each import each
from in_process import run_karat
from karat.core import InputError, SystemFailed
from karat.engine import SparkEngine, examine_engine
from karat.engine._failures import explain_failure
from karat.engine._session import find_java, last_error, list_masters, make_settings, reach


@pytest.fixture
def closed() -> Iterator[str]:
    """An address at which nobody takes connections."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))  # bound, so that nobody else gets it, and not listening
        yield f"spark://127.0.0.1:{reserved.getsockname()[1]}"


def write_java(folder: Path, script: str) -> None:
    """Write a program that is called java."""
    (folder / "bin").mkdir()
    (folder / "bin" / "java").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "bin" / "java").chmod(0o755)


@each(
    "script, message",
    [
        ("echo 'openjdk version \"11.0.2\"' >&2", r"Spark needs Java 17 or newer, and \S+ is 11; install Java 17"),
        ("echo hello", "is not a Java that works; install Java 17 or newer, and set JAVA_HOME"),
        (None, r"does not run \(.*; install Java 17"),
    ],
)
def test_a_java_that_does_not_fit_is_named(
    script: str | None, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its path, its version and what to do."""
    if script is not None:
        write_java(tmp_path, script)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SystemFailed, match=message):
        find_java()


def test_no_java_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing on the path, and no JAVA_HOME."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemFailed, match="Spark needs Java, and there is none on the path; install Java 17"):
        find_java()


def test_a_java_that_fits_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """That of JAVA_HOME comes first."""
    write_java(tmp_path, "echo 'openjdk version \"21\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert find_java() == (str(tmp_path / "bin" / "java"), 21)


def test_the_doctor_says_all_that_is_missing(closed: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Package, Java and master at once; the exit code is 3, and no cluster is asked."""
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    run = run_karat("engine", "doctor", "--engine", closed, "--json")
    report = json.loads(run.stdout)
    assert (run.returncode, run.stderr, report["ready"]) == (3, b"", False)
    missing = {check["name"]: check["hint"] for check in report["checks"] if not check["ready"]}
    assert missing["pyspark"].startswith("a Spark engine needs karat's extra spark")
    assert missing["java"].startswith("Spark needs Java")
    assert missing["master"].startswith("cannot reach the Spark master 127.0.0.1:")
    text = run_karat("engine", "doctor", "--engine", closed).stdout.decode()
    assert f"{closed} cannot work" in text
    assert "java: Spark needs Java" in text


def test_this_process_needs_no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing for a cluster is shown, and does not matter."""
    monkeypatch.setitem(sys.modules, "pyspark", None)
    report = examine_engine()
    assert report.ready
    assert [(check.name, check.needed) for check in report.checks if not check.ready] == [("pyspark", False)]
    run = run_karat("engine", "doctor")
    assert (run.returncode, b"not needed" in run.stdout) == (0, True)


def test_an_engine_that_is_not_there_ends_with_one_message(closed: str, tmp_path: Path) -> None:
    """Exit code 3 for a master that does not answer, 2 for an address or a format that makes no sense."""
    run, qrels = tmp_path / "run.parquet", tmp_path / "qrels.txt"
    run.write_bytes(b"PAR1")
    qrels.write_text("q 0 d 1\n")
    lost = run_karat("score", qrels, run, "--engine", closed)
    assert (lost.returncode, lost.stdout) == (3, b"")
    assert lost.stderr.startswith(b"karat: cannot reach the Spark master 127.0.0.1:")
    assert len(lost.stderr.splitlines()) == 1
    odd = run_karat("score", qrels, run, "--engine", "mesos://x:1")
    assert (odd.returncode, odd.stderr.split(b";")[0]) == (2, b"karat: engine 'mesos://x:1' is unknown")
    text = run_karat("score", qrels, qrels, "--engine", closed)
    assert text.returncode == 2
    assert b"a Spark engine reads Parquet only; give Parquet files or folders of them" in text.stderr
    here = run_karat("score", qrels, run, "--engine", "local")
    assert (here.returncode, b"cannot be read as Parquet" in here.stderr) == (2, True)


def test_addresses_of_masters() -> None:
    """One or several, with names or numbers; one that answers is enough for nobody to complain."""
    assert list_masters("spark://a:1,[::1]:2") == [("a", 1), ("::1", 2)]
    assert list_masters("local-cluster[1,1,512]") == []
    with socket.create_server(("127.0.0.1", 0)) as server:
        reach(("127.0.0.1", server.getsockname()[1]))


def test_settings_of_the_user_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """spark-defaults.conf decides about memory; karat decides what the result depends on."""
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert make_settings()["spark.executor.memory"] == "1g"
    lines = "# mine\nspark.executor.memory  9g\nspark.driver.memory=2g\n\nspark.sql.session.timeZone Europe/Berlin\n"
    (tmp_path / "spark-defaults.conf").write_text(lines)
    settings = make_settings()
    assert not {"spark.executor.memory", "spark.driver.memory"} & settings.keys()
    assert settings["spark.executor.pyspark.memory"] == "3g"
    assert settings["spark.sql.session.timeZone"] == "UTC"


@each(
    "text, kind, message",
    [
        ("Caused by: java.io.IOException: No space left on device", SystemFailed, "^Spark failed: No space left on"),
        ("x\nMemoryError: 3 GB", SystemFailed, "too little memory; raise spark.executor.pyspark.memory"),
        ("[PYTHON_VERSION_MISMATCH] Python in worker has", SystemFailed, "run another version of Python; install"),
        ("[FAILED_READ_FILE.NO_HINT] y", InputError, "^a, b: cannot be read as Parquet"),
        ("", SystemFailed, r"^Spark failed: it does not say why \(the log\)"),
    ],
)
def test_what_spark_raises_is_one_message(text: str, kind: type[Exception], message: str) -> None:
    """The cause, and what to do; texts are those that Spark 4 writes."""
    with pytest.raises(kind, match=message):
        raise explain_failure(RuntimeError(text), ("a", "b"), "the log")


def test_a_call_that_spark_does_not_understand_is_a_bug() -> None:
    """It is raised as it is, with its traceback."""
    assert isinstance(explain_failure(TypeError("x"), (), ""), TypeError)


@each(
    "log, expected",
    [
        (b"a\n26/11/18 ERROR Inbox: All masters are unresponsive\nlast\n", "'All masters are unresponsive'"),
        (b"first\nlast\n\n", "'last'"),
        (b"", "'it says nothing'"),
    ],
)
def test_of_a_log_the_last_error_is_quoted(log: bytes, expected: str) -> None:
    """Or else its last line."""
    assert last_error(io.BytesIO(log)) == expected


def test_closing_what_was_never_used_is_nothing() -> None:
    """An engine is started at its first use."""
    with SparkEngine("spark://127.0.0.1:1") as engine:
        assert engine.address == "spark://127.0.0.1:1"
