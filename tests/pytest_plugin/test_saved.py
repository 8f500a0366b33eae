"""What the pytest plugin keeps for later: runs and reports."""

from __future__ import annotations

import json
from pathlib import Path

from plugin_suites import Count, Pytest, search

from karat.projects import open_project
from karat.runs import read_any_run
from telemetry.sink import collecting

BOTH = (
    "import pytest\nimport finder\n\n"
    "@pytest.mark.karat('project')\n@pytest.mark.parametrize('way', ['../a b', 'stuck'])\n"
    "class TestSearch:\n    def test_it(self, way):\n        return getattr(finder, way, finder.good)\n"
    "@pytest.mark.karat('project', policy='threshold')\ndef test_it():\n    return finder.good\n"
    "def test_fixture(karat):\n    karat.check('project', finder.good)\n    karat.check('project', finder.stuck)\n"
)


def test_runs_are_kept_of_marks_and_of_the_fixture(suite: Path, run_pytest: Pytest) -> None:
    """Each run is whole, whether its test passes or not; the folder is from where pytest was started."""
    (suite / "test_it.py").write_text(BOTH)
    (suite / "below").mkdir()
    result = run_pytest("..", "--karat-runs", "kept", folder=suite / "below", PYTHONPATH=str(suite))
    assert "3 failed, 9 passed, 3 skipped" in result.stdout, result.stdout
    kept = sorted(path.name.split("-")[0] for path in (suite / "below" / "kept").iterdir())
    assert kept == ["good", "good", "good", "stuck", "stuck"]
    project = open_project(suite / "project")
    for path in (suite / "below" / "kept").iterdir():
        assert len(read_any_run(path, project.golden).traces) == 10


def test_workers_keep_runs_of_the_same_system_side_by_side(
    suite: Path, run_pytest: Pytest, count_questions: Count
) -> None:
    """Two tests of one retriever on two workers want the same file: one waits, and both runs are there."""
    slow = (
        "import time, pytest, finder\n\ndef slow(query, k):\n    time.sleep(0.05)\n    return finder.good(query, k)\n"
    )
    for name in ("one", "two"):
        marked = "@pytest.mark.karat('project')\ndef test_search():\n    return other.slow\n"
        (suite / f"test_{name}.py").write_text(f"import pytest, other\n\n{marked}")
    (suite / "other.py").write_text(slow)
    (suite / "test_it.py").write_text("import other\n\ndef test_it(karat):\n    karat.check('project', other.slow)\n")
    result = run_pytest("-n", "3", "--karat-runs", "kept", "--karat-reports", "read")
    assert "9 passed, 2 skipped" in result.stdout, result.stdout
    assert count_questions() == 33
    assert len(list((suite / "kept").glob("slow-*.jsonl"))) == len(list((suite / "kept").iterdir())) == 3
    assert len(list((suite / "read").glob("*.html"))) == 3


def test_reports_are_written_of_each_test(suite: Path, run_pytest: Pytest) -> None:
    """As karat check does it, with the name of the test in characters that every system takes, and again in place."""
    (suite / "test_it.py").write_text(BOTH)
    for _ in range(2):
        result = run_pytest("--karat-reports", "some/reports")
        assert "3 failed, 9 passed, 3 skipped" in result.stdout, result.stdout
    files = sorted((suite / "some" / "reports").iterdir())
    names = {path.stem.rpartition("-")[0]: path.stem for path in files}
    assert sorted(names) == [
        "test_it.py-TestSearch-test_it-..-a-b",
        "test_it.py-TestSearch-test_it-stuck",
        "test_it.py-test_fixture",
        "test_it.py-test_fixture-2",
        "test_it.py-test_it",
    ]
    assert sorted(path.name for path in files) == sorted(
        f"{stem}.{suffix}" for stem in names.values() for suffix in ("html", "json", "md")
    )
    stuck = suite / "some" / "reports" / names["test_it.py-TestSearch-test_it-stuck"]
    document = json.loads(stuck.with_name(f"{stuck.name}.json").read_text())
    assert (document["karat"], document["verdict"]["outcome"], document["run"]["name"]) == ("report", "fail", "stuck")
    assert stuck.with_name(f"{stuck.name}.html").read_text().lower().startswith("<!doctype html>")
    assert stuck.with_name(f"{stuck.name}.md").read_text().startswith("# ")


def test_a_folder_that_cannot_be_is_told_before_anything_is_asked(
    suite: Path, run_pytest: Pytest, count_questions: Count
) -> None:
    """One line, with the option's own name."""
    search(suite, "good")
    result = run_pytest("--karat-reports", "finder.py")
    assert f"\nkarat: --karat-reports {suite / 'finder.py'}: cannot be made: File exists\n" in result.stdout
    result = run_pytest("--karat-runs", "finder.py")
    assert f"\nkarat: {suite / 'finder.py'}/good-" in result.stdout
    assert count_questions() == 0


def test_runs_are_sent_to_a_collector(run_pytest: Pytest) -> None:
    """Where an endpoint is configured, a marked test sends its run once, whatever its rules say."""
    with collecting() as sink:
        process = run_pytest("-q", OTEL_EXPORTER_OTLP_ENDPOINT=sink.url)
    assert "passed" in process.stdout
    assert [span.name for span in sink.spans].count("evaluator.EvaluateDataset") == 1
    assert [span.name for span in sink.spans].count("evaluator.EvaluateQuery") == 10
    assert "telemetry" not in process.stderr
