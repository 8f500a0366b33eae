"""Queries whose scores change although nothing did: by the system, or by the judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, variance

from karat.core import InputError, Run, UsageError, did_you_mean, shorten
from karat.files import read_bytes
from karat.judges import JUDGES
from karat.projects._project import Project
from karat.projects.judging._population import select_counted
from karat.runs import digest_run, group_votes, opinions_path, read_any_run, read_opinions
from karat.schema.judging import FlakeClass, FlakesReport, FlakyQuery

TOLERANCE = 0.1
"""How far scores may differ without a query being flaky."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One answer to a query, with the votes of a judge."""

    answer: str
    votes: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The score of the answer."""
        return fmean(self.votes)


def find_flakes(
    project: Project, paths: Sequence[Path], *, judge: str = "", tolerance: float = TOLERANCE
) -> FlakesReport:
    """Return which queries have scores that change between runs of one system, its repeats, or votes, and why.

    Votes on one answer differ by the judge alone. Scores of different answers differ by the system, if by more than the
    votes explain.
    """
    if not 0 < tolerance < 1:
        raise UsageError(f"tolerance={tolerance:g}; choose a number between 0 and 1")
    runs = [read_any_run(path, project.golden) for path in paths]
    tables = [_read_votes(path) for path in paths]
    judge = _choose_judge(judge, [name for _, votes in tables for own in votes.values() for name in own])
    for path, (judges, _) in zip(paths, tables, strict=True):
        if judge not in judges:
            raise InputError(f"is not judged by {shorten(judge)}", source=str(path), hint="judge it by the same judge")
    fingerprints = {judges[judge] for judges, _ in tables}
    if len(fingerprints) > 1:
        named = ", ".join(map(shorten, sorted(fingerprints)))
        raise UsageError(f"the runs have different judges ({named}): judge them all by one")
    answers = _collect(runs, [votes for _, votes in tables], judge)
    counted = select_counted(project, judge, answers)
    answers = {query: own for query, own in answers.items() if query in counted}
    if not answers:
        raise InputError(f"no answer has a score of {shorten(judge)}", source=", ".join(map(str, paths)))
    rows = [_classify(query, own, tolerance) for query, own in answers.items()]
    return FlakesReport(
        runs=[str(path) for path in paths],
        judge=judge,
        fingerprint=fingerprints.pop(),
        tolerance=tolerance,
        queries=len(rows),
        counts=dict(Counter(row.kind for row in rows)),
        flaky=sorted((row for row in rows if row.kind != "stable"), key=lambda row: (-row.spread, row.query)),
        notes=_note(runs, answers, is_offline=_is_offline(judge)),
    )


def _choose_judge(judge: str, names: Sequence[str]) -> str:
    known = sorted(set(names))
    if not judge and len(known) > 1:
        raise UsageError(f"several judges judged the runs: {', '.join(map(shorten, known))}; choose one with --judge")
    if judge and judge not in known:
        raise UsageError(f"{shorten(judge)} did not judge the runs{did_you_mean(judge, known)}")
    return judge or next(iter(known), "nobody")


Votes = Mapping[tuple[str, int, int], Mapping[str, tuple[float, ...]]]


def _read_votes(path: Path) -> tuple[Mapping[str, str], Votes]:
    """Return what decides about each judge of a run, and their votes."""
    file = opinions_path(path)
    if not file.is_file():
        raise InputError("nobody has judged the run", source=str(path), hint="run 'karat judge' first")
    judged = read_opinions(file)
    if judged.run != digest_run(read_bytes(path)):
        raise InputError("has opinions about another run", source=str(file), hint="judge the run again")
    votes = {
        key: {judge: tuple(vote.value for vote in own if vote.value is not None) for judge, own in judges.items()}
        for key, judges in group_votes(judged.opinions).items()
    }
    return judged.judges, votes


def _collect(runs: Sequence[Run], tables: Sequence[Votes], judge: str) -> dict[str, list[Judged]]:
    answers: dict[str, list[Judged]] = {}
    for run, votes in zip(runs, tables, strict=True):
        for trace in run.traces:
            own = votes.get((trace.query, trace.paraphrase, trace.repeat), {}).get(judge, ())
            if own:
                answers.setdefault(trace.query, []).append(Judged(answer=trace.answer, votes=own))
    return answers


def _classify(query: str, answers: Sequence[Judged], tolerance: float) -> FlakyQuery:
    means = [answer.mean for answer in answers]
    texts: dict[str, list[Judged]] = {}
    for answer in answers:
        texts.setdefault(answer.answer, []).append(answer)
    by_text = {text: [vote for answer in own for vote in answer.votes] for text, own in texts.items()}
    judge_spread = max((max(votes) - min(votes) for votes in by_text.values()), default=0.0)
    spread = max(max(means) - min(means), judge_spread)
    system = _measure_system(by_text)
    kind: FlakeClass = "stable"
    if spread > tolerance:
        noisy_judge, noisy_system = judge_spread > tolerance, system > tolerance**2 / 4
        if all(len(votes) < 2 for votes in by_text.values()):
            kind = "unknown"
        elif noisy_judge and noisy_system:
            kind = "both"
        else:
            kind = "judge" if noisy_judge else "system"
    return FlakyQuery(
        query=query,
        kind=kind,
        spread=spread,
        judge_spread=judge_spread,
        answers=len(answers),
        different=len(texts),
        votes=sum(len(answer.votes) for answer in answers),
        scores=means,
    )


def _measure_system(by_text: Mapping[str, Sequence[float]]) -> float:
    """Return the variance of scores between different answers that the votes on each do not explain."""
    if len(by_text) < 2:
        return 0.0
    means = [fmean(votes) for votes in by_text.values()]
    within = [variance(votes) / len(votes) for votes in by_text.values() if len(votes) > 1]
    return variance(means) - (fmean(within) if within else 0.0)


def _is_offline(judge: str) -> bool:
    """Return whether a judge of karat asks no model, so that its votes are all the same."""
    return judge in JUDGES and not JUDGES[judge].prompts


def _note(runs: Sequence[Run], answers: Mapping[str, Sequence[Judged]], *, is_offline: bool) -> list[str]:
    notes = []
    if len({run.provenance.fingerprint for run in runs}) > 1:
        notes.append("the runs are of different systems: what differs may be what was changed")
    if all(len(own) == 1 for own in answers.values()):
        notes.append("every query has one answer: name several runs of one system, or set [eval] repeat")
    if not is_offline and all(len(answer.votes) == 1 for own in answers.values() for answer in own):
        notes.append("every answer has one vote: judge with --votes 3 to tell the judge's noise from the system's")
    return notes
