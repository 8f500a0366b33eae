"""Paths of names and numbers with dots between them, which lead into what a service returned."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from karat.core import SystemFailed, UsageError, shorten
from karat.net import find_message

_PLACE = re.compile("[0-9]{1,9}")  # of an item in a list
_MOST_KEYS = 20  # listed in a message
MISSING = object()
"""What is at the end of a path that leads nowhere."""


class HitReader:
    """Reads hits by paths: ``hits`` leads from an answer to their list, and ``paths`` into a hit, each by its name.

    Each path of ``required`` has to lead somewhere; if there are none, one of ``id`` and ``document`` has to.

    >>> HitReader({"id": "chunk.id"}, hits="data").read({"data": [{"chunk": {"id": "wifi:chunk:0"}}]})
    [{'id': 'wifi:chunk:0'}]
    """

    def __init__(
        self,
        paths: Mapping[str, str],
        *,
        hits: str = "",
        required: Iterable[str] = (),
        redact: Callable[[str], str] = str,
    ) -> None:
        self._paths = {name: path for name, path in paths.items() if path}
        self._required = tuple(required)
        self._hits, self._redact = hits, redact
        self._worked = False

    def read(self, response: Any) -> list[dict[str, Any]]:
        """Return the hits of an answer as records.

        If a path leads nowhere, UsageError lists the keys that are there. Once an answer with hits was read the paths
        are right, and such an answer is a failure of the service: SystemFailed.
        """
        hits = follow(response, self._hits) if self._hits else response
        if not isinstance(hits, list):
            if message := find_message(response):
                raise SystemFailed(self._redact(f"the service answered with an error: {message}"))
            there = describe_missing(response, self._hits)
            message = f"the answer has no list of hits at hits = {shorten(self._hits)}: {there}"
            if isinstance(response, list):
                message += ', which is the list of hits if you set hits = ""'
            raise self._mistake(message)
        records = [self._read_hit(hit, rank) for rank, hit in enumerate(hits, 1)]
        self._worked = self._worked or bool(records)
        return records

    def _read_hit(self, hit: Any, rank: int) -> dict[str, Any]:
        if isinstance(hit, str | int) and not isinstance(hit, bool):
            return {"id": hit}
        record = {name: follow(hit, path) for name, path in self._paths.items()}
        missing = [name for name in self._required if record[name] is None]
        if not self._required and record.get("id") is None and record.get("document") is None:
            missing = ["id", *(["document"] if "document" in self._paths else [])]  # one of them would do
        elif missing:
            missing = missing[:1]
        if missing:
            paths = [self._paths.get(name, "") for name in missing]
            places = " or ".join(f"{name} = {shorten(path)}" for name, path in zip(missing, paths, strict=True))
            raise self._mistake(f"hit {rank} has nothing at {places}: {describe_missing(hit, paths[-1])}")
        return {name: value for name, value in record.items() if value is not None}

    def _mistake(self, message: str) -> UsageError | SystemFailed:
        message = self._redact(message)
        return SystemFailed(message) if self._worked else UsageError(f"[system] {message}; correct the path")


def follow(value: Any, path: str) -> Any:
    """Return the value at a path of names and numbers, or None if the path leads nowhere."""
    part = find(value, path)
    return None if part is MISSING else part


def find(value: Any, path: str) -> Any:
    """Return the value at a path, which may be None, or MISSING if the path leads nowhere."""
    for part in path.split("."):
        value = _step(value, part)
    return value


def _step(value: Any, part: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(part, MISSING)
    if isinstance(value, list) and _PLACE.fullmatch(part) and int(part) < len(value):
        return value[int(part)]
    return MISSING


def describe_missing(value: Any, path: str) -> str:
    """Return what stands where a path ends, with its keys.

    >>> describe_missing({"data": {"items": [], "took": 3}}, "data.results")
    "'data' has the keys 'items', 'took'"
    """
    way: list[str] = []
    for part in path.split(".") if path else ():
        if (inner := _step(value, part)) is None or inner is MISSING:
            break
        value = inner
        way.append(part)
    place = shorten(".".join(way)) if way else "it"
    if isinstance(value, Mapping):
        keys = [shorten(key) for key in value]
        more = f" and {len(keys) - _MOST_KEYS:,} more" if len(keys) > _MOST_KEYS else ""
        return f"{place} has the keys {', '.join(keys[:_MOST_KEYS])}{more}" if keys else f"{place} is an empty object"
    if isinstance(value, list):
        return f"{place} is a list of {len(value):,}"
    return f"{place} is {shorten(value)}"
