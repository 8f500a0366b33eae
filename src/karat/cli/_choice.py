"""A choice of names, with a suggestion for a misspelt one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import click

from karat.core import did_you_mean


class Choice(click.Choice[str]):
    """One of some names. ``aliases`` are other spellings, which the help does not list."""

    def __init__(self, choices: Iterable[str], aliases: Mapping[str, str] | None = None) -> None:
        super().__init__(choices)
        self.aliases = dict(aliases or {})

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name that a value stands for, or fail with the most similar name."""
        name = self.aliases.get(value, value)
        if name not in self.choices:
            near = did_you_mean(str(name), self.choices)
            self.fail(f"{name!r} is not one of {', '.join(map(repr, self.choices))}{near}", param, ctx)
        return str(name)
