"""A document as it is sent to a service."""

from __future__ import annotations

from typing import Any

from karat.core import Document


def encode_document(document: Document) -> dict[str, Any]:
    """Return a document as it is sent: what it has, and its ``source_id`` and ``source_hash``.

    >>> encode_document(Document(id="pool", text="Opens at six."))["source_id"]
    'golden:pool'
    """
    fields = {name: getattr(document, name) for name in document.__slots__ if name not in ("id", "text", "path")}
    known = {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items() if value}
    named = {"id": document.id, "source_id": document.source_id, "source_hash": document.source_hash}
    return {**named, "text": document.text, **known}
