"""Runs with ids that the golden set does not have: what is probably different about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

import numpy as np

from karat.core import (
    SCHEMES,
    GoldenSet,
    Hit,
    Trace,
    count_things,
    document_of,
    find_table_rows,
    list_documents,
    list_hits,
    list_queries,
    shorten,
)

_NAMED = 3
_LOOKED_AT = 100
"""How many returned ids are held against those of the gold."""
_LONGEST = 200
"""Characters of such an id: every part of it is looked for in the gold."""


def describe_mismatch(hits: Iterable[Hit], judged: Iterable[str], known: Set[str]) -> str:
    """Return ids of both sides, how they seem to differ, and what to do about it.

    ``judged`` are the documents with a judgment, and ``known`` all that the golden set names.
    """
    first = list({hit.document: hit for hit in hits}.values())
    returned = [hit.document for hit in first]
    ids = f"the gold has {_name_few(list(judged))}; the system returned {_name_few(returned)}"
    if meant := next((name for name in returned if name in known), ""):
        return f"{ids}; {shorten(meant)} is in the gold, but not judged for the query that got it"
    if scheme := _find_scheme(first[:_LOOKED_AT], known):
        return f"{ids}; {scheme}"
    if affix := _describe_affix(returned, known):
        return f"{ids}{affix}; let the system return its ids without that"
    return f"{ids}; correct the ids, or say with [eval] ids how they name documents"


def describe_unknown_ids(golden: GoldenSet, traces: Sequence[Trace]) -> list[str]:
    """Return a note if queries got documents that the golden set does not have, with the first of their ids.

    Nothing is known of a set without documents, or of a document that the set judges.

    >>> from karat.core import Document
    >>> golden = GoldenSet(documents=(Document(id="vpn", text="The VPN."), Document(id="wifi", text="The WiFi.")))
    >>> describe_unknown_ids(golden, [Trace(query="q1", text="?", hits=(Hit("VPN", 0.9), Hit("wifi", 0.8)))])
    ["1 query got ids that the golden set does not have: 'VPN' (did you mean 'vpn'?)"]
    """
    if not golden.documents or not (unknown := _find_unknown(golden.document_by_id.keys(), traces)):
        return []
    judged = {judgment.target.document for judgment in golden.judgments}
    by_query = {query: rest for query, ids in unknown.items() if (rest := [id_ for id_ in ids if id_ not in judged])}
    if not by_query:
        return []
    ids = list(dict.fromkeys(id_ for rest in by_query.values() for id_ in rest))
    folded = {_fold(id_): id_ for id_ in golden.document_by_id}
    named = ", ".join(f"{shorten(id_)}{_name_twin(id_, folded)}" for id_ in ids[:_NAMED])
    more = ", ..." if len(ids) > _NAMED else ""
    queries = count_things(len(by_query), "query", "queries")
    return [f"{queries} got ids that the golden set does not have: {named}{more}"]


def _find_unknown(known: Set[str], traces: Sequence[Trace]) -> dict[str, list[str]]:
    """Return the documents that are not among the known ones, by query."""
    queries, lists = list_queries(traces), list_hits(traces)
    unknown: dict[str, list[str]] = {}
    if (selection := find_table_rows(lists)) is not None:  # then most lists need not be made
        names, documents = selection.table.names, selection.table.document[selection.rows]
        strange = np.array([name not in known for name in names], np.bool_)[documents]
        places = np.repeat(np.arange(len(queries)), selection.lengths)[strange]
        for place, document in zip(places.tolist(), documents[strange].tolist(), strict=True):
            unknown.setdefault(queries[place], []).append(names[document])
        return unknown
    for query, hits in zip(queries, lists, strict=True):
        if names := [name for name in list_documents(hits) if name not in known]:
            unknown.setdefault(query, []).extend(names)
    return unknown


def _name_twin(id_: str, folded: Mapping[str, str]) -> str:
    """Return the document that an id probably means, in brackets; "" if none is like it."""
    last = id_.rpartition("/")[2]
    for name in (id_, last, last.rpartition(".")[0]):
        if name and (twin := folded.get(_fold(name))):
            return f" (did you mean {shorten(twin)}?)"
    for scheme in SCHEMES:
        if twin := folded.get(_fold(document_of(id_, scheme))):
            return f' (with ids = "{scheme}" in [eval] it is {shorten(twin)})'
    return ""


def _fold(id_: str) -> str:
    """Return an id without what is often written in two ways: capitals, blanks and punctuation."""
    return "".join(filter(str.isalnum, id_.casefold())) or id_


def _find_scheme(hits: Sequence[Hit], known: Set[str]) -> str:
    """Return which ``ids`` reads most of these ids as documents of the gold, with an example; empty if none does."""
    readable: dict[str, list[str]] = {scheme: [] for scheme in SCHEMES}
    for hit in hits:
        for scheme in SCHEMES if hit.document == hit.id else ():  # else the system named its document
            if document_of(hit.id, scheme) in known:
                readable[scheme].append(hit.id)
    best = max(readable, key=lambda scheme: len(readable[scheme]))
    if not readable[best]:
        return ""
    example = readable[best][0]
    return f'with ids = "{best}" in [eval], {shorten(example)} is {shorten(document_of(example, best))}'


def _describe_affix(returned: Sequence[str], known: Set[str]) -> str:
    """Return what all returned ids have before and after those of the gold, such as a folder; "" if there is nothing.

    >>> _describe_affix(["kb/a/pool.md", "kb/wifi.md"], {"a/pool", "dogs"})
    ", which all begin with 'kb/' and end with '.md'"
    """
    lengths = sorted({len(id_) for id_ in known if id_}, reverse=True)  # the longest first: the affixes are short
    for id_ in [id_ for id_ in returned[:_LOOKED_AT] if len(id_) <= _LONGEST]:
        for length in lengths:
            for start in range(len(id_) - length + 1):
                before, after = id_[:start], id_[start + length :]
                if id_[start : start + length] not in known or (before and after and _cuts_words(before, after)):
                    continue
                if _have_affixes(returned, before, after):
                    shown = [f"begin with {shorten(before)}"] if before else []
                    shown += [f"end with {shorten(after)}"] if after else []
                    return f", which all {' and '.join(shown)}"
    return ""


def _cuts_words(before: str, after: str) -> bool:
    """Return whether an id in the middle is part of a word: a short one occurs in many others by chance."""
    return before[-1].isalnum() or after[0].isalnum()


def _have_affixes(ids: Iterable[str], before: str, after: str) -> bool:
    return all(id_.startswith(before) and id_.endswith(after) and len(id_) > len(before + after) for id_ in ids)


def _name_few(ids: Sequence[str]) -> str:
    return ", ".join(map(shorten, ids[:_NAMED]))
