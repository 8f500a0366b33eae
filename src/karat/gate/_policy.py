"""Policies: which numbers a gate looks at, and what each may be."""

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
"""Numbers of the judges, which a run may not have; then a rule on one fails."""
_DROPS = ("max_drop_abs", "max_drop_rel")
_RISES = ("max_rise_abs", "max_rise_rel")
_LIMITS = ("min", "max", *_DROPS, *_RISES)
_TESTS = ("significant_drop", "non_inferior")
_STATISTICS = ("p50", "p95", "p99", "mean")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What one number may be: a measure, ``latency.p95``, ``latency.embed.p95``, ``coverage``.

    Drops are for numbers of which more is better, rises for the others. ``significant_drop`` fails when the mean fell
    by more than the policy tolerates and a test finds the fall significant; ``non_inferior`` asks besides that such a
    fall is ruled out, and is inconclusive where it is neither.
    """

    metric: str
    where: Segment | None = None
    """Only the queries with this value of a field."""
    min: float | None = None
    max: float | None = None
    max_drop_abs: float | None = None
    max_drop_rel: float | None = None
    """A share of the baseline's mean."""
    max_rise_abs: float | None = None
    max_rise_rel: float | None = None
    significant_drop: bool = False
    non_inferior: bool = False

    def __post_init__(self) -> None:
        asked = [getattr(self, name) for name in (*_LIMITS, *_TESTS)]
        if all(one is None or one is False for one in asked):  # a limit of 0 is one
            raise UsageError(f"the rule on {self.name} asks for nothing; it may have {', '.join((*_LIMITS, *_TESTS))}")
        if self.metric.startswith("latency."):
            self._check_latency()
        self._check_changes()
        if not self.is_measure and (self.significant_drop or self.non_inferior):
            raise UsageError(f"{self.metric} is no number of single queries: only limits can be set on it, no tests")
        if not self.is_measure and self.where is not None:
            raise UsageError(f"{self.metric} is for all queries; leave out 'where'")

    def _check_latency(self) -> None:
        *_, stage, statistic = self.metric.split(".")
        if statistic not in _STATISTICS or not stage:
            hint = did_you_mean(statistic, _STATISTICS) or f"; write one of {', '.join(_STATISTICS)} after the stage"
            raise UsageError(f"{shorten(self.metric)} is no latency{hint}")

    def _check_changes(self) -> None:
        """Refuse falls of what should be low and rises of what should be high, and limits that nothing can break."""
        wrong, better = (_DROPS, "less") if self.lower_is_better else (_RISES, "more")
        for name in (*_DROPS, *_RISES):
            limit = getattr(self, name)
            if limit is None:
                continue
            if name in wrong:
                raise UsageError(f"the rule on {self.name} has {name}, but of it {better} is better")
            if limit < 0:
                raise UsageError(f"the rule on {self.name} has {name} = {limit:g}; write 0, or how far it may go")
            if name == "max_drop_rel" and limit >= 1:
                raise UsageError(f"the rule on {self.name} has {name} = {limit:g}; write a share, such as 0.05 for 5 %")

    @property
    def name(self) -> str:
        """The number and the queries, as a table shows them."""
        return self.metric if self.where is None else f"{self.metric} {self.where[0]}={self.where[1]}"

    @property
    def is_measure(self) -> bool:
        """Whether it is a measure with a value for each query."""
        return not self.metric.startswith("latency.") and self.metric not in ("coverage", *JUDGED)

    @property
    def lower_is_better(self) -> bool:
        """Whether less of it is better."""
        if self.is_measure:
            return lower_is_better(self.metric)
        return self.metric.startswith(("latency.", "delta_s."))


@dataclass(frozen=True, slots=True, kw_only=True)
class Must:
    """A query that has to succeed by itself: with something relevant among its hits, or with so much of a measure."""

    query: str
    metric: str = ""
    min: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """All rules of a gate."""

    name: str = "default"
    rules: tuple[Rule, ...] = ()
    must_pass: tuple[Must, ...] = ()
    drop: DropRule = field(default_factory=DropRule)
    """What fall is tolerated, and how sure of a larger one the tests have to be."""
    on_inconclusive: OnInconclusive = "pass"
    """What becomes of a run about which too little is known: a warning, or exit code 4."""
    list_below: Mapping[str, float] = field(default_factory=dict)
    """Queries with less than this of a measure are listed."""
    documents_may_change: bool = False
    """Whether a baseline on other documents is compared with, if queries and judgments are the same."""

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures that have to be computed for it."""
        found = [rule.metric for rule in self.rules if rule.is_measure]
        found += [must.metric for must in self.must_pass if must.metric]
        return tuple(dict.fromkeys((*found, *self.list_below)))


POLICIES: Mapping[str, str] = {
    "default": "the floors of the golden set, and no fall that is significant and larger than tolerated; 3 outcomes",
    "fit": "source 000: R@5 0.80, P@5 0.60, RR 0.70, nDCG@5 0.75, p95 500 ms, and no mean 5 % below the baseline's",
    "beluga": "source 001: mean RR of at least 0.7; queries below 0.3 are listed",
    "rig": "source 003: no mean below the baseline's; set max_drop_abs for a measure to tolerate some",
    "blocks": "source 004: what a canary needs: R@5 at most 0.02 below live, citations, offsets, convergence",
    "threshold": "no mean more than 5 % below the baseline's, without a test: fires at chance, too",
}
"""The policies that have a name, and what each asks for."""


def policy(name: str, measures: Sequence[str] = (), floors: Mapping[str, float] | None = None) -> Policy:
    """Give a policy by its name, for the measures of a project and the floors of its golden set.

    >>> [rule.name for rule in policy("fit").rules]
    ['R@5', 'P@5', 'RR', 'nDCG@5', 'latency.p95']
    """
    floors = {str(Measure.parse(one)): floor for one, floor in (floors or {}).items()}
    wanted = tuple(dict.fromkeys((*floors, *(str(Measure.parse(one)) for one in measures))))
    rated = [one for one in wanted if Measure.parse(one).definition.higher_is_better is not None]
    if name == "default":
        rules = tuple(Rule(metric=one, min=floors.get(one), non_inferior=True) for one in rated)
        return Policy(name=name, rules=rules)
    if name == "fit":
        least = {"R@5": 0.80, "P@5": 0.60, "RR": 0.70, "nDCG@5": 0.75}
        rules = tuple(Rule(metric=one, min=value, max_drop_rel=0.05) for one, value in least.items())
        return Policy(name=name, rules=(*rules, Rule(metric="latency.p95", max=500)))
    if name == "beluga":
        return Policy(name=name, rules=(Rule(metric="RR", min=0.7),), list_below={"RR": 0.3})
    if name == "rig":
        return Policy(name=name, rules=tuple(_fall(one, "abs", 0.0) for one in rated))
    if name == "blocks":
        return Policy(name=name, rules=_canary())
    if name == "threshold":
        return Policy(name=name, rules=tuple(_fall(one, "rel", 0.05) for one in rated))
    raise UsageError(_unknown(name))


def _unknown(name: object) -> str:
    hint = did_you_mean(str(name), POLICIES) or f"; known: {', '.join(POLICIES)}, or a TOML file"
    return f"unknown policy {shorten(name)}{hint}"


def _fall(measure: str, kind: str, limit: float) -> Rule:
    limits: dict[str, Any] = {f"max_{'rise' if lower_is_better(measure) else 'drop'}_{kind}": limit}
    return Rule(metric=measure, **limits)


def _canary() -> tuple[Rule, ...]:
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
    """Make the policy of a project: one by name, then what the table ``[gate]`` of karat.toml adds.

    A rule of the table on the same number and queries takes the place of the policy's. A file has such a table of its
    own, which holds instead of that of karat.toml. A policy that checks nothing is a mistake.
    """
    known: Sequence[str] = _KEYS
    if chosen is not None and (chosen.endswith(".toml") or "/" in chosen):
        table, source = _file(chosen), chosen
        chosen, known = None, [key for key in _KEYS if key != "baseline"]
    elif chosen is not None and chosen not in POLICIES:
        raise UsageError(_unknown(chosen))
    for key in table:
        if key not in known:
            raise InputError(
                f"has no key {shorten(key)}{did_you_mean(key, known) or '; it has ' + ', '.join(known)}", source=source
            )
    try:
        found = _overlaid(policy(table.get("policy", "default") if chosen is None else chosen, measures, floors), table)
        check_asks(found)
    except (UsageError, MeasureError) as error:
        raise InputError(str(error), source=source) from None
    return found


def check_asks(found: Policy) -> None:
    """Refuse a policy that checks nothing: everything would pass it."""
    if not found.rules and not found.must_pass:
        raise UsageError(
            f"policy {shorten(found.name)} checks nothing, and everything would pass; write [[gate.rules]], must_pass, "
            "floors of the golden set, or [eval] measures of which more is better"
        )


def _file(path: str) -> Mapping[str, Any]:
    try:
        table = tomllib.loads(decode(read_bytes(Path(path)), path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is not valid TOML: {error}", source=path) from None
    found = table.get("gate", table)
    if not isinstance(found, Mapping):
        raise InputError("gate is no table", source=path, hint="write [gate]")
    return found


def _overlaid(found: Policy, table: Mapping[str, Any]) -> Policy:
    own: dict[tuple[str, Segment | None], Rule] = {}
    for rule in map(_rule, _tables(table, "rules")):
        if (rule.metric, rule.where) in own:
            raise UsageError(f"there are two rules on {rule.name}; write all its limits in one")
        own[rule.metric, rule.where] = rule
    rules = {(rule.metric, rule.where): rule for rule in found.rules} | own
    limits: dict[str, Any] = {
        name: _number(table[name], name) for name in ("alpha", "relative", "absolute") if name in table
    }
    if limits.get("absolute", 0) >= 1:
        raise UsageError(f"absolute = {limits['absolute']:g}; no measure falls by as much, so that nothing would fail")
    if limits.get("relative", 0) >= 1:
        raise UsageError(f"relative = {limits['relative']:g}; write a share, such as 0.05 for 5 %")
    answer = table.get("on_inconclusive", found.on_inconclusive)
    if answer not in get_args(OnInconclusive):
        raise UsageError(f"on_inconclusive = {shorten(answer)}; choose pass or fail")
    below = table.get("list_below", found.list_below)
    if not isinstance(below, Mapping):
        raise UsageError(f"list_below = {shorten(below)}; write a table such as {{ RR = 0.3 }}")
    changing = table.get("documents_may_change", found.documents_may_change)
    if not isinstance(changing, bool):
        raise UsageError(f"documents_may_change = {shorten(changing)}; write true or false")
    return replace(
        found,
        documents_may_change=changing,
        rules=tuple(rules.values()),
        must_pass=tuple(map(_must, _list(table, "must_pass"))),
        drop=replace(found.drop, **limits),
        on_inconclusive=answer,
        list_below={str(Measure.parse(name)): _number(value, name) for name, value in below.items()},
    )


def _list(table: Mapping[str, Any], name: str) -> list[Any]:
    found = table.get(name, [])
    if not isinstance(found, list):
        raise UsageError(f"{name} = {shorten(found)}; write a list")
    return found


def _tables(table: Mapping[str, Any], name: str) -> Iterable[Mapping[str, Any]]:
    for one in _list(table, name):
        if not isinstance(one, Mapping):
            raise UsageError(f"{name} has {shorten(one)}; write [[gate.{name}]]")
        yield one


def _rule(table: Mapping[str, Any]) -> Rule:
    known = [one.name for one in fields(Rule)]
    for key in table:
        if key not in known:
            raise UsageError(
                f"a rule has no key {shorten(key)}{did_you_mean(key, known) or '; it has ' + ', '.join(known)}"
            )
    metric = table.get("metric")
    if not isinstance(metric, str) or not metric:
        raise UsageError(f"a rule has metric = {shorten(metric)}; name a measure, latency.p95 or coverage")
    other = metric.startswith("latency.") or metric in ("coverage", *JUDGED)
    values: dict[str, Any] = {name: _number(table[name], name) for name in _LIMITS if name in table}
    for name in _TESTS:
        if not isinstance(table.get(name, False), bool):
            raise UsageError(f"{name} = {shorten(table[name])} of {metric}; write true or false")
        values[name] = table.get(name, False)
    return Rule(metric=metric if other else str(Measure.parse(metric)), where=_where(table.get("where")), **values)


def _where(table: Any) -> Segment | None:
    if table is None:
        return None
    if not isinstance(table, Mapping) or len(table) != 1 or not all(isinstance(v, str) for v in table.values()):
        raise UsageError(f'where = {shorten(table)}; write one field with its value, such as {{ category = "prices" }}')
    ((name, value),) = table.items()
    return name, value


def _must(one: Any) -> Must:
    if isinstance(one, str) and one:
        return Must(query=one)
    if (
        not isinstance(one, Mapping)
        or not one.keys() <= {"query", "metric", "min"}
        or not isinstance(one.get("query"), str)
    ):
        raise UsageError(f"must_pass has {shorten(one)}; write the id of a query, or {{ query, metric, min }}")
    if "metric" not in one or "min" not in one:
        raise UsageError(f"must_pass has {shorten(one)}; a metric needs a min, and a min a metric")
    return Must(query=one["query"], metric=str(Measure.parse(one["metric"])), min=_number(one["min"], "min"))


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UsageError(f"{name} = {shorten(value)}; write a number")
    return float(value)
