"""Reading a mark: the rules that its test is split into. A mistake in the mark is reported before anything runs."""

from __future__ import annotations

import os
import unittest
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import pytest

from karat.core import InputError, KaratError, UsageError, did_you_mean
from karat.gate import Check, Must, Policy
from karat.net import hide_secrets
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
from karat.reports import escaped, show_safely

_OPERATIONS = {"unasked": "failed", "slow": "latency"}
"""The operational rules whose checks have another name."""
_NAMES = ("golden", "baseline", "policy", "seed", *CHOICES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The checked arguments of a mark, or of a call of the fixture."""

    project: Project
    choices: dict[str, Any]
    """The baseline, the policy, the seed and the settings, as :func:`karat.projects.check_project` takes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The rule that one item of a marked test checks."""

    name: str
    request: Request = field(repr=False)
    mark: pytest.Mark = field(repr=False)


Projects = dict[Path, Project]
"""The projects that have been opened, by path."""
_PROJECTS: pytest.StashKey[Projects] = pytest.StashKey()


def read_request(root: Path, arguments: dict[str, Any], projects: Projects) -> Request:
    """Return the checked arguments of a mark or a call; paths are relative to the root of the test suite.

    A project is opened once, and added to ``projects``.
    """
    for name in arguments:
        if name not in _NAMES:
            hint = did_you_mean(name, _NAMES) or f"; it has {', '.join(_NAMES)}"
            raise UsageError(f"there is no argument {name!r}{hint}")
    choices = dict(arguments)
    path = root / parse_path("golden", choices.pop("golden", "."))
    choices["policy"] = parse_policy(root, choices.get("policy"))
    if choices.get("baseline") is not None:
        choices["baseline"] = root / parse_path("baseline", choices["baseline"])
    if path not in projects:
        if not os.path.exists(path):  # noqa: PTH110 (pathlib raises an error if a name is too long)
            hint = f"paths are relative to pytest's root folder, which is {root}"
            raise InputError("no such file or folder", source=str(path), hint=hint)
        projects[path] = open_sound_project(path)
    choose_settings(projects[path], **choices)
    return Request(project=projects[path], choices=choices)


def read_rules(test: pytest.Item) -> list[Rule]:
    """Return the rules of a marked test: those of the policy, the operational ones first, then must-pass queries."""
    config = test.config
    try:
        mark = _find_mark(test)
        if len(mark.args) > 1 or (mark.args and "golden" in mark.kwargs):
            raise UsageError("the mark takes one folder")
        arguments = {**dict(zip(("golden",), mark.args, strict=False)), **mark.kwargs}
        request = read_request(config.rootpath, arguments, config.stash.setdefault(_PROJECTS, {}))
        names = list_names(project_policy(request.project, request.choices["policy"]))
    except KaratError as error:
        message = f"{describe_error(error)} ({test.nodeid})"
    else:
        return [Rule(name=name, request=request, mark=mark) for name in names]
    pytest.fail(message, pytrace=False)


def _find_mark(test: pytest.Item) -> pytest.Mark:
    """Return the nearest mark: that of a function overrides that of its class or module."""
    (nearest, mark), *others = test.iter_markers_with_node(MARK)
    if any(node is nearest for node, _ in others):
        raise UsageError("the mark is given twice (a class has those of its bases); write a test for each")
    return mark


def describe_error(error: KaratError) -> str:
    """Return the message of an error in one line, with control characters, which a system may print, escaped."""
    return show_message(f"karat: {escaped(' '.join(' '.join(error.lines).split()))}")


def show_message(text: str) -> str:
    """Return a message of one or more lines for pytest to print: no secrets, and nothing that a CI acts on."""
    return show_safely(hide_secrets(text))


def list_names(policy: Policy) -> list[str]:
    """Return the names of a policy's rules, without repetition: the operational ones first, as in every report.

    The rule on texts has no item of its own, which would be skipped wherever a system only retrieves: like all checks
    without one it counts for the first item.
    """
    off = {*policy.operations.off, "texts"}
    operations = (entry.name for entry in fields(policy.operations) if entry.name not in off)
    rules = (rule.name for rule in policy.rules)
    return list(dict.fromkeys([*operations, *rules, *map(_name_must, policy.must_pass)]))


def name_rule(check: Check) -> str:
    """Return the name of the rule that a check belongs to."""
    return _name_must(check) if check.query else _OPERATIONS.get(check.kind, check.name)


def _name_must(must: Must | Check) -> str:
    return f"must pass: {must.query} {must.metric}".rstrip()


def make_id(name: str) -> str:
    """Return the id of a rule in the name of an item, with characters that pytest does not change.

    >>> make_id("must pass: q-\u00fc"), make_id("must pass: q-%FC")
    ('must pass: q-%FC', 'must pass: q-%25FC')
    """
    safe = "".join(c if c.isascii() and c.isprintable() and c not in "\\%" else f"%{ord(c):X}" for c in name)
    return safe.replace("##", "#%23")  # a CI would take ##[word] in the log for a command


def find_rule(item: pytest.Function) -> Rule | None:
    """Return the rule of an item, or None if it has none."""
    rule = getattr(getattr(item, "callspec", None), "params", {}).get(PARAMETER)
    return rule if isinstance(rule, Rule) else None


def require_rule(item: pytest.Function) -> None:
    """Fail a marked test that was not split into its rules: it would pass whatever it returns."""
    rule = find_rule(item)
    own = [mark for node, mark in item.iter_markers_with_node(MARK) if node is item]
    if rule is not None and rule.mark is item.get_closest_marker(MARK) and len(own) <= 1:
        return
    if item.cls is not None and issubclass(item.cls, unittest.TestCase):
        reason = "a method of unittest.TestCase cannot have the mark; write a function, or a class without a base"
    else:
        reason = "the mark was added too late; put it on the function, its class or its module"
    pytest.fail(f"karat: {reason} ({item.nodeid})", pytrace=False)
