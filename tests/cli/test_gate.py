"""``karat gate``: what it prints, its exit codes, and that no bad run slips through."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from shutil import rmtree
from typing import Any

import pytest

from cli.gate_project import TOML, accept, edited, make_gated_project, make_project, make_run, make_set, signed
from karat import golden
from karat.cli import main
from karat.core import Document, InputError, Judgment, Query, Target
from karat.gate import POLICIES
from karat.measures import read_run

VERB = "gate"
Run = Callable[..., tuple[str, str]]
SYSTEM = {"kind": "test", "chunk": {"size": 512}}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of twelve queries, whose baseline found every document first."""
    make_gated_project(tmp_path, [1] * 12, system=SYSTEM)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rules(folder: Path, toml: str) -> None:
    """Write a table [gate] into the configuration of the project."""
    (folder / "karat.toml").write_text(TOML + toml)


class TestOutcomes:
    """Three outcomes and their exit codes."""

    def test_pass(self, run: Run, folder: Path) -> None:
        """Nothing changed: a table with one row, and a last line that says it."""
        out, _ = run("runs/old.jsonl")
        assert out.split("\n\n") == [
            "operations 0 of 12 queries failed; 0 of 12 answerable queries returned nothing; "
            "p95 is 10.0 ms, 1.0 times the baseline's 10.0 ms",
            "metric  rule                         current  baseline               delta  status\n"
            "RR@10   not worse by more than 0.05   1.0000    1.0000  +0.0000 (> +0.000)    pass",
            "PASS by policy default: it may ship\n",
        ]

    def test_fail(self, run: Run, folder: Path) -> None:
        """Seven of twelve lost, six a half and one all: -4/12, p = 1/128; the losers, what moved and what changed."""
        new = make_run(folder, make_set(), [1] * 5 + [2] * 6 + [0], system=SYSTEM | {"chunk": {"size": 384}})
        out, _ = run(new, code=1)
        _, table, reasons, lost, changed, failures, verdict = out.split("\n\n")
        assert table.endswith("\nRR@10   not worse by more than 0.05   0.6667    1.0000  -0.3333 (> -0.502)    fail")
        assert reasons == "fail  RR@10: dropped by 0.333, more than 0.05 (one-sided p = 0.00781)"
        assert lost.startswith(
            "lost most (7 in all)\n"
            "  q12  RR@10 1.000 to 0.000  What of 12?\n"
            "      d01 2 to 1; d12 out, was 1; x01 3 to 2; d02 4 to 3\n"
            "  q06  RR@10 1.000 to 0.500  What of 06?\n"
            "      d01 2 to 1; d06 1 to 2\n"
        )
        assert lost.count("What of") == 5
        assert changed == "the system changed in\n  chunk.size: 384, was 512"
        line = "failures: 1 of 12 queries (1 new, 0 old); new: q12"
        assert failures == f"{line}\n  nothing relevant was found: 1 (q12)"
        assert verdict.startswith("FAIL by policy default: 1 of 4 checks failed\nif that is intended: ")

    def test_won(self, run: Run, folder: Path) -> None:
        """The other way round the same queries have won."""
        accept(folder, make_run(folder, make_set(), [1] * 5 + [2] * 6 + [0], "worse"))
        out, _ = run("runs/old.jsonl")
        assert "won most (7 in all)\n  q12  RR@10 0.000 to 1.000  What of 12?\n" in out
        assert "lost most" not in out

    def test_inconclusive(self, run: Run, folder: Path) -> None:
        """Three losses are too few to tell: exit code 0 with a warning, or 4 where the policy asks for it."""
        new = make_run(folder, make_set(), [1] * 9 + [2] * 3)
        out, _ = run(new)
        assert "\nRR@10: the smallest drop that 12 queries show is 0.173; a drop of 0.05 needs about 128\n" in out
        few = "too few changed to test: 3 of 12 queries, so p cannot be below 0.12, and 0.05 is needed"
        assert f"inconclusive  RR@10: the mean dropped by 0.125, and the drop could be as large as 0.242; {few}" in out
        assert (
            "INCONCLUSIVE by policy default, which passes here (on_inconclusive = pass): it is not known whether "
            "RR@10 got worse by more than is tolerated\n"
            "observed, though it may be chance: RR@10 is worse by 0.125, and 0.05 is tolerated\n"
            "it could be worse by as much as RR@10 0.242\n"
            "what would decide: "
        ) in out
        assert "may ship" not in out
        rules(folder, '[gate]\non_inconclusive = "fail"\n')
        out, _ = run(new, code=4)
        assert "INCONCLUSIVE" in out
        assert "which fails here (on_inconclusive = fail)" in out
        assert json.loads(run(new, "--json", code=4)[0])["verdict"]["passed"] is False

    def test_without_a_baseline(self, run: Run, folder: Path) -> None:
        """It is inconclusive, and said how to record one; a floor that does not hold fails all the same."""
        (folder / "baseline.json").unlink()
        out, _ = run("runs/old.jsonl")
        assert "karat baseline update runs/old.jsonl records this run as the first" in out
        rules(folder, "[[gate.rules]]\nmetric = 'RR@10'\nmin = 1.1\n")
        assert "1 of 3 checks failed\n" in run("runs/old.jsonl", code=1)[0]

    def test_another_policy_and_baseline(self, run: Run, folder: Path) -> None:
        """By name, from a file, and a baseline from elsewhere; those below a limit are listed."""
        new = make_run(folder, make_set(), [1] * 8 + [2, 2, 4, 0])
        out, _ = run(new, "--policy", "beluga")
        assert "2 below 0.3 of RR@10: q12 0.00, q11 0.25\n" in out
        (folder / "strict.toml").write_text("[[gate.rules]]\nmetric = 'RR@10'\nmin = 0.99\n")
        assert "0.7708 is below 0.99" in run(new, "--policy", "strict.toml", code=1)[0]
        kept = folder / "elsewhere.json"
        (folder / "baseline.json").rename(kept)
        run("runs/old.jsonl", "--baseline", kept)
        assert "no such file" in run("runs/old.jsonl", "--baseline", folder / "none.json", code=2)[1]

    def test_no_colours_but_on_a_terminal(self, run: Run, folder: Path) -> None:
        """Scripts read plain text."""
        assert "\x1b" not in run("runs/old.jsonl")[0]


class TestChangedDocuments:
    """A baseline on other documents."""

    def changed(self, folder: Path) -> Path:
        """Change a document of the set, and make a run on it."""
        golden_set = make_set()
        first = replace(golden_set.documents[0], text="something else")
        golden_set = replace(golden_set, documents=(first, *golden_set.documents[1:]))
        rmtree(folder / "set")
        golden.write(golden_set, folder / "set")
        return make_run(folder, golden_set, [1] * 12)

    def test_it_is_marked(self, run: Run, folder: Path) -> None:
        """The run is compared with the baseline, and the questions that are judged on the document are named."""
        new = self.changed(folder)
        out, _ = run(new)
        assert "the documents changed since the baseline" in out
        assert "1 question has judgments on them: q01" in out
        assert out.endswith("PASS by policy default: it may ship\n")

    def test_a_changed_judgment_applies_to_both_sides(self, run: Run, folder: Path) -> None:
        """Nothing answers the first question any more, neither now nor in the baseline."""
        golden_set = make_set()
        golden_set = replace(
            golden_set, judgments=(replace(golden_set.judgments[0], grade=0), *golden_set.judgments[1:])
        )
        rmtree(folder / "set")
        golden.write(golden_set, folder / "set")
        out, _ = run(make_run(folder, golden_set, [1] * 12))
        assert "the judgments of 1 question changed, and both sides are scored with those of today: q01" in out

    def test_a_wrong_value_is_told(self, run: Run, folder: Path) -> None:
        """It is true or false."""
        rules(folder, "[gate]\ndocuments_may_change = 'yes'\n")
        assert "documents_may_change = 'yes'; write true or false" in run("runs/old.jsonl", code=2)[1]

    def test_a_key_without_an_effect_is_not_a_change_of_the_policy(self, run: Run, folder: Path) -> None:
        """Projects of earlier versions have documents_may_change; their policy is the default all the same."""
        rules(folder, "[gate]\ndocuments_may_change = true\n")
        assert "PASS by policy default: " in run("runs/old.jsonl")[0]


def test_a_query_that_must_pass_says_nothing_of_the_mean(run: Run, folder: Path) -> None:
    """What the queries can show of a measure is told until its own rule is decided."""
    rules(folder, "[gate]\nmust_pass = [{ query = 'q12', metric = 'RR@10', min = 1.0 }]\n")
    out, _ = run(make_run(folder, make_set(), [1] * 11 + [2]), code=1)
    assert "RR@10: the smallest drop that 12 queries show is" in out
    assert "the smallest drop" not in run(make_run(folder, make_set(), [0] * 12), code=1)[0]


def test_a_decision_is_no_run(run: Run, folder: Path) -> None:
    """It is said what renders it."""
    (folder / "decision.json").write_text(run("runs/old.jsonl", "--json")[0])
    assert "decision.json: is a decision, not a run; 'karat report' renders it" in run("decision.json", code=2)[1]


def test_what_to_do_next_is_said(run: Run, folder: Path) -> None:
    """How an intended fall is accepted, how the first baseline is recorded, and that nothing can fall below 0."""
    worse = make_run(folder, make_set(), [0] * 12)
    out, _ = run(worse, code=1)
    assert out.endswith(
        "checks failed\n"
        "if that is intended: karat baseline update runs/new.jsonl --force 'why', and commit the baseline\n"
    )
    assert "if that is intended" not in run(worse, "--policy", "agent", code=1)[0]  # which asks for a gain
    accept(folder, worse)
    assert "RR@10 is 0 in the baseline, and cannot fall: record a better one" in run(worse)[0]
    (folder / "baseline.json").unlink()
    out, _ = run(worse)
    assert (
        "INCONCLUSIVE by policy default, which passes here (on_inconclusive = pass): there is no baseline yet, so "
        "it is not known whether RR@10 got worse\nwhat would decide: a baseline\n"
    ) in out
    assert out.endswith("karat baseline update runs/new.jsonl records this run as the first\n")


def test_the_shape_of_json(run: Run, folder: Path) -> None:
    """Everything that a script needs, ASCII, one document; failures in the form of fit (H05)."""
    new = make_run(folder, make_set(), [1] * 5 + [2] * 6 + [0], system=SYSTEM | {"chunk": {"size": 384}})
    rules(folder, "[[gate.rules]]\nmetric = 'RR@10'\nmin = 0.7\nnon_inferior = true\n"
                  "[[gate.rules]]\nmetric = 'latency.p95'\nmax = 500\nmax_rise_rel = 0.2\n"
                  "[gate]\nmust_pass = ['q01', 'q12']\nlist_below = { 'RR@10' = 0.3 }\n")  # fmt: skip
    out, _ = run(new, "--json", code=1)
    assert out.isascii()
    document = json.loads(out)
    verdict = document["verdict"]
    assert (verdict["outcome"], verdict["exit_code"], verdict["passed"]) == ("fail", 1, False)
    assert (document["run"]["name"], document["golden"]["fingerprint"]) == ("new", golden.fingerprint(make_set()))
    assert document["baseline"] == {
        "name": "old", "title": "old", "fingerprint": "sha256:0", "recorded": "2026-11-16", "forced": "",
        "changes": [{"key": "chunk.size", "now": 384, "was": 512}],
    }  # fmt: skip
    assert [
        (check.get("metric", check.get("query")), check["kind"], check["outcome"]) for check in document["checks"]
    ] == [
        ("failed", "failed", "pass"),
        ("empty", "empty", "pass"),
        ("latency.p95", "slow", "pass"),
        ("RR@10", "min", "fail"),
        ("RR@10", "non_inferior", "fail"),
        ("latency.p95", "max", "pass"),
        ("latency.p95", "max_rise_rel", "pass"),
        ("q01", "must_pass", "pass"),
        ("q12", "must_pass", "fail"),
    ]
    assert verdict["failures"] == [
        {"metric": "RR@10", "current": 8 / 12, "threshold": 0.7, "message": "0.6667 is below 0.7"},
        {"metric": "RR@10", "current": 8 / 12, "baseline": 1.0, "degradation": "33.3%",
         "message": "dropped by 0.333, more than 0.05 (one-sided p = 0.00781)"},
        {"metric": "q12", "current": None, "threshold": None, "message": "nothing relevant was found"},
    ]  # fmt: skip
    assert document["movers"][0] == {
        "query": "q12", "measure": "RR@10", "baseline": 1.0, "candidate": 0.0,
        "moved": ["d01 2 to 1", "d12 out, was 1", "x01 3 to 2", "d02 4 to 3"],
    }  # fmt: skip
    assert len(document["movers"]) == 7
    assert document["failures"] == [{
        "query": "q12", "reasons": ["must pass: nothing relevant was found", "nothing relevant was found"],
        "cause": "cut by k or another limit: the lists end after 4 hits, and 10 were asked for", "since": "new",
        "had": "d12 at rank 1",
    }]  # fmt: skip
    assert all("RR@10" in caveat for caveat in document["caveats"])


def test_every_kind_of_rule_has_a_row(run: Run, folder: Path) -> None:
    """With its limit as it was written."""
    rules(folder, """
[gate]
policy = "beluga"
must_pass = ["q01", { query = "q02", metric = "RR@10", min = 0.5 }]
[[gate.rules]]
metric = "RR@10"
where = { category = "times" }
max_drop_abs = 0.02
significant_drop = true
[[gate.rules]]
metric = "DupRate@10"
max = 0.125
max_rise_abs = 0.1
non_inferior = true
[[gate.rules]]
metric = "latency.embed.p95"
max = 1500
[[gate.rules]]
metric = "coverage"
min = 1
max_drop_rel = 0.05
""")  # fmt: skip
    accept(folder, folder / "runs" / "old.jsonl")
    out, _ = run("runs/old.jsonl")
    assert [line[:62].rstrip() for line in out.split("\n\n")[1].split("\n")] == [
        "metric                rule",
        "RR@10                 at least 0.7",
        "RR@10 category=times  falls by at most 0.02",
        "RR@10 category=times  no significant drop by more than 0.05",
        "DupRate@10            at most 0.125",
        "DupRate@10            rises by at most 0.1",
        "DupRate@10            not worse by more than 0.01",
        "latency.embed.p95     at most 1500 ms",
        "coverage              at least 1",
        "coverage              falls by at most 5.0%",
        "q01                   must find something relevant at any rank",
        "q02 RR@10             must reach 0.5",
    ]  # fmt: skip
    assert "PASS by policy karat.toml (beluga, except RR@10 category=times, DupRate@10" in out


@pytest.mark.slow
def test_the_gate_writes_nothing(run: Run, folder: Path) -> None:
    """Neither the baseline nor anything else, whatever the outcome; nor does eval touch the baseline."""
    new = make_run(folder, make_set(), [0] * 12)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    run("runs/old.jsonl")
    run(new, code=1)
    run(new, "--policy", "fit", "--json", code=1)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    (folder / "find_for_gate.py").write_text("def find(query, k):\n    return ['d01']\n")
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "karat", "eval", ".", "--system", "find_for_gate:find"]
    process = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert len(list((folder / "runs").iterdir())) == 3
    assert (folder / "baseline.json").read_bytes() == before[folder / "baseline.json"]


class TestRefused:
    """What cannot be compared is refused, with what differs, and exit code 2."""

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"k": 5}, "k (5, was 10)"),
            ({"paraphrases": True}, "paraphrases (True, was False)"),
            ({"k": 5, "paraphrases": True}, "k (5, was 10); paraphrases (True, was False)"),
        ],
    )
    def test_asked_otherwise(self, run: Run, folder: Path, settings: dict[str, Any], message: str) -> None:
        """Another k, or in other words."""
        new = make_run(folder, make_set(), [1] * 12, **settings)
        assert f"run 'new' and baseline 'old' cannot be compared: they differ in {message}; " in run(new, code=2)[1]

    def test_another_unit(self, run: Run, folder: Path) -> None:
        """The same run, scored by the parts of documents."""
        (folder / "karat.toml").write_text(TOML + 'unit = "target"\n')
        assert "they differ in unit ('target', was 'document')" in run("runs/old.jsonl", code=2)[1]

    def test_another_golden_set(self, run: Run, folder: Path) -> None:
        """No question of the run, or of the baseline, is in the set."""
        golden_set = make_set()
        other = replace(
            golden_set, queries=tuple(replace(query, text=f"{query.text}!") for query in golden_set.queries)
        )
        make_project(folder, golden_set=other)
        assert "'old' has no question in common with golden set 'turns'" in run("runs/old.jsonl", code=2)[1]
        assert "'old' has no question in common" in run(make_run(folder, other, [1] * 12), code=2)[1]
        assert "lacks answers to 1 of the queries" in run(make_run(folder, other, [1] * 11, "cut"), code=2)[1]

    def test_another_definition(self, run: Run, folder: Path) -> None:
        """The baseline's RR counted other grades."""
        path = folder / "baseline.json"
        record = json.loads(path.read_text())
        record["definitions"]["RR@10"] = "RR(rel=2)@10"
        path.write_text(signed(record))
        assert "they differ in RR@10 (RR@10, was RR(rel=2)@10)" in run("runs/old.jsonl", code=2)[1]

    @pytest.mark.parametrize("data", [b"", b"{}", b'{"karat": "baseline", "format": 9}', b"\xff", b'{"karat": "basel'])
    def test_a_baseline_that_is_none(self, run: Run, folder: Path, data: bytes) -> None:
        """A clear message, no traceback, and the file is left alone."""
        (folder / "baseline.json").write_bytes(data)
        _, err = run("runs/old.jsonl", code=2)
        assert err.startswith("karat: baseline.json")
        assert err.count("\n") == 1
        assert (folder / "baseline.json").read_bytes() == data


class TestAttacks:
    """Ways to get a bad run through; none works, and each is told."""

    def test_an_empty_run(self, run: Run, folder: Path) -> None:
        """Without a single answer."""
        new = make_run(folder, make_set(), [])
        _, err = run(new, code=2)
        assert "run 'new' lacks answers to 12 of the queries that it should have asked: 'q01', 'q02', 'q03' ..." in err
        (folder / "empty.txt").write_text("")
        assert "the file is empty" in run("empty.txt", "--golden", ".", code=2)[1]

    def test_the_losers_are_cut_out(self, run: Run, folder: Path) -> None:
        """A run file without its failing half is no run of this set."""
        new = make_run(folder, make_set(), [1] * 6 + [0] * 6)
        edited(new, lambda line: None if line.get("query", "") > "q06" else line)
        _, err = run(new, code=2)
        assert (
            "lacks answers to 6 of the queries that it should have asked: 'q07', 'q08', 'q09' ...; the file was" in err
        )

    def test_a_bad_answer_is_covered_by_a_better_one(self, run: Run, folder: Path) -> None:
        """Two answers to one question are none."""
        new = make_run(folder, make_set(), [0] * 12)
        better = json.loads((folder / "runs" / "old.jsonl").read_text().splitlines()[3])
        lines = new.read_text().splitlines()
        new.write_text("\n".join([*lines[:-1], json.dumps(better), lines[-1]]) + "\n")
        assert "query 'q03' is answered twice" in run(new, code=2)[1]

    def test_the_worse_repeat_is_cut_out(self, run: Run, folder: Path) -> None:
        """A run that says it asked twice has to have both."""
        new = make_run(folder, make_set(), [1] * 12, repeat=2)
        assert "lacks answers to 12 of the queries" in run(new, code=2)[1]

    def test_a_sample_of_the_queries(self, run: Run, folder: Path) -> None:
        """Half of the queries: not comparable with a baseline of all; without one it is told, and coverage is half."""
        golden_set = make_set()
        half = golden.sample(golden_set, 6, seed=0)
        new = make_run(folder, replace(half, judgments=golden_set.judgments), [1] * 6, sample=6)
        head, *rest = new.read_text().splitlines(keepends=True)
        header = json.loads(head)
        header["golden"]["fingerprint"] = golden.fingerprint(golden_set)
        new.write_text(json.dumps(header) + "\n" + "".join(rest))
        assert "they differ in sample (6, was None)" in run(new, code=2)[1]
        (folder / "baseline.json").unlink()
        out, _ = run(new)
        assert "the run is a sample: 6 of the 12 queries were asked, and nothing is known of the others\n" in out
        rules(folder, "[[gate.rules]]\nmetric = 'coverage'\nmin = 0.9\n")
        assert "coverage: 0.5000 is below 0.9" in run(new, code=1)[0]
        edited(new, lambda line: None if line.get("query") == half.queries[0].id else line)
        assert "lacks answers to 1 of the queries" in run(new, code=2)[1]

    @pytest.mark.parametrize("policy", POLICIES)
    def test_every_query_failed(self, run: Run, folder: Path, policy: str) -> None:
        """No policy lets that pass, with or without a baseline."""
        new = make_run(folder, make_set(), [1] * 12, errors={f"q{i:02}": "refused" for i in range(1, 13)})
        assert "12 of 12 queries failed or timed out" in run(new, "--policy", policy, code=3)[0]
        (folder / "baseline.json").unlink()
        assert "12 of 12 queries failed or timed out" in run(new, "--policy", policy, code=3)[0]

    def test_some_queries_failed(self, run: Run, folder: Path) -> None:
        """They count as 0, and the message of the system is shown; there is no decision on so many."""
        new = make_run(folder, make_set(), [1] * 12, errors={f"q{i:02}": "kennel\x1b[2J closed" for i in range(1, 7)})
        out, _ = run(new, code=3)
        assert "dropped by 0.5, more than 0.05 (one-sided p = 0.0156)" in out
        assert "      failed: kennel\\x1b[2J closed\n" in out

    def test_a_measure_that_no_query_has(self, run: Run, folder: Path) -> None:
        """SpanR without judged spans has no mean, and NaN does not pass."""
        rules(folder, "[[gate.rules]]\nmetric = 'SpanR@10'\nmin = 0.1\n")
        out, _ = run("runs/old.jsonl", code=1)
        assert "SpanR@10: the run has no number for it, and what is not measured does not pass" in out

    def test_scores_that_are_no_numbers(self, run: Run, folder: Path) -> None:
        """NaN in a run file is no JSON."""
        new = make_run(folder, make_set(), [1] * 12)
        new.write_text(new.read_text().replace('"score":4.0', '"score":NaN', 1))
        assert "NaN is not a JSON number" in run(new, code=2)[1]

    @pytest.mark.parametrize(
        ("toml", "message"),
        [
            ('[gate]\npolicy = "treshold"\n', "unknown policy 'treshold', did you mean 'threshold'?"),
            ('[gate]\npolcy = "threshold"\n', "has no key 'polcy', did you mean 'policy'?"),
            ("[gte]\n", "there is no table 'gte', did you mean 'gate'?"),
            ("[[gate.rule]]\nmetric = 'RR'\nmin = 1\n", "has no key 'rule', did you mean 'rules'?"),
            ("[[gate.rules]]\nmetric = 'RR'\nmni = 1\n", "a rule has no key 'mni', did you mean 'min'"),
            ("[[gate.rules]]\nmetric = 'R@5'\nmin = 1\nwhere = { category = 'price' }\n",
             "no query has category = 'price'; it has 'prices', 'times'"),
            ("[[gate.rules]]\nmetric = 'R@5'\nmin = 1\nwhere = { topic = 'price' }\n", "no query has that field"),
            ("[gate]\nmust_pass = ['q13']\n", "must_pass names query 'q13', which was not asked"),
            ("[gate]\non_inconclusive = 'ignore'\n", "on_inconclusive = 'ignore'; choose pass or fail"),
            ("[gate]\nrelative = 5\n", "relative = 5; a gate that tolerates"),
            ("[[gate.rules]]\nmetric = 'RR'\nmin = 1\n[[gate.rules]]\nmetric = 'mrr'\nmin = 0.5\n", "two rules on RR"),
            ("[gate]\nbaseline = 3\n", "baseline = 3; name a file"),
            ("[gate]\nbaseline = 'basline.json'\n", "basline.json: no such file; 'karat baseline update RUN' records"),
        ],
    )  # fmt: skip
    def test_typos_in_the_configuration(self, run: Run, folder: Path, toml: str, message: str) -> None:
        """A rule that is not understood is not skipped."""
        rules(folder, toml)
        assert message in run("runs/old.jsonl", code=2)[1]

    def test_a_failed_query_with_hits_is_refused(self, run: Run, folder: Path) -> None:
        """Its hits must not count: whoever wrote the file says that the query failed."""
        path = folder / "runs" / "old.jsonl"
        head, first, *rest = path.read_text().splitlines()
        path.write_text("\n".join([head, json.dumps({**json.loads(first), "error": "boom"}), *rest]) + "\n")
        assert "line 2: is not a trace: ValueError('it has an error and hits')" in run("runs/old.jsonl", code=2)[1]
        with pytest.raises(InputError, match="has an error and hits"):
            read_run(path)

    def test_a_project_stands_for_its_newest_run(self, run: Run, folder: Path) -> None:
        """A folder is as good as the file."""
        out, err = run(".")
        assert "the newest complete run is runs/" in err
        assert "by policy" in out

    def test_a_policy_that_checks_nothing(self, run: Run, folder: Path) -> None:
        """Without a rule everything would pass: it is a mistake in the configuration."""
        (folder / "karat.toml").write_text('[golden]\npath = "set"\n[eval]\nmeasures = []\n')
        assert "[eval] measures is empty; name a measure, or leave it out" in run("runs/old.jsonl", code=2)[1]
        (folder / "karat.toml").write_text('[golden]\npath = "set"\n[eval]\nmeasures = ["NumRet"]\n')
        for chosen in ([], ["--policy", "threshold"], ["--policy", "rig"]):
            assert "checks nothing, and everything would pass" in run("runs/old.jsonl", *chosen, code=2)[1]
        run("runs/old.jsonl", "--policy", "beluga")

    def test_a_baseline_with_other_measures(self, run: Run, folder: Path) -> None:
        """What can be computed from its lists is; what cannot, such as duplicate chunks, fails by name."""
        out, _ = run("runs/old.jsonl", "--policy", "fit", code=1)
        assert "record it again" not in out
        assert re.search(r"(?m)^R@5 +falls by at most 5.0% +1.0000 +1.0000 +\+0.0000 +pass$", out)
        rules(folder, "[[gate.rules]]\nmetric = 'DupRate@10'\nnon_inferior = true\nmax_rise_abs = 0.1\n")
        out, _ = run("runs/old.jsonl", code=1)
        assert "DupRate@10: the baseline has no such score: record it again" in out
        assert "DupRate@10: the baseline has no such number: record it again" in out

    def test_must_pass_on_a_query_without_an_answer(self, run: Run, folder: Path) -> None:
        """A query that nothing is relevant to finds nothing relevant."""
        golden_set = make_project(folder, golden_set=replace(make_set(), judgments=make_set().judgments[1:]))
        rules(folder, "[gate]\nmust_pass = ['q01']\n")
        run_file = make_run(folder, replace(golden_set, judgments=make_set().judgments), [1] * 12)
        digest = golden.fingerprint(golden_set)
        edited(run_file, lambda line: line | {"golden": {**line["golden"], "fingerprint": digest}}
               if "golden" in line else line)  # fmt: skip
        (folder / "baseline.json").unlink()
        assert "q01: nothing relevant was found" in run(run_file, code=1)[0]

    def test_a_dangling_link_is_no_missing_baseline(self, run: Run, folder: Path) -> None:
        """The baseline is there, and cannot be read."""
        (folder / "baseline.json").unlink()
        (folder / "baseline.json").symlink_to("gone.json")
        assert "baseline.json: no such file" in run("runs/old.jsonl", code=2)[1]

    def test_a_linked_baseline_and_one_outside(self, run: Run, folder: Path, tmp_path_factory: Any) -> None:
        """Both are read."""
        elsewhere = tmp_path_factory.mktemp("elsewhere") / "accepted.json"
        (folder / "baseline.json").rename(elsewhere)
        (folder / "baseline.json").symlink_to(elsewhere)
        assert "PASS" in run("runs/old.jsonl")[0]
        (folder / "baseline.json").unlink()
        rules(folder, f"[gate]\nbaseline = '{elsewhere}'\n")
        assert "PASS" in run("runs/old.jsonl")[0]

    @pytest.mark.slow
    def test_huge_and_hostile_names(self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ids of 100,000 characters and texts that would clear the screen: short lines, and nothing acts on them."""
        monkeypatch.chdir(tmp_path)
        long, rude = "x" * 100_000, "q\x1b[2J\x07\u202e"
        names = [long, rude, "plain", *(f"q{i}" for i in range(6))]
        golden_set = make_set(
            0,
            documents=tuple(Document(id=f"{kind}{name}", text=name) for name in names for kind in "dx"),
            queries=tuple(Query(id=name, text=f"{name}\x1b]0;owned\x07\n?", category=rude) for name in names),
            judgments=tuple(Judgment(query=name, target=Target(document=f"d{name}"), grade=1) for name in names),
        )
        make_project(tmp_path, golden_set=golden_set)
        accept(tmp_path, make_run(tmp_path, golden_set, [1] * 9, "old", system={f"k{rude}": {long: rude}}))
        rules(tmp_path, f"[gate]\nmust_pass = [{json.dumps(long)}, {json.dumps(rude)}]\n"
                        f"[[gate.rules]]\nmetric = 'RR@10'\nwhere = {{ category = {json.dumps(rude)} }}\nmin = 1.5\n"
                        f"max_drop_abs = 0.01\n")  # fmt: skip
        new = make_run(tmp_path, golden_set, [0] * 9, "new\x1b[2J", errors={rude: f"{rude}gone"})
        out, err = run(new, code=1)
        assert all(line.isprintable() for line in (out + err).split("\n"))
        assert max(map(len, out.split("\n"))) < 500
        assert out.count("q\\x1b[2J\\x07\\u202e") > 4
        json.loads(run(new, "--json", code=1)[0])


ODD: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1e308,
    10**30,
    "",
    "x",
    "\x1b[2J",
    "\udc80",
    [],
    {},
    [[]],
    [1, "a"],
    {"total": "x"},
    0.5,
)


def damaged(value: Any, random: Random) -> Any:
    """Return a copy of a JSON value in which something is another, gone or new."""
    value = json.loads(json.dumps(value))
    places: list[tuple[Any, Any]] = []
    inner = [value]
    while inner:
        first = inner.pop()
        keys = list(first) if isinstance(first, dict) else range(len(first)) if isinstance(first, list) else ()
        places += [(first, key) for key in keys]
        inner += [first[key] for key in keys]
    holder, key = random.choice(places)
    if random.random() < 0.25:
        del holder[key]
    elif random.random() < 0.2 and isinstance(holder, dict):
        holder[random.choice(["x", "", "q99", "RR", "hits"])] = random.choice(ODD)
    else:
        holder[key] = random.choice(ODD)
    return value


@pytest.mark.slow
@pytest.mark.parametrize("what", ["run", "baseline"])
def test_damaged_files_are_refused_or_gated(run: Run, folder: Path, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """150 ways to damage each: an answer or one message, never a traceback, and the baseline is left alone."""
    random = Random(5)
    rules(folder, "[gate]\npolicy = 'beluga'\nmust_pass = ['q01']\n"
                  "[[gate.rules]]\nmetric = 'RR@10'\nmax_drop_abs = 0.1\nnon_inferior = true\n"
                  "[[gate.rules]]\nmetric = 'latency.embed.p95'\nmax_rise_rel = 0.1\n")  # fmt: skip
    new = make_run(folder, make_set(), [1, 2, 1, 0] * 3)
    lines, baseline = [json.loads(line) for line in new.read_text().splitlines()], folder / "baseline.json"
    record = json.loads(baseline.read_text())
    codes: Counter[object] = Counter()
    for _ in range(150):
        if what == "run":
            new.write_text("".join(json.dumps(line) + "\n" for line in damaged(lines, random)))
        else:
            broken = damaged(record, random)  # with a right digest, or all that is behind it would not be reached
            baseline.write_text(signed(broken) if isinstance(broken, dict) else json.dumps(broken))
        before = baseline.read_bytes()
        monkeypatch.setattr(sys, "argv", ["karat", "gate", str(new), "--json"])
        with pytest.raises(SystemExit) as ended:
            main()
        codes[ended.value.code] += 1
        assert baseline.read_bytes() == before
    assert set(codes) <= {0, 1, 2}
    assert codes[2] > 30
    assert codes[0] + codes[1] > 10


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, str], bytes]:
    """What ``karat gate --json`` prints, by threads, hash seed and seed, where p is drawn and not exact."""
    folder = tmp_path_factory.mktemp("same")
    golden_set = make_set(40)
    tables = "".join(f"[[gate.rules]]\nmetric = '{name}'\nnon_inferior = true\nmax_drop_rel = 0.05\n"
                     for name in ("R@5", "P@5", "nDCG@5", "AP", "RR"))  # fmt: skip
    tables += "[[gate.rules]]\nmetric = 'RR'\nwhere = { category = 'times' }\nnon_inferior = true\n"
    make_project(folder, tables, golden_set=golden_set)
    systems = [{name: {"b": 1, "a": {"c": i}} for name in ("lexical", "dense", "rerank", "chunk")} for i in (1, 2)]
    accept(folder, make_run(folder, golden_set, [1, 2] * 20, "old", system=systems[0]))
    new = make_run(
        folder, golden_set, [2, 1, 3, 1, 0, 2, 1, 1] * 5, system=systems[1] | {"fusion": {"z": 1, "y": None}}
    )
    by_setting = {}
    for threads, hashes, seed in [("1", "0", "0"), ("4", "1", "0"), ("4", "12345", "0"), ("1", "0", "1")]:
        environment = {
            **os.environ,
            "OPENBLAS_NUM_THREADS": threads,
            "OMP_NUM_THREADS": threads,
            "PYTHONHASHSEED": hashes,
        }
        command = [sys.executable, "-m", "karat", "gate", str(new), "--json", "--seed", seed]
        process = subprocess.run(command, env=environment, cwd=folder, capture_output=True)
        assert process.returncode in (0, 1), process.stderr
        by_setting[threads, hashes, seed] = process.stdout
    return by_setting


class TestSameBytes:
    """The same inputs and seed give the same bytes: on one thread and on four, and whatever the hashes of strings."""

    @pytest.mark.slow
    def test_across_processes_and_threads(self, outputs: dict[tuple[str, str, str], bytes]) -> None:
        """Byte by byte, the order of what changed and of the movers included."""
        first, other, third, _ = outputs.values()
        assert first == other == third
        document = json.loads(first)
        assert [change["key"] for change in document["baseline"]["changes"]] == [
            "lexical.a.c", "dense.a.c", "rerank.a.c", "chunk.a.c", "fusion.z",
        ]  # fmt: skip
        assert any(check.get("p", 1) not in (0, 1) for check in document["checks"])

    @pytest.mark.slow
    def test_another_seed_draws_others(self, outputs: dict[tuple[str, str, str], bytes]) -> None:
        """So that the test above compares something that was drawn."""
        first, *_, other = outputs.values()
        assert first != other
        assert json.loads(first)["movers"] == json.loads(other)["movers"]
