"""Ways to get exit code 0 where a reasonable person would not ship, each tried.

Every way starts from a project of twelve questions whose baseline found every document first, and from a run that is
broken, or a policy that is bent. The exit code says who caught it: 1 the gate, 2 the reader, 3 the operational rules.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli.gate_project import TOML, accept, edited, make_gated_project, make_project, make_run, make_set
from karat import golden
from karat.cli import main
from karat.core import GoldenSet
from karat.projects import gate_run
from karat.runs import read_any_run

SIZE = 12
GOOD = [1] * SIZE
BAD = [0] * SIZE
ONLY_FLOOR = '[gate]\nextends = "none"\n[[gate.rules]]\nmetric = "RR@10"\nmin = 0.5\n'
Way = Callable[[Path, GoldenSet], "list[object]"]
WAYS: dict[str, tuple[int, Way]] = {}


def way(code: int) -> Callable[[Way], Way]:
    """Register a way out: a function that prepares a project, and returns the arguments of karat."""

    def register(function: Way) -> Way:
        WAYS[function.__name__] = code, function
        return function

    return register


def configure(folder: Path, toml: str) -> None:
    """Write karat.toml with these tables after [eval]."""
    (folder / "karat.toml").write_text(TOML + toml)


def bend(name: str, toml: str, code: int = 2, places: list[int] = BAD) -> None:
    """Register a policy that would let a useless run pass."""

    def prepare(folder: Path, golden_set: GoldenSet) -> list[object]:
        configure(folder, toml)
        return ["gate", make_run(folder, golden_set, places)]

    WAYS[name] = code, prepare


def rewrite(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Edit the baseline by hand."""
    path = folder / "baseline.json"
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))


# Bent policies: the run finds nothing, and the policy would let it pass.

RULE = '[gate]\nextends = "none"\n[[gate.rules]]\nmetric = "RR@10"\n'
bend("a_policy_without_rules", '[gate]\nextends = "none"\n')
bend("an_empty_must_pass", '[gate]\nextends = "none"\nmust_pass = []\n')
bend("an_unknown_metric", '[gate]\nextends = "none"\n[[gate.rules]]\nmetric = "MRRR@10"\nmin = 0.5\n')
bend("a_rule_that_asks_for_nothing", RULE)
bend("a_rule_whose_test_is_off", RULE + "non_inferior = false\n")
bend("a_floor_of_zero", RULE + "min = 0\n")
bend("a_negative_floor", RULE + "min = -1\n")
bend("a_floor_that_is_not_a_number", RULE + "min = nan\n")
bend("a_negative_tolerance", "[gate]\nrelative = -0.5\n")
bend("an_infinite_tolerance", "[gate]\nabsolute = inf\n")
bend("a_relative_tolerance_of_99_percent", "[gate]\nrelative = 0.99\n")
bend("an_absolute_tolerance_of_99_points", "[gate]\nabsolute = 0.99\n")
bend("a_drop_of_99_percent_allowed", RULE + "max_drop_rel = 0.99\n")
bend("a_negative_drop", RULE + "max_drop_abs = -1\n")
bend("a_level_of_one_half", "[gate]\nalpha = 0.5\n")
bend("a_level_of_zero", "[gate]\nalpha = 0\n")
bend("a_segment_without_queries", RULE + 'where = { category = "nobody" }\nmin = 0.5\n')
bend("a_typo_in_on_inconclusive", '[gate]\non_inconclusive = "passs"\n')
bend("a_typo_in_a_key", "[gate]\nrule = []\n")
bend("a_typo_in_an_operation", "[gate.operations]\nfialed = false\n")
bend("an_operation_that_allows_everything", "[gate.operations]\nfailed = 1\n")
bend("two_rules_on_one_metric", RULE + 'min = 0.9\n[[gate.rules]]\nmetric = "RR@10"\nmin = 0.1\n')
bend("two_policies_at_once", '[gate]\npolicy = "fit"\nextends = "rig"\n')
bend("a_must_pass_that_nobody_asked", '[gate]\nmust_pass = ["q99"]\n')
bend("a_must_pass_that_was_lost", '[gate]\nextends = "none"\nmust_pass = ["q01"]\n', 1)
bend("a_named_baseline_that_is_missing", '[gate]\nbaseline = "gone.json"\n')
bend("an_unknown_policy", '[gate]\nextends = "lenient"\n')
bend("an_inconclusive_release", '[gate]\non_inconclusive = "fail"\n', 4, [1] * 10 + [2] * 2)
bend("a_total_loss", "", 1)


@way(1)
def policy_threshold_in_a_lenient_project(folder: Path, golden_set: GoldenSet) -> list[object]:
    """The project's own lenient rule does not replace the rules of a policy that was asked for by name."""
    configure(folder, '[gate]\n[[gate.rules]]\nmetric = "RR@10"\nmin = 0.01\n')
    return ["gate", make_run(folder, golden_set, [2] * SIZE), "--policy", "threshold"]


@way(2)
def a_policy_file_that_is_missing(folder: Path, golden_set: GoldenSet) -> list[object]:
    """A release gate whose file was not checked out."""
    return ["gate", make_run(folder, golden_set, BAD), "--policy", folder / "release.toml"]


@way(1)
def one_floor_in_the_golden_set(folder: Path, golden_set: GoldenSet) -> list[object]:
    """Way 1: a floor on R@10 in golden.toml leaves the measures of [eval] in the gate, which fell from 1 to 0.1."""
    make_project(folder, golden_set=make_set(SIZE, gate={"R@10": 0.5}))
    (folder / "karat.toml").write_text(TOML)
    golden_set = golden.read(folder / "set")
    accept(folder, make_run(folder, golden_set, GOOD, "old"))
    return ["gate", make_run(folder, golden_set, [4] * SIZE)]


# Broken runs.


@way(1)
def everything_empty(folder: Path, golden_set: GoldenSet) -> list[object]:
    """No query returned anything, and the only rule is one that an empty list does not break."""
    configure(folder, '[gate]\nextends = "none"\n[[gate.rules]]\nmetric = "latency.p95"\nmax = 500\n')
    return ["gate", make_run(folder, golden_set, [-1] * SIZE)]


@way(1)
def some_empty_within_every_floor(folder: Path, golden_set: GoldenSet) -> list[object]:
    """Three of twelve return nothing: above the floor, and below the tolerance of any test."""
    configure(folder, ONLY_FLOOR)
    return ["gate", make_run(folder, golden_set, [1] * 9 + [-1] * 3)]


@way(3)
def most_failed_above_the_floor(folder: Path, golden_set: GoldenSet) -> list[object]:
    """Two of twelve timed out; the mean of 0.83 is above the floor."""
    configure(folder, ONLY_FLOOR)
    return ["gate", make_run(folder, golden_set, GOOD, errors={"q01": "timed out", "q02": "timed out"})]


@way(3)
def failures_with_a_rule_that_likes_them(folder: Path, golden_set: GoldenSet) -> list[object]:
    """Way 10: nothing that failed has duplicates or unjudged hits."""
    configure(folder, '[gate]\nextends = "none"\n[[gate.rules]]\nmetric = "DupRate@10"\nmax = 0.5\n')
    return ["gate", make_run(folder, golden_set, GOOD, errors={f"q{i:02}": "refused" for i in range(1, SIZE)})]


@way(1)
def failures_without_the_operational_rule(folder: Path, golden_set: GoldenSet) -> list[object]:
    """Way 10 with the rule switched off: a failed query is as bad as duplicates can be."""
    configure(
        folder,
        '[gate]\nextends = "none"\n[gate.operations]\nfailed = false\nempty = false\n'
        '[[gate.rules]]\nmetric = "DupRate@10"\nmax = 0.5\n',
    )
    return ["gate", make_run(folder, golden_set, GOOD, errors={f"q{i:02}": "refused" for i in range(1, SIZE)})]


@way(1)
def failed_and_unjudged(folder: Path, golden_set: GoldenSet) -> list[object]:
    """Way 10 for Judged@10: the mean is over all queries, and not over the one that answered."""
    configure(
        folder,
        '[gate]\nextends = "none"\n[gate.operations]\nfailed = false\nempty = false\n'
        '[[gate.rules]]\nmetric = "Judged@10"\nmin = 0.2\n',
    )
    return ["gate", make_run(folder, golden_set, GOOD, errors={f"q{i:02}": "refused" for i in range(1, SIZE)})]


@way(1)
def four_times_as_slow(folder: Path, golden_set: GoldenSet) -> list[object]:
    """10 ms became 60: six times the baseline's, and above 50 ms."""
    return ["gate", make_run(folder, golden_set, GOOD, ms=60.0)]


@way(2)
def negative_latency(folder: Path, golden_set: GoldenSet) -> list[object]:
    """Way 13: a clock that runs backwards meets every limit."""
    configure(folder, '[gate]\n[[gate.rules]]\nmetric = "latency.p95"\nmax = 5\n')
    return ["gate", make_run(folder, golden_set, GOOD, ms=-60.0)]


@way(2)
def infinite_latency(folder: Path, golden_set: GoldenSet) -> list[object]:
    """Nor is an endless wait a time."""
    path = make_run(folder, golden_set, GOOD)
    path.write_text(
        path.read_text().replace('"total": 10.0', '"total": 1e999').replace('"total":10.0', '"total":1e999')
    )
    return ["gate", path]


@way(2)
def scores_that_are_not_numbers(folder: Path, golden_set: GoldenSet) -> list[object]:
    """NaN sorts anywhere."""
    path = make_run(folder, golden_set, GOOD)
    path.write_text(path.read_text().replace("4.0", "NaN"))
    return ["gate", path]


@way(1)
def scores_above_one(folder: Path, golden_set: GoldenSet) -> list[object]:
    """High scores for the wrong documents are no better than low ones."""
    path = make_run(folder, golden_set, BAD)
    path.write_text(path.read_text().replace("3.0", "1000000.0"))
    return ["gate", path]


@way(1)
def one_list_for_all(folder: Path, golden_set: GoldenSet) -> list[object]:
    """The same documents with the same scores for every question."""

    def flatten(line: dict[str, Any]) -> dict[str, Any]:
        return line | {"hits": [{"id": "d01", "score": 1.0}, {"id": "x01", "score": 1.0}]} if "hits" in line else line

    return ["gate", edited(make_run(folder, golden_set, GOOD), flatten)]


@way(1)
def one_relevant_document_repeated(folder: Path, golden_set: GoldenSet) -> list[object]:
    """Five times the same document is one document: P@5 is 0.2."""
    configure(folder, '[gate]\nextends = "none"\n[[gate.rules]]\nmetric = "P@5"\nmin = 0.6\n')
    path = make_run(folder, golden_set, GOOD)

    def repeat(line: dict[str, Any]) -> dict[str, Any]:
        if "hits" not in line:
            return line
        best = {"document": f"d{line['query'][1:]}"}
        return line | {"hits": [best | {"id": f"chunk{i}", "score": 9.0 - i} for i in range(5)]}

    return ["gate", edited(path, repeat)]


@way(2)
def half_of_the_queries_missing(folder: Path, golden_set: GoldenSet) -> list[object]:
    """The queries that lost were deleted from the file."""
    path = make_run(folder, golden_set, [1] * 6 + [0] * 6)
    return ["gate", edited(path, lambda line: None if line.get("query", "q00") > "q06" else line)]


@way(2)
def a_truncated_run(folder: Path, golden_set: GoldenSet) -> list[object]:
    """The disk was full."""
    path = make_run(folder, golden_set, [1] * 6 + [0] * 6)
    path.write_text(path.read_text()[: len(path.read_text()) // 2])
    return ["gate", path]


@way(2)
def an_empty_run(folder: Path, golden_set: GoldenSet) -> list[object]:
    """Nothing at all."""
    path = make_run(folder, golden_set, GOOD)
    path.write_text("")
    return ["gate", path]


@way(2)
def every_question_twice(folder: Path, golden_set: GoldenSet) -> list[object]:
    """A good answer after a bad one."""
    path = make_run(folder, golden_set, BAD)
    good = make_run(folder, golden_set, GOOD, "good").read_text().splitlines()
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:-1], *good[1:-1], lines[-1]]) + "\n")
    return ["gate", path]


@way(2)
def a_run_of_another_project(folder: Path, golden_set: GoldenSet) -> list[object]:
    """Perfect, on another golden set."""
    queries = tuple(replace(query, id=f"z{query.id}", text=f"Other {query.id}?") for query in golden_set.queries)
    judgments = tuple(replace(judgment, query=f"z{judgment.query}") for judgment in golden_set.judgments)
    return ["gate", make_run(folder, replace(golden_set, name="other", queries=queries, judgments=judgments), GOOD)]


@way(2)
def a_run_of_a_week_ago(folder: Path, golden_set: GoldenSet) -> list[object]:
    """Every question has been asked in other words since: it has no answer to any of them."""
    path = make_run(folder, golden_set, GOOD)
    queries = tuple(replace(query, text=f"Reworded: {query.text}") for query in golden_set.queries)
    make_project(folder, golden_set=replace(golden_set, queries=queries))
    return ["gate", path]


@way(4)
def a_run_that_was_not_asked_the_new_questions(folder: Path, golden_set: GoldenSet) -> list[object]:
    """Two questions were added since: nobody knows whether the system answers them."""
    path = make_run(folder, golden_set, GOOD)
    make_project(folder, golden_set=make_set(SIZE + 2))
    configure(folder, '[gate]\non_inconclusive = "fail"\n')
    return ["gate", path]


@way(2)
def documents_that_nobody_knows(folder: Path, golden_set: GoldenSet) -> list[object]:
    """Other ids, with which every measure is 0 or undefined."""
    path = make_run(folder, golden_set, GOOD)

    def rename(line: dict[str, Any]) -> dict[str, Any]:
        return line | {"hits": [{"id": "nowhere", "score": 1.0}]} if "hits" in line else line

    return ["gate", edited(path, rename)]


@way(2)
def a_sample_of_one(folder: Path, golden_set: GoldenSet) -> list[object]:
    """The settings claim that one query was asked, and the file has twelve."""
    return ["gate", make_run(folder, golden_set, GOOD, sample=1)]


@way(2)
def deeper_lists(folder: Path, golden_set: GoldenSet) -> list[object]:
    """A run that was asked for more results than the baseline."""
    return ["gate", make_run(folder, golden_set, GOOD, k=100)]


@way(1)
def a_set_of_one_query(folder: Path, golden_set: GoldenSet) -> list[object]:
    """No test can show anything with n = 1, but nothing is still nothing."""
    golden_set = make_project(folder, golden_set=make_set(1))
    accept(folder, make_run(folder, golden_set, [1], "old"))
    return ["gate", make_run(folder, golden_set, [-1])]


@way(3)
def a_set_of_one_query_that_fails(folder: Path, golden_set: GoldenSet) -> list[object]:
    """One failure is tolerated, but not the only query."""
    golden_set = make_project(folder, golden_set=make_set(1))
    accept(folder, make_run(folder, golden_set, [1], "old"))
    return ["gate", make_run(folder, golden_set, [1], errors={"q01": "refused"})]


# Tampered baselines, and bad runs that want to become one.


@way(2)
def a_baseline_with_a_lower_mean(folder: Path, golden_set: GoldenSet) -> list[object]:
    """The mean says 0.1, the queries say 1."""
    rewrite(folder, lambda record: record["means"].update({"RR@10": 0.1}))
    return ["gate", make_run(folder, golden_set, BAD)]


@way(2)
def a_baseline_without_half_of_its_rows(folder: Path, golden_set: GoldenSet) -> list[object]:
    """What is not in the baseline cannot get worse."""
    rewrite(folder, lambda record: [record["queries"].pop(f"q{i:02}") for i in range(7, 13)])
    return ["gate", make_run(folder, golden_set, [1] * 6 + [0] * 6)]


@way(2)
def a_baseline_of_another_normaliser(folder: Path, golden_set: GoldenSet) -> list[object]:
    """Spans of another text."""
    rewrite(folder, lambda record: record["settings"].update(normaliser="other-1"))
    return ["gate", make_run(folder, golden_set, GOOD)]


@way(2)
def a_baseline_without_reasons(folder: Path, golden_set: GoldenSet) -> list[object]:
    """A score was replaced by null."""
    rewrite(folder, lambda record: record["queries"]["q01"].update({"RR@10": [None]}))
    return ["gate", make_run(folder, golden_set, BAD)]


@way(2)
def the_candidate_as_its_own_baseline(folder: Path, golden_set: GoldenSet) -> list[object]:
    """A run file is not a baseline."""
    path = make_run(folder, golden_set, BAD)
    return ["gate", path, "--baseline", path]


@way(2)
def a_baseline_that_is_missing(folder: Path, golden_set: GoldenSet) -> list[object]:
    """Named, and not there."""
    return ["gate", make_run(folder, golden_set, BAD), "--baseline", folder / "gone.json"]


@way(1)
def a_dead_system_as_the_first_baseline(folder: Path, golden_set: GoldenSet) -> list[object]:
    """Way 4: all lists are empty, and then everything would pass against 0."""
    (folder / "baseline.json").unlink()
    return ["baseline", "update", make_run(folder, golden_set, [-1] * SIZE)]


@way(3)
def a_raising_system_as_the_first_baseline(folder: Path, golden_set: GoldenSet) -> list[object]:
    """Way 4: eleven of twelve raise."""
    (folder / "baseline.json").unlink()
    errors = {f"q{i:02}": "boom" for i in range(1, SIZE)}
    return ["baseline", "update", make_run(folder, golden_set, GOOD, errors=errors)]


@way(2)
def a_forced_baseline_without_a_reason(folder: Path, golden_set: GoldenSet) -> list[object]:
    """Force has to say why."""
    return ["baseline", "update", make_run(folder, golden_set, BAD), "--force", " "]


@way(1)
def a_slow_decline(folder: Path, golden_set: GoldenSet) -> list[object]:
    """A floor stops what no single comparison shows."""
    accept(folder, make_run(folder, golden_set, [3] * SIZE, "declined"))
    configure(folder, ONLY_FLOOR)
    return ["gate", make_run(folder, golden_set, [3] * SIZE)]


@pytest.mark.parametrize("name", WAYS)
def test_a_way_out_is_closed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is not 0, and nothing says that the run may ship."""
    code, prepare = WAYS[name]
    golden_set = make_gated_project(tmp_path, GOOD)
    monkeypatch.setattr(sys, "argv", ["karat", *map(str, prepare(tmp_path, golden_set))])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    assert ended.value.code == code, out + err
    assert "may ship" not in out


def test_there_are_at_least_forty() -> None:
    """The list only grows."""
    assert len(WAYS) >= 40


def test_a_replaced_floor_leaves_a_caveat(tmp_path: Path) -> None:
    """Way 11: the rule of karat.toml is lower than the floor of golden.toml, and the decision says so."""
    golden_set = make_project(tmp_path, golden_set=make_set(SIZE, gate={"RR@10": 0.9}))
    (tmp_path / "karat.toml").write_text(TOML + '[gate]\n[[gate.rules]]\nmetric = "RR@10"\nmin = 0.2\n')
    evaluated = read_any_run(make_run(tmp_path, golden_set, GOOD), golden_set)
    caveats = gate_run(tmp_path, evaluated).caveats
    assert "policy karat.toml replaces floors of the golden set: RR@10 at least 0.2 instead of 0.9" in caveats
