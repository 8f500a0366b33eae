"""The report as a comment on a pull request: the verdict and why, and the rest behind titles to click."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from karat.reports._sections import (
    checks,
    configuration,
    cut,
    differences,
    distribution,
    failures,
    folded,
    markdown,
    measures,
    moved,
    one_query,
    recommendations,
    run_words,
    segments,
    verdict,
    version,
    why,
)

COMMENT = 60_000
"""Bytes that a comment on GitHub may take for certain; the limit is 65,536 characters."""
MARK = "karat-report"
_QUERIES = 10
_INTENDED = "Intended? `karat baseline update . --force 'why'` in the project's folder, and commit the baseline.\n"
Document = Mapping[str, Any]


def render_comment(document: Document) -> str:
    """Give the comment; its first line, which nobody sees, is the mark by which it is found again."""
    baseline = document["baseline"]
    against = f"against the baseline of {markdown(baseline['recorded'])}" if baseline else "without a baseline"
    if baseline and baseline["forced"]:
        against += f" (forced: {markdown(baseline['forced'], 200)})"
    policy = markdown(document["verdict"]["policy"])
    shown = [
        mark(document) + "\n",
        f"## {verdict(document)}: {version(document)}\n",
        f"{why(document)}\n",
        f"Run {run_words(document)}, {against}, by policy {policy}.\n",
        measures(document),
        f"### Checks that did not pass\n\n{text}" if (text := checks(document)) else "",
        f"### Recommendations\n\n{recommendations(document)}" if document["recommendations"] else "",
        _INTENDED if any(one.get("baseline") is not None for one in document["verdict"]["failures"]) else "",
        *(folded(title, text) for title, text in _behind(document).items() if text),
    ]
    return cut("\n".join(part for part in shown if part), COMMENT)


def mark(document: Document) -> str:
    """Give the hidden line by which the comment of one golden set is found again."""
    name = str(document["golden"]["name"])
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-")
    if plain != name:  # two names may become one
        plain = f"{plain}-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:8]}".strip("-")
    return f"<!-- {MARK} {plain} -->"


def _behind(document: Document) -> dict[str, str]:
    """Give what is read when the verdict is not believed, by its title."""
    by, told = {one["id"]: one for one in document["queries"]}, moved(document)
    blocks = [one_query(document, by[id_]) for id_ in told[:_QUERIES]]
    count = f"{len(blocks):,} of {len(told):,}" if len(told) > len(blocks) else f"{len(blocks):,}"
    noted = "".join(f"- {markdown(one)}\n" for one in document["caveats"])
    return {
        f"Queries that moved ({count}), the worst first": "\n".join(blocks),
        f"Failures ({len(document['failures']):,})": failures(document) if document["failures"] else "",
        "Segments": segments(document),
        "Differences from the baseline": differences(document),
        "Distribution": distribution(document),
        "What the numbers can show": noted,
        "Configuration": configuration(document),
    }
