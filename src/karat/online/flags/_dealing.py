"""Changes of a flag that deal units anew: after one, those of before and those of after are not comparable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from karat.online.flags._changes import FlagChange
from karat.online.flags._flag import Flag

_PARTS: dict[str, Callable[[Flag], Any]] = {
    "rollout": lambda flag: flag.percent,
    "kill switch": lambda flag: flag.enabled,
    "variants": lambda flag: dict(flag.variants),
    "overrides": lambda flag: dict(flag.overrides),
    "salt": lambda flag: flag.salt or flag.key,
}


def list_new_deals(changes: Iterable[FlagChange]) -> Iterator[tuple[FlagChange, tuple[str, ...]]]:
    """Yield the changes after which a unit may get another variant, each with what changed.

    A flag that is new changes nothing, and neither does the share of the shadow.

    >>> old, new = Flag(key="rerank", percent=10), Flag(key="rerank", percent=10, salt="again")
    >>> change = FlagChange(version=2, time=1.0, author="ada", reason="why not", before=old, after=new)
    >>> [names for _, names in list_new_deals([change])]
    [('salt',)]
    """
    for change in changes:
        if change.before is not None:
            before, after = change.before, change.after
            parts = tuple(name for name, read in _PARTS.items() if read(before) != read(after))
            if parts:
                yield change, parts
