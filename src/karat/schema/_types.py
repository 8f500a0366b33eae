"""Types that the documents share."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=0)]
Rank = Annotated[int, Meta(ge=1)]
Number = int | float
"""A number as it was written: a limit of 500 stays 500."""
Score = Annotated[Number | None, Meta(description="null where there is nothing to measure.")]
Day = Annotated[str, Meta(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]


class SystemChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part in which two systems differ, as a dotted key with both values; null where a system has no such part."""

    key: str
    now: Any
    was: Any

    @property
    def part(self) -> str:
        """The name of the part in a sentence: the hash of source code stands for the code.

        >>> SystemChange(key="source", now="1111111", was="0000000").part
        'the code of the system'
        """
        part, _, last = self.key.rpartition(".")
        if last == "source":
            return f"the code of {part or 'the system'}"
        return "the system" if self.key == "system" else self.key
