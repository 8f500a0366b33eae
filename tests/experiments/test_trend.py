"""Quality over time: which runs are one history, in which order, and what becomes of files that are none."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cli.gate_project import edited, make_project, make_run, make_set
from karat.cli._trend_text import trend_text
from karat.core import GoldenSet, InputError, MeasureError, UsageError
from karat.experiments import Trend, _history, read_trend, trend_document
from karat.projects.saved_runs import _files
from karat.schema import SystemChange, TrendRun, to_json

FIRST, THIRD = [1] * 12, [3] * 12


@pytest.fixture
def golden_set(tmp_path: Path) -> GoldenSet:
    """A project with a golden set and no runs."""
    return make_project(tmp_path)


def runs_of(trend: Trend) -> tuple[TrendRun, ...]:
    """Return the runs of the first history of the document."""
    return trend_document(trend).histories[0].runs


def names(trend: Trend, history: int = 0) -> list[str]:
    """Return the runs of a history by their files."""
    return [point.file.path.name.removesuffix(".jsonl") for point in trend.histories[history].points]


def at(path: Path, moment: str) -> Path:
    """Let a run be one of an older karat, which says no time, and its file be changed at some."""
    edited(path, lambda line: {key: value for key, value in line.items() if key != "begun"})
    seconds = datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp()
    os.utime(path, (seconds, seconds))
    return path


def begun(path: Path, moment: str) -> Path:
    """Let a run say when it was begun; its file is changed later."""
    return edited(path, lambda line: line | {"begun": moment} if "karat" in line else line)


def test_runs_are_scored_and_told_what_changed(tmp_path: Path, golden_set: GoldenSet) -> None:
    """By hand: all first is 1, all third 1/3, p95 of equal times that time; the system's size went from 8 to 9."""
    make_run(tmp_path, golden_set, FIRST, "p-2026-01-02-aaaaaaaa", system={"chunk": {"size": 8}, "k1": 1})
    make_run(tmp_path, golden_set, THIRD, "p-2026-01-03-00000000", system={"chunk": {"size": 9}, "k1": 1}, ms=20.0)
    make_run(tmp_path, golden_set, THIRD, "p-2026-01-03-00000000-2", system={"chunk": {"size": 9}, "k1": 1}, ms=None)
    (history,) = read_trend([tmp_path]).histories
    assert [point.evaluation.mean("RR@10") for point in history.points] == pytest.approx([1, 1 / 3, 1 / 3])
    assert [point.changes for point in history.points] == [
        None,
        (SystemChange(key="chunk.size", now=9, was=8),),
        (),
    ]
    runs = runs_of(read_trend([tmp_path]))
    assert [run.p95 for run in runs] == [10.0, 20.0, None]
    assert [run.date for run in runs] == ["2026-01-02", "2026-01-03", "2026-01-03"]
    assert runs[1].changes == (SystemChange(key="chunk.size", now=9, was=8),)


def test_runs_of_one_day_stand_in_the_order_in_which_they_were_begun(tmp_path: Path, golden_set: GoldenSet) -> None:
    """Whatever their names are, which a hash decides, and whatever happened to their files since."""
    times = {"d": "01:00:00", "b": "01:00:01", "a": "09:30:00", "c": "23:59:59"}
    for letter in reversed(times):
        path = make_run(tmp_path, golden_set, FIRST, f"p-2026-01-02-{letter * 8}")
        begun(path, f"2026-01-02T{times[letter]}Z")
    make_run(tmp_path, golden_set, FIRST, "a-2026-01-03-aaaaaaaa")
    trend = read_trend([tmp_path])
    assert names(trend) == [*(f"p-2026-01-02-{letter * 8}" for letter in times), "a-2026-01-03-aaaaaaaa"]
    first, *_ = runs_of(trend)
    assert (first.time, first.time_from) == ("2026-01-02T01:00:00Z", "begun")
    assert names(read_trend([tmp_path], last=2)) == ["p-2026-01-02-cccccccc", "a-2026-01-03-aaaaaaaa"]


def test_where_a_run_says_no_time_that_of_its_file_counts(tmp_path: Path, golden_set: GoldenSet) -> None:
    """Also among runs that do, and also where it was finished after midnight."""
    begun(make_run(tmp_path, golden_set, FIRST, "p-2026-01-02-bbbbbbbb"), "2026-01-02T12:00:00Z")
    at(make_run(tmp_path, golden_set, FIRST, "p-2026-01-02-cccccccc"), "2026-01-02T08:00:00")
    at(make_run(tmp_path, golden_set, FIRST, "p-2026-01-02-aaaaaaaa"), "2026-01-03T00:10:00")
    trend = read_trend([tmp_path])
    assert names(trend) == ["p-2026-01-02-cccccccc", "p-2026-01-02-bbbbbbbb", "p-2026-01-02-aaaaaaaa"]
    assert [run.time_from for run in runs_of(trend)] == ["modified", "begun", "modified"]


@pytest.mark.parametrize("made_old", [False, True])
def test_a_time_that_is_not_of_the_day_says_nothing(tmp_path: Path, golden_set: GoldenSet, made_old: bool) -> None:
    """A file that was copied or renamed stands by its name: the tenth after the second, one without a number first."""
    stems = ["a-2026-01-03-cccccccc", "p-2026-01-02-bbbbbb99", *(f"p-2026-01-02-bbbbbb99-{n}" for n in (2, 10))]
    for hour, stem in enumerate(reversed(stems)):
        path = make_run(tmp_path, golden_set, FIRST, stem)
        at(path, f"2026-01-07T0{hour}:00:00") if made_old else begun(path, f"2025-01-01T0{hour}:00:00Z")
    trend = read_trend([tmp_path])
    assert names(trend) == [*stems[1:], stems[0]]
    assert {run.time for run in runs_of(trend)} == {None}


def test_the_day_in_a_name_counts_before_the_one_that_the_run_says(tmp_path: Path, golden_set: GoldenSet) -> None:
    """Who gives a file a day of his own wants to see it there; one without a day has that of its run."""
    begun(make_run(tmp_path, golden_set, FIRST, "p-2026-01-05-aaaaaaaa"), "2026-01-01T00:00:00Z")
    begun(make_run(tmp_path, golden_set, FIRST, "mine"), "2026-01-03T10:00:00Z")
    runs = runs_of(read_trend([tmp_path]))
    assert [(run.run, run.date, run.date_from) for run in runs] == [
        ("mine.jsonl", "2026-01-03", "begun"), ("p-2026-01-05-aaaaaaaa.jsonl", "2026-01-05", "name"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "stem", ["mine", "p-2026-02-30-aaaaaaaa", "p-2026-01-02", "p-2026-01-02-nothexno", "p-2026-01-02-aaaaaaaa-new"]
)
def test_without_a_day_that_of_the_file_counts(tmp_path: Path, golden_set: GoldenSet, stem: str) -> None:
    """Also where the name only looks like one of karat's; it is said where the day is from."""
    at(make_run(tmp_path, golden_set, FIRST, stem), "2025-12-31T01:00:00")
    make_run(tmp_path, golden_set, FIRST, "p-2026-01-01-aaaaaaaa")
    first, second = runs_of(read_trend([tmp_path]))
    assert (first.run, first.date, first.date_from) == (f"{stem}.jsonl", "2025-12-31", "modified")
    assert (second.date, second.date_from) == ("2026-01-01", "name")


def test_runs_on_another_golden_set_are_listed_apart(tmp_path: Path, golden_set: GoldenSet) -> None:
    """They are in no history, have no score, and what changed is told against the run before on the same set."""
    queries = tuple(replace(query, text=f"{query.text}!") for query in golden_set.queries)
    other = replace(golden_set, name="other", queries=queries)
    make_run(tmp_path, golden_set, FIRST, "p-2026-01-01-aaaaaaaa", system={"size": 1})
    make_run(tmp_path, other, THIRD, "p-2026-01-02-aaaaaaaa", system={"size": 2})
    make_run(tmp_path, golden_set, THIRD, "p-2026-01-03-aaaaaaaa", system={"size": 1})
    trend = read_trend([tmp_path])
    assert names(trend) == ["p-2026-01-01-aaaaaaaa", "p-2026-01-03-aaaaaaaa"]
    assert trend.histories[0].points[1].changes == ()
    (apart,) = trend_document(trend).apart
    assert (apart.run, apart.golden["name"], apart.queries) == ("p-2026-01-02-aaaaaaaa.jsonl", "other", 12)
    assert not hasattr(apart, "measures")


def test_a_run_that_was_asked_otherwise_is_a_history_of_its_own(tmp_path: Path, golden_set: GoldenSet) -> None:
    """Scores of another k do not mean the same; the history with the newest run comes first and says how it differs."""
    make_run(tmp_path, golden_set, FIRST, "p-2026-01-01-aaaaaaaa")
    make_run(tmp_path, golden_set, FIRST, "p-2026-01-02-aaaaaaaa", k=20)
    make_run(tmp_path, golden_set, FIRST, "p-2026-01-03-aaaaaaaa")
    trend = read_trend([tmp_path])
    assert [names(trend, 0), names(trend, 1)] == [
        ["p-2026-01-01-aaaaaaaa", "p-2026-01-03-aaaaaaaa"], ["p-2026-01-02-aaaaaaaa"],
    ]  # fmt: skip
    assert [history.asked for history in trend.histories] == [{"k": 10}, {"k": 20}]


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def _unfinished(path: Path) -> None:
    edited(path, lambda line: None if "end" in line else line)


def _incomplete(path: Path) -> None:
    edited(path, lambda line: None if line.get("query") == "q03" else line)


def _hollow(path: Path) -> None:
    edited(path, lambda line: None if "query" in line else line)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (_cut, "is not valid JSON"),
        (_unfinished, "was not finished"),
        (_incomplete, "lacks answers to 1 of the queries"),
        (_hollow, "lacks answers to 12 of the queries"),
        (_folder, "is a folder"),
        (_dangling, "no such file"),
        (lambda path: path.write_bytes(b""), "the file is empty"),
        (lambda path: path.write_bytes(b"\xff\0"), "is not UTF-8"),
        (lambda path: path.write_text('{"query": "q"}\n'), "line 1: no document column among 'query'"),
        (lambda path: path.rename(path.with_name(path.name + ".part")), "was not finished; run 'karat eval' again"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_run_is_told_and_the_others_are_shown(
    tmp_path: Path, golden_set: GoldenSet, harm: Any, reason: str
) -> None:
    """It is neither a reason to show nothing nor passed over in silence."""
    make_run(tmp_path, golden_set, FIRST, "p-2026-01-01-aaaaaaaa")
    harm(make_run(tmp_path, golden_set, FIRST, "p-2026-01-02-aaaaaaaa"))
    make_run(tmp_path, golden_set, THIRD, "p-2026-01-03-aaaaaaaa")
    trend = read_trend([tmp_path])
    assert names(trend) == ["p-2026-01-01-aaaaaaaa", "p-2026-01-03-aaaaaaaa"]
    ((file, message),) = trend.skipped
    assert reason in message
    assert message.startswith(str(file.path))


def test_variants_of_sweeps_are_left_out_and_counted_unless_they_are_named(
    tmp_path: Path, golden_set: GoldenSet
) -> None:
    """A sweep tried the last of three runs; if there is nothing else, or the file is named, it is shown."""
    paths = [make_run(tmp_path, golden_set, [1] * 12, f"p-2026-01-0{day}-aaaaaaaa") for day in (1, 2, 3)]
    log = {"experiments": [{"run": f"runs/{paths[2].name}", "sweep": "sizes.toml"}]}
    (tmp_path / "experiments.json").write_text(json.dumps(log), encoding="utf-8")
    report = trend_document(read_trend([tmp_path]))
    assert ([run.run for run in report.histories[0].runs], report.variants) == ([path.name for path in paths[:2]], 1)
    assert trend_text(report).endswith(
        "left out: 1 run that a sweep tried; name files to see them: karat trend DIR/runs/*.jsonl"
    )
    named = read_trend(paths)
    assert (len(runs_of(named)), named.variants) == (3, 0)
    for path in paths[:2]:
        path.unlink()
    alone = read_trend([tmp_path])
    assert (len(runs_of(alone)), alone.variants) == (1, 0)


def test_only_the_newest_are_read_where_that_is_asked(tmp_path: Path, golden_set: GoldenSet) -> None:
    """Damaged files and other sets between them do not count; of older files nothing but the first line is read."""
    for day in range(1, 6):
        make_run(tmp_path, golden_set, FIRST, f"p-2026-01-0{day}-aaaaaaaa")
    for day in (1, 4):
        _cut(tmp_path / "runs" / f"p-2026-01-0{day}-aaaaaaaa.jsonl")
    trend = read_trend([tmp_path], last=2)
    assert names(trend) == ["p-2026-01-03-aaaaaaaa", "p-2026-01-05-aaaaaaaa"]
    assert [file.path.name for file, _ in trend.skipped] == ["p-2026-01-04-aaaaaaaa.jsonl"]
    assert trend.histories[0].points[0].changes is None
    with pytest.raises(UsageError, match="at least 1"):
        read_trend([tmp_path], last=0)


def test_runs_can_be_named(tmp_path: Path, golden_set: GoldenSet) -> None:
    """The project is the one that they lie in; one that is named twice is one run, and a gzipped one is read."""
    run = make_run(tmp_path, golden_set, FIRST, "p-2026-01-01-aaaaaaaa")
    other = make_run(tmp_path, golden_set, THIRD, "p-2026-01-02-aaaaaaaa")
    packed = other.with_name(other.name + ".gz")
    packed.write_bytes(gzip.compress(other.read_bytes()))
    trend = read_trend([packed, run, run])
    assert names(trend) == ["p-2026-01-01-aaaaaaaa", "p-2026-01-02-aaaaaaaa.jsonl.gz"]
    assert all(point.file.day_from == "name" for point in trend.histories[0].points)


def test_runs_that_were_kept_elsewhere(tmp_path: Path) -> None:
    """Files, a folder of them, or one with ``runs`` in it; the project is the one that is named."""
    project, kept = tmp_path / "project", tmp_path / "kept"
    project.mkdir()
    golden_set = make_project(project)
    run = make_run(kept, golden_set, FIRST, "p-2026-01-01-aaaaaaaa")
    for paths in ([run], [kept], [kept / "runs"]):
        trend = read_trend(paths, golden=project)
        assert names(trend) == ["p-2026-01-01-aaaaaaaa"]
        assert trend.project.config.folder == project
    with pytest.raises(InputError, match=r"project/runs: there are no runs yet|project: there are no runs yet"):
        read_trend([project], golden=project)
    with pytest.raises(InputError, match="no such file or folder"):
        read_trend([run], golden=tmp_path / "nowhere")
    with pytest.raises(InputError):
        read_trend([kept])


def test_what_makes_no_sense_is_refused(tmp_path: Path, golden_set: GoldenSet) -> None:
    """No runs, a file that is not there, two projects, a project among files, an unknown measure."""
    with pytest.raises(InputError, match=r"runs: there are no runs yet; 'karat eval' makes them"):
        read_trend([tmp_path])
    run = make_run(tmp_path, golden_set, FIRST)
    with pytest.raises(InputError, match="no such file"):
        read_trend([tmp_path / "runs" / "gone.jsonl"])
    for paths in ([], [tmp_path, tmp_path], [tmp_path, run]):
        with pytest.raises(UsageError, match="one project, or some of its run files"):
            read_trend(paths)
    with pytest.raises(MeasureError, match="nGCD"):
        read_trend([tmp_path], ["nGCD@10"])
    shutil.rmtree(tmp_path / "runs")
    (tmp_path / "runs").write_text("")
    with pytest.raises(InputError, match="cannot be read"):
        read_trend([tmp_path])


def test_a_measure_without_a_value_is_none(tmp_path: Path) -> None:
    """Where nothing is judged no recall is known: null in the document, which holds no NaN."""
    golden_set = make_project(tmp_path, golden_set=make_set(judgments=()))
    run = make_run(tmp_path, make_set(), FIRST)
    head = json.loads(make_run(tmp_path, replace(make_set(), judgments=()), [], "empty").read_text().splitlines()[0])
    edited(run, lambda line: head if "karat" in line else line)
    (tmp_path / "runs" / "empty.jsonl").unlink()
    assert not golden_set.judgments
    report = trend_document(read_trend([tmp_path], ["R@5"]))
    assert report.histories[0].runs[0].measures == {"R@5": None}
    to_json(report)


def test_each_run_is_read_and_scored_once(
    tmp_path: Path, golden_set: GoldenSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are; the set's fingerprint, as slow as a run, is taken once for reading."""
    for day in range(1, 21):
        make_run(tmp_path, golden_set, FIRST, f"p-2026-01-{day:02}-aaaaaaaa")
    places = {"read_run_file": _files, "score_run": _history, "fingerprint": _history}
    counted = dict.fromkeys(places, 0)

    def counting(name: str) -> Any:
        real = getattr(places[name], name)

        def call(*arguments: Any, **options: Any) -> Any:
            counted[name] += 1
            return real(*arguments, **options)

        return call

    for name in counted:
        monkeypatch.setattr(places[name], name, counting(name))
    steps: list[tuple[int, int]] = []
    trend = read_trend([tmp_path], progress=lambda *far: steps.append(far))
    assert counted == {"read_run_file": 20, "score_run": 20, "fingerprint": 1}
    assert steps == [(i, 20) for i in range(1, 21)]
    assert not any(point.evaluation.has_queries or point.evaluation.lists for point in trend.histories[0].points)


def test_a_pipe_among_the_runs_is_not_waited_for(tmp_path: Path) -> None:
    """It is told as what cannot be used."""
    golden_set = make_project(tmp_path)
    make_run(tmp_path, golden_set, [1] * 12)
    os.mkfifo(tmp_path / "runs" / "pipe.jsonl")
    trend = read_trend([tmp_path])
    assert [reason.partition(": ")[2] for _, reason in trend.skipped] == ["is a pipe, not a file"]


def test_runs_of_other_programs_have_the_day_in_their_names(tmp_path: Path) -> None:
    """Copies have the time of the copying, which says nothing. A name with two days, or a day that is none, has none.

    They may be named, or lie in a folder; a folder that has run files of karat has its other files left alone.
    """
    project, kept = tmp_path / "project", tmp_path / "weekly"
    project.mkdir()
    kept.mkdir()
    golden_set = make_project(project)
    lines = [f"{query.id} Q0 {golden_set.documents[0].id} 1 1.0 bm25\n" for query in golden_set.queries]
    names_ = ("bm25-2026-01-05.txt", "bm25_20260112.run", "2026-01-19-bm25.trec")
    for name in reversed(names_):
        (kept / name).write_text("".join(lines))
    for paths in ([kept / name for name in names_], [kept]):
        points = read_trend(paths, golden=project).histories[0].points
        assert [point.file.path.name for point in points] == list(names_)
        assert [(str(point.file.day), point.file.day_from) for point in points] == [
            ("2026-01-05", "name"), ("2026-01-12", "name"), ("2026-01-19", "name"),
        ]  # fmt: skip
    for name in ("a-2026-01-05-b-2026-01-06.txt", "a-2026-02-30.txt", "a-120260105.txt", "a-2026-0105.txt", "a.txt"):
        path = kept / name
        path.write_text("".join(lines))
        assert read_trend([path], golden=project).histories[0].points[0].file.day_from == "modified"
    make_run(kept, golden_set, FIRST, "p-2026-01-01-aaaaaaaa").rename(kept / "p-2026-01-01-aaaaaaaa.jsonl")
    (kept / "runs").rmdir()
    assert names(read_trend([kept], golden=project)) == ["p-2026-01-01-aaaaaaaa"]
