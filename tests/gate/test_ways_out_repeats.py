"""Ways to get exit code 0 where it must not be: what only some wordings or repeats show, and what a failure hides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cli.gate_project import make_set
from karat import golden
from karat.core import Hit, Provenance, Query, Run, Trace
from karat.evaluation import Evaluation, score_run
from karat.gate import Baseline, Check, Must, Policy, Rule, decide, find_caveats, read_baseline, write_baseline

SIZE = 12
SET = make_set(SIZE)
WORDED = replace(SET, queries=tuple(replace(query, paraphrases=(f"Or {query.id}?",)) for query in SET.queries))
MEASURES = ("RR@10", "Judged@10", "DupRate@10", "InvRate@10", "Hole@10")
Ask = Callable[[str, int], "tuple[str, ...] | str"]
"""What a query returns in a wording or repeat: documents, or an error."""


def ask(answer: Ask, times: int = 3, *, wordings: bool = False, measures: tuple[str, ...] = MEASURES) -> Evaluation:
    """Score a run in which every question was asked several times, in other words or in the same."""
    golden_set = WORDED if wordings else SET
    traces = []
    for number in range(times):
        for query in golden_set.queries:
            hits = answer(query.id, number)
            variant = {"paraphrase": number} if wordings else {"repeat": number}
            text = query.paraphrases[number - 1] if wordings and number else query.text
            names = () if isinstance(hits, str) else hits
            traces.append(
                Trace(
                    query=query.id,
                    text=text,
                    hits=tuple(Hit(name, 9.0 - i, name) for i, name in enumerate(names)),
                    timings={"total": 10.0},
                    error=hits if isinstance(hits, str) else "",
                    **variant,
                )
            )
    settings = {"k": 10, "sample": None, "repeat": 1 if wordings else times, "paraphrases": wordings}
    provenance = Provenance(name="mine", golden=golden.identify(golden_set), settings=settings)
    return score_run(golden_set, Run(provenance=provenance, traces=tuple(traces)), measures)


def fine(query: str, number: int) -> tuple[str, ...]:
    """Return the right document and another judged one of nobody."""
    return f"d{query[1:]}", "x01"


def once(query: str, number: int) -> tuple[str, ...]:
    """Return the right document the first time only, and then nothing."""
    return () if number else fine(query, number)


def check(candidate: Evaluation, baseline: Evaluation | None, *rules: Rule, kind: str = "") -> Check:
    """Return the only check of some rules, or of a kind."""
    checks = decide(candidate, baseline, Policy(rules=rules)).checks
    (found,) = [each for each in checks if (each.kind == kind if kind else each.metric == rules[0].metric)]
    return found


@pytest.mark.parametrize(
    ("rule", "current"),
    [
        (Rule(metric="Judged@10", min=0.4), (0.5 + 0 + 0) / 3),
        (Rule(metric="DupRate@10", max=0.5), (0 + 1 + 1) / 3),
        (Rule(metric="Hole@10", max=0.5), (0.1 + 1 + 1) / 3),
        (Rule(metric="InvRate@10", max=0.5), (0 + 1 + 1) / 3),
    ],
)
@pytest.mark.parametrize("lost", ["", "refused"])
def test_a_repeat_without_an_answer_has_the_worst_value(rule: Rule, current: float, lost: str) -> None:
    """Two of three repeats are empty or fail: by hand, the mean is over all three."""
    run = ask(lambda query, number: fine(query, number) if not number else lost or ())
    result = check(run, None, rule)
    assert (result.outcome.value, result.current) == ("fail", pytest.approx(current))


def test_a_wording_without_an_answer_has_the_worst_value() -> None:
    """The same for one of two wordings."""
    run = ask(once, 2, wordings=True)
    assert check(run, None, Rule(metric="Judged@10", min=0.4)).current == pytest.approx(0.25)


def test_eval_still_leaves_out_what_is_undefined() -> None:
    """Only the gate counts the worst value; a caveat says so."""
    run = ask(once)
    assert run.means["Judged@10"] == 0.5
    decision = decide(run, None, Policy(rules=(Rule(metric="Judged@10", min=0.1),)))
    assert decision.candidate.means["Judged@10"] == pytest.approx(0.5 / 3)
    assert any(note.startswith("12 without results count as the worst value") for note in find_caveats(decision, SET))


@pytest.mark.parametrize("first", [0, 2])
def test_a_query_is_empty_if_any_repeat_is(first: int) -> None:
    """Three of twelve return nothing in one repeat of three, whichever it is; the reason says in how many."""
    run = ask(lambda query, number: () if query < "q04" and number == first else fine(query, number))
    result = check(run, ask(fine), Rule(metric="RR@10", min=0.1), kind="empty")
    assert result.outcome.value == "fail"
    assert result.reason.startswith("3 of 12 answerable queries returned nothing")
    if first:
        assert ", 3 of them in some of their wordings or repeats (q01 in 1 of 3)" in result.reason


def test_a_baseline_remembers_which_repeats_were_empty(tmp_path: Path) -> None:
    """What was as unsteady before is not lost now; nor does the file forget what a repeat counts as."""
    unsteady = ask(lambda query, number: () if query < "q04" and number == 2 else fine(query, number))
    rule = Rule(metric="Judged@10", non_inferior=True)
    accepted = decide(unsteady, None, Policy(rules=(rule,))).candidate
    write_baseline(Baseline(evaluation=accepted), tmp_path / "baseline.json")
    before = read_baseline(tmp_path / "baseline.json").evaluation
    assert before.empties == {"q01": (1, 3), "q02": (1, 3), "q03": (1, 3)}
    assert before.values("Judged@10")["q01"] == pytest.approx(1 / 3)
    assert check(unsteady, before, rule, kind="empty").outcome.value == "pass"
    assert check(unsteady, before, rule).difference == 0
    assert (
        check(ask(lambda query, number: () if number == 2 else fine(query, number)), before, rule).outcome.value
        == "fail"
    )


def must(run: Evaluation, must_pass: Must) -> tuple[str, str]:
    """Return what becomes of a query that must pass."""
    (result,) = [each for each in decide(run, None, Policy(must_pass=(must_pass,))).checks if each.kind == "must_pass"]
    return result.outcome.value, result.reason


@pytest.mark.parametrize("wordings", [False, True])
def test_a_must_pass_holds_in_every_wording_and_repeat(wordings: bool) -> None:
    """Found in one of several is not found; the reason says in how many."""
    times = 2 if wordings else 3
    luck = ask(lambda query, number: fine(query, number) if number == 1 else ("x02", "x03"), times, wordings=wordings)
    assert must(luck, Must(query="q01")) == (
        "fail",
        f"something relevant was found in 1 of {times} wordings and repeats",
    )
    assert must(luck, Must(query="q01", metric="RR@10", min=0.5)) == (
        "fail",
        f"0.0000 is below 0.5; 1 of {times} wordings and repeats reach it",
    )
    good = ask(fine, times, wordings=wordings)
    assert must(good, Must(query="q01")) == ("pass", "something relevant was found")
    assert must(good, Must(query="q01", metric="RR@10", min=0.5)) == ("pass", "1.0000 is at least 0.5")
    none = ask(lambda query, number: ("x02",), times, wordings=wordings)
    assert must(none, Must(query="q01")) == ("fail", "nothing relevant was found")


def test_an_unanswerable_must_pass_is_empty_in_every_repeat() -> None:
    """Hits in one repeat are a false answer."""
    nobody = replace(SET, queries=(*SET.queries, Query(id="none", text="Who?", answerable=False)))
    traces = tuple(
        Trace(
            query=query.id,
            text=query.text,
            hits=(Hit("x01", 1.0, "x01"),) if query.id != "none" or not i else (),
            repeat=i,
        )
        for i in range(2)
        for query in nobody.queries
    )
    settings = {"k": 10, "sample": None, "repeat": 2}
    provenance = Provenance(name="mine", golden=golden.identify(nobody), settings=settings)
    run = score_run(nobody, Run(provenance=provenance, traces=traces), ["RR@10"])
    assert must(run, Must(query="none")) == (
        "fail",
        "it has no answer, and nothing was returned in 1 of 2 wordings and repeats",
    )


def test_a_failure_never_improves_a_measure_without_a_lowest_value() -> None:
    """Utility is -2 for each answer of four documents, one of them relevant; to fail is worth the lowest, and not 0."""
    measures = ("Utility",)
    worse = {"q02": ("x01", "x02", "x03", "x04", "x05")}

    def before(query: str, number: int) -> tuple[str, ...]:
        return worse.get(query) or (f"d{query[1:]}", "x01", "x02", "x03")

    old = ask(before, 1, measures=measures)
    assert old.means["Utility"] == pytest.approx(-(11 * 2 + 5) / 12)
    for times in (1, 3):
        run = ask(
            lambda query, number: "boom" if query in ("q01", "q02") else before(query, number), times, measures=measures
        )
        now = decide(
            run, ask(before, times, measures=measures), Policy(rules=(Rule(metric="Utility", max_drop_abs=0.1),))
        )
        assert now.candidate.values("Utility")["q01"] == -5
        assert now.candidate.means["Utility"] == pytest.approx(-(10 * 2 + 5 + 5) / 12)
        (result,) = [each for each in now.checks if each.metric == "Utility"]
        assert result.outcome.value == "fail"
