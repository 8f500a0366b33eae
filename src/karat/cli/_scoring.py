"""The options that say how runs are scored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from karat.config import CHOICES, SCORING

_HELP = {
    "unit": "What counts as found: whole documents, or the judged parts of them.",
    "undefined": "How to score a query for which a measure is undefined.",
    "ids": "How ids of hits name documents and parts.",
    "min_score": "Hits with a lower score count as not returned.",
}


def scoring_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add an option for each key of ``[eval]`` that says how runs are scored; None means that it was not given."""
    for name in reversed(tuple(SCORING)):
        default = "that of karat.toml" + (f", or {SCORING[name]}" if name in CHOICES else "")  # type: ignore[literal-required]
        command = click.option(
            f"--{name.replace('_', '-')}",
            type=click.Choice(CHOICES[name]) if name in CHOICES else float,
            default=None,
            help=f"{_HELP[name]}  [default: {default}]",
        )(command)
    return command


def pop_scoring(options: dict[str, Any]) -> dict[str, Any]:
    """Remove the options of scoring from those of a command, and return them."""
    return {name: options.pop(name) for name in SCORING}
