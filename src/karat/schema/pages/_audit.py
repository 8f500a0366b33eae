"""The audit log of the server."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct


class AuditLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of ``.karat/audit.jsonl``: who signed in, was refused, or changed something."""

    time: Annotated[str, Meta(description="When it happened, in UTC.")]
    event: Annotated[str, Meta(description="What happened: signed in, refused, or the name of a change.")]
    user: Annotated[str, Meta(description="The name of the person or program.")] = ""
    token: Annotated[str, Meta(description="The id of the token, which is no secret.")] = ""
    peer: Annotated[str, Meta(description="The address that the request came from.")] = ""
    path: Annotated[str, Meta(description="What was asked for, where it was refused.")] = ""
    subject: Annotated[str, Meta(description="What was changed.")] = ""
