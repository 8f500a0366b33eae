"""What the pytest plugin says of marks, calls and retrievers that are wrong: one line each, and never a pass."""

from __future__ import annotations

import json
import re
from pathlib import Path

from plugin_suites import Pytest, search

NAMES = (
    "golden, baseline, policy, seed, k, paraphrases, repeat, sample, concurrency, batch, timeout, warm_up, "
    "without_sessions, fail_fast, patience, ready_timeout"
)
WRONG = {
    "golden=3": "golden=3; name a file or folder",
    "None": "golden=None; name a file or folder",
    "b'project'": "golden=b'project'; name a file or folder",
    "'nowhere'": "{suite}/nowhere: no such file or folder; paths are relative to pytest's root folder, "
    "which is {suite}",
    "'n' * 3000": "{suite}/" + "n" * 3000 + ": no such file or folder; paths are relative to pytest's root folder, "
    "which is {suite}",
    "'empty'": "{suite}/empty: is not a golden set that karat recognises; name its format: ",
    "'finder.py'": "{suite}/finder.py: is not a golden set that karat recognises; name its format: ",
    "'project', 'twice'": "the mark takes one folder",
    "'project', golden='twice'": "the mark takes one folder",
    "'project', polcy='fit'": "there is no argument 'polcy', did you mean 'policy'?",
    "'project', output='x'": f"there is no argument 'output'; it has {NAMES}",
    "'project', policy='fitt'": "unknown policy 'fitt', did you mean 'fit'?",
    "'project', policy=[]": "policy=[]; name a policy, or a file",
    "'project', policy='gone.toml'": "{suite}/gone.toml: no such file",
    "'project', policy=pathlib.Path('gone')": "{suite}/gone: no such file",
    "'project', baseline=3": "baseline=3; name a file or folder",
    "'project', baseline='gone.json'": "{suite}/gone.json: no such file; 'karat baseline update RUN' records a "
    "baseline",
    "'project', seed='x'": "seed='x'; choose a whole number",
    "'project', seed=True": "seed=True; choose a whole number",
    "'project', k='ten'": "k='ten'; choose a whole number",
    "'project', k=0": "k=0; choose at least 1",
    "'project', sample=11": "sample=11; the golden set has 10 queries",
    "'project', paraphrases='no'": "paraphrases='no'; choose True or False",
    "'project', timeout='soon'": "timeout='soon'; choose a number of seconds",
    "'project', timeout=float('nan')": "timeout=nan; choose a number of seconds above 0",
}


def test_a_wrong_mark_is_an_error_of_collection(suite: Path, run_pytest: Pytest) -> None:
    """One line says what is wrong and in which test of which file, before anything runs; pytest's exit code is 2."""
    (suite / "empty").mkdir()
    for number, mark in enumerate(WRONG):
        (suite / f"test_{number}.py").write_text(
            "import pathlib, pytest, finder\n\nclass TestIt:\n"
            f"    @pytest.mark.karat({mark})\n    def test_search(self):\n        return finder.good\n"
        )
    result = run_pytest("--color=no")
    assert result.returncode == 2
    assert not (suite / "asked.log").exists()
    messages = dict(re.findall(r"^__* ERROR collecting (\S+) __*\n(.*)\n(?=[_=])", result.stdout, re.MULTILINE))
    assert len(messages) == len(WRONG), result.stdout
    for number, (mark, message) in enumerate(WRONG.items()):
        output = messages[f"test_{number}.py"]
        assert output.startswith(f"karat: {message.format(suite=suite)}"), mark
        assert output.endswith(f" (test_{number}.py::TestIt::test_search)"), mark


def test_a_wrong_call_of_the_fixture_is_told_in_one_line(suite: Path, run_pytest: Pytest) -> None:
    """What is wrong with a mark is wrong with a call, and is told in the same words."""
    (suite / "empty").mkdir()
    calls = [mark for mark in WRONG if not mark.startswith("'project', 'twice'") and "'project', golden" not in mark]
    lines = ["import pathlib, finder"]
    lines += [
        f"def test_{number}(karat):\n    karat.check({call}, system=finder.good)" for number, call in enumerate(calls)
    ]
    (suite / "test_it.py").write_text("\n".join(lines) + "\n")
    result = run_pytest("--color=no")
    assert f"{len(calls)} failed" in result.stdout.splitlines()[-1]
    assert not (suite / "asked.log").exists()
    messages = dict(re.findall(r"^__* test_(\d+) __*\n(.*)\n(?=[_=])", result.stdout, re.MULTILINE))
    for number, call in enumerate(calls):
        assert messages[str(number)].startswith(f"karat: {WRONG[call].format(suite=suite)}"), call


def test_the_golden_set_is_checked_first(suite: Path, run_pytest: Pytest) -> None:
    """A set with errors is no measure of anything."""
    with (suite / "project" / "set" / "queries.jsonl").open("a") as file:
        file.write(json.dumps({"id": "q-pool", "text": "again"}) + "\n")
    (suite / "test_fixture.py").write_text("def test_it(karat):\n    karat.check(golden='project')\n")
    result = run_pytest("--continue-on-collection-errors")
    assert result.returncode == 1
    message = f"karat: {suite / 'project'}: the golden set has errors: duplicate-query: "
    assert result.stdout.count(f"\n{message}") == 2, result.stdout
    assert (
        f"'karat golden check {suite / 'project'}' says how to correct them (test_it.py::test_search)\n"
        in result.stdout
    )


def test_a_mark_that_does_not_make_rules_does_not_pass(suite: Path, run_pytest: Pytest) -> None:
    """A test that was not made into its rules would pass, whatever it returns: unittest, parameters, late marks."""
    (suite / "conftest.py").write_text(
        "import pytest\n\ndef pytest_collection_modifyitems(items):\n"
        "    [item.add_marker(pytest.mark.karat('project')) for item in items if 'late' in item.name]\n"
    )
    (suite / "test_it.py").write_text(
        "import unittest\nimport pytest\nimport finder\n\nuse = pytest.mark.karat('project')\n\n"
        "class TestOld(unittest.TestCase):\n    @use\n    def test_method(self):\n        return finder.stuck\n\n"
        "@pytest.mark.parametrize('n', [pytest.param(1, marks=use)])\ndef test_one(n):\n    return finder.stuck\n\n"
        "@use\n@pytest.mark.parametrize('n', [pytest.param(1, marks=use)])\n"
        "def test_both(n):\n    return finder.stuck\n"
        "\ndef test_late():\n    return finder.stuck\n"
    )
    result = run_pytest()
    assert "8 errors" in result.stdout.splitlines()[-1], result.stdout
    assert "passed" not in result.stdout.splitlines()[-1]
    lines = [line for line in result.stdout.splitlines() if line.startswith("karat: ")]
    assert lines[0] == (
        "karat: a method of unittest.TestCase cannot have the mark; write a function, or a class without a base "
        "(test_it.py::TestOld::test_method)"
    )
    late = "karat: the mark was added too late; put it on the function, its class or its module"
    assert [line.removeprefix(late) for line in lines[1:]] == [
        " (test_it.py::test_one[1])",
        " (test_it.py::test_both[1-failed])",
        " (test_it.py::test_both[1-empty])",
        " (test_it.py::test_both[1-latency])",
        " (test_it.py::test_both[1-RR@10])",
        " (test_it.py::test_both[1-must pass: q-bar])",
        " (test_it.py::test_late)",
    ]


def test_two_marks_on_one_test_are_a_mistake(suite: Path, run_pytest: Pytest) -> None:
    """Which golden set would it be? A class has the marks of its bases too."""
    (suite / "test_it.py").write_text(
        "import pytest\nimport finder\n\n@pytest.mark.karat('project')\n@pytest.mark.karat('other')\n"
        "def test_search():\n    return finder.good\n"
    )
    (suite / "test_class.py").write_text(
        "import pytest\nimport finder\n\n"
        "@pytest.mark.karat('project')\nclass TestBase:\n    def test_it(self):\n        return finder.good\n\n"
        "@pytest.mark.karat('project', k=3)\nclass TestMore(TestBase):\n    pass\n"
    )
    result = run_pytest()
    assert result.returncode == 2
    message = "\nkarat: the mark is given twice (a class has those of its bases); write a test for each"
    assert f"{message} (test_it.py::test_search)\n" in result.stdout
    assert f"{message} (test_class.py::TestMore::test_it)\n" in result.stdout


def test_what_a_test_gives_instead_of_a_system(suite: Path, run_pytest: Pytest) -> None:
    """A forgotten return does not pass; what the test itself raises has its traceback, and none of karat's."""
    bodies = {
        "def test_0():\n    pass": "karat: the test returned nothing; ",
        "async def test_1():\n    pass": "karat: a test marked with karat cannot be async",
        "def test_2():\n    return 7": "karat: 7 is not a system; ",
        "def test_3():\n    return lambda query: []": "karat: test_it:test_3.<locals>.<lambda>(query) cannot be ",
        "def test_4():\n    return 1 / 0": "E       ZeroDivisionError: division by zero",
        "def test_5():\n    raise SystemExit(3)": "E       SystemExit: 3",
    }
    tests = [f"@pytest.mark.karat('project')\n{body}\n" for body in bodies]
    (suite / "test_it.py").write_text("\n".join(["import pytest\n", *tests]))
    result = run_pytest("--color=no")
    assert "30 failed" in result.stdout.splitlines()[-1], result.stdout
    for body, message in bodies.items():
        assert sum(line.startswith(message) for line in result.stdout.splitlines()) == 5, body
    assert "karat/plugin" not in result.stdout


def test_what_a_retriever_may_do(suite: Path, run_pytest: Pytest) -> None:
    """One that raises, exits, hangs or gives nonsense is told in one line with its own words; async ones are asked."""
    (suite / "test_it.py").write_text(
        "import sys, time, pytest, finder\n\n"
        "class Found:\n    async def retrieve(self, query, k):\n        return finder.good(query, k)\n"
        "async def asynchronous(query, k):\n    return finder.good(query, k)\n"
        "def raises(query, k):\n    raise OSError('gone\\x1b[2J\\nfor good')\n"
        "def exits(query, k):\n    sys.exit(3)\n"
        "def interrupts(query, k):\n    raise KeyboardInterrupt\n"
        "def hangs(query, k):\n    time.sleep(100_000)\n"
        "def number(query, k):\n    return 42\n"
        "def nothing(query, k):\n    return None\n"
        "WAYS = [Found(), asynchronous, raises, exits, interrupts, number, nothing]\n\n"
        "@pytest.mark.karat('project')\n"
        "@pytest.mark.parametrize('way', WAYS, ids=lambda way: getattr(way, '__name__', 'object'))\n"
        "def test_search(way):\n    return way\n\n"
        "@pytest.mark.karat('project', timeout=0.1)\n"
        "@pytest.mark.parametrize('way', [hangs], ids=['hangs'])\n"
        "def test_hung(way):\n    return way\n"
    )
    result = run_pytest("-k", "q-bar", "--color=no")
    assert "6 failed, 2 passed" in result.stdout, result.stdout
    messages = dict(
        re.findall(r"^_+ test_\w+\[(\w+)-must pass: q-bar\] _+\n(.*)\n(?=[_=])", result.stdout, re.MULTILINE)
    )
    begin = "karat: the first 5 questions failed in the same way, and the other 5 were not asked: "
    end = "; patience = 0 in [eval] asks them all"
    assert {name: line.removeprefix(begin).removesuffix(end) for name, line in messages.items()} == {
        "raises": "OSError: gone\\x1b[2J for good",
        "exits": "SystemExit: 3",
        "interrupts": "KeyboardInterrupt",
        "hangs": "no answer within 0.1 s",
        "number": "the system returned 42, not a list of hits",
        "nothing": "the system returned None, not a list of hits",
    }


def test_a_missing_folder_names_the_root(suite: Path, run_pytest: Pytest) -> None:
    """Paths are from pytest's root folder, wherever it is started, and the message says which that is."""
    search(suite, "good")
    (suite / "tests").mkdir()
    (suite / "test_it.py").rename(suite / "tests" / "test_it.py")
    assert "4 passed" in run_pytest(folder=suite / "tests", PYTHONPATH=str(suite)).stdout
    result = run_pytest("--rootdir=.", folder=suite / "tests", PYTHONPATH=str(suite))
    assert f"paths are relative to pytest's root folder, which is {suite / 'tests'} (test_it.py" in result.stdout


def test_nothing_that_a_retriever_says_acts_or_leaks(suite: Path, run_pytest: Pytest) -> None:
    """pytest prints its error, and the id of a query, into the log of CI: no command, no key, no control character."""
    queries, judgments = (suite / "project" / "set" / f"{name}.jsonl" for name in ("queries", "judgments"))
    for path in (queries, judgments):
        path.write_text(path.read_text().replace("q-bar", "##[add-mask]q-bar"))
    toml = suite / "project" / "karat.toml"
    toml.write_text(toml.read_text().replace("q-bar", "##[add-mask]q-bar"))
    finder = suite / "finder.py"
    finder.write_text(
        finder.read_text().replace('"refused"', '"##[add-mask]a\\n::stop-commands::b\\x1b[2J k3y-0f-Shop"')
    )
    search(suite, "broken")
    (suite / "test_fixture.py").write_text(
        "import finder\ndef test_it(karat):\n    karat.check('project', finder.broken)\n"
        "def test_stuck(karat):\n    karat.check('project', finder.stuck)\n"
    )
    result = run_pytest("-v", SHOP_API_KEY="k3y-0f-Shop")
    assert result.returncode == 1
    assert r"#\u0023[add-mask]a" in result.stdout
    assert "must pass: #%23[add-mask]q-bar" in result.stdout
    own = [line for line in result.stdout.splitlines() if not line.startswith("test_")]
    assert not re.search(r"(?m)##\[|^\s*::|\x1b|k3y-0f-Shop", "\n".join(own)), result.stdout
