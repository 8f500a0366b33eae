"""Other wordings of golden queries that people use, for a person to accept: karat cannot know what a text means."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import Struct

from karat.core import GoldenSet
from karat.feedback._counting import pick_first
from karat.feedback._detectors import share_words
from karat.feedback._gathering import LiveQuery
from karat.text import NEGATIONS, content, folded, numbers, words

ASKED_AGAIN, SAME_DOCUMENTS, NEAR_WORDING = "asked again in a session", "the same documents used", "near wording"
_NEAR = 0.7
"""The share of words by which two wordings are near."""
_ALIKE = 0.2
"""The share of words that two queries have in common if people who ask them use the same documents."""
_LEAST = 2
"""Sessions that have to use a relevant document: one may be chance."""
MOST_WORDINGS = 3
"""Wordings that are proposed for a golden query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewording:
    """A text that may ask the same as a golden query."""

    query: str
    """The id of the golden query."""
    query_text: str
    paraphrase: str
    evidence: tuple[str, ...]
    sessions: int
    """How many sessions asked it in these words."""
    accepted: bool | None = None
    """True once a person says that both mean the same."""


class Proposal(Struct, frozen=True):
    """A wording of a golden query, with what it is ranked by."""

    key: str
    rewording: Rewording


@dataclass(frozen=True, slots=True)
class _Wording:
    """What two texts are compared by."""

    form: str
    words: frozenset[str]
    numbers: frozenset[str]
    is_negated: bool

    def compare(self, other: _Wording) -> float:
        """Return what :func:`compare_words` returns for both texts."""
        return 1.0 if self.form == other.form else share_words(self.words, other.words)


def _read(text: str) -> _Wording:
    return _Wording(folded(text), frozenset(content(text)), numbers(text), bool(NEGATIONS.intersection(words(text))))


class Rewordings:
    """Finds what live queries may ask the same as golden ones.

    A live query is compared with those golden ones that share rare words or a document with it. To compare it with all
    that share a word would take time in proportion to live times golden queries.
    """

    def __init__(self, golden: GoldenSet) -> None:
        self._golden = golden
        self._wordings: dict[str, _Wording] = {}
        self._relevant: dict[str, set[str]] = {}
        self._by_word: defaultdict[str, set[str]] = defaultdict(set)
        self._by_document: defaultdict[str, set[str]] = defaultdict(set)
        for query in golden.queries:
            self._wordings[query.id] = wording = _read(query.text)
            self._relevant[query.id] = relevant = self._list_relevant(query.id)
            for word in wording.words:
                self._by_word[word].add(query.id)
            for document in relevant:
                self._by_document[document].add(query.id)

    def propose(self, live: LiveQuery) -> Proposal | None:
        """Return of which golden query a live one may be another wording; None if of none."""
        own = _read(live.text)
        names = {name: self._find_evidence(live, own, name) for name in self._list_candidates(live, own)}
        likely = [(evidence, name) for name, evidence in names.items() if evidence]
        if not likely:
            return None
        evidence, name = max(likely, key=lambda pair: (len(pair[0]), own.compare(self._wordings[pair[1]]), pair[1]))
        text = self._golden.query_by_id[name].text
        return Proposal(
            live.key,
            Rewording(query=name, query_text=text, paraphrase=live.text, evidence=evidence, sessions=live.sessions),
        )

    def _list_candidates(self, live: LiveQuery, own: _Wording) -> set[str]:
        """Return the golden queries for which there can be evidence: linked, of the same documents, or near.

        A wording that is near has so many of the words that, of all but so many, at least one is among them: to look
        for the rarest is enough.
        """
        rarest = sorted(own.words, key=lambda word: (len(self._by_word.get(word, ())), word))
        least = max(1, math.ceil(len(rarest) * _NEAR / (2 - _NEAR) - 1e-9))
        near = (self._by_word.get(word, ()) for word in rarest[: len(rarest) - least + 1])
        return live.links.union(*near, *(self._by_document.get(document, ()) for document in live.used))

    def choose(self, proposals: Mapping[str, list[Proposal]]) -> tuple[Rewording, ...]:
        """Return the wordings of each golden query that most people use, in the order of the set."""
        return tuple(
            proposal.rewording
            for query in self._golden.queries
            for proposal in pick_first(proposals.get(query.id, []), MOST_WORDINGS, order_proposals)
        )

    def _find_evidence(self, live: LiveQuery, own: _Wording, name: str) -> tuple[str, ...]:
        """Return why a live query may ask what a golden one does; nothing if it changes a number or a negation."""
        wording = self._wordings[name]
        if wording.numbers != own.numbers or wording.is_negated != own.is_negated:
            return ()
        alike = own.compare(wording)
        facts = {
            ASKED_AGAIN: name in live.links,
            SAME_DOCUMENTS: alike >= _ALIKE and self._count_used(live, name) >= _LEAST,
            NEAR_WORDING: alike >= _NEAR,
        }
        return tuple(why for why, holds in facts.items() if holds)

    def _count_used(self, live: LiveQuery, name: str) -> int:
        """Return how many sessions used a document that is relevant to a golden query."""
        return sum(live.used.get(document, 0) for document in self._relevant[name])

    def _list_relevant(self, name: str) -> set[str]:
        pairs = self._golden.grades_by_query.pairs(name)
        return {target.document for target, grade in pairs if grade >= self._golden.relevant}


def order_proposals(proposal: Proposal) -> tuple[int, str]:
    """Return what proposals are sorted by: those of most sessions first."""
    return -proposal.rewording.sessions, proposal.key
