"""The document itself, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def render_json(document: Mapping[str, Any]) -> str:
    """Give the document as one line of ASCII; ``karat report --schema`` describes it."""
    return json.dumps(document, allow_nan=False) + "\n"
