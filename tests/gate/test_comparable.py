"""Which runs may be compared, what changed between two systems, which queries moved, and what a gate cannot see."""

from __future__ import annotations

import math
from typing import Any

import pytest
from gating import SETTINGS, gate, run_of
from statsmodels.stats.power import TTestPower

from each import each
from evaluations import change, make_evaluation
from karat.core import Document, GoldenSet, InputError, Judgment, Query, Target
from karat.evaluation import Evaluation, require_comparable, system_changes
from karat.gate import Policy, Rule, compare, decide, describe_moves, find_caveats, find_movers, named_policy

BASE = run_of({"RR": [1.0, 0.5], "P@5": [0.2, 0.2]}, definitions={"RR": "RR(rel=2)"})


def refused(candidate: Evaluation, baseline: Evaluation = BASE) -> str:
    """Return the message with which every way to compare two runs refuses it; all say the same."""
    messages = set()
    for way in (
        lambda: require_comparable(candidate, baseline),
        lambda: decide(candidate, baseline, named_policy("beluga")),
        lambda: compare(candidate, baseline),
    ):
        with pytest.raises(InputError) as caught:
            way()
        assert caught.value.exit_code == 2
        message = str(caught.value).replace("run B ", "run ").replace("run A ", "baseline ")
        messages.add(message.removesuffix(", or record a new baseline"))
    (message,) = messages
    return message


@each(
    ("field", "value", "message"),
    [
        ("golden", {"name": "tiny", "version": "2", "fingerprint": "sha256:cc"},
         "golden set (tiny 2 sha256:cc, was tiny 1 sha256:aa)"),
        ("golden", {}, "golden set (unknown, was tiny 1 sha256:aa)"),
        ("settings", SETTINGS | {"unit": "target"}, "unit ('target', was 'document')"),
        ("settings", SETTINGS | {"normaliser": "karat-2"}, "normaliser ('karat-2', was 'karat-1')"),
        ("settings", SETTINGS | {"paraphrases": True}, "paraphrases (True, was False)"),
        ("settings", SETTINGS | {"sample": 1}, "sample (1, was None)"),
        ("settings", SETTINGS | {"judge": "sha256:dd"}, "judge ('sha256:dd', was None)"),
        ("definitions", {}, "RR (RR, was RR(rel=2))"),
        ("definitions", {"RR": "RR(rel=2)", "P@5": "P(rel=2)@5"}, "P@5 (P(rel=2)@5, was P@5)"),
    ],
)  # fmt: skip
def test_what_differs_is_listed(field: str, value: Any, message: str) -> None:
    """Another golden set, k, unit, normaliser, wording, sample, judge or definition of a measure, either way round."""
    other = run_of({"RR": [1.0, 0.5], "P@5": [0.2, 0.2]}, **{"definitions": {"RR": "RR(rel=2)"}, field: value})
    words = refused(other)
    assert words.startswith(
        f"run 'mine' and baseline 'mine' cannot be compared: they differ in {message}; evaluate both"
    )
    assert "they differ in" in refused(BASE, other)


def test_another_k_names_its_setting() -> None:
    """karat.toml decides how many hits karat asks for, so that is what to change."""
    assert refused(run_of({"RR": [1.0, 0.5]}, settings=SETTINGS | {"k": 5}), run_of({"RR": [1.0, 0.5]})) == (
        "run 'mine' and baseline 'mine' cannot be compared: they differ in k (5, was 10); "
        "set k = 10 in [eval] of karat.toml and run 'karat eval' again"
    )


def test_a_longer_run_file_of_another_program_has_to_be_cut() -> None:
    """No setting of karat decides how long the lists in a run file are."""
    foreign = run_of({"RR": [1.0, 0.5]}, settings={**{k: v for k, v in SETTINGS.items() if k != "seed"}, "k": 20})
    own = run_of({"RR": [1.0, 0.5]})
    cut = "the length of its longest list counts: cut its lists to the first 10 hits of each query"
    for run, baseline in ((foreign, own), (own, foreign)):
        assert cut in refused(run, baseline)


def test_all_that_differs_is_listed_at_once_and_in_order() -> None:
    """So that one does not find out one by one; a set would give the measures in another order in each process."""
    columns = {name: [1.0] for name in ("RR", "P@5", "R@5", "nDCG@5", "AP", "Rprec", "ERR@10", "Judged@10")}
    run = run_of(columns)
    other = run_of(
        columns,
        golden={"name": "big", "fingerprint": "sha256:x"},
        settings=SETTINGS | {"k": 5, "unit": "target"},
        definitions={name: f"{name}!" for name in columns},
    )
    words = refused(other, run)
    wanted = ["golden set", "k (5", "unit ('target'", *(f"{name} ({name}!" for name in columns)]
    places = [words.index(text) for text in wanted]
    assert places == sorted(places)


def test_a_seed_decides_only_which_sample_is_drawn() -> None:
    """Without a sample another seed is the same run."""
    require_comparable(change(BASE, settings=SETTINGS | {"seed": 1}), BASE)
    sampled = change(BASE, settings=SETTINGS | {"sample": 1})
    assert "seed (1, was 0)" in refused(change(BASE, settings=SETTINGS | {"sample": 1, "seed": 1}), sampled)


def test_repeats_and_versions_do_not_matter() -> None:
    """Nor what the system is made of: that is what is compared."""
    other = change(
        BASE, settings=SETTINGS | {"repeat": 3}, versions={"karat": "9"}, system={"kind": "other"}, name="other"
    )
    require_comparable(other, BASE)


def test_means_alone_are_compared_with_anything() -> None:
    """fit's file does not name a golden set, so the caller has to know that it is the right one."""
    known = make_evaluation(name="1.0.0", means={"RR": 0.7})
    require_comparable(BASE, known)
    assert decide(BASE, known, Policy(rules=(Rule(metric="RR", min=0.7),))).outcome.value == "pass"


def test_changes_have_dotted_keys_in_the_order_of_the_baseline() -> None:
    """What became another, what is new and what is gone; what is the same is left out."""
    old = run_of(system={"b": {"size": 512, "overlap": 50}, "a": 1, "c": None, "gone": [1, 2], "empty": {}})
    new = run_of(system={"new": {"x": {"y": True}}, "a": 1, "b": {"size": 384, "overlap": 50}, "c": {"k": 1}})
    assert system_changes(new.provenance.system, old.provenance.system) == [
        ("b.size", 384, 512),
        ("gone", None, [1, 2]),
        ("empty", None, {}),
        ("new.x.y", True, None),
        ("c.k", 1, None),
    ]
    assert system_changes(old.provenance.system, old.provenance.system) == []


def test_movers_are_by_the_measure_that_changed_most() -> None:
    """The greatest loss first; a rise of what should be low is a loss; a hair is no move."""
    old = run_of({"RR": [1.0, 0.5, 0.5, 1.0], "DupRate@10": [0.0, 0.0, 0.5, 0.0]})
    new = run_of({"RR": [0.5, 0.6, 0.5, 1.0 - 1e-12], "DupRate@10": [0.1, 0.8, 0.0, 0.0]})
    movers = find_movers(new, old, ["RR", "DupRate@10"])
    assert [(mover.query, mover.measure, round(mover.gain, 3)) for mover in movers] == [
        ("q2", "DupRate@10", -0.8),
        ("q1", "RR", -0.5),
        ("q3", "DupRate@10", 0.5),
    ]


def test_what_moved_is_said_for_documents() -> None:
    """Up, down, in and out, the highest places first."""
    moves = describe_moves(("b", "a", "x", "d"), ("a", "b", "c", "d"))
    assert moves == ("b 2 to 1", "a 1 to 2", "x in at 3", "c out, was 3")


def golden_of(size: int, relevant: int = 1) -> GoldenSet:
    """A set in which each query has so many relevant documents."""
    names = [f"d{i}" for i in range(relevant)]
    return GoldenSet(
        name="tiny",
        grades=("no", "yes"),
        relevant=1,
        documents=tuple(Document(id=name, text=name) for name in names),
        queries=tuple(Query(id=f"q{i + 1}", text="?") for i in range(size)),
        judgments=tuple(
            Judgment(query=f"q{i + 1}", target=Target(document=name), grade=1) for i in range(size) for name in names
        ),
    )


def smallest(n: int, spread: float) -> float:
    """The drop that a one-sided test at 5 % finds with a power of 80 %, by statsmodels."""
    return spread * float(TTestPower().solve_power(nobs=n, alpha=0.05, power=0.8, alternative="larger"))


def enough(drop: float, spread: float) -> int:
    """The number of queries that such a test needs, by statsmodels."""
    size = TTestPower().solve_power(effect_size=drop / spread, alpha=0.05, power=0.8, alternative="larger")
    return math.ceil(size)


class TestCaveats:
    """What the gate says of its own limits."""

    def test_a_floor_that_nothing_reaches(self) -> None:
        """One relevant document a query: P@5 is at most 0.2, and fit's floor is 0.60 (ERR-05)."""
        decision = gate(run_of({"P@5": [0.2] * 4}), None, Rule(metric="P@5", min=0.6))
        (message,) = find_caveats(decision, golden_of(4))
        assert message == (
            "P@5 >= 0.6 cannot be reached: the best mean of any ranking is 0.2000 "
            "(each query has one relevant document)"
        )
        assert find_caveats(gate(run_of({"P@5": [0.2] * 4}), None, Rule(metric="P@5", min=0.2)), golden_of(4)) == []
        assert find_caveats(decision, golden_of(4, relevant=3)) == []

    def test_a_drop_below_the_resolution(self) -> None:
        """Ten differences of 0.5 up and down; statsmodels says what they show, and how many show a drop of 0.02."""
        old, new = run_of({"RR": [0.5] * 10}), run_of({"RR": [0.0, 1.0] * 5})
        decision = gate(new, old, Rule(metric="RR", max_drop_abs=0.02))
        spread = math.sqrt(10 * 0.25 / 9)
        shown = f"the smallest drop that 10 queries show is {smallest(10, spread):.3g}"
        assert find_caveats(decision, golden_of(10)) == [
            f"RR: {shown}; a drop of 0.02 needs about {enough(0.02, spread):,}"
        ]

    def test_without_a_spread_a_usual_one_is_assumed_and_said(self) -> None:
        """No baseline, or nothing changed."""
        run = run_of({"RR": [0.5] * 10})
        shown = f"the smallest drop that 10 queries show is {smallest(10, 0.25):.3g}"
        needed = f"a drop of 0.025 needs about {enough(0.025, 0.25)}, if differences spread by 0.25"
        for baseline, rule in [
            (None, Rule(metric="RR", non_inferior=True)),
            (None, Rule(metric="RR", max_drop_rel=0.05)),
            (run, Rule(metric="RR", max_drop_rel=0.05)),
        ]:
            assert find_caveats(gate(run, baseline, rule), golden_of(10)) == [f"RR: {shown}; {needed}"]

    def test_what_was_ruled_out_needs_no_more_queries(self) -> None:
        """Nothing changed, and the test says so: the queries were enough."""
        run = run_of({"RR": [0.5] * 10})
        assert find_caveats(gate(run, run, Rule(metric="RR", non_inferior=True)), golden_of(10)) == []

    def test_rises_and_segments_have_a_resolution_too(self) -> None:
        """A segment is judged by its own queries, and less of DupRate is better."""
        segments = {("category", "a"): ["q1", "q2"], ("category", "b"): ["q3"]}
        run = run_of({"RR": [0.9, 0.5, 0.1, 0.1], "DupRate@10": [0.2] * 4})
        rules = (
            Rule(metric="RR", where=("category", "a"), max_drop_rel=0.1),
            Rule(metric="RR", where=("category", "b"), max_drop_abs=0.1),
            Rule(metric="DupRate@10", max_rise_rel=0.1),
            Rule(metric="DupRate@10", where=("category", "a"), max_rise_abs=0.1),
        )
        caveats = [caveat.removesuffix(", if differences spread by 0.25") for caveat in
                find_caveats(gate(run, None, *rules, segments=segments), golden_of(4))]  # fmt: skip
        assert caveats == [
            f"RR category=a: the smallest drop that 2 queries show is {smallest(2, 0.25):.3g}; "
            f"a drop of 0.07 needs about {enough(0.07, 0.25)}",
            f"RR category=b: one query shows nothing; a drop of 0.1 needs about {enough(0.1, 0.25)}",
            f"DupRate@10: the smallest rise that 4 queries show is {smallest(4, 0.25):.3g}; "
            f"a rise of 0.02 needs about {enough(0.02, 0.25)}",
            f"DupRate@10 category=a: the smallest rise that 2 queries show is {smallest(2, 0.25):.3g}; "
            f"a rise of 0.1 needs about {enough(0.1, 0.25)}",
        ]

    def test_what_no_number_of_queries_shows(self) -> None:
        """The gate does not stumble over a limit of next to nothing."""
        decision = gate(run_of({"RR": [0.5] * 10}), None, Rule(metric="RR", max_drop_abs=1e-9))
        assert "a drop of 1e-09 needs more than anyone has" in find_caveats(decision, golden_of(10))[0]

    def test_enough_queries_say_nothing(self) -> None:
        """900 queries that hardly differ see a drop of 0.05, and nothing is said of limits without drops."""
        old, new = run_of({"RR": [0.5] * 900}), run_of({"RR": [0.5, 0.6] * 450})
        rules = (
            Rule(metric="RR", max_drop_abs=0.05),
            Rule(metric="coverage", min=1),
            Rule(metric="P@5", max_drop_rel=0.1),
        )
        assert find_caveats(gate(new, old, *rules), golden_of(900, relevant=5)) == []

    def test_a_sample_is_told(self) -> None:
        """Nothing is known of the queries that were not asked."""
        decision = gate(run_of({"RR": [1.0] * 4}), None, Rule(metric="RR", min=0.5))
        assert find_caveats(decision, golden_of(8)) == [
            "the run is a sample: 4 of the 8 queries were asked, and nothing is known of the others"
        ]

    def test_measures_without_a_known_ceiling_are_left_out(self) -> None:
        """Of counts and judges' numbers there is no best ranking."""
        rules = (
            Rule(metric="CiteCoverage", min=0.7),
            Rule(metric="NumRet", min=0.7),
            Rule(metric="Judged@10", min=0.9),
        )
        decision = decide(run_of({"RR": [1.0]}), None, Policy(rules=rules))
        assert find_caveats(decision, golden_of(1)) == []
