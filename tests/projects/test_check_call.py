"""Golden set, system and gate in one call."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from each import each
from in_process import run_karat
from karat import golden
from karat.core import Document, GateFailed, InputError, KaratError
from karat.projects import check, choose_settings, open_project
from karat.runs import read_any_run

WORDS = ("pool", "wifi", "dogs")
CONFIG = '[golden]\npath = "set"\n[pipeline]\ndense = false\n[eval]\nmeasures = ["RR@10"]\n[gate]\n'
FLOOR = '[[gate.rules]]\nmetric = "RR@10"\nmin = 0.9\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Three documents with a query each, and a floor."""
    documents = [Document(id=word, text=f"Here is the {word} of the house.") for word in WORDS]
    golden.write(golden.synthesise(documents, 1), tmp_path / "set")
    (tmp_path / "karat.toml").write_text(CONFIG + FLOOR)
    return tmp_path


def find(query: str, k: int) -> list[str]:
    """Return the document that a query is about."""
    return [word for word in WORDS if word in query][:k]


def test_what_may_ship_is_given(project: Path) -> None:
    """The decision and the scores; the run is kept where it was asked for; the project's system is the default."""
    result = check(project, find, output=project / "kept.jsonl")
    assert result.decision.exit_code == 0
    assert (
        repr(result) == "<GateResult: pass by policy karat.toml, 3 of 3 checks, exit code 0>"
    )  # one line, not screens
    assert result.evaluation.mean("RR@10") == 1.0
    assert len(read_any_run(project / "kept.jsonl", result.project.golden).traces) == 3
    assert check(golden=project).evaluation.name == "pipeline"


def test_what_may_not_ship_raises_with_its_reasons(project: Path) -> None:
    """The rule, the numbers and the lowest queries, which are those to look at where there is no baseline."""
    with pytest.raises(GateFailed) as refused:
        check(project, lambda query, k: ["pool"])
    assert refused.value.exit_code == 1
    assert refused.value.result.evaluation.mean("RR@10") == pytest.approx(1 / 3)
    assert "exit code 1" in refused.value.result._repr_html_()  # a notebook can show what was refused
    assert str(refused.value).splitlines() == [
        "fail by policy karat.toml (default, except RR@10): 1 of 3 checks",
        "RR@10, at least 0.9: 0.3333 is below 0.9",
        "  current 0.3333",
        "  lowest (3 of 3):",
        "    q002  0.000  Here is the wifi of the house.",
        "    q003  0.000  Here is the dogs of the house.",
        "    q001  1.000  Here is the pool of the house.",
    ]


def test_undecided_is_refused_where_the_policy_says_so(project: Path) -> None:
    """Exit code 4, as on the command line."""
    (project / "karat.toml").write_text(CONFIG + 'on_inconclusive = "fail"\n')
    with pytest.raises(GateFailed, match="there is no baseline yet") as refused:
        check(project, find)
    assert refused.value.exit_code == 4


def test_a_query_that_failed_is_told_with_its_words(project: Path) -> None:
    """What the system said stands where the question would."""

    def broken(query: str, k: int) -> list[str]:
        if "dogs" in query:
            raise ConnectionError("refused\x1b[2J")
        return find(query, k)

    (project / "karat.toml").write_text(CONFIG + 'must_pass = ["q003"]\n')
    with pytest.raises(GateFailed) as refused:
        check(project, broken)
    text = str(refused.value)
    assert "q003, must find something relevant at any rank: it failed: ConnectionError: refused\\x1b[2J" in text
    assert "expected: dogs\n  found: nothing" in text
    assert text.replace("\n", "").isprintable()


def test_a_part_of_the_queries_is_told_alone(project: Path) -> None:
    """A rule on a category lists the queries of that category, and a limit on latency none."""
    lines = (project / "set" / "queries.jsonl").read_text().splitlines()
    rows = [json.loads(line) | {"category": "rooms" if i < 2 else "pets"} for i, line in enumerate(lines)]
    (project / "set" / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    rule = '[[gate.rules]]\nmetric = "RR@10"\nwhere = { category = "rooms" }\nmin = 0.9\n'
    late = '[[gate.rules]]\nmetric = "latency.p95"\nmax = 0\n'
    (project / "karat.toml").write_text(CONFIG + rule + late)
    with pytest.raises(GateFailed) as refused:
        check(project, lambda query, k: ["pool"])
    text = str(refused.value)
    assert "RR@10 category=rooms, at least 0.9: 0.5000 is below 0.9\n" in text
    assert "lowest (2 of 2):\n    q002  0.000" in text
    assert "q003" not in text
    assert "latency.p95, at most 0 ms: " in text


def test_a_golden_set_with_errors_is_not_asked(project: Path) -> None:
    """What is wrong is named, with the command that says more."""
    with (project / "set" / "queries.jsonl").open("a") as file:
        file.write(json.dumps({"id": "q001", "text": "again"}) + "\n")
    with pytest.raises(InputError, match=r"the golden set has errors: duplicate-query.*karat golden check"):
        check(project, find)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"golden": 3}, "golden=3; name a file or folder"),
        ({"baseline": 3}, "baseline=3; name a file or folder"),
        ({"output": 3}, "output=3; name a file or folder"),
        ({"policy": []}, "policy=[]; name a policy, or a file"),
        ({"policy": Path("gone")}, "gone: no such file"),
        ({"seed": "x"}, "seed='x'; choose a whole number"),
        ({"k": "ten"}, "k='ten'; choose a whole number"),
        ({"k": True}, "k=True; choose a whole number"),
        ({"k": 2.0}, "k=2.0; choose a whole number"),
        ({"k": 0}, "k=0; choose at least 1"),
        ({"paraphrases": 1}, "paraphrases=1; choose True or False"),
        ({"timeout": "soon"}, "timeout='soon'; choose a number of seconds"),
        ({"sample": 4}, "sample=4; the golden set has 3 queries"),
        ({"polcy": "fit"}, "there is no setting 'polcy'; known: k, paraphrases, repeat, sample, concurrency"),
        ({"concurency": 2}, "there is no setting 'concurency', did you mean 'concurrency'?"),
    ],
)
def test_what_makes_no_sense_is_told_before_anything_is_asked(
    options: dict[str, object], message: str, project: Path
) -> None:
    """A wrong type or name is a mistake of the user's, by its name, and no error of Python's from deep inside."""
    questions: list[str] = []

    def never(query: str, k: int) -> list[str]:
        questions.append(query)
        return []

    arguments: dict[str, Any] = {"golden": project, **options}
    with pytest.raises(KaratError, match=re.escape(message)):
        check(system=never, **arguments)
    assert not questions


def test_a_policy_can_be_a_path(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is one however it is called, if it is given as a path."""
    monkeypatch.chdir(project)
    (project / "lax").write_text('[[rules]]\nmetric = "RR@10"\nmin = 0.1\n')
    assert check(".", lambda query, k: ["pool"], policy=Path("lax")).decision.exit_code == 0


def test_the_seed_draws_the_sample(project: Path) -> None:
    """The same seed asks the same queries; without a sample it is no part of what is asked."""
    (project / "karat.toml").write_text(CONFIG + FLOOR)
    drawn = {seed: check(project, find, sample=1, seed=seed).evaluation for seed in range(6)}
    assert len({run.traces[0].query for run in drawn.values()}) > 1
    assert [run.provenance.settings["seed"] for run in drawn.values()] == list(range(6))
    assert check(project, find, sample=1, seed=5).evaluation.traces[0].query == drawn[5].traces[0].query
    assert check(project, find, seed=5).evaluation.provenance.settings["seed"] == 0


@each(
    ("rules", "problem"),
    [
        (
            'must_pass = ["q01"]\n',
            "must_pass names query 'q01', which the golden set does not have, did you mean 'q001'",
        ),
        (
            '[[gate.rules]]\nmetric = "RR@10"\nmin = 0.5\nwhere = { category = "rooms" }\n',
            "no query has category = 'rooms'",
        ),
    ],
)
def test_what_a_policy_names_in_vain_is_found_before_anything_is_asked(project: Path, rules: str, problem: str) -> None:
    """An evaluation may take an hour and cost money."""

    def never(query: str, k: int) -> list[str]:
        raise AssertionError("was asked")

    (project / "karat.toml").write_text(CONFIG + rules)
    with pytest.raises(InputError, match=re.escape(problem)):
        check(project, never)
    with pytest.raises(InputError, match=re.escape(problem)):
        choose_settings(open_project(project))
    process = run_karat("check", project, "--no-report")
    assert (process.returncode, problem in process.stderr.decode()) == (2, True)
    assert not (project / "runs").exists()
