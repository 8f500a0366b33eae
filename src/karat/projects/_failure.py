"""What a check found, in a few lines: its reason, its numbers, and the queries that it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from karat.gate import Check, movers
from karat.projects._gating import GateResult

_SHOWN = 5
_KINDS = {
    "min": "at least {limit:g}",
    "max": "at most {limit:g}",
    "max_drop_abs": "no fall of more than {limit:g}",
    "max_drop_rel": "no fall of more than {limit:.1%}",
    "max_rise_abs": "no rise of more than {limit:g}",
    "max_rise_rel": "no rise of more than {limit:.1%}",
    "significant_drop": "no significant fall",
    "non_inferior": "not worse",
    "must_pass": "must pass",
}


def explain(gated: GateResult, checks: Iterable[Check]) -> str:
    """Say what checks ask for, why they hold or not, their numbers, and then, once for each number, which queries lost.

    Text from the golden set or the system has no line breaks and no control characters, so that a terminal or a log
    shows it as it is.
    """
    groups: dict[tuple[str, str], list[Check]] = {}
    for check in checks:
        groups.setdefault((check.name, check.query), []).append(check)
    lines = []
    for group in groups.values():
        for check in group:
            lines += [
                f"{_safe(check.name)}, {_asked(check)}: {_safe(check.reason)}",
                *map("  {}".format, _numbers(check)),
            ]
        queries = _one(gated, group[0].query) if group[0].query else _lost(gated, group[0])
        lines += map("  {}".format, queries)
    return "\n".join(lines)


def _asked(check: Check) -> str:
    if check.limit is None:
        return "has to be there" if check.kind.startswith("m") and check.kind != "must_pass" else _KINDS[check.kind]
    return _KINDS[check.kind].format(limit=check.limit)


def _numbers(check: Check) -> Iterator[str]:
    values = (("current", check.current), ("baseline", check.baseline), ("change", check.difference))
    found = [f"{name} {value:{'+' if name == 'change' else ''}.4f}" for name, value in values if value is not None]
    if check.kind in ("significant_drop", "non_inferior") and check.limit is not None:
        found.append(f"tolerated {check.limit:.4f}")
    if check.p is not None:
        found.append(f"p {check.p:.3g}")
    if check.n is not None:
        found.append(f"{check.n:,} queries")
    if check.needed:
        found.append(f"about {check.needed:,} would tell")
    if found:
        yield ", ".join(found)


def _lost(gated: GateResult, check: Check) -> Iterator[str]:
    """Give the queries that fell most, or without a baseline those that are lowest."""
    if check.metric not in gated.evaluation.scores.measures:
        return
    within = None if check.where is None else frozenset(gated.evaluation.segments.get(check.where, ()))
    if gated.baseline is not None and check.metric in gated.baseline.evaluation.scores.measures:
        found = [
            one
            for one in movers(gated.evaluation, gated.baseline.evaluation, [check.metric])
            if one.gain < 0 and (within is None or one.query in within)
        ]
        rows = [(one.query, f"{one.baseline:.3f} to {one.candidate:.3f}") for one in found]
        title = "lost most"
    else:
        scores = gated.evaluation.values(check.metric, None if within is None else sorted(within))
        rows = [(query, f"{value:.3f}") for query, value in sorted(scores.items(), key=lambda row: (row[1], row[0]))]
        title = "lowest"
    if rows:
        yield f"{title} ({min(_SHOWN, len(rows))} of {len(rows):,}):"
    for query, values in rows[:_SHOWN]:
        yield f"  {_safe(query)}  {values}  {_text(gated, query)}"


def _one(gated: GateResult, query: str) -> Iterator[str]:
    """Give what one query asked for, what was expected and what came."""
    yield _text(gated, query)
    golden = gated.project.golden
    wanted = [
        target.document for (id_, target), grade in golden.decided.items() if id_ == query and grade >= golden.relevant
    ]
    found = list(gated.evaluation.lists.get(query, ())[:10])
    for title, ids in (("expected", list(dict.fromkeys(wanted))), ("found", found)):
        shown = ", ".join(map(_safe, ids[:_SHOWN])) + (" ..." if len(ids) > _SHOWN else "")
        yield f"{title}: {shown or 'nothing'}"


def _text(gated: GateResult, query: str) -> str:
    if query in gated.evaluation.failures:
        return f"failed: {_safe(gated.evaluation.failures[query])}"
    return next((_safe(one.text) for one in gated.project.golden.queries if one.id == query), "")


def _safe(text: str) -> str:
    shown = text if len(text) <= 200 else f"{text[:197]}..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown)
