"""The report as Markdown, for a file or the summary of a step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from karat.core import count_things
from karat.reports._failures_section import format_failures
from karat.reports._sections import (
    cut,
    find_changed,
    fold,
    format_bounds,
    format_checks,
    format_configuration,
    format_differences,
    format_distribution,
    format_floor,
    format_query,
    format_recommendations,
    format_segments,
    format_summary,
    markdown,
    name_golden,
    name_run,
    shorten_fingerprint,
)
from karat.reports._warnings import list_warnings
from karat.reports._words import count
from karat.schema import DecisionDocument

_AROUND = 500  # bytes for the headings around the queries


def render_markdown(document: DecisionDocument, *, limit: int | None = None) -> str:
    """Return the report as Markdown.

    ``limit`` is the most bytes that it may take. If not all queries fit, those that neither failed nor changed are left
    out first.
    """
    sections = {
        "Metrics Summary": format_summary(document),
        "Checks that did not pass": format_checks(document),
        "Differences from the baseline": format_differences(document),
        "Unjudged documents": format_bounds(document),
        "Keywords alone": format_floor(document),
        "Distribution": format_distribution(document),
        "Segments": format_segments(document),
    }
    head = ["# RAG Evaluation Report\n", *_head(document), fold("Configuration", format_configuration(document))]
    head += [f"## {title}\n\n{text}" for title, text in sections.items() if text]
    failed = f"## Failures ({len(document.failures):,})\n\n{format_failures(document)}"
    tail = [failed, f"## Recommendations\n\n{format_recommendations(document)}"]
    room = None if limit is None else limit - len("\n".join([*head, *tail]).encode()) - _AROUND
    text = "\n".join([*head, f"## Per-Query Analysis\n\n{_queries(document, room)}", *tail])
    return text if limit is None else cut(text, limit)


def _head(document: DecisionDocument) -> Iterator[str]:
    golden, baseline = document.golden, document.baseline
    yield from (f"> {markdown(warning)}\n" for warning in list_warnings(document))
    yield f"**Date**: {markdown(document.created)}  "
    size = (
        f"{count_things(golden.queries, 'query', 'queries')}, "
        f"{count_things(golden.documents, 'document')}, {count_things(golden.judgments, 'judgment')}"
    )
    yield f"**Golden set**: {name_golden(document)}, {size} ({shorten_fingerprint(golden.fingerprint or '')})  "
    if baseline is None:
        yield "**Baseline**: none yet  "
    else:
        forced = f", forced: {markdown(baseline.forced)}" if baseline.forced else ""
        yield f"**Baseline**: {markdown(baseline.shown)}, recorded {markdown(baseline.recorded)}{forced}  "
    yield f"**Run**: {name_run(document)}\n"


def _queries(document: DecisionDocument, room: int | None) -> str:
    """Return the queries one by one; if not all fit, those that failed or changed, as many as fit."""
    blocks = [format_query(document, query) for query in document.queries]
    if room is None or sum(len(block.encode()) + 1 for block in blocks) <= room:
        return "\n".join(blocks)
    by_id = {query.id: query for query in document.queries}
    telling = dict.fromkeys([*(failure.query for failure in document.failures), *find_changed(document)])
    shown = _take_fitting((format_query(document, by_id[id_]) for id_ in telling if id_ in by_id), room)
    return fold(f"{len(shown):,} of {count(len(blocks), 'query', 'queries')}", "\n".join(shown))


def _take_fitting(blocks: Iterable[str], room: int) -> list[str]:
    fitting = []
    for block in blocks:
        room -= len(block.encode()) + 1
        if room < 0:
            break
        fitting.append(block)
    return fitting
