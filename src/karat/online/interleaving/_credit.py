"""What a session says about two systems: one number, because its clicks are not independent."""

from __future__ import annotations

from collections.abc import Iterable

from karat.core import UsageError
from karat.online.interleaving._draft import Interleaved


def compare_session(pages: Iterable[tuple[Interleaved, Iterable[str]]], treatment: str, control: str) -> float:
    """Return by how much a session prefers the treatment, from -1 to 1; 0 if it prefers neither.

    A page is a list that was shown, with the documents that were chosen from it. The difference of the two systems'
    credits over all pages is divided by their sum, so that no session counts for more than another. It is what
    :class:`karat.stats.sequential.Tally` takes.

    >>> shown = Interleaved(systems=("new", "old"), documents=("a", "b", "c"), teams=("new", "old", "new"))
    >>> compare_session([(shown, ["a", "c"]), (shown, ["b"])], "new", "old")
    0.3333333333333333
    """
    wins = losses = 0
    for shown, chosen in pages:
        missing = {treatment, control} - set(shown.systems)
        if missing:
            raise UsageError(f"system {min(missing)!r} has no part in a list of {', '.join(shown.systems)}")
        earned = shown.credit(chosen)
        wins += earned[treatment]
        losses += earned[control]
    return (wins - losses) / (wins + losses) if wins + losses else 0.0
