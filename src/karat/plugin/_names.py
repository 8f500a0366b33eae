"""What the hooks and the checking of rules call things."""

from __future__ import annotations

PARAMETER = "karat_rule"
"""The parameter of an item that holds the name of its rule."""
PROPERTY = "karat"
"""The property of a report that holds what became of the rule."""
