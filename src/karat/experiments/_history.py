"""Histories: the saved runs of a project in the order in which they were made, scored alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from karat.core import InputError, Run
from karat.evaluation import Evaluation, comparison_key, empty_scores, score_run, system_changes, word_changes
from karat.golden import fingerprint
from karat.projects import Project, require_complete
from karat.projects.saved_runs import RunFile, name_file, read_saved_run
from karat.runs import read_any_run, read_header
from karat.schema import SystemChange

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetChange:
    """How the golden set changed between two runs."""

    added: int = 0
    """How many questions only the later run was asked; one with another text is added and removed."""
    removed: int = 0
    judgments: bool = False
    """Whether the questions are the same and their judgments, or how they count, changed."""
    documents: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One run of a history."""

    file: RunFile
    evaluation: Evaluation
    """Without what is known of single queries: hundreds of runs would not fit in memory with that."""
    changes: tuple[SystemChange, ...] | None = None
    """What changed in the system since the run before, as key, new and old value; None for the first run."""
    asked: frozenset[tuple[str, str]] = frozenset()
    """The ids and texts of the questions that the run was asked, including those that the golden set no longer has."""
    set_change: SetChange | None = None
    """How the golden set changed since the run before; None if it did not, and for the first run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Runs whose scores mean the same, the oldest first."""

    points: tuple[Point, ...]
    asked: dict[str, Any] = field(default_factory=dict)
    """The settings in which it differs from the other histories."""


class HistoryReader:
    """Reads runs one by one, the newest first, and keeps only the scores of each."""

    def __init__(self, project: Project, measures: tuple[str, ...]) -> None:
        self._project = project
        self._measures = measures
        self.fingerprint = fingerprint(project.golden)  # once: it takes as long as scoring a run
        self._texts = {query.id: query.text for query in project.golden.queries}
        self._histories: dict[str, list[Point]] = {}
        self._apart: list[Point] = []
        self._skipped: list[tuple[RunFile, str]] = []

    def read(self, files: Sequence[RunFile], last: int | None, progress: Progress | None) -> None:
        """Read all files, or until ``last`` runs with questions of the golden set were read."""
        count = 0
        for number, file in enumerate(files, 1):
            if count == last:
                break
            try:
                count += self._add(file)
            except InputError as error:  # any other error is a mistake in the call, not in a file
                self._skipped.append((file, name_file(file, error)))
            if progress is not None:
                progress(number, len(files))

    @property
    def histories(self) -> tuple[History, ...]:
        """Runs whose scores mean the same; the history with the newest run first."""
        return _distinguish([_order(points) for points in self._histories.values()])

    @property
    def apart(self) -> tuple[Point, ...]:
        """Runs without a question of the golden set, the oldest first."""
        return tuple(reversed(self._apart))

    @property
    def skipped(self) -> tuple[tuple[RunFile, str], ...]:
        """Files that could not be used, the oldest first, and why."""
        return tuple(reversed(self._skipped))

    def _add(self, file: RunFile) -> bool:
        """Read and score a run; return whether it has a question of the project's golden set."""
        golden = self._project.golden
        run = read_saved_run(file) if _is_own(file) else read_any_run(file.path, golden)
        questions = frozenset((trace.query, trace.text) for trace in run.traces if not trace.paraphrase)
        texts = self._texts
        if questions and not any(query in texts and text in ("", texts[query]) for query, text in questions):
            self._apart.append(Point(file=file, evaluation=_unscored(run)))
            return False
        require_complete(golden, run)
        evaluation = score_run(golden, run, self._measures, **self._project.scoring).renamed(file.path.name)
        # Another k, or a sample, gives another key: such scores do not belong in one history.
        points = self._histories.setdefault(comparison_key(evaluation), [])
        points.append(Point(file=file, evaluation=evaluation.summary(), asked=questions))
        return True


def _is_own(file: RunFile) -> bool:
    """Whether a file is a run of karat, also an unfinished one; others are read as what another program wrote."""
    return file.path.suffix == ".part" or not file.path.is_file() or read_header(file.path) is not None


def _unscored(run: Run) -> Evaluation:
    queries = tuple(dict.fromkeys(trace.query for trace in run.traces))
    return Evaluation(provenance=run.provenance, scores=empty_scores(run.provenance.name), queries=queries)


def _order(points: Sequence[Point]) -> list[Point]:
    """Put the oldest first, and add to each of the others what changed since the run before."""
    ordered = list(reversed(points))
    later = [
        replace(point, changes=_changes(point, before), set_change=_compare_sets(point, before))
        for before, point in pairwise(ordered)
    ]
    return [*ordered[:1], *later]


def _changes(point: Point, before: Point) -> tuple[SystemChange, ...]:
    now, was = point.evaluation.provenance, before.evaluation.provenance
    return word_changes(system_changes(now.system, was.system), now, was, answers=True)


def _compare_sets(point: Point, before: Point) -> SetChange | None:
    """Return how the golden set changed from one run to the next, as far as the runs tell."""
    now, then = _made_on(point), _made_on(before)
    if now.get("fingerprint") == then.get("fingerprint"):
        return None
    added, removed = len(point.asked - before.asked), len(before.asked - point.asked)
    documents = bool(now.get("documents") and then.get("documents") and now["documents"] != then["documents"])
    same_questions = bool(now.get("questions")) and now.get("questions") == then.get("questions")
    return SetChange(
        added=added,
        removed=removed,
        judgments=not (added or removed or same_questions),
        documents=documents or same_questions,
    )


def _made_on(point: Point) -> Mapping[str, Any]:
    """Return the golden set that a run was made on, which is not the one that it is scored with."""
    revision = point.evaluation.revision
    return point.evaluation.provenance.golden if revision is None else revision.golden


def _distinguish(histories: Sequence[Sequence[Point]]) -> tuple[History, ...]:
    """Add to each history the settings in which it differs from the others, where its own runs agree in them."""
    settings = [[point.evaluation.provenance.settings for point in points] for points in histories]
    newest = settings[0][-1] if settings else {}
    keys = [key for key in newest if any(run.get(key) != newest[key] for runs in settings for run in runs)]
    return tuple(
        History(
            points=tuple(points),
            asked={key: runs[0].get(key) for key in keys if all(run.get(key) == runs[0].get(key) for run in runs)},
        )
        for points, runs in zip(histories, settings, strict=True)
    )
