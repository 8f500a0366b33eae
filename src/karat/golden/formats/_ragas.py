"""ragas: a JSON list, JSONL or CSV of samples, with its current field names or the ones before 0.2.

- ``user_input`` (``question``) is the query, ``reference`` (``ground_truth``) the reference answer, and each of the
  ``reference_contexts`` is relevant. ``reference_context_ids`` are their ids, or else an id is made of each text. ragas
  numbers the contexts of a question over several (``<1-hop>``); the number is left out.
- ``retrieved_contexts`` and ``response`` (``answer``) come from a system, and are no gold: left out, with a note.
- ``contexts``, from before 0.2, was both. In a sample with an answer they were retrieved; in one without, as the test
  set generator wrote it, they are what the question was made of.
- ``synthesizer_name`` (``evolution_type``) is the query's type. ragas has no id for a sample; ``id`` is read and
  written all the same, and ragas ignores it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from karat.core import GoldenSet, InputError, Query
from karat.files import Reading, Row
from karat.golden._format import FORMATS, Format
from karat.golden.formats._contexts import Contexts, contexts_of
from karat.golden.formats._head import head
from karat.golden.formats._records import Names, cell, ids, name_of, records, texts
from karat.golden.formats._scale import BINARY

_HOP = re.compile(r"<\d+-hop>\s*")
_DESCRIBED = ("persona_name", "query_style", "query_length", "rubrics", "rubric", "metadata", "episode_done")
_LEGACY = {"ground_truth", "ground_truths", "contexts"}


def _read(path: Path, reading: Reading) -> GoldenSet:
    contexts, names, queries = Contexts(), Names(), []
    for row in records(path, reading, "samples"):
        with row:
            query = _query(row, names, reading)
            contexts.add(row, query.id, _references(row, reading, path), ids(row, "reference_context_ids"))
            queries.append(query)
    if not queries and not reading.errors:
        raise InputError("holds no samples", source=str(path))
    return GoldenSet(
        name=name_of(path),
        grades=BINARY,
        relevant=1,
        documents=contexts.documents,
        queries=tuple(queries),
        judgments=contexts.judgments,
    )


def _query(row: Row, names: Names, reading: Reading) -> Query:
    text = _asked(row, reading)
    described = {name: cell(row, name) for name in _DESCRIBED}
    return Query(
        id=row.id("id", "query_id", "question_id", default="") or names.give(text),
        text=text,
        type=row.text("synthesizer_name", "evolution_type", default=""),
        answer=_answer(row, reading),
        metadata={name: value for name, value in described.items() if value is not None},
    )


def _asked(row: Row, reading: Reading) -> str:
    """Give the question; of a conversation, the last thing that the user said."""
    said = cell(row, "user_input", "question")
    if not isinstance(said, list) or not all(isinstance(turn, dict) and "content" in turn for turn in said):
        return row.text("user_input", "question")
    asked = [str(turn["content"]) for turn in said if turn.get("type") == "human" and turn["content"]]
    if not asked:
        raise row.error("'user_input' is a conversation in which no human says anything")
    reading.note("of a conversation only the last thing that the user said is kept")
    row.ignore("reference_tool_calls", "reference_topics")
    return asked[-1]


def _answer(row: Row, reading: Reading) -> str:
    several = texts(row, "ground_truths")
    if len(several) > 1:
        reading.note("of several 'ground_truths' only the first is kept")
    return row.text("reference", "ground_truth", default=several[0] if several else "")


def _references(row: Row, reading: Reading, path: Path) -> list[str]:
    answered = row.has("response", "answer")
    row.ignore("response", "answer", "multi_responses", "retrieved_context_ids", "contexts")
    if row.has("retrieved_contexts") or answered:
        row.ignore("retrieved_contexts")
        reading.note(f"{path}: what a system retrieved or answered is no gold, left out")
    found = texts(row, "reference_contexts")
    if not found and not answered and row.has("contexts"):
        reading.note(f"{path}: 'contexts' of samples without an answer are read as reference contexts")
        found = texts(row, "contexts")
    return [_HOP.sub("", text, count=1) if _HOP.match(text) else text for text in found]


def _write(golden: GoldenSet, path: Path) -> None:
    contexts = contexts_of(golden)
    with path.open("w", encoding="utf-8", newline="") as file:
        for query in golden.queries:
            file.write(json.dumps(_sample(query, contexts[query.id]), ensure_ascii=False) + "\n")


def _sample(query: Query, contexts: dict[str, str | None]) -> dict[str, Any]:
    record: dict[str, Any] = {"id": query.id, "user_input": query.text}
    if query.answer:
        record["reference"] = query.answer
    if contexts:
        if None not in contexts.values():
            record["reference_contexts"] = list(contexts.values())
        record["reference_context_ids"] = list(contexts)
    if query.type:
        record["synthesizer_name"] = query.type
    return record


def _recognise(path: Path) -> bool:
    seen = head(path)
    names = seen.keys if seen.is_json else seen.columns
    names = frozenset(name.removeprefix("samples[].") for name in names)
    return "user_input" in names or ("question" in names and bool(_LEGACY & names))


FORMATS.add(
    "ragas",
    Format(
        name="ragas",
        summary="JSONL of samples: user_input, reference, reference_contexts; reads also JSON, CSV and older names",
        read=_read,
        recognise=_recognise,
        write=_write,
        keeps=frozenset(
            {
                *("set.queries", "set.judgments", "document.id", "document.text"),
                *("query.id", "query.text", "query.answer", "query.type"),
                *("judgment.query", "judgment.target", "target.document"),
            }
        ),
    ),
)
