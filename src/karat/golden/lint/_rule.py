"""What a rule of the linter is, and the table that all rules are in."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from karat.core import Document, GoldenSet

Severity = Literal["error", "warning"]
Profile = Literal["small", "agent", "structured"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that a rule found: what, where (ids), and how to mend it."""

    rule: str
    severity: Severity
    message: str
    where: tuple[str, ...] = ()
    """The ids it is about; the first few, where there are many."""
    count: int = 1
    """How many there are in all."""
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What the rules look at."""

    golden: GoldenSet
    profile: Profile | None = None
    index: frozenset[str] | None = None
    """The ids that the index under test holds, where they are known."""
    chunks: tuple[Document, ...] = ()
    """The chunks that the index under test was built from, where they are known."""
    languages: frozenset[str] = frozenset()
    """The languages that texts may have; empty for any."""


Check = Callable[[Subject], Iterator[Finding]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule: its name, how bad it is, and the function that looks; its docstring is the reference."""

    name: str
    severity: Severity
    check: Check

    @property
    def text(self) -> str:
        """What it says of itself: a sentence, then Why, Example and Fix."""
        return inspect.getdoc(self.check) or ""


RULES: dict[str, Rule] = {}


def rule(name: str, severity: Severity) -> Callable[[Check], Check]:
    """Add the decorated function to the table."""

    def register(check: Check) -> Check:
        if name in RULES:
            raise ValueError(f"rule {name!r} is registered twice")
        RULES[name] = Rule(name=name, severity=severity, check=check)
        return check

    return register


def found(name: str, message: str, ids: list[str] | tuple[str, ...] = (), *, fix: str = "") -> Finding:
    """Make a finding of a rule, about all of these ids."""
    return Finding(
        rule=name,
        severity=RULES[name].severity,
        message=message,
        where=tuple(ids[:5]),
        count=max(1, len(ids)),
        fix=fix,
    )
