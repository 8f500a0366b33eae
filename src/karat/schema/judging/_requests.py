"""What a judge sends to a model."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class JudgeRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request to a model."""

    prompt: str
    """The name of the prompt that its instructions are."""
    version: str
    digest: str
    """A hash of the instructions, which is a part of the judge's fingerprint."""
    body: dict[str, Any]
    """What is sent, as it is."""
    reply_schema: dict[str, Any]
    """The JSON Schema that the reply is held to."""
    known: bool
    """Whether the reply is known from an earlier run. If it is not, what later requests take from it stands in
    brackets."""


class JudgeRequests(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``karat judge show --json`` prints."""

    judge: str
    query: str
    """The query whose answer is judged; "example" for karat's own example."""
    describes: str
    """What the judge returns, in a sentence."""
    requests: list[JudgeRequest]
    """All requests about one answer, in order; empty for a judge that asks no model."""
    reason: str = ""
    """Why nothing is asked about this answer, as one that was refused, by a judge that asks a model."""
    probes: list[dict[str, Any]] = []
    """The bodies of what is sent before the first request, once for a server, to find out how it can be asked for JSON:
    the next one only if it refuses the one before."""
