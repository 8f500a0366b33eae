"""Causes: why a query lost relevant documents, one function each, and the table of them all."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass

from karat.causes._case import Case
from karat.causes._lab import Lab

PROVEN = 0.6
"""The least strength of a defect that was seen, such as a document that the index lacks: it is there, however little of
the loss it explains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What speaks for a cause in one query."""

    strength: float
    """The share of the loss that it explains, from 0 to 1, as far as it is known."""
    text: str


Check = Callable[[Case, Lab], Evidence | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A cause: its name, its title, and the function that looks for it, whose docstring is the reference."""

    name: str
    title: str
    check: Check

    @property
    def sections(self) -> dict[str, str]:
        """The parts of the docstring: Summary, Why, Evidence, Example and Fix."""
        parts = {"Summary": ""}
        name = "Summary"
        for line in (inspect.getdoc(self.check) or "").splitlines():
            head, colon, rest = line.partition(": ")
            if colon and head in ("Why", "Evidence", "Example", "Fix"):
                name, line = head, rest
            parts[name] = f"{parts.get(name, '')} {line.strip()}".strip()
        return parts

    @property
    def fix(self) -> str:
        """What to do about it."""
        return self.sections["Fix"].rstrip(".")


CAUSES: dict[str, Cause] = {}
"""The causes by name."""


def cause(name: str, title: str) -> Callable[[Check], Check]:
    """Return a decorator that adds a function to the table of causes.

    The function takes a query and the lab, and returns its evidence, or None. Its docstring has one sentence, then
    ``Why:``, ``Evidence:``, ``Example:`` and ``Fix:``.
    """

    def register(check: Check) -> Check:
        if name in CAUSES:
            raise ValueError(f"cause {name!r} is registered twice")
        CAUSES[name] = Cause(name=name, title=title, check=check)
        return check

    return register


def prove(share: float, text: str) -> Evidence:
    """Return the evidence of a defect that was seen, and that explains a share of the loss."""
    return Evidence(strength=PROVEN + (1 - PROVEN) * min(1.0, max(0.0, share)), text=text)
