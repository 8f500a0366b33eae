"""Plain-text output: aligned tables, colours only on a terminal, and no control characters from input."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click


def colours() -> bool:
    """Return whether to use colours: on a terminal, unless NO_COLOR is set."""
    return sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def bold(text: str) -> str:
    """Return text in bold, if colours are used."""
    return f"\x1b[1m{text}\x1b[0m" if colours() else text


_COLOURS = {"red": 31, "green": 32, "yellow": 33}


def coloured(text: str, colour: str) -> str:
    """Return text in red, green or yellow, if colours are used."""
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if colours() else text


def render(rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Return a table: the first ``left`` columns are aligned left, the others right; the first row is the header.

    >>> print(render([["measure", "run"], ["nDCG@10", "0.5"]]))
    measure  run
    nDCG@10  0.5
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join([bold(lines[0]), *lines[1:]])


def number(value: float | None) -> str:
    """Return a score with four digits, or a dash for a missing one.

    >>> number(0.61914), number(None)
    ('0.6191', '-')
    """
    return "-" if value is None or value != value else f"{value:.4f}"


def quantity(value: float | None) -> str:
    """Return a score or milliseconds for one column: four digits below 10, one above.

    >>> quantity(0.61914), quantity(123.456)
    ('0.6191', '123.5')
    """
    return number(value) if value is None or not abs(value) >= 10 else f"{value:.1f}"


def printable(text: str, width: int = 40) -> str:
    r"""Return an id for display: control characters are escaped, and a long id is shortened in the middle.

    >>> printable("a\x1b[31m")
    'a\\x1b[31m'
    >>> printable("https://example.org/a/long/path/to/document/17")
    'https://example.or...path/to/document/17'
    """
    safe = escaped(text if len(text) <= width else text[:width] + text[-width:])
    head, tail = width // 2 - 2, width - width // 2 - 1
    return safe if len(safe) <= width else f"{safe[:head]}...{safe[-tail:]}"


def escaped(text: str) -> str:
    r"""Return text with control characters escaped, so that it cannot act on a terminal.

    >>> escaped("two\nlines")
    'two\\nlines'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def emit(text: str | bytes, *, nl: bool = True) -> None:
    """Print a result on standard output, with a line end if ``nl``."""
    from karat.core import InputError

    try:
        click.echo(text, nl=nl)
    except BrokenPipeError:
        raise
    except OSError as error:
        silence()
        raise InputError(f"cannot be written: {error.strerror}", source="standard output") from None


def silence() -> None:
    """Discard what Python still buffers for a standard output that is closed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
