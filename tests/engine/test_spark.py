"""The engine that is a Spark cluster: a real one, with a master and two workers that are killed in the middle."""

from __future__ import annotations

import importlib
import io
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import clusters
import numpy as np
import polars as pl
import pytest
from clusters import Cluster, find_parent, kill, list_children, wait_for
from kernels import COUNT, break_down, count_parts, pass_on, refuse_negative, sum_up, wait_twice
from polars.testing import assert_frame_equal
from rows import draw_rows, expect, run, write

import karat
from in_process import run_karat
from karat.core import InputError, SystemFailed, UsageError
from karat.engine import LocalEngine, Operation, Source, SparkEngine, _spark, collect_results, examine_engine
from karat.engine import _runs as engine_runs
from karat.engine._session import count_executors, wait_for_executors
from karat.feedback import estimate_log
from karat.measures import PART_COLUMNS, PART_SCHEMA, align_part, join_parts, read_judgments
from live_logs import write_log

pytestmark = pytest.mark.slow(60)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with two workers, of which tests may kill one."""
    started = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        started.require_workers(2)
        yield started
    finally:
        started.stop()


@pytest.fixture(scope="module")
def engine(cluster: Cluster) -> Iterator[SparkEngine]:
    """The cluster as an engine, with one driver for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in cluster.environment.items():
            patch.setenv(name, value)
        with SparkEngine(cluster.address, patience=clusters.PATIENCE) as opened:
            yield opened


@pytest.fixture
def shared(engine: SparkEngine, monkeypatch: pytest.MonkeyPatch) -> SparkEngine:
    """The engine in place of those that karat opens and closes itself: a process can have one only."""
    monkeypatch.setattr(engine, "close", lambda: None)
    monkeypatch.setattr(engine_runs, "open_engine", lambda address: engine)
    monkeypatch.setattr("karat.engine._spark.SparkEngine", lambda *_, **__: engine)
    return engine


def test_results_are_equal_in_any_partitioning_on_either_engine(
    engine: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random rows in a random number of files, in random numbers of parts: the same to the last bit."""
    random = np.random.default_rng(7)
    for case in range(3):
        if case == 2:
            monkeypatch.setattr(_spark, "_SMALL", 0)  # too large for the driver at once: fetched part by part
        rows, keys, files = (int(random.integers(1, most)) for most in (3000, 200, 5))
        frame = draw_rows(case, rows, keys)
        source = write(frame, tmp_path / str(case), files)
        engine.rows_per_task = int(random.integers(rows // 8 + 1, rows + 1))
        expected = expect(frame)
        assert_frame_equal(run(engine, sum_up(), source), expected, check_exact=True)
        memory = int(random.integers(1000, 200_000))
        local = LocalEngine(memory=memory, folder=tmp_path)
        assert_frame_equal(run(local, sum_up(), source), expected, check_exact=True)
    parts = run(engine, sum_up(count_parts, COUNT), source)
    assert parts.sum().rows() == [(rows, frame["session"].n_unique())]
    assert 1 <= len(parts) <= -(-rows // engine.rows_per_task)


def test_folders_columns_and_limits_mean_the_same(engine: SparkEngine, tmp_path: Path) -> None:
    """Values of folders, missing columns, other types, names with odd characters, and limits."""
    for day in ("2026-11-01", "2026-11-02", "__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / f"day={day}").mkdir()
        rows = pl.DataFrame({"the `id`": [3, 20, None], "n": [1, 2, 3], "wide": [1.5, 2.5, 3.5]})
        rows.drop("wide" if day.endswith("1") else "n").write_parquet(tmp_path / f"day={day}" / "a.parquet")
    (tmp_path / "_temporary").mkdir()
    (tmp_path / "_temporary" / "a.parquet").write_bytes(b"unfinished")
    columns = {"key": pl.String, "day": pl.Date, "n": pl.Int16, "wide": pl.Float32}
    operation = Operation(name="look", key="key", order=("day",), columns=columns, schema=columns, kernel=pass_on)
    day = pl.Series(["2026-11-02"]).str.to_date("%Y-%m-%d")[0]
    for within in ({}, {"day": (day, None)}, {"n": (2, 3)}):
        source = Source(paths=(str(tmp_path),), names={"key": "the `id`"}, within=within)
        here, there = (collect_results(where, operation, source) for where in (LocalEngine(), engine))
        assert_frame_equal(here.sort(list(columns)), there.sort(list(columns)), check_exact=True)
        assert len(here) == {"": 9, "day": 3, "n": 1}[next(iter(within), "")]
    assert engine.read_schema((str(tmp_path),))["n"] == pl.Int64


def test_a_score_is_the_same_document_byte_for_byte(shared: SparkEngine, tmp_path: Path) -> None:
    """Text and JSON, by query, with bounds and with classes: as this process has them for one file."""
    random = np.random.default_rng(3)
    frame = pl.DataFrame({"qid": random.integers(0, 60, 4000), "docid": random.integers(0, 900, 4000)}).unique()
    frame = frame.with_columns(score=pl.Series(random.integers(0, 30, len(frame)), dtype=pl.Float32))
    frame = frame.sample(fraction=1, shuffle=True, seed=1)  # the rows of a query are nowhere together, scores are tied
    one, many = tmp_path / "one" / "run.parquet", tmp_path / "many" / "run.parquet"
    one.parent.mkdir()
    frame.write_parquet(one)
    many.mkdir(parents=True)
    for part in range(3):
        frame[part::3].write_parquet(many / f"{part}.parquet")
    judged = frame.sample(800, seed=2).select("qid", "docid").with_columns(rel=pl.Series(random.integers(-1, 4, 800)))
    judged.filter(pl.col("qid") < 50).write_parquet(tmp_path / "qrels.parquet")
    (tmp_path / "classes.tsv").write_text("".join(f"{i}\t{i // 2}\n" for i in range(900)))
    shared.rows_per_task = 1500
    for options in (["--json", "--per-query", "--bounds"], ["--per-query"], ["--json", "--classes", "classes.tsv"]):
        options = [str(tmp_path / option) if option.endswith(".tsv") else option for option in options]
        expected = run_karat("score", tmp_path / "qrels.parquet", one, *options)
        assert expected.returncode == 0, expected.stderr
        for where in (["--engine", shared.address], ["--engine", "local"], []):
            actual = run_karat("score", tmp_path / "qrels.parquet", many, *where, *options)
            assert (actual.returncode, actual.stdout, actual.stderr) == (0, expected.stdout, b"")


def test_a_log_gives_the_same_report_harvest_and_estimates(shared: SparkEngine, tmp_path: Path) -> None:
    """In several parts, from a folder and from its address, all of it and some days: to the byte."""
    _, exported = write_log(tmp_path, seed=5, size=200)
    shared.rows_per_task = 150
    address = exported.as_uri()  # of a file system that Spark reads, as s3a://bucket/log is
    estimate = ["estimate", "--minimum", "1", "--shown", "1000"]
    for options in (["report"], ["report", "--since", "2001-09-10", "--until", "2001-09-12"], estimate):
        here, there = (
            run_karat("online", *options, place, "--json", *engine)
            for place, engine in ((exported, []), (address, ["--engine", shared.address]))
        )
        assert (there.returncode, there.stderr) == (0, b"")
        assert there.stdout.replace(address.encode(), str(exported).encode()) == here.stdout
        assert b'"queries": 0' not in here.stdout
        assert b'"estimates": []' not in here.stdout
    for name, engine in (("here", []), ("there", ["--engine", shared.address])):
        done = run_karat("harvest", exported, "--size", "20", "-o", tmp_path / name, *engine)
        assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in (tmp_path / "here").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "there").iterdir())
    assert all((tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes() for name in names)
    expected, actual = (
        pl.concat(estimate_log(place, "snips", minimum=1, engine=engine)).sort("query", "document")
        for place, engine in ((exported, None), (address, shared))
    )
    assert_frame_equal(actual, expected, check_exact=True)
    assert len(expected)


def test_ten_million_rows_are_right_after_an_executor_and_a_worker_were_killed(
    cluster: Cluster, engine: SparkEngine, tmp_path: Path
) -> None:
    """Every rank of 10,000 queries with 1,000 documents each is known; none is lost, and none is counted twice."""
    queries, documents, judged = 10_000, 1_000, 20
    scores = np.random.default_rng(11).permuted(np.tile(np.arange(documents, dtype=np.int16), (queries, 1)), axis=1)
    frame = pl.DataFrame(
        {
            "query": np.repeat(np.arange(queries, dtype=np.int32), documents),
            "doc": np.tile(np.arange(documents, dtype=np.int32), queries),
            "score": scores.ravel(),
        }
    )
    (tmp_path / "run").mkdir()
    for part in range(4):  # documents of each query are in all files
        frame.filter(pl.col("doc") % 4 == part).write_parquet(tmp_path / "run" / f"{part}.parquet")
    qrels = {str(query): {str(document): 1 for document in range(judged)} for query in range(queries)}
    judgments = read_judgments(qrels)
    aligning = partial(align_part, judgments=judgments, source="run")
    kernel = partial(wait_twice, kernel=aligning, folder=tmp_path)
    operation = Operation(name="score", key="query", columns=PART_COLUMNS, schema=PART_SCHEMA, kernel=kernel)
    source = Source(paths=(str(tmp_path / "run"),), names={"document": "doc", "value": "score"})
    engine.rows_per_task = 2_500_000
    cluster.require_workers(2)
    alive = cluster.count_alive()
    killer = threading.Thread(target=kill_two, args=(tmp_path, cluster))
    killer.start()
    alignment, total = join_parts(judgments, engine.process(operation, source))
    killer.join()
    assert cluster.count_alive() == alive - 1
    assert total == queries
    assert set(alignment.retrieved.tolist()) == {documents}
    order = np.array(judgments.queries).astype(int)
    assert np.array_equal(alignment.ranks.reshape(queries, judged), documents - scores[order][:, :judged])


def kill_two(folder: Path, cluster: Cluster) -> None:
    """Kill the executor of the first task that waits, and the worker of the second."""
    for turn in ("first", "second"):
        wait_for(lambda turn=turn: (folder / turn).exists() and (folder / turn).read_text().endswith("\n"), turn)
        executor = find_parent(find_parent(int((folder / turn).read_text())))
        worker = find_parent(executor)
        assert worker in [worker.pid for worker in cluster.workers]
        kill(executor if turn == "first" else worker)
    for process in cluster.workers:
        if process.pid == worker:
            process.wait()


def test_errors_of_kernels_and_files_come_out_as_messages(engine: SparkEngine, tmp_path: Path) -> None:
    """What a user can mend is the error of this process; a bug shows where it is; files are named."""
    source = write(draw_rows(3, 50, 5), tmp_path / "rows")
    with pytest.raises(InputError, match=r"^session s\d has a negative value; mend it$"):
        list(engine.process(sum_up(refuse_negative), source))
    with pytest.raises(RuntimeError, match="ZeroDivisionError: after"):
        list(engine.process(sum_up(break_down), source))
    with pytest.raises(InputError, match="none: no such file or folder"):
        list(engine.process(sum_up(), Source(paths=(str(tmp_path / "none"),))))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"empty: there are no Parquet files; files end in \.parquet"):
        list(engine.process(sum_up(), Source(paths=(str(tmp_path / "empty"),))))
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 this is not one PAR1")
    with pytest.raises(InputError, match=r"bad\.parquet: cannot be read as Parquet: "):
        list(engine.process(sum_up(), Source(paths=(str(tmp_path / "bad.parquet"),))))
    pl.DataFrame({"x": [1]}).write_parquet(tmp_path / "x.parquet")
    with pytest.raises(InputError, match="there is no column 'session'; there are x"):
        list(engine.process(sum_up(), Source(paths=(str(tmp_path / "x.parquet"),))))


def test_what_workers_lack_is_said(engine: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that is only here, and another version of karat."""
    source = write(draw_rows(3, 50, 5), tmp_path / "rows")
    (tmp_path / "only_here.py").write_text("def kernel(frames):\n    yield from frames\n")
    monkeypatch.syspath_prepend(tmp_path)
    kernel = importlib.import_module("only_here").kernel
    with pytest.raises(SystemFailed, match="the Python of the workers has no only_here; install karat with the same"):
        list(engine.process(sum_up(kernel), source))
    monkeypatch.setattr("karat.engine._spark.__version__", "99.0")
    with pytest.raises(SystemFailed, match=r"the workers have karat [\d.]+, and this is 99\.0; install the same"):
        list(engine.process(sum_up(), source))


def test_the_doctor_asks_every_executor(shared: SparkEngine) -> None:
    """It prints what is there, and the document has what the workers have."""
    run = run_karat("engine", "doctor", "--engine", shared.address)
    assert (run.returncode, run.stderr) == (0, b"")
    assert f"{shared.address} can work" in run.stdout.decode()
    report = examine_engine(shared.address)
    assert [check.name for check in report.checks if check.ready] == [
        "python", "polars", "pyspark", "java", "master", "executors", "workers: karat", "workers: polars",
    ]  # fmt: skip
    assert {worker.karat for worker in report.workers} == {karat.__version__}
    assert report.executors >= 1


def test_one_process_has_one_session(engine: SparkEngine) -> None:
    """Spark allows no second one, and karat says so before it tries."""
    assert engine.session is not None
    with pytest.raises(UsageError, match="this process has a Spark session already"):
        _ = SparkEngine(engine.address).session


def test_a_lost_driver_leaves_the_old_output(cluster: Cluster, engine: SparkEngine, tmp_path: Path) -> None:
    """The driver waits for the cluster, whose cores are taken, and is killed: nothing of it stays, its Java neither."""
    wait_for(lambda: count_executors(engine.session) >= 1, "an executor")
    write(pl.DataFrame({"query": ["q"], "document": ["d"], "score": [1.0]}), tmp_path / "run")
    (tmp_path / "qrels.txt").write_text("q 0 d 1\n")
    (tmp_path / "out.json").write_text("old")
    log = cluster.folder / "master.log"
    apps = log.read_text().count("Registered app")
    command = [
        sys.executable,
        "-m",
        "karat",
        "score",
        "qrels.txt",
        "run",
        "--engine",
        cluster.address,
        "-o",
        "out.json",
    ]
    driver = subprocess.Popen(
        command, cwd=tmp_path, env=os.environ | cluster.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    wait_for(lambda: log.read_text().count("Registered app") > apps or driver.poll() is not None, "the driver")
    java = list_children(driver.pid)
    assert java
    kill(driver.pid)
    assert driver.communicate()[0] == b""
    assert (tmp_path / "out.json").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "qrels.txt", "run"]
    wait_for(lambda: not any(Path(f"/proc/{process}").exists() for process in java), "Java ends with its driver")


def test_a_cluster_without_workers_ends_the_work(cluster: Cluster, engine: SparkEngine, tmp_path: Path) -> None:
    """Spark would wait for ever; karat says that nobody works."""
    source = write(draw_rows(3, 50, 5), tmp_path / "rows")
    assert list(engine.process(sum_up(), source))
    for worker in cluster.workers:
        kill(worker.pid)
        worker.wait()
    wait_for(lambda: not count_executors(engine.session), "executors end without their worker")
    engine.patience = 1
    try:
        with pytest.raises(SystemFailed, match="the cluster has had no executor for 1 seconds; its workers are gone"):
            list(engine.process(sum_up(), source))
        with pytest.raises(SystemFailed, match="the cluster gave no executor within 0 seconds; are there workers"):
            wait_for_executors(engine.session, 0, io.BytesIO())
    finally:
        engine.patience = clusters.PATIENCE
        cluster.require_workers(1)
    assert list(engine.process(sum_up(), source))
