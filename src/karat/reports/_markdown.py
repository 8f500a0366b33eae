"""The report as Markdown, for a file or the summary of a step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
    moved,
    one_query,
    recommendations,
    run_words,
    segments,
    short,
    summary,
    version,
)
from karat.reports._words import counted

_AROUND = 500  # bytes for the headings around the queries
Document = Mapping[str, Any]


def render_markdown(document: Document, *, limit: int | None = None) -> str:
    """Give the report as Markdown.

    ``limit`` is the most bytes it may take; queries are left out where not all fit, first those of which there is least
    to say.
    """
    sections = {
        "Metrics Summary": summary(document),
        "Checks that did not pass": checks(document),
        "Differences from the baseline": differences(document),
        "Distribution": distribution(document),
        "Segments": segments(document),
    }
    head = ["# RAG Evaluation Report\n", *_head(document), folded("Configuration", configuration(document))]
    head += [f"## {title}\n\n{text}" for title, text in sections.items() if text]
    failed = f"## Failures ({len(document['failures']):,})\n\n{failures(document)}"
    tail = [failed, f"## Recommendations\n\n{recommendations(document)}"]
    room = None if limit is None else limit - len("\n".join([*head, *tail]).encode()) - _AROUND
    text = "\n".join([*head, f"## Per-Query Analysis\n\n{_queries(document, room)}", *tail])
    return text if limit is None else cut(text, limit)


def _head(document: Document) -> Iterator[str]:
    golden, baseline = document["golden"], document["baseline"]
    yield f"**Date**: {markdown(document['created'])}  "
    yield f"**Golden set**: {version(document)}, {golden['queries']:,} queries, {golden['documents']:,} documents, " + (
        f"{golden['judgments']:,} judgments ({short(golden.get('fingerprint', ''))})  "
    )
    if baseline is None:
        yield "**Baseline**: none yet  "
    else:
        forced = f", forced: {markdown(baseline['forced'])}" if baseline["forced"] else ""
        name = f"{markdown(baseline['name'])} ({short(baseline['fingerprint'])})"
        yield f"**Baseline**: {name}, recorded {markdown(baseline['recorded'])}{forced}  "
    yield f"**Run**: {run_words(document)}\n"


def _queries(document: Document, room: int | None) -> str:
    """Give the queries one by one; where not all fit, those that failed or lost, as many as fit."""
    every = [one_query(document, one) for one in document["queries"]]
    if room is None or sum(len(block.encode()) + 1 for block in every) <= room:
        return "\n".join(every)
    by = {one["id"]: one for one in document["queries"]}
    telling = dict.fromkeys([*(one["query"] for one in document["failures"]), *moved(document)])
    shown = _fitting((one_query(document, by[id_]) for id_ in telling if id_ in by), room)
    return folded(f"{len(shown):,} of {counted(len(every), 'query', 'queries')}", "\n".join(shown))


def _fitting(blocks: Iterable[str], room: int) -> list[str]:
    found = []
    for block in blocks:
        room -= len(block.encode()) + 1
        if room < 0:
            break
        found.append(block)
    return found
