"""What the golden set knows of its documents: words, how rare they are, texts at their places, and copies."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property

from karat.core import Document, GoldenSet, Span
from karat.text import Block, Outline, canonical, outline, subject, words

_PROBES = 5  # places at which a text is compared
_PROBE = 6  # words of a probe: six words in a row hardly ever occur twice by chance

_ENDING = re.compile(r"(?<=...)(?:(?:ing|er|or|ion|ment)s?|ed|es|ly|able|e|s)$")


class Corpus:
    """The documents of a golden set, read once."""

    def __init__(self, golden: GoldenSet) -> None:
        self.golden = golden
        self._contents: dict[str, frozenset[str]] = {}
        self._plain: dict[str, str] = {}
        self._bytes: dict[str, bytes] = {}
        self._compared: dict[tuple[str, str, Span | None], tuple[float, float]] = {}
        self._strange: dict[str, float] = {}

    def knows(self, document: str) -> bool:
        """Whether the golden set has the document; without documents, whether it judges it for any query."""
        return document in self._known

    @cached_property
    def _known(self) -> frozenset[str]:
        if self.golden.documents:
            return frozenset(self.golden.document_by_id)
        return frozenset(target.document for grades in self.golden.grades_by_query.values() for target in grades)

    def document(self, id: str) -> Document | None:
        """Return a document of the set."""
        return self.golden.document_by_id.get(id)

    def outline(self, id: str) -> Outline | None:
        """Return the sections and blocks of a document."""
        document = self.document(id)
        return None if document is None or not document.text else outline(canonical(document.text))

    def text_at(self, id: str, span: Span | None) -> str:
        """Return the text of a document at a span, or all of it."""
        document = self.document(id)
        if document is None:
            return ""
        if span is None:
            return document.text
        if id not in self._bytes:
            self._bytes[id] = canonical(document.text).encode()
        return self._bytes[id][span.start : span.end].decode(errors="ignore")

    def plain(self, id: str) -> str:
        """Return the words of a document's text and title in order, separated by blanks."""
        if id not in self._plain:
            document = self.document(id)
            self._plain[id] = f" {' '.join(words(f'{document.title} {document.text}'))} " if document else ""
        return self._plain[id]

    def subject(self, text: str) -> frozenset[str]:
        """Return the words that carry the subject of a text."""
        if text not in self._contents:
            self._contents[text] = subject(text)
        return self._contents[text]

    def spell(self, text: str) -> dict[str, str]:
        """Return the words that carry the subject of a text as they are written there, by the form that is compared."""
        return {form: word for word in reversed(words(text)) for form in self.subject(word)}

    def find_lacking(self, text: str, id: str) -> dict[str, str]:
        """Return the words of a text that a document has in no form, as :meth:`spell` does.

        A document that has "handled" or "handler" has "handling".
        """
        document = self.document(id)
        known = frozenset(map(_strip, self.subject(f"{document.title}\n{document.text}"))) if document else frozenset()
        return {form: word for form, word in self.spell(text).items() if _strip(form) not in known}

    @cached_property
    def frequencies(self) -> Counter[str]:
        """In how many documents each word occurs."""
        counts: Counter[str] = Counter()
        for document in self.golden.documents:
            counts.update(self.subject(f"{document.title}\n{document.text}"))
        return counts

    def weigh(self, subject: Iterable[str]) -> float:
        """Return the sum of the weights of words: rare ones count more, unknown ones as the rarest."""
        size = len(self.golden.documents)
        return math.fsum(math.log(1 + size / (1 + self.frequencies[word])) for word in subject)

    def coverage(self, wanted: frozenset[str], text: str) -> float:
        """Return how much of some words a text has, from 0 to 1; rare words count more."""
        total = self.weigh(wanted)
        return self.weigh(wanted & self.subject(text)) / total if total else 0.0

    def compare(self, id: str, text: str, span: Span | None) -> tuple[float, float]:
        """Return how much of a text the document has at a span, and anywhere; from 0 to 1.

        The text is compared at a few places, by words in a row, so that white space and punctuation do not count.
        """
        key = (id, text, span)
        if key not in self._compared:
            self._compared[key] = self._compare(id, text, span)
        return self._compared[key]

    def _compare(self, id: str, text: str, span: Span | None) -> tuple[float, float]:
        spoken = words(text)
        if len(spoken) < _PROBE:
            return 1.0, 1.0
        here = f" {' '.join(words(self.text_at(id, span)))} " if span is not None else self.plain(id)
        steps = {round(i * (len(spoken) - _PROBE) / (_PROBES - 1)) for i in range(_PROBES)}
        probes = [f" {' '.join(spoken[start : start + _PROBE])} " for start in sorted(steps)]
        # The first words may be a line of context, such as the title.
        probes = probes[1:] if len(probes) > 2 else probes
        anywhere = self.plain(id)
        return sum(probe in here for probe in probes) / len(probes), sum(probe in anywhere for probe in probes) / len(
            probes
        )

    def strange_words(self, text: str) -> float:
        """Return the share of a text's words that no document has."""
        if text not in self._strange:
            spoken = [word for word in self.subject(text) if not word.isdigit()]
            strange = sum(not self.frequencies[word] for word in spoken)
            self._strange[text] = strange / len(spoken) if spoken else 0.0
        return self._strange[text]

    def typed_blocks(self, id: str) -> Sequence[Block]:
        """Return the tables and code blocks of a document."""
        parts = self.outline(id)
        return [block for block in parts.blocks if block.type in ("table", "code")] if parts else []


def _strip(word: str) -> str:
    """Return an English word without its ending, so that forms of a word are equal; it is for comparing only."""
    return _ENDING.sub("", word)
