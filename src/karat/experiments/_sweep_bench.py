"""Where the variants of a sweep are tried: what they share is checked once, and nothing is asked twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import chdir
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from karat.config import Config, override
from karat.core import InputError, KaratError, Measure, Provenance, Run, shorten
from karat.evaluation import MEASURES, Evaluation, empty_scores, segment_queries
from karat.experiments._sweepfile import Sweep, Variant
from karat.experiments._verdicts import Objective
from karat.files import decode, lock_folder, parse_json, read_bytes, write_file
from karat.gate import Baseline, Decision, Policy, decide
from karat.golden import fingerprint
from karat.projects import Project, find_baseline, gate_run, open_project, project_policy, run_identity, run_path
from karat.runs import Settings, describe_run, make_header, make_run, read_run_file
from karat.systems import Stages, System

Say = Callable[[str], None]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepSettings:
    """How a sweep is run."""

    baseline: str | Path | None = None
    """Another file than the project's."""
    runs: Path | None = None
    """Where the runs are kept; the folder runs of the project if None."""
    log: Path | None = None
    """Where the results are written; experiments.json of the project if None."""
    again: bool = False
    """Ask variants anew of which a finished run is there."""
    cache: bool = True
    """Keep embeddings and indexes on disk."""
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A variant that was asked, or why it was not."""

    variant: Variant
    run: Path | None = None
    decision: Decision | None = None
    error: str = ""
    before: bool = False
    """Whether it was answered before this sweep was begun."""


class Bench:
    """A project with all that the variants of a sweep share; what can be wrong is found when it is made."""

    def __init__(self, sweep: Sweep, settings: SweepSettings, say: Say, progress: Progress) -> None:
        self._sweep, self._settings, self._say, self._progress = sweep, settings, say, progress
        self._said: set[str] = set()
        self.project = _changed(open_project(sweep.project), sweep.base, sweep.source)
        self.policy: Policy = project_policy(self.project, sweep.policy)
        self.baseline: Baseline | None = find_baseline(self.project, settings.baseline)
        self.objective = self._objective()
        self.runs = settings.runs or self.project.config.folder / "runs"
        self._check_gate()
        self._variants = self._checked()
        try:
            self.runs.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot be made: {error.strerror}", source=str(self.runs)) from None
        self.journal = Journal(self.runs, [fingerprint(self.project.golden), dict(sweep.base)], sweep.variants)

    def _objective(self) -> Objective:
        """Take the measure that was named, or the first that has a direction of all that are looked at."""
        looked_at = (*self.policy.measures, *self.project.config.eval.measures, *MEASURES)
        rated = (one for one in map(Measure.parse, looked_at) if one.definition.higher_is_better is not None)
        found = Objective(measure=self._sweep.objective or str(next(rated)), required=self._sweep.require_gain)
        if found.required and self.baseline is None:
            raise InputError(
                "a gain is asked for, and there is no baseline to gain on", source=self._sweep.source,
                hint="'karat baseline update RUN' records one",
            )  # fmt: skip
        if found.required and self.baseline and found.measure not in self.baseline.evaluation.scores.measures:
            raise InputError(
                f"the baseline has no scores of {found.measure} for single queries", source=self._sweep.source,
                hint="record it with that measure, or choose another objective",
            )  # fmt: skip
        return found

    def _check_gate(self) -> None:
        """Find out with a run of nothing whether rules fit the queries, and the baseline what is measured now."""
        project, settings = self.project, self.project.settings()
        name = str(self._sweep.source)
        provenance = Provenance(
            name=name,
            golden={"name": project.golden.name, "fingerprint": fingerprint(project.golden)},
            settings={**settings.identity(), "unit": project.unit, "normaliser": project.golden.normaliser},
        )
        nothing = Evaluation(
            provenance=provenance,
            scores=empty_scores(name),
            queries=tuple(query.id for query in project.golden.queries),
            segments=segment_queries(project.golden),
        )
        known = None if self.baseline is None else self.baseline.evaluation
        decide(nothing, known, self.policy)
        if self.baseline is None:
            self._say("there is no baseline yet, so nothing that needs one can be accepted; karat baseline update RUN")

    def _checked(self) -> list[Project | str]:
        """Give each variant's project, or why there is none; refuse a sweep that is mistaken as a whole."""
        variants, found = self._sweep.variants, []
        for number, variant in enumerate(variants, 1):
            found.append(_made(self.project, variant, self._sweep.source))
            self._progress("checking", number, len(variants))
        wrong = [(one.name, made) for one, made in zip(variants, found, strict=True) if isinstance(made, str)]
        if wrong and (not self._sweep.grid or len(wrong) == len(variants)):
            name, error = wrong[0]
            raise InputError(f"variant {shorten(name)}: {error}", source=self._sweep.source)
        for name, error in wrong:
            self._say(f"{name} cannot be tried: {error}")
        return found

    def tried(self, number: int) -> Tried:
        """Ask one of the variants, unless that was done before, and gate what it answered."""
        variant, project = self._sweep.variants[number], self._variants[number]
        if isinstance(project, str):
            return Tried(variant=variant, error=project)
        self._say(f"{number + 1} of {len(self._variants)}: {variant.name}")
        try:
            path, run, before = self._answers(project)
            decision = self._gated(project, run)
        except Exception as error:  # whatever a system raises is its result, in its own words, and the others go on
            self._say(f"{variant.name} failed: {_words(error)}")
            return Tried(variant=variant, error=_words(error))
        return Tried(variant=variant, run=path, decision=decision, before=before)

    def _gated(self, project: Project, run: Run) -> Decision:
        return gate_run(
            project,
            run,
            policy=self._sweep.policy,
            baseline=self._settings.baseline,
            measures=[self.objective.measure],
            seed=self._settings.seed,
        ).decision

    def _answers(self, project: Project) -> tuple[Path, Run, bool]:
        system = project.system(cache=self._settings.cache, say=self._once, progress=self._progress)
        settings = project.settings()
        # Two that ask at once would write one file, and measure each other's latency.
        with lock_folder(self.runs, lambda: self._once(f"another sweep is asking in {self.runs}; this one waits")):
            found = None if self._settings.again else self._finished(project, system, settings)
            if found is not None:
                path, run = found
            else:
                path = run_path(self.runs, project.golden, system, settings)
                with chdir("."):  # a system that goes elsewhere does not take the next one with it
                    run = make_run(
                        project.golden,
                        system,
                        settings,
                        output=path,
                        progress=lambda *far: self._progress("asking", *far),
                    )
            before = found is not None and path.name not in self.journal.names
            self.journal.add(path.name)
        return path, run, before

    def _finished(self, project: Project, system: System, settings: Settings) -> tuple[Path, Run] | None:
        """Find a run of the same system with the same settings on the same golden set.

        The pipeline's description tells all that decides its answers. What another system is made of nobody knows, so
        of that only the runs count which this very sweep has made before it was interrupted.
        """
        wanted = make_header(describe_run(project.golden, system, settings))
        mark = run_identity(project.golden, system, settings)
        for path in sorted(self.runs.glob(f"*-{mark}*.jsonl"), reverse=True):
            if system.description.get("kind") != "pipeline" and path.name not in self.journal.names:
                continue
            try:
                run = read_run_file(path)
            except InputError as error:
                self._once(f"{error}; it is asked again")
                continue
            if make_header(run.provenance) == wanted:
                self._say(f"answered before: {path}")
                return path, run
        return None

    def _once(self, text: str) -> None:
        """Say what every variant would say again only once."""
        if text not in self._said:
            self._said.add(text)
            self._say(text)


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, KaratError) else f"{type(error).__name__}: {error}"


def _made(project: Project, variant: Variant, source: str) -> Project | str:
    """Give the project of a variant after its system was made once; what is wrong with it is told in words."""
    try:
        found = _changed(project, variant.changes, source)
        found.system(cache=False)  # not closed: an object of the user's own may be asked later
    except Exception as error:  # also what the module of a system raises when it is imported
        return error.what if isinstance(error, InputError) else _words(error)
    return found


def _changed(project: Project, changes: Mapping[str, Any], source: str) -> Project:
    return replace(project, config=override(_spelled_out(project.config, changes), changes, source=source))


def _spelled_out(config: Config, changes: Mapping[str, Any]) -> Config:
    """Write a chunker or embedder that has only a name, or none, as a table, if one of its options is changed."""
    stages, pipeline = Stages.of(config.pipeline), dict(config.pipeline)
    for stage, first, second in (("chunk", "name", None), ("embedder", "kind", "model")):
        if any(key.startswith(f"pipeline.{stage}.") for key in changes):
            value = getattr(stages, stage)
            if isinstance(value, str):
                name, _, model = value.partition(":")
                value = {first: name, **({second: model} if second and model else {})}
            pipeline[stage] = value
    return replace(config, pipeline=pipeline)


class Journal:
    """Which runs a sweep has finished; it is there until their results are in the log."""

    def __init__(self, runs: Path, shared: list[Any], variants: tuple[Variant, ...]) -> None:
        tried = [shared, [dict(variant.changes) for variant in variants]]
        identity = hashlib.sha256(json.dumps(tried, sort_keys=True).encode()).hexdigest()
        self.path = runs / f"sweep-{identity[:8]}.part"
        self.names: tuple[str, ...] = self._read()

    def _read(self) -> tuple[str, ...]:
        if not self.path.exists():
            return ()
        try:
            found = parse_json(decode(read_bytes(self.path), str(self.path)), str(self.path))
        except InputError:  # then its runs are asked again, which costs time and nothing else
            return ()
        return tuple(map(str, found)) if isinstance(found, list) else ()

    def add(self, name: str) -> None:
        """Remember a run that was finished."""
        if name not in self.names:
            self.names = (*self.names, name)
            write_file(self.path, json.dumps(self.names) + "\n")

    def forget(self) -> None:
        """Remove it."""
        self.path.unlink(missing_ok=True)
