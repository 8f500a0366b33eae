"""Which documents a treatment shows more, and which less."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from karat.online._shadow_records import ANSWERED, LoggedShadow
from karat.schema.shadow import ShadowMover


@dataclass(slots=True)
class _Moves:
    movement: float = 0.0
    up: int = 0
    down: int = 0
    entered: int = 0
    left: int = 0


def find_movers(runs: Iterable[LoggedShadow], shown: int) -> tuple[tuple[ShadowMover, ...], tuple[ShadowMover, ...]]:
    """Return the documents that gain most and those that lose most, down to the rank at which lists are compared.

    A place is worth 1 / log2(rank + 1), as in DCG, and nothing below the last rank.
    """
    moves: dict[str, _Moves] = {}
    for run in runs:
        if run.status == ANSWERED and run.lists and run.control[: run.k] != run.treatment[: run.k]:
            _add(moves, run)
    rows = [
        ShadowMover(document=name, movement=m.movement, up=m.up, down=m.down, entered=m.entered, left=m.left)
        for name, m in moves.items()
    ]
    rising = sorted((row for row in rows if row.movement > 0), key=lambda row: (-row.movement, row.document))
    falling = sorted((row for row in rows if row.movement < 0), key=lambda row: (row.movement, row.document))
    return tuple(rising[:shown]), tuple(falling[:shown])


def _add(moves: dict[str, _Moves], run: LoggedShadow) -> None:
    before = {name: rank for rank, name in enumerate(run.control[: run.k], 1)}
    after = {name: rank for rank, name in enumerate(run.treatment[: run.k], 1)}
    for name in before | after:
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        own = moves.setdefault(name, _Moves())
        own.movement += _value(new) - _value(old)
        if old is None or new is None:
            own.entered += old is None
            own.left += new is None
        else:
            own.up += new < old
            own.down += new > old


def _value(rank: int | None) -> float:
    return 0.0 if rank is None else 1 / math.log2(rank + 1)
