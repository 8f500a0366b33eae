"""How far a trial has read a log, and which sessions of it still wait to be compared."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from karat.core import InputError
from karat.store import Store

LOG, FILE = "log", "file"
"""Where what was measured comes from."""
ORIGIN = "origin:"
"""The series that counts sessions by where they come from begins with this."""


class LogPosition(Struct, frozen=True, kw_only=True):
    """How far a trial has read a log. It names no session."""

    until: float
    """Sessions that were over by then were measured."""
    keys: tuple[int, int, int] = (0, 0, 0)
    """The rows that had arrived by then: queries, events, shadow runs."""
    waiting: dict[str, dict[str, list[float]]] = {}
    """By measure and variant, what sessions came to that are not compared with any of the other variant yet."""
    over: int = 0
    late: int = 0
    """Sessions of which something was recorded after they had been measured: it is left out."""
    mixed: int = 0
    """Sessions that got more than one variant; they count for the one that they got first."""
    before: int = 0
    """Sessions that had begun before the trial, and are left out."""
    unreadable: int = 0
    """Sessions whose variants cannot be read, or are not in the plan; they are left out."""
    repeated: int = 0
    """Sessions that were measured in another log, by the same records; they are left out."""
    units: dict[str, int] = {}
    """By variant, the sessions that were measured."""
    skew: float = 0.0
    """The most standard deviations that their numbers were ever away from what was planned."""
    deals: tuple[str, ...] = ()
    """Changes of the feature's flag in the log's own store, since the trial started, that dealt sessions anew."""


def read_positions(store: Store, trial: int) -> dict[str, LogPosition]:
    """Return how far each log was read, by its id."""
    return {log: decode_position(row[1], store) for log, row in store.trials.logs(trial).items()}


def decode_position(state: str, store: Store) -> LogPosition:
    """Return the position that a store has as JSON."""
    try:
        return msgspec.json.decode(state, type=LogPosition)
    except msgspec.MsgspecError as error:
        raise InputError(f"how far a log was read cannot be read: {error}", source=store.place) from None
