"""FIT-RAG-EVAL-001's golden dataset: one JSON file with a head, entities and queries.

::

    {"version": "1.0.0", "created_at": "2026-01-04", "description": "...",
     "entities": [{"entity_id": "wifi", "entity_type": "KNOWLEDGE_ARTIFACT", "title": "...", "content": "...",
                   "metadata": {"format": "MARKDOWN", "category": "POLICY"}, "tags": ["network"]}],
     "queries": [{"query_id": "q1", "query_text": "...", "category": "POLICY_QUERY", "query_type": "factual",
                  "expected_results": {"relevant_entities": ["wifi"], "top_1_chunk": "wifi:chunk:0",
                                       "relevance_labels": {"wifi": 3, "terms": 1}}}]}

- Labels are 0 to 3, and 2 and 3 are relevant. ``relevant_entities`` repeats that; see ``_listing`` for what happens if
  the two differ, or if there are no labels.
- ``metadata.format`` and ``metadata.category`` are a document's format and domain, in capitals in the file and in lower
  case in karat. Other metadata is kept. Metadata with one of these two names is written one object deeper.
- The format's own example has ``//`` comments, which JSON does not allow. They are refused, with the line.
- Extensions: ``query_type`` of a query, since the format demands query types and has no field for them, its
  ``metadata``, ``grades`` and ``relevant`` in the head of a set with another scale, and ``"answerable": false`` in a
  query that has no answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from karat.core import GRADES, Document, GoldenSet, Query, check_id, shorten
from karat.files import Reading, Row
from karat.golden._format import FORMATS, Format
from karat.golden._questions import LISTED
from karat.golden.formats._head import read_head
from karat.golden.formats._json import Named, read_object, required_rows, write_object
from karat.golden.formats._listing import (
    Draft,
    choose_list,
    contradicted_list,
    declare_answerable,
    declare_scale,
    graded_queries,
    name_record,
    read_grades,
    read_list,
    read_scale,
    settle,
    target_document,
)
from karat.golden.formats._records import name_from_path
from karat.golden.formats._scale import HIGHEST, Scale, scale_up_to

_FOUR: Scale = {"grades": GRADES, "relevant": 2}
_RESERVED = ("format", "category", "metadata")


def _read(path: Path, reading: Reading) -> GoldenSet:
    head = read_object(path, reading)
    documents = tuple(_read_documents(required_rows(head, "entities")))
    drafts = list(_read_drafts(required_rows(head, "queries"), reading))
    meaning = read_scale(head, _FOUR if any(draft.grades for draft in drafts) else scale_up_to(0, ""))
    queries, judgments = settle(drafts, meaning, reading, target_document)
    golden = GoldenSet(
        name=name_from_path(path),
        version=head.text("version", default=""),
        created=head.text("created_at", default=""),
        description=head.text("description", default=""),
        **meaning,
        documents=documents,
        queries=queries,
        judgments=judgments,
    )
    head.close()
    return golden


def _read_documents(rows: Iterator[Row]) -> Iterator[Document]:
    for row in rows:
        with row:
            written = row.row("metadata") or row.nested({}, "metadata")
            metadata = {key: value for key, value in row.mapping("metadata").items() if key not in _RESERVED}
            deeper = written.value("metadata", default=None)
            if isinstance(deeper, dict) and deeper.keys() <= set(_RESERVED):
                metadata |= deeper
            elif deeper is not None:
                metadata["metadata"] = deeper
            yield Document(
                id=row.id("entity_id"),
                text=row.text("content", default=""),
                title=row.text("title", default=""),
                type=row.text("entity_type", default=""),
                format=_format(written.text("format", default="")),
                domain=_domain(written.text("category", default="")),
                tags=row.texts("tags"),
                metadata=metadata,
            )


def _format(written: str) -> str:
    """Return karat's name of a format.

    >>> _format("MARKDOWN"), _format("PLAIN_TEXT"), _format("HTML")
    ('markdown', 'text', 'html')
    """
    return "text" if written.lower() in ("plain_text", "plain text", "plaintext") else written.lower()


def _domain(written: str) -> str:
    """Return a category in lower case, unless it already has lower-case letters."""
    return written.lower() if written == written.upper() else written


def _read_drafts(rows: Iterator[Row], reading: Reading) -> Iterator[Draft]:
    for row in rows:
        with row:
            row.value("expected_results")
            results = row.row("expected_results")
            assert results is not None
            if not results.has("relevant_entities", "relevance_labels"):
                raise results.error("'relevance_labels' is missing, and 'relevant_entities' too")
            draft = Draft(
                row=row,
                query=Query(
                    id=row.id("query_id"),
                    text=row.text("query_text"),
                    category=row.text("category", default=""),
                    type=row.text("query_type", default=""),
                    top_chunk=results.text("top_1_chunk", default=""),
                    answerable=row.flag("answerable", default=True),
                    metadata=row.mapping("metadata"),
                ),
                listed=read_list(results, reading, "relevant_entities"),
                grades=read_grades(results, "relevance_labels", HIGHEST),
            )
            results.close()
            yield draft


def _write(golden: GoldenSet, path: Path) -> None:
    fields = {"version": golden.version, "created_at": golden.created, "description": golden.description}
    records = {"entities": _entities(golden), "queries": _queries(golden)}
    assumed = _FOUR if golden.judgments else scale_up_to(0, "")
    write_object(path, {**fields, **declare_scale(golden, assumed)}, records)


def _entities(golden: GoldenSet) -> Iterator[Named]:
    for document in golden.documents:
        record = {
            "entity_id": check_id(document.id, "a document"),
            "entity_type": document.type,
            "title": document.title,
            "content": document.text,
            "metadata": _metadata(document),
            "tags": list(document.tags),
        }
        yield f"document {shorten(document.id)}", record


def _metadata(document: Document) -> dict[str, Any]:
    written: dict[str, Any] = {}
    if document.format:
        written["format"] = "PLAIN_TEXT" if document.format == "text" else document.format.upper()
    if document.domain:
        upper = document.domain.upper()
        written["category"] = upper if upper.lower() == document.domain else document.domain
    deeper = {key: value for key, value in document.metadata.items() if key in _RESERVED}
    return {**written, **_without(document.metadata, _RESERVED), **({"metadata": deeper} if deeper else {})}


def _without(metadata: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in metadata.items() if key not in names}


def _queries(golden: GoldenSet) -> Iterator[Named]:
    for query, grades in graded_queries(golden, len(golden.grades) - 1):
        relevant = choose_list(query, grades, golden.relevant)
        results = {"relevant_entities": relevant, "top_1_chunk": query.top_chunk, "relevance_labels": grades}
        metadata = query.metadata if contradicted_list(query) is None else _without(query.metadata, (LISTED,))
        record = {
            "query_id": query.id,
            "query_text": query.text,
            "expected_results": results,
            "category": query.category,
            **({"query_type": query.type} if query.type else {}),
            **declare_answerable(query),
            **({"metadata": metadata} if metadata else {}),
        }
        yield name_record(query, record)


def _recognise(path: Path) -> bool:
    # The queries come after all entities, so the first bytes seldom show them.
    keys = read_head(path).keys
    return "entities[].entity_id" in keys or ("entities" in keys and "queries[].query_id" in keys)


FORMATS.add(
    "fit",
    Format(
        name="fit",
        summary="one JSON file: entities and queries with expected results, as golden-dataset.json",
        read=_read,
        recognise=_recognise,
        write=_write,
        keeps=frozenset(
            {
                *("set.version", "set.created", "set.description", "set.grades", "set.relevant"),
                *("set.documents", "set.queries", "set.judgments"),
                *("document.id", "document.text", "document.title", "document.type", "document.format"),
                *("document.domain", "document.tags", "document.metadata"),
                *("query.id", "query.text", "query.category", "query.type", "query.top_chunk", "query.metadata"),
                "query.answerable",
                *("judgment.query", "judgment.target", "judgment.grade", "target.document"),
            }
        ),
    ),
)
