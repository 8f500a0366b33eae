"""What the scores of each question depend on, as short digests, so that a later change of the set is noticed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from karat.core import GoldenSet, Query
from karat.golden._fingerprint import plain

_DIGITS = 12
_CACHE = "_questions"
_UNSCORED = frozenset(
    {"id", "text", "paraphrases", "category", "type", "intent", "answer", "harvested", "metadata", "session"}
)
"""Fields of a query that no score of a ranking depends on. The text is compared as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question as it was asked and judged. An empty field is unknown."""

    text: str = ""
    judgments: str = ""
    """A digest of the judgments, and of everything else that its scores depend on."""
    documents: str = ""
    """A digest of the texts of the judged documents."""


def describe_questions(golden: GoldenSet) -> dict[str, Question]:
    """Return each question of a golden set with its digests, computed once for each set.

    >>> from karat.core import Judgment, Target
    >>> first = GoldenSet(queries=(Query(id="q", text="wifi?"),))
    >>> judgment = Judgment(query="q", target=Target(document="d"), grade=1)
    >>> second = GoldenSet(queries=first.queries, judgments=(judgment,))
    >>> before, after = (describe_questions(golden)["q"] for golden in (first, second))
    >>> before.text == after.text, before.judgments == after.judgments
    (True, False)
    """
    questions: dict[str, Question] | None = vars(golden).get(_CACHE)
    if questions is None:
        questions = _describe(golden)
        vars(golden)[_CACHE] = questions
    return questions


def _describe(golden: GoldenSet) -> dict[str, Question]:
    grades: dict[str, list[tuple[str, int]]] = {}
    documents: dict[str, set[str]] = {}
    for (query, target), grade in golden.decided.items():
        grades.setdefault(query, []).append((str(target), grade))
        documents.setdefault(query, set()).add(target.document)
    rules = [len(golden.grades), golden.relevant, plain(golden.classes)]
    hashes = {document.id: f"{document.title}\n{document.source_hash}" for document in _judged(golden, documents)}
    return {
        query.id: Question(
            text=query.text,
            judgments=_digest([rules, sorted(grades.get(query.id, ())), _scored_fields(query)]),
            documents=_digest(sorted((name, hashes[name]) for name in documents.get(query.id, ()) if name in hashes))
            if hashes
            else "",
        )
        for query in golden.query_by_id.values()
    }


def _judged(golden: GoldenSet, documents: dict[str, set[str]]) -> Iterable[Any]:
    names = set().union(*documents.values())
    return (golden.document_by_id[name] for name in names if name in golden.document_by_id)


def _scored_fields(query: Query) -> dict[str, Any]:
    """Return the fields of a query that scores may depend on, without defaults: a new field changes no digest."""
    scored = (field for field in fields(query) if field.name not in _UNSCORED)
    return {field.name: plain(value) for field in scored if (value := getattr(query, field.name)) != field.default}


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:_DIGITS]
