"""The gate on mirrored questions: the live system is the baseline, and the one in its shadow the candidate."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from karat.core import Citation, GoldenSet, Hit, InputError, Run, Span, count_things
from karat.evaluation import score_run
from karat.gate import Baseline
from karat.golden import identify
from karat.online import describe_missing, read_log
from karat.online._shadow_records import ANSWERED, LoggedShadow, MirroredAnswer, MirroredPart
from karat.online.answers import GivenAnswer, make_live_run
from karat.online.shadow._report import choose_feature
from karat.projects import GateResult, Project, gate_evaluation, project_policy

POLICY = "blocks"


def gate_shadow(
    store: str | os.PathLike[str],
    project: Project,
    feature: str = "",
    *,
    policy: str | None = None,
    since: float | None = None,
    until: float | None = None,
    seed: int = 0,
) -> GateResult:
    """Return the decision on the treatment of a shadow, over the mirrored questions that a project's set has.

    The control's answers to the same questions are the baseline. The policy is that for a canary (``blocks``), unless
    another one is named. A treatment that failed, or was left alone because it did, has failed the question; a call
    that it was not asked for another reason is left out, and the first caveats tell how much of the set was compared.
    """
    chosen = project_policy(project, policy or POLICY)
    with read_log(store) as log:
        name = choose_feature(feature, log.shadow_features(), os.fspath(store))
        mirrored = list(log.shadow_runs(name, since, until))
    runs = [run for run in mirrored if run.is_comparable]
    golden, control, treatment = _make_runs(project.golden, runs, os.fspath(store), name)
    own = replace(project, golden=golden)
    measures = tuple(dict.fromkeys((*chosen.measures, *project.config.eval.measures)))
    before, after = (score_run(golden, run, measures, **project.scoring) for run in (control, treatment))
    result = gate_evaluation(own, after, chosen, Baseline(evaluation=before), seed=seed)
    notes = _describe_coverage(project.golden, golden, [run for run in mirrored if not run.is_comparable])
    return replace(result, caveats=(*notes, *describe_missing(store), *result.caveats))


def _describe_coverage(whole: GoldenSet, compared: GoldenSet, left_out: Iterable[LoggedShadow]) -> Iterator[str]:
    """Yield how many questions of the set were compared, and what became of calls with one that were not."""
    count, total = len(compared.queries), len(whole.queries)
    if count < total:
        share = f"{count:,} of {count_things(total, 'question')} of {whole.name}"
        yield f"{share} were compared: nothing is known of the rest"
    counts = _count_by_status(whole, left_out)
    if counts:
        calls = count_things(sum(counts.values()), "call with a question of it was", "calls with its questions were")
        reasons = ", ".join(f"{status} {number:,}" for status, number in counts.items())
        yield f"{calls} not compared ({reasons}): the others may be easier ones"


def _count_by_status(golden: GoldenSet, runs: Iterable[LoggedShadow]) -> dict[str, int]:
    """Return how many runs ask a question of a set, by what became of them."""
    answers: dict[str, list[GivenAnswer]] = {}
    for run in runs:
        answers.setdefault(run.status, []).append(_read_side(run, 0))
    live = {status: make_live_run(golden, own, status, unanswerable=True) for status, own in sorted(answers.items())}
    return {status: run.total for status, run in live.items() if run is not None}


def _make_runs(golden: GoldenSet, runs: Sequence[LoggedShadow], store: str, feature: str) -> tuple[GoldenSet, Run, Run]:
    """Return the set with the questions that were mirrored, and the runs of the control and the treatment."""
    k = max((run.k for run in runs), default=1)
    control = make_live_run(golden, [_read_side(run, 0) for run in runs], f"{feature} control", k=k, unanswerable=True)
    treatment = make_live_run(golden, [_read_side(run, 1) for run in runs], feature, k=k, unanswerable=True)
    if control is None or treatment is None:
        hint = "replay it: karat shadow replay --golden SET, or wait for people to ask what the set asks"
        raise InputError(
            f"no shadow run of {feature!r} asks a question of {golden.name} in the same words", source=store, hint=hint
        )
    made_on = identify(control.golden)
    own, other = (
        replace(live.run, provenance=replace(live.run.provenance, golden=made_on)) for live in (control, treatment)
    )
    return control.golden, own, other


def _read_side(run: LoggedShadow, side: int) -> GivenAnswer:
    """Return what the control (0) or the treatment (1) returned in a shadow run."""
    latency = (run.control_latency, run.treatment_latency)[side]
    if side and run.status != ANSWERED:
        return GivenAnswer(text=run.text, error=run.error or run.status, latency=latency)
    answer = run.answers[side]
    if answer is None:
        documents = (run.control, run.treatment)[side][: run.k]
        hits = tuple(Hit(name, float(len(documents) - rank)) for rank, name in enumerate(documents))
        return GivenAnswer(text=run.text, hits=hits, latency=latency)
    return read_answer(run.text, answer, latency)


def read_answer(text: str, answer: MirroredAnswer, latency: float | None) -> GivenAnswer:
    """Return an answer as it was given, with hits in the order of their ranks."""
    hits = [_make_hit(part, float(len(answer.hits) - rank)) for rank, part in enumerate(answer.hits)]
    citations = [
        Citation(part.id, part.document, _make_span(part), part.section, part.block) for part in answer.citations
    ]
    return GivenAnswer(
        text=text,
        hits=tuple(hits),
        answer=answer.text,
        citations=tuple(citations),
        refused=answer.refused,
        latency=latency,
    )


def _make_hit(part: MirroredPart, score: float) -> Hit:
    return Hit(part.id, score, part.document, _make_span(part), section=part.section, block=part.block)


def _make_span(part: MirroredPart) -> Span | None:
    return None if part.span is None else Span(*part.span)
