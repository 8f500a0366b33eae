"""Rules on texts: the chunks of the index under test where they are known, else the documents of the set."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Sized

from karat.core import Document, GoldenSet
from karat.golden.lint._id_rules import counted
from karat.golden.lint._rule import Finding, Subject, flag, rule
from karat.golden.lint._scripts import script
from karat.golden.lint._similar import Groups, Pair, clusters, near_duplicates
from karat.text import words

TINY = 20
"""Characters below which a text says nothing: about three words."""
GIANT_CHUNK = 6_000
"""Words above which a chunk does not fit into 8,192 tokens, which few embedding models exceed."""
GIANT_DOCUMENT = 20_000
"""Words above which the relevance of a document does not show where the answer is."""

_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b]")
# UTF-8 as it looks in Latin-1 and Windows-1252: the byte C2 or C3 and the next one, the first bytes of typographic
# signs, the byte-order mark. Quotation marks and dashes may follow an accented capital A at the end of a word.
_SIGNS = bytes([0x85, *range(0x91, 0x98), 0xAB, 0xBB])
_REST = bytes(byte for byte in range(0x80, 0xC0) if byte not in _SIGNS)
_BROKEN = re.compile(
    f"\ufffd|\xe2[\u20ac\x80\x82\x84]|\xe2\u201e\xa2|\xe2\u201a\xac|\xef\xbb\xbf"
    f"|[\xc2\xc3](?:[{_REST.decode('latin-1')}{_REST.decode('cp1252', errors='ignore')}\x85\x91-\x97]"
    f"|[{_SIGNS.decode('cp1252')}](?=\\w))"
)


def _texts(subject: Subject) -> tuple[str, Sequence[Document]]:
    """Return the kind of the texts to check, chunk or document, and the texts."""
    return ("chunk", subject.chunks) if subject.chunks else ("document", subject.golden.documents)


def _of(ids: Sized, kind: str, total: int) -> str:
    return f"{len(ids):,} of {counted(total, kind)}"


@rule("empty-text", "warning")
def empty_text(subject: Subject) -> Iterator[Finding]:
    """A chunk or a document has neither text nor title.

    Why: it cannot be found by its content. Some models give it the vector of an empty text, which is close to many.
    Example: a scanned page from which no text was extracted.
    Fix: extract the text again, or remove it and its judgments.
    """
    kind, texts = _texts(subject)
    empty = [text.id for text in texts if not text.text.strip() and not text.title.strip()]
    if empty:
        yield flag("empty-text", f"{_of(empty, kind, len(texts))} without text", empty)


@rule("tiny-text", "warning")
def tiny_text(subject: Subject) -> Iterator[Finding]:
    """A chunk or a document has fewer than 20 characters.

    Why: three words have no context, and rank high for every query that has one of them.
    Example: a chunk "Contents", left over when a page was split.
    Fix: join it to its neighbour, or leave it out of the index.
    """
    kind, texts = _texts(subject)
    tiny = [text.id for text in texts if 0 < len(f"{text.title} {text.text}".strip()) < TINY]
    if tiny:
        yield flag("tiny-text", f"{_of(tiny, kind, len(texts))} with fewer than {TINY} characters", tiny)


@rule("giant-text", "warning")
def giant_text(subject: Subject) -> Iterator[Finding]:
    """A chunk has more than 6,000 words, or a document more than 20,000.

    Why: few embedding models read more than 8,192 tokens, about 6,000 English words, and many far fewer; the rest of a
        chunk is ignored. That a document of 20,000 words was found hardly shows that its answer was.
    Example: a whole handbook in one chunk.
    Fix: split it at its headings; judge sections or spans of a long document.
    """
    kind, texts = _texts(subject)
    limit = GIANT_CHUNK if kind == "chunk" else GIANT_DOCUMENT
    giant = [text.id for text in texts if len(text.text) > limit and len(words(text.text)) > limit]
    if giant:
        yield flag("giant-text", f"{_of(giant, kind, len(texts))} with more than {limit:,} words", giant)


@rule("missing-id", "warning")
def missing_id(subject: Subject) -> Iterator[Finding]:
    """A chunk or a document has an id of nothing but white space.

    Why: it cannot be judged, and a hit on it cannot be counted.
    Example: a chunk without the `id` that its store gave it.
    Fix: give it an id that stays the same when the index is rebuilt.
    """
    kind, texts = _texts(subject)
    nameless = [f"{kind} {place}" for place, text in enumerate(texts, 1) if not text.id.strip()]
    if nameless:
        yield flag("missing-id", f"{_of(nameless, kind, len(texts))} without an id", nameless)


@rule("control-character", "warning")
def control_character(subject: Subject) -> Iterator[Finding]:
    """A text holds control characters or zero-width spaces.

    Tabs and ends of lines are fine.

    Why: they split or join words invisibly, so that a search for the word misses it.
    Example: form feeds between the pages of a converted PDF.
    Fix: replace them with spaces before the text is split and indexed.
    """
    kind, texts = _texts(subject)
    hits = {text.id: hit[0] for text in texts if (hit := _CONTROLS.search(text.text))}
    if hits:
        seen = ", ".join(f"U+{ord(character):04X}" for character, _ in Counter(hits.values()).most_common(3))
        yield flag("control-character", f"{_of(hits, kind, len(texts))} with control characters ({seen})", list(hits))


@rule("byte-order-mark", "warning")
def byte_order_mark(subject: Subject) -> Iterator[Finding]:
    """A text holds a byte-order mark (U+FEFF).

    Why: it sticks to the next word invisibly, so that a search for the word misses it.
    Example: files joined with `cat`, each with a mark of its own.
    Fix: read the files as `utf-8-sig`, and remove the mark elsewhere.
    """
    kind, texts = _texts(subject)
    marked = [text.id for text in texts if "\ufeff" in text.text]
    if marked:
        yield flag("byte-order-mark", f"{_of(marked, kind, len(texts))} with a byte-order mark", marked)


@rule("broken-character", "warning")
def broken_character(subject: Subject) -> Iterator[Finding]:
    """A text was read in the wrong encoding: it holds U+FFFD, or UTF-8 that was read as Windows-1252.

    Why: a search for "café" does not find "cafÃ©", and spans that count its bytes are wrong once it is corrected.
    Example: "cafÃ©" instead of "café".
    Fix: read the source again in its true encoding; what became U+FFFD is lost in this copy.
    """
    kind, texts = _texts(subject)
    hits = {text.id: hit for text in texts if not text.text.isascii() and (hit := _BROKEN.search(text.text))}
    if hits:
        hit = next(iter(hits.values()))
        around = hit.string[max(0, hit.start() - 10) : hit.end() + 10]
        yield flag("broken-character", f"{_of(hits, kind, len(texts))} with broken characters: {around!r}", list(hits))


@rule("stray-script", "warning")
def stray_script(subject: Subject) -> Iterator[Finding]:
    """Texts are in another script than most, and no query is in that script.

    The script of most letters of a text decides. It distinguishes Russian from English, but not German from English,
    which would need a model. Japanese and Chinese count as one.

    Why: nobody asks for them, so that they can only be wrong answers; mostly they are there by mistake.
    Example: three Russian notes in a collection of 500 English documents.
    Fix: remove them, or add queries that need them.
    """
    kind, texts = _texts(subject)
    scripts = [script(text.text or text.title) for text in texts]
    counts = Counter(name for name in scripts if name)
    expected = {script(query.text) for query in subject.golden.queries} | {name for name, _ in counts.most_common(1)}
    strays = [text.id for text, name in zip(texts, scripts, strict=True) if name and name not in expected]
    if strays and subject.golden.queries:
        names = ", ".join(f"{name} {count:,}" for name, count in counts.most_common() if name not in expected)
        yield flag("stray-script", f"{_of(strays, kind, len(texts))} in a script that no query has: {names}", strays)


@rule("duplicate-text", "warning")
def duplicate_text(subject: Subject) -> Iterator[Finding]:
    """Two chunks or two documents have the same text.

    Documents of one class, and versions of which one supersedes the other, are left out.

    Why: they share the top of every list, and push other results out. Where only one of them is judged, a right answer
        counts as wrong.
    Example: a page that was crawled under two addresses.
    Fix: keep one; or make a class of the documents, so that either counts.
    """
    for kind, texts in (("document", subject.golden.documents), ("chunk", subject.chunks)):
        kin = _kin(subject.golden) if kind == "document" else Groups[str]()
        first: dict[tuple[str, str], str] = {}
        again = []
        for text in texts:
            if text.text.strip():
                same = first.setdefault((text.title, text.text.strip()), text.id)
                if same != text.id and not kin.together(same, text.id):
                    again.append(f"{same} = {text.id}")
        if again:
            yield flag("duplicate-text", f"{_of(again, kind, len(texts))} with the text of another", again)


@rule("near-duplicate-document", "warning")
def near_duplicate_document(subject: Subject) -> Iterator[Finding]:
    """Two documents are nearly the same.

    They share four fifths of their three-word runs. Documents of one class, and versions of which one supersedes the
    other, are left out. Each pair is found with a probability above 0.99; a large group is represented by some pairs.

    Why: a system that returns the other one is punished for a right answer, unless both are judged alike; and which of
        them comes first is chance.
    Example: the cancellation rules of two houses that differ only in the name.
    Fix: judge both alike, make a class of them, declare which one supersedes the other, or remove one.
    """
    golden = subject.golden
    pairs = _alike(golden.documents, _kin(golden))
    if pairs:
        names = [(golden.documents[pair.first].id, golden.documents[pair.second].id) for pair in pairs]
        message = _alike_message(pairs, "document", len(golden.documents))
        unlike = _unlike(golden, names)
        if unlike:
            message += f"; for {counted(unlike, 'query', 'queries')} only one of the two is relevant"
        yield flag("near-duplicate-document", message, [f"{first} = {second}" for first, second in names])


@rule("near-duplicate-chunk", "warning")
def near_duplicate_chunk(subject: Subject) -> Iterator[Finding]:
    """Two chunks of the index under test are nearly the same.

    They share four fifths of their three-word runs; the overlap of neighbours is far below that.

    Why: they share the top of every list, and push other results out.
    Example: the same footer, as a chunk of its own on every page.
    Fix: remove what repeats before splitting, or keep one of each before indexing.
    """
    pairs = _alike(subject.chunks, Groups[str]())
    if pairs:
        chunks = subject.chunks
        names = [f"{chunks[pair.first].id} = {chunks[pair.second].id}" for pair in pairs]
        yield flag("near-duplicate-chunk", _alike_message(pairs, "chunk", len(chunks)), names)


def _alike(texts: Sequence[Document], kin: Groups[str]) -> list[Pair]:
    """Return the pairs that are nearly but not quite the same, and not known to belong together."""
    pairs = near_duplicates([f"{text.title}\n{text.text}" for text in texts])
    return [
        pair
        for pair in pairs
        for first, second in ((texts[pair.first], texts[pair.second]),)
        if not kin.together(first.id, second.id)
        and (first.title, first.text.strip()) != (second.title, second.text.strip())
    ]


def _alike_message(pairs: Sequence[Pair], kind: str, total: int) -> str:
    groups = clusters(pairs)
    closest = 100 * max(pair.similarity for pair in pairs)
    message = f"{_of([place for group in groups for place in group], kind, total)} nearly the same as another"
    return f"{message}, in {counted(len(groups), 'group')}, the closest {closest:.0f} % alike"


def _kin(golden: GoldenSet) -> Groups[str]:
    """Return groups of the documents of each class, and of each document with its successor."""
    groups = Groups[str]()
    for members in golden.classes.values():
        for member in members[1:]:
            groups.join(members[0], member)
    for document in golden.documents:
        if document.superseded_by:
            groups.join(document.id, document.superseded_by)
    return groups


def _unlike(golden: GoldenSet, names: Sequence[tuple[str, str]]) -> int:
    """Return the number of queries for which only one document of a pair is relevant."""
    relevant: dict[str, set[str]] = {name: set() for pair in names for name in pair}
    for (query, target), grade in golden.decided.items():
        if grade >= golden.relevant and target.document in relevant:
            relevant[target.document].add(query)
    return len({query for first, second in names for query in relevant[first] ^ relevant[second]})
