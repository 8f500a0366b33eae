"""Which sessions a trial has measured, whatever log they are in: by digests, so that no session is named."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

_BYTES = 8


class SessionMark(NamedTuple):
    """Identifies a session that another log may have, too."""

    session: bytes
    """A digest of its id."""
    records: bytes
    """A digest of the ids of its records: another one means that the logs have different parts of it."""


def mark_session(trial: str, session: str, records: Iterable[str]) -> SessionMark:
    """Return the mark of a session in a trial; in another trial it has another one.

    >>> first, again = (mark_session("trial", "ann", ids) for ids in (["q1", "q2"], ["q2", "q1"]))
    >>> first == again, first.session == mark_session("other", "ann", ["q1"]).session
    (True, False)
    """
    listed = "\n".join(sorted(records))
    return SessionMark(_digest(trial, session), _digest(trial, listed))


def _digest(trial: str, text: str) -> bytes:
    return blake2b(f"{trial}\0{text}".encode(errors="surrogatepass"), digest_size=_BYTES).digest()
