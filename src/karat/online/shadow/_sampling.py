"""Which calls are compared: always those of the same sessions, or the same queries."""

from __future__ import annotations

from collections.abc import Callable

from karat.core import UsageError, is_number
from karat.online.flags import BUCKETS, LiveFlags, find_bucket

Chooser = Callable[[str], float]
"""A function that returns how many units one that is chosen stands for, and 0 for one that is not."""


def make_chooser(feature: str, percent: float) -> Chooser:
    """Return a function that chooses a percentage of units, always the same ones.

    The salt is that of shadow runs of this feature, so that who is in the shadow does not depend on who gets the
    feature, or another one.
    """
    if not is_number(percent) or not (percent == 0 or 100 / BUCKETS <= percent <= 100):
        raise UsageError(f"percent={percent!r} is not between {100 / BUCKETS:g} and 100, or 0 for none")
    limit, salt = round(percent * BUCKETS / 100), f"{feature}/shadow"
    if limit >= BUCKETS:
        return lambda _: 1.0
    if limit == 0:
        return lambda _: 0.0
    weight = 100 / percent
    return lambda unit: weight if find_bucket(salt, unit) < limit else 0.0


def follow_flag(flags: LiveFlags, feature: str) -> Chooser:
    """Return a function that chooses as the flag of a feature says at that moment; none without such a flag."""

    def choose(unit: str) -> float:
        flag = flags.get(feature)
        return 100 / flag.shadow_percent if flag is not None and flag.is_shadowed(unit) else 0.0

    return choose
