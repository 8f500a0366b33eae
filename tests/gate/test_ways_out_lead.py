"""Ways found to get exit 0, or a PASS, where a lead would not ship: judgments that vanish, a baseline that sinks."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cli.gate_project import accept, main, make_gated_project, make_project, make_run, make_set
from karat.core import GoldenSet, Hit, Judgment, Provenance, Run, Target, Trace
from karat.evaluation import score_run
from karat.gate import Policy, Rule, decide, find_caveats
from karat.projects import GateResult, gate_run, open_project
from karat.runs import read_any_run

SIZE = 12
BROKEN = ["q01", "q02", "q03", "q04"]
"""The questions that a change broke: it finds something else than their relevant document."""
PLACES = [0] * 4 + [1] * 8


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of twelve questions with a baseline that finds all."""
    make_gated_project(tmp_path, [1] * SIZE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def without_judgments(queries: Sequence[str], *, answerable: bool = True) -> GoldenSet:
    """The set of the project without the judgments of some questions, which may be called unanswerable instead."""
    golden_set = make_set(SIZE)
    return replace(
        golden_set,
        judgments=tuple(judgment for judgment in golden_set.judgments if judgment.query not in queries),
        queries=tuple(
            replace(query, answerable=answerable) if query.id in queries else query for query in golden_set.queries
        ),
    )


def gate_on(folder: Path, golden_set: GoldenSet, toml: str = "") -> GateResult:
    """The decision on the change, which is made on this golden set."""
    whole = make_set(SIZE)
    run = make_run(folder, whole, PLACES)
    make_project(folder, toml, golden_set=golden_set)
    project = open_project(folder)
    return gate_run(project, read_any_run(run, project.golden))


@pytest.mark.parametrize("answerable", [True, False])
def test_deleting_the_judgments_of_what_a_change_broke_does_not_pass(folder: Path, answerable: bool) -> None:
    """Nor does calling the questions unanswerable: without a relevant document nothing is compared."""
    result = gate_on(folder, without_judgments(BROKEN, answerable=answerable))
    assert result.decision.outcome.value == "inconclusive"
    (check,) = [check for check in result.decision.checks if check.kind == "removed"]
    assert check.reason == (
        "4 of 12 questions that the baseline scored have no relevant document any more: q01, q02, q03, q04"
    )
    assert result.caveats[0].startswith("WARNING: 4 of the 12 questions that the baseline scored have no relevant")


def test_deleted_questions_and_judgments_count_together(folder: Path) -> None:
    """One of each is two of twelve, which is one too many."""
    golden_set = without_judgments(["q01"])
    result = gate_on(folder, replace(golden_set, queries=tuple(q for q in golden_set.queries if q.id != "q02")))
    (check,) = [check for check in result.decision.checks if check.kind == "removed"]
    assert (check.outcome.value, check.current) == ("inconclusive", 2)
    assert check.reason == (
        "1 of 12 questions that the baseline scored are no longer in the golden set: q02; 1 have no relevant document "
        "any more: q01"
    )


def test_the_judgments_of_one_question_may_go(folder: Path) -> None:
    """As one question may: the decision on the others fails here, by what they lost."""
    result = gate_on(folder, without_judgments(["q01"]))
    (check,) = [check for check in result.decision.checks if check.kind == "removed"]
    assert check.outcome.value == "pass"


def test_a_segment_that_loses_its_judgments_is_seen(folder: Path) -> None:
    """The rule is about prices, of which q02 and q04 lost their judgments."""
    rule = '[[gate.rules]]\nmetric = "RR@10"\nwhere = { category = "prices" }\nnon_inferior = true\n'
    result = gate_on(folder, without_judgments(["q02", "q04"]), rule)
    (check,) = [check for check in result.decision.checks if check.kind == "moved"]
    assert (check.outcome.value, check.current) == ("inconclusive", 2)


def test_nothing_is_recorded_until_a_rebase_shows_what_goes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The rebase shows each score that vanishes, counts what is left, and then the smaller set is gated."""
    gate_on(folder, without_judgments(BROKEN))
    assert main(["baseline", "update", "runs/new.jsonl"]) == 4
    assert "until 'karat baseline rebase' has shown what goes" in capsys.readouterr().err
    assert main(["baseline", "rebase", "."]) == 0
    shown = capsys.readouterr().out
    assert "questions with scores 12 -> 8" in shown
    assert "~ q01 What of 01?: RR@10 1.0000 -> none" in shown
    assert main(["gate", "runs/new.jsonl"]) == 0


def test_a_rebase_that_loses_most_judgments_needs_a_reason(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Seven of twelve is more than half."""
    gate_on(folder, without_judgments([f"q{i:02}" for i in range(1, 8)]))
    assert main(["baseline", "rebase", "."]) == 4
    assert "7 of the 12 questions of the baseline" in capsys.readouterr().err


def test_a_policy_with_floors_alone_does_not_let_the_baseline_sink(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A floor of 0.1 passes a fall to 0.67, and the next baseline would start from there."""
    Path("lenient.toml").write_text('[gate]\nextends = "none"\n[[gate.rules]]\nmetric = "R@5"\nmin = 0.1\n')
    before = Path("baseline.json").read_text()
    run = make_run(folder, make_set(SIZE), PLACES)
    assert main(["baseline", "update", str(run), "--policy", "lenient.toml"]) == 4
    message = capsys.readouterr().err
    assert "worse than the baseline in measures that no rule compares with it, and is not recorded: RR@10" in message
    assert Path("baseline.json").read_text() == before
    assert main(["baseline", "update", str(run), "--policy", "lenient.toml", "--force", "intended"]) == 0
    assert json.loads(Path("baseline.json").read_text())["forced"] == "intended"


def test_a_tolerance_that_a_rule_states_is_that_of_the_baseline(folder: Path) -> None:
    """A rule that lets RR@10 fall by 0.4 lets the baseline follow a fall of 0.33."""
    Path("own.toml").write_text('[gate]\nextends = "none"\n[[gate.rules]]\nmetric = "RR@10"\nmax_drop_abs = 0.4\n')
    run = make_run(folder, make_set(SIZE), PLACES)
    assert main(["baseline", "update", str(run), "--policy", "own.toml"]) == 0


def test_hits_of_unanswerable_questions_are_told_if_no_rule_looks_at_them(folder: Path) -> None:
    """RR@10 leaves them out, so that a system which answers everything is as good as before."""
    golden_set = without_judgments(["q01", "q02"], answerable=False)
    make_project(folder, golden_set=golden_set)
    project = open_project(folder)
    quiet, loud = (
        read_any_run(make_run(folder, make_set(SIZE), [first, second, *[1] * 10], name), project.golden)
        for first, second, name in ((-1, 1, "quiet"), (1, 1, "loud"))
    )
    accept(folder, folder / "runs" / "quiet.jsonl")
    warning = (
        "WARNING: 2 of the 2 unanswerable questions got hits instead of none, 1 of them in the baseline too, and no "
        "rule checks them; add TrueEmpty to [eval] measures"
    )
    assert warning in gate_run(project, loud).caveats
    assert any(caveat.startswith("1 of the 2 unanswerable") for caveat in gate_run(project, quiet).caveats)
    toml = '[gate]\n[[gate.rules]]\nmetric = "TrueEmpty"\nmin = 0.1\n'
    make_project(folder, toml, golden_set=golden_set)
    assert not [caveat for caveat in gate_run(folder, loud).caveats if "unanswerable" in caveat]


@pytest.mark.parametrize(
    ("measures", "advice"),
    [
        (("RR@10",), "add RightRefusal to [eval] measures"),
        (("RR@10", "RightRefusal"), "add a rule on RightRefusal to [gate]"),
    ],
)
def test_a_system_that_answers_is_told_to_check_its_refusals(measures: Sequence[str], advice: str) -> None:
    """TrueEmpty would ask it to find nothing, though a refusal with hits is right."""
    golden_set = without_judgments(["q01"], answerable=False)
    traces = tuple(
        Trace(query=query.id, text=query.text, hits=(Hit(f"d{query.id[1:]}", 1.0),), answer="Yes.")
        for query in golden_set.queries
    )
    candidate = score_run(golden_set, Run(provenance=Provenance(name="mine"), traces=traces), measures)
    policy = Policy(name="own", rules=(Rule(metric="RR@10", min=0.1),))
    caveats = find_caveats(decide(candidate, None, policy), golden_set)
    text = "1 of the 1 unanswerable questions got hits instead of none, and no rule checks them"
    assert f"{text}; {advice}" in caveats


def test_a_newer_run_that_is_passed_over_is_named_on_top(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever takes a question back decides on an older run, and reads that a newer one is on the other set."""
    shutil.rmtree("runs", ignore_errors=True)
    for size in (SIZE, SIZE + 1):
        make_project(folder, golden_set=make_set(size))
        assert main(["eval", "."]) == 0
    make_project(folder, golden_set=make_set(SIZE))
    capsys.readouterr()
    main(["gate", "."])
    first = capsys.readouterr().out.partition("\n")[0]
    assert first.startswith("WARNING: 1 newer run was passed over, and this decision says nothing about it: pipeline-")
    assert first.endswith(": is on another golden set")


def test_a_run_of_other_code_is_not_taken_for_the_system_as_it_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The newest run of a folder may be older than the code: its verdict is not that of the code."""
    monkeypatch.setattr("sys.path", [*sys.path])
    Path("finding.py").write_text('def find(query, k):\n    return [f"d{query[-3:-1]}"]\n')
    make_project(folder, golden_set=make_set(SIZE))
    toml = Path("karat.toml").read_text() + 'system = "finding:find"\n'
    Path("karat.toml").write_text(toml)
    shutil.rmtree("runs")
    assert main(["eval", "."]) == 0
    assert main(["gate", "."]) == 0
    assert "WARNING" not in capsys.readouterr().out
    Path("finding.py").write_text("def find(query, k):\n    return ['x01']\n")
    assert main(["gate", "."]) == 0
    assert capsys.readouterr().out.startswith(
        "WARNING: the newest run was made by another system than the current one: the code of finding:find is another; "
        "karat check asks the current one\n"
    )
    assert main(["baseline", "update", "."]) == 0
    assert (
        "the run was made by another system than the current one: the code of finding:find" in capsys.readouterr().err
    )
    (run,) = Path("runs").glob("*.jsonl")
    assert main(["gate", str(run)]) == 0
    assert "WARNING" not in capsys.readouterr().out


def test_the_first_baseline_says_how_its_absence_becomes_an_error(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the key a deleted baseline is inconclusive, as one that was never recorded is."""
    run = str(make_run(folder, make_set(SIZE), [1] * SIZE))
    Path("baseline.json").unlink()
    assert main(["baseline", "update", run]) == 0
    advice = 'with baseline = "baseline.json" in [gate] of karat.toml, the gate also fails where the file is missing'
    assert advice in capsys.readouterr().err
    make_project(folder, '[gate]\nbaseline = "baseline.json"\n')
    assert main(["baseline", "update", run]) == 0
    assert advice not in capsys.readouterr().err
    Path("baseline.json").unlink()
    assert main(["gate", run]) == 2


@pytest.mark.parametrize(("size", "warned"), [(2, False), (3, True), (12, True)])
def test_a_set_that_was_judged_anew_warns_first(folder: Path, size: int, warned: bool) -> None:
    """Of twelve questions more than a fifth are three: what was returned instead of the answer became relevant."""
    golden_set = make_set(SIZE)
    more = tuple(Judgment(query=f"q{i:02}", target=Target(document="x01"), grade=1) for i in range(1, size + 1))
    caveats = gate_on(folder, replace(golden_set, judgments=(*golden_set.judgments, *more))).caveats
    (caveat,) = [caveat for caveat in caveats if f"the judgments of {size} questions changed" in caveat]
    assert caveat.startswith("WARNING: ") == warned
