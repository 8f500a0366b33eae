"""The errors that karat raises, in one tree.

::

    KaratError              any mistake karat can explain; the CLI prints one message, exit code 2
    ├── InputError          a file or value that cannot be read: says which, where, and what to do
    ├── MeasureError        a measure that does not exist, or has parameters it does not take
    ├── UsageError          a call or command line that makes no sense
    ├── SystemFailed        the system under test, or what it runs on, failed; exit code 3
    └── GateFailed          a run does not pass its gate; exit code 1, or 4 if the decision is inconclusive

Any other exception is a bug in karat and shows its traceback.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_LONGEST = 100
"""Characters of a name for which a similar one is sought: the time grows with the product of their lengths."""


class KaratError(Exception):
    """A mistake that the user can correct; ``exit_code`` is what the CLI exits with."""

    exit_code = 2

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines to print: one, except for errors that quote a message of several lines."""
        return (str(self),)


class InputError(KaratError):
    """A file or value does not contain what it should.

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
    """A measure is unknown, or has parameters that it does not take."""


class UsageError(KaratError):
    """The call or the command line makes no sense."""


class SystemFailed(KaratError):
    """The system under test, or what it runs on, failed; the message quotes it."""

    exit_code = 3

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines to print: a message of several lines is quoted line by line."""
        return tuple(str(self).splitlines()) or ("",)


class GateFailed(KaratError):
    """A run does not pass its gate, so it may not ship or become the baseline."""

    exit_code = 1
    result: Any = None
    """The :class:`karat.GateResult` that ``karat.check`` would have returned, with the decision and the scores."""


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return ``", did you mean 'x'?"`` with the most similar names, or ``""`` if none is similar.

    >>> did_you_mean("ncdg", ["ndcg", "err"])
    ", did you mean 'ndcg'?"
    >>> did_you_mean("zzz", ["ndcg"])
    ''
    """
    similar = find_similar(word, names)
    return f", did you mean {' or '.join(map(repr, similar))}?" if similar else ""


def find_similar(word: str, names: Iterable[str]) -> list[str]:
    """Return the names that are most like a word, the most similar first, and at most three; none may be similar.

    >>> find_similar("ncdg", ["ndcg", "err"])
    ['ndcg']
    """
    if len(word) > _LONGEST:
        return []
    by_folded = {name.lower(): name for name in names if len(name) <= _LONGEST}
    import difflib  # takes milliseconds, and hardly any command needs it

    return [by_folded[name] for name in difflib.get_close_matches(word.lower(), by_folded, n=3, cutoff=0.6)]
