"""A judge held against people's labels."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from karat.core import InputError, Run, UsageError, did_you_mean, shorten
from karat.judges import HIGHEST, JUDGES
from karat.measures import is_excused
from karat.projects._project import Project
from karat.projects.judging._labels import Key, Label, Labels, identify, keep_current, read_labels, settle
from karat.projects.judging._population import select_counted
from karat.runs import read_any_run
from karat.schema.judging import CalibrationBin, CalibrationReport, CorrectedEstimate, JudgeEstimate, PeopleReport
from karat.stats import LEAST_LABELS, CorrectedMean, correct_mean
from karat.stats.trust import (
    BINS,
    Estimate,
    check_draw,
    estimate_share,
    measure_agreement,
    measure_people,
    round_to_levels,
)

CHOSEN = 0.001
"""The p-value below which a sample of labels is taken for one that was not drawn at random."""
_MOST_LEVELS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How labels are read: the best one, from which one on an item is good, and from which score on a judge says so."""

    highest: float = 1.0
    positive: float | None = None
    """As a label; by default the middle of the scale."""
    threshold: float | None = None
    """As a score from 0 to 1; by default a score counts as the nearest label."""

    def __post_init__(self) -> None:
        if not 0 < self.highest < math.inf:
            raise UsageError(f"highest={self.highest:g}; name the best label, above 0")
        if self.positive is not None and not 0 < self.positive <= self.highest:
            raise UsageError(f"positive={self.positive:g}; name a label above 0, up to {self.highest:g}")
        if self.threshold is not None and not 0 < self.threshold <= 1:
            raise UsageError(f"threshold={self.threshold:g}; name a score above 0, up to 1")

    @property
    def good(self) -> float:
        """From which share of the best label on an item is good."""
        return 0.5 if self.positive is None else self.positive / self.highest


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """The scores of one judge: by item, from 0 to 1, with the answers that they are about."""

    judge: str
    source: str
    values: Mapping[Key, float]
    answers: Mapping[Key, str]
    fingerprint: str = ""
    failed: frozenset[Key] = frozenset()
    """Items for which the judge should have a score, and has none. In the correction they count as the worst."""
    worst: float = 0.0


def calibrate_judge(
    project: Project, path: Path, labels: Path, *, judge: str = "", scale: Scale | None = None
) -> CalibrationReport:
    """Return how far a judge of a run file agrees with the labels of people in another file.

    Labels of answers that the run does not have any more do not count, and are told.
    """
    run = read_any_run(path, project.golden)
    return _calibrate(_read_scores(project, run, judge, str(path)), labels, scale or Scale())


def calibrate_pool(path: Path, labels: Path, *, scale: Scale | None = None) -> CalibrationReport:
    """Return how far the grades of a machine, in a file of ``karat golden judge``, agree with those of people."""
    scale = scale or Scale(highest=HIGHEST)
    graded = read_labels(path, scale.highest, machine=True)
    answers = {label.key: "" for label in graded.labels}
    who = ", ".join(name for name in graded.annotators if name)
    scored = Scored(judge=who or str(path), source=str(path), values=settle(graded.labels), answers=answers)
    return _calibrate(scored, labels, scale)


def _read_scores(project: Project, run: Run, judge: str, source: str) -> Scored:
    known = sorted({name for trace in run.traces for name in trace.opinions if ":" not in name})
    if not known:
        raise InputError("nobody has judged the run", source=source, hint="run 'karat judge' first")
    if not judge and len(known) > 1:
        raise UsageError(f"several judges judged the run: {', '.join(map(shorten, known))}; choose one with --judge")
    judge = judge or known[0]
    if judge not in known:
        raise UsageError(
            f"{shorten(judge)} did not judge the run{did_you_mean(judge, known)}; {', '.join(map(shorten, known))} did"
        )
    counted = select_counted(project, judge, (trace.query for trace in run.traces))
    opinions = {identify(trace): trace.opinions.get(judge) for trace in run.traces if trace.query in counted}
    values = {key: float(value) for key, value in opinions.items() if isinstance(value, int | float)}
    failed = frozenset(key for key, value in opinions.items() if isinstance(value, str) and not is_excused(value))
    return Scored(
        judge=judge,
        source=source,
        values=values,
        answers={identify(trace): trace.answer for trace in run.traces},
        fingerprint=run.provenance.settings["judged_by"][judge],
        failed=failed,
        worst=float(judge in JUDGES and JUDGES[judge].lower_is_better),
    )


def _calibrate(scored: Scored, path: Path, scale: Scale) -> CalibrationReport:
    labels = read_labels(path, scale.highest)
    current, changed, unknown = keep_current(labels.of_judge(scored.judge), scored.answers)
    settled = settle(current)
    keys = [key for key in settled if key in scored.values]
    if not keys:
        hint = "label answers of this run; 'karat judge sample' draws some"
        raise InputError(
            f"no label is about something that {shorten(scored.judge)[1:-1]} scored", source=str(path), hint=hint
        )
    values, truth = (np.array([own[key] for key in keys]) for own in (scored.values, settled))
    levels = _list_levels(truth, scale.highest)
    rng = np.random.default_rng(0)
    rest = np.array([value for key, value in scored.values.items() if key not in settled])
    drawn_p = check_draw(values, rest)
    statistics = measure_agreement(
        values,
        truth,
        levels=levels,
        positive=scale.good,
        threshold=scale.threshold,
        groups=[key[0] for key in keys],
        rng=rng,
    )
    corrected = None if drawn_p < CHOSEN else correct_scores(scored, settled)
    people = _compare_people(current, rng)
    report = CalibrationReport(
        judge=scored.judge,
        fingerprint=scored.fingerprint,
        scores=scored.source,
        labels=str(path),
        items=len(keys),
        queries=len({key[0] for key in keys}),
        annotators=[name for name in labels.annotators if name],
        unlabelled=labels.empty,
        unknown=unknown,
        changed=changed,
        unjudged=len(settled) - len(keys),
        levels=levels,
        positive=scale.good,
        threshold=scale.threshold,
        statistics={name: write_estimate(estimate) for name, estimate in statistics.items()},
        confusion=_count_confusion(values, truth, levels, scale.threshold),
        bins=list(_bin(values, truth)),
        base_rate=write_estimate(estimate_share(int((truth >= scale.good).sum()), len(truth))),
        majority=max(Counter(truth.tolist()).values()) / len(truth),
        people=people,
        drawn_p=drawn_p,
        corrected=None if corrected is None else write_corrected(corrected),
        notes=[],
    )
    return _add_notes(report, labels)


def _list_levels(truth: np.ndarray, highest: float) -> list[float]:
    """Return the labels that people could give: all grades of the scale, if they gave grades, or else those they gave.

    >>> _list_levels(np.array([0.0, 1.0]), 1), [round(level, 2) for level in _list_levels(np.array([0.0, 1 / 3]), 3)]
    ([0.0, 1.0], [0.0, 0.33, 0.67, 1.0])
    """
    grades = truth * highest
    if highest < _MOST_LEVELS and highest == int(highest) and np.allclose(grades, np.rint(grades)):
        return [grade / highest for grade in range(int(highest) + 1)]
    levels = sorted(set(truth.tolist()))
    return levels if 1 < len(levels) <= _MOST_LEVELS else [step / 10 for step in range(11)]


def correct_scores(scored: Scored, settled: Mapping[Key, float]) -> CorrectedMean:
    """Return the mean that people would give to all items. Where the judge failed, its score counts as the worst."""
    scores = {**dict.fromkeys(scored.failed, scored.worst), **scored.values}
    labelled = [key for key in settled if key in scores]
    rest = [value for key, value in scores.items() if key not in settled]
    return correct_mean([settled[key] for key in labelled], [scores[key] for key in labelled], rest)


def _compare_people(labels: Sequence[Label], rng: np.random.Generator) -> PeopleReport | None:
    names = sorted({label.annotator for label in labels})
    if len(names) < 2:
        return None
    items = {key: place for place, key in enumerate(dict.fromkeys(label.key for label in labels))}
    table = np.full((len(names), len(items)), np.nan)
    for label in labels:
        table[names.index(label.annotator), items[label.key]] = label.value
    agreement = measure_people(table, rng=rng)
    if agreement is None:
        return None
    return PeopleReport(
        people=agreement.people,
        items=agreement.items,
        kappa=write_estimate(agreement.kappa),
        quadratic_kappa=write_estimate(agreement.quadratic_kappa),
        alpha=write_estimate(agreement.alpha),
    )


def _count_confusion(
    values: np.ndarray, truth: np.ndarray, levels: Sequence[float], threshold: float | None
) -> list[list[int]]:
    table = np.zeros((len(levels), len(levels)), np.int64)
    np.add.at(table, (round_to_levels(truth, levels), round_to_levels(values, levels, threshold)), 1)
    return [[int(count) for count in row] for row in table]


def _bin(values: np.ndarray, truth: np.ndarray) -> list[CalibrationBin]:
    places = np.minimum((values * BINS).astype(int), BINS - 1)
    return [
        CalibrationBin(
            low=place / BINS,
            high=(place + 1) / BINS,
            items=int(own.sum()),
            judge=float(values[own].mean()),
            people=float(truth[own].mean()),
        )
        for place in range(BINS)
        if (own := places == place).any()
    ]


def _add_notes(report: CalibrationReport, labels: Labels) -> CalibrationReport:
    import msgspec

    notes = []
    if report.items < LEAST_LABELS:
        notes.append(f"{report.items} labels say little: label {LEAST_LABELS} or more, better 100")
    if report.people is None:
        notes.append("nobody knows how far people agree: let a second person label some of the same answers")
    kappa, auroc = report.statistics["kappa"], report.statistics["auroc"]
    if auroc.low is not None and auroc.low <= 0.5:
        notes.append("these labels do not tell the judge from one that guesses")
    elif kappa.low is not None and kappa.low <= 0:
        notes.append("rounded to labels, its scores may agree by chance alone; another --threshold may serve better")
    if report.corrected is None:
        notes.append(
            f"the labelled answers are not a random sample: their scores differ from those of the others (p = "
            f"{report.drawn_p:.1g}), so that no mean is corrected; draw answers with 'karat judge sample'"
        )
    if any(label.answer is None and not label.key[1] for label in labels.labels):
        notes.append("rows without 'answer' are taken to be about the answers of this run")
    return msgspec.structs.replace(report, notes=notes)


def write_estimate(estimate: Estimate) -> JudgeEstimate:
    """Return an estimate as a document, with null for what is undefined."""
    return JudgeEstimate(
        value=_write(estimate.value), low=_write(estimate.low), high=_write(estimate.high)
    )  # fmt: skip


def write_corrected(corrected: CorrectedMean) -> CorrectedEstimate:
    """Return a corrected mean as a document."""
    return CorrectedEstimate(
        mean=_write(corrected.mean),
        low=_write(corrected.low),
        high=_write(corrected.high),
        weight=corrected.weight,
        labels=corrected.labels,
        judged=corrected.judged,
        judge_mean=_write(corrected.judge_mean),
        reason=corrected.reason,
    )


def _write(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
