"""``karat gate --show-policy``: the rules of a policy, with or without a project."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.gate_project import TOML, make_project
from karat.gate import POLICIES, named_policy

VERB = "gate"
Run = Callable[..., tuple[str, str]]


@pytest.mark.parametrize("name", POLICIES)
def test_a_built_in_policy_needs_no_project(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """As a text and as JSON, every rule with its limits."""
    monkeypatch.chdir(tmp_path)
    out, _ = run("--show-policy", name)
    assert out.startswith(f"{name}: {POLICIES[name]}\n\noperations ")
    document = json.loads(run("--show-policy", name, "--json")[0])
    rules = {rule.metric: rule for rule in named_policy(name, ["R@5", "RR@10"]).rules}
    shown = {rule["metric"]: rule["limits"] for rule in document["rules"]}
    assert rules.keys() <= shown.keys()
    assert all(shown[metric].get("min", None) == rule.min for metric, rule in rules.items())


@pytest.mark.parametrize("name", POLICIES)
def test_a_tolerance_is_shown_where_a_rule_reads_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Only policies that make tests tolerate a drop at a level; the others have limits."""
    monkeypatch.chdir(tmp_path)
    tested = any(rule.non_inferior or rule.significant_drop for rule in named_policy(name, ["R@5"]).rules)
    out, _ = run("--show-policy", name)
    assert [word in out for word in ("tolerated drop ", "level of tests ")] == [tested, tested]
    document = json.loads(run("--show-policy", name, "--json")[0])
    assert (document["tolerance"] is not None) == tested
    assert tested == (name == "default")


def test_the_policy_of_a_project_shows_what_it_changes(run: Run, tmp_path: Path) -> None:
    """By the project's folder; nothing is decided, and no run is needed."""
    make_project(tmp_path)
    (tmp_path / "karat.toml").write_text(
        TOML + '[gate]\nextends = "fit"\n[gate.operations]\nempty = false\n[[gate.rules]]\nmetric = "R@5"\nmin = 0.7\n'
    )
    out, _ = run(tmp_path, "--show-policy")
    assert out.startswith("karat.toml, extends fit: ")
    assert "operations    empty: off\n" in out
    assert " pass (on_inconclusive): exit code 0 with a warning\n" in out
    assert "\n  R@5: at least 0.7 (was: at least 0.8, falls by at most 5 %)\n" in out
    document = json.loads(run(tmp_path, "--show-policy", "--json")[0])
    assert (document["name"], document["extends"], document["operations"]["empty"]) == ("karat.toml", "fit", None)


def test_a_run_or_a_policy_has_to_be_named(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each mistake has one message."""
    monkeypatch.chdir(tmp_path)
    assert "name a run, or a project for its newest run" in run(code=2)[1]
    make_project(tmp_path)
    assert "unknown policy 'fitt', did you mean 'fit'" in run("--show-policy", "fitt", code=2)[1]
