"""Caveats of a decision: a changed golden set, failed queries, unreachable floors, and drops that cannot be shown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import stdev
from typing import TYPE_CHECKING

from karat.core import GoldenSet, KaratError, Measure, MeasureError, Unit, UsageError, is_missing, select_detailed
from karat.evaluation import (
    UNANSWERED,
    Evaluation,
    describe_definitions,
    describe_depth,
    describe_failed,
    describe_returned,
)
from karat.gate._corrected import correct_measures, describe_corrections, find_label_problems
from karat.gate._decision import Decision
from karat.gate._growth import describe_growth
from karat.gate._operations import list_unchecked
from karat.gate._pairing import lower_is_better, pair_scores, scale_of
from karat.gate._policy import CITED, DISTANCES, Rule
from karat.gate._unanswered import describe_refusals
from karat.gate._unscored import describe_scored
from karat.golden import list_assumptions
from karat.measures import ASKED_LESS, ASKED_ONCE, BLIND, OVERLAP_AGREEMENT
from karat.stats import Outcome, detectable, sample_size

if TYPE_CHECKING:
    from karat.golden.lint import Ceiling

_SPREAD = 0.25
"""The standard deviation of differences to assume without a baseline: the middle one of ``SPREADS``."""
_OF_UNANSWERABLE = ("TrueEmpty", "FalseHits", "RightRefusal")
"""The measures of questions to which the right answer is nothing."""
_BY_WORDS = "overlap_grade"
"""The annotator of grades that karat golden judge --by overlap gives."""
_LOOSE = 0.40
"""Six of ten random documents of the hotel are as near to a question as this, and all are nearer than 0.55."""
_DECIDED = (
    ("non_inferior", Outcome.PASS),
    ("non_inferior", Outcome.FAIL),
    ("significant_drop", Outcome.FAIL),
)


def find_caveats(decision: Decision, golden: GoldenSet, *, unit: Unit = "document") -> list[str]:
    """Return what limits a decision: a changed golden set, failed queries, and rules that ask for too much.

    Warnings about means of few queries, and about questions that the baseline scored and the golden set no longer has,
    are the first.
    """
    return [
        *describe_scored(decision.checks, golden),
        *describe_growth(decision.baseline, "baseline"),
        *describe_growth(decision.candidate, "run"),
        *decision.policy.notes,
        *_find_unchecked(decision),
        *_find_false_answers(decision),
        *list_unchecked(decision.candidate, decision.baseline, decision.policy.operations),
        *_find_failures(decision),
        *(note for _, note in describe_refusals(decision.candidate, decision.baseline)),
        *describe_returned(golden, decision.candidate),
        *list_assumptions(golden),
        *_find_sample(decision, golden),
        *_find_machines(golden),
        *_find_blind(decision),
        *describe_corrections(correct_measures(decision.candidate, decision.baseline)),
        *find_label_problems(decision.candidate, decision.baseline, decision.policy),
        *_find_zeros(decision),
        *_find_unreachable(decision, golden, unit),
        *_find_undetectable(decision),
        *_find_loose_distances(decision),
        *_find_asked_less(decision),
        *_find_short_lists(decision),
        *describe_definitions(decision.candidate, [rule.metric for rule in decision.policy.rules]),
    ]


def _find_loose_distances(decision: Decision) -> Iterator[str]:
    """Warn about limits on delta-S that texts on other subjects keep, too: blocks' own were made for no model."""
    rules = decision.policy.rules
    loose = [rule for rule in rules if rule.metric in DISTANCES and (rule.max or 0) >= _LOOSE]
    if loose and CITED in decision.candidate.scores.columns and not any(rule.metric == CITED for rule in rules):
        limits = ", ".join(f"{rule.metric} {rule.max:g}" for rule in loose)
        yield f"{limits}: by karat's embedder most texts on other subjects are as near; add a rule on {CITED}"


def _find_short_lists(decision: Decision) -> Iterator[str]:
    """Warn about measures that look deeper than the lists go, whether a rule checks them or they are only shown."""
    for name in decision.candidate.scores.measures:
        yield from describe_depth(decision.candidate, name)


def _find_asked_less(decision: Decision) -> Iterator[str]:
    """Warn about a rule on stability that holds for some queries only: nothing is known of those asked less often."""
    scores = decision.candidate.scores
    asked_less = scores.is_missing_for(lambda reason: reason in (ASKED_ONCE, ASKED_LESS))
    for name in dict.fromkeys(rule.metric for rule in decision.policy.rules if rule.metric in scores.columns):
        if less := int(asked_less[:, scores.columns[name]].sum()):
            yield f"{name} says nothing about {less:,} of {len(scores.queries):,} queries: they were asked less often"


def _find_unchecked(decision: Decision) -> Iterator[str]:
    """Warn about what no rule looks at: quality as such, or measures that the baseline was recorded with."""
    policy, before = decision.policy, decision.baseline
    if not policy.must_pass and not any(rule.is_quality for rule in policy.rules):
        yield f"policy {policy.name} has no rule on quality: whatever the answers are, it may pass"
    checked = {*policy.measures, *(rule.metric for rule in policy.rules)}
    unchecked = [
        name for name in (before.scores.measures if before else ()) if name not in checked and _has_direction(name)
    ]
    gone = [name for name in unchecked if name not in decision.candidate.scores.measures]
    if gone:
        yield f"WARNING: the baseline has {', '.join(gone)}, which the run was not scored with, and no rule checks"
    if rest := [name for name in unchecked if name not in gone]:
        yield f"the baseline has {', '.join(rest)}, which no rule checks"


def _find_machines(golden: GoldenSet) -> Iterator[str]:
    """Warn about a golden set in which a machine's judgments count beside those of people."""
    sources = golden.judgment_sources
    if "bootstrapped" not in sources or len(sources) < 2:
        return
    people = {(j.query, j.target) for j in golden.judgments if j.source != "bootstrapped"}
    pairs = {(j.query, j.target) for j in golden.judgments}
    if machine := len(pairs - people):
        words = sum(j.annotator == _BY_WORDS for j in golden.judgments if (j.query, j.target) not in people)
        alone = f"by words alone, which give people's grade to {OVERLAP_AGREEMENT} of texts"
        by = f"; {words:,} of them {alone}" if words else ""
        of = f"{len(pairs):,} judged pairs"
        yield f"{machine:,} of {of} were judged by a machine (bootstrapped), and by no person{by}"


def _find_blind(decision: Decision) -> Iterator[str]:
    """Warn about rules on judges without a model, which have limits that a number does not show."""
    yield from dict.fromkeys(BLIND[rule.metric] for rule in decision.policy.rules if rule.metric in BLIND)


def _find_false_answers(decision: Decision) -> Iterator[str]:
    """Warn about hits of unanswerable questions that no rule looks at: most measures leave these questions out."""
    candidate, before = decision.candidate, decision.baseline
    checked = {must.query for must in decision.policy.must_pass}
    wrong = candidate.false_answers - checked
    if not wrong or any(rule.metric.startswith(_OF_UNANSWERABLE) for rule in decision.policy.rules):
        return
    text = f"{len(wrong):,} of the {len(candidate.unanswerable):,} unanswerable questions got hits instead of none"
    advice = f"and no rule checks them; {_advise_rule(candidate)}"
    if before is None or not before.lists:
        yield f"{text}, {advice}"
        return
    known = sum(bool(before.lists.get(query)) for query in wrong)
    mark = "WARNING: " if known < len(wrong) else ""
    yield f"{mark}{text}, {known:,} of them in the baseline too, {advice}"


def _advise_rule(candidate: Evaluation) -> str:
    """Return what to add so that unanswerable questions are checked: a system that answers may refuse with hits."""
    answers = any(trace.answer or trace.citations or trace.refused for trace in select_detailed(candidate.traces))
    name = "RightRefusal" if answers else "TrueEmpty"
    measured = name in candidate.scores.measures
    return f"add a rule on {name} to [gate]" if measured else f"add {name} to [eval] measures"


def _has_direction(measure: str) -> bool:
    try:
        return Measure.parse(measure).definition.higher_is_better is not None
    except MeasureError:  # of a package that is not installed here
        return True


def _find_failures(decision: Decision) -> Iterator[str]:
    failures = decision.candidate.failures
    if failures:
        query, error = next(iter(failures.items()))
        why = "" if is_missing(error) else f": {error}"
        yield f"{describe_failed(decision.candidate)} and count as 0, such as {query}{why}"
    candidate = decision.candidate
    names = [name for name in candidate.scores.measures if Measure.parse(name).definition.undefined in UNANSWERED]
    rightly = candidate.unanswerable | candidate.unjudged
    empty = sum(
        (not some or query in candidate.empties) and query not in rightly for query, some in candidate.answered.items()
    )
    if names and empty:
        yield f"{empty:,} without results count as the worst value of {', '.join(names)}; karat eval leaves them out"


def _find_sample(decision: Decision, golden: GoldenSet) -> Iterator[str]:
    candidate = decision.candidate
    size, total = len(candidate.queries), len(golden.queries)
    grown = candidate.revision is not None and candidate.provenance.settings.get("sample") is None
    if size < total and not grown:
        yield f"the run is a sample: {size:,} of the {total:,} queries were asked, and nothing is known of the others"


def _find_zeros(decision: Decision) -> Iterator[str]:
    """Warn about measures whose baseline is 0: nothing can fall below it, so every run passes."""
    before = decision.baseline
    names = dict.fromkeys(rule.metric for rule in decision.policy.rules if rule.is_measure)
    for name in names if before is not None else ():
        if before is not None and before.mean(name) == 0 and not lower_is_better(name):
            yield f"{name} is 0 in the baseline, and cannot fall: record a better one"


def _find_unreachable(decision: Decision, golden: GoldenSet, unit: Unit) -> Iterator[str]:
    if decision.candidate.provenance.settings.get("undefined", "exclude") != "exclude":
        return  # the ceilings are those of the queries that have a value
    whole = [rule for rule in decision.policy.rules if rule.is_measure and rule.where is None]
    floors = [(rule, rule.min) for rule in whole if rule.min is not None]
    # What the run reaches can be reached.
    missed = [(rule, floor) for rule, floor in floors if not decision.candidate.mean(rule.metric) >= floor]
    ceilings = _find_ceilings(golden, [rule.metric for rule, _ in missed], unit)
    for rule, floor in missed:
        best = ceilings.get(rule.metric)
        if best is not None and best.best is not None and best.best < floor:
            why = f" ({best.because})" if best.because else ""
            yield f"{rule.name} >= {floor:g} cannot be reached: the best mean of any ranking is {best.best:.4f}{why}"


def _find_ceilings(golden: GoldenSet, measures: Sequence[str], unit: Unit) -> dict[str, Ceiling]:
    """Return the best means of measures, without those that cannot be computed."""
    if not measures:
        return {}
    from karat.golden import ceiling  # of the linter, which most decisions do not need

    try:
        return {best.measure: best for best in ceiling(golden, measures, unit=unit, known_only=True)}
    except KaratError:  # one of them cannot be computed, so the others are computed one by one
        parts = ([measure] for measure in measures) if len(measures) > 1 else ()
        return {name: best for part in parts for name, best in _find_ceilings(golden, part, unit).items()}


def _find_undetectable(decision: Decision) -> Iterator[str]:
    """Warn about tolerances that are smaller than the smallest change that the queries can show."""
    decided = {(check.metric, check.where) for check in decision.checks if (check.kind, check.outcome) in _DECIDED}
    for rule in decision.policy.rules:
        tolerated = _find_tolerance(rule, decision)
        if not tolerated or (rule.metric, rule.where) in decided:  # a decided rule needs no more queries
            continue
        n, measured = _measure_spread(rule, decision)
        if not n:
            continue
        spread, move = measured or _SPREAD, "rise" if rule.lower_is_better else "drop"
        least = detectable(n, spread, sides=1) if n > 1 else math.inf
        if least > tolerated:
            limit = (
                f"the smallest {move} that {n:,} queries show is {least:.3g}" if n > 1 else "one query shows nothing"
            )
            guess = "" if measured else f", if differences spread by {_SPREAD:g}"
            yield f"{rule.name}: {limit}; a {move} of {tolerated:.3g} needs {_count_needed(tolerated, spread)}{guess}"


def _count_needed(effect: float, spread: float) -> str:
    try:
        return f"about {sample_size(effect, spread, sides=1):,}"
    except UsageError:  # sample_size() refuses effects this small
        return "more than anyone has"


def _find_tolerance(rule: Rule, decision: Decision) -> float | None:
    """Return the smallest drop (or rise, if lower is better) that a rule should catch; None if it does not look."""
    if not rule.is_measure or scale_of(rule.metric) == "geometric":  # its margin is a ratio, not a difference
        return None
    before = (decision.baseline or decision.candidate).mean(rule.metric, _select_queries(rule, decision))
    limits = [rule.max_drop_abs, rule.max_rise_abs]
    limits += [share * abs(before) for share in (rule.max_drop_rel, rule.max_rise_rel) if share is not None]
    if rule.significant_drop or rule.non_inferior:
        limits.append(decision.policy.drop.margin(before, lower_is_better=rule.lower_is_better))
    return min((limit for limit in limits if limit is not None and math.isfinite(limit)), default=None)


def _select_queries(rule: Rule, decision: Decision) -> Sequence[str] | None:
    return decision.candidate.segments[rule.where] if rule.where else None


def _measure_spread(rule: Rule, decision: Decision) -> tuple[int, float]:
    """Return the number of queries, and the standard deviation of their differences, or 0 if it is unknown."""
    queries = _select_queries(rule, decision)
    if decision.baseline is None or not decision.baseline.has_queries:
        return len(decision.candidate.values(rule.metric, queries)), 0.0
    pairs = pair_scores(decision.candidate, decision.baseline, rule.metric, queries)
    changes = (pairs.after - pairs.before).tolist()
    return len(changes), stdev(changes) if len(changes) > 1 else 0.0
