"""Golden sets made by machine: a start until there is a real one, and never a replacement for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from random import Random
from typing import NamedTuple

from karat.core import Document, GoldenSet, Judgment, Query, Span, Target, UsageError
from karat.text import prose, sentences

Generate = Callable[[Document, int], Iterable[str]]
"""A function that makes at most so many queries for a document, such as a call to a language model."""

SHORTEST_QUERY = 11
"""A sentence of fewer characters is no use as a query."""
LONGEST_QUERY = 300
"""A sentence of more characters is a list, a log or data."""
_WORDS, _CONTENT = 5, 3
"""A sentence of fewer words, or of fewer content words, fits many documents."""
_SPARE = 3
"""How many times as many sentences and documents are read as are needed, since some are shared with others."""
_START = 3
"""Words by which a sentence is searched for in all documents."""
_LINKED = re.compile(r"\]\([^()\n]*\)")


class _Sentence(NamedTuple):
    """A sentence that could be a query."""

    text: str
    rank: int
    """The lower the better: 0 in a paragraph, 1 in a list; for a short sentence 2 in a paragraph, 3 in a list."""


def sentence_queries(document: Document, n: int) -> Iterable[str]:
    r"""Return the first sentences of the document's prose, without markup, that can be queries.

    Sentences of paragraphs are preferred to items of lists, and longer ones to short ones. Worse ones are returned only
    where the document has no better.

    >>> text = "Open it.\n\n1. Click Audit.\n2. Click Export.\n\nThe export holds every change of the last year."
    >>> list(sentence_queries(Document(id="audit", text=text, format="markdown"), 3))
    ['The export holds every change of the last year.']
    """
    return _best(_candidates(document, n), n)


def _candidates(document: Document, enough: int) -> list[_Sentence]:
    """Return the sentences that can be queries; reading stops when there are enough of the best rank."""
    candidates: dict[str, _Sentence] = {}  # a sentence that occurs twice counts once
    best = 0
    for paragraph in prose(document):
        for text in filter(_is_query, sentences(paragraph.text)):
            if text not in candidates:
                candidates[text] = _Sentence(text, 2 * (not _is_specific(text)) + paragraph.item)
                best += candidates[text].rank == 0
        if best >= enough:
            break
    return list(candidates.values())


def _is_query(sentence: str) -> bool:
    """Return whether somebody could search for a sentence: it is neither a stub nor data nor an address."""
    if not SHORTEST_QUERY <= len(sentence) <= LONGEST_QUERY or "://" in sentence or sentence.endswith(":"):
        return False
    return any(map(str.isalpha, sentence))


def _is_specific(sentence: str) -> bool:
    """Return whether a sentence has enough words to differ from others."""
    from karat.text import STOP_WORDS, words

    split = words(sentence)
    return len(split) >= _WORDS and sum(word not in STOP_WORDS for word in split) >= _CONTENT


def _best(candidates: Iterable[_Sentence], n: int) -> list[str]:
    """Return the first sentences of the best rank, none of them nearly the same as another."""
    candidates = list(candidates)
    best = min((sentence.rank for sentence in candidates), default=0)
    texts: list[str] = []
    for sentence in candidates:
        if len(texts) == n:
            break
        if sentence.rank == best and not any(_is_alike(sentence.text, text) for text in texts):
            texts.append(sentence.text)
    return texts


def _is_alike(first: str, second: str) -> bool:
    """Return whether two sentences are nearly the same, by the linter's rule."""
    from karat.golden.lint import ALIKE
    from karat.text import content, letters

    if set(content(first)) == set(content(second)):
        return True
    mine, others = set(letters(first)), set(letters(second))
    return len(mine & others) >= ALIKE * len(mine | others)


def synthesise(
    documents: Sequence[Document],
    per_document: int = 3,
    *,
    generate: Generate = sentence_queries,
    name: str = "synthetic",
    most: int | None = None,
) -> GoldenSet:
    """Return a golden set with queries made from documents; only the document of a query is relevant to it.

    ``generate`` makes the texts. Without it they are the document's own sentences, which a lexical retriever finds
    easily: such a set shows that a pipeline works, not that it is good. A sentence that occurs in another document too
    is left out, because it has more than one answer. ``most`` limits the number of queries, which are spread evenly
    over the documents.

    >>> golden = synthesise([Document(id="wifi", text="The network is free. Ask at the desk. Yes.")], 2)
    >>> [(query.id, query.text) for query in golden.queries]
    [('q001', 'The network is free.'), ('q002', 'Ask at the desk.')]
    """
    for option, value in (("per_document", per_document), ("most", most)):
        if value is not None and value < 1:
            raise UsageError(f"{option}={value}; make at least one query{' per document' * (option != 'most')}")
    stretches = _stretches(documents, most)
    if most is not None:
        per_document = max(1, min(per_document, most // max(1, len(stretches))))
    texts_of = (
        _own_sentences(documents, stretches, per_document)
        if generate is sentence_queries
        else _generated(stretches, per_document, generate)
    )
    queries: list[Query] = []
    judgments: list[Judgment] = []
    for document, texts in texts_of:
        for text in texts:
            # A number: an id with the name of the document would tell which one answers.
            query = Query(id=f"q{len(queries) + 1:03d}", text=text)
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


_Texts = Iterator[tuple[Document, list[str]]]
"""The texts of the queries that are made for each document."""


def _stretches(documents: Sequence[Document], most: int | None) -> list[Sequence[Document]]:
    """Return stretches of documents of about the same length; queries are made for one document of each."""
    n = len(documents) if most is None else min(most, len(documents))
    return [documents[i * len(documents) // n : (i + 1) * len(documents) // n] for i in range(n)]


def _generated(stretches: Sequence[Sequence[Document]], n: int, generate: Generate) -> _Texts:
    """Call the generator for the documents of each stretch until it makes something."""
    for stretch in stretches:
        texts_of = ((document, list(islice(generate(document, n), n))) for document in stretch)
        yield from islice((pair for pair in texts_of if pair[1]), 1)


def _own_sentences(documents: Sequence[Document], stretches: Sequence[Sequence[Document]], n: int) -> _Texts:
    """Yield sentences that no other document has; where a document of a stretch has none, the next may have some."""
    candidates = [list(islice(_with_candidates(stretch, _SPARE * n), _SPARE)) for stretch in stretches]
    shared = _shared(documents, [pair for pairs in candidates for pair in pairs])
    for pairs in candidates:
        texts_of = (
            (document, _best((sentence for sentence in own if _key(sentence.text) not in shared), n))
            for document, own in pairs
        )
        yield from islice((pair for pair in texts_of if pair[1]), 1)


def _with_candidates(stretch: Iterable[Document], enough: int) -> Iterator[tuple[Document, list[_Sentence]]]:
    """Yield the documents that have sentences which can be queries, with these sentences."""
    for document in stretch:
        if own := _candidates(document, enough):
            yield document, own


def _key(text: str) -> tuple[str, ...]:
    """Return the words by which the linter compares questions."""
    from karat.text import folded

    return tuple(folded(text).split())


def _shared(
    documents: Sequence[Document], candidates: Sequence[tuple[Document, Sequence[_Sentence]]]
) -> set[tuple[str, ...]]:
    """Return the keys of sentences whose words follow each other in more than one document, whatever their markup.

    The documents are searched as they are written: reading the prose of all of them would take longer than all the
    rest.
    """
    owner: dict[tuple[str, ...], Document] = {}
    shared: set[tuple[str, ...]] = {()}  # a sentence of nothing but articles
    for document, own in candidates:
        keys = [_key(sentence.text) for sentence in own]
        shared.update(key for key in keys if owner.setdefault(key, document) is not document)
    lengths: dict[tuple[str, ...], set[int]] = {}  # of the sentences with these first words
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
    """Return a golden set of made-up logs with hidden facts: one line answers each query, and is judged as a span.

    The same arguments make the same bytes, on every machine and with every version of Python.

    >>> golden = needles(documents=2, lines=5, needles=1)
    >>> query, judgment = golden.queries[0], golden.judgments[0]
    >>> text = golden.document_by_id[judgment.target.document].text.encode()
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
    """Return the set of these logs, with the span of each fact as its judgment."""
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
