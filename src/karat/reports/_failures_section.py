"""The queries that failed, as a section of Markdown."""

from __future__ import annotations

from karat.reports._failures import CAUSES, describe_fixed, query_limits
from karat.reports._sections import MOST, count_left_out, format_table, markdown
from karat.schema import DecisionDocument


def format_failures(document: DecisionDocument) -> str:
    """Return the queries that failed, and what makes a query fail."""
    limits = ", ".join(f"{markdown(name)} below {limit:g}" for name, limit in query_limits(document).items())
    causes = "an error, nothing relevant found, a must-pass that is missed" + (f", {limits}" if limits else "")
    fixed = describe_fixed(document, markdown)
    if not document.failures:
        return f"No query failed ({causes}).\n{fixed}"
    texts = {query.id: query.text for query in document.queries}
    rows = [
        [
            markdown(failure.query, 80),
            markdown(texts.get(failure.query, ""), 120),
            "; ".join(markdown(reason) for reason in failure.lines),
        ]
        for failure in document.failures[:MOST]
    ]
    table = format_table(["Query", "Text", "Why"], rows)
    return f"A query fails by {causes}. {CAUSES}\n\n{table}{count_left_out(len(document.failures))}{fixed}"
