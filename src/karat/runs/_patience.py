"""When asking on is of no use: the first questions all fail in the same way."""

from __future__ import annotations

import re

from karat.core import Trace

_READ = 1000  # characters of an error that are looked at: a service may answer with a page
_SHOWN = 60  # characters of an error that say what kind it is
_OF_THE_QUESTION = re.compile(r"""[\[{(<].*[\]})>]|'[^']*'|"[^"]*"|\W*\d+\W*""", re.DOTALL)
"""What errors of one kind quote: values, words and numbers of the question, or of what the system returned for it."""


class Patience:
    """Notices that nothing is answered, so that a service that is broken does not cost its time limit for each query.

    >>> patience = Patience(2)
    >>> [patience.ends_with(Trace(query=name, text="?", error="502 Bad Gateway")) for name in ("q1", "q1", "q2")]
    [False, False, True]
    """

    def __init__(self, most: int) -> None:
        """``most`` is how many queries may fail alike before any is answered; 0 for no limit."""
        self._most = most
        self._queries: set[str] = set()
        self._kind = ""

    def ends_with(self, trace: Trace) -> bool:
        """Return whether no other question should be asked after this one, whose wordings count once."""
        kind = _OF_THE_QUESTION.sub(" ", trace.error[:_READ])[:_SHOWN]
        if not kind or (self._kind and kind != self._kind):
            self._most = 0
        if not self._most:
            return False
        self._kind = kind
        self._queries.add(trace.query)
        return len(self._queries) >= self._most
