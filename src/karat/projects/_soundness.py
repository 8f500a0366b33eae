"""Whether a golden set can be scored on: errors that make scores wrong are refused, others are caveats."""

from __future__ import annotations

from karat.core import GoldenSet, InputError
from karat.golden.lint import Finding, find_errors

_NAMED = 3


def require_scorable(golden: GoldenSet, source: str = "") -> tuple[str, ...]:
    """Refuse a golden set whose errors make scores wrong; return its other errors, to be shown beside the scores.

    >>> from karat.core import Judgment, Query, Target
    >>> lost = Judgment(query="q7", target=Target(document="wifi"), grade=3)
    >>> require_scorable(GoldenSet(queries=(Query(id="q", text="?", answerable=False),), judgments=(lost,)))
    ('golden set: unknown-query: 1 judgment of 1 query that the set does not have (q7)',)
    """
    void, others = find_errors(golden)
    if void:
        raise refuse_golden(void, source or golden.name)
    return tuple(f"golden set: {describe_finding(finding)}" for finding in others)


def is_unjudged(golden: GoldenSet) -> bool:
    """Return whether nothing is wrong with a golden set but that it has no judgment yet: it can be asked, not scored.

    >>> from karat.core import Query
    >>> is_unjudged(GoldenSet(queries=(Query(id="q", text="when do you open?"),))), is_unjudged(GoldenSet())
    (True, False)
    """
    return [finding.rule for finding in find_errors(golden)[0]] == ["no-judgments"]


def refuse_golden(errors: tuple[Finding, ...], source: str) -> InputError:
    """Return the error about a golden set that is not sound."""
    named = "; ".join(map(describe_finding, errors[:_NAMED]))
    more = f"; and {len(errors) - _NAMED:,} more" if len(errors) > _NAMED else ""
    hint = f"'karat golden check {source}' says how to correct them"
    return InputError(f"the golden set has errors: {named}{more}", source=source, hint=hint)


def describe_finding(finding: Finding) -> str:
    """Return a finding in one line, with the first ids that it is about."""
    where = ", ".join(finding.where[:_NAMED]) + (", ..." if finding.count > _NAMED else "")
    return f"{finding.rule}: {finding.message}{f' ({where})' if where else ''}"
