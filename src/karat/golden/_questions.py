"""What the scores of each question depend on, as short digests, so that a later change of the set is noticed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from json.encoder import encode_basestring_ascii as quote

from karat.core import GoldenSet, Query
from karat.golden._fingerprint import plain

LISTED = "relevant_entities"
"""The key of a query's metadata that holds a list which the grades contradict."""
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
    wordings: str = ""
    """A digest of the paraphrases, on which scores depend if they are asked, too."""


def describe_questions(golden: GoldenSet) -> Mapping[str, Question]:
    """Return each question of a golden set with its digests, computed once for each set, when it is asked for.

    >>> from karat.core import Judgment, Target
    >>> first = GoldenSet(queries=(Query(id="q", text="wifi?"),))
    >>> judgment = Judgment(query="q", target=Target(document="d"), grade=1)
    >>> second = GoldenSet(queries=first.queries, judgments=(judgment,))
    >>> before, after = (describe_questions(golden)["q"] for golden in (first, second))
    >>> before.text == after.text, before.judgments == after.judgments
    (True, False)
    """
    questions: Mapping[str, Question] | None = vars(golden).get(_CACHE)
    if questions is None:
        questions = _Questions(golden)
        vars(golden)[_CACHE] = questions
    return questions


class _Questions(Mapping[str, Question]):
    """The questions of a golden set. Those of a hundred thousand queries take a second, and most runs need none."""

    def __init__(self, golden: GoldenSet) -> None:
        self._golden = golden
        self._known: dict[str, Question] = {}
        self._rules = json.dumps([len(golden.grades), golden.relevant, plain(golden.classes)], sort_keys=True)

    def __getitem__(self, id_: str) -> Question:
        question = self._known.get(id_)
        if question is None:
            question = self._known[id_] = self._describe(self._golden.query_by_id[id_])
        return question

    def __iter__(self) -> Iterator[str]:
        return iter(self._golden.query_by_id)

    def __len__(self) -> int:
        return len(self._golden.query_by_id)

    def __contains__(self, id_: object) -> bool:
        return id_ in self._golden.query_by_id

    def _describe(self, query: Query) -> Question:
        grades = self._golden.grades_by_query.get(query.id, {})
        pairs = sorted([(str(target), grade) for target, grade in grades.items()])
        judgments = ", ".join([f"[{quote(name)}, {grade}]" for name, grade in pairs])
        names = sorted({target.document for target in grades}) if self._documents else ()
        documents = ", ".join([self._documents[name] for name in names if name in self._documents])
        return Question(
            text=query.text,
            judgments=_digest(f"[{self._rules}, [{judgments}], {_scored_fields(query)}]"),
            documents=_digest(f"[{documents}]") if self._documents else "",
            wordings=_digest(json.dumps(query.paraphrases)) if query.paraphrases else _NO_WORDINGS,
        )

    @cached_property
    def _documents(self) -> dict[str, str]:
        """The id and the content of each judged document, as JSON."""
        names = {target.document for grades in self._golden.grades_by_query.values() for target in grades}
        documents = (self._golden.document_by_id[name] for name in names if name in self._golden.document_by_id)
        return {
            document.id: json.dumps([document.id, f"{document.title}\n{document.source_hash}"])
            for document in documents
        }


def _scored_fields(query: Query) -> str:
    """Return the fields of a query that scores may depend on, without defaults: a new field changes no digest."""
    values = {name: value for name, default in _SCORED.items() if (value := getattr(query, name)) != default}
    return json.dumps({name: plain(value) for name, value in values.items()}, sort_keys=True) if values else "{}"


_SCORED = {field.name: field.default for field in fields(Query) if field.name not in _UNSCORED}


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()[:_DIGITS]


_NO_WORDINGS = _digest("[]")
