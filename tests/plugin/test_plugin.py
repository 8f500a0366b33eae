"""The pytest plugin, in test suites of its own that run as a user's do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from karat import golden
from karat.core import Document, GoldenSet, Judgment, Query, Target
from karat.experiments import gate_run, open_project, read_answers
from karat.gate import Baseline, write_baseline

WORDS = ("pool", "wifi", "dogs", "sauna", "gym", "bar", "parking", "breakfast", "garden", "library")
SET = GoldenSet(
    name="tiny",
    version="1.0.0",
    grades=("no", "yes"),
    relevant=1,
    documents=tuple(Document(id=word, text=f"All about the {word} of the hotel.") for word in WORDS),
    queries=tuple(Query(id=f"q-{word}", text=f"where is the {word}") for word in WORDS),
    judgments=tuple(Judgment(query=f"q-{word}", target=Target(document=word), grade=1) for word in WORDS),
)
GATE = '[gate]\nmust_pass = ["q-bar"]\n[[gate.rules]]\nmetric = "RR@10"\nmin = 0.5\nnon_inferior = true\n'
FINDER = """
import os

def good(query, k):
    with open("asked.log", "a") as log:
        log.write(query + "\\n")
    return [query.split()[-1], "pool"][:k]

def stuck(query, k):
    return ["pool", "wifi"][:k]

def broken(query, k):
    raise ConnectionError("refused")
"""
TEST = "import pytest\nimport finder\n\n@pytest.mark.karat('project')\ndef test_search():\n    return finder.{}\n"


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A test suite with a retriever, and a project with two rules on one measure and a query that must pass."""
    (tmp_path / "project").mkdir()
    golden.write(SET, tmp_path / "project" / "set")
    (tmp_path / "project" / "karat.toml").write_text(
        f'[golden]\npath = "set"\n[pipeline]\ndense = false\n[eval]\nmeasures = ["RR@10"]\n{GATE}'
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers -p no:randomly -p no:cacheprovider\n")
    (tmp_path / "finder.py").write_text(FINDER)
    (tmp_path / "test_it.py").write_text(TEST.format("good"))
    return tmp_path


def run_pytest(folder: Path, environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest as a user does; the plugin comes by its entry point."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def accept(suite: Path, environment: dict[str, str]) -> None:
    """Keep the run of the suite, and make it the baseline."""
    assert run_pytest(suite, environment, "--karat-runs", "kept").returncode == 0
    (file,) = (suite / "kept").glob("good-*.jsonl")
    project = open_project(suite / "project")
    gated = gate_run(project, read_answers(file, project.golden))
    write_baseline(Baseline(snapshot=gated.snapshot), suite / "project" / "baseline.json")
    (suite / "asked.log").unlink()


def test_a_marked_test_becomes_one_item_for_each_rule_and_query_that_must_pass(
    suite: Path, environment: dict[str, str]
) -> None:
    """Both limits on RR@10 are one rule; the retriever is asked once for all items: ten questions and a warm-up."""
    done = run_pytest(suite, environment, "-v")
    assert done.returncode == 0, done.stdout
    assert "test_it.py::test_search[RR@10] PASSED" in done.stdout
    assert "test_it.py::test_search[must pass: q-bar] PASSED" in done.stdout
    assert "2 passed" in done.stdout
    assert len((suite / "asked.log").read_text().splitlines()) == 11


def test_what_passes_undecided_is_listed(suite: Path, environment: dict[str, str]) -> None:
    """Without a baseline the rule passes, and the summary says that it did without being decided."""
    done = run_pytest(suite, environment)
    assert "karat: inconclusive, which the policy lets pass" in done.stdout
    assert "inconclusive: RR@10, not worse: there is no baseline yet" in done.stdout
    accept(suite, environment)
    assert "inconclusive" not in run_pytest(suite, environment).stdout


def test_inconclusive_fails_where_the_policy_says_so(suite: Path, environment: dict[str, str]) -> None:
    """A rule that cannot be decided fails its item, and the others pass."""
    config = suite / "project" / "karat.toml"
    config.write_text(config.read_text().replace("[gate]", '[gate]\non_inconclusive = "fail"'))
    done = run_pytest(suite, environment)
    assert done.returncode == 1
    assert "inconclusive, which the policy does not let pass" in done.stdout
    assert "1 failed, 1 passed" in done.stdout


def test_a_failure_is_short_and_names_the_queries(suite: Path, environment: dict[str, str]) -> None:
    """Name, reason, numbers and what was lost, once for both limits; no line of karat's own code."""
    accept(suite, environment)
    (suite / "test_it.py").write_text(TEST.format("stuck"))
    done = run_pytest(suite, environment, "--tb=long")
    assert done.returncode == 1
    failures = done.stdout.partition("FAILURES")[2].partition("short test summary")[0]
    first, second = failures.split("\n____")[1:]
    lines = [line.partition(": dropped")[0] for line in first.splitlines()[1:] if line]
    assert lines == [
        "RR@10, at least 0.5: 0.1500 is below 0.5",
        "  current 0.1500",
        "RR@10, not worse",
        "  current 0.1500, baseline 1.0000, change -0.8500, tolerated 0.0500, p 0.00195, 10 queries",
        "  lost most (5 of 9):",
        "    q-bar  1.000 to 0.000  where is the bar",
        "    q-breakfast  1.000 to 0.000  where is the breakfast",
        "    q-dogs  1.000 to 0.000  where is the dogs",
        "    q-garden  1.000 to 0.000  where is the garden",
        "    q-gym  1.000 to 0.000  where is the gym",
    ]
    assert second.splitlines()[1:5] == [
        "q-bar, must pass: nothing relevant was found",
        "  where is the bar",
        "  expected: bar",
        "  found: pool, wifi",
    ]
    assert ".py:" not in failures


def test_workers_of_xdist_share_one_evaluation(suite: Path, environment: dict[str, str]) -> None:
    """Two workers with an item each: one asks, the other reads; a broken retriever is told by both, and asked once."""
    done = run_pytest(suite, environment, "-n", "2", "-v")
    assert done.returncode == 0, done.stdout
    assert {line.split("]")[0] for line in done.stdout.splitlines() if line.startswith("[gw")} == {"[gw0", "[gw1"}
    assert len((suite / "asked.log").read_text().splitlines()) == 11
    (suite / "test_it.py").write_text(TEST.format("broken"))
    done = run_pytest(suite, environment, "-n", "2")
    assert "2 failed" in done.stdout
    assert done.stdout.count("\nkarat: every one of 10 queries failed: ConnectionError: refused\n") == 2


def test_what_workers_shared_is_removed(suite: Path, environment: dict[str, str], tmp_path: Path) -> None:
    """Nothing stays in the folder for temporary files."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    done = run_pytest(suite, environment | {"TMPDIR": str(temporary)}, "-n", "2")
    assert done.returncode == 0
    assert not list(temporary.glob("karat-*"))


def test_other_parameters_make_other_systems(suite: Path, environment: dict[str, str]) -> None:
    """Parameters and fixtures work as in every test, and each combination is asked once."""
    (suite / "test_it.py").write_text(
        "import pytest\nimport finder\n\n@pytest.fixture\ndef which(request):\n    return 'good'\n\n"
        "@pytest.mark.karat(golden='project', k=5)\n@pytest.mark.parametrize('name', ['good', 'stuck'])\n"
        "class TestSearch:\n    def test_it(self, name, which):\n        return getattr(finder, name)\n"
    )
    done = run_pytest(suite, environment, "-v")
    assert "TestSearch::test_it[good-RR@10] PASSED" in done.stdout
    assert "TestSearch::test_it[stuck-RR@10] FAILED" in done.stdout
    assert "2 failed, 2 passed" in done.stdout
    assert len((suite / "asked.log").read_text().splitlines()) == 11


def test_the_fixture_checks_in_one_test(suite: Path, environment: dict[str, str]) -> None:
    """``karat.check`` gives the decision, or fails with all that did not pass; without a system it is the project's."""
    (suite / "tests").mkdir()
    (suite / "test_it.py").unlink()
    (suite / "tests" / "test_it.py").write_text(
        "import sys\nsys.path.insert(0, '.')\nimport finder\n\n"
        "def test_good(karat):\n    assert karat.check(finder.good, 'project').decision.exit_code == 0\n"
        "def test_own(karat):\n    assert karat.check(golden='project').snapshot.mean('RR@10') == 1.0\n"
        "def test_stuck(karat):\n    karat.check(system=finder.stuck, golden='project', policy='threshold')\n"
        "def test_none(karat):\n    karat.check(finder.good, golden='nowhere')\n"
    )
    done = run_pytest(suite, environment)
    assert "2 failed, 2 passed" in done.stdout, done.stdout
    assert "fail by policy threshold: 2 of 3 checks\nRR@10, at least 0.5: 0.1500 is below 0.5\n" in done.stdout
    assert "\n  lowest (5 of 10):\n    q-bar  0.000  where is the bar\n" in done.stdout
    assert f"\nkarat: {suite / 'nowhere'}: no such file or folder\n" in done.stdout


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ("'nowhere'", "nowhere: no such file or folder"),
        ("'project', polcy='fit'", "pytest.mark.karat has no 'polcy'; it has golden, baseline, policy, seed, k"),
        ("'project', 'twice'", "pytest.mark.karat takes one folder, not 2"),
        ("'project', policy='fitt'", "unknown policy 'fitt', did you mean 'fit'?"),
    ],
)
def test_a_wrong_mark_is_an_error_of_collection(
    suite: Path, environment: dict[str, str], mark: str, message: str
) -> None:
    """One line says what is wrong, before anything runs, with pytest's exit code for errors of collection."""
    (suite / "test_it.py").write_text(TEST.format("good").replace("'project'", mark))
    done = run_pytest(suite, environment)
    assert done.returncode == 2
    assert message in done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("def test_search():\n    pass", "the test returned nothing"),
        ("async def test_search():\n    pass", "a test marked with karat cannot be async"),
        ("def test_search():\n    return 7", "7 is no system"),
        ("def test_search():\n    return 1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_what_a_test_gives_instead_of_a_system(
    suite: Path, environment: dict[str, str], body: str, message: str
) -> None:
    """A forgotten return does not pass; what the test itself raises is shown with its traceback."""
    (suite / "test_it.py").write_text(f"import pytest\n\n@pytest.mark.karat('project')\n{body}\n")
    done = run_pytest(suite, environment)
    assert "2 failed" in done.stdout
    assert message in done.stdout


def test_the_golden_set_is_checked_first(suite: Path, environment: dict[str, str]) -> None:
    """A set with errors is no measure of anything."""
    with (suite / "project" / "set" / "queries.jsonl").open("a") as file:
        file.write(json.dumps({"id": "q-pool", "text": "again"}) + "\n")
    done = run_pytest(suite, environment)
    assert done.returncode == 2
    assert "the golden set has errors: duplicate-query" in done.stdout


def test_ids_from_the_golden_set_are_shown_harmless(suite: Path, environment: dict[str, str]) -> None:
    """A query id with an escape sequence reaches neither the terminal nor the name of the item."""
    odd = "q\x1b[31m\u00fc"
    one = Query(id=odd, text="where is\x1b[2J the spa")
    made = GoldenSet(
        name="odd", grades=("no", "yes"), relevant=1, documents=SET.documents, queries=(*SET.queries, one),
        judgments=(*SET.judgments, Judgment(query=odd, target=Target(document="gym"), grade=1)),
    )  # fmt: skip
    (suite / "test_it.py").write_text(TEST.format("stuck"))
    golden.write(made, suite / "odd")
    (suite / "project" / "karat.toml").write_text(
        f'[golden]\npath = "../odd"\n[eval]\nmeasures = ["RR@10"]\n[gate]\nmust_pass = [{json.dumps(odd)}]\n'
    )
    done = run_pytest(suite, environment, "-v", "--color=no")
    assert "test_search[must pass: q%1B[31m%FC] FAILED" in done.stdout, done.stdout
    assert "q\\x1b[31m\u00fc, must pass: nothing relevant was found\n  where is\\x1b[2J the spa\n" in done.stdout
    assert "\x1b" not in done.stdout


def test_junit_has_a_case_and_a_reason_for_each_rule(suite: Path, environment: dict[str, str]) -> None:
    """What pytest writes for CI servers says of each rule how it came out."""
    run_pytest(suite, environment, "--junitxml", "found.xml")
    cases = ElementTree.parse(suite / "found.xml").getroot().iter("testcase")
    found = {case.get("name"): case.find("properties/property") for case in cases}
    assert {name: one.get("value") for name, one in found.items() if one is not None} == {
        "test_search[RR@10]": "inconclusive: RR@10, not worse: "
        "there is no baseline yet; karat baseline update RUN records one",
        "test_search[must pass: q-bar]": "pass: q-bar, must pass: something relevant was found",
    }


def test_unused_it_imports_nothing_heavy(suite: Path, environment: dict[str, str]) -> None:
    """In a suite without the mark, all that is loaded of karat is the plugin's hooks."""
    (suite / "test_it.py").write_text(
        "import sys\n\ndef test_loaded():\n"
        "    found = {name for name in sys.modules if name.split('.')[0] == 'karat'}\n"
        "    assert found == {'karat', 'karat.plugin', 'karat.plugin._hooks', 'karat.plugin._names'}\n"
        "    assert not {'numpy', 'polars', 'click', 'httpx'} & set(sys.modules)\n"
    )
    done = run_pytest(suite, environment, "-p", "no:hypothesispytest")
    assert done.returncode == 0, done.stdout


def test_it_can_be_switched_off(suite: Path, environment: dict[str, str]) -> None:
    """With ``-p no:karat`` there is neither mark nor fixture, and the module is not loaded."""
    (suite / "test_it.py").write_text("import sys\n\ndef test_it():\n    assert 'karat' not in sys.modules\n")
    assert run_pytest(suite, environment, "-p", "no:karat").returncode == 0
    (suite / "test_it.py").write_text(TEST.format("good"))
    done = run_pytest(suite, environment, "-p", "no:karat")
    assert "'karat' not found in `markers` configuration option" in done.stdout
