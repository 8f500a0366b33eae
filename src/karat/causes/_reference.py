"""The page docs/causes.md, written from the table of causes so that it is neither wrong nor incomplete.

``./scripts/docs`` writes it; a test compares.
"""

from __future__ import annotations

import sys

from karat.causes._cause import CAUSES
from karat.causes._diagnosis import ORDER

_INTRODUCTION = """\
<!-- Written by scripts/docs from the table of causes. Change the docstrings of the causes instead. -->
# Causes

Why a query lost relevant documents, as [`karat explain`](explain.md) names it. If two causes have the same strength,
karat names the one that comes first on this page, because wrong data make all other evidence unreliable.
"""


def reference() -> str:
    """Return the page as Markdown."""
    parts = [_INTRODUCTION]
    for name in ORDER:
        sections = CAUSES[name].sections
        lines = [f"## {name}", "", f"{CAUSES[name].title.capitalize()}. {sections['Summary']}", ""]
        lines += [f"- {part}: {sections[part]}" for part in ("Why", "Evidence", "Example", "Fix")]
        parts.append("\n".join([*lines, ""]))
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(reference())
