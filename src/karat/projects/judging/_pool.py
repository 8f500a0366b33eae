"""Grades of a machine for a pool of queries and documents, marked as such."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from karat.chat import Subject, asking_about
from karat.core import InputError, SystemFailed, UsageError, shorten
from karat.files import read_bytes, refuse_input, write_file
from karat.golden import pool_text
from karat.judges import (
    HIGHEST,
    BudgetSpent,
    Judge,
    NotMeasurable,
    find_judge,
    grade_by_model,
    grade_by_overlap,
    score_pairs,
)
from karat.projects._project import Project
from karat.projects.judging._bench import Setup, describe_failures, fingerprint_judge, open_bench, write_spending
from karat.projects.judging._recording import Recording
from karat.schema.judging import PoolJudging
from karat.telemetry import JudgedAnswer

Row = dict[str, Any]
Graded = tuple[int | None, str]
"""A grade, or why there is none."""
_BATCH = 4
"""Rows that one thread grades after each other; a function of the user gets so many pairs at once."""
_BINARY, _FULL = 2, HIGHEST + 1
_RELEVANT = 2
"""The grade from which on a passage is relevant, where a set knows only yes and no."""


def judge_pool(
    project: Project,
    path: Path,
    output: Path,
    *,
    by: str = "model",
    cache: bool = True,
    progress: Callable[[str, int, int], None] | None = None,
    recording: Recording | None = None,
) -> PoolJudging:
    """Fill in the grades that a pool lacks, write the rows to another file, and return what was done.

    ``by`` is model, overlap, or a function package.module:name that takes pairs of question and passage and returns
    grades from 0 to 3. Rows that have a grade stay as they are. Each new grade has the source bootstrapped and names
    the judge, so that a person's grade of the same pair always counts for more. It is SystemFailed, and nothing is
    written, if no pair could be graded.
    """
    rows = _read_rows(path)
    refuse_input(output)
    scale = len(project.golden.grades)
    if scale not in (_BINARY, _FULL):
        raise UsageError(f"the set has {scale} grades; judges grade from 0 to {HIGHEST}, or yes and no")
    open_rows = [row for row in rows if row.get("grade") is None]
    if recording is not None:
        recording.begin(output)
    with ExitStack() as stack:
        setup, annotator, grade = _choose(project, by, stack, cache=cache, recording=recording)
        grades = _grade_all(grade, open_rows, project.config.judges.concurrency, progress)
        failed = Counter(reason for value, reason in grades if value is None)
        if open_rows and failed.total() == len(open_rows):
            raise SystemFailed(f"no pair could be graded, and nothing was written: {describe_failures(failed)}")
        filled = iter(grades)
        written = [row if row.get("grade") is not None else _fill(row, next(filled), annotator, scale) for row in rows]
        write_file(output, pool_text(written))
        if recording is not None:
            recording.add(_list_judged(open_rows, grades, annotator, is_model=by == "model"))
            recording.finish([write_spending(setup.spending)])
        return PoolJudging(
            output=str(output),
            annotator=annotator,
            pairs=len(rows),
            kept=len(rows) - len(open_rows),
            judged=sum(value is not None for value, _ in grades),
            grades=dict(sorted(Counter(str(row["grade"]) for row in written if _is_own(row, annotator)).items())),
            reasons=dict(failed.most_common()),
            spending=write_spending(setup.spending),
        )


def _list_judged(
    rows: Sequence[Row], grades: Sequence[Graded], annotator: str, *, is_model: bool
) -> list[JudgedAnswer]:
    return [
        JudgedAnswer(
            query=str(row["query"]),
            document=str(row["document"]),
            measure=find_judge("passage_relevance").measure,
            value=None if grade is None else grade / HIGHEST,
            reason=reason,
            judge=annotator,
            is_model=is_model,
        )
        for row, (grade, reason) in zip(rows, grades, strict=True)
    ]


def _is_own(row: Mapping[str, Any], annotator: str) -> bool:
    return row.get("annotator") == annotator and row.get("grade") is not None


def _read_rows(path: Path) -> list[Row]:
    rows = []
    for number, line in enumerate(read_bytes(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict) or not {"query", "document"} <= row.keys():
            hint = "'karat golden pool' writes such files"
            raise InputError("is not a row of a pool", source=str(path), line=number, hint=hint)
        rows.append(row)
    return rows


def _choose(
    project: Project, by: str, stack: ExitStack, *, cache: bool, recording: Recording | None
) -> tuple[Setup, str, Callable[[Sequence[Row]], list[Graded]]]:
    """Return what judges need, the name under which they grade, and the function that grades rows."""
    judge: Judge = find_judge("passage_relevance" if by == "model" else "overlap_grade")
    setup = open_bench(project, [judge], stack, cache=cache, recording=recording)
    if by == "model":
        return setup, fingerprint_judge(project, setup, judge), lambda rows: [_ask(setup, row) for row in rows]
    if by == "overlap":
        return setup, "overlap_grade", lambda rows: [(grade_by_overlap(*_read_pair(row)), "") for row in rows]
    from karat.systems import load

    scorer: Any = load(by)
    return setup, by, lambda rows: _call(scorer, rows)


def _call(scorer: Callable[[list[tuple[str, str]]], Any], rows: Sequence[Row]) -> list[Graded]:
    grades = score_pairs(scorer, [_read_pair(row) for row in rows], HIGHEST)
    if any(grade != int(grade) for grade in grades):
        raise UsageError(f"the function that grades passages returned a fraction; it should be 0, 1, 2 or {HIGHEST}")
    return [(int(grade), "") for grade in grades]


def _ask(setup: Setup, row: Row) -> Graded:
    try:
        with asking_about(Subject(query=str(row["query"]), judge="passage_relevance")):
            return grade_by_model(setup.bench, *_read_pair(row))
    except NotMeasurable as error:
        return None, str(error)
    except BudgetSpent:
        return None, "not asked: the budget is spent"


def _read_pair(row: Row) -> tuple[str, str]:
    """Return what a row asks, and the passage: what a system returned, or else the whole document."""
    question, passage = row.get("query_text"), row.get("passage") or row.get("text")
    if not isinstance(question, str) or not isinstance(passage, str):
        name = shorten(str(row["query"]))
        raise InputError(f"query {name}: a row has no question or no text", hint="pool again, with --golden")
    title = row.get("title")
    return question, f"{title}\n\n{passage}" if isinstance(title, str) and title else passage


def _grade_all(
    grade: Callable[[Sequence[Row]], list[Graded]],
    rows: Sequence[Row],
    concurrency: int,
    progress: Callable[[str, int, int], None] | None,
) -> list[Graded]:
    batches = [rows[start : start + _BATCH] for start in range(0, len(rows), _BATCH)]
    grades: list[Graded] = []
    with ThreadPoolExecutor(concurrency, thread_name_prefix="karat-judge") as pool:
        for batch in pool.map(grade, batches):
            grades += batch
            if progress is not None:
                progress("grading", len(grades), len(rows))
    return grades


def _fill(row: Row, graded: Graded, annotator: str, scale: int) -> Row:
    grade, _ = graded
    if grade is None:
        return row
    shown = grade if scale == _FULL else int(grade >= _RELEVANT)
    return {**row, "grade": shown, "source": "bootstrapped", "annotator": annotator}
