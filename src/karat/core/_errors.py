"""What can go wrong, in one tree.

::

    KaratError              any mistake karat can explain; the CLI prints one message, exit code 2
    ├── InputError          a file or value that cannot be read: says which, where, and what to do
    ├── MeasureError        a measure that does not exist, or with parameters it does not take
    ├── UsageError          a call or command line that makes no sense
    └── SystemFailed        the system under test, or what it runs on, failed; exit code 3

Everything else that is raised is a bug in karat and shows its traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class KaratError(Exception):
    """A mistake that the user can mend; ``exit_code`` is what the CLI returns for it."""

    exit_code = 2

    @property
    def lines(self) -> tuple[str, ...]:
        """What to print, a line each; only an error that holds several has more than one."""
        return (str(self),)


class InputError(KaratError):
    """Something that was read does not hold what it should.

    >>> print(InputError("score 'x' is not a number", source="run.txt", line=3, hint="use a decimal number"))
    run.txt, line 3: score 'x' is not a number; use a decimal number
    """

    def __init__(self, what: str, *, source: str = "", line: int | None = None, hint: str = "") -> None:
        where = ", ".join(part for part in (source, f"line {line}" if line is not None else "") if part)
        super().__init__(f"{where + ': ' if where else ''}{what}{'; ' + hint if hint else ''}")
        self.what = what
        self.source = source
        self.line = line
        self.hint = hint


class MeasureError(KaratError):
    """A measure is unknown, or was given parameters that it does not take."""


class UsageError(KaratError):
    """The call or the command line makes no sense."""


class SystemFailed(KaratError):
    """The system under test, or what it runs on, failed: its own words say how."""

    exit_code = 3

    @property
    def lines(self) -> tuple[str, ...]:
        """What to print: a backend that says several lines is quoted line by line."""
        return tuple(str(self).splitlines()) or ("",)


class GateFailed(KaratError):
    """A run does not pass its gate, and so what was asked for is not done."""

    exit_code = 1


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``", did you mean 'x'?"`` for the nearest known words, or nothing.

    >>> did_you_mean("ncdg", ["ndcg", "err"])
    ", did you mean 'ndcg'?"
    >>> did_you_mean("zzz", ["ndcg"])
    ''
    """
    by_folded = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), by_folded, n=3, cutoff=0.6)
    return f", did you mean {' or '.join(repr(by_folded[name]) for name in near)}?" if near else ""
