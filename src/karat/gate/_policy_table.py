"""Reading policies: the built-in ones, which are files of this package, and those of karat.toml or a file."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any, get_args

from karat.core import InputError, Measure, MeasureError, UsageError, did_you_mean, shorten
from karat.evaluation import Segment
from karat.files import read_toml
from karat.gate._operations import read_operations
from karat.gate._pairing import lower_is_better
from karat.gate._policy import (
    LIMITS,
    SCORED,
    TESTS,
    Must,
    OnChangedQuestions,
    OnInconclusive,
    OnUnjudged,
    OnUntestable,
    Policy,
    Rule,
    describe_rule,
    is_measure,
    require_rules,
)

OWN = "karat.toml"
"""The name of the policy that ``[gate]`` is."""
NONE = "none"
"""What ``extends`` says if a policy has no rules but its own."""
_PRESETS = (
    "default", "threshold", "fit", "beluga", "agent", "agent-memory", "agent-graduation", "rig", "blocks",
    "blocks-acceptance",
)  # fmt: skip
_KEYS = (
    "extends", "policy", "on_inconclusive", "alpha", "relative", "absolute", "must_pass", "rules", "baseline",
    "on_changed_questions", "list_below", "documents_may_change", "operations", "on_unjudged",
)  # fmt: skip
_NOT_RULES = ("baseline", "on_inconclusive", "on_changed_questions", "on_unjudged", "documents_may_change")
"""Keys that say how a decision is used or what it is compared with; they hold for every policy of the project."""


@cache
def _read_preset(name: str) -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_name("policies").joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def _list_purposes() -> dict[str, str]:
    return {name: str(_read_preset(name)["purpose"]) for name in _PRESETS}


POLICIES: Mapping[str, str] = _list_purposes()
"""The names of the built-in policies, and what each is for."""


def named_policy(name: object, measures: Sequence[str] = (), floors: Mapping[str, float] | None = None) -> Policy:
    """Return a built-in policy for the measures of a project and the floors of its golden set.

    >>> [rule.name for rule in named_policy("fit").rules]
    ['R@5', 'P@5', 'RR@10', 'nDCG@5', 'latency.p50', 'latency.p95', 'latency.p99']
    """
    if not isinstance(name, str) or name not in POLICIES:
        raise UsageError(_describe_unknown(name))
    preset = _read_preset(name)
    floors = {str(Measure.parse(measure)): floor for measure, floor in (floors or {}).items()}
    parent = preset.get("extends")
    inherited = named_policy(parent, measures, floors).rules if parent else ()
    rules = (*inherited, *map(_read_rule, preset.get("rules", ())), *_expand(preset, measures, floors))
    return Policy(
        name=str(name),
        purpose=preset["purpose"],
        rules=rules,
        list_below=dict(preset.get("list_below", {})),
        notes=_note_floors(str(name), rules, floors),
    )


def _expand(preset: Mapping[str, Any], measures: Sequence[str], floors: Mapping[str, float]) -> Iterator[Rule]:
    """Yield the rule of a preset for each measure that has a better and a worse, those with a floor first."""
    template = preset.get("each_measure")
    if template is None:
        return
    limits = {key: value for key, value in template.items() if key != "floor"}
    for measure in dict.fromkeys((*floors, *(str(Measure.parse(measure)) for measure in measures))):
        if Measure.parse(measure).definition.higher_is_better is not None:
            turned = {
                key.replace("drop", "rise") if _turns(key, measure) else key: value for key, value in limits.items()
            }
            yield Rule(metric=measure, min=floors.get(measure) if template.get("floor") else None, **turned)


def _turns(key: str, measure: str) -> bool:
    return key.startswith("max_drop") and lower_is_better(measure)


def _note_floors(name: str, rules: Iterable[Rule], floors: Mapping[str, float]) -> tuple[str, ...]:
    """Return a note on the floors of the golden set that no rule checks, or that a rule lowers."""
    limits = {rule.metric: rule.min for rule in rules if rule.where is None}
    unchecked = [f"{measure} {floor:g}" for measure, floor in floors.items() if limits.get(measure) is None]
    lowered = [
        f"{measure} at least {limit:g} instead of {floor:g}"
        for measure, floor in floors.items()
        if (limit := limits.get(measure)) is not None and limit < floor
    ]
    notes = {"does not check": unchecked, "replaces": lowered}
    return tuple(
        f"policy {name} {verb} floors of the golden set: {', '.join(parts)}" for verb, parts in notes.items() if parts
    )


def _describe_unknown(name: object) -> str:
    hint = did_you_mean(str(name), POLICIES) or f"; known: {', '.join(POLICIES)}, or a TOML file"
    return f"unknown policy {shorten(name)}{hint}"


def read_policy(
    chosen: str | None,
    table: Mapping[str, Any],
    *,
    measures: Sequence[str] = (),
    floors: Mapping[str, float] | None = None,
    source: str = "[gate]",
) -> Policy:
    """Return the policy of a project.

    ``chosen`` is the name of a built-in policy: then its rules apply, all of them and no others, and ``table``, the
    table ``[gate]`` of karat.toml, only says what an inconclusive run does. It may be a TOML file with a table
    ``[gate]``, which is used instead. If it is None, the policy is the table, which extends ``default`` or the policy
    that it names: a rule replaces that policy's rule on the same metric and segment. A policy without rules is an
    error.
    """
    keys: Sequence[str] = _KEYS
    name = OWN
    if chosen is not None and (chosen.endswith(".toml") or "/" in chosen):
        table, source, name = _read_file(chosen), chosen, Path(chosen).name
        chosen, keys = None, [key for key in _KEYS if key != "baseline"]
    elif chosen is not None and chosen not in POLICIES:
        raise UsageError(_describe_unknown(chosen))
    for key in table:
        if key not in keys:
            hint = did_you_mean(key, keys) or f"; it has {', '.join(keys)}"
            raise InputError(f"has no key {shorten(key)}{hint}", source=source)
    try:
        if chosen is not None:
            policy = _use_preset(named_policy(chosen, measures, floors), table)
        else:
            policy = _extend(name, table, measures, floors or {})
        require_rules(policy)
    except (UsageError, MeasureError) as error:
        raise InputError(str(error), source=source) from None
    return policy


def _use_preset(policy: Policy, table: Mapping[str, Any]) -> Policy:
    """Return a built-in policy in a project whose table has rules of its own, which do not apply."""
    own = _change(replace(policy, rules=(), notes=()), table)
    ignored = [key for key in table if key not in (*_NOT_RULES, "policy", "extends")]
    notes = (
        [f"the rules of karat.toml ({', '.join(ignored)}) do not apply: policy {policy.name} does"] if ignored else []
    )
    return replace(
        policy,
        on_inconclusive=own.on_inconclusive,
        on_changed_questions=own.on_changed_questions,
        on_unjudged=own.on_unjudged,
        documents_may_change=own.documents_may_change,
        notes=(*notes, *policy.notes),
    )


def _extend(name: str, table: Mapping[str, Any], measures: Sequence[str], floors: Mapping[str, float]) -> Policy:
    """Return the policy of a table, with what it changes in the policy that it extends."""
    if "extends" in table and "policy" in table:
        raise UsageError("has both extends and policy, which mean the same; write extends")
    base = table.get("extends", table.get("policy", "default"))
    parent = Policy(name=NONE) if base == NONE else named_policy(base, measures, floors)
    policy = _change(parent, table)
    changes = tuple(_list_changes(parent, policy))
    if not changes and name == OWN:
        return policy  # [gate] changes nothing: the policy is the built-in one
    canonical = {str(Measure.parse(measure)): floor for measure, floor in floors.items()}
    return replace(
        policy,
        name=name,
        purpose=f"the rules of {name}",
        extends="" if base == NONE else parent.name,
        changes=() if base == NONE else changes,
        notes=_note_floors(name, policy.rules, canonical),
    )


def _list_changes(before: Policy, after: Policy) -> Iterator[str]:
    """Yield what a policy changes in another, with the metric or the key first."""
    old = {(rule.metric, rule.where): rule for rule in before.rules}
    for rule in after.rules:
        was = old.get((rule.metric, rule.where))
        if was is None:
            yield f"{rule.name}: {describe_rule(rule)} (new)"
        elif was != rule:
            yield f"{rule.name}: {describe_rule(rule)} (was: {describe_rule(was)})"
    for must in after.must_pass:
        yield f"must_pass: {f'{must.query} {must.metric}'.rstrip()} (new)"
    for owner_before, owner_after, names in (
        (before.drop, after.drop, ("relative", "absolute", "alpha")),
        (
            before,
            after,
            ("on_inconclusive", "on_changed_questions", "on_unjudged"),
        ),  # documents_may_change has no effect any more
        (before.operations, after.operations, ("failed", "empty", "latency", "texts")),
    ):
        for name in names:
            was, now = getattr(owner_before, name), getattr(owner_after, name)
            if was != now:
                yield f"{name}: {_show(now)} (was: {_show(was)})"
    if dict(before.list_below) != dict(after.list_below):
        yield f"list_below: {dict(after.list_below)}"


def _show(value: object) -> str:
    if value is None:
        return "off"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _read_file(path: str) -> Mapping[str, Any]:
    document = read_toml(path)
    table = document.get("gate", document)
    if not isinstance(table, Mapping):
        raise InputError("gate is not a table", source=path, hint="write [gate]")
    return table


def _change(policy: Policy, table: Mapping[str, Any]) -> Policy:
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
    for name, most in (("absolute", 0.5), ("relative", 0.5)):
        if limits.get(name, 0) > most:
            raise UsageError(
                f"{name} = {limits[name]:g}; a gate that tolerates so large a drop lets everything pass: "
                f"write at most {most:g}, such as {getattr(policy.drop, name):g}"
            )
    below = table.get("list_below", policy.list_below)
    if not isinstance(below, Mapping):
        raise UsageError(f"list_below = {shorten(below)}; write a table such as {{ RR = 0.3 }}")
    may_change = table.get("documents_may_change", policy.documents_may_change)
    if not isinstance(may_change, bool):
        raise UsageError(f"documents_may_change = {shorten(may_change)}; write true or false")
    return replace(
        policy,
        operations=read_operations(table.get("operations", {}), policy.operations),
        documents_may_change=may_change,
        rules=tuple(rules.values()),
        must_pass=tuple(map(_read_must, _read_list(table, "must_pass"))),
        drop=replace(policy.drop, **limits),
        on_inconclusive=_read_choice(table, "on_inconclusive", policy.on_inconclusive, get_args(OnInconclusive)),
        on_changed_questions=_read_choice(
            table, "on_changed_questions", policy.on_changed_questions, get_args(OnChangedQuestions)
        ),
        on_unjudged=_read_choice(table, "on_unjudged", policy.on_unjudged, get_args(OnUnjudged)),
        list_below={str(Measure.parse(name)): _read_number(value, name) for name, value in below.items()},
    )


def _read_choice(table: Mapping[str, Any], name: str, default: str, choices: Sequence[str]) -> Any:
    value = table.get(name, default)
    if value not in choices:
        raise UsageError(f"{name} = {shorten(value)}; choose {' or '.join(choices)}")
    return value


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
    values: dict[str, Any] = {name: _read_number(table[name], name) for name in LIMITS if name in table}
    for name in TESTS:
        if not isinstance(table.get(name, False), bool):
            raise UsageError(f"{name} = {shorten(table[name])} of {shorten(metric)[1:-1]}; write true or false")
        values[name] = table.get(name, False)
    values["on_untestable"] = _read_choice(table, "on_untestable", "fail", get_args(OnUntestable))
    if is_measure(metric):
        metric = _read_measure(metric)
    elif metric.startswith(SCORED):
        metric = f"{SCORED}{Measure.parse(metric.removeprefix(SCORED))}"
    rule = Rule(metric=metric, where=_read_segment(table.get("where")), **values)
    if rule.is_vacuous:
        limits = ", ".join(f"{name} = {value:g}" for name, value in values.items() if name in LIMITS)
        raise UsageError(f"the rule on {rule.shown} has {limits}, which the worst run passes; {_advise(rule)}")
    return rule


def _read_measure(name: str) -> str:
    """Return the name of a measure that a rule can be about; a count is neither good nor bad."""
    measure = Measure.parse(name)
    if measure.definition.higher_is_better is None:
        raise UsageError(f"{measure} is a count, and neither more nor less of it is better; name another measure")
    return str(measure)


def _advise(rule: Rule) -> str:
    """Return a limit that some run would break."""
    low, high = rule.bounds
    if rule.lower_is_better:
        return f"lower is better: write a max{f' below {high:g}' if math.isfinite(high) else ''}"
    return f"higher is better: write a floor{f' above {low:g}' if math.isfinite(low) else ' (min)'}"


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
    must = Must(query=entry["query"], metric=_read_measure(entry["metric"]), min=_read_number(entry["min"], "min"))
    floor = Rule(metric=must.metric, min=must.min)
    if floor.is_vacuous:
        raise UsageError(
            f"must_pass has min = {must.min:g} of {must.metric} for query {shorten(must.query)}, which the worst "
            f"answer reaches; {_advise(floor)}"
        )
    return must


def _read_number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UsageError(f"{name} = {shorten(value)}; write a number")
    return float(value)
