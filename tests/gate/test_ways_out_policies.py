"""Ways to get exit code 0 where it must not be: policies that the worst run passes, measures that leave the gate."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from cli.gate_project import TOML, accept, main, make_project, make_run
from each import each
from karat.core import MEASURES, InputError, Measure
from karat.gate import Rule, read_policy
from karat.projects import gate_run, open_project
from karat.runs import read_any_run


def read(*rules: str, must_pass: str = "", extends: str = "none") -> None:
    """Read a policy with these rules, each an inline table without its braces."""
    import tomllib

    tables = ", ".join(f"{{ {rule} }}" for rule in rules)
    read_policy(None, tomllib.loads(f'extends = "{extends}"\nrules = [{tables}]\nmust_pass = [{must_pass}]\n'))


@each(
    ("rule", "advice"),
    [
        ('metric = "RR@10", max_drop_abs = 1', "max_drop_abs = 1, which the worst run passes; higher is better: "),
        ('metric = "RR@10", max = 1', "max = 1, which the worst run passes; higher is better: write a floor above 0"),
        ('metric = "RR@10", max = 0.9', "max = 0.9, which the worst run passes"),
        ('metric = "RR@10", min = 0, max = 0.9', "min = 0, max = 0.9, which the worst run passes"),
        ('metric = "GMAP", min = 0.00001', "which the worst run passes"),
        ('metric = "DupRate@10", min = -1, max = 5', "lower is better: write a max below 1"),
        ('metric = "DupRate@10", max = 1', "which the worst run passes"),
        ('metric = "DupRate@10", min = 0.2', "which the worst run passes"),
        ('metric = "DupRate@10", max_rise_abs = 1', "which the worst run passes"),
        ('metric = "FalseHits@3", max = 3', "lower is better: write a max below 3"),
        ('metric = "coverage", max = 0.5', "higher is better: write a floor above 0"),
        ('metric = "must_show@5", min = 0', "higher is better: write a floor above 0"),
        ('metric = "delta_s.median", min = 0.1', "lower is better: write a max"),
        ('metric = "latency.p95", max = 1e12', "lower is better: write a max below 3.6e+06"),
        ('metric = "latency.p95", max_rise_abs = 1e9', "which the worst run passes"),
        ('metric = "latency.p95", max_rise_rel = 1e6', "tolerates nearly everything; write a share of at most 100"),
        ('metric = "Utility", max = 5', "higher is better: write a floor (min)"),
        ('metric = "NumQ", min = 1', "NumQ is a count, and neither more nor less of it is better"),
        ('metric = "NumRel", min = 1', "NumRel is a count"),
    ],
)
def test_a_rule_that_the_worst_run_passes_is_refused(rule: str, advice: str) -> None:
    """No value of the metric can break its limits, or only a good one can; the message says what to write."""
    for extends in ("none", "default"):
        with pytest.raises(InputError, match=re.escape(advice)):
            read(rule, extends=extends)


@each(
    ("must", "advice"),
    [
        ('{ query = "q01", metric = "RR@10", min = 0 }', "min = 0 of RR@10 for query 'q01', which the worst answer"),
        ('{ query = "q01", metric = "RR@10", min = -1 }', "higher is better: write a floor above 0"),
        ('{ query = "q01", metric = "DupRate@10", min = 0.5 }', "lower is better"),
        ('{ query = "q01", metric = "NumQ", min = 1 }', "NumQ is a count"),
    ],
)
def test_a_must_pass_that_the_worst_answer_passes_is_refused(must: str, advice: str) -> None:
    """Every query would pass it by itself."""
    with pytest.raises(InputError, match=re.escape(advice)):
        read(must_pass=must)


@each(
    "rule",
    [
        'metric = "RR@10", min = 0.1',
        'metric = "RR@10", min = 0, non_inferior = true',
        'metric = "RR@10", max = 0.9, max_drop_abs = 0.5',
        'metric = "DCG@10", max_drop_abs = 5',
        'metric = "Utility", min = -3',
        'metric = "Utility", max_drop_abs = 5',
        'metric = "FalseHits@3", max = 2',
        'metric = "Hits@10", max_drop_abs = 9',
        'metric = "latency.p95", max = 500',
        'metric = "latency.p95", max_rise_rel = 2',
        'metric = "delta_s.median", max = 0.4',
        'metric = "RR@10", min_gain_abs = 0',
    ],
)
def test_a_rule_that_some_run_breaks_is_read(rule: str) -> None:
    """Measures that go below 0 or above 1 have wider limits."""
    read(rule)


def test_an_operational_rule_that_every_run_passes_is_refused() -> None:
    """A thousand times as slow is no limit; false switches the rule off, and the decision says so."""
    with pytest.raises(InputError, match=r"latency = 1000; write how many times .* at most 100, or false"):
        read_policy(None, {"operations": {"latency": 1000}})


@each("name", [definition.name for definition in MEASURES])
def test_the_bounds_of_a_measure_are_those_of_its_page(name: str) -> None:
    """The line ``Range:`` of its docstring is the oracle."""
    definition = MEASURES.get(name)
    (text,) = re.findall(r"Range: ([^,;\n]+)", definition.doc)
    numbers = {"any number": (-math.inf, math.inf), "0 and up": (0, math.inf), "0 or 1": (0, 1), "1": (1, 1)}
    low, _, high = text.removesuffix("; the mean is a share of queries").replace("less than ", "").partition(" to ")
    if text in numbers:
        expected: tuple[float, float] = numbers[text]
    else:
        expected = float(low), 7.0 if high == "k" else float(high)
    cutoff = {"recall": 0.5, "none": None}.get(definition.cutoff, 7)
    assert Measure.of(name, cutoff).bounds == expected


def test_gains_below_zero_have_no_lowest_value() -> None:
    """A page of harmful documents is worse than an empty one."""
    assert Measure.parse("nDCG(gains={0:-1,1:1})@10").bounds == (-math.inf, 1.0)
    assert not Rule(metric="nDCG(gains={0:-1})@10", min=0).is_vacuous


def caveats(folder: Path, toml: str) -> tuple[str, ...]:
    """The caveats of the newest run of a project with another configuration."""
    (folder / "karat.toml").write_text(toml)
    project = open_project(folder)
    return gate_run(project, read_any_run(folder / "runs" / "new.jsonl", project.golden)).caveats


def test_a_policy_without_a_rule_on_quality_says_so(tmp_path: Path) -> None:
    """Coverage and latency are no quality; one floor, or a query that must pass, is."""
    golden_set = make_project(tmp_path)
    make_run(tmp_path, golden_set, [0] * 12)
    note = "policy karat.toml has no rule on quality: whatever the answers are, it may pass"
    gate = TOML + '[gate]\nextends = "none"\n'
    only = '[[gate.rules]]\nmetric = "coverage"\nmin = 0.5\n[[gate.rules]]\nmetric = "latency.p95"\nmax = 500\n'
    assert note in caveats(tmp_path, gate + only)
    assert note not in caveats(tmp_path, gate + 'must_pass = ["q01"]\n' + only)
    assert note not in caveats(tmp_path, gate + only + '[[gate.rules]]\nmetric = "RR@10"\nmin = 0.5\n')


def test_a_measure_that_leaves_the_gate_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """RR@10 falls to 0.5 while R@5 stays 1: without RR@10 in [eval] the run passes, and every format says why."""
    golden_set = make_project(tmp_path)
    both = TOML.replace('["RR@10"]', '["RR@10", "R@5"]')
    (tmp_path / "karat.toml").write_text(both)
    accept(tmp_path, make_run(tmp_path, golden_set, [1] * 12, "old"))
    make_run(tmp_path, golden_set, [2] * 12)
    note = "WARNING: the baseline has RR@10, which the run was not scored with, and no rule checks"
    assert note not in caveats(tmp_path, both)
    rules = '[gate]\nextends = "none"\n[[gate.rules]]\nmetric = "R@5"\nmin = 0.5\n'
    assert "the baseline has RR@10, which no rule checks" in caveats(tmp_path, both + rules)
    assert note in caveats(tmp_path, TOML.replace("RR@10", "R@5"))
    run = str(tmp_path / "runs" / "new.jsonl")
    assert main(["gate", run]) == 0
    assert note in capsys.readouterr().out
    for format_ in ("md", "html", "json", "github", "junit"):
        main(["report", run, "--format", format_, "--output", str(tmp_path / "report")])
        assert note in (tmp_path / "report").read_text(), format_
