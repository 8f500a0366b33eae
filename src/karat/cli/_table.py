"""Whatever the command line prints: aligned tables, colours only on a terminal, and nothing from outside that acts.

Every verb prints by :func:`emit` and :func:`tell`, which no character of a terminal and no command of a CI gets past.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
from contextlib import suppress

import click

from karat.reports import COLOUR, PLAIN, Style, align, defuse, escaped, number, printable, quantity, show_safely

__all__ = [
    "bold",
    "coloured",
    "emit",
    "emit_data",
    "escaped",
    "number",
    "printable",
    "quantity",
    "render",
    "silence",
    "style",
    "tell",
]


_CI = ("CI", "GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD", "TEAMCITY_VERSION")
"""Variables that a CI sets, whose log may be read for commands."""


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


def tell(text: str, *, nl: bool = True, commands: bool = False) -> None:
    """Print a message of one or more lines on standard error, without secrets; see :func:`emit` for ``commands``.

    A message that cannot be printed, because its reader has gone or the disk is full, does not change the exit code.
    """
    from karat.net import hide_secrets

    with suppress(OSError):
        click.echo(show_safely(hide_secrets(text), commands=commands), nl=nl, err=True)


def emit(text: str, *, nl: bool = True, commands: bool = False) -> None:
    """Print a text or JSON on standard output, with a line end if ``nl``.

    What a terminal or a CI would act on is escaped as in JSON, so that JSON still means the same. With ``commands`` the
    lines are commands for a CI.
    """
    _print(show_safely(text, commands=commands, styled=style() is COLOUR), nl=nl)


def emit_data(data: str) -> None:
    """Print lines that another program reads, such as CSV, as they are.

    On a terminal they are escaped. In the log of a CI, lines that it might take for commands are refused.
    """
    if sys.stdout is not None and sys.stdout.isatty():
        emit(data, nl=False)
        return
    _refuse_commands(data)
    # As bytes, so that the output does not depend on the encoding and the line ends of the terminal.
    _print(data.encode("utf-8", "backslashreplace"), nl=False)


def _refuse_commands(data: str) -> None:
    from karat.core import UsageError

    on_ci = any(os.environ.get(name, "").lower() not in ("", "0", "false") for name in _CI)
    if on_ci and not _is_file() and (safe := defuse(data)) != data:
        pairs = zip(safe.split("\n"), data.split("\n"), strict=True)
        line = next(shown for shown, line in pairs if shown != line)
        raise UsageError(f"the CI would take a line of the output for a command: {printable(line)}; write it to a file")


def _is_file() -> bool:
    """Whether standard output is a file, which no CI reads."""
    try:
        return stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode)
    except (AttributeError, OSError, ValueError):  # none, closed, or not a stream of the system
        return False


def _print(text: str | bytes, *, nl: bool) -> None:
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
