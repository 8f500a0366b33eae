"""The report as a comment on a pull request: the verdict and why, and the rest behind titles to click."""

from __future__ import annotations

import hashlib
import re

from karat.reports._failures_section import format_failures
from karat.reports._sections import (
    cut,
    explain_verdict,
    find_changed,
    fold,
    format_checks,
    format_configuration,
    format_differences,
    format_distribution,
    format_measures,
    format_query,
    format_recommendations,
    format_segments,
    format_verdict,
    markdown,
    name_golden,
    name_run,
)
from karat.reports._verdict import may_be_intended, name_policy
from karat.reports._warnings import list_other_caveats, list_warnings
from karat.schema import DecisionDocument

COMMENT = 60_000
"""Bytes that fit into a comment on GitHub; its limit is 65,536 characters."""
MARK = "karat-report"
_QUERIES = 10
_INTENDED = (
    "Intended? `karat eval .` and `karat baseline update . --force 'why'` in the project's folder, and commit the "
    "baseline.\n"
)


def render_comment(document: DecisionDocument) -> str:
    """Return the comment's Markdown.

    Its first line is a hidden marker, so that the next run can find and replace the comment.
    """
    parts = [
        marker(document) + "\n",
        *(f"> {markdown(warning)}\n" for warning in list_warnings(document)),
        f"## {format_verdict(document)}: {name_golden(document)}\n",
        f"{explain_verdict(document)}\n",
        f"Run {name_run(document)}, {_comparison(document)}, by policy {markdown(name_policy(document.verdict))}.\n",
        format_measures(document),
        f"### Checks that did not pass\n\n{text}" if (text := format_checks(document)) else "",
        f"### Recommendations\n\n{format_recommendations(document)}" if document.recommendations else "",
        _INTENDED if may_be_intended(document) else "",
        *(fold(title, text) for title, text in _folded(document).items() if text),
    ]
    return cut("\n".join(part for part in parts if part), COMMENT)


def _comparison(document: DecisionDocument) -> str:
    baseline = document.baseline
    if baseline is None:
        return "without a baseline"
    forced = f" (forced: {markdown(baseline.forced, 200)})" if baseline.forced else ""
    return f"against the baseline of {markdown(baseline.recorded)}{forced}"


def marker(document: DecisionDocument) -> str:
    """Return the hidden line that identifies the comment of one golden set."""
    name = document.golden.name
    safe = re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-")
    if safe != name:  # two names may become the same
        safe = f"{safe}-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:8]}".strip("-")
    return f"<!-- {MARK} {safe} -->"


def _folded(document: DecisionDocument) -> dict[str, str]:
    """Return the parts that are folded away, by title: what a reader wants who doubts the verdict."""
    by_id, changed = {query.id: query for query in document.queries}, find_changed(document)
    blocks = [format_query(document, by_id[id_]) for id_ in changed[:_QUERIES]]
    number = f"{len(blocks):,} of {len(changed):,}" if len(changed) > len(blocks) else f"{len(blocks):,}"
    return {
        f"Queries that moved ({number}), the worst first": "\n".join(blocks),
        f"Failures ({len(document.failures):,})": format_failures(document) if document.failures else "",
        "Segments": format_segments(document),
        "Differences from the baseline": format_differences(document),
        "Distribution": format_distribution(document),
        "What the numbers can show": "".join(f"- {markdown(caveat)}\n" for caveat in list_other_caveats(document)),
        "Configuration": format_configuration(document),
    }
