"""How far a judge agrees with people, as a terminal shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.cli._table import escaped, number, printable, render

if TYPE_CHECKING:
    from karat.schema.judging import CalibrationReport, CorrectedEstimate, JudgeEstimate

_NAMES = {
    "agreement": "same label",
    "within_one": "at most one level apart",
    "difference": "judge less people",
    "kappa": "kappa",
    "quadratic_kappa": "quadratic kappa",
    "alpha": "Krippendorff's alpha",
    "pearson": "Pearson",
    "spearman": "Spearman",
    "auroc": "AUROC",
    "calibration_error": "calibration error",
}
_OF_GRADES = ("within_one", "quadratic_kappa")
_AMONG = ("kappa", "quadratic_kappa", "alpha")


def calibration_text(report: CalibrationReport) -> str:
    """Return every number with its interval, what people reach among themselves, and what is worth knowing of it."""
    head = f"{escaped(report.judge)}: {report.items} labels of {report.queries} queries"
    rows = [["", "judge and people", "95 %", "people among themselves", "95 %"]]
    for name, shown in _NAMES.items():
        if name in _OF_GRADES and len(report.levels) == 2:  # they say nothing more of yes and no
            continue
        people = getattr(report.people, name) if report.people is not None and name in _AMONG else None
        rows.append([shown, *_show(report.statistics[name]), *(_show(people) if people is not None else ("", ""))])
    parts = [head, "", render(rows), "", *_describe_base(report), "", *_show_confusion(report)]
    if report.corrected is not None:
        parts += ["", _describe_correction(report.corrected)]
    return "\n".join([*parts, *_describe_lost(report), *map(escaped, report.notes)])


def _show(estimate: JudgeEstimate) -> tuple[str, str]:
    interval = "" if estimate.low is None else f"{number(estimate.low)} to {number(estimate.high)}"
    return number(estimate.value), interval


def _describe_base(report: CalibrationReport) -> list[str]:
    value, interval = _show(report.base_rate)
    return [
        f"good are {value} ({interval}) of the labelled, from label {report.positive:g} of 1 on; "
        f"a judge that always says the same has the same label in {number(report.majority)}"
    ]


def _show_confusion(report: CalibrationReport) -> list[str]:
    names = [f"{level:.3g}" for level in report.levels]
    rows = [["people \\ judge", *names]]
    rows += [[name, *map(str, counts)] for name, counts in zip(names, report.confusion, strict=True)]
    return [render(rows)]


def _describe_correction(corrected: CorrectedEstimate) -> str:
    interval = "" if corrected.low is None else f" ({number(corrected.low)} to {number(corrected.high)})"
    line = f"mean over all {corrected.labels + corrected.judged}: the judge says {number(corrected.judge_mean)}, "
    line += f"corrected by the labels {number(corrected.mean)}{interval}"
    return f"{line}; {escaped(corrected.reason)}" if corrected.reason else line


def _describe_lost(report: CalibrationReport) -> list[str]:
    counts = {
        "rows without a label": report.unlabelled,
        "labels of questions that the scores lack": report.unknown,
        "labels of other answers, which do not count": report.changed,
        "labelled items that the judge did not score": report.unjudged,
    }
    reasons = [f"{count} {name}" for name, count in counts.items() if count]
    return [printable("; ".join(reasons), 400)] if reasons else []
