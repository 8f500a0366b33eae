"""The linter's reference: every rule says what it finds, why that is bad, an example, and what to do."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from each import each
from karat.golden.lint._check import GROUPS, RULES, rules, sections
from karat.golden.lint._reference import reference
from karat.golden.lint._rule import Rule

PAGE = Path(__file__).resolve().parents[2] / "docs" / "golden-linter.md"


@each("rule", rules(), ids=lambda rule: rule.name)
def test_every_rule_says_all_that_the_reference_shows(rule: Rule) -> None:
    """A rule has a summary of one sentence, then Why, Example and Fix."""
    said = sections(rule)
    assert {"Summary", "Why", "Example", "Fix"} <= set(said) <= {"Summary", "More", "Why", "Example", "Fix"}
    assert said["Summary"].endswith(".")
    assert "\n" not in rule.text.split("\n\n", 1)[0]
    assert said["Why"].endswith(".")
    assert said["Fix"].endswith(".")
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)


def test_every_rule_is_in_a_group() -> None:
    """All rules of karat have a fixed order, and each group has a title."""
    homes = {group.__name__ for group in GROUPS}
    assert {rule.check.__module__ for rule in RULES.values()} == homes
    assert all((group.__doc__ or "").startswith("Rules ") for group in GROUPS)


@pytest.mark.slow
def test_the_page_is_what_the_table_of_rules_gives() -> None:
    """docs/golden-linter.md is generated: it has every rule, and was written after the last change of one."""
    page = PAGE.read_text(encoding="utf-8")
    assert page == reference(), "run ./scripts/docs"
    printed = subprocess.run([sys.executable, "-m", "karat.golden.lint._reference"], capture_output=True, check=True)
    assert printed.stdout.decode() == page
    assert sorted(re.findall(r"^### (.+)$", page, re.MULTILINE)) == sorted(RULES)


def test_every_link_of_the_index_leads_to_a_rule() -> None:
    """The table at the top has one row for each rule, with its severity and its summary."""
    rows = re.findall(r"^\| \[(.+?)\]\(#(.+?)\) \| (error|warning) \| (.+) \|$", reference(), re.MULTILINE)
    assert [(name, kind) for name, _, kind, _ in rows] == [(rule.name, rule.severity) for rule in rules()]
    assert all(name == link for name, link, _, _ in rows)
