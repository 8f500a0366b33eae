"""Plain-text output: aligned tables, colours only on a terminal, and no control characters from input."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from karat.reports import COLOUR, PLAIN, Style, align, escaped, number, printable, quantity

__all__ = [
    "bold",
    "coloured",
    "emit",
    "escaped",
    "escaped_lines",
    "number",
    "printable",
    "quantity",
    "render",
    "silence",
    "style",
]


def escaped_lines(text: str) -> str:
    """Return a text of several lines with each line escaped."""
    return "\n".join(map(escaped, text.rstrip("\n").split("\n")))


def style() -> Style:
    """Return the style of standard output: colours on a terminal, unless NO_COLOR is set."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    return COLOUR if is_terminal and not os.environ.get("NO_COLOR") else PLAIN


def bold(text: str) -> str:
    """Return text in bold if standard output shows colours."""
    return style().bold(text)


def coloured(text: str, colour: str) -> str:
    """Return text in red, green or yellow if standard output shows colours."""
    paint = {"red": style().red, "green": style().green, "yellow": style().yellow}[colour]
    return paint(text)


def render(rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Return aligned columns: the first ``left`` of them to the left, all others to the right; the first row is bold.

    >>> print(render([["measure", "run"], ["nDCG@10", "0.5"]]))
    measure  run
    nDCG@10  0.5
    """
    head, *lines = align(rows, left=left)
    return "\n".join([bold(head), *lines])


def emit(text: str | bytes, *, nl: bool = True) -> None:
    """Print a result on standard output, with a line end if ``nl``."""
    from karat.core import InputError

    try:
        click.echo(text, nl=nl)
    except BrokenPipeError:
        silence()  # the reader (head, less) has closed the pipe; the exit code is that of the whole output
    except OSError as error:
        silence()
        raise InputError(f"cannot be written: {error.strerror}", source="standard output") from None


def silence() -> None:
    """Send to nowhere what Python still holds for a standard output that takes no more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
