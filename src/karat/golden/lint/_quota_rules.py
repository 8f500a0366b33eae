"""Rules of the profiles: the size and coverage of a set for a purpose."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from karat.core import SOURCES
from karat.golden.lint._id_rules import counted
from karat.golden.lint._rule import Finding, Profile, Subject, flag, rule

Range = tuple[int, int | None]
"""The fewest and the most; None where there is no upper bound."""

SIZES: dict[Profile, tuple[Range, Range]] = {
    "small": ((50, 100), (20, 50)),
    "agent": ((0, None), (280, None)),
    "structured": ((0, None), (200, 400)),
}
"""How many documents and queries a profile asks for."""

# What is needed, with the word beginnings by which it is recognised.
DOCUMENT_TYPES = {
    "KNOWLEDGE_ARTIFACT": ("knowledge",),
    "COMMUNICATION_SIGNAL": ("communication",),
    "INTERACTION_EVENT": ("interaction",),
}
FORMATS = {"markdown": ("markdown", "md"), "plain text": ("text", "plain", "txt"), "JSON": ("json",)}
DOMAINS = {
    "policy": ("polic",),
    "amenities": ("amenit",),
    "support": ("support",),
    "operations": ("operation",),
}
QUERY_TYPES = {
    "factual": ("fact",),
    "comparative": ("compar",),
    "troubleshooting": ("troubleshoot",),
    "sentiment": ("sentiment",),
    "definition": ("defin",),
    "how-to": ("howto", "how-to"),
}
BLOCK_TYPES = {"p": "prose", "c": "code", "t": "table", "f": "figure"}

CATEGORIES = {
    "trigger-match": 30,
    "semantic-search": 50,
    "causal-query": 25,
    "cross-folder": 25,
    "intent-specific": 105,
    "cold-start": 15,
    "multi-concept": 20,
    "edge-case": 10,
}
INTENTS, PER_INTENT = 7, 15
CURATED = 50
PARAPHRASES = 3
SHORT, LONG, LONGEST = 300, 3000, 5000  # words

_BLOCK = re.compile(r"\.([pctf])\.Bk")


def folded(name: str) -> str:
    """Return a name without case and punctuation.

    >>> folded("How_to"), folded(" Sentiment-based ")
    ('how-to', 'sentiment-based')
    """
    return re.sub(r"[\W_]+", "-", name.casefold()).strip("-")


def missing(needed: Mapping[str, tuple[str, ...]], names: Iterable[str]) -> list[str]:
    """Return what is needed and not among the names, which may be spelt in other ways.

    >>> missing({"how-to": ("howto", "how-to"), "sentiment": ("sentiment",)}, ["How_To", "FACTUAL"])
    ['sentiment']
    """
    words = {part for name in set(names) for part in _beginnings(folded(name))}
    return [name for name, stems in needed.items() if not any(word.startswith(stems) for word in words)]


def _beginnings(name: str) -> list[str]:
    """Return the ends of a name that begin with one of its words, the whole name first."""
    parts = name.split("-")
    return ["-".join(parts[i:]) for i in range(len(parts))]


@rule("set-size", "warning")
def set_size(subject: Subject) -> Iterator[Finding]:
    """The set is smaller or larger than its profile asks for.

    `small` asks for 50 to 100 documents and 20 to 50 queries, `agent` for at least 280 queries, `structured` for 200 to
    400.

    Why: with few queries only a landslide differs from chance, and with few documents everything is found. A set that
        is larger than its profile takes longer than people expect of it, to judge and to run.
    Example: 12 queries under the profile `small`.
    Fix: add what is missing; `karat golden synth` and `karat golden pool` help.
    """
    if subject.profile is None:
        return
    documents, queries = SIZES[subject.profile]
    golden = subject.golden
    if golden.documents:
        yield from _outside(len(golden.documents), documents, "document", "documents")
    yield from _outside(len(golden.queries), queries, "query", "queries")


def _outside(count: int, allowed: Range, singular: str, plural: str) -> Iterator[Finding]:
    least, most = allowed
    if count < least:
        yield flag("set-size", f"{counted(count, singular, plural)} of at least {least}")
    elif most is not None and count > most:
        fix = "choose another profile, or draw a part: `karat golden sample`" if singular == "query" else ""
        message = f"{counted(count, singular, plural)}, and the profile has at most {most}"
        yield flag("set-size", message, fix=fix or "choose another profile, or leave documents out")


@rule("document-lengths", "warning")
def document_lengths(subject: Subject) -> Iterator[Finding]:
    """The documents do not cover short, medium and long texts, or one is too long (profile `small`).

    The profile asks for texts from 100 to 5,000 words: at least one of up to 300, one between, and one of 3,000 or
    more; and none of more than 5,000.

    Why: only long texts show what a chunker is worth, and next to long texts short ones are hard to find.
    Example: 60 documents of 40 words each.
    Fix: add documents as long as the real ones.
    """
    if subject.profile != "small" or not subject.golden.documents:
        return
    lengths = [len(document.text.split()) for document in subject.golden.documents]
    bands = {
        f"of up to {SHORT} words": any(n <= SHORT for n in lengths),
        f"of {SHORT} to {LONG:,} words": any(SHORT < n < LONG for n in lengths),
        f"of {LONG:,} words or more": any(n >= LONG for n in lengths),
    }
    lost = [band for band, is_covered in bands.items() if not is_covered]
    if lost:
        message = f"no document {', and none '.join(lost)}; they have {min(lengths):,} to {max(lengths):,}"
        yield flag("document-lengths", message)
    long = [document.id for document, n in zip(subject.golden.documents, lengths, strict=True) if n > LONGEST]
    if long:
        message = f"{counted(len(long), 'document')} of more than {LONGEST:,} words"
        yield flag("document-lengths", message, long, fix="split long documents, or choose another profile")


@rule("document-types", "warning")
def document_types(subject: Subject) -> Iterator[Finding]:
    """A type of document is missing (profile `small`).

    Why: articles, messages and event records are written differently, and are found differently.
    Example: no document of type `COMMUNICATION_SIGNAL`.
    Fix: add documents of the missing type, or name the `type` of those that are there.
    """
    yield from _lacking(subject, "document-types", "type", DOCUMENT_TYPES)


@rule("document-formats", "warning")
def document_formats(subject: Subject) -> Iterator[Finding]:
    """A format of documents is missing (profile `small`): markdown, plain text or JSON.

    Why: each goes through a different parser and a different chunker.
    Example: all documents are markdown.
    Fix: add documents in the missing format, or name the `format` of those that are there.
    """
    yield from _lacking(subject, "document-formats", "format", FORMATS)


@rule("document-domains", "warning")
def document_domains(subject: Subject) -> Iterator[Finding]:
    """A domain is missing (profile `small`): policy, amenities, support or operations.

    Why: a system that is good at policies can be blind to incident logs.
    Example: no document on operations.
    Fix: add documents of the missing domain, or name the `domain` of those that are there.
    """
    yield from _lacking(subject, "document-domains", "domain", DOMAINS)


def _lacking(subject: Subject, name: str, field: str, needed: Mapping[str, tuple[str, ...]]) -> Iterator[Finding]:
    documents = subject.golden.documents
    if subject.profile == "small" and documents:
        lost = missing(needed, (getattr(document, field) for document in documents))
        if lost:
            yield flag(name, f"no document with the {field} {' or '.join(lost)}")


@rule("query-types", "warning")
def query_types(subject: Subject) -> Iterator[Finding]:
    """A type of query is missing (profile `small`).

    The types are factual, comparative, troubleshooting, sentiment, definition and how-to; `How_To` and
    `sentiment-based` are understood.

    Why: each type fails in its own way: a comparison needs two documents, a complaint has none of the words of the
        policy that answers it.
    Example: no query like "Why are guests complaining about noise?"
    Fix: add queries of the missing type, or name the `type` of those that are there.
    """
    if subject.profile == "small" and subject.golden.queries:
        lost = missing(QUERY_TYPES, (query.type for query in subject.golden.queries))
        if lost:
            yield flag("query-types", f"no query of type {' or '.join(lost)}")


@rule("category-quotas", "warning")
def category_quotas(subject: Subject) -> Iterator[Finding]:
    """A category has fewer queries than its quota (profile `agent`).

    The quotas: trigger-match 30, semantic-search 50, causal-query 25, cross-folder 25, intent-specific 105,
    cold-start 15, multi-concept 20, edge-case 10; 280 in all.

    Why: each category tests a different path through the memory, and a missing one is never tested.
    Example: 4 of 15 queries for a cold start.
    Fix: add queries of the category, or name the `category` of those that are there.
    """
    if subject.profile != "agent":
        return
    counts = Counter(folded(query.category) for query in subject.golden.queries)
    short = [f"{name} {counts[name]} of {quota}" for name, quota in CATEGORIES.items() if counts[name] < quota]
    if short:
        yield flag(
            "category-quotas", f"{counted(len(short), 'category', 'categories')} below quota: {', '.join(short)}"
        )


@rule("intent-quotas", "warning")
def intent_quotas(subject: Subject) -> Iterator[Finding]:
    """The intent-specific queries do not cover seven intents with 15 queries each, or a query has no intent.

    Profile `agent`.

    Why: weights are adjusted by intent, and those of an intent without queries are adjusted blindly.
    Example: five intents, none of them `find_decision` or `security_audit`.
    Fix: write 15 queries of category `intent-specific` for each intent, and name the `intent` of every query.
    """
    if subject.profile != "agent":
        return
    queries = subject.golden.queries
    specific = [folded(query.intent) for query in queries if folded(query.category) == "intent-specific"]
    counts = Counter(intent for intent in specific if intent)
    if len(counts) < INTENTS:
        yield flag("intent-quotas", f"{counted(len(counts), 'intent')} of {INTENTS} among the intent-specific queries")
    short = [f"{intent} {n} of {PER_INTENT}" for intent, n in counts.items() if n < PER_INTENT]
    if short:
        message = f"{counted(len(short), 'intent')} with fewer than {PER_INTENT} queries: {', '.join(short)}"
        yield flag("intent-quotas", message)
    without = [query.id for query in queries if not query.intent.strip()]
    if without:
        yield flag("intent-quotas", f"{counted(len(without), 'query', 'queries')} without an intent", without)


@rule("curated-subset", "warning")
def curated_subset(subject: Subject) -> Iterator[Finding]:
    """Fewer than 50 queries were judged by a person (profile `agent`).

    Why: the golden subset is what weak labels from behaviour are checked against.
    Example: 280 harvested queries, 12 of them judged by hand.
    Fix: judge the top 20 of the 50 most different queries with grades 0 to 3.
    """
    if subject.profile != "agent":
        return
    trusted = SOURCES[:2]
    curated = {judgment.query for judgment in subject.golden.judgments if judgment.source in trusted}
    if len(curated) < CURATED:
        yield flag("curated-subset", f"{len(curated)} of at least {CURATED} queries judged by a person")


@rule("synthetic-ids", "warning")
def synthetic_ids(subject: Subject) -> Iterator[Finding]:
    """The relevant ids are made from the intent or the category of their queries (profile `agent`).

    Why: such ids point at nothing. The set was generated, and says nothing about a real memory.
    Example: `mem-add_feature-1` for a query with the intent `add_feature`.
    Fix: judge documents of the real collection.
    """
    golden = subject.golden
    if subject.profile != "agent":
        return
    judged: dict[str, list[str]] = {}
    for (query_id, target), grade in golden.decided.items():
        query = golden.query_by_id.get(query_id)
        if query is None or grade < golden.relevant or target.document in golden.document_by_id:
            continue
        synthetic = judged.setdefault(query_id, [])
        name = folded(target.document)
        # A name of fewer than four letters may occur in another by chance.
        labels = [label for label in map(folded, (query.intent, query.category)) if len(label) > 3]
        if any(label in name for label in labels):
            synthetic.append(f"{query_id}: {target.document}")
    if 2 * sum(bool(synthetic) for synthetic in judged.values()) > len(judged):
        pairs = [pair for synthetic in judged.values() for pair in synthetic]
        yield flag("synthetic-ids", f"{counted(len(pairs), 'relevant id')} made from the intent of a query", pairs)


@rule("paraphrase-count", "warning")
def paraphrase_count(subject: Subject) -> Iterator[Finding]:
    """A query does not have three wordings, with or without its own text (profile `structured`).

    Why: stability is measured over three wordings of one question, for every question alike.
    Example: a question with one wording.
    Fix: write three paraphrases with the same intent, or two beside the text of the query.
    """
    if subject.profile != "structured":
        return
    other = [
        query.id for query in subject.golden.queries if len(query.paraphrases) not in (PARAPHRASES - 1, PARAPHRASES)
    ]
    if other:
        total = counted(len(subject.golden.queries), "query", "queries")
        yield flag("paraphrase-count", f"{len(other):,} of {total} without {PARAPHRASES} wordings", other)


@rule("block-types", "warning")
def block_types(subject: Subject) -> Iterator[Finding]:
    """No relevant block is of some type, or all stand under one heading (profile `structured`).

    The types are prose, code, table and figure.

    Why: chunkers break code and tables long before they break prose, and one section shows nothing of the others.
    Example: all relevant blocks are prose.
    Fix: ask questions that a table, a listing or a figure answers, and judge these blocks.
    """
    golden = subject.golden
    if subject.profile != "structured":
        return
    relevant = [target for (_, target), grade in golden.decided.items() if grade >= golden.relevant]
    tags = {match[1] for target in relevant if (match := _BLOCK.search(target.block))}
    lost = [name for tag, name in BLOCK_TYPES.items() if tag not in tags]
    if lost:
        yield flag("block-types", f"no relevant block of type {' or '.join(lost)}")
    sections = {(target.document, target.section or target.block.rpartition(".Bk")[0][:-2]) for target in relevant}
    if len(sections) == 1 and len(relevant) > 1:
        fix = "ask questions that other sections answer"
        yield flag("block-types", "all relevant blocks stand under one heading", fix=fix)
