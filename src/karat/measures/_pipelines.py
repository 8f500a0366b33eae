"""Measures of how a system arrives at its results, without judgments: channels, fusion, expansion, variety, health."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from karat.core import Hit, Parameter
from karat.measures._evidence import NOTHING, Case, share, trace_measure

NO_CHANNELS = "no channels recorded"
NO_EXPANSION = "no expansion recorded"
NO_GROUPS = "a result without a group"
NO_TIMES = "no time recorded"
_CHANNEL = Parameter(name="channel", kind="str", default="", help="one channel, such as 'dense'; by default any")
_BY = Parameter(
    name="by",
    kind="str",
    default="folder",
    help="what makes two results alike: 'folder', 'domain', 'type', 'tier', 'document', or a key of the metadata",
)
_LIMIT = Parameter(name="limit", kind="float", default=500.0, low=1e-9, help="milliseconds from which on speed is 0")
_EXPANSIONS = ("expand", "expansion", "query-expansion")
_WEIGHTS = (0.40, 0.25, 0.20, 0.15)


def _channels(case: Case, hits: Sequence[Hit]) -> list[dict[str, int]]:
    """Return the channels that found each hit, with its rank in each: its own record, or the candidate stages."""
    places: dict[str, dict[str, int]] = {}
    for stage in case.trace.stages:
        for rank, candidate in enumerate(stage.hits if stage.channel else (), 1):
            places.setdefault(candidate.id, {}).setdefault(stage.channel, rank)
    return [
        {name: place.rank for name, place in hit.channels.items()} if hit.channels else places.get(hit.id, {})
        for hit in hits
    ]


def _found_by(case: Case, hits: Sequence[Hit]) -> list[dict[str, int]] | str:
    """Return the channels of each hit, or why they are not known."""
    if not hits:
        return NOTHING
    channels = _channels(case, hits)
    return channels if any(channels) else NO_CHANNELS


@trace_measure(
    "ChannelShare", _CHANNEL, aliases=("channel_contribution",), undefined=NO_CHANNELS, higher_is_better=None
)
def channel_share(case: Case, k: int, *, channel: str) -> float | str:
    """Channel contribution: the share of the results that a channel found, alone or with others.

    Formula: ChannelShare(channel=c)@k = |results in the top k that channel c found| / |results in the top k|
    Range: 0 to 1, neither better nor worse
    Convention: without ``channel``, the share that any channel found: the rest came by another way, such as a rule
        that always shows them; k counts results as they were returned; undefined where no result says its channels
    Citation: agent, channel contribution rate

    >>> from karat.core import GoldenSet, Hit, Place, Query, Trace
    >>> from karat import score_hits
    >>> both, dense = {"bm25": Place(1, 7.0), "dense": Place(2, 0.8)}, {"dense": Place(1, 0.9)}
    >>> hits = (Hit("wifi", 0.9, channels=both), Hit("pool", 0.8, channels=dense))
    >>> golden, trace = GoldenSet(queries=(Query(id="q", text="?"),)), Trace(query="q", text="?", hits=hits)
    >>> score_hits(golden, {"q": hits}, ["ChannelShare(channel='bm25')@5"], traces={"q": trace}).mean()
    {"ChannelShare(channel='bm25')@5": 0.5}
    """
    sources = _found_by(case, case.hits(k))
    if isinstance(sources, str):
        return sources
    return share(sum(channel in channels if channel else bool(channels) for channels in sources), sources)


@trace_measure(
    "ChannelOnly",
    _CHANNEL,
    aliases=("unique_contribution", "exclusive_contribution"),
    undefined=NO_CHANNELS,
    higher_is_better=None,
)
def channel_only(case: Case, k: int, *, channel: str) -> float | str:
    """Unique contribution: the share of the results that exactly one channel found.

    Formula: ChannelOnly(channel=c)@k = |results in the top k that channel c and no other found| / |results in the
        top k|
    Range: 0 to 1, neither better nor worse
    Convention: without ``channel``, any one channel counts; otherwise as for ChannelShare
    Citation: agent, channel unique contribution

    >>> from karat.core import GoldenSet, Hit, Place, Query, Trace
    >>> from karat import score_hits
    >>> both, dense = {"bm25": Place(1, 7.0), "dense": Place(2, 0.8)}, {"dense": Place(1, 0.9)}
    >>> hits = (Hit("wifi", 0.9, channels=both), Hit("pool", 0.8, channels=dense))
    >>> golden, trace = GoldenSet(queries=(Query(id="q", text="?"),)), Trace(query="q", text="?", hits=hits)
    >>> score_hits(golden, {"q": hits}, ["ChannelOnly@5"], traces={"q": trace}).mean()
    {'ChannelOnly@5': 0.5}
    """
    sources = _found_by(case, case.hits(k))
    if isinstance(sources, str):
        return sources
    return share(sum(len(channels) == 1 and (not channel or channel in channels) for channels in sources), sources)


@trace_measure("ReorderRate", aliases=("fusion_reorder_rate",), undefined=NO_CHANNELS, higher_is_better=None)
def reorder_rate(case: Case, k: int) -> float | str:
    """Fusion reorder rate: the share of the results whose rank after the fusion is not their best rank in a channel.

    Formula: ReorderRate@k = |results in the top k whose rank is not the least of their ranks in the channels| /
        |top k|
    Range: 0 to 1, neither better nor worse
    Convention: the list after the stage ``fusion`` if the trace has it, otherwise the final list; a result that no
        channel found was moved in; undefined where no result says its channels
    Citation: agent, fusion reorder rate

    >>> from karat.core import GoldenSet, Hit, Place, Query, Trace
    >>> from karat import score_hits
    >>> hits = (Hit("wifi", 0.9, channels={"bm25": Place(2, 7.0)}), Hit("pool", 0.8, channels={"dense": Place(2, 0.9)}))
    >>> golden, trace = GoldenSet(queries=(Query(id="q", text="?"),)), Trace(query="q", text="?", hits=hits)
    >>> score_hits(golden, {"q": hits}, ["ReorderRate@5"], traces={"q": trace}).mean()
    {'ReorderRate@5': 0.5}
    """
    fused = next((stage.hits for stage in case.trace.stages if stage.name == "fusion" and stage.hits), case.trace.hits)
    sources = _found_by(case, fused[:k])
    if isinstance(sources, str):
        return sources
    return share(sum(min(ranks.values(), default=0) != rank for rank, ranks in enumerate(sources, 1)), sources)


@trace_measure("ExpansionShare", aliases=("expansion_impact",), undefined=NO_EXPANSION, higher_is_better=None)
def expansion_share(case: Case, k: int) -> float | str:
    """Query-expansion impact: the share of the results that were found only after the query was expanded.

    Formula: ExpansionShare@k = |results in the top k that are in the list of an expansion stage, and in that of no
        candidate stage| / |results in the top k|
    Range: 0 to 1, neither better nor worse
    Convention: an expansion stage is called expand, expansion or query-expansion; any other stage with a channel
        has candidates; undefined where the trace has no expansion stage with a list
    Citation: agent, query expansion impact

    >>> from karat.core import GoldenSet, Hit, Query, Stage, Trace
    >>> from karat import score_hits
    >>> wifi, pool = Hit("wifi", 0.9), Hit("pool", 0.8)
    >>> stages = Stage(name="candidate", channel="bm25", hits=(wifi,)), Stage(name="expansion", hits=(wifi, pool))
    >>> golden = GoldenSet(queries=(Query(id="q", text="?"),))
    >>> trace = Trace(query="q", text="?", hits=(pool, wifi), stages=stages)
    >>> score_hits(golden, {"q": trace.hits}, ["ExpansionShare@5"], traces={"q": trace}).mean()
    {'ExpansionShare@5': 0.5}
    """
    stages = case.trace.stages
    expanded = {hit.id for stage in stages if stage.name in _EXPANSIONS for hit in stage.hits}
    if not expanded:
        return NO_EXPANSION if case.trace.hits else NOTHING
    before = {hit.id for stage in stages if stage.channel and stage.name not in _EXPANSIONS for hit in stage.hits}
    hits = case.hits(k)
    return share(sum(hit.id in expanded and hit.id not in before for hit in hits), hits)


def _group(case: Case, hit: Hit, by: str) -> str:
    """Return the group of a result; "" if it is not known."""
    document = case.document(hit.document)
    if by == "document":
        return hit.document
    if by in document.metadata:
        return str(document.metadata[by])
    if by == "folder":
        parent = str(PurePosixPath(document.path or hit.document).parent)
        return "" if parent == "." else parent
    return str(getattr(document, by)) if by in ("domain", "type", "tier") else ""


@trace_measure("Redundancy", _BY, aliases=("ils",), undefined=NO_GROUPS, higher_is_better=False)
def redundancy(case: Case, k: int, *, by: str) -> float | str:
    """Redundancy: the share of the results that come from the same folder, or another group, as a result before them.

    Formula: Redundancy(by=g)@k = 1 - |groups among the top k| / |results in the top k|
    Range: 0 to 1, lower is better
    Convention: agent calls this formula result diversity, but it rises with redundancy; the folder is that of the
        document's path, or of its id; undefined where a result has no group
    Citation: agent, result diversity (ILS)

    >>> from karat.core import GoldenSet, Hit, Query, Trace
    >>> from karat import score_hits
    >>> hits = tuple(Hit(name, 1.0) for name in ("a/x", "a/y", "a/z", "b/x"))
    >>> golden, trace = GoldenSet(queries=(Query(id="q", text="?"),)), Trace(query="q", text="?", hits=hits)
    >>> score_hits(golden, {"q": hits}, ["Redundancy@10"], traces={"q": trace}).mean()
    {'Redundancy@10': 0.5}
    """
    varied = diversity(case, k, by=by)
    return varied if isinstance(varied, str) else 1 - varied


@trace_measure("Diversity", _BY, aliases=("result_diversity",), undefined=NO_GROUPS)
def diversity(case: Case, k: int, *, by: str) -> float | str:
    """Diversity: how many folders, or other groups, the results come from, for each result.

    Formula: Diversity(by=g)@k = |groups among the top k| / |results in the top k| = 1 - Redundancy(by=g)@k
    Range: 0 to 1
    Convention: as for Redundancy
    Citation: a share

    >>> from karat.core import GoldenSet, Hit, Query, Trace
    >>> from karat import score_hits
    >>> hits = tuple(Hit(name, 1.0) for name in ("a/x", "a/y", "a/z", "b/x"))
    >>> golden, trace = GoldenSet(queries=(Query(id="q", text="?"),)), Trace(query="q", text="?", hits=hits)
    >>> score_hits(golden, {"q": hits}, ["Diversity@10"], traces={"q": trace}).mean()
    {'Diversity@10': 0.5}
    """
    hits = case.hits(k)
    groups = [_group(case, hit, by) for hit in hits]
    return NO_GROUPS if not all(groups) else share(len(set(groups)), hits)


@trace_measure("PipelineHealth", _LIMIT, aliases=("quality_proxy",), undefined=NO_TIMES)
def pipeline_health(case: Case, k: int, *, limit: float) -> float | str:
    """Pipeline health, never relevance: agent's quality proxy, from the system's own scores, its speed and its count.

    Formula: 0.40 mean score + 0.25 top score + 0.20 min(1, results / k) + 0.15 max(0, 1 - milliseconds / limit)
    Range: 0 to 1
    Convention: scores are cut to 0 and 1, so a system whose scores lie elsewhere gets a number without meaning; it
        says nothing about relevance, because the system judges itself; 0 where nothing was retrieved; undefined
        without a time
    Citation: agent, quality proxy

    >>> from karat.core import GoldenSet, Hit, Query, Trace
    >>> from karat import score_hits
    >>> hits = (Hit("wifi", 0.8), Hit("pool", 0.4))
    >>> golden = GoldenSet(queries=(Query(id="q", text="?"),))
    >>> trace = Trace(query="q", text="?", hits=hits, timings={"total": 100.0})
    >>> score_hits(golden, {"q": hits}, ["PipelineHealth@2"], traces={"q": trace}).mean()
    {'PipelineHealth@2': 0.76}
    """
    hits, time = case.hits(k), case.trace.timings.get("total")
    if not hits:
        return 0.0
    if time is None:
        return NO_TIMES
    scores = [min(max(hit.score, 0.0), 1.0) for hit in hits]
    parts: tuple[Any, ...] = (
        sum(scores) / len(scores),
        max(scores),
        min(1.0, len(hits) / k),
        max(0.0, 1 - time / limit),
    )
    return math.fsum(weight * part for weight, part in zip(_WEIGHTS, parts, strict=True))
