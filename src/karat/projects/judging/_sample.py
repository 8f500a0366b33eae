"""Judging some queries of a run, without writing opinions."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from karat.core import Run
from karat.judges import Judge, Opinion, judge_items, make_item
from karat.projects._project import Project
from karat.projects.judging._bench import fingerprint_judges, open_bench, write_spending
from karat.projects.judging._recording import Recording, list_judged
from karat.schema import JudgeSpending


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSample:
    """What judges say of some queries."""

    fingerprints: Mapping[str, str]
    """What decides about the opinions of each judge."""
    scores: Mapping[str, Mapping[str, float]]
    """The mean over the answers to each query, by judge."""
    spending: JudgeSpending

    def select(self, queries: Mapping[str, Collection[str]]) -> JudgedSample:
        """Return what some judges say of some queries, by judge."""
        scores = {
            judge: {query: value for query, value in self.scores.get(judge, {}).items() if query in own}
            for judge, own in queries.items()
        }
        return replace(self, scores=scores)


def judge_sample(
    project: Project,
    judges: Sequence[Judge],
    run: Run,
    queries: Collection[str],
    *,
    progress: Callable[[str, int, int], None] | None = None,
    recording: Recording | None = None,
) -> JudgedSample:
    """Return what the judges of a project say of the answers to some queries of a run."""
    config = project.config.judges
    items = [
        make_item(project.golden, trace, config.texts) for trace in run.traces if trace.query in queries
    ]  # fmt: skip
    done, total = 0, sum(judge.counts(item) for item in items for judge in judges) * config.votes

    def tell(_: Opinion) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress("judging", done, total)

    with ExitStack() as stack:
        setup = open_bench(project, judges, stack, recording=recording)
        fingerprints = fingerprint_judges(project, setup, judges, config.votes)
        opinions = judge_items(
            setup.bench, items, judges, votes=config.votes, concurrency=config.concurrency, progress=tell
        )
        if recording is not None:
            recording.add(list_judged(opinions, judges, fingerprints))
        return JudgedSample(
            fingerprints=fingerprints, scores=_average(opinions), spending=write_spending(setup.spending)
        )


def _average(opinions: Sequence[Opinion]) -> dict[str, dict[str, float]]:
    """Return the mean of each query by judge; a query of which an answer has no value has none."""
    votes: dict[str, dict[str, list[float | None]]] = {}
    for opinion in opinions:
        votes.setdefault(opinion.judge, {}).setdefault(opinion.query, []).append(opinion.value)
    return {
        judge: {
            query: math.fsum(known) / len(known)
            for query, values in queries.items()
            if len(known := [value for value in values if value is not None]) == len(values)
        }
        for judge, queries in votes.items()
    }
