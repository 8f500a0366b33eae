"""Checks on a judge's scores, corrected by people's labels: prediction-powered means and differences.

Labelled answers have to be a random sample. Where some of them have changed since, they are not one any more: what
changed is not labelled, and what is labelled has not changed. Then nothing is corrected, and the decision says so: what
the judge alone would let pass fails, because the labels are there to check the judge, and what cannot be tested counts
against a run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from karat.evaluation import Evaluation, find_worst, list_tables
from karat.gate._check import Check
from karat.gate._limits import check_change, check_number, list_newly_silent, select_queries
from karat.gate._pairing import lower_is_better
from karat.gate._policy import Policy, Rule
from karat.gate._unanswered import count_silent
from karat.measures import LAPSED, name_judge
from karat.schema import LabelCorrection
from karat.stats import LEAST_LABELS, CorrectedMean, Outcome, correct_difference, correct_mean

_CHANGES = ("max_drop_abs", "max_drop_rel", "max_rise_abs", "max_rise_rel", "min_gain_abs")
_TESTS = ("significant_drop", "non_inferior")
_NO_BASELINE_LABELS = "the baseline lacks labels of the same questions"
_RECORD = "label the answers of its run, too, and record it again with 'karat baseline update RUN'"
_DRAW = "'karat judge sample RUN' draws some to label"
_TIE = 1e-9
_Both = tuple[Mapping[str, float], Mapping[str, float]]
"""Numbers by query, of the run and of the baseline."""
CHOSEN = 0.001
"""The p-value below which labelled answers are taken for a sample that was not drawn at random."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """What labels say about a measure of a run, or why they say nothing."""

    mean: CorrectedMean | None = None
    difference: CorrectedMean | None = None
    """Of the run less the baseline; None without labels of both."""
    before: float = math.nan
    """The corrected mean of the baseline over the same questions, if there is a difference."""
    unchanged: bool = False
    """Whether neither people nor the judge see any difference, so that there is no change to correct."""
    problem: str = ""
    """Why there are labels, or a file for them, that do not count."""
    advice: str = ""
    """What to do about it."""

    @property
    def change_problem(self) -> str:
        """Why the change since the baseline is not corrected; empty if it is, or if there is no change."""
        return self.problem or ("" if self.difference is not None or self.unchanged else _NO_BASELINE_LABELS)


def label_column(metric: str) -> str:
    """Return the measure that has people's labels of what a judge scored; empty if no judge scores it.

    >>> label_column("Faithfulness")
    "PeopleLabel(name='faithfulness')"
    """
    judge = name_judge(metric)
    return f"PeopleLabel(name={judge!r})" if judge else ""


def find_correction(candidate: Evaluation, baseline: Evaluation | None, rule: Rule) -> Correction | None:
    """Return what labels say about the measure of a rule; None if the project has no labels for it."""
    column = label_column(rule.metric) if rule.is_measure else ""
    if not column or column not in candidate.scores.measures:
        return None
    queries = select_queries(rule, candidate.segments)
    labels = _read_column(candidate, column, queries)
    scores = _read_column(candidate, rule.metric, queries)
    labelled = [query for query in scores if query in labels]
    if lapsed := _count_lapsed(candidate, column, queries):
        total = lapsed + len(labelled)
        problem = f"{lapsed} of {total} labelled answers have changed since, and need new labels"
        return Correction(problem=problem, advice=_DRAW)
    if not labelled:
        return Correction(problem="no label of this judge is of an answer of the run", advice=_DRAW)
    if len(labelled) < LEAST_LABELS:
        return Correction(problem=f"{len(labelled)} labels; {LEAST_LABELS} are needed", advice=_DRAW)
    from karat.stats.trust import check_draw  # most projects have no labels of a judge

    rest = [value for query, value in scores.items() if query not in labels]
    own = [scores[query] for query in labelled]
    if check_draw(own, rest) < CHOSEN:
        problem = "the labelled answers are not a random sample: the judge scores them otherwise"
        return Correction(problem=problem, advice=_DRAW)
    mean = correct_mean([labels[query] for query in labelled], own, rest)
    before = {} if baseline is None else _read_column(baseline, rule.metric, queries)
    labels_before = {} if baseline is None else _read_column(baseline, column, queries)
    if before and _is_same(scores, before) and _is_same(labels, labels_before):
        return Correction(mean=mean, unchanged=True)
    if baseline is None or _count_lapsed_of(baseline, column, queries):
        return Correction(mean=mean)
    return _correct_change(mean, (scores, before), (labels, labels_before))


def correct_rule(candidate: Evaluation, baseline: Evaluation | None, rule: Rule) -> Correction | None:
    """Return what labels say about the measure of a rule, with refused answers, which nobody labels, as worst."""
    correction = find_correction(candidate, baseline, rule)
    if correction is None or correction.mean is None:
        return correction
    queries, worst = select_queries(rule, candidate.segments), find_worst(rule.metric)
    silent = sum(count_silent(candidate, rule.metric, queries).values())
    scored = sum(len(table.column(rule.metric, queries)) for table in list_tables(candidate, rule.metric))
    mean = _add_known(correction.mean, silent / (silent + scored) if silent else 0.0, worst)
    lost = list_newly_silent(candidate, baseline, rule.metric, queries)
    if not lost or correction.difference is None or baseline is None:
        return replace(correction, mean=mean)
    before = math.fsum(baseline.values(rule.metric, lost).values()) / len(lost)
    share = len(lost) / (len(lost) + correction.difference.labels + correction.difference.judged)
    return replace(
        correction,
        mean=mean,
        difference=_add_known(correction.difference, share, worst - before),
        before=(1 - share) * correction.before + share * before,
    )


def _add_known(mean: CorrectedMean, share: float, value: float) -> CorrectedMean:
    """Return the mean over more items, of which a share has a value that is known without labels."""
    names = ("mean", "low", "high", "judge_mean")
    moved = {name: (1 - share) * getattr(mean, name) + share * value for name in names}
    return replace(mean, error=(1 - share) * mean.error, **moved) if share else mean


def _is_same(now: Mapping[str, float], then: Mapping[str, float]) -> bool:
    return all(abs(now[query] - value) <= _TIE for query, value in then.items() if query in now)


def _read_column(evaluation: Evaluation, metric: str, queries: Sequence[str] | None) -> dict[str, float]:
    if metric not in evaluation.scores.measures:
        return {}
    names, values = evaluation.scores.present(metric, queries)
    return dict(zip(names, values.tolist(), strict=True))


def _count_lapsed(evaluation: Evaluation, column: str, queries: Sequence[str] | None) -> int:
    names = evaluation.scores.queries if queries is None else [q for q in queries if q in evaluation.scores.rows]
    return sum(evaluation.scores.reason(query, column) == LAPSED for query in names)


def _correct_change(mean: CorrectedMean, scores: _Both, labels: _Both) -> Correction:
    """Return the correction of a mean, and of its change if the baseline has labels of enough of the questions."""
    (now, before), (labelled_now, labelled_before) = scores, labels
    both = [query for query in now if query in before]
    labelled = [query for query in both if query in labelled_now and query in labelled_before]
    if len(labelled) < LEAST_LABELS:
        return Correction(mean=mean)
    drawn = set(labelled)
    rest = [query for query in both if query not in drawn]
    old_labels, old_scores = [labelled_before[query] for query in labelled], [before[query] for query in labelled]
    others = [before[query] for query in rest]
    change = correct_difference(
        (old_labels, [labelled_now[query] for query in labelled]),
        (old_scores, [now[query] for query in labelled]),
        (others, [now[query] for query in rest]),
    )
    return Correction(mean=mean, difference=change, before=correct_mean(old_labels, old_scores, others).mean)


def _count_lapsed_of(baseline: Evaluation, column: str, queries: Sequence[str] | None) -> int:
    return _count_lapsed(baseline, column, queries) if column in baseline.scores.measures else 0


def correct_limit(check: Check, rule: Rule, correction: Correction) -> Check:
    """Return the check of a limit with the corrected number in place of the judge's."""
    if check.kind in ("min", "max") and correction.mean is not None and check.limit is not None:
        mean = correction.mean
        own = check_number(rule, check.kind, mean.mean, check.limit)
        return replace(check, outcome=own.outcome, reason=f"{own.reason}{_describe(mean)}", current=mean.mean)
    change = correction.difference
    if check.kind in _CHANGES and change is not None and check.limit is not None and check.baseline is not None:
        before = correction.before
        own = check_change(rule, check.kind, before + change.mean, before, check.limit)
        note = f", corrected by {change.labels} labels (the judge says {change.judge_mean:+.4f})"
        return replace(own, reason=f"{own.reason}{note}")
    return check


def hold_back(check: Check, correction: Correction | None, *, has_baseline: bool) -> Check:
    """Return a check that does not fail by the judge alone as failed, if labels should have corrected it and cannot.

    A check that waits for a baseline stays inconclusive.
    """
    if correction is None or check.outcome not in (Outcome.PASS, Outcome.INCONCLUSIVE):
        return check
    limited = check.kind in ("min", "max")
    problem = correction.problem if limited else correction.change_problem
    if not problem or not (limited or (has_baseline and check.kind in (*_CHANGES, *_TESTS))):
        return check
    reason = (
        f"{check.reason}, by the judge alone: labels do not correct it ({problem}), and what is not tested does not"
    )
    return replace(check, outcome=Outcome.FAIL, reason=f"{reason} pass; {correction.advice or _RECORD}")


def lacks_baseline_labels(check: Check) -> bool:
    """Return whether a check failed only because the baseline has no labels; a new baseline would have them."""
    return check.outcome is Outcome.FAIL and f"({_NO_BASELINE_LABELS})" in check.reason


def _describe(mean: CorrectedMean) -> str:
    interval = f" ({mean.low:.4f} to {mean.high:.4f})" if math.isfinite(mean.low) else ""
    return f"{interval}: the judge's {mean.judge_mean:.4f}, corrected by {mean.labels} labels"


def decide_difference(rule: Rule, difference: CorrectedMean, baseline: float, policy: Policy, tests: int) -> Check:
    """Return the check of a corrected difference by the rules of the gate's tests.

    ``tests`` is how many tests the gate makes: each gets its share of the level, so that all together keep it.
    """
    sign = -1.0 if lower_is_better(rule.metric) else 1.0
    gain, loss = sign * difference.mean, "drop" if sign > 0 else "rise"
    margin = policy.drop.margin(baseline, lower_is_better=rule.lower_is_better)
    p = min(1.0, difference.p_below if sign > 0 else difference.p_above) * tests
    low = sign * (difference.bound(policy.drop.alpha, upper=sign < 0))
    note = f"corrected by {difference.labels} labels (the judge says {sign * difference.judge_mean:+.3g})"
    if gain < -margin and p <= policy.drop.alpha:
        outcome, reason = (
            Outcome.FAIL,
            f"{'rose' if sign < 0 else 'dropped'} by {-gain:.3g}, more than {margin:.3g} (one-sided p = {p:.3g})",
        )
    elif low > -margin:
        outcome = Outcome.PASS
        reason = f"a {loss} by more than {margin:.3g} is ruled out: it is at most {max(-low, 0.0):.3g}"
    else:
        outcome = Outcome.INCONCLUSIVE if rule.non_inferior else Outcome.PASS
        is_up = sign * gain > 0
        moved = f"{'rose' if is_up else 'dropped'} by {abs(gain):.3g}" if abs(gain) > _TIE else "did not move"
        reason = f"the mean {moved}, and the {loss} could be as large as {-low:.3g}"
    kind = "non_inferior" if rule.non_inferior else "significant_drop"
    return Check(
        metric=rule.metric, where=rule.where, kind=kind, outcome=outcome, reason=f"{reason}, {note}",
        current=baseline + difference.mean, baseline=baseline, difference=difference.mean,
        low=low if sign > 0 else None, high=-low if sign < 0 else None, limit=margin, p=min(p, 1.0),
        n=difference.labels + difference.judged,
    )  # fmt: skip


def correct_measures(candidate: Evaluation, baseline: Evaluation | None) -> dict[str, LabelCorrection]:
    """Return the corrected numbers of each judged measure of a run for which the project has labels.

    The numbers are those that rules on the measure use.
    """
    corrections = {
        measure: find_correction(candidate, baseline, Rule(metric=measure, non_inferior=True))
        for measure in candidate.scores.measures
        if label_column(measure) in candidate.scores.measures
    }
    return {
        measure: _write(correction, candidate.mean(measure), compared=baseline is not None)
        for measure, correction in corrections.items()
        if correction is not None
    }


def _write(correction: Correction, judge: float, *, compared: bool) -> LabelCorrection:
    mean, change = correction.mean, correction.difference
    two_sided = None if change is None else min(1.0, 2 * min(change.p_below, change.p_above))
    return LabelCorrection(
        labels=0 if mean is None else mean.labels,
        judge=_null(judge),
        mean=None if mean is None else mean.mean,
        low=None if mean is None else _null(mean.low),
        high=None if mean is None else _null(mean.high),
        baseline=None if change is None else correction.before,
        difference=None if change is None else change.mean,
        difference_low=None if change is None else _null(change.low),
        difference_high=None if change is None else _null(change.high),
        p=two_sided,
        problem=correction.change_problem if compared else correction.problem,
    )


def _null(value: float) -> float | None:
    return value if math.isfinite(value) else None


def describe_corrections(corrections: Mapping[str, LabelCorrection]) -> list[str]:
    """Return a sentence for each measure that labels correct, with the judge's number and the corrected one."""
    sentences = []
    for measure, own in corrections.items():
        if own.mean is not None:
            judge = "nothing" if own.judge is None else f"{own.judge:.4f}"
            interval = "" if own.low is None or own.high is None else f" ({own.low:.4f} to {own.high:.4f})"
            sentences.append(
                f"{measure}: the judge alone says {judge}; corrected by {own.labels} labels it is "
                f"{own.mean:.4f}{interval}, which its rules use"
            )
    return sentences


def find_label_problems(candidate: Evaluation, baseline: Evaluation | None, policy: Policy) -> list[str]:
    """Return why labels do not count, a sentence for each rule that they are for."""
    problems = []
    for rule in policy.rules:
        correction = find_correction(candidate, baseline, rule)
        if correction is not None and correction.problem:
            problems.append(f"{rule.name} is not corrected by labels: {correction.problem}")
        elif correction is None or baseline is None or correction.unchanged:
            continue
        elif rule.limits_change and correction.difference is None:
            problems.append(f"the change of {rule.name} is not corrected by labels: {_NO_BASELINE_LABELS}")
    return list(dict.fromkeys(problems))
