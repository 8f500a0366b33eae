"""Ablation: each channel and stage of the pipeline off in turn, and what that does to every gated measure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from karat.core import GoldenSet, Hit, Provenance, Run, Trace, UsageError
from karat.diagnosis._verdicts import judge, sign_test
from karat.evaluation import Evaluation, compare_floor, score_run
from karat.files import shorten_path
from karat.gate import (
    Comparison,
    align_changes,
    compare,
    lower_is_better,
    pair_scores,
)
from karat.projects import Project, open_project, project_policy, require_scorable
from karat.runs import describe_run
from karat.schema import AblatedMeasure, AblatedPart, AblationDocument, FloorRatio
from karat.stats import make_generator, westfall_young
from karat.systems import RESULT, Inspector, Pipeline, Stages

_FLIPS = 9_999
_LEAST = 6
"""How many queries have to change alike for a two-sided p below 0.05, which is 2/64 then."""
_WORDS_ONLY = ("dense", "expand", "rerank", "mmr")
"""What is off for the lexical floor."""


@dataclass(frozen=True, kw_only=True)
class _Bench:
    """A pipeline with its documents, asked with parts of it off."""

    project: Project
    inspector: Inspector
    provenance: Provenance
    measures: tuple[str, ...]
    k: int
    cache: bool
    """Whether vectors of distances are kept on disk."""

    def evaluate(self, off: Collection[str] = (), inspector: Inspector | None = None) -> Evaluation:
        """Ask every question with some parts off, and score the answers; channels are searched once for all of it."""
        golden = self.project.golden
        traces = tuple(self._answer(golden, inspector or self.inspector, off))
        run = Run(provenance=self.provenance, traces=traces)
        return score_run(golden, run, self.measures, cache=self.cache, **self.project.scoring)

    def _answer(self, golden: GoldenSet, inspector: Inspector, off: Collection[str]) -> list[Trace]:
        traces = []
        for query in golden.queries:
            inspection = inspector.inspect(query.text, self.k, off=off)
            hits = [
                Hit(chunk.id, score, chunk.document, chunk.span, section=chunk.section, type=chunk.type)
                for chunk, score in ((inspection.chunks[n], score) for n, score in inspection.lists[RESULT])
            ]
            traces.append(Trace(query=query.id, text=query.text, hits=tuple(hits)))
        return traces


def ablate(
    folder: str | Path = ".",
    *,
    policy: str | None = None,
    measures: Sequence[str] = (),
    cache: bool = True,
    seed: int = 0,
    say: Callable[[str], None] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> AblationDocument:
    """Return what each channel and stage of a project's pipeline is worth, on every measure of its gate.

    Each part is turned off in turn. Chunks, vectors and the embeddings of questions are shared, and each channel is
    searched once for a question. ``measures`` replaces those of the policy.
    """
    project = open_project(folder)
    require_scorable(project.golden, str(folder))
    bench = _make_bench(project, policy, measures, cache=cache, say=say, progress=progress)
    full = bench.evaluate()
    unmeasured = [name for name in bench.measures if not full.scores.count(name)]
    if unmeasured:  # a verdict on what has no value would be none
        bench = replace(bench, measures=tuple(name for name in bench.measures if name not in unmeasured))
        if not bench.measures:
            raise UsageError(f"{_describe_unmeasured(unmeasured)}; choose measures of retrieval with --measure")
        full = bench.evaluate()
    without: dict[str, Evaluation] = {}
    for number, part in enumerate(bench.inspector.parts, 1):
        without[part] = bench.evaluate((part,))
        if progress is not None:
            progress("ablating", number, len(bench.inspector.parts))
    parts = _weigh(full, without, bench.measures, seed)
    notes = [] if parts else ["the pipeline has one channel and no stage that could be off"]
    notes += [_describe_unmeasured(unmeasured)] if unmeasured else []
    notes += _describe_few(full, bench.measures)
    document = AblationDocument(
        project=str(shorten_path(project.config.folder)),
        system=bench.provenance.title,
        queries=len(project.golden.queries),
        k=bench.k,
        summary=_summarise(parts),
        parts=parts,
        floor=_find_floor(bench, full),
        note="; ".join(notes),
    )
    bench.inspector.pipeline.close()
    return document


def _describe_few(full: Evaluation, measures: Sequence[str]) -> list[str]:
    """Return a note on measures that so few queries have that no change of them could be shown."""
    few = [f"{name} ({n})" for name in measures if (n := full.scores.count(name)) < _LEAST]
    return [f"too few queries to show any change, so that their rows say nothing: {', '.join(few)}"] if few else []


def _describe_unmeasured(measures: Sequence[str]) -> str:
    return f"{', '.join(measures)} left out: parts are off for what is retrieved, and nothing is answered"


def _make_bench(
    project: Project,
    policy: str | None,
    measures: Sequence[str],
    *,
    cache: bool,
    say: Callable[[str], None] | None,
    progress: Callable[[str, int, int], None] | None,
) -> _Bench:
    gated = [name for name in project_policy(project, policy).measures if not name.startswith("latency")]
    chosen = tuple(dict.fromkeys(measures or gated or project.config.eval.measures))
    system = project.system(cache=cache, say=say, progress=progress)
    if not isinstance(system.subject, Pipeline):
        raise UsageError(
            f"{system.name} is not the built-in pipeline, and its parts cannot be turned off one by one; "
            "compare runs with and without a part instead (karat compare)"
        )
    settings = project.settings(chosen)
    system.subject.ingest(project.golden.documents)
    provenance = describe_run(project.golden, system, settings)
    return _Bench(
        project=project,
        inspector=Inspector(system.subject),
        provenance=provenance,
        measures=chosen,
        k=settings.k,
        cache=cache,
    )


def _weigh(
    full: Evaluation, without: Mapping[str, Evaluation], measures: Sequence[str], seed: int
) -> tuple[AblatedPart, ...]:
    """Return what every part is worth, with p-values that are corrected for all parts and measures together."""
    names = [name for name in measures if name in full.scores.measures]
    tests = {
        (part, comparison.measure): comparison
        for part, evaluation in without.items()
        for comparison in compare(evaluation, full, names, correction="none", seed=seed)
    }
    corrected = _correct(full, without, tests, seed)
    parts = []
    for part in without:
        rows = tuple(_measure(tests[part, name], corrected.get((part, name))) for name in names)
        if rows:
            parts.append(AblatedPart(part=part, verdict=rows[0].verdict, measures=rows))
    return tuple(sorted(parts, key=lambda part: (_gain(part.measures[0]), part.part)))


def _gain(row: AblatedMeasure) -> float:
    """Return how much better the first measure is without a part."""
    difference = float(row.difference or 0.0)
    return -difference if lower_is_better(row.measure) else difference


def _correct(
    full: Evaluation,
    without: Mapping[str, Evaluation],
    tests: Mapping[tuple[str, str], Comparison],
    seed: int,
) -> dict[tuple[str, str], float]:
    keys = [key for key, comparison in tests.items() if comparison.p is not None]
    if not keys:
        return {}
    rows = []
    for part, measure in keys:
        pairs = pair_scores(without[part], full, measure)
        rows.append((pairs.queries, pairs.after - pairs.before))
    joint = westfall_young(align_changes(rows), rng=make_generator(seed, "ablate"), resamples=_FLIPS)
    return {key: max(p, tests[key].p or 0.0) for key, p in zip(keys, joint.adjusted.tolist(), strict=True)}


def _measure(comparison: Comparison, corrected: float | None) -> AblatedMeasure:
    p_sign = sign_test(comparison.wins, comparison.losses)
    return AblatedMeasure(
        measure=comparison.measure,
        full=_number(comparison.baseline),
        without=_number(comparison.candidate),
        difference=_number(comparison.difference),
        low=comparison.low,
        high=comparison.high,
        p=comparison.p,
        p_corrected=corrected,
        p_sign=p_sign,
        better=comparison.wins,
        worse=comparison.losses,
        verdict=judge(comparison.gain, p_sign, corrected, changed=comparison.wins + comparison.losses),
    )


def _find_floor(bench: _Bench, full: Evaluation) -> tuple[FloorRatio, ...]:
    """Return what BM25 alone reaches on the same chunks, as a share of what the pipeline reaches."""
    inspector = bench.inspector
    if "lexical" in inspector.channels:
        floor = bench.evaluate([part for part in _WORDS_ONLY if part in inspector.parts])
    else:
        words = Pipeline(Stages(chunk=inspector.pipeline.stages.chunk, dense=False))
        words.ingest(bench.project.golden.documents)
        floor = bench.evaluate(inspector=Inspector(words))
    return tuple(
        compare_floor(name, floor.mean(name), full.mean(name))
        for name in bench.measures
        if name in full.means and not lower_is_better(name)
    )


def _summarise(parts: Sequence[AblatedPart]) -> str:
    """Return what to do, in one line."""
    verdicts = {part.part: {row.verdict for row in part.measures} for part in parts}
    useful = [part for part, words in verdicts.items() if words & {"CRITICAL", "important"}]
    harmful = [part for part, words in verdicts.items() if "HARMFUL" in words and part not in useful]
    useless = [part for part, words in verdicts.items() if words <= {"negligible", "likely redundant"}]
    lines = []
    if harmful:
        lines.append(f"turn off {', '.join(harmful)}: it harms")
    if useful:
        lines.append(f"keep {', '.join(useful)}")
    if useless:
        lines.append(f"nothing is known to be lost without {', '.join(useless)}")
    return "; ".join(lines) or "no part is shown to help or to harm"


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
