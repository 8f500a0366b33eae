"""Every kind of rule: one run that passes, one that fails, one about which too little is known; all by hand."""

from __future__ import annotations

import math
from typing import ClassVar

import pytest
from gating import gate, of_rules, only, run_of, said

from each import each
from evaluations import make_evaluation
from karat.core import InputError, UsageError
from karat.evaluation import Evaluation
from karat.gate import Must, Policy, Rule, decide, read_policy
from karat.gate._operations import Operations

NAN = math.nan
NO_BASELINE = "there is no baseline yet; karat baseline update RUN records one"
MISSING = "the run has no number for it, and what is not measured does not pass"
AGAIN = "record it again by this policy ('karat baseline update RUN', with --policy if karat.toml has another)"
NOT_BEFORE = f"the baseline has no such number: {AGAIN}, and what is not measured does not pass"


def timed(**stages: float) -> Evaluation:
    """A run with a p95 of each stage, in milliseconds."""
    latency = {stage: {"n": 2, "mean": 1.0, "p50": 1.0, "p95": value, "p99": value} for stage, value in stages.items()}
    return run_of({"RR": [1.0, 0.5]}, latency=latency)


class TestFloorsAndCeilings:
    """``min`` and ``max`` hold the mean against a number."""

    def test_a_floor(self) -> None:
        """The mean of 1 and 0.5 is 0.75: at 0.75 it passes, since a floor may be stood on; above it fails."""
        run = run_of({"RR": [1.0, 0.5]})
        assert said(only(run, None, Rule(metric="RR", min=0.75))) == ("pass", "0.7500 is at least 0.75")
        assert said(only(run, None, Rule(metric="RR", min=0.76))) == ("fail", "0.7500 is below 0.76")

    def test_a_ceiling(self) -> None:
        """Of DupRate less is better, and 0.25 is a ceiling like any."""
        run = run_of({"DupRate@10": [0.5, 0.0]})
        assert said(only(run, None, Rule(metric="DupRate@10", max=0.25))) == ("pass", "0.2500 is at most 0.25")
        assert said(only(run, None, Rule(metric="DupRate@10", max=0.2))) == ("fail", "0.2500 is above 0.2")

    def test_both_are_two_checks(self) -> None:
        """One rule may have a floor and a ceiling; each is told by itself."""
        decision = gate(run_of({"RR": [0.5]}), None, Rule(metric="RR", min=0.6, max=0.9))
        assert [(check.kind, check.outcome.value) for check in decision.checks] == [("min", "fail"), ("max", "pass")]
        assert decision.exit_code == 1

    @pytest.mark.parametrize("kind", ["min", "max"])
    @pytest.mark.parametrize("run", [run_of({"RR": [NAN, NAN]}), run_of({"P@5": [1.0]}), run_of()])
    def test_what_is_not_measured_fails_by_name(self, kind: str, run: Evaluation) -> None:
        """Undefined for every query, not computed, no query at all: none of them passes, where fit's code lets it."""
        check = gate(run, None, Rule(metric="RR", **{kind: 0.5})).checks[0]
        assert (check.name, *said(check)) == ("RR", "fail", MISSING)
        assert check.current is None


class TestChangesOfTheMean:
    """``max_drop_abs``, ``max_drop_rel`` and the rises hold two means against each other, without a test."""

    def test_an_absolute_drop(self) -> None:
        """From 0.8 to 0.75 is a drop of 0.05: 0.05 tolerates it, 0.04 does not."""
        new, old = run_of({"RR": [0.75]}), run_of({"RR": [0.8]})
        check = only(new, old, Rule(metric="RR", max_drop_abs=0.05))
        assert said(check) == ("pass", "fell by 0.0500 (6.3%), within the 0.0500 that is tolerated")
        assert (check.current, check.baseline, check.limit) == (0.75, 0.8, 0.05)
        assert check.difference == pytest.approx(-0.05)
        check = only(new, old, Rule(metric="RR", max_drop_abs=0.04))
        assert said(check) == ("fail", "fell by 0.0500 (6.3%), more than the 0.0400 that is tolerated")

    def test_a_relative_drop(self) -> None:
        """From 0.8 to 0.76 is 5 % of 0.8: as much as is tolerated, though 0.8 - 0.76 is a hair above 0.04."""
        assert 0.8 - 0.76 > 0.05 * 0.8
        rule = Rule(metric="RR", max_drop_rel=0.05)
        assert only(run_of({"RR": [0.76]}), run_of({"RR": [0.8]}), rule).outcome.value == "pass"
        check = only(run_of({"RR": [0.75]}), run_of({"RR": [0.8]}), rule)
        assert said(check) == ("fail", "fell by 0.0500 (6.3%), more than the 0.0400 that is tolerated")
        check = only(run_of({"RR": [0.9]}), run_of({"RR": [0.8]}), rule)
        assert said(check) == ("pass", "did not fall, within the 0.0400 that is tolerated")

    def test_from_nothing_nothing_falls(self) -> None:
        """A baseline of 0, where fit's code divides by it, tolerates no fall, and there is none."""
        rule = Rule(metric="RR", max_drop_rel=0.05)
        assert only(run_of({"RR": [0.0]}), run_of({"RR": [0.0]}), rule).outcome.value == "pass"

    def test_rises(self) -> None:
        """From 0.2 to 0.25 is a rise of 0.05, a quarter of it."""
        new, old = run_of({"DupRate@10": [0.25]}), run_of({"DupRate@10": [0.2]})
        for rule, outcome in [
            (Rule(metric="DupRate@10", max_rise_abs=0.05), "pass"),
            (Rule(metric="DupRate@10", max_rise_abs=0.04), "fail"),
            (Rule(metric="DupRate@10", max_rise_rel=0.25), "pass"),
            (Rule(metric="DupRate@10", max_rise_rel=0.24), "fail"),
        ]:
            assert only(new, old, rule).outcome.value == outcome, rule
        assert only(new, old, Rule(metric="DupRate@10", max_rise_rel=0.2)).reason == (
            "rose by 0.0500 (25.0%), more than the 0.0400 that is tolerated"
        )
        assert only(old, new, Rule(metric="DupRate@10", max_rise_abs=0)).reason.startswith("did not rise")

    @pytest.mark.parametrize(
        "rule",
        [
            Rule(metric="RR", max_drop_abs=0.1),
            Rule(metric="RR", max_drop_rel=0.1),
            Rule(metric="DupRate@10", max_rise_abs=0.1),
            Rule(metric="DupRate@10", max_rise_rel=0.1),
            Rule(metric="coverage", max_drop_abs=0.1),
        ],
    )
    def test_without_a_baseline_it_is_inconclusive(self, rule: Rule) -> None:
        """And with one that lacks the number it fails, as does a run that lacks it."""
        there, bare = run_of({"RR": [1.0], "DupRate@10": [0.0]}), run_of({"P@5": [1.0]}, queries=())
        assert said(only(there, None, rule)) == ("inconclusive", NO_BASELINE)
        check = only(there, bare, rule)
        assert (*said(check), check.current) == ("fail", NOT_BEFORE, there.means.get(rule.metric, 1.0))
        assert said(only(bare, there, rule)) == ("fail", MISSING)
        assert said(only(bare, None, rule)) == ("fail", MISSING)


class TestSignificantDrop:
    """``significant_drop`` fails when a fall is shown to be larger than tolerated, and passes otherwise."""

    RULE = Rule(metric="RR", significant_drop=True)

    def test_a_shown_drop_fails(self) -> None:
        """Six of ten queries fall from 1 to 0: p = 1 / 2^6, and 0.6 is more than 5 % of 1."""
        check = only(run_of({"RR": [1.0] * 4 + [0.0] * 6}), run_of({"RR": [1.0] * 10}), self.RULE)
        assert said(check) == ("fail", "dropped by 0.6, more than 0.05 (one-sided p = 0.0156)")
        assert (check.p, check.n, check.limit, check.difference) == (1 / 64, 10, 0.05, pytest.approx(-0.6))

    def test_what_is_not_shown_passes(self) -> None:
        """Five losses and a gain can be chance, p = 7/64; nothing changed; all rose."""
        old = run_of({"RR": [0.5] * 10})
        check = only(run_of({"RR": [0.5] * 4 + [0.0] * 5 + [1.0]}), old, self.RULE)
        assert (check.outcome.value, check.p, check.needed) == ("pass", 7 / 64, None)
        assert said(only(old, old, self.RULE)) == ("pass", "none of 10 queries changed")
        assert only(run_of({"RR": [1.0] * 4}), run_of({"RR": [0.0] * 4}), self.RULE).outcome.value == "pass"

    def test_what_cannot_be_shown_is_inconclusive(self) -> None:
        """Four losses are p = 1/16 at best: the drop of 0.4 could not have been tested; a drop of 0.004 need not be."""
        old = run_of({"RR": [1.0] * 10})
        check = only(run_of({"RR": [1.0] * 6 + [0.0] * 4}), old, self.RULE)
        assert (check.outcome.value, check.p) == ("inconclusive", 1 / 16)
        assert only(run_of({"RR": [1.0] * 6 + [0.99] * 4}), old, self.RULE).outcome.value == "pass"

    def test_a_significant_drop_that_is_tolerated_passes(self) -> None:
        """Ten queries fall by 0.01, p = 1/1024, and 5 % of 0.9 are more."""
        check = only(run_of({"RR": [0.89] * 10}), run_of({"RR": [0.9] * 10}), self.RULE)
        assert (check.outcome.value, check.p) == ("pass", 1 / 1024)

    def test_without_a_baseline_it_is_inconclusive(self) -> None:
        """And where one of both has no scores it fails."""
        there = run_of({"RR": [1.0] * 4})
        assert said(only(there, None, self.RULE)) == ("inconclusive", NO_BASELINE)
        assert said(only(run_of({"P@5": [1.0]}), there, self.RULE)) == ("fail", MISSING)
        assert said(only(there, run_of({"P@5": [1.0]}), self.RULE)) == (
            "fail", f"the baseline has no such score: {AGAIN}, and what is not measured does not pass",
        )  # fmt: skip
        means_only = make_evaluation(name="old", means={"RR": 1.0})
        assert said(only(there, means_only, self.RULE)) == (
            "fail", "the baseline has no scores of single queries: record it again, and what is not measured does not "
            "pass",
        )  # fmt: skip


class TestNonInferior:
    """``non_inferior`` passes only where a larger fall than tolerated is ruled out."""

    RULE = Rule(metric="RR", non_inferior=True)

    def test_nothing_changed_passes(self) -> None:
        """All differences are 0."""
        old = run_of({"RR": [0.2, 0.4, 0.9]})
        assert said(only(old, old, self.RULE)) == ("pass", "none of 3 queries changed")

    def test_a_small_drop_that_is_ruled_out_passes(self) -> None:
        """Mean -0.01, sd 0.01026 (ten of 0, ten of -0.02): the bound is -0.01 - 1.729 * 0.01026 / sqrt(20) = -0.014."""
        old, new = [0.9] * 20, [0.9] * 10 + [0.88] * 10
        check = only(run_of({"RR": new}), run_of({"RR": old}), self.RULE)
        assert said(check) == ("pass", "a drop by more than 0.045 is ruled out: it is at most 0.014")
        assert check.low == pytest.approx(-0.01 - 1.7291328 * 0.0102597835 / math.sqrt(20), abs=1e-8)

    def test_a_shown_drop_fails(self) -> None:
        """Six of ten queries fall from 1 to 0."""
        check = only(run_of({"RR": [1.0] * 4 + [0.0] * 6}), run_of({"RR": [1.0] * 10}), self.RULE)
        assert said(check) == ("fail", "dropped by 0.6, more than 0.05 (one-sided p = 0.0156)")

    def test_few_losses_are_inconclusive(self) -> None:
        """Four losses in ten are never significant, and said to be too few."""
        check = only(run_of({"RR": [1.0] * 6 + [0.0] * 4}), run_of({"RR": [1.0] * 10}), self.RULE)
        assert check.outcome.value == "inconclusive"
        assert check.reason.endswith(
            "; too few changed to test: 4 of 10 queries, so p cannot be below 0.062, and 0.05 is needed"
        )

    def test_noise_is_inconclusive_with_the_number_of_queries(self) -> None:
        """Five fall and five rise by 1, two stay: sd^2 = 10 / 11, m = 0.05 * 7 / 12, and 6.18 sd^2 / m^2 is 6,604."""
        old, new = [1, 0] * 5 + [1, 1], [0, 1] * 5 + [1, 1]
        check = only(run_of({"RR": new}), run_of({"RR": old}), self.RULE)
        assert check.outcome.value == "inconclusive"
        margin = 0.05 * 7 / 12
        assert check.needed == pytest.approx(6.18 * (10 / 11) / margin**2, rel=1e-3)

    def test_no_number_of_queries_is_enough_for_a_margin_of_nothing(self) -> None:
        """Then none is named, and the gate still answers."""
        policy = read_policy(None, {"relative": 0, "absolute": 1e-9, "rules": [{"metric": "RR", "non_inferior": True}]})
        old, new = [1, 0] * 5 + [1, 1], [0, 1] * 5 + [1, 1]
        (check,) = decide(run_of({"RR": new}), run_of({"RR": old}), policy).checks
        assert (check.outcome.value, check.needed) == ("inconclusive", None)

    def test_where_less_is_better_the_bound_is_above(self) -> None:
        """DupRate rises by 0.5 in six of ten queries: a loss, and told as the rise that it is."""
        rule = Rule(metric="DupRate@10", non_inferior=True)
        old, new = run_of({"DupRate@10": [0.0] * 10}), run_of({"DupRate@10": [0.0] * 4 + [0.5] * 6})
        check = only(new, old, rule)
        assert (check.outcome.value, check.difference, check.low) == ("fail", pytest.approx(0.3), None)
        assert check.high is not None
        assert check.high > 0.3
        assert only(old, new, rule).outcome.value == "pass"

    def test_without_a_baseline_it_is_inconclusive(self) -> None:
        """And without a number it fails."""
        assert said(only(run_of({"RR": [1.0]}), None, self.RULE)) == ("inconclusive", NO_BASELINE)
        assert said(only(run_of({"RR": [NAN]}), None, self.RULE)) == ("fail", MISSING)

    def test_all_measures_are_corrected_together(self) -> None:
        """Five losses: p = 1/32 alone, and beside measures that fall with it; on other queries it is 63/1024."""
        old = run_of({"RR": [1.0] * 10, "P@5": [1.0] * 10, "R@5": [1.0] * 10})
        first, last = [0.0] * 5 + [1.0] * 5, [1.0] * 5 + [0.0] * 5
        new = run_of({"RR": first, "P@5": first, "R@5": last})
        assert only(new, old, self.RULE).p == 1 / 32
        together = gate(new, old, self.RULE, Rule(metric="P@5", non_inferior=True))
        assert [(check.outcome.value, check.p) for check in together.checks] == [("fail", 1 / 32)] * 2
        apart = gate(new, old, self.RULE, Rule(metric="R@5", non_inferior=True))
        assert [(check.outcome.value, check.p) for check in apart.checks] == [("inconclusive", 63 / 1024)] * 2
        alone = gate(new, old, self.RULE, Rule(metric="P@5", min=0.5))
        assert [check.outcome.value for check in alone.checks] == ["fail", "pass"], "floors are no tests"

    def test_repeats_are_averaged_first(self) -> None:
        """A query asked twice is one difference, that of its mean."""
        old = run_of({"RR": [1.0] * 6})
        new = run_of({"RR": [0.5] * 6}, values={"RR": {f"q{i + 1}": (1.0, 0.0) for i in range(6)}})
        check = only(new, old, self.RULE)
        assert (check.n, check.p, check.current) == (6, 1 / 64, 0.5)

    def test_a_query_that_cannot_be_scored_now_counts_as_nothing(self) -> None:
        """Judged has no value where nothing came back; six such queries of ten do not slip out of the test."""
        rule = Rule(metric="Judged@10", non_inferior=True)
        check = only(run_of({"Judged@10": [1.0] * 4 + [NAN] * 6}), run_of({"Judged@10": [1.0] * 10}), rule)
        assert (check.outcome.value, check.n, check.current) == ("fail", 10, 0.4)

    def test_where_nothing_is_the_best_value_it_is_said(self) -> None:
        """Of DupRate 0 would be a reward, so the queries stay out and the reason counts them."""
        rule = Rule(metric="DupRate@10", non_inferior=True)
        check = only(run_of({"DupRate@10": [0.1] * 4 + [NAN] * 6}), run_of({"DupRate@10": [0.1] * 10}), rule)
        message = "none of 4 queries changed; 6 that the baseline scored cannot be scored now"
        assert said(check) == ("pass", message)


class TestMustPass:
    """Queries that have to succeed one by one."""

    FOUND = run_of({"RR": [1.0, 0.5, 0.0]}, unfound=frozenset({"q3", "q4"}), failures={"q4": "timed out"},
                   queries=("q1", "q2", "q3", "q4"))  # fmt: skip

    def test_by_its_id(self) -> None:
        """Something relevant was found, or not, or the query failed."""
        decision = gate(self.FOUND, None, must_pass=(Must(query="q1"), Must(query="q3"), Must(query="q4")))
        assert [(check.name, *said(check)) for check in of_rules(decision)] == [
            ("q1", "pass", "something relevant was found"),
            ("q3", "fail", "nothing relevant was found"),
            ("q4", "fail", "it failed: timed out"),
        ]

    def test_by_a_measure(self) -> None:
        """q2 has an RR of 0.5; q4 failed, which no floor excuses."""
        musts = (Must(query="q2", metric="RR", min=0.5), Must(query="q2", metric="RR", min=0.6),
                 Must(query="q4", metric="RR", min=0.0))  # fmt: skip
        assert [(check.name, *said(check)) for check in of_rules(gate(self.FOUND, None, must_pass=musts))] == [
            ("q2 RR", "pass", "0.5000 is at least 0.5"),
            ("q2 RR", "fail", "0.5000 is below 0.6"),
            ("q4 RR", "fail", "it failed: timed out"),
        ]

    def test_an_unknown_query_is_a_mistake(self) -> None:
        """A typo in an id must not switch the check off."""
        with pytest.raises(InputError, match="must_pass names query 'q33', which was not asked"):
            gate(self.FOUND, None, must_pass=(Must(query="q33"),))


class TestSegments:
    """Rules on the queries with one value of a field."""

    GROUPS: ClassVar = {
        ("category", "prices"): ["q1", "q2"],
        ("category", "times"): ["q3"],
        ("type", "fact"): ["q1", "q3"],
    }
    NEW = run_of({"RR": [1.0, 0.5, 0.0]})
    OLD = run_of({"RR": [1.0, 1.0, 0.0]})

    def test_limits(self) -> None:
        """The mean over prices is 0.75, and was 1."""
        prices = ("category", "prices")
        for rule, outcome in [
            (Rule(metric="RR", where=prices, min=0.75), "pass"),
            (Rule(metric="RR", where=prices, min=0.8), "fail"),
            (Rule(metric="RR", where=prices, max_drop_abs=0.25), "pass"),
            (Rule(metric="RR", where=prices, max_drop_rel=0.2), "fail"),
            (Rule(metric="RR", where=("type", "fact"), max_drop_abs=0), "pass"),
        ]:
            check = only(self.NEW, self.OLD, rule, segments=self.GROUPS)
            assert check.outcome.value == outcome, rule
        assert only(self.NEW, None, Rule(metric="RR", where=prices, min=0.8), segments=self.GROUPS).name == (
            "RR category=prices"
        )

    def test_tests(self) -> None:
        """Of 12 queries the six of one category fall: the test sees those only."""
        segments = {
            ("category", "a"): [f"q{i}" for i in range(1, 7)],
            ("category", "b"): [f"q{i}" for i in range(7, 13)],
        }
        new, old = run_of({"RR": [0.0] * 6 + [1.0] * 6}), run_of({"RR": [1.0] * 12})
        check = only(new, old, Rule(metric="RR", where=("category", "a"), non_inferior=True), segments=segments)
        assert (check.outcome.value, check.n, check.p) == ("fail", 6, 1 / 64)
        check = only(new, old, Rule(metric="RR", where=("category", "b"), non_inferior=True), segments=segments)
        assert (check.outcome.value, check.n) == ("pass", 6)

    def test_too_few_are_inconclusive(self) -> None:
        """Two queries of prices, one of which fell."""
        check = only(
            self.NEW, self.OLD, Rule(metric="RR", where=("category", "prices"), non_inferior=True), segments=self.GROUPS
        )
        assert check.outcome.value == "inconclusive"

    def test_a_segment_without_scores_fails_by_name(self) -> None:
        """Its queries were not asked, or have no value."""
        run = run_of({"RR": [1.0, 0.5, NAN]})
        check = only(run, None, Rule(metric="RR", where=("category", "times"), min=0.1), segments=self.GROUPS)
        assert (check.name, *said(check)) == ("RR category=times", "fail", MISSING)

    @pytest.mark.parametrize(
        ("where", "message"),
        [
            (("category", "price"), r"no query has category = 'price'; it has 'prices', 'times'"),
            (("kategory", "prices"), r"no query has kategory = 'prices'; no query has that field"),
        ],
    )
    def test_an_unknown_segment_is_a_mistake(self, where: tuple[str, str], message: str) -> None:
        """A typo must not switch the rule off."""
        for rule in (Rule(metric="RR", where=where, min=0.0), Rule(metric="RR", where=where, significant_drop=True)):
            with pytest.raises(InputError, match=message):
                gate(self.NEW, self.OLD, rule, segments=self.GROUPS)


class TestLatency:
    """Percentiles of the whole and of a stage, by themselves and against the baseline."""

    @pytest.mark.parametrize(
        ("rule", "outcome"),
        [
            (Rule(metric="latency.p95", max=500), "pass"),
            (Rule(metric="latency.p95", max=499), "fail"),
            (Rule(metric="latency.total.p95", max=500), "pass"),
            (Rule(metric="latency.embed.p95", max=40), "pass"),
            (Rule(metric="latency.embed.p95", max=30), "fail"),
            (Rule(metric="latency.p95", max_rise_rel=0.25), "pass"),
            (Rule(metric="latency.p95", max_rise_rel=0.2), "fail"),
            (Rule(metric="latency.p95", max_rise_abs=100), "pass"),
            (Rule(metric="latency.embed.p95", max_rise_rel=0.1), "pass"),  # below 50 ms only max_rise_abs counts
            (Rule(metric="latency.embed.p95", max_rise_abs=9), "fail"),
            (Rule(metric="latency.embed.p95", max_rise_abs=10), "pass"),
            (Rule(metric="latency.p50", max=1), "pass"),
            (Rule(metric="latency.p99", max=499), "fail"),
            (Rule(metric="latency.mean", max=1), "pass"),
        ],
    )
    def test_limits(self, rule: Rule, outcome: str) -> None:
        """400 ms became 500, and of these the embedding 30 became 40."""
        assert only(timed(total=500, embed=40), timed(total=400, embed=30), rule).outcome.value == outcome

    @each(
        ("now", "then", "outcome", "reason"),
        [
            (
                0.2,
                0.11,
                "pass",
                "rose by 0.09 ms, more than the 0.022 ms that is tolerated, but up to 50 ms no rise counts",
            ),
            (
                49.0,
                10.0,
                "pass",
                "rose by 39.0 ms (390.0%), more than the 2.0 ms that is tolerated, but up to 50 ms no rise counts",
            ),
            (60.0, 49.0, "fail", "rose by 11.0 ms (22.4%), more than the 9.8 ms that is tolerated"),
            (55.0, 49.0, "pass", "rose by 6.0 ms (12.2%), within the 9.8 ms that is tolerated"),
            (9.0, 10.0, "pass", "did not rise, within the 2.0 ms that is tolerated"),
        ],
    )
    def test_a_relative_rise_counts_from_50_ms_on(self, now: float, then: float, outcome: str, reason: str) -> None:
        """As in the operational rule; the reason has a unit, and no ratio of fractions of a millisecond."""
        check = only(timed(total=now), timed(total=then), Rule(metric="latency.p95", max_rise_rel=0.2))
        assert (check.outcome.value, check.reason) == (outcome, reason)

    def test_what_was_never_measured_fails_by_name(self) -> None:
        """No times at all; no such stage; no times in the baseline."""
        there, bare = timed(total=1), run_of({"RR": [1.0]})
        assert said(only(bare, None, Rule(metric="latency.p95", max=500))) == ("fail", MISSING)
        assert said(only(there, None, Rule(metric="latency.embed.p95", max=500))) == ("fail", MISSING)
        assert said(only(there, bare, Rule(metric="latency.p95", max_rise_rel=1))) == ("fail", NOT_BEFORE)
        check = only(there, None, Rule(metric="latency.p95", max_rise_rel=1))
        assert said(check) == ("inconclusive", NO_BASELINE)

    @each(
        ("metric", "message"),
        [
            ("latency.p96", "'latency.p96' is not a latency, did you mean 'p99' or 'p95'"),
            ("latency.embed", "'latency.embed' is not a latency; write one of p50, p95, p99, mean after the stage"),
            ("latency.", "is not a latency"),
            ("latency..p95", "is not a latency"),
        ],
    )
    def test_a_statistic_that_is_none_is_a_mistake(self, metric: str, message: str) -> None:
        """It would fail for ever, for want of a number."""
        with pytest.raises(UsageError, match=message):
            Rule(metric=metric, max=1)


class TestCoverage:
    """The share of the golden set's queries that were answered."""

    def test_limits(self) -> None:
        """One of four failed."""
        run = run_of({"RR": [1.0, 1.0, 1.0, 0.0]}, failures={"q4": "timed out"})
        assert said(only(run, None, Rule(metric="coverage", min=0.75))) == ("pass", "0.7500 is at least 0.75")
        assert said(only(run, None, Rule(metric="coverage", min=0.9))) == ("fail", "0.7500 is below 0.9")
        old = run_of({"RR": [1.0] * 4})
        assert only(run, old, Rule(metric="coverage", max_drop_abs=0.25)).outcome.value == "pass"
        assert only(run, old, Rule(metric="coverage", max_drop_rel=0.2)).outcome.value == "fail"
        assert said(only(run, None, Rule(metric="coverage", max_drop_abs=0.1))) == ("inconclusive", NO_BASELINE)

    def test_a_sample_does_not_cover_the_set(self) -> None:
        """Two of four queries were asked, and answered: half."""
        check = only(run_of({"RR": [1.0, 1.0]}, total=4), None, Rule(metric="coverage", min=0.9))
        assert said(check) == ("fail", "0.5000 is below 0.9")

    def test_no_query_fails_by_name(self) -> None:
        """Then there is no share."""
        checks = gate(run_of(), None, Rule(metric="coverage", min=0.0)).checks
        assert [said(check) for check in checks] == [("fail", MISSING), ("fail", "no query was asked")]


class TestAltogether:
    """What follows from all checks."""

    def test_the_worst_decides(self) -> None:
        """Fail before inconclusive before pass; the exit code of inconclusive is the policy's choice."""
        run = run_of({"RR": [1.0]})
        fails, unsure = Rule(metric="RR", where=None, min=1.1), Rule(metric="P@5", non_inferior=True)
        holds = Rule(metric="RR", min=0.1)
        both = run_of({"RR": [1.0], "P@5": [1.0]})
        assert gate(run, None, fails).exit_code == 1
        assert gate(both, None, fails, unsure, on_inconclusive="fail").exit_code == 1
        assert gate(both, None, holds, unsure).exit_code == 0
        assert gate(both, None, holds, unsure).outcome.value == "inconclusive"
        assert gate(both, None, holds, unsure, on_inconclusive="fail").exit_code == 4
        assert gate(run, None, holds, on_inconclusive="fail").exit_code == 0

    def test_every_query_failed(self) -> None:
        """Whatever the rules say: nothing of such a run is known, and a DupRate of nothing is no merit."""
        run = run_of({"DupRate@10": [0.0, 0.0]}, failures={"q1": "refused", "q2": "refused"})
        decision = gate(run, None, Rule(metric="DupRate@10", max=0.5))
        message = "2 of 2 queries failed or timed out, and at most 1 may: refused"
        assert [said(check) for check in decision.failures] == [("error", message)]
        assert decision.exit_code == 3
        off = gate(run, None, Rule(metric="DupRate@10", max=0.5), operations=Operations(failed=None))
        assert [said(check) for check in off.failures] == [("fail", "every query failed: refused")]

    def test_a_policy_that_checks_nothing_is_a_mistake(self) -> None:
        """It would pass everything."""
        with pytest.raises(UsageError, match="policy 'test' checks nothing"):
            gate(run_of({"RR": [1.0]}), None)
        with pytest.raises(UsageError, match="checks nothing"):
            decide(run_of({"RR": [1.0]}), None, Policy(list_below={"RR": 0.3}))

    def test_json_has_what_is_known(self) -> None:
        """Names, numbers and the reason; what is not known is left out, and 0 is a number."""
        check = only(run_of({"RR": [0.0]}), None, Rule(metric="RR", where=("category", "a"), min=0.0),
                     segments={("category", "a"): ["q1"]})  # fmt: skip
        assert check.to_dict() == {
            "metric": "RR", "kind": "min", "outcome": "pass", "reason": "0.0000 is at least 0",
            "where": {"category": "a"}, "current": 0.0, "limit": 0.0,
        }  # fmt: skip
