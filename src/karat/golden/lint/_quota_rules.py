"""Rules of the profiles: how much of what a set for a purpose should hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from karat.core import SOURCES
from karat.golden.lint._id_rules import counted
from karat.golden.lint._rule import Finding, Profile, Subject, found, rule

SIZES: dict[Profile, tuple[int, int]] = {"small": (50, 20), "agent": (0, 280), "structured": (0, 200)}
"""By profile, the fewest documents and queries."""

# What is needed, with the beginnings of the words by which it is recognised.
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
SHORT, LONG = 300, 3000  # words

_BLOCK = re.compile(r"\.([pctf])\.Bk")


def folded(name: str) -> str:
    """Give a name without case and punctuation.

    >>> folded("How_to"), folded(" Sentiment-based ")
    ('how-to', 'sentiment-based')
    """
    return re.sub(r"[\W_]+", "-", name.casefold()).strip("-")


def missing(needed: Mapping[str, tuple[str, ...]], names: Iterable[str]) -> list[str]:
    """Give what is needed and not among the names, which may be spelt in other ways.

    >>> missing({"how-to": ("howto", "how-to"), "sentiment": ("sentiment",)}, ["How_To", "FACTUAL"])
    ['sentiment']
    """
    words = {part for name in set(names) for part in _beginnings(folded(name))}
    return [name for name, stems in needed.items() if not any(word.startswith(stems) for word in words)]


def _beginnings(name: str) -> list[str]:
    """Give a name from each of its words on."""
    parts = name.split("-")
    return ["-".join(parts[i:]) for i in range(len(parts))]


@rule("set-size", "warning")
def set_size(subject: Subject) -> Iterator[Finding]:
    """The set is smaller than its profile asks for.

    `small` asks for 50 documents and 20 queries, `agent` for 280 queries, `structured` for 200. More is never a
    finding.

    Why: with few queries nothing but a landslide can be told from chance, and with few documents everything is found.
    Example: 12 queries under the profile `small`.
    Fix: add what is missing; `karat golden synth` and `karat golden pool` help.
    """
    if subject.profile is None:
        return
    documents, queries = SIZES[subject.profile]
    golden = subject.golden
    if golden.documents and len(golden.documents) < documents:
        yield found("set-size", f"{counted(len(golden.documents), 'document')} of at least {documents}")
    if len(golden.queries) < queries:
        yield found("set-size", f"{counted(len(golden.queries), 'query', 'queries')} of at least {queries}")


@rule("document-lengths", "warning")
def document_lengths(subject: Subject) -> Iterator[Finding]:
    """The documents are all of one length (profile `small`).

    The profile asks for texts from 100 to 5,000 words: at least one of up to 300, one between, and one of 3,000 or
    more.

    Why: chunking shows what it is worth on long texts, and short ones drown beside them.
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
    lost = [band for band, there in bands.items() if not there]
    if lost:
        told = f"no document {', and none '.join(lost)}; they have {min(lengths):,} to {max(lengths):,}"
        yield found("document-lengths", told)


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

    Why: each goes through another parser and another chunker.
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
            yield found(name, f"no document with the {field} {' or '.join(lost)}")


@rule("query-types", "warning")
def query_types(subject: Subject) -> Iterator[Finding]:
    """A type of query is missing (profile `small`).

    Asked for are factual, comparative, troubleshooting, sentiment, definition and how-to; `How_To` and
    `sentiment-based` are understood.

    Why: each type fails in its own way: a comparison needs two documents, a complaint has none of the words of the
        policy that answers it.
    Example: no query like "Why are guests complaining about noise?"
    Fix: add queries of the missing type, or name the `type` of those that are there.
    """
    if subject.profile == "small" and subject.golden.queries:
        lost = missing(QUERY_TYPES, (query.type for query in subject.golden.queries))
        if lost:
            yield found("query-types", f"no query of type {' or '.join(lost)}")


@rule("category-quotas", "warning")
def category_quotas(subject: Subject) -> Iterator[Finding]:
    """A category has fewer queries than its quota (profile `agent`).

    The quotas: trigger-match 30, semantic-search 50, causal-query 25, cross-folder 25, intent-specific 105,
    cold-start 15, multi-concept 20, edge-case 10; 280 in all.

    Why: each category tests another path through the memory, and one that is missing is never tested.
    Example: 4 of 15 queries for a cold start.
    Fix: add queries of the category, or name the `category` of those that are there.
    """
    if subject.profile != "agent":
        return
    counts = Counter(folded(query.category) for query in subject.golden.queries)
    short = [f"{name} {counts[name]} of {quota}" for name, quota in CATEGORIES.items() if counts[name] < quota]
    if short:
        yield found(
            "category-quotas", f"{counted(len(short), 'category', 'categories')} below quota: {', '.join(short)}"
        )


@rule("intent-quotas", "warning")
def intent_quotas(subject: Subject) -> Iterator[Finding]:
    """The intent-specific queries do not cover seven intents with 15 queries each, or a query has no intent.

    Profile `agent`.

    Why: weights are adjusted by intent, and an intent that nobody asks with is adjusted blindly.
    Example: five intents, none of them `find_decision` or `security_audit`.
    Fix: write 15 queries of category `intent-specific` for each intent, and name the `intent` of every query.
    """
    if subject.profile != "agent":
        return
    queries = subject.golden.queries
    specific = [folded(query.intent) for query in queries if folded(query.category) == "intent-specific"]
    counts = Counter(intent for intent in specific if intent)
    if len(counts) < INTENTS:
        yield found("intent-quotas", f"{counted(len(counts), 'intent')} of {INTENTS} among the intent-specific queries")
    short = [f"{intent} {n} of {PER_INTENT}" for intent, n in counts.items() if n < PER_INTENT]
    if short:
        told = f"{counted(len(short), 'intent')} with fewer than {PER_INTENT} queries: {', '.join(short)}"
        yield found("intent-quotas", told)
    without = [query.id for query in queries if not query.intent.strip()]
    if without:
        yield found("intent-quotas", f"{counted(len(without), 'query', 'queries')} without an intent", without)


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
        yield found("curated-subset", f"{len(curated)} of at least {CURATED} queries judged by a person")


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
        made = judged.setdefault(query_id, [])
        name = folded(target.document)
        # Of fewer than four letters a name may stand in another by chance.
        labels = [label for label in map(folded, (query.intent, query.category)) if len(label) > 3]
        if any(label in name for label in labels):
            made.append(f"{query_id}: {target.document}")
    if 2 * sum(bool(made) for made in judged.values()) > len(judged):
        pairs = [pair for made in judged.values() for pair in made]
        yield found("synthetic-ids", f"{counted(len(pairs), 'relevant id')} made from the intent of a query", pairs)


@rule("paraphrase-count", "warning")
def paraphrase_count(subject: Subject) -> Iterator[Finding]:
    """A query does not have three wordings, with or without its own text among them (profile `structured`).

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
        yield found("paraphrase-count", f"{len(other):,} of {total} without {PARAPHRASES} wordings", other)


@rule("block-types", "warning")
def block_types(subject: Subject) -> Iterator[Finding]:
    """Among the relevant blocks a type is missing: prose, code, table or figure (profile `structured`).

    Why: chunkers break code and tables long before they break prose.
    Example: all relevant blocks are prose.
    Fix: ask questions that a table, a listing or a figure answers, and judge these blocks.
    """
    golden = subject.golden
    if subject.profile != "structured":
        return
    there = set()
    for (_, target), grade in golden.decided.items():
        if grade >= golden.relevant and (tag := _BLOCK.search(target.block)):
            there.add(tag[1])
    lost = [name for tag, name in BLOCK_TYPES.items() if tag not in there]
    if lost:
        yield found("block-types", f"no relevant block of type {' or '.join(lost)}")
