"""What the scores of each question depend on, as short digests, so that a later change of the set is noticed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from hashlib import sha256
from json.encoder import encode_basestring_ascii as quote
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.core import Document, GoldenSet, Query
from karat.golden._fingerprint import plain
from karat.golden._kept import keep, recall

Ints = NDArray[np.int64]
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


class _QuestionDraft:
    __slots__ = Question.__slots__


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


def digest_judged_documents(golden: GoldenSet) -> Mapping[str, str]:
    """Return for each query a digest of the texts of its judged documents; "" if the set holds none of them.

    >>> list(digest_judged_documents(GoldenSet(queries=(Query(id="q", text="wifi?"),))).items())
    [('q', '')]
    """
    questions = describe_questions(golden)
    assert isinstance(questions, _Questions)
    return questions.documents


class _Questions(Mapping[str, Question]):
    """The questions of a golden set. Digests are computed for all of them at once, when the first one is needed."""

    def __init__(self, golden: GoldenSet) -> None:
        self._golden = golden
        self._known: dict[str, Question] = {}
        self._rules = json.dumps([len(golden.grades), golden.relevant, plain(golden.classes)], sort_keys=True).encode()

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
        draft: Any = _QuestionDraft()  # a frozen value sets each field with a call, and there are very many
        draft.text = query.text
        draft.judgments = self._judgments[query.id]
        draft.documents = self.documents[query.id]
        draft.wordings = _digest(json.dumps(query.paraphrases).encode()) if query.paraphrases else _NO_WORDINGS
        draft.__class__ = Question
        question: Question = draft
        return question

    @cached_property
    def _judgments(self) -> dict[str, str]:
        """The digest of the name and the grade of each judged target of a query, ordered by both, and of the rules."""
        if (kept := self._recall("judgments")) is not None:
            return kept
        grades = self._golden.grades_by_query
        names, number_of = _rank([str(target) for target in grades.targets])
        values, numbers = np.unique(grades.grade, return_inverse=True)
        rows = np.sort((grades.query * len(names) + number_of[grades.target]) * len(values) + numbers)
        query, pair = np.divmod(rows, max(len(names) * len(values), 1))
        texts = _Texts(lambda pair: f"[{quote(names[pair // len(values)])}, {values[pair % len(values)]}]".encode())
        ends = {
            id_: b"], %b]" % _scored_fields(own)
            for id_, own in self._golden.query_by_id.items()
            if _get_scored(own) != _DEFAULTS
        }
        around = b"[%b, [" % self._rules, b"], {}]", ends
        return self._keep("judgments", self._digest_pieces(query, map(texts.__getitem__, pair.tolist()), *around))

    @cached_property
    def documents(self) -> dict[str, str]:
        """The digest of the id and the content of each judged document of a query that the set has, ordered by id."""
        if (kept := self._recall("documents")) is not None:
            return kept
        grades, known = self._golden.grades_by_query, self._golden.document_by_id
        names, number_of = _rank([target.document for target in grades.targets])
        own = np.array([name in known for name in names], np.bool_)
        rows = np.sort(grades.query * len(names) + number_of[grades.target])
        is_first = np.ones(len(rows), np.bool_)
        is_first[1:] = rows[1:] != rows[:-1]  # a document once for each query
        query, document = np.divmod(rows[is_first], max(len(names), 1))
        has_text = own[document]
        if not has_text.any():
            return dict.fromkeys(self._golden.query_by_id, "")
        texts = _Texts(lambda number: _encode_document(known[names[number]]))
        pieces = map(texts.__getitem__, document[has_text].tolist())
        return self._keep("documents", self._digest_pieces(query[has_text], pieces, b"[", b"]", {}))

    def _recall(self, name: str) -> dict[str, str] | None:
        """Return the digests of all queries that the user's cache holds; None if it does not."""
        value = recall(self._golden, name)
        if value is None or len(value) != _DIGITS * len(self) or not value.isalnum():
            return None
        text = value.decode("ascii")
        digests = [text[start : start + _DIGITS] for start in range(0, len(text), _DIGITS)]
        return dict(zip(self._golden.query_by_id, digests, strict=True))

    def _keep(self, name: str, digests: dict[str, str]) -> dict[str, str]:
        keep(self._golden, name, "".join(digests.values()).encode("ascii"))
        return digests

    def _digest_pieces(
        self, query: Ints, pieces: Iterable[bytes], start: bytes, end: bytes, ends: Mapping[str, bytes]
    ) -> dict[str, str]:
        """Return for each query the digest of its pieces, separated by commas, between a start and an end.

        The pieces of a query stand together, in the order of the grades. Some queries have an end of their own.
        """
        grades, parts, find_end = self._golden.grades_by_query, list(pieces), ends.get
        starts = [0, *np.cumsum(np.bincount(query, minlength=len(grades))).tolist()]
        digests = {
            id_: sha256(start + b", ".join(parts[first:last]) + find_end(id_, end)).hexdigest()[:_DIGITS]
            for id_, first, last in zip(grades.queries, starts, starts[1:], strict=False)
        }
        nothing = _digest(start + end)
        return {
            id_: digests.get(id_) or (_digest(start + ends[id_]) if id_ in ends else nothing)
            for id_ in self._golden.query_by_id
        }


class _Texts(dict[int, bytes]):
    """The text of each number that is asked for, made once."""

    def __init__(self, make: Callable[[int], bytes]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, number: int) -> bytes:
        text = self[number] = self._make(number)
        return text


def _rank(names: Sequence[str]) -> tuple[list[str], Ints]:
    """Return the distinct names in their order, and the place of each name there."""
    ordered = sorted(set(names))
    places = {name: place for place, name in enumerate(ordered)}
    return ordered, np.fromiter(map(places.__getitem__, names), np.int64, len(names))


def _encode_document(document: Document) -> bytes:
    return json.dumps([document.id, f"{document.title}\n{document.source_hash}"]).encode()


def _scored_fields(query: Query) -> bytes:
    """Return the fields of a query that scores may depend on, without defaults: a new field changes no digest."""
    values = _get_scored(query)
    if values == _DEFAULTS:
        return b"{}"
    record = {name: plain(value) for name, value in zip(_SCORED, values, strict=True) if value != _SCORED[name]}
    return json.dumps(record, sort_keys=True).encode()


_SCORED = {field.name: field.default for field in fields(Query) if field.name not in _UNSCORED}
_DEFAULTS, _get_scored = tuple(_SCORED.values()), attrgetter(*_SCORED)


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:_DIGITS]


_NO_WORDINGS = _digest(b"[]")
