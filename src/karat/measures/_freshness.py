"""Measures of versions: results that are out of date, and results that contradict each other."""

from __future__ import annotations

from collections import Counter

from karat.measures._evidence import Case, share, trace_measure

NO_VERSIONS = "no versions in the golden set"


@trace_measure("StaleFree", aliases=("stale_free_rate", "freshness.stale_free_rate"), undefined=NO_VERSIONS)
def stale_free(case: Case, k: int) -> float | str:
    """Stale-free rate: the share of the results that no newer version replaces.

    Formula: StaleFree@k = 1 - |out-of-date documents in the top k| / min(k, documents returned)
    Range: 0 to 1
    Convention: a document is out of date if it is superseded, or if a document with the same ``version_key`` in its
        metadata has a later ``effective_timestamp``; a memory that the session stores only later does not replace
        anything yet; undefined if the golden set has no versions
    Citation: rig, freshness.stale_free_rate

    >>> from karat.core import Document, GoldenSet, Hit, Query, Trace
    >>> from karat import score_hits
    >>> documents = Document(id="v1", superseded_by="v2"), Document(id="v2")
    >>> golden = GoldenSet(documents=documents, queries=(Query(id="q", text="?"),))
    >>> trace = Trace(query="q", text="?", hits=(Hit("v1", 1.0), Hit("v2", 0.9), Hit("spa", 0.8), Hit("gym", 0.7)))
    >>> score_hits(golden, {"q": trace.hits}, ["StaleFree@5"], traces={"q": trace}).mean()
    {'StaleFree@5': 0.75}
    """
    if not case.evidence.newest:
        return NO_VERSIONS
    documents = case.documents(k)
    return share(sum(not case.is_stale(name) for name in documents), documents)


@trace_measure("ConflictFree", aliases=("conflict_free_rate", "freshness.conflict_free_rate"), undefined=NO_VERSIONS)
def conflict_free(case: Case, k: int) -> float | str:
    """Conflict-free rate: the share of the results that are not one of several versions of the same document.

    Formula: ConflictFree@k = 1 - |documents in the top k with another version in the top k| / min(k, documents
        returned)
    Range: 0 to 1
    Convention: versions have the same ``version_key`` in their metadata, or one is superseded by the other;
        undefined if the golden set has no versions
    Citation: rig, freshness.conflict_free_rate

    >>> from karat.core import Document, GoldenSet, Hit, Query, Trace
    >>> from karat import score_hits
    >>> documents = [Document(id=name, metadata={"version_key": "policy"}) for name in ("v1", "v2")]
    >>> golden = GoldenSet(documents=tuple(documents), queries=(Query(id="q", text="?"),))
    >>> trace = Trace(query="q", text="?", hits=(Hit("v1", 1.0), Hit("v2", 0.9), Hit("spa", 0.8), Hit("gym", 0.7)))
    >>> score_hits(golden, {"q": trace.hits}, ["ConflictFree@5", "ConflictFree@1"], traces={"q": trace}).mean()
    {'ConflictFree@5': 0.5, 'ConflictFree@1': 1.0}
    """
    families = case.evidence.newest
    if not families:
        return NO_VERSIONS
    documents = case.documents(k)
    own = [families.get(name, "") for name in documents]
    counts = Counter(own)
    return share(sum(not family or counts[family] == 1 for family in own), documents)
