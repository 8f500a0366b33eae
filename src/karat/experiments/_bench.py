"""Where the variants of a sweep are tried: what they share is checked once, and nothing is asked twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import chdir
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from karat.config import Config, override
from karat.core import InputError, KaratError, Measure, Provenance, Run, shorten
from karat.evaluation import (
    Evaluation,
    deepest_cutoff,
    default_measures,
    empty_scores,
    looks_at_whole_lists,
    segment_queries,
)
from karat.experiments._effect import require_effect, require_read
from karat.experiments._finished_runs import FinishedRuns
from karat.experiments._run_index import RunIndex
from karat.experiments._sweepfile import Sweep, Variant
from karat.experiments._verdicts import Objective
from karat.files import lock_folder, refuse_input, shorten_path
from karat.gate import Baseline, Decision, Policy, decide
from karat.golden import fingerprint
from karat.projects import (
    Project,
    gate_run,
    open_project,
    read_gate,
    revise_baseline,
    run_identity,
    run_path,
)
from karat.runs import Settings, describe_run, find_origin, make_header, make_run, read_run_file
from karat.systems import Stages, System

Say = Callable[[str], None]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepSettings:
    """How a sweep is run."""

    baseline: str | Path | None = None
    """The file of the baseline; that of the project if None."""
    runs: Path | None = None
    """The folder for the runs; ``runs`` of the project if None."""
    log: Path | None = None
    """The file for the results; experiments.json of the project if None."""
    again: bool = False
    """Ask every variant, even if it has a finished run."""
    cache: bool = True
    """Keep embeddings and indexes on disk."""
    seed: int = 0
    scoring: Mapping[str, Any] = field(default_factory=dict)
    """How runs are scored, where it is not as the project says; see :class:`karat.config.Scoring`."""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """A variant with its run and the gate's decision on it, or with the error that prevented them."""

    variant: Variant
    run: Path | None = None
    decision: Decision | None = None
    error: str = ""
    answered_before: bool = False
    """Whether the run was made before this sweep began."""


class Bench:
    """A project with all that the variants of a sweep share; mistakes are found when it is made."""

    def __init__(self, sweep: Sweep, settings: SweepSettings, say: Say, progress: Progress) -> None:
        self._sweep, self._settings, self._say, self._progress = sweep, settings, say, progress
        self._messages: set[str] = set()
        self.project = _apply(open_project(sweep.project, **settings.scoring), sweep.base, sweep.source)
        rules, baseline = read_gate(self.project, policy=sweep.policy, baseline=settings.baseline)
        self.policy: Policy = rules
        names = (*self.policy.measures, *([sweep.objective] if sweep.objective else []))
        self.baseline: Baseline | None = baseline and revise_baseline(self.project, baseline, names)
        self.objective = self._choose_objective()
        self.project = self._measure_objective()
        # Absolute, because a system may change the current folder.
        self.runs = settings.runs.absolute() if settings.runs else self.project.config.folder / "runs"
        self._check_gate()
        self._projects = self._check_variants()
        refuse_input(self.runs, folder=True)
        try:
            self.runs.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot be made: {error.strerror}", source=str(self.runs)) from None
        self.finished = FinishedRuns(self.runs / f"sweep-{self._identity()}.part")
        self._index = RunIndex(self.runs)
        self._origin = find_origin(self.project.config.folder)

    def _identity(self) -> str:
        """Return a short hash of what is swept: of the golden set, the base and the variants."""
        shared = [fingerprint(self.project.golden), dict(self._sweep.base)]
        record = [shared, [dict(variant.changes) for variant in self._sweep.variants]]
        return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:8]

    def _choose_objective(self) -> Objective:
        """Take the named measure, or the first of the policy, the project and the defaults that has a direction."""
        names = (*self.policy.measures, *self.project.config.eval.measures, *default_measures(self.project.golden))
        rated = (measure for measure in map(Measure.parse, names) if measure.definition.higher_is_better is not None)
        objective = Objective(measure=self._sweep.objective or str(next(rated)), required=self._sweep.require_gain)
        if objective.required and self.baseline is None:
            raise InputError(
                "a gain is asked for, and there is no baseline to gain on",
                source=self._sweep.source,
                hint="'karat baseline update RUN' records one",
            )
        if objective.required and self.baseline and objective.measure not in self.baseline.evaluation.scores.measures:
            raise InputError(
                f"the baseline has no scores of {objective.measure} for single queries",
                source=self._sweep.source,
                hint="record it with that measure, or choose another objective",
            )
        return objective

    def _measure_objective(self) -> Project:
        """Return the project with a named objective among its measures, so that enough hits are asked for.

        The rules of the policy stay those for the measures of the project.
        """
        project, objective = self.project, self._sweep.objective
        if objective is None:
            return project
        config = project.config
        measured = (*config.eval.measures, objective)
        project = replace(project, config=replace(config, eval=replace(config.eval, measures=measured)))
        k, depth = project.settings().k, deepest_cutoff([objective])
        if depth > k:
            raise InputError(
                f"the objective {objective} looks at {depth:,} hits, and [eval] k = {k:,} are asked for",
                source=self._sweep.source,
                hint=f"set k = {depth:,}, or choose another objective",
            )
        before = self.baseline and self.baseline.evaluation.provenance.settings.get("k")
        if isinstance(before, int) and before < depth:
            raise InputError(
                f"the objective {objective} looks at {depth:,} hits, and the baseline was asked for {before:,}",
                source=self._sweep.source,
                hint=f"set k = {depth:,} in [eval], run 'karat eval' again, and record its run as the baseline",
            )
        if looks_at_whole_lists(objective):
            self._say(f"{objective} looks at whole lists, and {k:,} hits are asked for; set [eval] k")
        return project

    def _check_gate(self) -> None:
        """Gate an empty run, so that rules and a baseline that do not fit the golden set are found now."""
        project, settings = self.project, self.project.settings()
        provenance = Provenance(
            name=str(self._sweep.source),
            golden={"name": project.golden.name, "fingerprint": fingerprint(project.golden)},
            settings={**settings.identity(), **project.scoring, "normaliser": project.golden.normaliser},
        )
        empty = Evaluation(
            provenance=provenance,
            scores=empty_scores(provenance.name),
            segments=segment_queries(project.golden),
            queries=tuple(query.id for query in project.golden.queries),
        )
        decide(empty, None if self.baseline is None else self.baseline.evaluation, self.policy)
        if self.baseline is None:
            self._say("there is no baseline yet, so nothing that needs one can be accepted; karat baseline update RUN")

    def _check_variants(self) -> list[Project | str]:
        """Return each variant's project, or why it cannot be tried; refuse a sweep in which none can be."""
        variants = self._sweep.variants
        projects: list[Project | str] = []
        systems: list[str | None] = []
        for number, variant in enumerate(variants, 1):
            project, system = _check_variant(self.project, variant, self._sweep.source)
            projects.append(project)
            systems.append(system)
            self._progress("checking", number, len(variants))
        wrong = [
            (variant.name, project)
            for variant, project in zip(variants, projects, strict=True)
            if isinstance(project, str)
        ]
        if wrong and (not self._sweep.grid or len(wrong) == len(variants)):
            name, error = wrong[0]
            raise InputError(f"variant {shorten(name)}: {error}", source=self._sweep.source)
        require_effect(self._sweep, systems)
        for name, error in wrong:
            self._say(f"{name} cannot be tried: {error}")
        return projects

    def attempt(self, number: int) -> Attempt:
        """Ask one of the variants, unless a finished run can be used, and gate what it answered."""
        variant, project = self._sweep.variants[number], self._projects[number]
        if isinstance(project, str):
            return Attempt(variant=variant, error=project)
        self._say(f"{number + 1} of {len(self._projects)}: {variant.name}")
        try:
            path, run, answered_before = self._run(project, variant.name)
            decision = self._gate(project, run)
        except Exception as error:  # whatever a system raises is recorded as its result, and the others go on
            self._say(f"{variant.name} failed: {_describe(error)}")
            return Attempt(variant=variant, error=_describe(error))
        return Attempt(variant=variant, run=path, decision=decision, answered_before=answered_before)

    def _gate(self, project: Project, run: Run) -> Decision:
        """Return the gate's decision, without the answers: those of all variants would not fit in memory."""
        decision = gate_run(
            project,
            run,
            policy=self.policy,
            baseline=self.baseline,
            alone=self.baseline is None,
            measures=[self.objective.measure],
            seed=self._settings.seed,
            cache=self._settings.cache,
        ).decision
        return replace(
            decision, candidate=replace(decision.candidate, traces=(), lists={}, wordings=(), repeats=(), variants={})
        )

    def _run(self, project: Project, name: str) -> tuple[Path, Run, bool]:
        """Return a run of a variant, which is its label, with its file, and whether it was made before this sweep."""
        system = project.system(cache=self._settings.cache, say=self._say_once, progress=self._progress)
        settings = project.settings()
        # Two sweeps that ask at once would write one file, and slow each other down while latency is measured.
        with lock_folder(self.runs, lambda: self._say_once(f"another sweep is asking in {self.runs}; this one waits")):
            finished = None if self._settings.again else self._find_finished(project, system, settings)
            if finished is not None:
                path, run = finished
            else:
                path = run_path(self.runs, project.golden, system, settings)
                with chdir("."):  # so that a system that changes the folder does not affect the next one
                    run = make_run(
                        project.golden,
                        system,
                        settings,
                        output=path,
                        origin=replace(self._origin, label=name),
                        say=self._say,
                        progress=lambda *far: self._progress("asking", *far),
                    )
            answered_before = finished is not None and path.name not in self.finished
            self.finished.add(path.name)
            self._index.add(path)
        return path, run, answered_before

    def _find_finished(self, project: Project, system: System, settings: Settings) -> tuple[Path, Run] | None:
        """Find a run of the same system with the same settings on the same golden set.

        The description of the built-in pipeline covers all that decides its answers. The code of other systems may
        have changed, so only runs that this very sweep made before it was interrupted are used for them.
        """
        wanted = make_header(describe_run(project.golden, system, settings))
        for path in self._index.find(run_identity(project.golden, system, settings)):
            if system.description.get("kind") != "pipeline" and path.name not in self.finished:
                continue
            try:
                run = read_run_file(path)
            except InputError as error:
                self._say_once(f"{error}; it is asked again")
                continue
            if make_header(run.provenance) == wanted:
                self._say(f"answered before: {shorten_path(path)}")
                return path, run
        return None

    def _say_once(self, text: str) -> None:
        """Print a note once that every variant would print again."""
        if text not in self._messages:
            self._messages.add(text)
            self._say(text)


def _describe(error: Exception) -> str:
    return str(error) if isinstance(error, KaratError) else f"{type(error).__name__}: {error}"


def _check_variant(project: Project, variant: Variant, source: str) -> tuple[Project | str, str | None]:
    """Return the project of a variant, or what is wrong with it, and its system's description; the system is made once.

    The description is that of the system and of how it is asked, as a text that two equal variants share.
    """
    try:
        changed = _apply(project, variant.changes, source)
        require_read(changed.config, (*variant.changes,))
        system = changed.system(cache=False)  # not closed: an object of the user's own may be asked later
    except Exception as error:  # also what the module of a system raises when it is imported
        return error.what if isinstance(error, InputError) else _describe(error), None
    settings = {name: str(value) for name, value in asdict(changed.settings()).items()}
    return changed, json.dumps([system.description, system.tenant, settings], sort_keys=True, default=str)


def _apply(project: Project, changes: Mapping[str, Any], source: str) -> Project:
    """Return a project with changes to its configuration."""
    return replace(project, config=override(_spell_out(project.config, changes), changes, source=source))


def _spell_out(config: Config, changes: Mapping[str, Any]) -> Config:
    """Write a chunker or embedder that has only a name, or none, as a table if one of its options is changed."""
    stages, pipeline = Stages.from_table(config.pipeline), dict(config.pipeline)
    for stage, first, second in (("chunk", "name", None), ("embedder", "kind", "model")):
        if any(key.startswith(f"pipeline.{stage}.") for key in changes):
            value = getattr(stages, stage)
            if isinstance(value, str):
                name, _, model = value.partition(":")
                value = {first: name, **({second: model} if second and model else {})}
            pipeline[stage] = value
    return replace(config, pipeline=pipeline)
