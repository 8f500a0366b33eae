"""What ``karat serve`` prints with ``--json``."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class ServerStart(Struct, frozen=True, kw_only=True):
    """A server that listens."""

    karat: Literal["serve"] = "serve"
    address: str
    """Where to look."""
    project: str
    process: int
    """The id of the process."""
    note: str = ""
    """What to do before others can reach it; empty if nothing is missing."""


class TokenLine(Struct, frozen=True, kw_only=True):
    """A token, without its secret."""

    id: str
    name: str
    role: Literal["viewer", "annotator", "admin"]
    created: str
    expires: str
    state: Literal["good", "expired", "revoked"]


class TokenList(Struct, frozen=True, kw_only=True):
    """The tokens of a project, the newest first."""

    karat: Literal["tokens"] = "tokens"
    tokens: tuple[TokenLine, ...]
    token: str = ""
    """The new token, which is shown this once; empty unless one was added."""
