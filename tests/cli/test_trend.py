"""``karat trend``: the table, the bars, the file, and what is told of runs that are in none of them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from jsonschema import validate

from cli.gate_project import edited, make_project, make_run
from karat.core import GoldenSet
from karat.schema import json_schema

VERB = "trend"
Run = Callable[..., tuple[str, str]]
FIRST, SECOND, THIRD = [1] * 12, [2] * 12, [3] * 12


@pytest.fixture
def golden_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GoldenSet:
    """A project without runs, which is the current folder."""
    monkeypatch.chdir(tmp_path)
    return make_project(tmp_path)


@pytest.fixture
def three(tmp_path: Path, golden_set: GoldenSet) -> GoldenSet:
    """The project with three runs: worse, then better again."""
    make_run(tmp_path, golden_set, FIRST, "p-2026-01-01-aaaaaaaa", system={"size": 512, "model": "a"})
    make_run(tmp_path, golden_set, THIRD, "p-2026-01-02-aaaaaaaa", system={"size": 384, "model": "a"}, ms=21.5)
    make_run(tmp_path, golden_set, SECOND, "p-2026-01-03-aaaaaaaa", system={"size": 384, "model": "a"})
    return golden_set


def aged(path: Path) -> Path:
    """Let a run be one of an older karat, which says no time."""
    return edited(path, lambda line: {key: value for key, value in line.items() if key != "begun"})


def ask_otherwise(golden_set: GoldenSet) -> GoldenSet:
    """A golden set without a question of this one: under the same ids it asks something else."""
    return replace(golden_set, queries=tuple(replace(query, text=f"{query.text}!") for query in golden_set.queries))


def test_the_table_and_the_bars(run: Run, three: GoldenSet) -> None:
    """A row for each run with what changed since the one before, then each metric in one line."""
    out, err = run()
    assert err == ""
    assert out == (
        "date        run                    queries   RR@10  p95 ms  changed since the run before\n"
        "2026-01-01  p-2026-01-01-aaaaaaaa       12  1.0000   10.00  -\n"
        "2026-01-02  p-2026-01-02-aaaaaaaa       12  0.3333   21.50  size 512 -> 384\n"
        "2026-01-03  p-2026-01-03-aaaaaaaa       12  0.5000   10.00  nothing\n"
        "\n"
        "metric  trend   first  newest   change  lowest  highest\n"
        "RR@10   █▁▃    1.0000  0.5000  -0.5000  0.3333   1.0000\n"
        "p95 ms  ▁█▁     10.00   10.00    +0.00   10.00    21.50\n"
    )


def test_runs_have_the_names_that_people_read(run: Run, golden_set: GoldenSet, tmp_path: Path) -> None:
    """A label, or the stages of the pipeline and the commit, in the table, the drawing and JSON; never the file."""
    commit = {"origin": {"commit": "a1b2c3d4e5f6"}, "system": {"kind": "pipeline", "lexical": {}, "dense": {}}}
    facts = {"p-2026-01-01-aaaaaaaa": commit, "p-2026-01-02-aaaaaaaa": {"origin": {"label": "before the synonyms"}}}
    for name, fact in facts.items():
        path = make_run(tmp_path, golden_set, FIRST, name)
        edited(path, lambda line, fact=fact: line | fact if "karat" in line else line)
    out, _ = run("--svg", "trend.svg")
    assert "2026-01-01  bm25+dense a1b2c3d  " in out
    assert "2026-01-02  before the synonyms  " in out
    assert "2026-01-02 before the synonyms: 1.0000" in (tmp_path / "trend.svg").read_text()
    assert ".jsonl" not in out + (tmp_path / "trend.svg").read_text()
    runs = json.loads(run("--json")[0])["histories"][0]["runs"]
    assert [record["title"] for record in runs] == ["bm25+dense a1b2c3d", "before the synonyms"]


def test_json_is_as_the_published_schema_says(run: Run, three: GoldenSet, tmp_path: Path) -> None:
    """With two histories, a run on another golden set and a file that cannot be read."""
    make_run(tmp_path, three, FIRST, "k-2026-01-04-aaaaaaaa", k=20, ms=None)
    make_run(tmp_path, ask_otherwise(three), FIRST, "o-2026-01-04-aaaaaaaa")
    (tmp_path / "runs" / "damaged.jsonl").write_text("{")
    report = json.loads(run("--json")[0])
    validate(report, json_schema("trend"))
    assert [len(report[key]) for key in ("histories", "apart", "skipped")] == [2, 1, 1]


def test_times_are_shown_where_a_day_has_several_runs(run: Run, golden_set: GoldenSet, tmp_path: Path) -> None:
    """In UTC, in the table and in the file; a star where it is only that of the file; a day with one run is a day."""
    for day, letter, time in (("02", "b", "23:00:07"), ("02", "a", "23:15:00"), ("03", "a", "01:00:00")):
        path = make_run(tmp_path, golden_set, FIRST, f"p-2026-01-{day}-{letter * 8}")
        edited(path, lambda line, at=f"2026-01-{day}T{time}Z": line | {"begun": at} if "karat" in line else line)
    old = aged(make_run(tmp_path, golden_set, FIRST, "p-2026-01-02-cccccccc"))
    os.utime(old, (1767390000, 1767390000))
    out, _ = run("--svg", "trend.svg")
    rows = [line.partition("  12  ")[0].rstrip() for line in out.splitlines() if "  12  " in line]
    assert rows == [
        "2026-01-02 21:40:00*  p-2026-01-02-cccccccc",
        "2026-01-02 23:00:07   p-2026-01-02-bbbbbbbb",
        "2026-01-02 23:15:00   p-2026-01-02-aaaaaaaa",
        "2026-01-03            p-2026-01-03-aaaaaaaa",
    ]
    assert out.endswith("\n* when the file was last changed: it does not say when the run was made\n")
    text = (tmp_path / "trend.svg").read_text()
    assert "2026-01-02 23:00:07 p-2026-01-02-bbbbbbbb: 1.0000" in text
    assert "2026-01-03 p-2026-01-03-aaaaaaaa: 1.0000" in text


def test_runs_of_another_folder_belong_to_the_project_that_is_named(run: Run, three: GoldenSet, tmp_path: Path) -> None:
    """As with the report: ``--golden`` says which."""
    (tmp_path / "runs").rename(tmp_path.parent / f"{tmp_path.name}-kept")
    kept = tmp_path.parent / f"{tmp_path.name}-kept"
    for arguments in ([kept], sorted(kept.iterdir())):
        assert run(*arguments, "--golden", ".")[0].count("-aaaaaaaa ") == 3
    assert run("--golden", ".", code=2)[1] == "karat: .: there are no runs yet; 'karat eval' makes them\n"


@pytest.mark.parametrize(
    ("ms", "shown"), [(1.5e14, "1.5e+14"), (4.21e-7, "4.21e-07"), (0.004, "0.004"), (123456.789, "123456.79")]
)
def test_latencies_of_any_size_are_short(
    run: Run, golden_set: GoldenSet, tmp_path: Path, ms: float, shown: str
) -> None:
    """No cell has more digits than one can read, and none says 0 of what took time."""
    make_run(tmp_path, golden_set, FIRST, "p-2026-01-01-aaaaaaaa", ms=ms)
    make_run(tmp_path, golden_set, FIRST, "p-2026-01-02-aaaaaaaa", ms=2 * ms)
    out, _ = run("--svg", "trend.svg")
    assert f"  {shown}  -\n" in out
    assert max(map(len, out.replace("changed since the run before", "").split())) == len("p-2026-01-01-aaaaaaaa")
    assert shown in out.splitlines()[-1]
    assert f"lowest {shown}," in (tmp_path / "trend.svg").read_text()


def test_json_has_all_of_it(run: Run, three: GoldenSet) -> None:
    """The same as plain numbers, at full precision, for the measures that were asked for."""
    record = json.loads(run(".", "--json", "-m", "P@1", "-m", "RR@10", "--last", "2")[0])
    assert set(record) == {"golden", "measures", "histories", "apart", "skipped", "variants"}
    first, second = record["histories"][0]["runs"]
    assert first["measures"] == {"P@1": 0.0, "RR@10": pytest.approx(1 / 3, abs=1e-12)}
    assert first["changes"] is None
    assert second == {
        "run": "p-2026-01-03-aaaaaaaa.jsonl", "path": "runs/p-2026-01-03-aaaaaaaa.jsonl", "date": "2026-01-03",
        "date_from": "name", "time": None, "time_from": None, "title": "p-2026-01-03-aaaaaaaa", "queries": 12,
        "failed": 0,
        "measures": {"P@1": 0.0, "RR@10": 0.5}, "p95": 10.0, "changes": [], "golden_change": None,
    }  # fmt: skip


def test_the_file_has_a_line_for_each_metric(run: Run, three: GoldenSet, tmp_path: Path) -> None:
    """The table is printed besides; the same runs give the same bytes."""
    out, _ = run("--svg", "trend.svg", "-m", "RR@10", "-m", "nDCG@5")
    assert out.startswith("date ")
    text = (tmp_path / "trend.svg").read_bytes()
    titles = [node[0].text for node in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}g")]
    assert titles == ["RR@10", "nDCG@5", "p95 ms"]
    assert b"2026-01-02 p-2026-01-02-aaaaaaaa: 0.3333" in text
    assert b"3 runs, 2026-01-01 to 2026-01-03" in text
    run("--svg", "again.svg", "-m", "RR@10", "-m", "nDCG@5")
    assert (tmp_path / "again.svg").read_bytes() == text


def test_a_run_is_never_written_over(run: Run, three: GoldenSet, tmp_path: Path) -> None:
    """``--svg runs/*`` is refused before anything is read; so are a run of such a name, a link to one, a document."""
    runs = sorted((tmp_path / "runs").iterdir())
    (tmp_path / "run.svg").write_bytes(runs[0].read_bytes())
    (tmp_path / "link.svg").symlink_to(runs[0])
    before = {path: path.read_bytes() for path in (*runs, tmp_path / "run.svg", *(tmp_path / "set").iterdir())}
    _, err = run("--svg", *runs, code=2)
    assert "name a file that ends with .svg" in err
    for arguments, reason in (
        (["run.svg", "--svg", "./run.svg"], "would overwrite an input; choose another name"),
        (["--svg", "link.svg"], "would overwrite an input; choose another name"),
        (["--svg", "set/picture.svg"], "is in set, whose files are read as input; choose another place"),
    ):
        _, err = run(*arguments, code=2)
        assert err.endswith(f"--svg {arguments[-1]} {reason}\n")
    assert {path: path.read_bytes() for path in before} == before


def test_a_folder_for_the_file_is_made(run: Run, three: GoldenSet, tmp_path: Path) -> None:
    """As the report makes it; where that cannot be it is told."""
    _, err = run("--svg", "new/folder/trend.svg")
    assert err == "karat: report saved as new/folder/trend.svg\n"
    assert (tmp_path / "new" / "folder" / "trend.svg").exists()
    assert "cannot be written" in run("--svg", "karat.toml/trend.svg", code=2)[1]


def test_one_run_has_no_trend(run: Run, golden_set: GoldenSet, tmp_path: Path) -> None:
    """It is a row, without bars; the file shows a dot."""
    make_run(tmp_path, golden_set, FIRST, "p-2026-01-01-aaaaaaaa")
    out, _ = run("--svg", "trend.svg")
    assert len(out.splitlines()) == 2
    assert (tmp_path / "trend.svg").read_text().count("<circle") == 2
    assert "1 run, 2026-01-01<" in (tmp_path / "trend.svg").read_text()


def test_no_run_is_a_mistake(run: Run, golden_set: GoldenSet) -> None:
    """Exit code 2, and how runs are made."""
    assert run(code=2) == ("", "karat: runs: there are no runs yet; 'karat eval' makes them\n")


def test_what_is_in_no_history_is_told(run: Run, three: GoldenSet, tmp_path: Path) -> None:
    """Other golden sets in a list of their own, what cannot be read with its reason, and days that are not certain."""
    other = replace(ask_otherwise(three), name="older", version="0.9")
    make_run(tmp_path, other, FIRST, "p-2025-12-31-aaaaaaaa")
    aged(make_run(tmp_path, three, FIRST, "mine", errors={"q01": "timed out"}))
    (tmp_path / "runs" / "p-2026-01-04-aaaaaaaa.jsonl").write_text("{")
    out, _ = run()
    apart, _, rest = out.partition("on another golden set")[2].partition("\n\n")
    assert "2025-12-31  p-2025-12-31-aaaaaaaa  older 0.9 sha256:" in apart
    assert rest.startswith("not used\n  runs/p-2026-01-04-aaaaaaaa.jsonl, line 1: is not valid JSON")
    assert out.endswith("\n* when the file was last changed: it does not say when the run was made\n")
    assert out.count("12 (1 failed)") == 1
    assert "*  mine " in out
    assert "older" not in out.partition("on another golden set")[0]


def test_histories_that_differ_in_how_they_were_asked_say_so(run: Run, three: GoldenSet, tmp_path: Path) -> None:
    """Two tables, each under what its runs have in common."""
    make_run(tmp_path, three, FIRST, "p-2026-01-04-aaaaaaaa", k=20)
    out, _ = run("--svg", "trend.svg")
    assert out.startswith("asked with k 20\ndate ")
    assert "\n\nasked with k 10\ndate " in out
    assert "asked with k 10; 3 runs, 2026-01-01 to 2026-01-03" in (tmp_path / "trend.svg").read_text()


def test_nothing_on_this_set_is_no_mistake_and_nothing_at_all_is(
    run: Run, golden_set: GoldenSet, tmp_path: Path
) -> None:
    """Runs on another set are something to see; files of which none can be read are told and end with 2."""
    make_run(tmp_path, ask_otherwise(golden_set), FIRST, "p-2026-01-01-aaaaaaaa")
    out, _ = run("--svg", "trend.svg")
    assert out.startswith("no run on turns sha256:")
    (tmp_path / "runs" / "p-2026-01-01-aaaaaaaa.jsonl").write_text("")
    out, err = run(code=2)
    assert "the file is empty" in out
    assert err == "karat: .: no run could be read\n"


def test_a_terminal_acts_on_no_name(run: Run, golden_set: GoldenSet, tmp_path: Path) -> None:
    """Escapes in names of files, sets, keys and values, in what is read and in what is not, are shown as text."""
    evil = "\x1b[31m\u202e"
    wicked = replace(golden_set, name=f"set{evil}", documents=golden_set.documents[:-1])
    make_run(tmp_path, golden_set, FIRST, f"a{evil}", system={"size": 1})
    make_run(tmp_path, golden_set, FIRST, f"b{evil}", system={"size": evil, evil: [evil]}, **{evil: evil})
    make_run(tmp_path, golden_set, FIRST, f"c{evil}", k=20, more=evil)
    make_run(tmp_path, wicked, FIRST, f"d{evil}")
    (tmp_path / "runs" / f"e{evil}.jsonl").write_text(evil)
    for arguments in ((), ("--json",), ("--svg", "trend.svg")):
        out, err = run(*arguments)
        assert not {"\x1b", "\u202e"} & set(out + err)
    assert not {"\x1b", "\u202e"} & set((tmp_path / "trend.svg").read_text())


def test_many_runs_are_shown_whole_and_drawn_as_far_as_there_is_room(
    run: Run, golden_set: GoldenSet, tmp_path: Path
) -> None:
    """All are rows; the bars are those of the newest sixty, and say so."""
    for number in range(61):
        make_run(tmp_path, golden_set, THIRD if number else FIRST, f"p-2026-01-01-aaaaaaaa-{number}")
    out, _ = run()
    assert out.count("p-2026-01-01-aaaaaaaa-") == 61
    assert "trend (the newest 60)" in out
    assert f"RR@10   {'▅' * 60}  1.0000  0.3333" in out


def test_a_change_of_many_parts_is_cut(run: Run, golden_set: GoldenSet, tmp_path: Path) -> None:
    """Three are named, what is gone is a dash, and the rest is counted."""
    make_run(tmp_path, golden_set, FIRST, "p-2026-01-01-aaaaaaaa", system={"a": 1, "b": True, "c": "x", "d": 1, "e": 1})
    make_run(tmp_path, golden_set, FIRST, "p-2026-01-02-aaaaaaaa", system={"a": 2, "b": False, "f": 1})
    assert "a 1 -> 2, b true -> false, c x -> -, 3 more\n" in run()[0]
