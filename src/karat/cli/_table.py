"""Plain tables: aligned text, colours only on a terminal, nothing that a script could trip over."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def colours() -> bool:
    """Say whether colours may be used: on a terminal, unless NO_COLOR is set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def bold(text: str) -> str:
    """Make text bold where colours may be used."""
    return f"\x1b[1m{text}\x1b[0m" if colours() else text


def render(rows: Sequence[Sequence[str]]) -> str:
    """Align columns: the first to the left, all others to the right; the first row is the head.

    >>> print(render([["measure", "run"], ["nDCG@10", "0.5"]]))
    measure  run
    nDCG@10  0.5
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for number, row in enumerate(rows):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        line = "  ".join(cells).rstrip()
        lines.append(bold(line) if number == 0 else line)
    return "\n".join(lines)


def printable(text: str, width: int = 40) -> str:
    r"""Show an id from a file: control characters escaped, long ones cut.

    >>> printable("a\x1b[31m")
    'a\\x1b[31m'
    """
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return safe if len(safe) <= width else safe[: width - 3] + "..."
