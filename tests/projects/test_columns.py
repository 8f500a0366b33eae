"""What is held in columns stays there: a decision on a million judgments and hits makes no object of each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from karat.core import HitList, TraceTable
from karat.evaluation import RankedLists, score_run
from karat.gate import Baseline, read_baseline, write_baseline
from karat.projects import compare_runs, gate_run, open_project, report_document
from karat.reports import render_text
from karat.runs import make_run, read_any_run


def make_project(folder: Path) -> list[Path]:
    """Write a project of forty queries, and two runs that differ."""
    (folder / "golden").mkdir()
    (folder / "karat.toml").write_text(
        '[golden]\npath = "golden"\n[eval]\nmeasures = ["nDCG@10", "RR@10", "R@10"]\nk = 3\n'
    )
    (folder / "golden" / "golden.toml").write_text('name = "columns"\nversion = "1.0.0"\n')
    rows = {
        "documents": [{"id": f"d{i}", "text": f"Text {i}.", "tier": f"t{i % 2}"} for i in range(9)],
        "queries": [{"id": f"q{i:02}", "text": f"{i}", "category": f"c{i % 3}"} for i in range(40)],
        "judgments": [
            {"query": f"q{i:02}", "document": f"d{(i + n) % 9}", "grade": n % 4} for i in range(40) for n in range(5)
        ],
    }
    for name, lines in rows.items():
        (folder / "golden" / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    paths = [folder / "runs" / name for name in ("before.jsonl", "after.jsonl")]
    for shift, path in enumerate(paths):
        golden = open_project(folder).golden
        make_run(golden, lambda query, k, s=shift: [f"d{(int(query) + s * 3 + n) % 9}" for n in range(k)], output=path)
    return paths


def test_a_decision_makes_no_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of judgments nor of traces nor of hits: a loop over ``golden.judgments`` would make all of them."""
    monkeypatch.setattr("karat.traces._trace_rows._MANY", 0)
    before, after = make_project(tmp_path)
    project = open_project(tmp_path)
    runs = [read_any_run(path, project.golden) for path in (before, after)]
    recorded = score_run(project.golden, runs[0], project.config.eval.measures)
    result = gate_run(project, runs[1], baseline=Baseline(evaluation=recorded))
    compared = [read_any_run(path, project.golden) for path in (before, after)]
    monkeypatch.setattr("karat.projects._evaluations.read_any_run", lambda *_, **__: compared.pop(0))
    tables = [run.traces for run in (*runs, *compared)]
    assert all(isinstance(table, TraceTable) for table in tables)
    assert "won most" in render_text(report_document(result, brief=True))
    assert len(compare_runs([before, after], project=project, by="category", brief=True).pairs) == 1
    assert "judgments" not in vars(project.golden)
    assert isinstance(result.evaluation.lists, RankedLists)
    assert not any("objects" in vars(table) for table in tables)
    untouched = [trace for run in runs for trace in run.traces if isinstance(trace.listed, HitList)]
    assert len(untouched) == 80
    assert all(trace.listed.table is not None for trace in untouched)  # type: ignore[attr-defined]


def test_rows_of_columns_are_those_of_objects(tmp_path: Path) -> None:
    """A report has the same queries, hits, ranks and grades, however the hits of the run are held."""
    paths = make_project(tmp_path)
    for path in paths:
        path.write_text(path.read_text().replace('"score":2.0', '"score":2.12345678'))
    project = open_project(tmp_path)
    baseline = Baseline(evaluation=score_run(project.golden, read_any_run(paths[0], project.golden)))
    columns, objects = (read_any_run(paths[1], project.golden) for _ in range(2))
    assert all(isinstance(trace.hits, tuple) for trace in objects.traces)  # whoever asks for objects, makes them
    reports = [report_document(gate_run(project, run, baseline=baseline)) for run in (columns, objects)]
    assert reports[0].queries == reports[1].queries
    row = reports[0].queries[1]  # it found d4 d5 d6 d7 d8 d0 d1 d2 d3 d4, where the baseline has d1 first
    assert [(hit.rank, hit.document, hit.score, hit.grade, hit.was) for hit in row.hits[::8]] == [
        (1, "d4", 10.0, 3, 4),
        (9, "d3", 2.123457, 2, 3),
    ]
    assert [(row.document, row.grade, row.rank) for row in row.expected] == [("d4", 3, 1), ("d3", 2, 9)]


def test_files_share_the_queries_of_the_golden_set(tmp_path: Path) -> None:
    """Judgments, run and baseline have the very ids: equal ones would be read letter by letter in each pass."""
    before, _ = make_project(tmp_path)
    project = open_project(tmp_path)
    golden, run = project.golden, read_any_run(before, project.golden)
    write_baseline(Baseline(evaluation=score_run(golden, run)), tmp_path / "baseline.json")
    baseline = read_baseline(tmp_path / "baseline.json").evaluation
    for query, judged, trace, row in zip(
        golden.queries, golden.grades_by_query.queries, run.traces, baseline.queries, strict=True
    ):
        assert judged is query.id
        assert trace.query is query.id
        assert row is query.id


def test_a_run_in_another_order_keeps_its_own_queries(tmp_path: Path) -> None:
    """A run with its lines reversed has the ids of the set, in its own order."""
    before, _ = make_project(tmp_path)
    head, *lines, end = before.read_text().splitlines()
    before.write_text("\n".join([head, *reversed(lines), end, ""]))
    golden = open_project(tmp_path).golden
    run = read_any_run(before, golden)
    questions = [(trace.query, trace.text) for trace in run.traces]
    assert questions == [(query.id, query.text) for query in reversed(golden.queries)]
    assert all(trace.query is golden.query_by_id[trace.query].id for trace in run.traces)
