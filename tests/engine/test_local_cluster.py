"""The engine that is a cluster inside this machine, as a command starts it and ends it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import clusters
import numpy as np
import polars as pl
import pytest
from rows import write

from karat.core import SystemFailed
from karat.engine import SparkEngine


@pytest.mark.slow(30)
def test_a_cluster_that_a_command_starts_gives_the_same_and_leaves_nothing(tmp_path: Path) -> None:
    """The bytes of this process; nothing in temporary folders, and nothing beside Spark's own files."""
    random = np.random.default_rng(5)
    frame = pl.DataFrame({"query_id": random.integers(0, 20, 2000), "doc_id": random.integers(0, 900, 2000)}).unique()
    frame = frame.sort("query_id", "doc_id").with_columns(score=pl.Series(random.integers(0, 30, len(frame))))
    write(frame, tmp_path / "run", 3)
    judged = frame.sample(200, seed=2).select("query_id", "doc_id", relevance=pl.Series(random.integers(0, 4, 200)))
    judged.write_parquet(tmp_path / "qrels.parquet")
    for name in ("conf", "temporary", "bin"):
        (tmp_path / name).mkdir()
    (tmp_path / "bin" / "python3").write_text("#!/bin/sh\nexit 9\n")  # workers have the Python of the command
    (tmp_path / "bin" / "python3").chmod(0o755)
    (tmp_path / "conf" / "spark-defaults.conf").write_text(clusters.DEFAULTS)
    environment = os.environ | {"SPARK_CONF_DIR": "conf", "SPARK_LOCAL_IP": "127.0.0.1"}
    environment |= {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    environment |= dict.fromkeys(("SPARK_LOCAL_DIRS", "TMPDIR"), str(tmp_path / "temporary"))
    before = sorted(path.name for path in clusters.HOME.iterdir())
    outputs = []
    for engine in ("local", "local-cluster[1,1,700]"):
        command = [sys.executable, "-m", "karat", "score", "qrels.parquet", "run", "--engine", engine, "--json"]
        done = subprocess.run([*command, "--per-query"], cwd=tmp_path, env=environment, capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
    assert sorted(path.name for path in clusters.HOME.iterdir()) == before
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_home_of_spark_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a cluster inside this machine and on another, in one message."""
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "none"))
    with socket.create_server(("127.0.0.1", 0)) as master:
        for address in ("local-cluster[1,1,700]", f"spark://127.0.0.1:{master.getsockname()[1]}"):
            with pytest.raises(SystemFailed, match=r"Spark does not start: .*/none.*; is SPARK_HOME its folder\?"):
                _ = SparkEngine(address).session
    assert os.environ["SPARK_HOME"] == str(tmp_path / "none")
