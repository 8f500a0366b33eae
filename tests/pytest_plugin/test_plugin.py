"""The pytest plugin, in test suites of its own that run as a user's do."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from plugin_suites import Count, Pytest, search

from karat import golden
from karat.core import GoldenSet, Judgment, Query, Target


def test_a_marked_test_becomes_one_item_for_each_rule_and_query_that_must_pass(
    run_pytest: Pytest, count_questions: Count
) -> None:
    """Both limits on RR@10 are one rule; the retriever is asked once for all items: ten questions and a warm-up.

    The operational rules have items of their own; without a baseline there is no latency to compare with.
    """
    result = run_pytest("-v", "-rs")
    assert result.returncode == 0, result.stdout
    assert "test_it.py::test_search[failed] PASSED" in result.stdout
    assert "test_it.py::test_search[empty] PASSED" in result.stdout
    assert "test_it.py::test_search[latency] SKIPPED" in result.stdout
    assert "nothing was checked: there is nothing to compare with" in result.stdout
    assert "test_it.py::test_search[RR@10] PASSED" in result.stdout
    assert "test_it.py::test_search[must pass: q-bar] PASSED" in result.stdout
    assert "4 passed, 1 skipped" in result.stdout
    assert count_questions() == 11


def test_an_operational_rule_fails_its_own_item_and_no_other(
    suite: Path, run_pytest: Pytest, accept: Callable[[], None]
) -> None:
    """Two of ten empty lists break the rule on them: whoever runs that item sees it, in whole numbers."""
    accept()
    with (suite / "finder.py").open("a") as file:
        file.write("\ndef sparse(query, k):\n    return [] if query.split()[-1] in 'gym garden' else good(query, k)\n")
    search(suite, "sparse")
    result = run_pytest("-v", "-k", "empty or failed or latency")
    assert "1 failed, 2 passed, 2 deselected" in result.stdout, result.stdout
    assert "test_search[empty] FAILED" in result.stdout
    assert "\nempty, at most 1: 2 of 10 answerable queries returned nothing" in result.stdout
    assert "\n  current 2, baseline 0, 10 queries\n" in result.stdout


def test_a_drop_beyond_the_tolerance_is_skipped_and_not_passed(
    suite: Path, run_pytest: Pytest, accept: Callable[[], None]
) -> None:
    """Three of ten lost could be chance, which no policy fails; a green test would hide it."""
    accept()
    with (suite / "finder.py").open("a") as file:
        file.write(
            "\ndef worse(query, k):\n    return good(query if query.split()[-1] not in 'gym garden dogs' else 'x', k)\n"
        )
    search(suite, "worse")
    result = run_pytest("-v", "-rs")
    assert result.returncode == 0
    assert "test_search[RR@10] SKIPPED" in result.stdout, result.stdout
    why = (
        "worse by more than is tolerated, though it may be chance: RR@10, not worse by more than 0.05: the mean dropped"
    )
    assert why in " ".join(result.stdout.split())


def test_what_passes_undecided_is_listed(run_pytest: Pytest, accept: Callable[[], None]) -> None:
    """Without a baseline the rule passes, and the summary says which did without being decided."""
    result = run_pytest()
    assert "karat: inconclusive, which the policy does not fail" in result.stdout
    assert "\ntest_it.py::test_search[RR@10]: RR@10, not worse: there is no baseline yet; " in result.stdout
    accept()
    assert "inconclusive" not in run_pytest().stdout


def test_inconclusive_fails_where_the_policy_says_so(suite: Path, run_pytest: Pytest) -> None:
    """A rule that cannot be decided fails its item, and the others pass."""
    config = suite / "project" / "karat.toml"
    config.write_text(config.read_text().replace("[gate]", '[gate]\non_inconclusive = "fail"'))
    result = run_pytest()
    assert result.returncode == 1
    assert "inconclusive, which the policy does not let pass" in result.stdout
    assert "1 failed, 3 passed, 1 skipped" in result.stdout


def test_a_failure_is_short_and_names_the_queries(suite: Path, run_pytest: Pytest, accept: Callable[[], None]) -> None:
    """Name, reason, numbers and what was lost, once for both limits; no line of karat's own code."""
    accept()
    search(suite, "stuck")
    result = run_pytest("--tb=long")
    assert result.returncode == 1
    failures = result.stdout.partition("FAILURES")[2].partition("short test summary")[0]
    first, second = failures.split("\n____")[1:]
    lines = [line.partition(": dropped")[0] for line in first.splitlines()[1:] if line]
    assert lines == [
        "RR@10, at least 0.5: 0.1500 is below 0.5",
        "  current 0.1500",
        "RR@10, not worse by more than 0.05",
        "  current 0.1500, baseline 1.0000, change -0.8500, p 0.00195, 10 queries",
        "  lost most (5 of 9):",
        "    q-bar  1.000 to 0.000  where is the bar",
        "    q-breakfast  1.000 to 0.000  where is the breakfast",
        "    q-dogs  1.000 to 0.000  where is the dogs",
        "    q-garden  1.000 to 0.000  where is the garden",
        "    q-gym  1.000 to 0.000  where is the gym",
    ]
    assert second.splitlines()[1:5] == [
        "q-bar, must find something relevant at any rank: nothing relevant was found",
        "  where is the bar",
        "  expected: bar",
        "  found: pool, wifi",
    ]
    assert ".py:" not in failures


def test_workers_of_xdist_share_one_evaluation(suite: Path, run_pytest: Pytest, count_questions: Count) -> None:
    """Two workers with items each: one asks, the other reads; a broken retriever is told by both, and asked once."""
    result = run_pytest("-n", "2", "-v")
    assert result.returncode == 0, result.stdout
    assert {line.split("]")[0] for line in result.stdout.splitlines() if line.startswith("[gw")} == {"[gw0", "[gw1"}
    assert count_questions() == 11
    search(suite, "broken")
    result = run_pytest("-n", "2", "--maxfail=9")
    assert "5 failed" in result.stdout
    assert result.stdout.count("\nkarat: the first 5 questions failed in the same way, and the other 5 were not ") == 5
    assert count_questions() == 6


@pytest.mark.parametrize("way", ["worksteal", "loadscope", "each"])
def test_however_xdist_deals_out_the_items(way: str, run_pytest: Pytest, count_questions: Count) -> None:
    """The system is asked once, also where both workers have all items."""
    result = run_pytest("-n", "2", "--dist", way)
    assert f"{8 if way == 'each' else 4} passed" in result.stdout, result.stdout
    assert count_questions() == 11


def test_what_a_worker_that_died_had_asked_is_not_asked_again(
    suite: Path, run_pytest: Pytest, count_questions: Count
) -> None:
    """The item in which it died fails; the next one goes on where it was, after a warm-up.

    An answer takes five milliseconds: those that come within two are handed over together, and may be lost together.
    """
    (suite / "test_it.py").write_text(
        "import os, pathlib, pytest, finder, time\n\n"
        "def mortal(query, k):\n"
        "    time.sleep(0.005)\n"
        "    if 'bar' in query and not pathlib.Path('dead').exists():\n"
        "        pathlib.Path('dead').touch()\n"
        "        os._exit(9)\n"
        "    return finder.good(query, k)\n\n"
        "@pytest.mark.karat('project')\n"
        "def test_search():\n    return mortal\n"
    )
    result = run_pytest("-n", "2")
    assert "1 failed, 3 passed, 1 skipped" in result.stdout or "1 failed, 4 passed" in result.stdout, result.stdout
    assert count_questions() in (12, 13)  # the last answer may not have been written when it died


def test_what_workers_shared_is_removed(run_pytest: Pytest, tmp_path: Path) -> None:
    """Nothing stays in the folder for temporary files."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    result = run_pytest("-n", "2", TMPDIR=str(temporary))
    assert result.returncode == 0
    assert not list(temporary.glob("karat-*"))


def test_other_parameters_make_other_systems(suite: Path, run_pytest: Pytest, count_questions: Count) -> None:
    """Parameters, classes and fixtures work as in every test, and each combination is asked once."""
    (suite / "test_it.py").write_text(
        "import pytest\nimport finder\n\n@pytest.fixture\ndef which(request):\n    return 'good'\n\n"
        "@pytest.mark.karat(golden='project', k=5)\n@pytest.mark.parametrize('name', ['good', 'stuck'])\n"
        "class TestSearch:\n    def test_it(self, name, which):\n        return getattr(finder, name)\n"
    )
    result = run_pytest("-v")
    assert "TestSearch::test_it[good-RR@10] PASSED" in result.stdout
    assert "TestSearch::test_it[stuck-RR@10] FAILED" in result.stdout
    assert "2 failed, 6 passed, 2 skipped" in result.stdout
    assert count_questions() == 11


def test_systems_whose_tests_are_named_alike_are_told_apart(suite: Path, run_pytest: Pytest) -> None:
    """Parameters that are the same when joined, and tests of one name in folders with brackets."""
    (suite / "test_it.py").write_text(
        "import pytest\nimport finder\n\n@pytest.mark.karat('project')\n"
        "@pytest.mark.parametrize('last', ['c', 'b-c'])\n@pytest.mark.parametrize('first', ['a', 'a-b'])\n"
        "def test_search(first, last):\n    return finder.good if first + last in ('ac', 'ab-c') else finder.stuck\n"
    )
    for name, finder in (("one", "good"), ("two", "stuck")):
        (suite / "some[folder]" / name).mkdir(parents=True)
        search(suite / "some[folder]" / name, finder)
    result = run_pytest("-q", "--import-mode=importlib", PYTHONPATH=str(suite))
    assert result.stdout.split()[0] == "..s....sFF..s....s....sFF..sFF", result.stdout


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (("-k", "q-bar"), "1 passed, 4 deselected"),
        (("test_it.py::test_search[RR@10]",), "1 passed"),
        (("test_it.py::test_search[must pass: q-bar]",), "1 passed"),
    ],
)
def test_one_rule_can_be_chosen(
    chosen: tuple[str, ...], expected: str, run_pytest: Pytest, count_questions: Count
) -> None:
    """By a word, or by the name of the item; the system is asked all the same."""
    result = run_pytest("-q", *chosen)
    assert result.stdout.splitlines()[-1].startswith(expected), result.stdout
    assert count_questions() == 11


def test_marks_of_modules_and_classes_hold_and_the_nearest_wins(suite: Path, run_pytest: Pytest) -> None:
    """A mark is inherited as any mark, and doctests of the module are left alone."""
    (suite / "test_it.py").write_text(
        "import pytest\nimport finder\n\npytestmark = pytest.mark.karat('nowhere')\n\n"
        "@pytest.mark.karat('project')\nclass TestSearch:\n"
        '    def test_it(self):\n        """\n        >>> 1 + 1\n        2\n        """\n        return finder.good\n'
        "    @pytest.mark.karat('project', policy='threshold', k=1)\n    def test_other(self):\n"
        "        return finder.good\n"
    )
    result = run_pytest("--doctest-modules", "-v")
    assert "8 passed, 2 skipped" in result.stdout, result.stdout  # threshold has no must-pass queries
    assert "TestSearch::test_other[RR@10] PASSED" in result.stdout


def test_skipped_and_expected_failures_are_pytests_own(suite: Path, run_pytest: Pytest, count_questions: Count) -> None:
    """Nothing is asked where a mark or the test itself says to skip."""
    (suite / "test_it.py").write_text(
        "import pytest\nimport finder\n\n"
        "@pytest.mark.skip\n@pytest.mark.karat('project')\ndef test_skipped():\n    return finder.good\n"
        "@pytest.mark.karat('project')\ndef test_skips():\n    pytest.skip('no service')\n"
        "@pytest.mark.xfail\n@pytest.mark.karat('project')\ndef test_expected():\n    return finder.stuck\n"
    )
    assert "11 skipped, 2 xfailed, 2 xpassed" in run_pytest().stdout
    assert count_questions() == 0


def test_the_fixture_checks_in_one_test(suite: Path, run_pytest: Pytest) -> None:
    """``karat.check`` gives the decision, or fails with all that did not pass; without a system it is the project's."""
    (suite / "tests").mkdir()
    (suite / "test_it.py").unlink()
    (suite / "tests" / "test_it.py").write_text(
        "import sys\nsys.path.insert(0, '.')\nimport finder\n\n"
        "def test_good(karat):\n    assert karat.check('project', finder.good).decision.exit_code == 0\n"
        "def test_own(karat):\n    assert karat.check(golden='project').evaluation.mean('RR@10') == 1.0\n"
        "def test_stuck(karat):\n    karat.check(system=finder.stuck, golden='project', policy='beluga')\n"
    )
    result = run_pytest()
    assert "1 failed, 2 passed" in result.stdout, result.stdout
    assert "fail by policy beluga: 1 of 3 checks\nRR@10, at least 0.7: 0.1500 is below 0.7\n" in result.stdout
    assert "\n  lowest (5 of 10):\n    q-bar  0.000  where is the bar\n" in result.stdout
    assert ".py:" not in result.stdout.partition("FAILURES")[2].partition("short test summary")[0]


def test_what_a_test_gives_is_not_closed(suite: Path, run_pytest: Pytest) -> None:
    """A fixture that makes a client also closes it, after all who need it."""
    (suite / "test_it.py").write_text(
        "import pytest\nimport finder\n\n"
        "class Client:\n"
        "    closed = 0\n"
        "    def retrieve(self, query, k):\n        assert not self.closed\n        return finder.good(query, k)\n"
        "    def close(self):\n        self.closed += 1\n\n"
        "@pytest.fixture(scope='session')\ndef client():\n"
        "    client = Client()\n    yield client\n    assert client.closed == 0\n\n"
        "@pytest.mark.karat('project')\n@pytest.mark.parametrize('n', [1, 2])\ndef test_search(client, n):\n"
        "    return client\n"
        "def test_again(client, karat):\n    karat.check('project', client)\n    karat.check('project', client)\n"
    )
    assert "9 passed, 2 skipped" in run_pytest().stdout


def test_ids_from_the_golden_set_are_shown_harmless(suite: Path, tiny: GoldenSet, run_pytest: Pytest) -> None:
    """A query id with an escape sequence reaches neither the terminal nor the name of the item."""
    odd = "q\x1b[31m\u00fc"
    golden_set = replace(
        tiny,
        queries=(*tiny.queries, Query(id=odd, text="where is\x1b[2J the spa")),
        judgments=(*tiny.judgments, Judgment(query=odd, target=Target(document="gym"), grade=1)),
    )
    search(suite, "stuck")
    golden.write(golden_set, suite / "odd")
    (suite / "project" / "karat.toml").write_text(
        f'[golden]\npath = "../odd"\n[eval]\nmeasures = ["RR@10"]\n[gate]\nmust_pass = [{json.dumps(odd)}]\n'
    )
    result = run_pytest("-v", "--color=no")
    assert "test_search[must pass: q%1B[31m%FC] FAILED" in result.stdout, result.stdout
    why = "must find something relevant at any rank: nothing relevant was found"
    assert f"q\\x1b[31m\u00fc, {why}\n  where is\\x1b[2J the spa\n" in result.stdout
    assert "\x1b" not in result.stdout


def test_junit_has_a_case_and_a_reason_for_each_rule(suite: Path, run_pytest: Pytest) -> None:
    """What pytest writes for CI servers says of each rule how it came out."""
    run_pytest("--junitxml", "found.xml")
    cases = ElementTree.parse(suite / "found.xml").getroot().iter("testcase")
    properties = {case.get("name"): case.find("properties/property") for case in cases}
    assert {name: entry.get("value") for name, entry in properties.items() if entry is not None} == {
        "test_search[failed]": "pass: failed, at most 1: 0 of 10 queries failed",
        "test_search[empty]": "pass: empty, at most 1: 0 of 10 answerable queries returned nothing",
        "test_search[RR@10]": "inconclusive: RR@10, not worse: "
        "there is no baseline yet; karat baseline update RUN records one",
        "test_search[must pass: q-bar]": "pass: q-bar, must find something relevant at any rank: "
        "something relevant was found",
    }


def test_unused_it_imports_nothing_but_its_hooks(suite: Path, run_pytest: Pytest) -> None:
    """In a suite without the mark, all that is loaded on karat's account is the plugin's hooks."""
    (suite / "test_it.py").write_text(
        "import pathlib, sys\n\ndef test_loaded(request):\n"
        "    name = str(request.config.pluginmanager.hasplugin('karat'))\n"
        "    pathlib.Path(name).write_text(' '.join(sys.modules))\n"
    )
    assert run_pytest(cold=True).returncode == run_pytest("-p", "no:karat", cold=True).returncode == 0
    loaded, without = (set((suite / name).read_text().split()) for name in ("True", "False"))
    assert loaded - without == {
        "karat",
        "karat.pytest_plugin",
        "karat.pytest_plugin._hooks",
        "karat.pytest_plugin._names",
    }


def test_it_can_be_switched_off(suite: Path, run_pytest: Pytest) -> None:
    """With ``-p no:karat`` there is neither mark nor fixture, and the module is not loaded."""
    (suite / "test_it.py").write_text("import sys\n\ndef test_it():\n    assert 'karat' not in sys.modules\n")
    assert run_pytest("-p", "no:karat", cold=True).returncode == 0
    search(suite, "good")
    result = run_pytest("-p", "no:karat")
    assert "'karat' not found in `markers` configuration option" in result.stdout
