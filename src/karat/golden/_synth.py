"""Golden sets made by machine: a start before there is a real one, and never a replacement for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from random import Random
from typing import NamedTuple

from karat.core import Document, GoldenSet, Judgment, Query, Span, Target, UsageError
from karat.text import prose, sentences

Generate = Callable[[Document, int], Iterable[str]]
"""Makes at most so many queries for a document; an LLM can be one."""

_SHORT = 10
"""A sentence of at most so many characters asks nothing."""
_LONG = 300
"""One of more is a list, a log or data rather than a sentence."""
_WORDS, _CONTENT = 5, 3
"""A sentence of fewer words, or of fewer that say something, fits many documents."""
_SPARE = 3
"""How many times as many sentences and documents are looked at as are wanted, since some are shared with others."""
_START = 3
"""Words by which a sentence is looked for in all documents."""
_LINKED = re.compile(r"\]\([^()\n]*\)")


class _Sentence(NamedTuple):
    """A sentence that could be a query."""

    text: str
    rank: int
    """How little it is worth: sentences of paragraphs are 0, of lists 1; short ones of paragraphs 2, of lists 3."""


def sentence_queries(document: Document, n: int) -> Iterable[str]:
    r"""Take the first sentences of the document's prose that ask something; its markup is left out.

    Those of paragraphs are preferred to items of lists, and those of several words that say something to short ones:
    of the others there are some only where the document has no better.

    >>> text = "Open it.\n\n1. Click Audit.\n2. Click Export.\n\nThe export holds every change of the last year."
    >>> list(sentence_queries(Document(id="audit", text=text, format="markdown"), 3))
    ['The export holds every change of the last year.']
    """
    return _best(_asking(document, n), n)


def _asking(document: Document, enough: int) -> list[_Sentence]:
    """Give the sentences that ask something; no more of a document is read than gives enough of the best."""
    found: dict[str, _Sentence] = {}  # a sentence that stands twice asks once
    best = 0
    for paragraph in prose(document):
        for text in filter(_asks, sentences(paragraph.text)):
            if text not in found:
                found[text] = _Sentence(text, 2 * (not _says(text)) + paragraph.item)
                best += found[text].rank == 0
        if best >= enough:
            break
    return list(found.values())


def _asks(sentence: str) -> bool:
    """Say whether it is a sentence that somebody could search for: neither a stub nor data nor an address."""
    if not _SHORT < len(sentence) <= _LONG or "://" in sentence or sentence.endswith(":"):
        return False
    return any(map(str.isalpha, sentence))


def _says(sentence: str) -> bool:
    """Say whether a sentence has enough words to be told from others."""
    from karat.text import STOP_WORDS, words

    found = words(sentence)
    return len(found) >= _WORDS and sum(word not in STOP_WORDS for word in found) >= _CONTENT


def _best(found: Iterable[_Sentence], n: int) -> list[str]:
    """Take the first sentences of the best rank that there is, none of them nearly the same as another."""
    found = list(found)
    best = min((one.rank for one in found), default=0)
    taken: list[str] = []
    for text in (one.text for one in found if one.rank == best):
        if len(taken) == n:
            break
        if not any(_alike(text, other) for other in taken):
            taken.append(text)
    return taken


def _alike(one: str, other: str) -> bool:
    """Say whether two sentences are nearly the same, as the linter sees it."""
    from karat.golden.lint import ALIKE
    from karat.text import content, letters

    first, second = set(letters(one)), set(letters(other))
    return set(content(one)) == set(content(other)) or len(first & second) >= ALIKE * len(first | second)


def synthesise(
    documents: Sequence[Document],
    per_document: int = 3,
    *,
    generate: Generate = sentence_queries,
    name: str = "synthetic",
    most: int | None = None,
) -> GoldenSet:
    """Make queries from documents; each has the document it came from as its only relevant one.

    ``generate`` makes the texts; without one they are the document's own sentences, which a lexical retriever finds
    easily: such a set shows that a pipeline works, not that it is good. A sentence that stands in another document too
    is left out, because it has no one answer. With ``most`` there are no more queries than that, spread evenly over the
    documents.

    >>> made = synthesise([Document(id="wifi", text="The network is free. Ask at the desk. Yes.")], 2)
    >>> [(query.id, query.text) for query in made.queries]
    [('wifi_q0', 'The network is free.'), ('wifi_q1', 'Ask at the desk.')]
    """
    for what, value in (("per_document", per_document), ("most", most)):
        if value is not None and value < 1:
            raise UsageError(f"{what}={value}; make at least one query{' per document' * (what != 'most')}")
    stretches = _stretches(documents, most)
    if most is not None:
        per_document = max(1, min(per_document, most // max(1, len(stretches))))
    asked = (
        _own_sentences(documents, stretches, per_document)
        if generate is sentence_queries
        else _generated(stretches, per_document, generate)
    )
    queries, judgments = [], []
    for document, texts in asked:
        for i, text in enumerate(texts):
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


_Asked = Iterator[tuple[Document, list[str]]]


def _stretches(documents: Sequence[Document], most: int | None) -> list[Sequence[Document]]:
    """Cut a row of documents into stretches of about the same length, of each of which one is asked for."""
    n = len(documents) if most is None else min(most, len(documents))
    return [documents[i * len(documents) // n : (i + 1) * len(documents) // n] for i in range(n)]


def _generated(stretches: Sequence[Sequence[Document]], n: int, generate: Generate) -> _Asked:
    """Ask the generator for the documents of each stretch until it makes something."""
    for stretch in stretches:
        made = ((document, list(islice(generate(document, n), n))) for document in stretch)
        yield from islice((one for one in made if one[1]), 1)


def _own_sentences(documents: Sequence[Document], stretches: Sequence[Sequence[Document]], n: int) -> _Asked:
    """Take sentences that no other document has; where one document of a stretch has none, the next may have some."""
    looked = [
        list(islice(((one, found) for one in stretch if (found := _asking(one, _SPARE * n))), _SPARE))
        for stretch in stretches
    ]
    shared = _shared(documents, [pair for pairs in looked for pair in pairs])
    for pairs in looked:
        made = ((one, _best((each for each in found if _key(each.text) not in shared), n)) for one, found in pairs)
        yield from islice((pair for pair in made if pair[1]), 1)


def _key(text: str) -> tuple[str, ...]:
    """Give the words by which the linter tells questions apart."""
    from karat.text import folded

    return tuple(folded(text).split())


def _shared(
    documents: Sequence[Document], looked: Sequence[tuple[Document, Sequence[_Sentence]]]
) -> set[tuple[str, ...]]:
    """Find the sentences whose words stand in a row in more than one document, whatever is marked in them.

    The documents are taken as they are written: to read the prose of them all would take longer than all the rest.
    """
    owner: dict[tuple[str, ...], Document] = {}
    shared: set[tuple[str, ...]] = {()}  # a sentence of articles alone is none
    for document, found in looked:
        shared.update(key for one in found if owner.setdefault(key := _key(one.text), document) is not document)
    lengths: dict[tuple[str, ...], set[int]] = {}  # of the sentences that begin so
    for key in owner.keys() - shared:
        lengths.setdefault(key[:_START], set()).add(len(key))
    sizes = {len(start) for start in lengths}
    for document in documents:
        words = _key(_LINKED.sub("]", document.text))
        for size in sizes:
            for i, start in enumerate(zip(*(words[k:] for k in range(size)), strict=False)):
                runs = (words[i : i + length] for length in lengths.get(start, ()))
                shared.update(run for run in runs if owner.get(run, document) is not document)
    return shared


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
