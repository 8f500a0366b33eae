"""deepeval: a JSON list, JSONL or CSV of goldens, in snake_case as it saves them or in camelCase as its API sends them.

- ``input`` is the query, ``expected_output`` the reference answer, each text of ``context`` is relevant.
- ``actual_output``, ``retrieval_context`` and ``tools_called`` come from a system: they are no gold, and left out.
- ``name`` is the id of a query where every golden has another one; else an id is made of the text.
- CSV and JSONL that deepeval saves have the texts of a context joined by ``|``. One that holds a ``|`` itself comes
  back in pieces, as it does in deepeval; so JSON is written.
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
from karat.golden.formats._contexts import Contexts, contexts_of
from karat.golden.formats._head import head
from karat.golden.formats._records import Names, cell, ids, name_of, records, texts
from karat.golden.formats._scale import BINARY

_IDS = "context_ids"
_BESIDE: dict[str, type] = {
    "source_file": str,
    "comments": str,
    "expected_tools": list,
    "custom_column_key_values": dict,
}
"""Fields that become metadata of the query, and of which type they are."""
_WORDS: dict[type, str] = {str: "text", list: "a list", dict: "an object"}
_SYSTEM = ("actual_output", "retrieval_context", "tools_called")
_TELLING = {"expected_output", "context", "additional_metadata", "source_file", *_SYSTEM}


def _read(path: Path, reading: Reading) -> GoldenSet:
    contexts, names, queries = Contexts(), Names(), []
    goldens = _single(list(records(path, reading, "goldens")), path, reading)
    named = _are_named(goldens, path, reading)
    for row in goldens:
        with row:
            text, described = row.text("input"), _metadata(row)
            passages = texts(row, "context", separator="|")
            known = ids(row.nested(described, ""), _IDS) if isinstance(described.get(_IDS), list) else ()
            query = Query(
                id=(row.id("name", default="") if named else "") or names.give(text),
                text=text,
                answer=row.text(*_both("expected_output"), default=""),
                metadata={key: value for key, value in described.items() if key != _IDS or not known},
            )
            contexts.add(row, query.id, passages, known)
            queries.append(query)
            if row.has(*(name for field in _SYSTEM for name in _both(field))):
                reading.note(f"{path}: what a system retrieved, answered or called is no gold, left out")
            row.ignore("name", *(name for field in _SYSTEM for name in _both(field)))
    if not queries and not reading.errors:
        raise InputError("holds no goldens", source=str(path))
    return GoldenSet(
        name=name_of(path),
        grades=BINARY,
        relevant=1,
        documents=contexts.documents,
        queries=tuple(queries),
        judgments=contexts.judgments,
    )


def _single(rows: list[Row], path: Path, reading: Reading) -> list[Row]:
    found = [row for row in rows if not row.has("scenario")]
    if len(found) < len(rows):
        reading.note(f"{path}: {len(rows) - len(found):,} goldens of conversations left out")
    return found


def _are_named(goldens: list[Row], path: Path, reading: Reading) -> bool:
    names = [str(row.value("name")) for row in goldens if row.has("name")]
    if len(set(names)) < len(names):
        reading.note(f"{path}: goldens share names, so an id is made of each text")
    return len(set(names)) == len(names)


def _both(name: str) -> tuple[str, str]:
    """Give a field's name in snake_case and in camelCase.

    >>> _both("source_file")
    ('source_file', 'sourceFile')
    """
    return name, re.sub(r"_([a-z])", lambda found: found[1].upper(), name)


def _metadata(row: Row) -> dict[str, Any]:
    found = cell(row, *_both("additional_metadata"))
    if found is not None and not isinstance(found, dict):
        raise row.error(f"'additional_metadata' is {shorten(found)}, not an object")
    beside = {name: _typed(row, name, kind) for name, kind in _BESIDE.items()}
    beside = {name: value for name, value in beside.items() if value is not None}
    if twice := beside.keys() & (found or {}).keys():
        raise row.error(f"{shorten(min(twice))} stands in 'additional_metadata' and beside it", "keep one of them")
    return {**(found or {}), **beside}


def _typed(row: Row, name: str, kind: type) -> Any:
    found = row.value(*_both(name), default=None)
    found = found if kind is str else cell(row, *_both(name))
    if found is not None and not isinstance(found, kind):
        raise row.error(f"{shorten(name)} is {shorten(found)}, not {_WORDS[kind]}")
    return found


def _write(golden: GoldenSet, path: Path) -> None:
    contexts = contexts_of(golden)
    goldens = [_golden(query, contexts[query.id]) for query in golden.queries]
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(json.dumps(goldens, ensure_ascii=False, indent=4) + "\n")


def _golden(query: Query, contexts: dict[str, str | None]) -> dict[str, Any]:
    metadata = dict(query.metadata)
    beside = {name: metadata.pop(name) for name, kind in _BESIDE.items() if isinstance(metadata.get(name), kind)}
    missing = next((name for name, text in contexts.items() if text is None), None)
    if missing is not None:
        what = f"query {shorten(query.id)}: document {shorten(missing)} is not in the set, and deepeval holds texts"
        raise InputError(what, hint="give the set its texts first: 'karat golden convert --documents'")
    if contexts and isinstance(metadata.get(_IDS), list):
        what = f"query {shorten(query.id)}: metadata has {_IDS!r}, which is where the ids of contexts go"
        raise InputError(what, hint="rename it")
    return {
        "input": query.text,
        "expected_output": query.answer or None,
        "context": list(contexts.values()) or None,
        "name": query.id,
        **{name: beside.get(name) for name in _BESIDE},
        "additional_metadata": ({_IDS: list(contexts)} if contexts else {}) | metadata or None,
    }


def _recognise(path: Path) -> bool:
    seen = head(path)
    names = seen.keys if seen.is_json else seen.columns
    names = frozenset(name.removeprefix("goldens[].") for name in names)
    return "input" in names and any(names.intersection(_both(name)) for name in _TELLING)


FORMATS.add(
    "deepeval",
    Format(
        name="deepeval",
        summary="JSON list of goldens: input, expected_output, context; reads also JSONL, CSV and camelCase",
        read=_read,
        recognise=_recognise,
        write=_write,
        keeps=frozenset(
            {
                *("set.queries", "set.judgments", "document.id", "document.text"),
                *("query.id", "query.text", "query.answer", "query.metadata"),
                *("judgment.query", "judgment.target", "target.document"),
            }
        ),
    ),
)
