"""A project: a folder with a golden set, and a configuration that says what is to be asked and how."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import Any

from karat import golden as sets
from karat.config import Config, Settings, read_config
from karat.core import GoldenSet, InputError, Measure, Scores, Unit, UsageError
from karat.evaluation import deepest_cutoff, score_run
from karat.runs import describe_run, make_header, make_run
from karat.systems import HttpSystem, Pipeline, Stages, System, adapt, build, load

_HITS = Settings().k


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """What a folder says, read and checked."""

    config: Config
    golden: GoldenSet

    @property
    def unit(self) -> Unit:
        """What is scored: whole documents, or the judged parts of them."""
        return self.config.eval.unit

    def settings(self, measures: Iterable[str | Measure] | None = None, **chosen: Any) -> Settings:
        """Return how to ask: what is chosen here, else what the configuration says, else the defaults.

        Without a choice of k it is 10, or as many hits as the measures look at.
        """
        settings = {**self.config.eval.settings, **{name: value for name, value in chosen.items() if value is not None}}
        settings.setdefault("k", max(_HITS, deepest_cutoff(measures or self.config.eval.measures)))
        return Settings(**settings | ({"timeout": None} if settings.get("timeout") == 0 else {}))

    def system(
        self,
        path: str | None = None,
        *,
        tenant: str | None = None,
        cache: bool = True,
        say: Callable[[str], None] | None = None,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> System:
        """Return the system under test: ``package.module:name``, or that of the configuration, or the pipeline."""
        config = self.config
        path = path or config.eval.system
        tenant = config.eval.tenant if tenant is None else tenant
        if path:
            return adapt(load(path), name=path, tenant=tenant)
        if config.system:
            return adapt(build(HttpSystem, config.system, "system"), tenant=tenant)
        if tenant:
            raise UsageError("a tenant is for a system of your own; the built-in pipeline holds one set of documents")
        kept = config.folder / ".karat" if cache else None
        return adapt(Pipeline(Stages.from_table(config.pipeline), cache=kept, say=say, progress=progress))


def open_project(folder: str | Path) -> Project:
    """Read a folder with karat.toml, or any golden set; then the defaults hold."""
    if not Path(folder).exists():
        raise InputError("no such file or folder", source=str(folder))
    config = read_config(Path(folder))
    return Project(config=config, golden=sets.read(config.golden, config.golden_format, documents=config.documents))


def evaluate(
    golden: GoldenSet | str | Path,
    system: object = None,
    measures: Iterable[str | Measure] | None = None,
    *,
    output: str | Path | None = None,
    unit: Unit | None = None,
    tenant: str = "",
    **settings: Any,
) -> Scores:
    """Ask a system every question of a golden set, and score what it answers.

    ``golden`` is a set, or the path of one, or of a project with karat.toml, whose choices hold unless others are made
    here. ``system`` is an object with ``retrieve(query, k)`` or such a function, plain or async, and without one the
    built-in pipeline over the set's documents. ``settings`` are those of :class:`Settings`: k, paraphrases, repeat,
    sample, seed, concurrency, batch, timeout, warm_up, fail_fast. With ``output`` the run is kept there. ``tenant`` is
    given to the system as ``company_id``.

    >>> from karat.core import Document, Judgment, Query, Target
    >>> made = GoldenSet(documents=(Document(id="pool", text="The pool opens at six."),),
    ...                  queries=(Query(id="q", text="When does the pool open?"),),
    ...                  judgments=(Judgment(query="q", target=Target(document="pool"), grade=3),))
    >>> evaluate(made, lambda query, k: ["pool"], ["RR@10"]).mean()
    {'RR@10': 1.0}
    """
    if isinstance(golden, GoldenSet):
        project = Project(config=Config(folder=Path(), golden=Path()), golden=golden)
    else:
        project = open_project(golden)
    asked = (
        project.system(cache=not isinstance(golden, GoldenSet), tenant=tenant or None)
        if system is None
        else adapt(system, tenant=tenant)
    )
    run = make_run(
        project.golden, asked, project.settings(measures, **settings), output=None if output is None else Path(output)
    )
    return score_run(project.golden, run, measures or project.config.eval.measures, unit=unit or project.unit).scores


def run_identity(golden: GoldenSet, system: System, settings: Settings) -> str:
    """Give a short hash of all that decides what is in a run; it is part of the file's name."""
    record = json.dumps(make_header(describe_run(golden, system, settings)), sort_keys=True)
    return hashlib.sha256(record.encode()).hexdigest()[:8]


def run_path(folder: Path, golden: GoldenSet, system: System, settings: Settings) -> Path:
    """Name the file of a run: by its system, the day, and a hash of all that decides what is in it.

    Whatever is changed gives another file, and the same again one with a number, so that nothing is lost. A run that
    was begun, on whatever day, is taken up.
    """
    identity = run_identity(golden, system, settings)
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in system.name)[:80]
    for part in sorted(folder.glob(f"*-{identity}*.jsonl.part")):
        return part.with_suffix("")
    stem = f"{name}-{datetime.now(tz=UTC):%Y-%m-%d}-{identity}"
    numbers = chain([""], (f"-{n}" for n in count(2)))
    return next(path for n in numbers if not (path := folder / f"{stem}{n}.jsonl").exists())
