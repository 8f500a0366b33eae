"""A flag: the share of units that get a feature, and which variant of it each gets."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from types import MappingProxyType

from karat.core import UsageError, is_number, shorten
from karat.online.flags._murmur import BUCKETS, find_bucket

CONTROL = "control"
"""The variant of units without the feature."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}", re.ASCII)
_LONGEST_UNIT = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """Who gets a feature. A unit is a session or a user; the same one always gets the same.

    >>> flag = Flag(key="rerank", percent=10, overrides={"tester": "treatment"})
    >>> flag.assign("tester"), flag.assign("session-1"), flag.assign("session-13")
    ('treatment', 'control', 'treatment')
    """

    key: str
    percent: float = 0.0
    """The share of units that get the feature, in steps of 0.01. Whoever has it keeps it when the share grows."""
    variants: Mapping[str, int] = field(default_factory=lambda: {"treatment": 1})
    """The variants of the feature, by their weights."""
    overrides: Mapping[str, str] = field(default_factory=dict)
    """Variants of single units, such as testers, whatever the share is."""
    enabled: bool = True
    """The kill switch: if False, everybody gets the control, overrides or not, and nothing runs in the shadow."""
    shadow_percent: float = 0.0
    """The share of units for which the feature runs in the shadow, in steps of 0.01."""
    salt: str = ""
    """What deals the units; the key, if it is empty. Flags with the same salt give the feature to the same units."""
    _steps: tuple[tuple[int, str], ...] = field(init=False, repr=False, compare=False)
    """For each variant the bucket below which it is chosen."""
    _limit: int = field(init=False, repr=False, compare=False)
    """The bucket below which the units get the feature."""
    _dealer: str = field(init=False, repr=False, compare=False)
    """The salt, or the key."""

    def __post_init__(self) -> None:
        _check_name("key", self.key)
        if self.salt:
            _check_name("salt", self.salt)
        for name, percent in (("percent", self.percent), ("shadow_percent", self.shadow_percent)):
            _check_percent(f"{name} of flag {self.key!r}", percent)
        _check_variants(self)
        total = sum(self.variants.values())
        ends = (BUCKETS * weight / total for weight in accumulate(self.variants.values()))
        object.__setattr__(self, "_steps", tuple(zip(map(round, ends), self.variants, strict=True)))
        object.__setattr__(self, "_limit", round(self.percent * (BUCKETS // 100)))  # 0.29 * 100 is a little below 29
        object.__setattr__(self, "_dealer", self.salt or self.key)
        object.__setattr__(self, "variants", MappingProxyType(dict(self.variants)))
        object.__setattr__(self, "overrides", MappingProxyType(dict(self.overrides)))

    def assign(self, unit: str) -> str:
        """Return the variant of a unit: that of the feature, or the control."""
        if not self.enabled:
            return CONTROL
        if unit in self.overrides:
            return self.overrides[unit]
        limit = self._limit
        if limit < BUCKETS and (not limit or find_bucket(self._dealer, unit) >= limit):  # nothing to hash for nobody
            return CONTROL
        if len(self._steps) == 1:
            return self._steps[0][1]
        bucket = find_bucket(f"{self._dealer}/variant", unit)
        return next(name for end, name in self._steps if bucket < end)

    def is_shadowed(self, unit: str) -> bool:
        """Return whether the calls of a unit also run with the feature in the shadow."""
        return self.enabled and _is_below(self.shadow_percent, f"{self._dealer}/shadow", unit)


def _is_below(percent: float, salt: str, unit: str) -> bool:
    """Return whether the bucket of a unit lies in the share; nothing has to be hashed for nobody and for everybody."""
    if not 0 < percent < 100:
        return percent > 0
    return find_bucket(salt, unit) < percent * (BUCKETS // 100) - 1e-6  # 0.29 * 100 is a little below 29


def _check_name(what: str, name: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UsageError(f"{what} {name!r} of a flag should have letters, digits and _ . : - only, up to 100 of them")


def _check_percent(what: str, percent: float) -> None:
    if not is_number(percent) or not 0 <= percent <= 100 or not _is_step(percent * (BUCKETS // 100)):
        raise UsageError(f"{what} is {percent}; use a number from 0 to 100, in steps of {100 / BUCKETS:g}")


def _is_step(value: float) -> bool:
    return math.isclose(value, round(value), abs_tol=1e-6)


def _check_variants(flag: Flag) -> None:
    for name, values in (("variants", flag.variants), ("overrides", flag.overrides)):
        if not isinstance(values, Mapping):
            raise UsageError(f"flag {flag.key!r}: {name}={shorten(values)} is not a mapping")
    if not flag.variants:
        raise UsageError(f"flag {flag.key!r} has no variant")
    for name, weight in flag.variants.items():
        _check_name("variant", name)
        if name == CONTROL:
            raise UsageError(f"flag {flag.key!r}: {CONTROL!r} is who does not get the feature, and no variant of it")
        if type(weight) is not int or not 0 < weight <= BUCKETS:
            raise UsageError(
                f"flag {flag.key!r}: weight {weight!r} of {name!r} is not a whole number up to {BUCKETS:,}"
            )
    for unit, name in flag.overrides.items():
        if name != CONTROL and name not in flag.variants:
            raise UsageError(
                f"flag {flag.key!r}: override {name!r} is not one of {', '.join((CONTROL, *flag.variants))}"
            )
        if not 0 < len(unit) <= _LONGEST_UNIT:
            raise UsageError(f"flag {flag.key!r}: a unit should have 1 to {_LONGEST_UNIT:,} letters")
