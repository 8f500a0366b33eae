"""Reports, harvests and estimates from exported Parquet files: equal to those of the store, whatever the parts."""

from __future__ import annotations

import dataclasses
import math
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from datetime import date
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict as fields
from msgspec.structs import replace

from in_process import run_karat
from karat import online
from karat.core import InputError, UsageError
from karat.engine import LocalEngine, Operation, Source
from karat.feedback import estimate_log, harvest_log, read_sessions, report_clicks, report_log
from karat.feedback._exported import list_columns
from karat.feedback._folder import harvest_folder, report_folder
from karat.feedback._pairs import group_queries
from karat.feedback._parts import Counting, count_sessions
from karat.feedback._picking import HarvestPlan
from karat.online import find_files
from karat.schema import to_json
from live_logs import GOLD, write_log


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, Path]]:
    """A few logs, each in a store and exported."""
    kinds = ((1, 300, False), (2, 40, False), (3, 1, False), (4, 400, True))
    return [write_log(tmp_path_factory.mktemp("log"), seed, size, calm=calm) for seed, size, calm in kinds]


class Parted(LocalEngine):
    """Divides groups into parts as it likes, and hands on files, parts and groups in any order."""

    def __init__(self, parts: int, seed: int) -> None:
        super().__init__()
        self.parts, self.draw = parts, random.Random(seed)

    def process(self, operation: Operation, source: Source) -> Iterator[pl.DataFrame]:
        """Yield the results of parts, each from frames of one group."""
        paths = tuple(self.draw.sample(source.paths, len(source.paths)))
        whole = dataclasses.replace(operation, schema=operation.columns, kernel=iter)
        rows = pl.concat(super().process(whole, dataclasses.replace(source, paths=paths)))
        groups = rows.sort(operation.sorting).partition_by(operation.key, maintain_order=True)
        self.draw.shuffle(groups)
        places = [self.draw.randrange(self.parts) for _ in groups]
        for part in range(self.parts):
            if own := [group for group, place in zip(groups, places, strict=True) if place == part]:
                yield from operation.kernel(iter(own))


def show_report(report: Any) -> str:
    return to_json(replace(report, store=""))


def show_harvest(result: Any) -> bytes:
    parts = (result.behaviour, result.to_judge, result.report)
    learnt = [asdict(row) for row in (*result.phrases, *result.validations, *result.confidence, *result.rewordings)]
    candidate = [asdict(row) for row in (*result.candidate.queries, *result.candidate.judgments)]
    return msgspec.json.encode((parts, learnt, candidate), enc_hook=dict)


def show_estimates(place: Path, estimator: Any, **options: Any) -> str:
    """Return the estimates of all pairs, in their order, with all digits."""
    frame = pl.concat(estimate_log(place, estimator, minimum=1, **options))
    return frame.sort("query", "document").write_json()


@cache
def show_store(store: Path) -> tuple[str, bytes]:
    """Return the report and the harvest of a store."""
    result = harvest_log(store, GOLD, size=6, people=3, least_sessions=2)
    return show_report(report_log(store, GOLD, shown=3)), show_harvest(result)


@pytest.mark.slow
@settings(max_examples=8, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    parts=st.integers(1, 9),
    seed=st.integers(0, 10**6),
    number=st.integers(0, 3),
    most=st.sampled_from((1, 50)),
    estimator=st.sampled_from(("coec", "ctr", "ips", "sdbn", "snips")),
)
def test_any_division_gives_what_the_store_gives(
    logs: list[tuple[Path, Path]], parts: int, seed: int, number: int, most: int, estimator: str
) -> None:
    """To the byte: parts, order of files, of parts and of groups, and partial sums that are handed on early."""
    store, exported = logs[number]
    engine, files = Parted(parts, seed), find_files(exported)
    span: dict[str, Any] = {"since": None, "until": None}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("karat.feedback._folder.Counting", partial(Counting, most=most))
        report = report_folder(files, GOLD, engine, shown=3, **span)
        result = harvest_folder(files, GOLD, engine, HarvestPlan(size=6, people=3, least_sessions=2), **span)
    assert (show_report(report), show_harvest(result)) == show_store(store)
    assert show_estimates(exported, estimator, engine=engine) == show_estimates(store, estimator)


@pytest.mark.slow
def test_rows_that_do_not_fit_give_the_same(logs: list[tuple[Path, Path]], tmp_path: Path) -> None:
    """With memory for a few rows, so that all are brought together on the disk; nothing is left there."""
    store, exported = logs[0]
    engine = LocalEngine(memory=150_000, folder=tmp_path)
    report = report_log(exported, engine=engine)
    assert show_report(report) == show_report(report_log(store))
    assert (report.queries, len(report.oddities)) == (300, 7)
    assert show_harvest(harvest_log(exported, GOLD, engine=engine)) == show_harvest(harvest_log(store, GOLD))
    assert show_estimates(exported, "snips", engine=engine) == show_estimates(store, "snips")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_span_reads_only_its_days(logs: list[tuple[Path, Path]], tmp_path: Path) -> None:
    """An export of a span is what the store has in it, and a day in which nothing was asked says so."""
    store, exported = logs[0]
    since, until = 1e9 + 1e5, 1e9 + 2e5
    online.export_log(store, tmp_path / "span", format="parquet", since=since, until=until)
    there = report_log(store, since=since, until=until)
    assert 0 < there.queries < 300
    assert show_report(report_log(tmp_path / "span")) == show_report(there)
    inside = report_log(exported, since=since, until=until)
    assert (inside.queries, inside.days, inside.latency) == (there.queries, there.days, there.latency)
    names = find_files(exported).list_paths(since, until)
    assert 0 < len(names) < len(find_files(exported).files)
    assert report_log(exported, since=1.0, until=2.0).notes == ("none of the 300 queries in the files is in this span",)
    assert harvest_log(logs[2][1], until=2.0).report.notes == ("the one query in the files is not in this span",)
    with pytest.raises(UsageError, match="ends before it begins"):
        report_log(exported, since=2.0, until=1.0)


def test_clicks_by_hand(logs: list[tuple[Path, Path]]) -> None:
    """How often pairs were shown is what the lists of sessions say; without enough there is no value."""
    frame = pl.concat(estimate_log(logs[0][1], "ctr", minimum=5))
    with online.read_log(logs[0][0]) as log:
        sessions = list(read_sessions(log))
    lists = [own for session in sessions for own in group_queries(session.queries).items()]
    shown = Counter(
        (text, name)
        for text, searches in lists
        for name in dict.fromkeys(next((a for a in searches if a.read), searches[-1]).query.documents)
    )
    assert {(row["query"], row["document"]): row["shown"] for row in frame.iter_rows(named=True)} == dict(shown)
    assert frame.filter(pl.col("shown") < 5)["value"].null_count() == len(frame.filter(pl.col("shown") < 5)) > 0
    with pytest.raises(UsageError, match="known: coec"):
        next(estimate_log(logs[0][1], "clicks"))  # type: ignore[arg-type]


def test_a_report_of_clicks_is_what_the_estimates_are(logs: list[tuple[Path, Path]]) -> None:
    """Counts of all pairs, and those that were shown most: of equals the first in the alphabet; null is unbounded."""
    store, exported = logs[0]
    frame = pl.concat(estimate_log(store, "coec", minimum=12)).sort(["query", "document"])
    rows = sorted(frame.iter_rows(named=True), key=lambda row: -row["shown"])
    report = report_clicks(exported, "coec", minimum=12, listed=30)
    assert (report.pairs, report.estimated) == (len(rows), sum(row["value"] is not None for row in rows))
    assert 0 < report.estimated < report.pairs
    assert (report.shown, report.clicks) == (sum(row["shown"] for row in rows), sum(row["clicks"] for row in rows))
    expected = [row | {"high": None if math.isinf(row["high"]) else row["high"]} for row in rows[:30]]
    assert [fields(estimate) for estimate in report.estimates] == expected
    assert {row["high"] is None for row in expected} == {True, False}
    assert replace(report, store="") == replace(report_clicks(store, "coec", minimum=12, listed=30), store="")
    empty = report_clicks(exported, until=2.0)
    assert (empty.pairs, empty.estimates, empty.notes) == (0, (), ("nobody was shown a document in this span",))


@pytest.mark.slow
def test_what_is_held_does_not_grow_with_the_rows() -> None:
    """Of five times as many sessions and texts no more is held at once: frames are read one by one, sums handed on."""
    most = {}
    for sessions in (50, 250):
        counting = Counting(lists=True, most=200, rows=10)
        rows = list(count_sessions(make_frames(sessions), counting=counting))
        most[sessions] = max(len(frame) for frame in rows)
        assert sum(len(frame) for frame in rows) == 8 * sessions + 1  # a text: 5 rows, and 3 documents that were shown
    assert most[50] == most[250] == 240


def make_frames(sessions: int) -> Iterator[pl.DataFrame]:
    """Yield a frame for each session, with a text of its own."""
    for number in range(sessions):
        yield pl.DataFrame(
            {
                "home": [f"s{number:06}"],
                "time": [1e9 + number],
                "id": [f"q{number}"],
                "session": [f"{number:06}"],
                "text": [f"text {number}"],
                "hits": [[{"document": name, "rank": rank} for rank, name in enumerate("abc", 1)]],
            },
            schema_overrides={"hits": list_columns(queries=True, events=False)["hits"]},
        )


@pytest.mark.slow
def test_commands_take_a_folder(logs: list[tuple[Path, Path]], tmp_path: Path) -> None:
    """The same numbers, in text and JSON; what cannot be done is refused in one line."""
    store, exported = logs[1]
    for verb in (["report", "--json"], ["estimate", "--json"], ["estimate", "--estimator", "coec", "--minimum", "3"]):
        there, here = (run_karat("online", *verb, place) for place in (store, exported))
        assert here.returncode == 0, here.stderr
        assert here.stdout.replace(str(exported).encode(), str(store).encode()) == there.stdout
    assert run_karat("harvest", exported, "-o", tmp_path / "a").returncode == 0
    assert run_karat("harvest", store, "-o", tmp_path / "b").returncode == 0
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "b").iterdir())
    assert all((tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes() for name in names)
    online.export_log(store, tmp_path / "ubi")
    for message, *arguments in (
        (b"--record writes into a store", "harvest", exported, "--record"),
        (b"is an export as UBI", "online", "report", tmp_path / "ubi"),
        (b"export it first", "online", "estimate", store, "--engine", "spark://127.0.0.1:1"),
        (b"engine 'elsewhere' is unknown", "online", "report", exported, "--engine", "elsewhere"),
        (b"no export of karat", "harvest", tmp_path),
    ):
        done = run_karat(*arguments)
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr


def test_files_that_are_not_whole_or_old_are_refused(logs: list[tuple[Path, Path]], tmp_path: Path) -> None:
    """A row that is missing, a file of an earlier version, one that is damaged, a record without a time."""
    copy = tmp_path / "copy"
    shutil.copytree(logs[1][1], copy)
    path = next((copy / "queries").rglob("*.parquet"))
    frame = pl.read_parquet(path)
    for change, message in (
        (frame[1:], "of 40 queries"),
        (frame.drop("home"), "earlier karat"),
        (frame.with_columns(time=pl.lit(None, pl.Float64)), "no time"),
    ):
        change.write_parquet(path)
        with pytest.raises(InputError, match=message):
            report_log(copy)
    path.write_bytes(b"PAR1 no")
    with pytest.raises(InputError, match="is not a file of records"):
        report_log(copy)


def test_a_spark_cluster_does_not_read_a_store(logs: list[tuple[Path, Path]]) -> None:
    """It would have to be exported; an address of files is left to the engine."""
    engine = Parted(1, 1)
    engine.address = "spark://somewhere:7077"
    for use in (report_log, harvest_log):
        with pytest.raises(UsageError, match="export it first"):
            use(logs[1][0], engine=engine)  # type: ignore[operator]
    files = find_files("s3a://bucket/log/")
    assert files.list_paths() == ("s3a://bucket/log/queries", "s3a://bucket/log/events")
    assert files.has_queries
    assert files.has_events
    limits = files.list_limits(1e9, None)  # folders of days before are not opened
    assert limits == {"time": (1e9, None), "date": (date(2001, 9, 9), None)}
    assert files.list_limits(None, 1e9)["date"] == (None, date(2001, 9, 10))
