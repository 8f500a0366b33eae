"""Rules on wording: queries that give their answer away, follow a template, or occur twice."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from karat.core import GoldenSet, shorten
from karat.golden.lint._asking import Relevant, repeats
from karat.golden.lint._copying import Source, choose_texts
from karat.golden.lint._frames import frames
from karat.golden.lint._id_rules import counted
from karat.golden.lint._paraphrases import idle, strays
from karat.golden.lint._rule import Finding, Subject, flag, rule
from karat.text import words

FEW = 10
"""Below this number of queries, shares mean nothing."""
TEMPLATES = 0.1
"""From this share of queries in frames on, they are reported."""
ONE_WORD = 0.8
"""From this share of queries with one first word on, it is reported."""
TELLING = 0.1
"""From this share of queries whose ids give the answer away on, they are reported, if there are three."""
NUMBERED = 0.5
"""The same for ids that are numbers, which are equal by chance now and then."""

_LETTER, _DIGIT, _MARK = re.compile(r"[^\W\d_]"), re.compile(r"\d"), re.compile(r"[_/:]")
_LONGEST_NAME = 200  # characters of an id that another id may repeat: a longer one is no name
_PUNCTUATION = ".,;:!?()[]{}<>\"'`"


def _relevant(golden: GoldenSet) -> dict[str, frozenset[str]]:
    """Return the relevant documents of each query that has some."""
    pairs: dict[str, set[str]] = defaultdict(set)
    for (query, target), grade in golden.decided.items():
        if grade >= golden.relevant:
            pairs[query].add(target.document)
    return {query: frozenset(documents) for query, documents in pairs.items()}


def _relevant_classes(golden: GoldenSet) -> Relevant:
    """Return the same with each document of a class replaced by its class."""
    same = golden.class_of
    if not same:
        return _relevant(golden)
    return {query: frozenset(same.get(d, d) for d in documents) for query, documents in _relevant(golden).items()}


def _queries(n: int, golden: GoldenSet) -> str:
    return f"{n:,} of {counted(len(golden.queries), 'query', 'queries')}"


@rule("copied-query", "warning")
def copied_query(subject: Subject) -> Iterator[Finding]:
    """A query, or a paraphrase of it, is copied from a document that is relevant to it.

    It has eight words in a row from the document, five of them not mere grammar; or it has at least five words, and
    four fifths of its three-word runs are in the document. Short keyword queries never count: they have to match. Of a
    query with very many paraphrases and relevant documents, only the first paraphrases are compared.

    Why: people who search do not have the text. A copied query is found by matching words, so that the set tests the
        index against itself, and favours keyword search over everything else.
    Example: "Hold the reset button of the access point for ten seconds" for the guide that says so.
    Fix: write the query in the words of someone who has not read the document, or harvest real queries.
    """
    golden = subject.golden
    queries_of: dict[str, list[str]] = defaultdict(list)
    relevant = _relevant(golden)
    for query, documents in relevant.items():
        for name in documents if query in golden.query_by_id else ():
            queries_of[name].append(query)
    copied: dict[str, str] = {}
    for document in golden.documents:
        queries = [query for query in queries_of.pop(document.id, ()) if query not in copied]
        source = Source(f"{document.title}\n{document.text}") if queries else None
        for query in queries:
            asking = golden.query_by_id[query]
            if source and any(map(source.gave, choose_texts(asking, len(relevant[query])))):
                copied[query] = document.id
    if copied:
        query = next(iter(copied))
        text = shorten(golden.query_by_id[query].text)
        message = (
            f"{_queries(len(copied), golden)} copied from a relevant document, as {query} from {copied[query]}: {text}"
        )
        yield flag("copied-query", message, list(copied))


@rule("template-query", "warning")
def template_query(subject: Subject) -> Iterator[Finding]:
    """Many queries are one sentence in which a word or two change.

    At least five queries make a frame, and frames are reported when they hold a tenth of all queries.

    Why: fifty variants of one frame are one query asked fifty times. Scores look more certain than they are, and nobody
        asks like that.
    Example: "What is the pet policy?", "What is the pool policy?", "What is the spa policy?" ...
    Fix: keep a few, and write the others as different people would: keywords, symptoms, whole stories.
    """
    golden = subject.golden
    used = frames([query.text for query in golden.queries])
    places = [place for frame in used for place in frame.places]
    if len(golden.queries) < FEW or len(places) < TEMPLATES * len(golden.queries):
        return
    shown = ", ".join(f"{frame.text!r} ({len(frame.places):,})" for frame in used[:3])
    more = f" and {len(used) - 3:,} more" if len(used) > 3 else ""
    message = f"{_queries(len(places), golden)} ({100 * len(places) / len(golden.queries):.0f} %) fill "
    message += f"{counted(len(used), 'frame')}: {shown}{more}"
    yield flag("template-query", message, [golden.queries[place].id for place in places])


@rule("same-first-word", "warning")
def same_first_word(subject: Subject) -> Iterator[Finding]:
    """Four fifths of the queries begin with one word.

    Why: people also type keywords, commands and complaints. Uniform queries come from one generator or one writer.
    Example: 235 of 276 questions begin with "what".
    Fix: vary the form, and add queries as they were really typed.
    """
    golden = subject.golden
    first = Counter(split[0] for split in (words(query.text) for query in golden.queries) if split)
    if len(golden.queries) < FEW or not first:
        return
    word, count = first.most_common(1)[0]
    if count >= ONE_WORD * len(golden.queries):
        share = 100 * count / len(golden.queries)
        yield flag("same-first-word", f"{_queries(count, golden)} ({share:.0f} %) begin with {word!r}")


@rule("near-duplicate-query", "warning")
def near_duplicate_query(subject: Subject) -> Iterator[Finding]:
    """Two queries ask the same.

    With the same relevant documents, they have the same words, the same content words in another order, or four fifths
    of the three-letter runs of their words in common. With other relevant documents, they have the same words, because
    one word or its place can make another question. Queries of a session are left out. Typing errors and synonyms go
    unnoticed.

    Why: two queries with the same answers count one question twice, and make every interval too narrow. Two with
        different answers contradict each other: no system can be right on both.
    Example: "reset wifi password" and "WiFi password reset?".
    Fix: where they mean the same, keep one and make the other a paraphrase; where their judgments differ, judge again.
    """
    golden = subject.golden
    pairs = repeats(golden.queries, _relevant_classes(golden))
    if pairs.contradicting:
        message = (
            f"{counted(len(pairs.contradicting), 'pair')} of queries with the same words and other relevant documents"
        )
        yield flag(
            "near-duplicate-query", message, _both(pairs.contradicting), fix="judge again, and keep one of the two"
        )
    if pairs.counted_twice:
        message = (
            f"{counted(len(pairs.counted_twice), 'pair')} of queries that say nearly the same, with the same answers"
        )
        yield flag("near-duplicate-query", message, _both(pairs.counted_twice))


def _both(pairs: Sequence[tuple[str, str]]) -> list[str]:
    return [f"{first} = {second}" for first, second in pairs]


@rule("repeated-paraphrase", "warning")
def repeated_paraphrase(subject: Subject) -> Iterator[Finding]:
    """A paraphrase has the words of its query, or of another paraphrase of it.

    Case, punctuation and articles do not count.

    Why: stability over wordings is then measured on one wording, and looks better than it is.
    Example: "Where is the pool?" with the paraphrase "where is the pool".
    Fix: say it as another person would: in other words, as keywords, as a complaint.
    """
    golden = subject.golden
    idles = {query.id: idle(query) for query in golden.queries if query.paraphrases}
    texts = [text for repeated in idles.values() for text in repeated]
    if texts:
        ids = [query for query, repeated in idles.items() if repeated]
        message = f"{counted(len(texts), 'paraphrase')} without new words, of {counted(len(ids), 'query', 'queries')}"
        yield flag("repeated-paraphrase", f"{message}, as in {shorten(texts[0])}", ids)


@rule("stray-paraphrase", "warning")
def stray_paraphrase(subject: Subject) -> Iterator[Finding]:
    """A paraphrase does not ask what its query asks.

    Reported are: the text of another query, or mostly its words and hardly any of its own, where the two have no
    relevant document in common; another number where half of the other words are the same; a negation added or removed
    with all other words the same. A paraphrase that shares no word with its query is fine. One that changes a name or
    the meaning goes unnoticed.

    Why: the judgments of the query do not hold for it, so that a right answer counts as wrong.
    Example: "Can I cancel within 48 hours?" as a paraphrase of "Can I cancel within 24 hours?".
    Fix: move it to the query that it asks, make it a query of its own, or correct it.
    """
    golden = subject.golden
    lost = strays(golden.queries, _relevant_classes(golden))
    if lost:
        example = f"{shorten(lost[0].text)} of {lost[0].query} {lost[0].reason}"
        message = f"{counted(len(lost), 'paraphrase')} of another question: {example}"
        yield flag("stray-paraphrase", message, list(dict.fromkeys(stray.query for stray in lost)))


@rule("telling-id", "warning")
def telling_id(subject: Subject) -> Iterator[Finding]:
    """The ids of queries contain the ids of their relevant documents, or the other way round.

    Reported for a tenth of the queries, if there are at least three. Ids that are mere numbers can be equal by chance:
    they take half of the queries, and at least ten.

    Why: such ids tell the answer, and come from a generator that made queries from documents. It asks what the
        documents say, not what people want to know, and has one answer for each question.
    Example: query `wifi-guide_q0`, whose one relevant document is `wifi-guide`.
    Fix: harvest or write queries without looking at the documents, then judge what several systems return for them.
    """
    golden = subject.golden
    relevant = _relevant(golden)
    named, numbered = [], []
    for query, documents in relevant.items():
        inside = [id_ for id_ in documents if _names(query, id_)]
        if any(_is_name(min(query, id_, key=len)) for id_ in inside):
            named.append(query)
        elif inside:
            numbered.append(query)
    if len(named) >= 3 and len(named) >= TELLING * len(relevant):
        yield flag("telling-id", f"{_queries(len(named), golden)} share a name with a relevant document", named)
    elif len(numbered) >= FEW and len(numbered) >= NUMBERED * len(relevant):
        yield flag("telling-id", f"{_queries(len(numbered), golden)} share a number with a relevant document", numbered)


def _names(query: str, document: str) -> bool:
    """Return whether one id is part of the other, not in the middle of a word or a number."""
    short, long = sorted((query.casefold(), document.casefold()), key=len)
    at = long.find(short) if len(short) <= _LONGEST_NAME else -1
    while at >= 0:
        end = at + len(short)
        if not _joined(long[max(0, at - 1) : at + 1]) and not _joined(long[end - 1 : end + 1]):
            return True
        at = long.find(short, at + 1)
    return False


def _joined(letters: str) -> bool:
    """Return whether two characters are of one word or one number."""
    return len(letters) == 2 and (letters.isalpha() or letters.isdecimal())


def _is_name(id_: str) -> bool:
    return len(id_) >= 4 and not id_.isdecimal()


def _is_coded(id_: str) -> bool:
    """Return whether an id cannot be a word: it has a digit among letters, a mark, or two hyphens."""
    return bool(_MARK.search(id_) or (_LETTER.search(id_) and _DIGIT.search(id_)) or id_.count("-") > 1)


@rule("id-in-query", "warning")
def id_in_query(subject: Subject) -> Iterator[Finding]:
    """A query contains the id of a document.

    Ids that could be words are left out: only one with a digit among letters, an underscore, a slash, a colon or two
    hyphens counts.

    Why: an index that holds the ids as text finds the document by its id; no user knows ids.
    Example: "What does kb-0042 say about towels?".
    Fix: write what the document is about. Where people do search for such a number, keep it, and put these queries into
        a category of their own.
    """
    golden = subject.golden
    ids = {document.id.casefold(): document.id for document in golden.documents if _is_coded(document.id)}
    naming = {}
    for query in golden.queries if ids else ():
        for word in query.text.casefold().split():
            named = ids.get(word) or ids.get(word.strip(_PUNCTUATION))
            if named:
                naming[query.id] = named
    if naming:
        query_id, document = next(iter(naming.items()))
        message = f"{_queries(len(naming), golden)} contain the id of a document, as {query_id} has {document}"
        yield flag("id-in-query", message, list(naming))
