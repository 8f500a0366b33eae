"""Runs and baselines from files: read, checked against each other and scored alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from karat.core import InputError, Measure, Provenance, Run
from karat.evaluation import MEASURES, Evaluation, empty_scores, require_comparable, score_run
from karat.files import read_bytes
from karat.gate import is_baseline, read_baseline
from karat.projects._gating import find_project
from karat.projects._project import Project, open_project
from karat.runs import read_answers, require_golden

_CLASSES = "RR"  # the classes of changed lists need it, whatever was asked for


@dataclass(frozen=True, kw_only=True)
class Evaluations:
    """Evaluations that can be compared, with the project that they were scored by; each is named after its file."""

    project: Project
    measures: tuple[str, ...]
    """The measures that were asked for, or that all of them have."""
    evaluations: tuple[Evaluation, ...]


def read_evaluations(
    paths: Sequence[str | Path],
    measures: Sequence[str] = (),
    *,
    project: str | Path | Project | None = None,
    say: Callable[[str], None] | None = None,
) -> Evaluations:
    """Read runs and baselines, refuse those whose scores do not mean the same, and score the runs.

    The project is that of the first file, unless one is named. Without ``measures`` they are those of the baselines,
    or else those of the project.
    """
    if not isinstance(project, Project):
        project = open_project(find_project(paths[0]) if project is None else project)
    files = [_read(path, project, say) for path in paths]
    for (path, file), (other_path, other) in combinations(zip(paths, files, strict=True), 2):
        require_comparable(_golden_only(other, other_path), _golden_only(file, path))
    files = _align_depth(paths, files, say)
    baselines = [file for file in files if isinstance(file, Evaluation)]
    wanted = _choose_measures(project, baselines, measures)
    evaluations = [_evaluate(path, file, project, wanted) for path, file in zip(paths, files, strict=True)]
    return Evaluations(project=project, measures=tuple(wanted), evaluations=tuple(evaluations))


def _read(path: str | Path, project: Project, say: Callable[[str], None] | None) -> Run | Evaluation:
    if Path(path).is_file() and is_baseline(data := read_bytes(path)):
        return read_baseline(path, data).evaluation.renamed(Path(path).name)
    return read_answers(path, project.golden, say=say)


def _golden_only(file: Run | Evaluation, path: str | Path) -> Evaluation:
    """Return what a file says about its golden set, so that two sets are refused before anything is scored."""
    name = Path(path).name
    provenance = Provenance(name=name, golden=file.provenance.golden)
    return Evaluation(provenance=provenance, scores=empty_scores(name))


def _align_depth(
    paths: Sequence[str | Path], files: Sequence[Run | Evaluation], say: Callable[[str], None] | None
) -> list[Run | Evaluation]:
    """Set the k of foreign runs to that of the others: they do not say how many hits were asked for.

    Their k is the length of the longest list, and of a system that was asked for 1,000 that may be 998.
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
            say(
                f"{path}: its longest list has {longest:,} hits, those of the others {k:,}; it is taken to have no more"
            )
        changed = replace(file.provenance, settings={**file.provenance.settings, "k": k})
        aligned.append(replace(file, provenance=changed))
    return aligned


def _choose_measures(project: Project, baselines: Sequence[Evaluation], measures: Sequence[str]) -> list[str]:
    wanted = list(dict.fromkeys(str(Measure.parse(measure)) for measure in measures))
    for baseline in baselines:
        lacking = [measure for measure in wanted if measure not in baseline.means]
        if lacking:
            raise InputError(
                f"has no {', '.join(lacking)}", source=baseline.name, hint=f"it has {', '.join(baseline.means)}"
            )
    if wanted:
        return wanted
    if baselines:
        shared = [name for name in baselines[0].means if all(name in baseline.means for baseline in baselines)]
        if not shared:
            raise InputError("the baselines have no measure in common")
        return shared
    configured = project.config.eval.measures or MEASURES
    return list(dict.fromkeys(str(Measure.parse(measure)) for measure in configured))


def _evaluate(path: str | Path, file: Run | Evaluation, project: Project, measures: Sequence[str]) -> Evaluation:
    if isinstance(file, Evaluation):
        return file
    require_golden(project.golden, file.provenance)
    evaluation = score_run(project.golden, file, dict.fromkeys((*measures, _CLASSES)), unit=project.unit)
    return evaluation.renamed(Path(path).name)
