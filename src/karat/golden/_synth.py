"""Golden sets made by machine: a start before there is a real one, and never a replacement for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from random import Random

from karat.core import Document, GoldenSet, Judgment, Query, Span, Target, UsageError
from karat.golden._prose import prose

Generate = Callable[[Document, int], Iterable[str]]
"""Makes at most so many queries for a document; an LLM can be one."""

_END = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])\s*")
_SHORT = 10
"""A sentence of at most so many characters asks nothing."""
_LONG = 300
"""One of more is a list, a log or data rather than a sentence."""


def sentences(text: str) -> list[str]:
    """Split after ``.``, ``!`` and ``?`` where a blank follows, so that 3.5 stays whole; in Chinese also without one.

    >>> sentences("Wow! That is amazing. Really great! It weighs 3.5 kg.")
    ['Wow!', 'That is amazing.', 'Really great!', 'It weighs 3.5 kg.']
    """
    return [piece for piece in (" ".join(piece.split()) for piece in _END.split(text)) if piece]


def sentence_queries(document: Document, n: int) -> Iterable[str]:
    """Take the first sentences of the document's prose that ask something; its markup is left out."""
    found: dict[str, None] = {}  # a sentence that stands twice asks once
    for paragraph in prose(document):  # one after the other: no more is read than is needed
        found.update(dict.fromkeys(filter(_asks, sentences(paragraph))))
        if len(found) >= n:
            break
    return islice(found, n)


def _asks(sentence: str) -> bool:
    """Say whether it is a sentence that somebody could search for: neither a stub nor data nor an address."""
    if not _SHORT < len(sentence) <= _LONG or "://" in sentence or sentence.endswith(":"):
        return False
    return any(map(str.isalpha, sentence))


def synthesise(
    documents: Sequence[Document],
    per_document: int = 3,
    *,
    generate: Generate = sentence_queries,
    name: str = "synthetic",
) -> GoldenSet:
    """Make queries from documents; each has the document it came from as its only relevant one.

    ``generate`` makes the texts; without one they are the document's own sentences, which every lexical retriever
    finds: such a set shows that a pipeline works, not that it is good.

    >>> made = synthesise([Document(id="wifi", text="The network is free. Ask at the desk. Yes.")], 2)
    >>> [(query.id, query.text) for query in made.queries]
    [('wifi_q0', 'The network is free.'), ('wifi_q1', 'Ask at the desk.')]
    """
    if per_document < 1:
        raise UsageError(f"per_document={per_document}; make at least one query per document")
    queries, judgments = [], []
    for document in documents:
        for i, text in enumerate(islice(generate(document, per_document), per_document)):
            query = Query(id=f"{document.id}_q{i}", text=text)
            queries.append(query)
            judgments.append(
                Judgment(query=query.id, target=Target(document=document.id), grade=1, source="bootstrapped")
            )
    return GoldenSet(
        name=name,
        grades=("not relevant", "relevant"),
        relevant=1,
        documents=tuple(documents),
        queries=tuple(queries),
        judgments=tuple(judgments),
    )


_THINGS = ("locker", "safe", "cabinet", "gate", "ledger", "console", "vault", "drawer", "crate", "archive")
_COLOURS = ("amber", "cobalt", "crimson", "ivory", "jade", "ochre", "olive", "pearl", "russet", "slate", "teal")
_PLACES = ("Aldmoor", "Brackley", "Corrin", "Dunmere", "Eskdale", "Farrow", "Glenholt", "Harrowby", "Inverlea")
_SUBJECTS = ("The porter", "A clerk", "The night shift", "One inspector", "The courier", "A visitor", "An engineer")
_VERBS = ("checked", "moved", "counted", "repaired", "described", "photographed", "labelled", "misplaced", "weighed")
_OBJECTS = ("spare keys", "old maps", "linen carts", "copper pipes", "guest letters", "fuse boxes", "garden chairs")
_WHEN = ("at dawn", "before noon", "after the storm", "during the audit", "on the last day", "in heavy rain")


def needles(*, documents: int = 8, lines: int = 200, needles: int = 12, seed: int = 1) -> GoldenSet:
    """Hide facts in made-up logs and ask for them: each query is answered by one line, judged as a span.

    The same arguments give the same bytes, on every machine and every version of Python.

    >>> made = needles(documents=2, lines=5, needles=1)
    >>> query, judgment = made.queries[0], made.judgments[0]
    >>> text = made.document_by_id[judgment.target.document].text.encode()
    >>> query.text
    'What is the code of the jade archive in Corrin?'
    >>> text[judgment.target.span.start:judgment.target.span.end].decode()
    'The code of the jade archive in Corrin is 7130.'
    """
    keys = [(colour, thing, place) for colour in _COLOURS for thing in _THINGS for place in _PLACES]
    for name, value, most in (
        ("documents", documents, 10_000),
        ("lines", lines, 100_000),
        ("needles", needles, len(keys)),
    ):
        if not 1 <= value <= most:
            raise UsageError(f"{name}={value}; choose from 1 to {most:,}")
    if needles > documents * lines:
        raise UsageError(f"{needles} needles do not fit into {documents * lines} lines")
    draw = Random(seed)  # noqa: S311 (no secret); only random() is used, whose sequence Python promises to keep
    logs = [[_line(draw) for _ in range(lines)] for _ in range(documents)]
    keys.sort(key=lambda _: draw.random())
    places = sorted(((d, i) for d in range(documents) for i in range(lines)), key=lambda _: draw.random())
    hidden = []
    for (colour, thing, place), (d, i) in zip(keys[:needles], places, strict=False):
        fact = f"the code of the {colour} {thing} in {place}"
        logs[d][i] = f"{fact[0].upper()}{fact[1:]} is {1000 + int(draw.random() * 9000)}."
        hidden.append((d, i, f"What is {fact}?"))
    return _haystack(logs, hidden)


def _line(draw: Random) -> str:
    parts = [words[int(draw.random() * len(words))] for words in (_SUBJECTS, _VERBS, _OBJECTS, _PLACES, _WHEN)]
    return "{} {} {} {} in {} {}.".format(parts[0], parts[1], 2 + int(draw.random() * 90), *parts[2:])


def _haystack(logs: list[list[str]], hidden: list[tuple[int, int, str]]) -> GoldenSet:
    """Put the lines together, and say where each fact stands."""
    queries, judgments = [], []
    for n, (d, i, question) in enumerate(hidden):
        start = sum(len(line.encode()) + 1 for line in logs[d][:i])
        span = Span(start, start + len(logs[d][i].encode()))
        queries.append(Query(id=f"needle-{n:03d}", text=question))
        judgments.append(Judgment(query=queries[-1].id, target=Target(document=f"log-{d:03d}", span=span), grade=1))
    return GoldenSet(
        name="needles",
        grades=("not relevant", "relevant"),
        relevant=1,
        documents=tuple(
            Document(id=f"log-{d:03d}", text="\n".join(lines) + "\n", format="text") for d, lines in enumerate(logs)
        ),
        queries=tuple(queries),
        judgments=tuple(judgments),
    )
