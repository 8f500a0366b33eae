"""Names that the hooks share with the modules that they import when they need them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from karat.telemetry import Sending

MARK = "karat"
"""The name of the mark and of the fixture."""
PARAMETER = "karat_rule"
"""The parameter of an item that has its rule."""
PROPERTY = "karat"
"""The property of a report that has the outcome of the rule."""
FOLDERS = {
    "--karat-runs": "Keep the runs of tests that use karat in this folder.",
    "--karat-reports": "Write a report of each test that uses karat into this folder, as HTML, Markdown and JSON.",
}
"""The options of pytest that name a folder, and their help."""
SENDINGS: pytest.StashKey[list[Sending]] = pytest.StashKey()
"""The telemetry of runs that is on its way to a collector."""
