"""``on_unjudged = "bounds"``: nothing passes unless it does whatever the grades of unjudged documents are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from karat.core import Document, GoldenSet, Hit, InputError, Judgment, Provenance, Query, Run, Target, Trace
from karat.evaluation import Evaluation, score_run
from karat.gate import Baseline, Check, Must, Policy, Rule, decide, hold_at_bounds, read_policy, write_baseline
from karat.gate._operations import KINDS
from karat.golden import identify, write
from karat.projects import gate_run, open_project
from karat.projects.baselines import accept_run
from karat.stats import Outcome

SIZE = 20
QUERIES = [f"q{i:02}" for i in range(SIZE)]


def make_set(*unknown: str, grade: int = 0) -> GoldenSet:
    """Query q01 is answered by d01. x and y are judged with a grade for every query, unless they are unknown."""
    ids = [f"d{query[1:]}" for query in QUERIES]
    judgments = [Judgment(query=q, target=Target(document=d), grade=1) for q, d in zip(QUERIES, ids, strict=True)]
    judgments += [
        Judgment(query=query, target=Target(document=other), grade=grade)
        for query in QUERIES
        for other in "xy"
        if other not in unknown
    ]
    return GoldenSet(
        documents=tuple(Document(id=id_, text=id_) for id_ in (*ids, "x", "y")),
        queries=tuple(Query(id=query, text=query) for query in QUERIES),
        judgments=tuple(judgments),
        grades=("no", "yes"),
        relevant=1,
    )


def make_run(*documents: str) -> Run:
    """A run that returns these documents for every query; d stands for the right one."""
    traces = tuple(
        Trace(
            query=query,
            text=query,
            hits=tuple(
                Hit(f"d{query[1:]}" if document == "d" else document, float(-rank))
                for rank, document in enumerate(documents)
            ),
        )
        for query in QUERIES
    )
    settings = {"k": 10, "paraphrases": False, "repeat": 1, "sample": None, "seed": 0, "unit": "document"}
    return Run(provenance=Provenance(name="run", settings=settings), traces=traces)


def evaluate(golden: GoldenSet, *documents: str, measures: tuple[str, ...]) -> Evaluation:
    return score_run(golden, make_run(*documents), measures)


def gate(golden: GoldenSet, candidate: str, baseline: str, *rules: Rule, **fields: Any) -> list[Check]:
    """The checks of a candidate's list against a baseline's, without the operational ones."""
    policy = Policy(rules=rules, on_unjudged="bounds", **fields)
    runs = [evaluate(golden, *documents, measures=policy.measures) for documents in (candidate, baseline)]
    decision = hold_at_bounds(decide(*runs, policy), golden)
    return [check for check in decision.checks if check.kind not in KINDS]


def test_a_pass_that_a_judgment_could_undo_is_inconclusive_and_says_what_to_judge() -> None:
    """P@2 is one half in both; with y relevant the baseline would have all of it."""
    (check,) = gate(make_set("y"), "dx", "dy", Rule(metric="P@2", non_inferior=True))
    assert check.outcome is Outcome.INCONCLUSIVE
    assert check.reason.endswith(
        "; but the grades of 20 unjudged documents could undo it (at worst 0.5000 against 1.0000): "
        "'karat golden pool RUN BASELINE --depth 2' lists them"
    )


@pytest.mark.parametrize("grade", [0, 1])
def test_with_the_judgments_there_is_a_decision(grade: int) -> None:
    """Both are worth the same, whether x and y are relevant or not."""
    (check,) = gate(make_set(grade=grade), "dx", "dy", Rule(metric="P@2", non_inferior=True))
    assert check.outcome is Outcome.PASS


def test_unjudged_documents_that_both_return_alike_decide_nothing() -> None:
    (check,) = gate(make_set("x", "y"), "dxy", "dxy", Rule(metric="nDCG@3", non_inferior=True))
    assert check.outcome is Outcome.PASS


def test_a_floor_looks_at_the_run_alone() -> None:
    """R@1 is 1 at worst, and nDCG@2 too; with y relevant at rank 3, nDCG@3 would be below 0.95."""
    floors = [Rule(metric=name, min=0.95) for name in ("R@1", "nDCG@2", "nDCG@3")]
    checks = gate(make_set("y"), "dxy", "dxy", *floors)
    assert [check.outcome.value for check in checks] == ["pass", "pass", "inconclusive"]
    assert (
        "20 unjudged documents could undo it (at worst 0.9197): 'karat golden pool RUN --depth 3'" in checks[2].reason
    )


def test_a_must_pass_is_held_at_its_worst() -> None:
    must = (Must(query="q00", metric="nDCG@3", min=0.95), Must(query="q01"))
    rule = Rule(metric="P@1", min=0.5)
    checks = {check.name: check.outcome.value for check in gate(make_set("y"), "dxy", "dxy", rule, must_pass=must)}
    assert checks == {"P@1": "pass", "q00 nDCG@3": "inconclusive", "q01": "pass"}


def test_what_failed_stays_failed() -> None:
    """The candidate lost every answer; what nobody judged might be better, but a failure is not improved."""
    checks = gate(make_set("x", "y"), "xy", "dy", Rule(metric="RR@2", non_inferior=True), Rule(metric="P@1", min=0.5))
    assert [check.outcome.value for check in checks] == ["fail", "fail"]


def test_lower_is_better_is_handled() -> None:
    """DupRate does not depend on judgments, and passes; InvRate does, and nobody knows its bounds."""
    checks = gate(make_set("y"), "dx", "dy", *(Rule(metric=name, max=0.5) for name in ("DupRate@2", "InvRate@2")))
    assert [check.outcome.value for check in checks] == ["pass", "pass"]
    checks = gate(make_set("y"), "dy", "dx", *(Rule(metric=name, max=0.5) for name in ("DupRate@2", "InvRate@2")))
    assert [check.outcome.value for check in checks] == ["pass", "inconclusive"]


def test_without_a_baseline_only_floors_are_held() -> None:
    golden = make_set("y")
    policy = Policy(rules=(Rule(metric="P@2", min=0.4, non_inferior=True),), on_unjudged="bounds")
    run = evaluate(golden, "d", "y", measures=policy.measures)
    checks = {check.kind: check.outcome.value for check in hold_at_bounds(decide(run, None, policy), golden).checks}
    assert (checks["min"], checks["non_inferior"]) == ("pass", "inconclusive")


def test_a_table_says_what_becomes_of_unjudged_documents() -> None:
    table: dict[str, Any] = {"on_unjudged": "bounds", "rules": [{"metric": "P@2", "min": 0.5}]}
    policy = read_policy(None, table)
    assert policy.on_unjudged == "bounds"
    assert "on_unjudged: bounds (was: ignore)" in policy.changes
    assert read_policy("default", {"on_unjudged": "bounds"}, measures=["P@2"]).on_unjudged == "bounds"
    with pytest.raises(InputError, match="on_unjudged = 'guess'; choose ignore or bounds"):
        read_policy(None, {"on_unjudged": "guess"}, measures=["P@2"])


@pytest.mark.parametrize(("key", "outcome"), [("ignore", "pass"), ("bounds", "inconclusive")])
def test_the_gate_of_a_project_obeys_and_so_does_a_new_baseline(tmp_path: Path, key: str, outcome: str) -> None:
    """The same run against the same baseline; what is inconclusive is kept in the file of the new baseline."""
    write(make_set("y"), tmp_path / "set")
    text = f'[golden]\npath = "set"\n[eval]\nmeasures = ["P@2"]\n[gate]\non_unjudged = "{key}"\n'
    (tmp_path / "karat.toml").write_text(text)
    project = open_project(tmp_path)
    run, other = (replace(make_run(*documents), provenance=_on(project.golden)) for documents in ("dx", "dy"))
    before = Baseline(evaluation=score_run(project.golden, other, ["P@2"]), recorded="2026-11-17")
    assert gate_run(project, run, baseline=before).decision.outcome.value == outcome
    write_baseline(before, tmp_path / "baseline.json")
    accepted = accept_run(project, run).baseline
    assert [reason.split(":")[0] for reason in accepted.inconclusive] == (["P@2"] if key == "bounds" else [])


def _on(golden: GoldenSet) -> Provenance:
    return replace(make_run().provenance, golden=identify(golden))
