"""Policies: those with a name, those of a table or a file, and all that can be wrong with one."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gating import run_of

from each import each
from evaluations import make_evaluation
from karat.core import GoldenSet, InputError, KaratError, Scores, UsageError
from karat.gate import POLICIES, Decision, Must, Policy, Rule, decide, find_caveats, named_policy, read_policy
from karat.measures import ASKED_LESS

FIT = {"R@5": [0.9, 0.9], "P@5": [0.7, 0.7], "RR@10": [0.8, 0.8], "nDCG@5": [0.8, 0.8]}
FAST = {"total": {"n": 2, "mean": 90.0, "p50": 90.0, "p95": 420.0, "p99": 480.0}}


def outcomes(decision: Decision) -> dict[str, str]:
    """Return the outcome of each check, by metric and kind of rule."""
    return {f"{check.name} {check.kind}": check.outcome.value for check in decision.checks}


class TestNamed:
    """Each policy with a run that passes and one that fails."""

    def test_default(self) -> None:
        """Floors, and nothing lost that can be shown: ten queries that all fell from 0.9 to 0.6 fail both."""
        chosen = named_policy("default", floors={"RR": 0.7})
        good, bad = run_of({"RR": [0.9] * 10}), run_of({"RR": [0.6] * 10})
        assert outcomes(decide(good, good, chosen)) == {"RR min": "pass", "RR non_inferior": "pass"}
        assert outcomes(decide(bad, good, chosen)) == {"RR min": "fail", "RR non_inferior": "fail"}
        assert decide(good, None, chosen).outcome.value == "inconclusive"

    def test_default_without_floors_tests_the_measures(self) -> None:
        """And leaves out counts, of which neither more nor less is better."""
        chosen = named_policy("default", measures=["ndcg@5", "NumRet", "DupRate@10"])
        assert [(rule.metric, rule.min, rule.non_inferior) for rule in chosen.rules] == [
            ("nDCG@5", None, True),
            ("DupRate@10", None, True),
        ]

    def test_fit(self) -> None:
        """fit's floors and 5 %: P@5 0.70 may fall to 0.665; to 0.66 it fails, though that is above the floor."""
        chosen = named_policy("fit")
        good = run_of(FIT, latency=FAST)
        assert decide(good, good, chosen).outcome.value == "pass"
        worse = run_of(FIT | {"P@5": [0.66, 0.66]}, latency=FAST)
        assert outcomes(decide(worse, good, chosen))["P@5 min"] == "pass"
        assert [check.name for check in decide(worse, good, chosen).failures] == ["P@5"]
        slow = run_of(FIT, latency={"total": FAST["total"] | {"p95": 500.1}})
        assert [check.reason for check in decide(slow, good, chosen).failures] == ["500.1 ms is above 500 ms"]

    @each("missing", [*FIT, "latency.p50", "latency.p95", "latency.p99"])
    def test_fit_fails_by_name_on_what_is_missing(self, missing: str) -> None:
        """In fit's code ``undefined < 0.8`` is false, and passes (ERR-13)."""
        columns = {name: column for name, column in FIT.items() if name != missing}
        times = {name: value for name, value in FAST["total"].items() if name != missing.removeprefix("latency.")}
        run = run_of(columns, latency={"total": times})
        failures = decide(run, run_of(FIT, latency=FAST), named_policy("fit")).failures
        assert {check.name for check in failures} == {missing}
        assert all("what is not measured does not pass" in check.reason for check in failures)

    def test_beluga(self) -> None:
        """beluga: mean RR of at least 0.7; queries below 0.3 are listed."""
        chosen = named_policy("beluga")
        assert decide(run_of({"RR@10": [0.4, 1.0]}), None, chosen).exit_code == 0
        assert decide(run_of({"RR@10": [0.2, 1.0]}), None, chosen).exit_code == 1
        assert chosen.list_below == {"RR@10": 0.3}
        assert chosen.measures == ("RR@10",)

    def test_rig(self) -> None:
        """rig: no mean may drop, or rise if lower is better; 1e-10 is within rounding."""
        chosen = named_policy("rig", measures=["RR", "DupRate@10"])
        old = run_of({"RR": [0.5, 0.5], "DupRate@10": [0.1, 0.1]})
        assert decide(old, old, chosen).outcome.value == "pass"
        assert decide(run_of({"RR": [0.5, 0.5 - 1e-10], "DupRate@10": [0.1, 0.1]}), old, chosen).exit_code == 0
        worse = run_of({"RR": [0.5, 0.49], "DupRate@10": [0.1, 0.11]})
        assert outcomes(decide(worse, old, chosen)) == {
            "RR max_drop_abs": "fail", "DupRate@10 max_rise_abs": "fail",
        }  # fmt: skip

    def test_rig_tolerates_what_a_table_says(self) -> None:
        """The rule of the table takes the place of the policy's, and only that one's."""
        table = {"policy": "rig", "rules": [{"metric": "RR", "max_drop_abs": 0.02}]}
        chosen = read_policy(None, table, measures=["RR", "P@5"])
        assert [(rule.metric, rule.max_drop_abs) for rule in chosen.rules] == [("RR", 0.02), ("P@5", 0.0)]

    def test_blocks(self) -> None:
        """blocks: recall at most two points below live, and what the answers cite."""
        answers = {"CiteCoverage": 0.7, "CiteAccuracy": 0.95, "delta_s.median": 0.4, "delta_s.p90": 0.55,
                   "CitePrecision(unit='bytes')": 0.5, "Lambda(repeats=1)": 0.95}  # fmt: skip
        chosen = named_policy("blocks")
        live = run_of({"R@5": [0.8, 0.8]})
        eligible = run_of({"R@5": [0.78, 0.78]}, means={"R@5": 0.78, **answers})
        assert decide(eligible, live, chosen).outcome.value == "pass"
        not_yet = run_of({"R@5": [0.77, 0.77]}, means={"R@5": 0.77, **answers, "delta_s.p90": 0.56})
        assert [check.name for check in decide(not_yet, live, chosen).failures] == ["R@5", "delta_s.p90"]

    def test_delta_s_is_over_all_answers(self) -> None:
        """Quantiles of what each answer cites: 0.1, 0.3, 0.5 and 0.9 have the median 0.4 and the p90 0.78."""
        run = run_of({"CiteDeltaS": [0.1, 0.3, 0.5, 0.9]})
        rules = (Rule(metric="delta_s.median", max=0.40), Rule(metric="delta_s.p90", max=0.77),
                 Rule(metric="delta_s.max", max=0.9))  # fmt: skip
        policy = Policy(rules=rules)
        assert policy.measures == ("CiteDeltaS",)
        checks = decide(run, None, policy).checks
        assert [(check.current, check.outcome.value) for check in checks] == [
            (pytest.approx(0.4), "pass"), (pytest.approx(0.78), "fail"), (0.9, "pass"),
        ]  # fmt: skip

    def test_loose_limits_on_delta_s_are_told(self) -> None:
        """By karat's embedder blocks' limits say little, unless a rule holds the distances against the baseline's."""
        run = run_of({"CiteDeltaS": [0.3]})
        loose, strict = Rule(metric="delta_s.p90", max=0.55), Rule(metric="delta_s.p90", max=0.3)
        change = Rule(metric="CiteDeltaS", max_rise_abs=0.02)
        told = [
            any("as near" in caveat for caveat in find_caveats(decide(run, None, Policy(rules=rules)), GoldenSet()))
            for rules in ((loose,), (strict,), (loose, change))
        ]
        assert told == [True, False, False]

    @pytest.mark.parametrize("measure", ["LexicalSupport", "OverlapGrade", "AnswerSimilarity"])
    def test_what_a_judge_without_a_model_does_not_see_is_told(self, measure: str) -> None:
        """In every decision on it, and so in every report."""
        rules = (Rule(metric=measure, min=0.5),)
        caveats = find_caveats(decide(run_of({measure: [0.9]}), None, Policy(rules=rules)), GoldenSet())
        assert any(caveat.startswith(f"{measure} compares") for caveat in caveats)

    def test_queries_that_were_asked_less_often_are_told(self) -> None:
        """A rule on convergence says nothing about a query in one wording."""
        scores = Scores.from_columns(
            "mine", {"Lambda": {"q1": 1.0}}, queries=["q1", "q2"], reasons={("q2", "Lambda"): ASKED_LESS}
        )
        run = replace(run_of({"Lambda": [1.0, 1.0]}), scores=scores, means={"Lambda": 1.0})
        decision = decide(run, None, Policy(rules=(Rule(metric="Lambda", min=0.95),)))
        line = "Lambda says nothing about 1 of 2 queries: they were asked less often"
        assert (decision.outcome.value, line in find_caveats(decision, GoldenSet())) == ("pass", True)

    def test_delta_s_of_a_paraphrase_is_not_averaged_away(self) -> None:
        """Two wordings with 0.2 and 0.6 have the mean 0.4, and one snippet at 0.6."""
        tables = {(0, 0): run_of({"CiteDeltaS": [0.2]}).scores, (1, 0): run_of({"CiteDeltaS": [0.6]}).scores}
        run = replace(run_of({"CiteDeltaS": [0.4]}), variants=tables)
        (check,) = decide(run, None, Policy(rules=(Rule(metric="delta_s.max", max=0.45),))).checks
        assert (check.current, check.outcome.value) == (0.6, "fail")

    @pytest.mark.parametrize(
        ("reasons", "outcome", "words"),
        [
            (("no chain of documents", "no chain of documents"), "inconclusive", "nothing to test here: no chain of"),
            (("no chain of documents", "nothing retrieved"), "fail", "the run has no number for it"),
            (("unanswerable: the right answer is no answer",) * 2, "fail", "the run has no number for it"),
        ],
    )
    def test_agent_memory_does_not_fail_for_what_the_golden_set_lacks(
        self, reasons: tuple[str, str], outcome: str, words: str
    ) -> None:
        """The rule has nothing to test; that is inconclusive by this policy, and a failure unless a rule says so."""
        missing = {(query, "Chain@10"): reason for query, reason in zip(("q0", "q1"), reasons, strict=True)}
        scores = Scores.from_columns("mine", {"Chain@10": {}}, queries=["q0", "q1"], reasons=missing)
        run = replace(run_of({"RR@5": [1.0, 1.0]}), scores=scores, means={})
        rules = [rule for rule in named_policy("agent-memory").rules if rule.metric == "Chain@10"]
        (check,) = (check for check in decide(run, None, Policy(rules=tuple(rules))).checks if check.kind == "min")
        assert (check.outcome.value, words in check.reason) == (outcome, True)
        strict = Policy(rules=(Rule(metric="Chain@10", min=0.6),))
        (check,) = (check for check in decide(run, None, strict).checks if check.kind == "min")
        assert (check.outcome.value, words in check.reason) == ("fail", True)

    def test_blocks_fails_by_name_on_numbers_that_the_run_does_not_have(self) -> None:
        """A run without answers is not eligible, and is told which numbers it lacks."""
        run = run_of({"R@5": [0.8, 0.8]})
        failures = decide(run, run, named_policy("blocks")).failures
        assert [check.name for check in failures] == [
            "CiteCoverage", "CiteAccuracy", "CitePrecision(unit='bytes')", "delta_s.median", "delta_s.p90",
            "Lambda(repeats=1)",
        ]  # fmt: skip
        assert {check.reason for check in failures} == {
            "the run has no number for it, and what is not measured does not pass"
        }

    def test_threshold(self) -> None:
        """A mean 5 % below the baseline's passes, one of 6 % fails, whatever a test would say."""
        chosen = named_policy("threshold", measures=["RR", "DupRate@10"])
        old = run_of({"RR": [1.0, 1.0], "DupRate@10": [0.2, 0.2]})
        assert decide(run_of({"RR": [0.9, 1.0], "DupRate@10": [0.21, 0.21]}), old, chosen).outcome.value == "pass"
        worse = run_of({"RR": [0.88, 1.0], "DupRate@10": [0.22, 0.22]})
        assert outcomes(decide(worse, old, chosen)) == {
            "RR max_drop_rel": "fail", "DupRate@10 max_rise_rel": "fail",
        }  # fmt: skip

    @each("name", POLICIES)
    def test_all_are_refused_or_fail_without_any_number(self, name: str) -> None:
        """A run without scores never passes: not with a baseline, not without."""
        bare = make_evaluation(name="bare")
        chosen = named_policy(name, measures=["RR"])
        assert decide(bare, None, chosen).exit_code == 1
        assert decide(bare, run_of({"RR": [1.0]}, golden={}, values={}), chosen).exit_code == 1

    def test_an_unknown_name(self) -> None:
        """With what was probably meant."""
        with pytest.raises(UsageError, match="unknown policy 'treshold', did you mean 'threshold'"):
            named_policy("treshold")
        with pytest.raises(UsageError, match="unknown policy 'strict'; known: default, threshold, fit,"):
            read_policy("strict", {})


def test_names_are_read_in_any_spelling() -> None:
    """The floors of a set, the measures of a project and the rules of a table name the same number."""
    chosen = read_policy(None, {"rules": [{"metric": "mrr@10", "min": 0.5}]}, floors={"recall@5": 0.8, "RR@10": 0.7})
    assert [(rule.metric, rule.min) for rule in chosen.rules] == [("R@5", 0.8), ("RR@10", 0.5)]


def test_a_table_is_read() -> None:
    """Everything that a rule can have, in one."""
    table = {
        "policy": "beluga",
        "on_inconclusive": "fail",
        "alpha": 0.01,
        "relative": 0.1,
        "absolute": 0.02,
        "must_pass": ["q1", {"query": "q2", "metric": "mrr", "min": 1}],
        "rules": [
            {"metric": "R@5", "where": {"category": "prices"}, "min": 0.5, "non_inferior": True},
            {"metric": "latency.embed.p99", "max": 50, "max_rise_rel": 1.5},
            {"metric": "coverage", "min": 1},
        ],
        "list_below": {"mrr": 0.5},
    }
    policy = read_policy(None, table)
    assert (policy.name, policy.extends) == ("karat.toml", "beluga")
    assert "R@5 category=prices: at least 0.5, not worse than tolerated (new)" in policy.changes
    assert "alpha: 0.01 (was: 0.05)" in policy.changes
    assert policy.rules == (
        Rule(metric="RR@10", min=0.7),
        Rule(metric="R@5", where=("category", "prices"), min=0.5, non_inferior=True),
        Rule(metric="latency.embed.p99", max=50.0, max_rise_rel=1.5),
        Rule(metric="coverage", min=1.0),
    )
    assert policy.must_pass == (Must(query="q1"), Must(query="q2", metric="RR", min=1.0))
    assert (policy.drop.alpha, policy.drop.relative, policy.drop.absolute) == (0.01, 0.1, 0.02)
    assert (policy.on_inconclusive, policy.list_below) == ("fail", {"RR": 0.5})
    assert policy.measures == ("RR@10", "R@5", "RR")


RULE = {"metric": "RR", "min": 0.5}


@each(
    ("table", "message"),
    [
        ({"polcy": "fit"}, "has no key 'polcy', did you mean 'policy'"),
        ({"gate": {}}, "has no key 'gate'"),
        ({"policy": "fitt"}, "unknown policy 'fitt', did you mean 'fit'"),
        ({"policy": 3}, "unknown policy 3; known"),
        ({"policy": ["fit"]}, r"unknown policy \['fit'\]"),
        ({"policy": ""}, "unknown policy ''"),
        ({"on_inconclusive": "warn"}, "on_inconclusive = 'warn'; choose pass or fail"),
        ({"on_inconclusive": True}, "on_inconclusive = True; choose pass or fail"),
        ({"alpha": 0}, "alpha 0.0 should lie between 1e-06 and 0.5"),
        ({"alpha": "0.05"}, "alpha = '0.05'; write a number"),
        ({"relative": 5}, "relative = 5; a gate that tolerates so large a drop lets everything pass"),
        ({"relative": -0.1}, "relative tolerance -0.1 should be"),
        ({"absolute": math.inf}, "absolute = inf; write a number"),
        ({"list_below": 0.3}, "list_below = 0.3; write a table"),
        ({"list_below": {"XX": 0.3}}, "unknown measure 'XX'"),
        ({"list_below": {"RR": "low"}}, "RR = 'low'; write a number"),
        ({"rules": RULE}, "rules = .* write a list"),
        ({"rules": ["RR"]}, r"rules has 'RR'; write \[\[gate.rules\]\]"),
        ({"rules": [{}]}, "a rule has metric = None; name a measure, latency.p95 or coverage"),
        ({"rules": [{"metric": 5, "min": 1}]}, "a rule has metric = 5"),
        ({"rules": [{"metric": "RR"}]}, "the rule on RR asks for nothing; it may have min, max,"),
        ({"rules": [{"metric": "RR", "non_inferior": False}]}, "the rule on RR asks for nothing"),
        ({"rules": [{"metric": "MRRR", "min": 0.5}]}, "unknown measure 'MRRR', did you mean"),
        ({"rules": [{"metric": "latency", "max": 5}]}, "unknown measure 'latency'"),
        ({"rules": [{"metric": "latency.p90", "max": 5}]}, "'latency.p90' is not a latency"),
        ({"rules": [{"metric": "covarage", "min": 1}]}, "unknown measure 'covarage'"),
        ({"rules": [{"metric": "RR", "minimum": 0.5}]}, "a rule has no key 'minimum', did you mean 'min'"),
        ({"rules": [{"metric": "RR", "max_drop": 0.5}]}, "a rule has no key 'max_drop', did you mean"),
        ({"rules": [{"metric": "RR", "min": "0.5"}]}, "min = '0.5'; write a number"),
        ({"rules": [{"metric": "RR", "min": True}]}, "min = True; write a number"),
        ({"rules": [{"metric": "RR", "min": math.nan}]}, "min = nan; write a number"),
        ({"rules": [{"metric": "RR", "max": [1]}]}, r"max = \[1\]; write a number"),
        ({"rules": [{"metric": "RR", "max_drop_abs": "5 %"}]}, "max_drop_abs = '5 %'; write a number"),
        ({"rules": [{"metric": "RR", "max_drop_abs": -0.02}]}, "max_drop_abs = -0.02; write 0 or a positive"),
        ({"rules": [{"metric": "RR", "max_drop_rel": -0.02}]}, "max_drop_rel = -0.02; write 0 or a positive"),
        (
            {"rules": [{"metric": "RR", "max_drop_rel": 5}]},
            "max_drop_rel = 5, which tolerates nearly everything; write a share of",
        ),
        ({"rules": [{"metric": "RR", "max_rise_abs": 0.1}]}, "has max_rise_abs, but higher values of it are better"),
        ({"rules": [{"metric": "RR", "max_rise_rel": 0.1}]}, "has max_rise_rel, but higher values of it are better"),
        (
            {"rules": [{"metric": "DupRate@5", "max_drop_abs": 0}]},
            "has max_drop_abs, but lower values of it are better",
        ),
        (
            {"rules": [{"metric": "latency.p95", "max_drop_rel": 0}]},
            "has max_drop_rel, but lower values of it are better",
        ),
        ({"rules": [{"metric": "DupRate@5", "max_rise_rel": -1}]}, "max_rise_rel = -1; write 0 or a positive"),
        ({"rules": [{"metric": "RR", "significant_drop": "yes"}]}, "significant_drop = 'yes' of RR; write true or"),
        ({"rules": [{"metric": "RR", "non_inferior": 1}]}, "non_inferior = 1 of RR; write true or false"),
        ({"rules": [{"metric": "coverage", "non_inferior": True}]}, "coverage has no values of single queries"),
        ({"rules": [{"metric": "latency.p95", "significant_drop": True}]}, "has no values of single queries"),
        ({"rules": [{"metric": "delta_s.p90", "non_inferior": True}]}, "has no values of single queries"),
        ({"rules": [{**RULE, "where": "prices"}]}, "where = 'prices'; write one field with its value"),
        ({"rules": [{**RULE, "where": {}}]}, "where = {}; write one field"),
        ({"rules": [{**RULE, "where": {"category": "a", "type": "b"}}]}, "write one field with its value"),
        ({"rules": [{**RULE, "where": {"category": ["a"]}}]}, "write one field with its value"),
        ({"rules": [{"metric": "coverage", "min": 1, "where": {"category": "a"}}]}, "coverage is for all queries"),
        ({"rules": [RULE, {"metric": "mrr", "max_drop_abs": 0.1}]}, "there are two rules on RR; write all limits"),
        ({"must_pass": "q1"}, "must_pass = 'q1'; write a list"),
        ({"must_pass": [""]}, "must_pass has ''; write the id of a query"),
        ({"must_pass": [7]}, "must_pass has 7; write the id of a query"),
        ({"must_pass": [{"query": 7}]}, "must_pass has .* write the id of a query"),
        ({"must_pass": [{"query": "q1", "metric": "RR"}]}, "a metric needs a min, and a min a metric"),
        ({"must_pass": [{"query": "q1", "min": 1}]}, "a metric needs a min, and a min a metric"),
        ({"must_pass": [{"query": "q1", "metric": "XX", "min": 1}]}, "unknown measure 'XX'"),
        ({"must_pass": [{"query": "q1", "metric": "RR", "min": "1"}]}, "min = '1'; write a number"),
        ({"must_pass": [{"query": "q1", "metric": "RR", "mim": 1}]}, "write the id of a query, or"),
    ],
)
def test_a_malformed_table_is_a_mistake(table: dict[str, Any], message: str) -> None:
    """Each is one message with its place, and none is ignored: a rule that is not read does not gate."""
    with pytest.raises(InputError, match=f"^karat.toml: .*{message}"):
        read_policy(None, {"policy": "beluga", **table}, source="karat.toml")


@pytest.mark.parametrize("name", ["default", "rig", "threshold"])
@pytest.mark.parametrize("measures", [[], ["NumRet"]])
def test_a_policy_that_checks_nothing_is_a_mistake(name: str, measures: list[str]) -> None:
    """Without floors, measures that are better or worse, rules or must_pass, everything would pass."""
    with pytest.raises(InputError, match=f"policy '{name}' checks nothing, and everything would pass"):
        read_policy(name, {}, measures=measures)
    assert read_policy(None, {"extends": name, "must_pass": ["q1"]}, measures=measures).must_pass
    assert read_policy(None, {"extends": name, "rules": [RULE]}, measures=measures).rules


class TestFiles:
    """A policy in a TOML file."""

    def test_with_and_without_the_table(self, tmp_path: Path) -> None:
        """The keys stand alone, or under [gate] as in karat.toml; the project's own table does not hold then."""
        path = tmp_path / "release.toml"
        path.write_text('policy = "beluga"\non_inconclusive = "fail"\n')
        policy = read_policy(str(path), {"policy": "fit", "must_pass": ["q1"]})
        assert (policy.name, policy.on_inconclusive, policy.must_pass) == ("release.toml", "fail", ())
        path.write_text('[gate]\npolicy = "beluga"\n[[gate.rules]]\nmetric = "R@5"\nmin = 0.5\n[eval]\nk = 3\n')
        assert [rule.metric for rule in read_policy(str(path), {}).rules] == ["RR@10", "R@5"]

    @each(
        ("text", "message"),
        [
            (b"[gate\n", "is not valid TOML"),
            (b"\xff\xfe", "byte 0xff is not UTF-8"),
            (b"gate = 3\n", "gate is not a table; write"),
            (b"[gat]\npolicy = 'fit'\n", "has no key 'gat'"),
            (b"baseline = 'x.json'\n", "has no key 'baseline'"),
            (b"policy = 'default'\n", "checks nothing"),
            (b"", "checks nothing"),
            (b"[[rules]]\nmetric = 'RR'\nmin = nan\n", "min = nan; write a number"),
        ],
    )
    def test_a_malformed_file_is_told_with_its_name(self, tmp_path: Path, text: bytes, message: str) -> None:
        """Whatever is wrong."""
        path = tmp_path / "policy.toml"
        path.write_bytes(text)
        with pytest.raises(InputError, match=f"^{path}.*{message}"):
            read_policy(str(path), {})

    def test_one_that_is_not_there(self, tmp_path: Path) -> None:
        """Or that is a folder."""
        with pytest.raises(InputError, match=r"none.toml: no such file"):
            read_policy(str(tmp_path / "none.toml"), {})
        with pytest.raises(KaratError, match="is a folder"):
            read_policy(f"{tmp_path}/", {})
