"""The document itself, as JSON."""

from __future__ import annotations

import json

from karat.schema import DecisionDocument, to_plain


def render_json(document: DecisionDocument) -> str:
    """Return the document as one line of ASCII; ``karat report --schema`` describes it."""
    return json.dumps(to_plain(document), allow_nan=False) + "\n"
