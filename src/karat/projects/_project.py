"""A project: a folder with a golden set, and a configuration of the system and of how it is asked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from karat import golden as sets
from karat.config import Config, Scoring, Settings, check_parameters, choose_scoring, read_config
from karat.core import GoldenSet, Ids, InputError, Measure, Scores, Undefined, Unit, UsageError
from karat.evaluation import deepest_cutoff, looks_at_whole_lists, score_run
from karat.files import record_folder

if TYPE_CHECKING:
    from karat.systems import System

_HITS = Settings().k
PIPELINE = "pipeline"
"""The name of the built-in pipeline, where a system is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A configuration and its golden set."""

    config: Config
    golden: GoldenSet

    @property
    def scoring(self) -> Scoring:
        """How the runs of the project are scored."""
        return choose_scoring(self.config.eval.scoring)

    def with_scoring(self, **chosen: Any) -> Project:
        """Return the project with other options of scoring; None keeps that of the configuration."""
        choose_scoring(chosen)  # reports what cannot be chosen
        changed = {name: value for name, value in chosen.items() if value is not None}
        scoring = cast("Scoring", {**self.config.eval.scoring, **changed})
        return replace(self, config=replace(self.config, eval=replace(self.config.eval, scoring=scoring)))

    def with_parameters(self, parameters: Mapping[str, Any]) -> Project:
        """Return the project with some parameters of its system added or changed."""
        check_parameters(parameters)
        config = self.config.eval
        changed = replace(config, parameters={**config.parameters, **parameters})
        return replace(self, config=replace(self.config, eval=changed))

    def settings(self, measures: Iterable[str | Measure] | None = None, **chosen: Any) -> Settings:
        """Return the settings: those chosen here, then those of the configuration, then the defaults.

        The default of k is 10, or the highest cut-off of the measures; of run files, the length of the longest list
        if a measure has no cut-off.
        """
        settings = {**self.config.eval.settings, **{name: value for name, value in chosen.items() if value is not None}}
        if "k" not in settings:
            settings["k"] = self._choose_k(list(measures or self.config.eval.measures))
        return Settings(**settings | ({"timeout": None} if settings.get("timeout") == 0 else {}))

    def _choose_k(self, measures: Sequence[str | Measure]) -> int:
        k = max(_HITS, deepest_cutoff(measures))
        if self.config.system.get("kind") != "runs" or not any(map(looks_at_whole_lists, measures)):
            return k
        from karat.systems.adapters import find_longest_list

        return max(k, find_longest_list(self.config.system, self.config.folder))

    def uses_pipeline(self, path: str | None = None) -> bool:
        """Return whether :meth:`system` returns the built-in pipeline, in which no code of the user's own runs."""
        return path == PIPELINE or not (path or self.config.eval.system or self.config.system)

    def system(
        self,
        path: str | None = None,
        *,
        tenant: str | None = None,
        cache: bool = True,
        say: Callable[[str], None] | None = None,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> System:
        """Return the system under test: ``package.module:name``, that of the configuration, or the built-in pipeline.

        The path ``pipeline`` is the built-in one, whatever the configuration names.

        ``cache`` keeps embeddings on disk. ``say`` and ``progress`` get notes and the progress of the pipeline.
        """
        from karat.systems import Pipeline, Stages, adapt, load_system  # a run that was made needs none of them

        config = self.config
        if path == PIPELINE:
            own = replace(config.eval, system="", parameters={})
            return replace(self, config=replace(config, eval=own, system={})).system(
                tenant=tenant, cache=cache, say=say, progress=progress
            )
        path = path or config.eval.system
        tenant = config.eval.tenant if tenant is None else tenant
        if path:
            return load_system(path, tenant=tenant, parameters=config.eval.parameters)
        if config.eval.parameters:
            named = ", ".join(config.eval.parameters)
            raise UsageError(
                f"[eval.parameters] {named}: they are for a retriever of your own; the stages of the built-in pipeline "
                "are in [pipeline], and what a service is sent is in [system] body"
            )
        stages = Stages.from_table(_locate_prompt(config))
        if config.system:
            from karat.systems.adapters import Surroundings, open_system

            if stages.answer is not False:
                raise UsageError("[pipeline.answer] answers from hits of the built-in pipeline, but there is [system]")
            around = Surroundings(
                folder=config.folder, golden=self.golden, stages=stages, cache=cache, say=say, progress=progress
            )
            return adapt(open_system(config.system, around), tenant=tenant)
        if tenant:
            raise UsageError("a tenant is for a system of your own; the built-in pipeline holds one set of documents")
        return adapt(Pipeline(stages, cache=config.folder / ".karat" if cache else None, say=say, progress=progress))


def _locate_prompt(config: Config) -> Mapping[str, Any]:
    """Return the table ``[pipeline]`` with the file of a prompt relative to the folder of the project."""
    answer = config.pipeline.get("answer")
    if not isinstance(answer, Mapping) or not isinstance(answer.get("prompt"), str) or not answer["prompt"]:
        return config.pipeline
    return {**config.pipeline, "answer": {**answer, "prompt": str(config.folder / answer["prompt"])}}


def open_project(folder: str | Path, **scoring: Any) -> Project:
    """Return the project in a folder with karat.toml, or of a golden set, with all defaults.

    ``scoring`` overrides how its runs are scored; see :class:`karat.config.Scoring`.
    """
    if not Path(folder).exists():
        raise InputError("no such file or folder", source=str(folder))
    config = read_config(Path(folder))
    # The system under test may change the current folder, and the files of the project stay where they are.
    config = _load_own_measures(replace(config, folder=config.folder.resolve()))
    golden = sets.open_set(config)
    if config.golden.resolve() != config.folder and config.golden.is_dir():
        record_folder(config.golden)
    return Project(config=config, golden=golden).with_scoring(**scoring)


def _load_own_measures(config: Config) -> Config:
    """Import the modules that [eval] measures names, and return the configuration without them."""
    measures = list(map(str, config.eval.measures))  # what is no text is reported where it is used
    if not any(":" in measure for measure in measures):
        return config
    from karat.measures import load_measures

    loaded = load_measures(measures, Path.cwd(), config.folder)
    return replace(config, eval=replace(config.eval, measures=loaded))


def evaluate(
    golden: GoldenSet | str | Path,
    system: object = None,
    measures: Iterable[str | Measure] | None = None,
    *,
    output: str | Path | None = None,
    unit: Unit | None = None,
    undefined: Undefined | None = None,
    ids: Ids | None = None,
    min_score: float | None = None,
    tenant: str = "",
    label: str = "",
    **settings: Any,
) -> Scores:
    """Ask a system every question of a golden set, and return the scores.

    ``golden`` is a golden set, the path of one, or a project with karat.toml, whose settings are used unless they are
    overridden here. ``system`` is an object with ``retrieve(query, k)`` or such a function, plain or async; by default
    it is the built-in pipeline over the documents of the set. ``settings`` are those of :class:`Settings`: k,
    paraphrases, repeat, sample, seed, concurrency, batch, timeout, warm_up, without_sessions, fail_fast, patience. With
    ``output`` the run is saved as that file, and ``label`` names it. ``tenant`` is passed to the system as
    ``company_id``. How answers are scored:

    - ``unit``: what counts as found, ``document`` (default) or the judged ``target``;
    - ``undefined``: how to score a query for which a measure is undefined: ``exclude`` (default), ``zero``, ``one``;
    - ``ids``: how the ids of hits name documents and parts: ``chunk`` (default, ``wifi:chunk:3``), ``path``
      (``wifi#S.2``), ``prefix``, ``canonical``, ``opaque``, or ``auto`` for whatever fits the golden set;
    - ``min_score``: hits with a lower score count as not returned.

    A query that failed is among the ``failures`` of the scores, with its error.

    >>> from karat.core import Document, Judgment, Query, Target
    >>> golden = GoldenSet(documents=(Document(id="pool", text="The pool opens at six."),),
    ...                    queries=(Query(id="q", text="When does the pool open?"),),
    ...                    judgments=(Judgment(query="q", target=Target(document="pool"), grade=3),))
    >>> evaluate(golden, lambda query, k: ["pool"], ["RR@10"]).mean()
    {'RR@10': 1.0}
    """
    from karat.projects._soundness import require_scorable
    from karat.runs import find_origin, make_run
    from karat.systems import adapt

    if isinstance(golden, GoldenSet):
        project = Project(config=Config(folder=Path(), golden=Path()), golden=golden)
    else:
        project = open_project(golden)
    require_scorable(project.golden)
    project = project.with_scoring(unit=unit, undefined=undefined, ids=ids, min_score=min_score)
    subject = (
        project.system(cache=not isinstance(golden, GoldenSet), tenant=tenant or None)
        if system is None
        else adapt(system, tenant=tenant)
    )
    run = make_run(
        project.golden,
        subject,
        project.settings(measures, **settings),
        output=None if output is None else Path(output),
        origin=find_origin(project.config.folder, label=label),
    )
    evaluation = score_run(project.golden, run, measures or project.config.eval.measures, **project.scoring)
    return replace(evaluation.scores, failures=evaluation.failures)


def run_identity(golden: GoldenSet, system: System, settings: Settings) -> str:
    """Return a short hash of everything that decides the content of a run; it is part of the file's name."""
    from karat.runs import describe_run, make_header

    record = json.dumps(make_header(describe_run(golden, system, settings)), sort_keys=True)
    return hashlib.sha256(record.encode()).hexdigest()[:8]


def run_path(folder: Path, golden: GoldenSet, system: System, settings: Settings) -> Path:
    """Return the file of a run: named by its system, the day, and a hash of everything that decides what is in it.

    A change of any of these gives another file, and a second run on the same day gets a number, so that no run is
    overwritten. If there is an unfinished run with the same hash, of any day, its file is returned.
    """
    identity = run_identity(golden, system, settings)
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in system.name)[:80]
    for part in sorted(folder.glob(f"*-{identity}*.jsonl.part")):
        return part.with_suffix("")
    stem = f"{name}-{datetime.now(tz=UTC):%Y-%m-%d}-{identity}"
    numbers = chain([""], (f"-{n}" for n in count(2)))
    return next(path for n in numbers if not (path := folder / f"{stem}{n}.jsonl").exists())
