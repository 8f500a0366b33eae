"""The gate of a project: its policy, its baseline, and the decision on a run."""

from __future__ import annotations

import os
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from karat.core import GoldenSet, InputError, Run, shorten
from karat.evaluation import MEASURES, Evaluation, Snapshot, groups, score_run, snapshot
from karat.gate import Baseline, Decision, Policy, caveats, decide, read_baseline, read_policy
from karat.golden import sample
from karat.projects._project import Project, open_project
from karat.runs import same_golden

BASELINE = "baseline.json"
_MOVED = "the documents changed since the baseline: a difference may come from them, and judgments be out of date"
_Question = tuple[str, int, int]
"""A query, its wording and the repeat."""


@dataclass(frozen=True, kw_only=True)
class Gated:
    """A run with its scores, and what the gate says of it."""

    project: Project
    evaluation: Evaluation
    snapshot: Snapshot
    decision: Decision
    baseline: Baseline | None = None
    caveats: tuple[str, ...] = ()


def project_of(path: str | Path) -> Path:
    """Find the project that a run belongs to: the nearest folder above it with a configuration, or the current one.

    A golden set without a configuration is a project too; a pyproject.toml is one if it has [tool.karat].
    """
    file = Path(path)
    if not os.path.lexists(file) and str(path) != "-":
        raise InputError("no such file", source=str(path))
    if file.is_file() and not file.stat().st_size:
        raise InputError("the file is empty", source=str(path))
    found = next(filter(_is_project, file.resolve().parents), None)
    if found is None and not _is_project(Path()):
        what = "lies in no project, and neither is the current folder one"
        raise InputError(what, source=str(path), hint="name the project that it belongs to (--golden)")
    return found or Path()


def _is_project(folder: Path) -> bool:
    named = any((folder / name).is_file() for name in ("karat.toml", "golden.toml"))
    return named or _configures(folder / "pyproject.toml")


def _configures(path: Path) -> bool:
    try:
        tools = tomllib.loads(path.read_text("utf-8")).get("tool", {})
    except (OSError, ValueError):  # none, or one that other tools may complain of
        return False
    return isinstance(tools, Mapping) and "karat" in tools


def policy_of(project: Project, chosen: str | None = None) -> Policy:
    """Give the policy that was chosen, or the one of the configuration, for what the project measures."""
    config = project.config
    floors = dict(project.golden.gate)
    measures = () if floors else tuple(config.eval.get("measures", (one for one in MEASURES if one[0] != "J")))
    return read_policy(chosen, config.gate, measures=measures, floors=floors, source=f"{config.folder}, [gate]")


def baseline_path(project: Project, chosen: str | Path | None = None) -> Path:
    """Give the file of the baseline: the one that was chosen, or named in ``[gate]``, or baseline.json."""
    if chosen is not None:
        return Path(chosen)
    name = project.config.gate.get("baseline", BASELINE)
    if not isinstance(name, str) or not name:
        raise InputError(f"[gate] baseline = {shorten(name)}; name a file", source=str(project.config.folder))
    return project.config.folder / name


def find_baseline(project: Project, chosen: str | Path | None = None) -> Baseline | None:
    """Read the baseline; None where there is none yet. One that was named and is not there is a mistake."""
    path = baseline_path(project, chosen)
    if os.path.lexists(path):  # a link to nothing is there, and a mistake
        return read_baseline(path)
    if chosen is None and "baseline" not in project.config.gate:
        return None
    raise InputError("no such file", source=str(path), hint="'karat baseline update RUN' records a baseline")


def gate_run(
    project: Project | str | Path,
    run: Run,
    *,
    policy: str | None = None,
    baseline: str | Path | None = None,
    alone: bool = False,
    measures: Iterable[str] = (),
    seed: int = 0,
) -> Gated:
    """Score a run with what the policy looks at, and decide on it against the baseline.

    With ``alone`` no baseline is looked for, as when the first one is recorded. ``measures`` are scored besides. A run
    that lacks answers to some questions is refused, because they might be those that it would lose by.
    """
    if not isinstance(project, Project):
        project = open_project(project)
    same_golden(project.golden, run)
    check_complete(project.golden, run)
    chosen = policy_of(project, policy)
    known = None if alone else find_baseline(project, baseline)
    unit: Any = project.config.eval.get("unit", "document")
    wanted = dict.fromkeys((*chosen.measures, *project.config.eval.get("measures", ()), *measures))
    evaluation = score_run(project.golden, run, wanted or None, unit=unit)
    taken = snapshot(evaluation, project.golden, unit=unit)
    told = []
    if known is not None and (before := carried_over(known.snapshot, taken, chosen)) is not known.snapshot:
        known, told = replace(known, snapshot=before), [_MOVED]
    decision = decide(taken, known.snapshot if known else None, chosen, groups(project.golden), seed=seed)
    return Gated(
        project=project,
        evaluation=evaluation,
        snapshot=taken,
        decision=decision,
        baseline=known,
        caveats=(*told, *caveats(decision, project.golden, unit=unit)),
    )


def carried_over(before: Snapshot, taken: Snapshot, policy: Policy) -> Snapshot:
    """Give a baseline as one on the golden set of the run, if only documents changed and the policy allows for that.

    Any other is given as it is. What was judged inside of a document may have moved in it.
    """
    then, now = before.golden, taken.golden
    same = now.get("questions") is not None and now["questions"] == then.get("questions")
    whole = taken.settings.get("unit", "document") == "document"
    return replace(before, golden=now) if policy.documents_may_change and same and now != then and whole else before


def check_complete(golden: GoldenSet, run: Run) -> None:
    """Refuse a run that has not one answer to each question that it says it asked, and no others."""
    found = Counter((trace.query, trace.paraphrase, trace.repeat) for trace in run.traces)
    asked = dict.fromkeys(_questions(golden, run))
    if missing := list(dict.fromkeys(question[0] for question in asked if question not in found)):
        shown = ", ".join(map(shorten, missing[:3])) + (" ..." if len(missing) > 3 else "")
        what = f"lacks answers to {len(missing):,} of the queries that it should have asked: {shown}"
    elif more := [question[0] for question in found.elements() if question not in asked]:
        what = f"has answers to questions that it should not have asked, on query {shorten(more[0])}"
    elif twice := [question[0] for question, times in found.items() if times > 1]:
        what = f"has two answers to the same question of query {shorten(twice[0])}"
    else:
        return
    raise InputError(f"run {shorten(run.name)} {what}", hint="the file was changed; run 'karat eval' again")


def _questions(golden: GoldenSet, run: Run) -> Iterator[_Question]:
    """Give the questions that a run says it asked; one that was made elsewhere asked each query in its own way."""
    settings = {"k": 0, "seed": 0, "repeat": 1, "paraphrases": False, **run.settings}
    size, repeats = settings.get("sample"), settings["repeat"]
    numbers = (settings["k"], settings["seed"], repeats, 0 if size is None else size)
    if not all(isinstance(value, int) for value in numbers) or repeats < 1:
        raise InputError(f"run {shorten(run.name)} has wrong settings: {shorten(dict(run.settings))}")
    if "sample" not in settings:
        there = dict.fromkeys(trace.query for trace in run.traces)
        yield from ((trace.query, trace.paraphrase, trace.repeat) for trace in run.traces)
        yield from ((query.id, 0, 0) for query in golden.queries if query.id not in there)
        return
    for query in (golden if size is None else sample(golden, size, seed=settings["seed"])).queries:
        texts = 1 + len(query.paraphrases) if settings["paraphrases"] else 1
        for repeat in range(min(repeats, len(run.traces) + 1)):  # a number that is too large is missed soon enough
            yield from ((query.id, text, repeat) for text in range(texts))
