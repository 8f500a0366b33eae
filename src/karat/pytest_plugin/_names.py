"""What the hooks and the checking of rules call things."""

from __future__ import annotations

MARK = "karat"
"""The mark, and the fixture."""
PARAMETER = "karat_rule"
"""The parameter of an item that holds its rule."""
PROPERTY = "karat"
"""The property of a report that holds what became of the rule."""
FOLDERS = {
    "--karat-runs": "Keep the runs of tests that use karat in this folder.",
    "--karat-reports": "Write a report of each test that uses karat into this folder, as HTML, Markdown and JSON.",
}
"""The options that name a folder, with their help."""
