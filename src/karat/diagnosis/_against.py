"""Which stage moved a document: the lists of two runs, stage by stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from karat.causes import Case, Lab
from karat.core import Provenance, Trace
from karat.evaluation import system_changes, word_changes
from karat.schema import StageMove, SystemChange
from karat.systems import RESULT

Lists = Mapping[str, Sequence[str]]
_MOVED = 10


def find_changes(new: Provenance, old: Provenance) -> tuple[SystemChange, ...]:
    """Return in what two runs differ: k, and the parts of their systems; a part that only one has is one change."""
    now, was = ({"system": run.name, "k": run.settings.get("k"), **run.system} for run in (new, old))
    if now.get("kind") != was.get("kind"):  # other systems have other parts
        now, was = ({"system": system["system"], "k": system["k"]} for system in (now, was))
    for part in {**now, **was}:
        if now.get(part) is None or was.get(part) is None:
            now, was = ({**system, part: None if system.get(part) is None else "on"} for system in (now, was))
    return word_changes(system_changes(now, was), new, old)


def find_moves(case: Case, before: Trace, lab: Lab) -> tuple[StageMove, ...]:
    """Return the documents that stand elsewhere than in another run, relevant ones first, each with the stage."""
    # Stages list documents, and hits tell the places of chunks: one is not compared with the other.
    stages = bool(before.stages)
    was = _lists(before, stages=stages)
    now = _complete(_lists(case.trace, stages=stages), was, case, lab, stages=stages)
    ranks, places = _ranks(now[RESULT]), _ranks(was[RESULT])
    moved = [id_ for id_ in {**ranks, **places} if ranks.get(id_) != places.get(id_)]
    moved.sort(key=lambda id_: (id_ not in case.expected, -case.expected.get(id_, 0), ranks.get(id_) or len(ranks) + 1))
    return tuple(_move(id_, case, now, was) for id_ in moved[:_MOVED])


def _complete(lists: dict[str, list[str]], was: Lists, case: Case, lab: Lab, *, stages: bool) -> dict[str, list[str]]:
    """Return the lists of a run with all that its system tells of them; the other run's system is not at hand.

    Hits tell their own places in the channels, and nothing of the documents that did not become hits.
    """
    inspection = lab.inspect(case)
    if inspection is None:
        return lists
    chunks = inspection.chunks
    inspected = {name: [chunks[number].document for number, _ in ranking] for name, ranking in inspection.lists.items()}
    if stages:  # as deep as the other run recorded them
        inspected = {
            name: list(dict.fromkeys(ranking))[: len(was.get(name, ranking))] for name, ranking in inspected.items()
        }
    return {**lists, **inspected, RESULT: lists[RESULT]}


def _move(document: str, case: Case, now: Lists, was: Lists) -> StageMove:
    stages = [name for name in now if name != RESULT]
    shared = [name for name in stages if name in was]
    # A system whose stages are known, and that lacks one of the other run, has lost it: a channel was turned off.
    gone = [name for name in was if name not in now] if stages else []
    stage = next(
        (name for name in (*shared, *gone) if _rank(now, name, document) != _rank(was, name, document)),
        "",
    )
    return StageMove(
        document=document,
        grade=case.grades.get(document),
        rank=_rank(now, RESULT, document),
        was=_rank(was, RESULT, document),
        stage=stage or (RESULT if shared else ""),
        stage_rank=_rank(now, stage, document),
        stage_was=_rank(was, stage, document),
    )


def _lists(trace: Trace, *, stages: bool) -> dict[str, list[str]]:
    """Return the documents of every recorded stage, or else the channels of the hits by their ranks there."""
    lists: dict[str, list[str]] = {}
    for stage in trace.stages if stages else ():
        name = stage.channel if stage.name == "candidate" and stage.channel else stage.label
        lists[name] = list(dict.fromkeys(hit.document for hit in stage.hits))
    if not stages:
        for name in dict.fromkeys(name for hit in trace.hits for name in hit.channels):
            places = {hit.channels[name].rank: hit.document for hit in reversed(trace.hits) if name in hit.channels}
            # Only returned hits tell their places; gaps stay gaps, so that ranks are those of the channel.
            lists[name] = [places.get(rank, "") for rank in range(1, max(places, default=0) + 1)]
    return {**lists, RESULT: list(dict.fromkeys(hit.document for hit in trace.hits))}


def _rank(lists: Lists, name: str, document: str) -> int | None:
    return _ranks(lists.get(name, ())).get(document)


def _ranks(documents: Sequence[str]) -> dict[str, int]:
    ranks: dict[str, int] = {}
    for rank, document in enumerate(documents, 1):
        if document:
            ranks.setdefault(document, rank)
    return ranks
