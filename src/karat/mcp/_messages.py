"""What the server and the process of a call say to each other: one JSON object in each line."""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct


class Request(Struct, frozen=True, kw_only=True):
    """What is to be done: the one line that the process of a call reads."""

    action: str
    """The name of a tool, or of a resource."""
    folder: str
    """The project."""
    arguments: dict[str, Any] = {}
    agent: str = ""
    """Who calls, as far as the client says."""


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line that the process of a call writes; exactly one field is set, and a document or an error is the last."""

    stage: str = ""
    done: int = 0
    total: int = 0
    note: str = ""
    document: Raw = Raw(b"")
    error: tuple[str, ...] = ()
