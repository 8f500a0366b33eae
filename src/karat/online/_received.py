"""What a receiver of spans has counted, and what waits in its buffer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from karat.schema import OnlineReceived
from karat.store import open_span_buffer

RECEIVED = "otel-"
"""How the ids of records begin that were received."""


def read_received(base: Path) -> OnlineReceived | None:
    """Return what was received for a log, whose files have names that begin with ``base``; None if nothing was."""
    buffer = open_span_buffer(base)
    if buffer is None:
        return None
    try:
        counts, (waiting, _) = buffer.counts(), buffer.waiting()
    finally:
        buffer.close()
    return OnlineReceived(
        spans=counts.get("accepted", 0),
        waiting=waiting,
        ignored=_strip(counts, "ignored."),
        refused=_strip(counts, "refused."),
        **{
            name: counts.get(name, 0)
            for name in (
                "queries", "events", "repeated", "late", "early", "unlinked", "documents_by_text",
                "documents_without_id",
            )
        },
    )  # fmt: skip


def _strip(counts: Mapping[str, int], prefix: str) -> dict[str, int]:
    return {name.removeprefix(prefix): count for name, count in counts.items() if name.startswith(prefix)}


def list_received_sessions(base: Path, users: Iterable[str]) -> set[str]:
    """Return the sessions of users in the buffer of a log."""
    buffer = open_span_buffer(base)
    if buffer is None:
        return set()
    try:
        return {session for user in users for session in buffer.sessions(user)}
    finally:
        buffer.close()


def forget_received(base: Path, ids: frozenset[tuple[str, str]]) -> tuple[int, bool]:
    """Remove the spans of sessions and users from the buffer of a log; return how many, and whether no byte is left."""
    buffer = open_span_buffer(base, write=True, make=False)
    if buffer is None:
        return 0, True
    try:
        with buffer.transaction():
            count = sum(buffer.forget(column, value) for column, value in ids)
        return count, buffer.compact()
    finally:
        buffer.close()
