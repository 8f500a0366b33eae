"""Other wordings of golden queries that people use, for a person to accept: karat cannot know what a text means."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from karat.core import GoldenSet
from karat.feedback._detectors import compare_words
from karat.feedback._gathering import LiveQuery
from karat.feedback._sessions import Session
from karat.text import NEGATIONS, content, folded, numbers, words

ASKED_AGAIN, SAME_DOCUMENTS, NEAR_WORDING = "asked again in a session", "the same documents used", "near wording"
_NEAR = 0.7
"""The share of words by which two wordings are near."""
_ALIKE = 0.2
"""The share of words that two queries have in common if people who ask them use the same documents."""
_LEAST = 2
"""Sessions that have to use a relevant document: one may be chance."""
_MOST = 3
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


class Rewordings:
    """What sessions say of which wordings mean the same as golden queries, gathered while they pass by."""

    def __init__(self, golden: GoldenSet) -> None:
        self._golden = golden
        forms = ((folded(form), query.id) for query in golden.queries for form in (query.text, *query.paraphrases))
        self._known = dict(forms)
        self._links: defaultdict[str, set[str]] = defaultdict(set)
        """Golden queries that were asked before or after a wording, in other words, by the wording."""
        self._used: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """How many sessions used a document, by the wording."""

    def watch(self, sessions: Iterable[Session]) -> Iterator[Session]:
        """Yield sessions, and take note of their queries, if there is a golden set to compare them with."""
        for session in sessions:
            if self._known:
                self._add(session)
            yield session

    def _add(self, session: Session) -> None:
        keys = {asked.query.id: folded(asked.query.text) for asked in session.queries}
        used = set[tuple[str, str]]()
        for asked in session.queries:
            key, before = keys[asked.query.id], keys.get(asked.repeats, "")
            for wording, other in ((key, before), (before, key)):
                if other in self._known and wording not in self._known:
                    self._links[wording].add(self._known[other])
            if key not in self._known:
                documents = {*asked.read, *asked.useful, *asked.helpful}.difference(asked.not_useful)
                used |= {(key, document) for document in documents}
        for key, document in used:
            self._used[key][document] += 1

    def propose(self, queries: Iterable[LiveQuery]) -> tuple[Rewording, ...]:
        """Return wordings that may be those of golden queries, each of one query; those that most people use first."""
        by_word: defaultdict[str, set[str]] = defaultdict(set)
        for query in self._golden.queries:
            for word in content(query.text):
                by_word[word].add(query.id)
        proposals: defaultdict[str, list[Rewording]] = defaultdict(list)
        for live in sorted(queries, key=lambda live: (-live.sessions, live.key)):
            names = self._links.get(live.key, set()).union(*(by_word.get(word, ()) for word in content(live.text)))
            likely = [(evidence, name) for name in names if (evidence := self._find_evidence(live, name))]
            if not likely:
                continue
            evidence, name = max(likely, key=lambda pair: (len(pair[0]), self._compare(live, pair[1]), pair[1]))
            if len(proposals[name]) < _MOST:
                text = self._golden.query_by_id[name].text
                proposals[name].append(
                    Rewording(
                        query=name, query_text=text, paraphrase=live.text, evidence=evidence, sessions=live.sessions
                    )
                )
        return tuple(rewording for query in self._golden.queries for rewording in proposals.get(query.id, ()))

    def _compare(self, live: LiveQuery, name: str) -> float:
        return compare_words(self._golden.query_by_id[name].text, live.text)

    def _find_evidence(self, live: LiveQuery, name: str) -> tuple[str, ...]:
        """Return why a live query may ask what a golden one does; nothing if it changes a number or a negation."""
        text = self._golden.query_by_id[name].text
        negated = (bool(NEGATIONS.intersection(words(own))) for own in (text, live.text))
        if numbers(text) != numbers(live.text) or len(set(negated)) > 1:
            return ()
        alike = compare_words(text, live.text)
        used: Counter[str] = self._used.get(live.key, Counter())
        shared = sum(used.get(document, 0) for document in self._list_relevant(name))
        facts = {
            ASKED_AGAIN: name in self._links.get(live.key, ()),
            SAME_DOCUMENTS: shared >= _LEAST and alike >= _ALIKE,
            NEAR_WORDING: alike >= _NEAR,
        }
        return tuple(why for why, holds in facts.items() if holds)

    def _list_relevant(self, name: str) -> set[str]:
        pairs = self._golden.grades_by_query.pairs(name)
        return {target.document for target, grade in pairs if grade >= self._golden.relevant}
