"""Rules of the linter: what they look at, what they return, and the table of them all."""

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
    """A problem that a rule found: what it is, where (ids), and how to fix it."""

    rule: str
    severity: Severity
    message: str
    where: tuple[str, ...] = ()
    """The ids that it is about; only the first few, where there are many."""
    every: tuple[str, ...] = ()
    """All of these ids."""
    count: int = 1
    """How many there are in all."""
    fix: str = ""
    voids: bool = False
    """Whether scores on the set are wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A golden set, with what is known about the index under test."""

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
    """A rule: its name, its severity, and the function that applies it, whose docstring is the reference."""

    name: str
    severity: Severity
    check: Check
    voids: bool = False
    """Whether scores on a set with such an error are wrong, and not only less useful; a finding may be harmless."""

    @property
    def text(self) -> str:
        """The docstring of the function: a sentence, then Why, Example and Fix."""
        return inspect.getdoc(self.check) or ""


RULES: dict[str, Rule] = {}


def rule(name: str, severity: Severity, *, voids: bool = False) -> Callable[[Check], Check]:
    """Return a decorator that adds a function to the table of rules.

    The function takes a :class:`Subject` and yields findings, which :func:`flag` makes. Its docstring has one sentence,
    then ``Why:``, ``Example:`` and ``Fix:``; ``karat golden check --explain`` shows it.
    ``voids`` marks an error that makes scores wrong: nothing is evaluated on a set with such an error.
    """

    def register(check: Check) -> Check:
        if name in RULES:
            raise ValueError(f"rule {name!r} is registered twice")
        RULES[name] = Rule(name=name, severity=severity, check=check, voids=voids)
        return check

    return register


def flag(
    name: str, message: str, ids: list[str] | tuple[str, ...] = (), *, fix: str = "", harmless: bool = False
) -> Finding:
    """Return a finding of a rule, with the rule's severity; ``ids`` are all that it is about.

    Without a ``fix`` the finding shows the one of the rule's docstring. One that is ``harmless`` leaves scores right,
    although others of its rule do not.
    """
    return Finding(
        rule=name,
        severity=RULES[name].severity,
        message=message,
        where=tuple(ids[:5]),
        every=tuple(ids),
        count=max(1, len(ids)),
        fix=fix,
        voids=RULES[name].voids and not harmless,
    )
