"""Which stage moved a document: the lists of two runs, stage by stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from karat.causes import Case, Lab
from karat.core import Trace
from karat.schema import StageMove
from karat.systems import RESULT

Lists = Mapping[str, Sequence[str]]
_MOVED = 10


def find_moves(case: Case, before: Trace, lab: Lab) -> tuple[StageMove, ...]:
    """Return the documents that stand elsewhere than in another run, relevant ones first, each with the stage."""
    now, was = _lists(case.trace), _lists(before)
    # What the run did not record the system may still tell; the other run's system is not at hand.
    now = {**{name: list(ranking) for name, ranking in lab.stages(case).items()}, **now}
    ranks, places = _ranks(now[RESULT]), _ranks(was[RESULT])
    moved = [id_ for id_ in {**ranks, **places} if ranks.get(id_) != places.get(id_)]
    moved.sort(key=lambda id_: (id_ not in case.expected, -case.expected.get(id_, 0), ranks.get(id_) or len(ranks) + 1))
    return tuple(_move(id_, case, now, was) for id_ in moved[:_MOVED])


def _move(document: str, case: Case, now: Lists, was: Lists) -> StageMove:
    stage = next(
        (
            name
            for name in now
            if name in was and name != RESULT and _ranks(now[name]).get(document) != _ranks(was[name]).get(document)
        ),
        "",
    )
    shared = [name for name in now if name in was and name != RESULT]
    return StageMove(
        document=document,
        grade=case.grades.get(document),
        rank=_ranks(now[RESULT]).get(document),
        was=_ranks(was[RESULT]).get(document),
        stage=stage or (RESULT if shared else ""),
        stage_rank=_ranks(now[stage]).get(document) if stage else None,
        stage_was=_ranks(was[stage]).get(document) if stage else None,
    )


def _lists(trace: Trace) -> dict[str, list[str]]:
    """Return the documents of every recorded stage, or the channels of the hits by their ranks there."""
    lists = {stage.label: list(dict.fromkeys(hit.document for hit in stage.hits)) for stage in trace.stages}
    if not lists:
        for name in dict.fromkeys(name for hit in trace.hits for name in hit.channels):
            places = {hit.channels[name].rank: hit.document for hit in reversed(trace.hits) if name in hit.channels}
            # Only returned hits tell their places; gaps stay gaps, so that ranks are those of the channel.
            lists[name] = [places.get(rank, "") for rank in range(1, max(places, default=0) + 1)]
    return {**lists, RESULT: list(dict.fromkeys(hit.document for hit in trace.hits))}


def _ranks(documents: Sequence[str]) -> dict[str, int]:
    ranks: dict[str, int] = {}
    for rank, document in enumerate(documents, 1):
        if document:
            ranks.setdefault(document, rank)
    return ranks
