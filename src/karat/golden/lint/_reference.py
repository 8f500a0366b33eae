"""The page docs/golden-linter.md, written from the table of rules so that it is neither wrong nor incomplete.

``./scripts/docs`` writes it; a test compares.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from karat.golden.lint._check import GROUPS, rules, sections
from karat.golden.lint._rule import Rule

_INTRODUCTION = """\
<!-- Written by scripts/docs from the table of rules. Change the docstrings of the rules instead. -->
# Golden-set linter

`karat golden check SET` shows what is wrong with a golden set, what it lacks, and what it can decide. The exit code is
2 if there are errors, and with `--strict` also if there are warnings. `--explain RULE` prints the text of this page.
`--ignore RULE` leaves the findings of a rule out, and counts them. `--json` prints everything as JSON.

- The **ceiling** of a measure is the best mean that any ranking can reach on the set. With one relevant document per
  query P@5 cannot exceed 0.20, so that a floor of 0.60 always fails. The floors are those of the set's own `[gate]` and
  of `--gate`, or else R@5 0.80, P@5 0.60, RR@10 0.70 and nDCG@5 0.75. The set decides what is relevant, and documents
  of one class count once.
- The **resolution** is the smallest drop of a mean that the set can tell from chance: with 80 % power, at the 5 %
  level, in a paired t-test. It depends on how much two systems differ from query to query: the standard deviation of
  their differences. `--sd` sets it where it is known. Otherwise there are three guesses: 0.15 for two similar systems,
  0.25, and 0.35 for two very different ones. The table has it two-sided, and one-sided as a gate tests.

Rules of a profile apply only with `--profile small`, `agent` or `structured`, or where karat.toml names one (`[golden]
profile`). Rules that need documents do not apply to a set without documents.
"""


def reference() -> str:
    """Return the page as Markdown."""
    every = rules()
    parts = [_INTRODUCTION, _index(every)]
    for group in GROUPS:
        members = [rule for rule in every if rule.check.__module__ == group.__name__]
        title = (group.__doc__ or "").split(":")[0].split("\n")[0].rstrip(".")
        parts += [f"## {title}\n", *map(_entry, members)]
    return "\n".join(parts)


def _index(rules: Iterable[Rule]) -> str:
    rows = [f"| [{rule.name}](#{rule.name}) | {rule.severity} | {_cell(rule)} |" for rule in rules]
    return "\n".join(["| rule | | problem |", "|---|---|---|", *rows, ""])


def _cell(rule: Rule) -> str:
    return sections(rule)["Summary"].replace("|", "\\|")


def _entry(rule: Rule) -> str:
    texts = sections(rule)
    lines = [f"### {rule.name}", "", f"{rule.severity.capitalize()}. {texts['Summary']}", ""]
    if "More" in texts:
        lines += [texts["More"], ""]
    lines += [f"- {name}: {texts[name]}" for name in ("Why", "Example", "Fix") if name in texts]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.stdout.write(reference())
