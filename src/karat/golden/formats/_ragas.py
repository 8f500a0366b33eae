"""ragas: a JSON list, JSONL or CSV of samples, with its current field names or the ones before 0.2.

- ``user_input`` (``question``) is the query, ``reference`` (``ground_truth``) the reference answer, and each of the
  ``reference_contexts`` is relevant. ``reference_context_ids`` are their ids; without them, an id is derived from each
  text. ragas numbers the contexts of a multi-hop question (``<1-hop>``); the number is removed.
- ``retrieved_contexts`` and ``response`` (``answer``) come from a system, not from the golden set. They are left out,
  with a note.
- ``contexts``, from before 0.2, had two meanings. In a sample with an answer they were retrieved. In a sample without
  one, as the test set generator wrote it, they are what the question was made of.
- ``synthesizer_name`` (``evolution_type``) is the query's type. ragas has no id for a sample; karat reads and writes
  ``id``, which ragas ignores.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from karat.core import GoldenSet, InputError, Query
from karat.files import Reading, Row
from karat.golden._format import FORMATS, Format
from karat.golden.formats._contexts import Contexts, collect_contexts
from karat.golden.formats._head import read_head
from karat.golden.formats._records import Names, name_from_path, read_cell, read_ids, read_records, read_texts
from karat.golden.formats._scale import BINARY

_HOP = re.compile(r"<\d+-hop>\s*")
_METADATA = ("persona_name", "query_style", "query_length", "rubrics", "rubric", "metadata", "episode_done")
_LEGACY = {"ground_truth", "ground_truths", "contexts"}


def _read(path: Path, reading: Reading) -> GoldenSet:
    contexts, names, queries = Contexts(), Names(), []
    for row in read_records(path, reading, "samples"):
        with row:
            query = _read_query(row, names, reading)
            ids = read_ids(row, "reference_context_ids")
            contexts.add(row, query.id, _read_references(row, reading, path), ids)
            queries.append(query)
    if not queries and not reading.errors:
        raise InputError("holds no samples", source=str(path))
    return GoldenSet(
        name=name_from_path(path),
        grades=BINARY,
        relevant=1,
        documents=contexts.documents,
        queries=tuple(queries),
        judgments=contexts.judgments,
    )


def _read_query(row: Row, names: Names, reading: Reading) -> Query:
    text = _read_question(row, reading)
    metadata = {name: read_cell(row, name) for name in _METADATA}
    return Query(
        id=row.id("id", "query_id", "question_id", default="") or names.assign(text),
        text=text,
        type=row.text("synthesizer_name", "evolution_type", default=""),
        answer=_read_answer(row, reading),
        metadata={name: value for name, value in metadata.items() if value is not None},
    )


def _read_question(row: Row, reading: Reading) -> str:
    """Return the question. The question of a conversation is the last message of the user."""
    turns = read_cell(row, "user_input", "question")
    if not isinstance(turns, list) or not all(isinstance(turn, dict) and "content" in turn for turn in turns):
        return row.text("user_input", "question")
    messages = [str(turn["content"]) for turn in turns if turn.get("type") == "human" and turn["content"]]
    if not messages:
        raise row.error("'user_input' is a conversation without a message of the user")
    reading.note("only the last message of the user is kept of a conversation")
    row.ignore("reference_tool_calls", "reference_topics")
    return messages[-1]


def _read_answer(row: Row, reading: Reading) -> str:
    answers = read_texts(row, "ground_truths")
    if len(answers) > 1:
        reading.note("only the first of several 'ground_truths' is kept")
    return row.text("reference", "ground_truth", default=answers[0] if answers else "")


def _read_references(row: Row, reading: Reading, path: Path) -> list[str]:
    answered = row.has("response", "answer")
    row.ignore("response", "answer", "multi_responses", "retrieved_context_ids", "contexts")
    if row.has("retrieved_contexts") or answered:
        row.ignore("retrieved_contexts")
        reading.note(f"{path}: what a system retrieved or answered is left out: it is not part of a golden set")
    references = read_texts(row, "reference_contexts")
    if not references and not answered and row.has("contexts"):
        reading.note(f"{path}: 'contexts' of samples without an answer are read as reference contexts")
        references = read_texts(row, "contexts")
    return [_HOP.sub("", text, count=1) if _HOP.match(text) else text for text in references]


def _write(golden: GoldenSet, path: Path) -> None:
    contexts = collect_contexts(golden)
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
    head = read_head(path)
    names = head.keys if head.is_json else head.columns
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
        passages=True,
        keeps=frozenset(
            {
                *("set.queries", "set.judgments", "document.id", "document.text"),
                *("query.id", "query.text", "query.answer", "query.type"),
                *("judgment.query", "judgment.target", "target.document"),
            }
        ),
    ),
)
