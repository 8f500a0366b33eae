"""Passages of a golden set, found in the documents that they come from.

ragas and deepeval write the passages that answer a question, and not the documents that they are from. A system returns
documents, or parts of them, under ids of their own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from karat.core import Document, GoldenSet, InputError, Target, count_things, shorten
from karat.files import Reading
from karat.text import canonical

_WORDS = 8
"""How many words of a passage are looked up; where they stand, all of it is compared."""


def find_passages(golden: GoldenSet, documents: Sequence[Document], reading: Reading, source: str) -> GoldenSet:
    """Return a set whose judgments of passages are of the documents that contain them, line breaks and blanks aside.

    A passage that several documents contain is in each of them. One that no document contains is a mistake: without it
    its question would look answered by less. A passage with the id of a document is that document.
    """
    known = {document.id for document in documents}
    texts = {passage.id: _squeeze(passage.text) for passage in golden.documents if passage.id not in known}
    holders = _find_holders(texts.values(), documents)
    homes = {
        passage.id: holders[texts[passage.id]] if passage.id in texts else [passage.id] for passage in golden.documents
    }
    for passage in golden.documents:
        if not homes[passage.id]:
            problem = f"none of the documents has the passage {shorten(passage.text)}"
            hint = "name the documents that it is from, or leave the documents out"
            reading.errors.append(InputError(problem, source=source, hint=hint))
    if several := sum(len(places) > 1 for places in homes.values()):
        reading.note(
            f"{source}: {count_things(several, 'passage is', 'passages are')} in several documents, and judged in each"
        )
    judgments = {
        (judgment.query, document): replace(judgment, target=Target(document=document))
        for judgment in golden.judgments
        for document in homes.get(judgment.target.document, [judgment.target.document])
    }
    return replace(golden, documents=tuple(documents), judgments=tuple(judgments.values()))


def _find_holders(passages: Iterable[str], documents: Iterable[Document]) -> dict[str, list[str]]:
    """Return the documents that contain each passage, in one walk through their words.

    Passages may begin and end within a word, as splitters cut them: what is looked up are some whole words of each.
    """
    holders: dict[str, dict[str, None]] = {passage: {} for passage in passages}
    wanted: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for passage in filter(None, holders):
        words, before = _choose_words(passage)
        wanted[words].append((passage, before))
    lengths = {words.count(" ") + 1 for words in wanted}
    for document in documents:
        text = _squeeze(document.text)
        ends = [match.start() for match in re.finditer(r" |\Z", text)]
        for first, start in enumerate([0, *(end + 1 for end in ends[:-1])]):
            for length in lengths:
                words = text[start : ends[min(first + length, len(ends)) - 1]]
                for passage, before in wanted.get(words, ()):
                    if start >= before and text.startswith(passage, start - before):
                        holders[passage][document.id] = None
    return {passage: list(ids) for passage, ids in holders.items()}


def _choose_words(passage: str) -> tuple[str, int]:
    """Return some whole words of a passage, and how many characters stand before them.

    >>> _choose_words("ust fed at noon, every d")
    ('fed at noon, every', 4)
    """
    words = passage.split(" ")
    if len(words) <= 2:  # there is none between the first and the last
        return passage, 0
    return " ".join(words[1:-1][:_WORDS]), len(words[0]) + 1


def _squeeze(text: str) -> str:
    """Return the words of a text with one blank between them."""
    return " ".join(canonical(text).split())
