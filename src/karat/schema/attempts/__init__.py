"""An attempt to ask a system that failed, as a folder of runs records it."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

__all__ = ["FailedAttempt"]


class FailedAttempt(Struct, frozen=True, kw_only=True):
    """The newest attempt to ask the system of a project, if it failed (``runs/failed.json``). Format 1."""

    karat: Literal["failed-attempt"]
    format: Literal[1]
    time: Annotated[str, Meta(description="When it failed (UTC), such as 2026-11-19T01:50:30Z.")]
    error: Annotated[str, Meta(description="Why it failed.")]
    exit_code: Annotated[int, Meta(description="The exit code of the command.")]
