"""Documents of stored lists that the golden set no longer has: renamed, which their texts tell, or gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256

from karat.core import GoldenSet, Trace

_DIGITS = 12


def digest_listed(golden: GoldenSet, lists: Iterable[Sequence[str]]) -> dict[str, str]:
    """Return a digest of the text of each listed document that a golden set has or judges; "" without a text.

    >>> from karat.core import Document
    >>> golden = GoldenSet(documents=(Document(id="pool", text="Opens at six."), Document(id="spa")))
    >>> digest_listed(golden, [("spa", "pool"), ("pool", "elsewhere")])
    {'pool': '9fb7ad6cb1dc', 'spa': ''}
    """
    known = _list_known(golden)
    listed = {document for documents in lists for document in documents}
    return {document: _digest(golden, document) for document in sorted(listed) if document in known}


def find_renamed(golden: GoldenSet, contents: Mapping[str, str]) -> dict[str, str]:
    """Return the new ids of documents that were renamed, of those that a baseline has the digest of.

    A document was renamed if the set no longer has its id, and has one new document with its text.
    """
    known = _list_known(golden)
    gone = {document: digest for document, digest in contents.items() if digest and document not in known}
    if not gone:
        return {}
    names: dict[str, list[str]] = {}
    for document in golden.document_by_id:
        if document not in contents:
            names.setdefault(_digest(golden, document), []).append(document)
    before = Counter(gone.values())
    return {
        document: names[digest][0]
        for document, digest in gone.items()
        if len(names.get(digest, ())) == 1 and before[digest] == 1
    }


def find_unmatched(
    golden: GoldenSet,
    lists: Mapping[str, Sequence[str]],
    *,
    contents: Mapping[str, str] | None,
    unfound: Collection[str],
    documents_changed: bool | None,
) -> dict[str, tuple[str, ...]]:
    """Return the documents of stored lists that are gone from a golden set, by query.

    To score such a list with the judgments of today would count what was found then as not found. A file without the
    digests of its documents (``contents``) does not tell what they were: there, every document counts that the set does
    not have. If the set has no documents at all, that is a list without a relevant document where something had been
    found.
    """
    known = _list_known(golden)
    if contents is not None:
        return _find_listed(lists, contents.keys() - known)
    if documents_changed is False and golden.document_by_id:
        return {}
    unmatched = _find_listed(lists, {document for documents in lists.values() for document in documents} - known)
    if golden.document_by_id:
        return unmatched
    return {
        query: documents
        for query, documents in unmatched.items()
        if query in golden.findable and query not in unfound and not _finds(golden, query, lists[query])
    }


def find_unmatched_traces(
    golden: GoldenSet, traces: Iterable[Trace], queries: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """Return the documents among the hits of some queries that a golden set neither has nor judges, by query."""
    known = _list_known(golden)
    gone: dict[str, dict[str, None]] = {}
    for trace in traces:
        if trace.query in queries:
            missing = [hit.document for hit in trace.hits if hit.document not in known]
            if missing:
                gone.setdefault(trace.query, {}).update(dict.fromkeys(missing))
    return {query: tuple(documents) for query, documents in gone.items()}


def find_successes(golden: GoldenSet, traces: Iterable[Trace], queries: Collection[str]) -> set[str]:
    """Return those of some queries that have a relevant hit, or have no relevant document."""
    successes = {query for query in queries if query not in golden.findable}
    for trace in traces:
        wanted = trace.query in queries and trace.query not in successes
        if wanted and _finds(golden, trace.query, [hit.document for hit in trace.hits]):
            successes.add(trace.query)
    return successes


def _list_known(golden: GoldenSet) -> set[str]:
    """Return the documents that a golden set has or judges."""
    return {*golden.document_by_id, *(target.document for target in golden.grades_by_query.targets)}


def _find_listed(lists: Mapping[str, Sequence[str]], gone: Collection[str]) -> dict[str, tuple[str, ...]]:
    if not gone:
        return {}
    listed = {query: tuple(name for name in documents if name in gone) for query, documents in lists.items()}
    return {query: documents for query, documents in listed.items() if documents}


def _finds(golden: GoldenSet, query: str, documents: Sequence[str]) -> bool:
    """Return whether a list has a document that is relevant for a query."""
    grades = golden.grades_by_query[query]
    relevant = {target.document for target, grade in grades.items() if grade >= golden.relevant}
    return not relevant.isdisjoint(documents)


def _digest(golden: GoldenSet, name: str) -> str:
    document = golden.document_by_id.get(name)
    text = "" if document is None else " ".join(document.text.split())
    return sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:_DIGITS] if text else ""
