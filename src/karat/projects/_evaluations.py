"""Reading runs and baselines from files, so that their evaluations can be compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from karat.core import InputError, Measure, Run
from karat.evaluation import Evaluation, default_measures
from karat.files import read_bytes
from karat.gate import is_baseline, read_baseline
from karat.projects._gating import evaluate_run, find_project, revise_baseline
from karat.projects._project import Project, open_project
from karat.projects.saved_runs import find_run
from karat.runs import read_any_run

_BESIDE = ("PeopleLabel", "JudgeNoise")  # what says how far a judge can be trusted is no measure of the system
_CLASSES = "RR"  # needed for the classes of changed lists, whatever the measures are


@dataclass(frozen=True, kw_only=True)
class Evaluations:
    """Evaluations that can be compared, each named after its file, and their project."""

    project: Project
    measures: tuple[str, ...]
    """The requested measures, or those that all evaluations have."""
    evaluations: tuple[Evaluation, ...]


def read_evaluations(
    paths: Sequence[str | Path],
    measures: Sequence[str] = (),
    *,
    project: str | Path | Project | None = None,
    say: Callable[[str], None] | None = None,
) -> Evaluations:
    """Return the evaluations of runs and baselines on the current golden set of a project.

    A file without a question of the set is an error. A run may also be named by its label, title or commit.

    The project is by default that of the first file. The measures are by default those of the baselines, or of the
    project if no file is a baseline. ``say`` is called with each note about the files.
    """
    if not isinstance(project, Project):
        project = open_project(find_project(find_run(paths[0])) if project is None else project)
    paths = [find_run(path, golden=project.config.folder, say=say) for path in paths]
    files = [_read(path, project, say) for path in paths]
    files = _align_depth(paths, files, say)
    baselines = [file for file in files if isinstance(file, Evaluation)]
    names = _choose_measures(project, baselines, measures)
    evaluations = [_evaluate(path, file, project, names) for path, file in zip(paths, files, strict=True)]
    return Evaluations(project=project, measures=tuple(names), evaluations=tuple(evaluations))


def _read(path: str | Path, project: Project, say: Callable[[str], None] | None) -> Run | Evaluation:
    data = read_bytes(path) if Path(path).is_file() else None
    if data is not None and is_baseline(data):
        return revise_baseline(project, read_baseline(path, data)).evaluation.renamed(Path(path).name)
    return read_any_run(path, project.golden, say=say, data=data)


def _align_depth(
    paths: Sequence[str | Path], files: Sequence[Run | Evaluation], say: Callable[[str], None] | None
) -> list[Run | Evaluation]:
    """Return the files, with the k of foreign runs set to that of the others.

    A foreign run does not record how many hits were requested. Its k is the length of its longest list, which may be
    998 if 1,000 hits were requested.
    """
    settings = [file.provenance.settings for file in files]
    own = [
        file.provenance.settings["k"] for file in files if file.provenance.versions and "k" in file.provenance.settings
    ]
    k = own[0] if own else max((table.get("k", 0) for table in settings), default=0)
    aligned: list[Run | Evaluation] = []
    for path, file in zip(paths, files, strict=True):
        longest = file.provenance.settings.get("k", k)
        if file.provenance.versions or longest >= k:
            aligned.append(file)
            continue
        if say is not None:
            depths = f"its lists have at most {longest:,} hits, and the others were asked for {k:,}"
            say(f"{path}: {depths}; it is taken as complete")
        changed = replace(file.provenance, settings={**file.provenance.settings, "k": k})
        aligned.append(replace(file, provenance=changed))
    return aligned


def _choose_measures(project: Project, baselines: Sequence[Evaluation], measures: Sequence[str]) -> list[str]:
    names = list(dict.fromkeys(str(Measure.parse(measure)) for measure in measures))
    for baseline in baselines:
        missing = [measure for measure in names if measure not in baseline.means]
        if missing:
            raise InputError(
                f"has no {', '.join(missing)}", source=baseline.name, hint=f"it has {', '.join(baseline.means)}"
            )
    if names:
        return names
    if baselines:
        shared = [
            name
            for name in baselines[0].means
            if all(name in baseline.means for baseline in baselines) and Measure.parse(name).name not in _BESIDE
        ]
        if not shared:
            raise InputError("the baselines have no measure in common")
        return shared
    configured = project.config.eval.measures or default_measures(project.golden)
    return list(dict.fromkeys(str(Measure.parse(measure)) for measure in configured))


def _evaluate(path: str | Path, file: Run | Evaluation, project: Project, measures: Sequence[str]) -> Evaluation:
    if isinstance(file, Evaluation):
        return file
    return evaluate_run(project, file, (*measures, _CLASSES)).renamed(Path(path).name)
