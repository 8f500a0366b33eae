"""Which stage of a system moved a document between two runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from karat.core import Hit, Trace


@dataclass(frozen=True, slots=True)
class Way:
    """The ranks of a document on its way through a system, by channel and by later stage; None where it was absent."""

    channels: dict[str, int | None]
    stages: dict[str, int | None]


def name_movers(first: Trace | None, second: Trace | None) -> dict[str, str]:
    """Return what moved each document: the channels that rank it otherwise, or else the first later stage that does.

    Traces tell by the lists that they recorded after each stage, or by the places and scores that their hits keep;
    a stage that only one of the runs has may be what moved it. A document of whose way a trace does not tell is left
    out, and so is one that stands elsewhere only because others moved.

    >>> old = Trace(query="q", text="wifi", hits=(Hit("wifi", 2.0, stages={"fusion": 2.0}),))
    >>> new = Trace(query="q", text="wifi", hits=(Hit("wifi", 0.9, stages={"fusion": 2.0, "rerank": 0.9}),))
    >>> name_movers(old, new)
    {'wifi': 'rerank'}
    """
    if first is None or second is None:
        return {}
    documents = dict.fromkeys(hit.document for trace in (first, second) for hit in trace.hits)
    before, after = _follow(first, documents), _follow(second, documents)
    movers = {id_: _compare(before[id_], after[id_]) for id_ in documents if id_ in before and id_ in after}
    return {document: mover for document, mover in movers.items() if mover}


def _compare(before: Way, after: Way) -> str:
    channels = dict.fromkeys([*before.channels, *after.channels])
    moved = [name for name in channels if before.channels.get(name) != after.channels.get(name)]
    if moved:
        return ", ".join(moved)
    stages = dict.fromkeys([*before.stages, *after.stages])
    return next((name for name in stages if before.stages.get(name) != after.stages.get(name)), "")


def _follow(trace: Trace, documents: Iterable[str]) -> dict[str, Way]:
    """Return the way of each document of which the trace tells."""
    recorded = [(stage, rank_hits(stage.hits)) for stage in trace.stages if stage.hits]
    if recorded:
        return {
            id_: Way(
                {stage.channel: ranks.get(id_) for stage, ranks in recorded if stage.channel},
                {stage.name: ranks.get(id_) for stage, ranks in recorded if not stage.channel},
            )
            for id_ in documents
        }
    best: dict[str, Hit] = {}
    for hit in trace.hits:
        best.setdefault(hit.document, hit)
    channels = dict.fromkeys(name for hit in trace.hits for name in hit.channels)
    stages = {name: _rank_by_stage(trace.hits, name) for name in dict.fromkeys(n for h in trace.hits for n in h.stages)}
    return {
        id_: Way(
            {name: hit.channels[name].rank if name in hit.channels else None for name in channels},
            {name: ranks.get(id_) for name, ranks in stages.items()},
        )
        for id_, hit in best.items()
        if channels or stages
    }


def _rank_by_stage(hits: Sequence[Hit], stage: str) -> dict[str, int]:
    """Return the ranks of documents by their scores after a stage, among the hits that were returned."""
    return rank_hits(sorted((hit for hit in hits if stage in hit.stages), key=lambda hit: -hit.stages[stage]))


def rank_hits(hits: Iterable[Hit]) -> dict[str, int]:
    """Return the first rank of each document of a list.

    >>> rank_hits([Hit("wifi:chunk:2", 0.9), Hit("pool", 0.8), Hit("wifi:chunk:1", 0.7)])
    {'wifi': 1, 'pool': 2}
    """
    ranks: dict[str, int] = {}
    for rank, hit in enumerate(hits, 1):
        ranks.setdefault(hit.document, rank)
    return ranks
