"""deepeval: a JSON list, JSONL or CSV of goldens, in snake_case as it saves them or in camelCase as its API sends them.

- ``input`` is the query, ``expected_output`` the reference answer, each text of ``context`` is relevant.
- ``actual_output``, ``retrieval_context`` and ``tools_called`` come from a system, not from the golden set. They are
  left out.
- ``name`` is the id of a query if no two goldens share one. Otherwise an id is derived from the text.
- CSV and JSONL that deepeval saves have the texts of a context joined by ``|``. A text with a ``|`` of its own comes
  back in pieces, as it does in deepeval. So karat writes JSON.
- Ids of contexts are in ``additional_metadata`` under ``context_ids``; deepeval itself has none.
- Goldens of conversations, which have a scenario and no input, are left out with a note.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from karat.core import GoldenSet, InputError, Query, shorten
from karat.files import Reading, Row
from karat.golden._format import FORMATS, Format
from karat.golden.formats._contexts import Contexts, collect_contexts
from karat.golden.formats._head import read_head
from karat.golden.formats._records import Names, name_from_path, read_cell, read_ids, read_records, read_texts
from karat.golden.formats._scale import BINARY

_IDS = "context_ids"
_EXTRA: dict[str, type] = {
    "source_file": str,
    "comments": str,
    "expected_tools": list,
    "custom_column_key_values": dict,
}
"""Fields that become metadata of the query, with their types."""
_TYPE_NAMES: dict[type, str] = {str: "text", list: "a list", dict: "an object"}
_SYSTEM = ("actual_output", "retrieval_context", "tools_called")
_DISTINCTIVE = {"expected_output", "context", "additional_metadata", "source_file", *_SYSTEM}


def _read(path: Path, reading: Reading) -> GoldenSet:
    contexts, names, queries = Contexts(), Names(), []
    goldens = _drop_conversations(list(read_records(path, reading, "goldens")), path, reading)
    named = _have_names(goldens, path, reading)
    for row in goldens:
        with row:
            text, metadata = row.text("input"), _read_metadata(row)
            passages = read_texts(row, "context", separator="|")
            ids = read_ids(row.nested(metadata, ""), _IDS) if isinstance(metadata.get(_IDS), list) else ()
            query = Query(
                id=(row.id("name", default="") if named else "") or names.assign(text),
                text=text,
                answer=row.text(*_both("expected_output"), default=""),
                metadata={key: value for key, value in metadata.items() if key != _IDS or not ids},
            )
            contexts.add(row, query.id, passages, ids)
            queries.append(query)
            if row.has(*(name for field in _SYSTEM for name in _both(field))):
                reading.note(f"{path}: what a system retrieved, answered or called is left out: it is not gold")
            row.ignore("name", *(name for field in _SYSTEM for name in _both(field)))
    if not queries and not reading.errors:
        raise InputError("holds no goldens", source=str(path))
    return GoldenSet(
        name=name_from_path(path),
        grades=BINARY,
        relevant=1,
        documents=contexts.documents,
        queries=tuple(queries),
        judgments=contexts.judgments,
    )


def _drop_conversations(rows: list[Row], path: Path, reading: Reading) -> list[Row]:
    goldens = [row for row in rows if not row.has("scenario")]
    if len(goldens) < len(rows):
        reading.note(f"{path}: {len(rows) - len(goldens):,} goldens of conversations left out")
    return goldens


def _have_names(goldens: list[Row], path: Path, reading: Reading) -> bool:
    names = [str(row.value("name")) for row in goldens if row.has("name")]
    if len(set(names)) < len(names):
        reading.note(f"{path}: goldens share names, so ids are derived from their texts")
    return len(set(names)) == len(names)


def _both(name: str) -> tuple[str, str]:
    """Return a field's name in snake_case and in camelCase.

    >>> _both("source_file")
    ('source_file', 'sourceFile')
    """
    return name, re.sub(r"_([a-z])", lambda match: match[1].upper(), name)


def _read_metadata(row: Row) -> dict[str, Any]:
    metadata = read_cell(row, *_both("additional_metadata"))
    if metadata is not None and not isinstance(metadata, dict):
        raise row.error(f"'additional_metadata' is {shorten(metadata)}, not an object")
    extra = {name: _read_typed(row, name, kind) for name, kind in _EXTRA.items()}
    extra = {name: value for name, value in extra.items() if value is not None}
    if repeated := extra.keys() & (metadata or {}).keys():
        problem = f"{shorten(min(repeated))} is both a field and in 'additional_metadata'"
        raise row.error(problem, "keep one of them")
    return {**(metadata or {}), **extra}


def _read_typed(row: Row, name: str, kind: type) -> Any:
    value = row.value(*_both(name), default=None)
    value = value if kind is str else read_cell(row, *_both(name))
    if value is not None and not isinstance(value, kind):
        raise row.error(f"{shorten(name)} is {shorten(value)}, not {_TYPE_NAMES[kind]}")
    return value


def _write(golden: GoldenSet, path: Path) -> None:
    contexts = collect_contexts(golden)
    goldens = [_golden_record(query, contexts[query.id]) for query in golden.queries]
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(json.dumps(goldens, ensure_ascii=False, indent=4) + "\n")


def _golden_record(query: Query, contexts: dict[str, str | None]) -> dict[str, Any]:
    metadata = dict(query.metadata)
    extra = {name: metadata.pop(name) for name, kind in _EXTRA.items() if isinstance(metadata.get(name), kind)}
    missing = next((name for name, text in contexts.items() if text is None), None)
    if missing is not None:
        problem = f"query {shorten(query.id)}: document {shorten(missing)} is not in the set"
        raise InputError(problem, hint="add the documents to the set first: 'karat golden convert --documents'")
    if contexts and isinstance(metadata.get(_IDS), list):
        problem = f"query {shorten(query.id)}: its metadata has {_IDS!r}, which is reserved for the ids of contexts"
        raise InputError(problem, hint="rename it")
    return {
        "input": query.text,
        "expected_output": query.answer or None,
        "context": list(contexts.values()) or None,
        "name": query.id,
        **{name: extra.get(name) for name in _EXTRA},
        "additional_metadata": ({_IDS: list(contexts)} if contexts else {}) | metadata or None,
    }


def _recognise(path: Path) -> bool:
    head = read_head(path)
    names = head.keys if head.is_json else head.columns
    names = frozenset(name.removeprefix("goldens[].") for name in names)
    return "input" in names and any(names.intersection(_both(name)) for name in _DISTINCTIVE)


FORMATS.add(
    "deepeval",
    Format(
        name="deepeval",
        summary="JSON list of goldens: input, expected_output, context; reads also JSONL, CSV and camelCase",
        read=_read,
        recognise=_recognise,
        write=_write,
        passages=True,
        keeps=frozenset(
            {
                *("set.queries", "set.judgments", "document.id", "document.text"),
                *("query.id", "query.text", "query.answer", "query.metadata"),
                *("judgment.query", "judgment.target", "target.document"),
            }
        ),
    ),
)
