"""Text for a terminal: aligned tables, styles, and text of unknown origin that cannot act."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_COMMAND = re.compile(r"(?<=#)#(?=\w*\[)|(?<=section_start):(?=\d)|(?<=section_end):(?=\d)")
_COMMAND_LINE = re.compile(r"(?m)^([^\S\n]*:):")
_ACTING = re.compile(r"[^ -~\n\t]")
_STYLE = re.compile("(\x1b\\[(?:0|1|31|32|33)m)")


def _unstyled(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How text is emphasised; by default it is not."""

    bold: Callable[[str], str] = _unstyled
    red: Callable[[str], str] = _unstyled
    green: Callable[[str], str] = _unstyled
    yellow: Callable[[str], str] = _unstyled


PLAIN = Style()


def _escape_sequence(code: int) -> Callable[[str], str]:
    return lambda text: f"\x1b[{code}m{text}\x1b[0m"


COLOUR = Style(
    bold=_escape_sequence(1), red=_escape_sequence(31), green=_escape_sequence(32), yellow=_escape_sequence(33)
)


def align(rows: Sequence[Sequence[str]], *, left: int = 1) -> list[str]:
    r"""Return rows as lines with aligned columns: the first ``left`` columns to the left, all others to the right.

    >>> print(*align([["measure", "run"], ["nDCG@10", "0.5"]]), sep="\n")
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
    return lines


def number(value: float | None) -> str:
    """Return a score with four digits, or a dash if there is none.

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
    r"""Return an id from a file with control characters escaped, and a long one as its beginning and end.

    >>> printable("a\x1b[31m")
    'a\\x1b[31m'
    >>> printable("https://example.org/a/long/path/to/document/17")
    'https://example.or...path/to/document/17'
    """
    safe = escaped(text if len(text) <= width else text[:width] + text[-width:])
    head, tail = width // 2 - 2, width - width // 2 - 1
    return safe if len(safe) <= width else f"{safe[:head]}...{safe[-tail:]}"


def escaped(text: str) -> str:
    r"""Return text of unknown origin with every character escaped that a terminal might act on.

    >>> escaped("two\nlines")
    'two\\nlines'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def defuse(text: str, *, commands: bool = False) -> str:
    r"""Return text in which no CI finds a command, whatever the text quotes.

    GitHub, Azure, GitLab and TeamCity read commands from the log of a job, such as one that switches all others off.
    What they look for is escaped as JSON escapes it, so that JSON still means the same. With ``commands`` a line may
    begin with ``::``: it is an annotation, in which nothing can begin another one.

    >>> print(defuse("##[add-mask]pool ##vso[task.setvariable]x\n  ::stop-commands::y, and a::b"))
    #\u0023[add-mask]pool #\u0023vso[task.setvariable]x
      :\u003astop-commands::y, and a::b
    """
    if ("#" in text and "##" in text) or "section_" in text:  # as in few texts, and long ones take long
        text = _COMMAND.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    if commands or not ("\n" in text or _COMMAND_LINE.match(text)):
        return text
    return _COMMAND_LINE.sub(r"\1\\u003a", text)


def show_safely(text: str, *, commands: bool = False, styled: bool = False) -> str:
    r"""Return lines for a terminal or a log: nothing in them can act on it.

    Characters that do not print are escaped as JSON escapes them, but for line ends, and for the styles if it is
    ``styled``.

    >>> print(show_safely("a\x1b[2J\u202e::b\n::c"))
    a\u001b[2J\u202e::b
    :\u003ac
    """
    if text.isprintable():  # as JSON on one line is, which may be long
        return defuse(text, commands=commands)
    parts = _STYLE.split(text) if styled else [text]
    safe = [part if place % 2 else _ACTING.sub(_escape_acting, part) for place, part in enumerate(parts)]
    return defuse("".join(safe), commands=commands)


def _escape_acting(match: re.Match[str]) -> str:
    return match[0] if match[0].isprintable() else json.dumps(match[0])[1:-1]
