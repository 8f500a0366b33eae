"""Runs whose ids are not those of the golden set: what is probably different about them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from karat.core import SCHEMES, Hit, document_of, shorten

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
    if scheme := _find_scheme(first[:_LOOKED_AT], known):
        return f"{ids}; {scheme}"
    if affix := _describe_affix(returned, known):
        return f"{ids}{affix}; let the system return its ids without that"
    return f"{ids}; correct the ids, or say with [eval] ids how they name documents"


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
    return ", ".join(map(shorten, ids[:3]))
