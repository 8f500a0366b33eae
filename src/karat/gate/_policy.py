"""Policies: the rules of a gate, by name or from karat.toml."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from karat.core import InputError, Measure, MeasureError, UsageError, did_you_mean, shorten
from karat.evaluation import Segment
from karat.files import decode, read_bytes
from karat.gate._comparison import lower_is_better
from karat.stats import DropRule

OnInconclusive = Literal["pass", "fail"]
JUDGED = ("citation_coverage", "citation_accuracy", "delta_s.median", "delta_s.p90", "lambda_convergent")
"""Numbers that judges of answers compute. A rule on one fails if the run does not have it."""
_DROPS = ("max_drop_abs", "max_drop_rel")
_RISES = ("max_rise_abs", "max_rise_rel")
_LIMITS = ("min", "max", *_DROPS, *_RISES)
_TESTS = ("significant_drop", "non_inferior")
_STATISTICS = ("p50", "p95", "p99", "mean")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The limits and tests of one metric: a measure, ``latency.p95``, ``latency.embed.p95`` or ``coverage``.

    Limits on drops are for metrics where higher is better, limits on rises for the others. ``significant_drop`` fails
    if the mean dropped by more than the policy tolerates and the drop is significant. ``non_inferior`` does the same,
    and is inconclusive unless a test rules out such a drop.
    """

    metric: str
    where: Segment | None = None
    """The segment that the rule is about; None for all queries."""
    min: float | None = None
    max: float | None = None
    max_drop_abs: float | None = None
    max_drop_rel: float | None = None
    """A share of the baseline's mean."""
    max_rise_abs: float | None = None
    max_rise_rel: float | None = None
    """A share of the baseline's mean."""
    significant_drop: bool = False
    non_inferior: bool = False

    def __post_init__(self) -> None:
        values = [getattr(self, name) for name in (*_LIMITS, *_TESTS)]
        if all(value is None or value is False for value in values):  # 0 is a limit, too
            raise UsageError(f"the rule on {self.name} asks for nothing; it may have {', '.join((*_LIMITS, *_TESTS))}")
        if self.metric.startswith("latency."):
            self._check_latency()
        self._check_changes()
        if not self.is_measure and (self.significant_drop or self.non_inferior):
            raise UsageError(f"{self.metric} has no values of single queries: it can have limits, but not tests")
        if not self.is_measure and self.where is not None:
            raise UsageError(f"{self.metric} is for all queries; leave out 'where'")

    def _check_latency(self) -> None:
        *_, stage, statistic = self.metric.split(".")
        if statistic not in _STATISTICS or not stage:
            hint = did_you_mean(statistic, _STATISTICS) or f"; write one of {', '.join(_STATISTICS)} after the stage"
            raise UsageError(f"{shorten(self.metric)} is not a latency{hint}")

    def _check_changes(self) -> None:
        """Refuse limits in the wrong direction, and limits that no run could exceed."""
        wrong, better = (_DROPS, "lower") if self.lower_is_better else (_RISES, "higher")
        for name in (*_DROPS, *_RISES):
            limit = getattr(self, name)
            if limit is None:
                continue
            if name in wrong:
                raise UsageError(f"the rule on {self.name} has {name}, but {better} values of it are better")
            if limit < 0:
                raise UsageError(f"the rule on {self.name} has {name} = {limit:g}; write 0 or a positive number")
            if name == "max_drop_rel" and limit >= 1:
                raise UsageError(f"the rule on {self.name} has {name} = {limit:g}; write a share, such as 0.05 for 5 %")

    @property
    def name(self) -> str:
        """The metric and the segment, as tables show them."""
        return self.metric if self.where is None else f"{self.metric} {self.where[0]}={self.where[1]}"

    @property
    def is_measure(self) -> bool:
        """Whether the metric is a measure, which has a value for each query."""
        return not self.metric.startswith("latency.") and self.metric not in ("coverage", *JUDGED)

    @property
    def lower_is_better(self) -> bool:
        """Whether lower values of the metric are better."""
        if self.is_measure:
            return lower_is_better(self.metric)
        return self.metric.startswith(("latency.", "delta_s."))


@dataclass(frozen=True, slots=True, kw_only=True)
class Must:
    """A query that has to succeed by itself: with a relevant hit, or with at least ``min`` of a measure."""

    query: str
    metric: str = ""
    min: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The rules of a gate."""

    name: str = "default"
    rules: tuple[Rule, ...] = ()
    must_pass: tuple[Must, ...] = ()
    drop: DropRule = field(default_factory=DropRule)
    """The drop that the tests tolerate, and their level."""
    on_inconclusive: OnInconclusive = "pass"
    """Whether an inconclusive run passes with a warning, or fails with exit code 4."""
    list_below: Mapping[str, float] = field(default_factory=dict)
    """By measure: queries with a lower value are listed."""
    documents_may_change: bool = False
    """Whether a baseline on other documents may be used if queries and judgments are the same."""

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures that have to be computed for the policy."""
        names = [rule.metric for rule in self.rules if rule.is_measure]
        names += [must.metric for must in self.must_pass if must.metric]
        return tuple(dict.fromkeys((*names, *self.list_below)))


POLICIES: Mapping[str, str] = {
    "default": "for most projects: the floors of the golden set, and no significant drop larger than tolerated; "
    "inconclusive if there are too few queries to tell",
    "fit": "for fixed floors before a deployment: R@5 0.80, P@5 0.60, RR 0.70, nDCG@5 0.75, p95 500 ms, "
    "and no mean more than 5 % below the baseline's",
    "beluga": "for a health check without a baseline: mean RR of at least 0.7; queries below 0.3 are listed",
    "rig": "for systems whose scores do not vary: no mean below the baseline's; max_drop_abs tolerates a drop",
    "blocks": "for a canary beside the live system: R@5 at most 0.02 below it, and floors for citations, offsets and "
    "convergence, which judges of answers compute",
    "threshold": "for large sets whose noise is known: no mean more than 5 % below the baseline's; it makes no test, "
    "so it also fails by chance",
}
"""The names of the built-in policies, and what each is for."""


def named_policy(name: str, measures: Sequence[str] = (), floors: Mapping[str, float] | None = None) -> Policy:
    """Return a built-in policy for the measures of a project and the floors of its golden set.

    >>> [rule.name for rule in named_policy("fit").rules]
    ['R@5', 'P@5', 'RR', 'nDCG@5', 'latency.p95']
    """
    floors = {str(Measure.parse(measure)): floor for measure, floor in (floors or {}).items()}
    names = tuple(dict.fromkeys((*floors, *(str(Measure.parse(measure)) for measure in measures))))
    rated = [measure for measure in names if Measure.parse(measure).definition.higher_is_better is not None]
    if name == "default":
        rules = tuple(Rule(metric=measure, min=floors.get(measure), non_inferior=True) for measure in rated)
        return Policy(name=name, rules=rules)
    if name == "fit":
        least = {"R@5": 0.80, "P@5": 0.60, "RR": 0.70, "nDCG@5": 0.75}
        rules = tuple(Rule(metric=measure, min=floor, max_drop_rel=0.05) for measure, floor in least.items())
        return Policy(name=name, rules=(*rules, Rule(metric="latency.p95", max=500)))
    if name == "beluga":
        return Policy(name=name, rules=(Rule(metric="RR", min=0.7),), list_below={"RR": 0.3})
    if name == "rig":
        return Policy(name=name, rules=tuple(_limit_change(measure, "abs", 0.0) for measure in rated))
    if name == "blocks":
        return Policy(name=name, rules=_make_canary_rules())
    if name == "threshold":
        return Policy(name=name, rules=tuple(_limit_change(measure, "rel", 0.05) for measure in rated))
    raise UsageError(_describe_unknown(name))


def _describe_unknown(name: object) -> str:
    hint = did_you_mean(str(name), POLICIES) or f"; known: {', '.join(POLICIES)}, or a TOML file"
    return f"unknown policy {shorten(name)}{hint}"


def _limit_change(measure: str, kind: str, limit: float) -> Rule:
    limits: dict[str, Any] = {f"max_{'rise' if lower_is_better(measure) else 'drop'}_{kind}": limit}
    return Rule(metric=measure, **limits)


def _make_canary_rules() -> tuple[Rule, ...]:
    return (
        Rule(metric="R@5", max_drop_abs=0.02),
        Rule(metric="citation_coverage", min=0.70),
        Rule(metric="citation_accuracy", min=0.95),
        Rule(metric="delta_s.median", max=0.40),
        Rule(metric="delta_s.p90", max=0.55),
        Rule(metric="lambda_convergent", min=0.95),
    )


_KEYS = (
    "policy", "on_inconclusive", "alpha", "relative", "absolute", "must_pass", "rules", "baseline", "list_below",
    "documents_may_change",
)  # fmt: skip


def read_policy(
    chosen: str | None,
    table: Mapping[str, Any],
    *,
    measures: Sequence[str] = (),
    floors: Mapping[str, float] | None = None,
    source: str = "[gate]",
) -> Policy:
    """Return the policy of a project: a built-in policy, with the changes of the table ``[gate]`` of karat.toml.

    ``chosen`` is the name of a policy, or a TOML file with a table ``[gate]``, which is used instead of the one of
    karat.toml. A rule of the table replaces the policy's rule on the same metric and segment. A policy without rules
    is an error.
    """
    keys: Sequence[str] = _KEYS
    if chosen is not None and (chosen.endswith(".toml") or "/" in chosen):
        table, source = _read_file(chosen), chosen
        chosen, keys = None, [key for key in _KEYS if key != "baseline"]
    elif chosen is not None and chosen not in POLICIES:
        raise UsageError(_describe_unknown(chosen))
    for key in table:
        if key not in keys:
            hint = did_you_mean(key, keys) or f"; it has {', '.join(keys)}"
            raise InputError(f"has no key {shorten(key)}{hint}", source=source)
    try:
        name = table.get("policy", "default") if chosen is None else chosen
        policy = _apply(named_policy(name, measures, floors), table)
        require_rules(policy)
    except (UsageError, MeasureError) as error:
        raise InputError(str(error), source=source) from None
    return policy


def require_rules(policy: Policy) -> None:
    """Refuse a policy without rules: every run would pass it."""
    if not policy.rules and not policy.must_pass:
        raise UsageError(
            f"policy {shorten(policy.name)} checks nothing, and everything would pass; write [[gate.rules]], "
            "must_pass, floors of the golden set, or [eval] measures that are better when higher"
        )


def _read_file(path: str) -> Mapping[str, Any]:
    try:
        document = tomllib.loads(decode(read_bytes(Path(path)), path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is not valid TOML: {error}", source=path) from None
    table = document.get("gate", document)
    if not isinstance(table, Mapping):
        raise InputError("gate is not a table", source=path, hint="write [gate]")
    return table


def _apply(policy: Policy, table: Mapping[str, Any]) -> Policy:
    """Return a policy with the changes of a table."""
    own: dict[tuple[str, Segment | None], Rule] = {}
    for rule in map(_read_rule, _read_tables(table, "rules")):
        if (rule.metric, rule.where) in own:
            raise UsageError(f"there are two rules on {rule.name}; write all limits in one rule")
        own[rule.metric, rule.where] = rule
    rules = {(rule.metric, rule.where): rule for rule in policy.rules} | own
    limits: dict[str, Any] = {
        name: _read_number(table[name], name) for name in ("alpha", "relative", "absolute") if name in table
    }
    if limits.get("absolute", 0) >= 1:
        raise UsageError(f"absolute = {limits['absolute']:g}; no measure can drop by as much, so nothing would fail")
    if limits.get("relative", 0) >= 1:
        raise UsageError(f"relative = {limits['relative']:g}; write a share, such as 0.05 for 5 %")
    on_inconclusive = table.get("on_inconclusive", policy.on_inconclusive)
    if on_inconclusive not in get_args(OnInconclusive):
        raise UsageError(f"on_inconclusive = {shorten(on_inconclusive)}; choose pass or fail")
    below = table.get("list_below", policy.list_below)
    if not isinstance(below, Mapping):
        raise UsageError(f"list_below = {shorten(below)}; write a table such as {{ RR = 0.3 }}")
    may_change = table.get("documents_may_change", policy.documents_may_change)
    if not isinstance(may_change, bool):
        raise UsageError(f"documents_may_change = {shorten(may_change)}; write true or false")
    return replace(
        policy,
        documents_may_change=may_change,
        rules=tuple(rules.values()),
        must_pass=tuple(map(_read_must, _read_list(table, "must_pass"))),
        drop=replace(policy.drop, **limits),
        on_inconclusive=on_inconclusive,
        list_below={str(Measure.parse(name)): _read_number(value, name) for name, value in below.items()},
    )


def _read_list(table: Mapping[str, Any], name: str) -> list[Any]:
    values = table.get(name, [])
    if not isinstance(values, list):
        raise UsageError(f"{name} = {shorten(values)}; write a list")
    return values


def _read_tables(table: Mapping[str, Any], name: str) -> Iterable[Mapping[str, Any]]:
    for value in _read_list(table, name):
        if not isinstance(value, Mapping):
            raise UsageError(f"{name} has {shorten(value)}; write [[gate.{name}]]")
        yield value


def _read_rule(table: Mapping[str, Any]) -> Rule:
    keys = [field.name for field in fields(Rule)]
    for key in table:
        if key not in keys:
            hint = did_you_mean(key, keys) or f"; it has {', '.join(keys)}"
            raise UsageError(f"a rule has no key {shorten(key)}{hint}")
    metric = table.get("metric")
    if not isinstance(metric, str) or not metric:
        raise UsageError(f"a rule has metric = {shorten(metric)}; name a measure, latency.p95 or coverage")
    is_measure = not metric.startswith("latency.") and metric not in ("coverage", *JUDGED)
    values: dict[str, Any] = {name: _read_number(table[name], name) for name in _LIMITS if name in table}
    for name in _TESTS:
        if not isinstance(table.get(name, False), bool):
            raise UsageError(f"{name} = {shorten(table[name])} of {metric}; write true or false")
        values[name] = table.get(name, False)
    if is_measure:
        metric = str(Measure.parse(metric))
    return Rule(metric=metric, where=_read_segment(table.get("where")), **values)


def _read_segment(table: Any) -> Segment | None:
    if table is None:
        return None
    if not isinstance(table, Mapping) or len(table) != 1 or not all(isinstance(v, str) for v in table.values()):
        raise UsageError(f'where = {shorten(table)}; write one field with its value, such as {{ category = "prices" }}')
    ((name, value),) = table.items()
    return name, value


def _read_must(entry: Any) -> Must:
    if isinstance(entry, str) and entry:
        return Must(query=entry)
    if (
        not isinstance(entry, Mapping)
        or not entry.keys() <= {"query", "metric", "min"}
        or not isinstance(entry.get("query"), str)
    ):
        raise UsageError(f"must_pass has {shorten(entry)}; write the id of a query, or {{ query, metric, min }}")
    if "metric" not in entry or "min" not in entry:
        raise UsageError(f"must_pass has {shorten(entry)}; a metric needs a min, and a min a metric")
    return Must(query=entry["query"], metric=str(Measure.parse(entry["metric"])), min=_read_number(entry["min"], "min"))


def _read_number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UsageError(f"{name} = {shorten(value)}; write a number")
    return float(value)
