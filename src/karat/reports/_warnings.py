"""Warnings: caveats so serious that a report begins with them."""

from __future__ import annotations

from karat.schema import DecisionDocument

_MARK = "WARNING: "


def list_warnings(document: DecisionDocument) -> list[str]:
    """Return the caveats that are warnings, such as that many questions were removed from the golden set."""
    return [caveat for caveat in document.caveats if caveat.startswith(_MARK)]


def list_other_caveats(document: DecisionDocument) -> list[str]:
    """Return the caveats that are not warnings."""
    return [caveat for caveat in document.caveats if not caveat.startswith(_MARK)]
