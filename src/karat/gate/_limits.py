"""The limits of rules: the number that a rule is about, held against a limit, or against that of the baseline."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from karat.core import InputError, Measure, average, format_ms, shorten
from karat.evaluation import NOT_JUDGED, UNKNOWN, Evaluation, Segments, cited_distances
from karat.gate._check import Check
from karat.gate._operations import LEAST_MS, LEAST_RATIO_MS, explain_latency, hides_latency
from karat.gate._pairing import pair_with_lost, scale_of, shared_queries
from karat.gate._policy import CITED, DISTANCES, LIMITS, Policy, Rule
from karat.gate._unanswered import count_refusals, count_silent, count_unmeasured, describe_silent, list_silent
from karat.measures import NOT_FOR, UNTESTABLE, interpolate
from karat.stats import Outcome

_NOT_MEASURED = ", and what is not measured does not pass"
RECORD = "record it again by this policy ('karat baseline update RUN', with --policy if karat.toml has another)"
"""What gets a number into a baseline: it has those of the policy by which its run was accepted."""


def select_queries(rule: Rule, segments: Segments) -> Sequence[str] | None:
    """Return the queries of a rule's segment, None for all of them; a segment that no query has is an error."""
    if rule.where is None:
        return None
    if rule.where not in segments:
        values = sorted({value for name, value in segments if name == rule.where[0]})
        hint = f"it has {', '.join(map(shorten, values[:8]))}" if values else "no query has that field"
        raise InputError(f"no query has {rule.where[0]} = {shorten(rule.where[1])}", source="[gate]", hint=hint)
    return segments[rule.where]


def read_number(
    evaluation: Evaluation,
    rule: Rule,
    queries: Sequence[str] | None = None,
    must_show: Mapping[str, Sequence[str]] | None = None,
) -> float:
    """Return the number that a rule is about; NaN if the run does not have it."""
    if rule.must_show is not None:
        wanted = must_show or evaluation.must_show
        wanted = wanted if queries is None else {query: wanted[query] for query in queries if query in wanted}
        return _measure_shown(evaluation.lists, wanted, rule.must_show)
    if rule.is_latency:
        return evaluation.latency_of(rule.metric.removeprefix("latency."))
    if rule.scored is not None:
        return _measure_scored(evaluation, rule.scored)
    if rule.metric in DISTANCES:
        return _measure_distance(evaluation, rule.metric, queries)
    if rule.metric in evaluation.elsewhere:
        return evaluation.elsewhere[rule.metric]
    return evaluation.coverage if rule.metric == "coverage" else evaluation.mean(rule.metric, queries)


def _measure_scored(evaluation: Evaluation, measure: str) -> float:
    """Return the share of the queries that a measure is for which have a value of it; NaN if there are none."""
    if measure not in evaluation.scores.measures:
        return math.nan
    unanswerable, meant = evaluation.unanswerable, Measure.parse(measure).definition.queries
    queries = [q for q in evaluation.queries if meant == "all" or (q in unanswerable) == (meant == "unanswerable")]
    return len(evaluation.scores.present(measure, queries)[0]) / len(queries) if queries else math.nan


def _measure_distance(evaluation: Evaluation, metric: str, queries: Sequence[str] | None) -> float:
    """Return a quantile of the distances of citations, over the answers to all wordings and repeats.

    It is NaN if no answer has one; a file with means only may have the quantile itself.
    """
    values = cited_distances(evaluation, queries)
    return interpolate(values, DISTANCES[metric]) if values else evaluation.mean(metric)


def _measure_shown(lists: Mapping[str, Sequence[str]], must_show: Mapping[str, Sequence[str]], k: int) -> float:
    """Return the share of the queries whose must-show documents are all in the first k; NaN if there are none."""
    shown = [
        set(documents) <= set(lists.get(query, ())[:k])
        for query, documents in must_show.items()
        if documents and query in lists
    ]
    return sum(shown) / len(shown) if shown else math.nan


def check_limits(
    candidate: Evaluation, baseline: Evaluation | None, policy: Policy, raw: Evaluation | None = None
) -> Iterator[Check]:
    """Yield the checks of all limits: those of the run by itself, then those of its change since the baseline.

    ``raw`` is the run before worst values took the place of what failed, which says how much was scored.
    """
    counted, changed = count_refusals(candidate, baseline), count_refusals(candidate, baseline, whole=True)
    for rule in policy.rules:
        queries = select_queries(rule, candidate.segments)
        now = read_number(raw or candidate if rule.scored is not None else counted, rule, queries)
        # Only questions that both were asked are compared; the floors are for all that the run was asked.
        shared = queries if baseline is None else _select_shared(candidate, baseline, rule, queries)
        compared, then = _read_change(changed, baseline, rule, shared)
        if rule.is_latency and _is_unknown(rule, candidate, baseline):
            yield _fail_latency(rule, candidate, now, then)
            continue
        for kind in ("min", "max"):
            if (limit := getattr(rule, kind)) is not None:
                yield check_number(rule, kind, now, limit)
        for kind in ("max_drop_abs", "max_drop_rel", "max_rise_abs", "max_rise_rel", "min_gain_abs"):
            if (limit := getattr(rule, kind)) is not None:
                if baseline is None and not math.isnan(now):
                    yield defer(rule, kind, now, limit)
                elif baseline is not None and math.isnan(then) and is_unasked(changed, baseline, rule.metric, queries):
                    yield defer_new(rule, kind, now, limit)
                else:
                    yield check_change(rule, kind, compared, then, limit)


def _read_change(
    candidate: Evaluation, baseline: Evaluation | None, rule: Rule, queries: Sequence[str] | None
) -> tuple[float, float]:
    """Return the number of a rule now and in the baseline, a mean over the queries that have a value in both.

    Means over different queries differ although nothing changed, as after ``karat judge bridge``, which judges some.
    """
    now = read_number(candidate, rule, queries)
    then = math.nan if baseline is None else read_number(baseline, rule, queries, candidate.must_show)
    if baseline is None or math.isnan(now) or math.isnan(then) or not _has_values(rule, candidate, baseline):
        return now, then
    pairs = pair_with_lost(candidate, baseline, rule.metric, queries)
    if not len(pairs):
        return now, math.nan
    scale = scale_of(rule.metric)
    return average(pairs.after, scale), average(pairs.before, scale)


def _has_values(rule: Rule, *evaluations: Evaluation) -> bool:
    """Return whether the number of a rule is a mean over queries, whose values all evaluations have."""
    is_mean = rule.must_show is None and rule.scored is None
    return is_mean and all(rule.metric in evaluation.scores.columns for evaluation in evaluations)


def list_newly_silent(
    candidate: Evaluation, baseline: Evaluation | None, metric: str, queries: Sequence[str] | None
) -> list[str]:
    """Return the queries to which all answers say nothing now, and of which the baseline has a value."""
    measure = CITED if metric in DISTANCES else metric
    silent = set(list_silent(candidate, measure))
    if not silent or baseline is None or measure not in baseline.scores.columns:
        return []
    scored = baseline.scores.present(measure, queries)[0]
    return [query for query in scored if query in silent]


def note_silent(check: Check, candidate: Evaluation, baseline: Evaluation | None, raw: Evaluation) -> Check:
    """Return a check that says how many answers count as worst in it: without a word, not judged, or of unknown text.

    ``raw`` is the run before worst values took the place of what failed.
    """
    if check.query or check.current is None:
        return check
    queries = scored = None if check.where is None else candidate.segments[check.where]
    if check.kind not in ("min", "max"):
        scored = _list_scored(baseline, check.metric, queries)
        queries = list_newly_silent(candidate, baseline, check.metric, queries)
    measure = CITED if check.metric in DISTANCES else check.metric
    silent, lost = count_silent(candidate, measure, queries), count_unmeasured(raw, measure, scored)
    if not silent and not lost:
        return check
    counts = {**silent, **lost}
    is_judged = NOT_JUDGED not in lost or len(raw.scores.present(check.metric, scored)[0]) > 0
    reason = check.reason if is_judged else f"no answer was judged: {check.reason}"
    return replace(
        check, reason=f"{reason}{describe_silent(counts)}", unanswered=sum(silent.values()) or None,
        unjudged=lost.get(NOT_JUDGED), unknown=lost.get(UNKNOWN),
    )  # fmt: skip


def _list_scored(baseline: Evaluation | None, metric: str, queries: Sequence[str] | None) -> Sequence[str]:
    if baseline is None or metric not in baseline.scores.columns:
        return ()
    return baseline.scores.present(metric, queries)[0]


def _select_shared(
    candidate: Evaluation, baseline: Evaluation, rule: Rule, queries: Sequence[str] | None
) -> Sequence[str] | None:
    """Return the queries that both runs were asked, without those that say nothing and have no value in the baseline.

    They were refused there, too, so that nothing has changed.
    """
    shared, metric = shared_queries(candidate, baseline, queries), CITED if rule.metric in DISTANCES else rule.metric
    if metric not in baseline.scores.columns:
        return shared
    scored = set(baseline.scores.present(metric)[0])
    silent = {query for query in list_silent(candidate, metric) if query not in scored}
    return [q for q in (candidate.queries if shared is None else shared) if q not in silent] if silent else shared


def _is_unknown(rule: Rule, candidate: Evaluation, baseline: Evaluation | None) -> bool:
    """Return whether a latency falls among failed questions; for a change, among those that the baseline answered."""
    name = rule.metric.removeprefix("latency.")
    if baseline is None or rule.max is not None:
        return candidate.lacks_latency(name)
    return hides_latency(candidate, baseline, name)


def _fail_latency(rule: Rule, candidate: Evaluation, now: float, then: float) -> Check:
    """Return a failed check of a latency that is not known, because it falls among the questions that failed."""
    kind, limit = next((kind, limit) for kind in LIMITS if (limit := getattr(rule, kind)) is not None)
    return Check(
        metric=rule.metric, kind=kind, limit=limit, current=now, baseline=None if math.isnan(then) else then,
        outcome=Outcome.FAIL, reason=explain_latency(candidate, rule.metric.removeprefix("latency.")),
    )  # fmt: skip


def check_number(rule: Rule, kind: str, now: float, limit: float) -> Check:
    """Return the check of a number against the ``min`` or ``max`` of its rule."""
    if math.isnan(now):
        return fail_missing(rule, kind, limit)
    holds = now >= limit if kind == "min" else now <= limit
    sign = {("min", True): "at least", ("min", False): "below", ("max", True): "at most", ("max", False): "above"}
    return Check(
        metric=rule.metric, where=rule.where, kind=kind, current=now, limit=limit,
        outcome=Outcome.PASS if holds else Outcome.FAIL,
        reason=f"{_format(now, rule)} is {sign[kind, holds]} {limit:g}{' ms' if rule.is_latency else ''}",
    )  # fmt: skip


def check_change(rule: Rule, kind: str, now: float, then: float, limit: float) -> Check:
    """Return the check of a change since the baseline against a limit of its rule."""
    if math.isnan(now):
        return fail_missing(rule, kind, limit)
    if math.isnan(then):
        return fail_missing(rule, kind, limit, f"the baseline has no such number: {RECORD}", now)
    if kind == "min_gain_abs":
        return _check_gain(rule, now, then, limit)
    verb, change = ("fell", then - now) if "drop" in kind else ("rose", now - then)
    allowed = limit if kind.endswith("abs") else limit * abs(then)
    # A share of a few milliseconds is noise of the clock.
    negligible = kind == "max_rise_rel" and rule.is_latency and now <= LEAST_MS
    holds = change <= allowed + 1e-9
    share = f" ({change / abs(then):.1%})" if abs(then) > (LEAST_RATIO_MS if rule.is_latency else 0) else ""
    text = f"did not {'fall' if verb == 'fell' else 'rise'}"
    if change > 0:
        text = f"{verb} by {_format(change, rule)}{share}"
    text += f", {'within' if holds else 'more than'} the {_format(allowed, rule)} that is tolerated"
    if negligible and not holds:
        text += f", but up to {LEAST_MS:g} ms no rise counts"
    return Check(
        metric=rule.metric, where=rule.where, kind=kind, current=now, baseline=then, difference=now - then, limit=limit,
        outcome=Outcome.PASS if holds or negligible else Outcome.FAIL, reason=text,
    )  # fmt: skip


def _check_gain(rule: Rule, now: float, then: float, limit: float) -> Check:
    gain = then - now if rule.lower_is_better else now - then
    holds = gain >= limit - 1e-9
    return Check(
        metric=rule.metric, where=rule.where, kind="min_gain_abs", current=now, baseline=then, difference=now - then,
        limit=limit, outcome=Outcome.PASS if holds else Outcome.FAIL,
        reason=f"{'better' if gain >= 0 else 'worse'} by {_format(abs(gain), rule)}, "
        f"{'at least' if holds else 'and not better by'} {limit:g}",
    )  # fmt: skip


def fail_missing(
    rule: Rule, kind: str, limit: float | None, reason: str = "the run has no number for it", now: float | None = None
) -> Check:
    """Return a failed check of a number that is missing in the run or in the baseline."""
    return Check(
        metric=rule.metric, where=rule.where, kind=kind, limit=limit, current=now, outcome=Outcome.FAIL,
        reason=f"{reason}{_NOT_MEASURED}",
    )  # fmt: skip


def explain_untestable(check: Check, rule: Rule | None, candidate: Evaluation) -> Check:
    """Return a check without a number that says so if the golden set has nothing to test; the rule says what that is.

    What would be tested is not there, whatever the system returns.
    """
    why = "" if rule is None or not check.reason.endswith(_NOT_MEASURED) else _find_untestable(candidate, rule)
    if not why or rule is None:
        return check
    reason = f"the rule has nothing to test here: {why}"
    if rule.on_untestable == "fail":
        return replace(check, reason=f"{reason}{_NOT_MEASURED}")
    return replace(check, reason=reason, outcome=Outcome.INCONCLUSIVE)


def _find_untestable(candidate: Evaluation, rule: Rule) -> str:
    """Return what the golden set lacks, so that no run has a number for a rule; "" if it does not lack anything."""
    if rule.must_show is not None:
        return "" if candidate.must_show else "no must-show documents"
    scores = candidate.scores
    if rule.metric not in scores.columns:
        return ""
    queries = select_queries(rule, candidate.segments)
    rows = [scores.rows[query] for query in (scores.queries if queries is None else queries) if query in scores.rows]
    codes = Counter(scores.codes[rows, scores.columns[rule.metric]].tolist())
    reasons = {scores.reasons[code - 1]: count for code, count in codes.items() if code}
    if 0 in codes or not UNTESTABLE.issuperset(reasons):
        return ""
    return max((reason for reason in reasons if reason not in NOT_FOR), key=reasons.__getitem__, default="")


def explain_missing(check: Check, why: str) -> Check:
    """Return a check that failed for want of a number with the reason why it is missing, if that is known."""
    if not why or check.outcome is not Outcome.FAIL or not check.reason.endswith(_NOT_MEASURED):
        return check
    return replace(check, reason=f"{why}{_NOT_MEASURED}")


def defer(rule: Rule, kind: str, now: float, limit: float | None) -> Check:
    """Return an inconclusive check of a rule that needs a baseline while there is none."""
    return Check(
        metric=rule.metric, where=rule.where, kind=kind, current=now, limit=limit, outcome=Outcome.INCONCLUSIVE,
        reason="there is no baseline yet; karat baseline update RUN records one",
    )  # fmt: skip


def is_unasked(candidate: Evaluation, baseline: Evaluation, metric: str, queries: Sequence[str] | None) -> bool:
    """Return whether all questions with a value of a measure are new, so that the baseline could not have one."""
    now, then = candidate.scores, baseline.scores
    if not baseline.query_set or metric not in now.columns:
        return False
    if metric in then.columns and then.present(metric, queries)[0]:
        return False
    names = now.present(metric, queries)[0]
    return bool(names) and baseline.query_set.isdisjoint(names)


def defer_new(rule: Rule, kind: str, now: float, limit: float | None) -> Check:
    """Return an inconclusive check of a rule that is about new questions alone, which the baseline was not asked."""
    return Check(
        metric=rule.metric, where=rule.where, kind=kind, current=now, limit=limit, outcome=Outcome.INCONCLUSIVE,
        reason="all questions that have a value are new; karat baseline update RUN takes them in",
    )  # fmt: skip


def _format(value: float, rule: Rule) -> str:
    if rule.is_latency:
        return format_ms(value)
    return f"{value:.4f}" if abs(value) < 10 else f"{value:,.1f}" if abs(value) < 1e7 else f"{value:.3g}"
