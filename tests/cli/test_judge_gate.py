"""The gate on a judge's scores: corrected by labels, with the parts of its uncertainty, and with a rule on coverage."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.answering_project import configure, enter_project, write_scores
from cli.gate_project import main
from karat.core import Provenance, Scores
from karat.evaluation import Evaluation
from karat.gate import Policy, Rule, decide, describe_uncertainty, find_uncertainty
from karat.reports import render_html, render_latex, render_markdown
from karat.schema import DecisionDocument, from_plain
from karat.stats import correct_difference, correct_mean

COUNT = 120
LABELS = "[judges.labels]\nfaithfulness = 'labels.jsonl'\n"
RULES = '[gate]\nextends = "none"\nrules = [{ metric = "Faithfulness", min = 0.85, non_inferior = true }]\n'
NUMBERS = {f"q{i}": i for i in range(COUNT)}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with 120 answers, which is the current folder."""
    return enter_project(tmp_path, monkeypatch, COUNT)


def make_run(folder: Path, system: str, scores: dict[str, Any]) -> Path:
    """Let a system answer, write what the judge says of it, and return the file."""
    (folder / "labels.jsonl").touch()
    configure(folder, system=system, gate=LABELS + RULES)
    assert main(["eval", "."]) == 0
    (run,) = (path for path in (folder / "runs").glob("*.jsonl") if system in path.name)
    write_scores(run, scores)
    return run


def write_labels(folder: Path, labels: dict[str, float], answers: dict[str, str]) -> None:
    rows = [{"query": query, "label": label, "answer": answers[query]} for query, label in labels.items()]
    (folder / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def good_answers() -> dict[str, str]:
    return {query: f"Fact {i} is true." for query, i in NUMBERS.items()}


def gate(capsys: pytest.CaptureFixture[str], run: Path) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    code = main(["gate", str(run), "--json"])
    return int(str(code)), json.loads(capsys.readouterr().out)


def find_check(document: dict[str, Any], kind: str) -> dict[str, Any]:
    (check,) = (check for check in document["checks"] if check["kind"] == kind)
    return dict(check)


def test_labels_correct_the_mean_of_a_kind_judge(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The judge says 1.0 of everything but a few; people say 0.7 of a random sample, and the floor of 0.85 fails."""
    rng = np.random.default_rng(0)
    truth = {query: float(rng.random() < 0.7) for query in NUMBERS}
    scores = {query: 1.0 if truth[query] or rng.random() < 0.8 else 0.0 for query in NUMBERS}
    run = make_run(folder, "Good", {query: [value] for query, value in scores.items()})
    labelled = dict(list(truth.items())[:40])
    write_labels(folder, {}, {})
    code, plain = gate(capsys, run)
    assert (code, find_check(plain, "min")["outcome"]) == (1, "fail")  # labels that cannot be used count against it
    configure(folder, gate=RULES)
    assert find_check(gate(capsys, run)[1], "min")["outcome"] == "pass"
    configure(folder, gate=LABELS + RULES)
    write_labels(folder, labelled, good_answers())
    code, document = gate(capsys, run)
    check = find_check(document, "min")
    rest = [scores[query] for query in NUMBERS if query not in labelled]
    expected = correct_mean(list(labelled.values()), [scores[query] for query in labelled], rest)
    assert (code, check["outcome"]) == (1, "fail")
    assert check["current"] == pytest.approx(expected.mean)
    assert "corrected by 40 labels" in check["reason"]


def test_both_numbers_are_shown_wherever_a_judge_is_corrected(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Eval, report and compare name the judge's mean and the corrected one, which are those of the gate."""
    rng = np.random.default_rng(3)
    truth = {query: float(rng.random() < 0.7) for query in NUMBERS}
    labelled = dict(list(truth.items())[:60])
    run = make_run(folder, "Good", {query: [1.0 if i % 10 else truth[query]] for query, i in NUMBERS.items()})
    write_labels(folder, labelled, good_answers())
    _, document = gate(capsys, run)
    corrected = find_check(document, "min")["current"]
    (row,) = (row for row in document["measures"] if row["name"] == "Faithfulness")
    assert row["by_labels"]["mean"] == pytest.approx(corrected)
    assert row["mean"] == pytest.approx(row["by_labels"]["judge"])
    assert row["mean"] > corrected + 0.1
    both = f"the judge alone says {row['mean']:.4f}; corrected by 60 labels it is {corrected:.4f}"
    assert any(both in caveat for caveat in document["caveats"])
    page = render_markdown(from_plain(document, DecisionDocument))
    assert f"{row['mean']:.4f} (by labels {corrected:.4f})" in page
    typed = from_plain(document, DecisionDocument)
    low, high = (round(row["by_labels"][end], 4) for end in ("low", "high"))
    assert f'"labels":[{round(corrected, 4)},{low},{high},60]' in render_html(typed)
    assert f"By people's labels, and not by the judge alone: Faithfulness {corrected:.4f}." in render_latex(typed)
    assert main(["eval", ".", "--run", str(run), "-m", "Faithfulness"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["Faithfulness", f"{row['mean']:.4f}", f"{COUNT}/{COUNT}"]
    assert lines[2].startswith("  by 60 labels (")
    assert lines[2].split()[-1] == f"{corrected:.4f}"


def test_compare_corrects_as_the_gate_does(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A drop that only the judge sees is no conclusion; the corrected difference is the gate's."""
    rng = np.random.default_rng(1)
    truth = {query: float(rng.random() < 0.95) for query in NUMBERS}
    new = {query: 0.0 if rng.random() < 0.2 else value for query, value in truth.items()}
    write_labels(folder, dict(list(truth.items())[:60]), good_answers())
    run = make_run(folder, "Good", {query: [value] for query, value in truth.items()})
    assert main(["baseline", "update", str(run)]) == 0
    write_scores(run, {query: [value] for query, value in new.items()})
    check = find_check(gate(capsys, run)[1], "non_inferior")
    assert main(["compare", "baseline.json", str(run), "--json"]) == 0
    ((test, *others),) = [pair["measures"] for pair in json.loads(capsys.readouterr().out)["pairs"]]
    assert (test["measure"], [other["measure"] for other in others]) == ("Faithfulness", ["RR@10"])
    own = test["by_labels"]
    assert own["difference"] == pytest.approx(check["difference"])
    assert own["baseline"] == pytest.approx(check["baseline"])
    assert test["difference"] < own["difference"]
    assert test["significant"] is True
    assert main(["compare", "baseline.json", str(run)]) == 0
    printed = capsys.readouterr().out
    assert "these are the numbers that the gate uses" in printed
    assert "is worse than A in Faithfulness" not in printed
    write_labels(folder, dict(list(truth.items())[:5]), good_answers())
    assert main(["compare", "baseline.json", str(run)]) == 0
    assert "Faithfulness is the judge's alone: labels do not correct its change (5 labels" in capsys.readouterr().out


@pytest.mark.slow
def test_labels_of_both_runs_correct_the_change(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The judge thinks less of the new answers and people do not: the drop that it sees is not one."""
    rng = np.random.default_rng(1)
    truth = {query: float(rng.random() < 0.95) for query in NUMBERS}
    old = {query: truth[query] for query in NUMBERS}
    new = {query: 0.0 if rng.random() < 0.2 else value for query, value in old.items()}
    write_labels(folder, dict(list(truth.items())[:60]), good_answers())
    run = make_run(folder, "Good", {query: [value] for query, value in old.items()})
    assert main(["baseline", "update", str(run)]) == 0
    code, document = gate(capsys, run)
    assert (code, find_check(document, "non_inferior")["reason"]) == (0, f"none of {COUNT} queries changed")
    assert not any("not corrected" in caveat for caveat in document["caveats"])
    write_scores(run, {query: [value] for query, value in new.items()})
    code, document = gate(capsys, run)
    check = find_check(document, "non_inferior")
    queries = list(NUMBERS)
    told = [truth[query] for query in queries[:60]]
    expected = correct_difference(
        (told, told),
        ([old[query] for query in queries[:60]], [new[query] for query in queries[:60]]),
        ([old[query] for query in queries[60:]], [new[query] for query in queries[60:]]),
    )
    assert check["difference"] == pytest.approx(expected.mean)
    before = correct_mean(told, [old[query] for query in queries[:60]], [old[query] for query in queries[60:]]).mean
    assert (check["baseline"], check["current"]) == (pytest.approx(before), pytest.approx(before + expected.mean))
    assert (code, check["outcome"]) == (0, "pass")
    (folder / "labels.jsonl").write_text("")
    code, document = gate(capsys, run)
    assert (code, find_check(document, "non_inferior")["outcome"]) == (1, "fail")


def test_labels_of_answers_that_changed_correct_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is still labelled is what did not change, which is no random sample: the report says so."""
    write_labels(folder, dict.fromkeys(NUMBERS, 1.0), good_answers())
    run = make_run(folder, "Bad", {query: [1.0] for query in NUMBERS})
    _, document = gate(capsys, run)
    changed = sum(str(i) in "0123" for i in range(COUNT))
    assert any(f"{changed} of {COUNT} labelled answers have changed since" in caveat for caveat in document["caveats"])
    assert find_check(document, "min")["outcome"] == "fail"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"answer": "Another one."}, f"{COUNT} of {COUNT} labelled answers have changed since"),
        ({"query": "z"}, "no label of this judge is of an answer of the run"),
        ({"judge": "refusal"}, "no label of this judge is of an answer of the run"),
        ({"label": None}, "no label of this judge is of an answer of the run"),
    ],
)
def test_labels_that_do_not_count_are_told_and_let_nothing_pass(
    folder: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], problem: str
) -> None:
    """A floor that the judge alone would pass fails by default, with what to do, and one that it fails stays so."""
    run = make_run(folder, "Good", {query: [1.0] for query in NUMBERS})
    rows = [{"query": query, "label": 1, "answer": answer} | change for query, answer in good_answers().items()]
    rows = [row | {"annotator": str(number)} for number, row in enumerate(rows)]
    (folder / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, document = gate(capsys, run)
    check = find_check(document, "min")
    assert (code, check["outcome"], problem in check["reason"]) == (1, "fail", True)
    assert "by the judge alone" in check["reason"]
    assert check["reason"].endswith("'karat judge sample RUN' draws some to label")
    assert any(f"Faithfulness is not corrected by labels: {problem}" in caveat for caveat in document["caveats"])
    write_scores(run, {query: [0.0] for query in NUMBERS})
    assert find_check(gate(capsys, run)[1], "min")["outcome"] == "fail"


def test_a_change_that_the_baseline_has_no_labels_for_is_not_let_pass() -> None:
    """The judge sees no drop, and people were never asked about the baseline."""
    scores = np.tile([1.0, 0.5], 20)
    then = make_evaluation({"Faithfulness": scores})
    now = make_evaluation({"Faithfulness": scores + 0.1, "PeopleLabel(name='faithfulness')": scores})
    rules = Rule(metric="Faithfulness", min=0.5, max_drop_abs=0.05, non_inferior=True)
    outcomes = {check.kind: check.outcome.value for check in decide(now, then, Policy(rules=(rules,))).checks}
    assert {kind: outcomes[kind] for kind in ("min", "max_drop_abs", "non_inferior")} == {
        "min": "pass", "max_drop_abs": "fail", "non_inferior": "fail",
    }  # fmt: skip


def test_the_first_baseline_with_labels_needs_no_force(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Against one without labels the change fails, with what to do; doing that mends it."""
    run = make_run(folder, "Good", {query: [1.0] for query in NUMBERS})
    configure(folder, gate=RULES)
    assert main(["baseline", "update", str(run)]) == 0
    configure(folder, gate=LABELS + RULES)
    write_labels(folder, dict.fromkeys(NUMBERS, 1.0), good_answers())
    write_scores(run, {query: [1.0 if i else 0.9] for query, i in NUMBERS.items()})
    code, document = gate(capsys, run)
    assert (code, find_check(document, "min")["outcome"]) == (1, "pass")
    assert find_check(document, "non_inferior")["reason"].endswith("with 'karat baseline update RUN'")
    assert main(["baseline", "update", str(run)]) == 0
    assert gate(capsys, run)[0] == 0


def test_labels_of_a_judge_that_does_not_exist(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They would correct nothing, so that they are an error that names the judges."""
    run = make_run(folder, "Good", {query: [1.0] for query in NUMBERS})
    configure(folder, gate=LABELS.replace("faithfulness", "faithfulnes") + RULES)
    assert main(["gate", str(run)]) == 2
    error = capsys.readouterr().err
    assert "there is no judge 'faithfulnes'" in error
    assert "faithfulness" in error.split("known: ")[1]


def test_a_rule_on_coverage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The share of the queries that the judge scored, before failures count as the worst value."""
    scores: dict[str, Any] = {query: [1.0 if i >= 12 else None] for query, i in NUMBERS.items()}
    run = make_run(folder, "Good", scores)
    for least, code in ((0.9, 0), (0.95, 1)):
        rule = f'[gate]\nextends = "none"\nrules = [{{ metric = "coverage.faithfulness", min = {least} }}]\n'
        configure(folder, gate=rule)
        assert gate(capsys, run)[0] == code
    check = find_check(gate(capsys, run)[1], "min")
    assert (check["metric"], check["current"]) == ("coverage.Faithfulness", pytest.approx(0.9))
    configure(folder, gate='[gate]\nextends = "none"\nrules = [{ metric = "coverage.Faithfulnes", min = 0.5 }]\n')
    assert main(["gate", str(run)]) == 2
    assert "did you mean 'faithfulness'" in capsys.readouterr().err


def make_evaluation(columns: dict[str, np.ndarray], repeats: list[np.ndarray] | None = None) -> Evaluation:
    queries = [f"q{i:03}" for i in range(len(next(iter(columns.values()))))]

    def tabulate(own: dict[str, np.ndarray]) -> Scores:
        rows = {name: dict(zip(queries, values.tolist(), strict=True)) for name, values in own.items()}
        return Scores.from_columns("run", rows, queries=queries)

    table = tabulate(columns)
    return Evaluation(
        provenance=Provenance(name="run"), scores=table, means=table.mean(), queries=table.queries,
        repeats=tuple(tabulate({"Faithfulness": values}) for values in repeats or ()),
    )  # fmt: skip


def test_all_tests_share_the_level() -> None:
    """Of two tests each has half of it: a drop of which p is 1/32 fails alone, and not beside a labelled one."""
    n = 40
    before, after = np.ones(n), np.where(np.arange(n) < 5, 0.0, 1.0)
    column = "PeopleLabel(name='faithfulness')"
    rules = (Rule(metric="RR@10", non_inferior=True), Rule(metric="Faithfulness", non_inferior=True))
    scores = np.tile([1.0, 0.5], n // 2)
    judged = np.where(np.arange(n) < 3, 0.75, scores)

    def check(labelled: bool) -> dict[str, Any]:
        more = {"Faithfulness": scores, **({column: scores} if labelled else {})}
        then = make_evaluation({"RR@10": before, **more})
        now = make_evaluation({"RR@10": after, **more, "Faithfulness": judged})
        decision = decide(now, then, Policy(rules=rules if labelled else rules[:1]))
        return {check.metric: check for check in decision.checks if check.kind == "non_inferior"}

    assert check(labelled=False)["RR@10"].outcome.value == "fail"
    both = check(labelled=True)
    assert both["RR@10"].outcome.value == "inconclusive"
    change = correct_difference((scores, scores), (scores, judged), ([], []))
    assert both["Faithfulness"].p == pytest.approx(min(2 * change.p_below, 1.0))


def test_the_parts_of_the_uncertainty_are_those_of_the_world() -> None:
    """Queries, answers and judge have known variances; with three times the votes its part is a third."""
    rng = np.random.default_rng(4)
    n, sd = 4000, {"queries": 0.12, "answers": 0.08, "judge": 0.10}
    level = rng.normal(0.5, 0.1, n)

    def ask(votes: int) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
        own, repeats, noise = level + rng.normal(0, sd["queries"], n), [], []
        for _ in range(2):
            answer = own + rng.normal(0, sd["answers"], n)
            cast = answer[:, None] + rng.normal(0, sd["judge"], (n, votes))
            repeats.append(cast.mean(axis=1))
            noise.append(cast.var(axis=1, ddof=1) / votes)
        return np.mean(repeats, axis=0), repeats, np.mean(noise, axis=0)

    noisy = "JudgeNoise(name='faithfulness')"
    evaluations = []
    for _ in range(2):
        mean, repeats, noise = ask(2)
        # The score of a query is the mean of two answers, so that half of a vote's noise is left.
        evaluations.append(make_evaluation({"Faithfulness": mean, noisy: noise / 2}, repeats))
    policy = Policy(rules=(Rule(metric="Faithfulness", non_inferior=True),))
    (parts,) = find_uncertainty(decide(evaluations[0], evaluations[1], policy))
    total = 2 * (sd["queries"] ** 2 + sd["answers"] ** 2 / 2 + sd["judge"] ** 2 / 4)
    assert parts.queries == pytest.approx(2 * sd["queries"] ** 2 / total, abs=0.03)
    assert parts.answers == pytest.approx(sd["answers"] ** 2 / total, abs=0.03)
    text = describe_uncertainty(parts)
    assert re.match(r"Faithfulness: its uncertainty is queries \d+%, answers \d+%", text)


def test_what_would_decide_and_what_it_would_cost(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A judge with two votes that contradict each other: more queries, or more votes; both are calls."""
    rng = np.random.default_rng(5)
    votes = {query: [float(rng.random() < 0.9), float(rng.random() < 0.9)] for query in NUMBERS}
    run = make_run(folder, "Good", votes)
    assert main(["baseline", "update", str(run), "--force", "the first one"]) == 0
    worse = {query: [value, 1.0 if rng.random() < 0.8 else 0.0] for query, (_, value) in votes.items()}
    write_scores(run, worse)
    _, document = gate(capsys, run)
    (row,) = document["uncertainty"]
    assert (row["metric"], row["asked"], row["n"]) == ("Faithfulness", 2, COUNT)
    assert row["votes"] > 0.3
    assert row["answers"] is None
    assert row["queries"] + row["votes"] == pytest.approx(1.0)
    (caveat,) = (caveat for caveat in document["caveats"] if "its uncertainty is" in caveat)
    if row["needed_queries"] is not None:
        more = 2 * (row["needed_queries"] - COUNT) * 2 * 2
        assert f"{row['needed_queries']:,} queries in place of {COUNT} (about {more:,} calls" in caveat


def test_coverage_is_of_the_queries_that_a_measure_is_for() -> None:
    """No judge can say how faithful an answer to a question without one is."""
    evaluation = make_evaluation({"Faithfulness": np.array([math.nan, 1.0, 1.0, math.nan])})
    policy = Policy(rules=(Rule(metric="coverage.Faithfulness", min=0.5),))
    shares = [
        decide(replace(evaluation, unanswerable=frozenset(left_out)), None, policy).checks[-1].current
        for left_out in ((), ("q000",), ("q000", "q003"))
    ]
    assert shares == [pytest.approx(1 / 2), pytest.approx(2 / 3), 1.0]
