"""From a mark to the rules that its test is made into; a mistake in it is told here, before anything runs."""

from __future__ import annotations

import os
import unittest
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from karat.core import InputError, KaratError, UsageError, did_you_mean
from karat.gate import Check, Must, Policy
from karat.projects import (
    CHOICES,
    Project,
    choose_settings,
    open_sound_project,
    parse_path,
    parse_policy,
    project_policy,
)
from karat.pytest_plugin._names import MARK, PARAMETER

_NAMES = ("golden", "baseline", "policy", "seed", *CHOICES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a mark or a call of the fixture asks for, checked."""

    project: Project
    choices: dict[str, Any]
    """The baseline, the policy, the seed and the settings, as the check takes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What one item of a marked test is about."""

    name: str
    asked: Asked = field(repr=False)
    mark: pytest.Mark = field(repr=False)


Projects = dict[Path, Project]
_PROJECTS: pytest.StashKey[Projects] = pytest.StashKey()


def read_asked(root: Path, said: dict[str, Any], known: Projects) -> Asked:
    """Read the arguments of a mark or a call, with paths from the root of the test suite; ``known`` are projects."""
    for name in said:
        if name not in _NAMES:
            raise UsageError(
                f"there is no argument {name!r}{did_you_mean(name, _NAMES) or '; it has ' + ', '.join(_NAMES)}"
            )
    choices = dict(said)
    path = root / parse_path("golden", choices.pop("golden", "."))
    choices["policy"] = parse_policy(root, choices.get("policy"))
    if choices.get("baseline") is not None:
        choices["baseline"] = root / parse_path("baseline", choices["baseline"])
    if path not in known:
        if not os.path.exists(path):  # noqa: PTH110 (pathlib raises where a name is too long)
            hint = f"paths are relative to pytest's root folder, which is {root}"
            raise InputError("no such file or folder", source=str(path), hint=hint)
        known[path] = open_sound_project(path)
    choose_settings(known[path], **choices)
    return Asked(project=known[path], choices=choices)


def rules_of(test: pytest.Item) -> list[Rule]:
    """Give what a marked test is made into: its gated rules, then the queries that must pass."""
    config = test.config
    try:
        mark = _only_mark(test)
        if len(mark.args) > 1 or (mark.args and "golden" in mark.kwargs):
            raise UsageError("the mark takes one folder")
        said = {**dict(zip(("golden",), mark.args, strict=False)), **mark.kwargs}
        asked = read_asked(config.rootpath, said, config.stash.setdefault(_PROJECTS, {}))
        names = names_of(project_policy(asked.project, asked.choices["policy"]))
    except KaratError as error:
        wrong = f"{told(error)} ({test.nodeid})"
    else:
        return [Rule(name=name, asked=asked, mark=mark) for name in names]
    pytest.fail(wrong, pytrace=False)


def _only_mark(test: pytest.Item) -> pytest.Mark:
    """Give the nearest mark: that of a function holds instead of that of its class or module."""
    (nearest, mark), *others = test.iter_markers_with_node(MARK)
    if any(node is nearest for node, _ in others):
        raise UsageError("the mark is given twice (a class has those of its bases); write a test for each")
    return mark


def told(error: KaratError) -> str:
    """Give a mistake as a test tells it: in one line, and with no control characters that the system may have said."""
    text = " ".join(" ".join(error.lines).split())
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return f"karat: {shown}"


def names_of(policy: Policy) -> list[str]:
    """Name the items of a policy, each once."""
    return list(dict.fromkeys([*(rule.name for rule in policy.rules), *map(_must_name, policy.must_pass)]))


def name_of(check: Check) -> str:
    """Name the item that a check belongs to."""
    return _must_name(check) if check.query else check.name


def _must_name(must: Must | Check) -> str:
    return f"must pass: {must.query} {must.metric}".rstrip()


def item_id(name: str) -> str:
    """Give the part of an item's name that stands for a rule, in characters that pytest leaves as they are.

    >>> item_id("must pass: q-\u00fc"), item_id("must pass: q-%FC")
    ('must pass: q-%FC', 'must pass: q-%25FC')
    """
    return "".join(c if c.isascii() and c.isprintable() and c not in "\\%" else f"%{ord(c):X}" for c in name)


def rule_of(item: pytest.Function) -> Rule | None:
    """Give the rule that an item was made for."""
    rule = getattr(getattr(item, "callspec", None), "params", {}).get(PARAMETER)
    return rule if isinstance(rule, Rule) else None


def refuse_unmade(item: pytest.Function) -> None:
    """Fail a marked test that was not made into its rules: it would pass, whatever it returns."""
    rule = rule_of(item)
    own = [mark for node, mark in item.iter_markers_with_node(MARK) if node is item]
    if rule is not None and rule.mark is item.get_closest_marker(MARK) and len(own) <= 1:
        return
    if item.cls is not None and issubclass(item.cls, unittest.TestCase):
        why = "a method of unittest.TestCase cannot be made into its rules; write a function, or a class without a base"
    else:
        why = "a mark came too late to make the test into its rules; put one on the function, its class or module"
    pytest.fail(f"karat: {why} ({item.nodeid})", pytrace=False)
