"""Paraphrases of a candidate that a person has accepted, and how they come into a set."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from karat.core import GoldenSet, Query, shorten
from karat.files import Reading, decode, read_bytes, write_file
from karat.golden.formats import encode_line, encode_query
from karat.text import folded

PARAPHRASES = "paraphrases.jsonl"
"""The file of a candidate with texts that may ask the same as a golden query."""
_SHOWN_ONLY = ("query_text", "evidence", "sessions")


def read_accepted(folders: Iterable[Path], golden: GoldenSet, reading: Reading) -> dict[str, tuple[str, ...]]:
    """Return the paraphrases that a person has accepted, by query; without those that a query of the set asks."""
    accepted: dict[str, list[str]] = {}
    known = {folded(form) for query in golden.queries for form in (query.text, *query.paraphrases)}
    for file in (folder / PARAPHRASES for folder in folders):
        for row in reading.jsonl(file) if file.is_file() else ():
            with row:
                row.ignore(*_SHOWN_ONLY)
                name, text = row.id("query"), row.text("paraphrase")
                if not row.flag("accepted", default=False) or folded(text) in known:
                    continue
                if name not in golden.query_by_id:
                    raise row.error(f"the set has no query {shorten(name)}")
                accepted.setdefault(name, []).append(text)
                known.add(folded(text))
    return {name: tuple(texts) for name, texts in accepted.items()}


def add_paraphrases(queries: Sequence[Query], more: Mapping[str, tuple[str, ...]]) -> tuple[Query, ...]:
    """Return queries with more paraphrases."""
    return tuple(
        replace(query, paraphrases=(*query.paraphrases, *more[query.id])) if query.id in more else query
        for query in queries
    )


def write_queries(path: Path, more: Mapping[str, tuple[str, ...]], queries: Sequence[Query]) -> None:
    """Write paraphrases and new queries into the file of a set; rows that get nothing stay to the byte."""
    if not more and not queries:
        return
    lines = decode(read_bytes(path), str(path)).splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    if more:
        lines = [_add(line, more) for line in lines]
    write_file(path, "".join([*lines, *(encode_line(encode_query(query)) for query in queries)]))


def write_changed_queries(path: Path, before: Sequence[Query], after: Sequence[Query]) -> None:
    """Write the queries of a set that changed, in their places, and new ones at the end; rows that stay stay."""
    if before == after:
        return
    lines = [line for line in decode(read_bytes(path), str(path)).split("\n") if line.strip(" \t\r")]
    changed = [
        line + "\n" if was == now else encode_line(encode_query(now))
        for line, was, now in zip(lines, before, after, strict=False)
    ]
    write_file(path, "".join(changed + [encode_line(encode_query(query)) for query in after[len(lines) :]]))


def _add(line: str, more: Mapping[str, tuple[str, ...]]) -> str:
    row = json.loads(line) if line.strip() else {}
    if (texts := more.get(str(row.get("id")))) is None:
        return line
    before = row.get("paraphrases") or []
    return encode_line({**row, "paraphrases": [*([before] if isinstance(before, str) else before), *texts]})
