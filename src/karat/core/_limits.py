"""What a check of a gate asks for, in words: the same in a report, a terminal and a notebook."""

from __future__ import annotations

_COUNTS = ("failed", "unscored", "unasked", "removed", "new", "moved", "empty", "texts")
_TESTS = {"significant_drop": "no significant drop", "non_inferior": "not worse"}
_LIMITS = {
    "min": "at least", "max": "at most", "max_drop": "falls by at most", "max_rise": "rises by at most",
    "min_gain": "better by at least",
}  # fmt: skip


def describe_limit(kind: str, metric: str, limit: float | None) -> str:
    """Return what a check of this kind asks of a metric.

    >>> describe_limit("min", "R@5", 0.45), describe_limit("non_inferior", "R@5", 0.02)
    ('at least 0.45', 'not worse by more than 0.02')
    """
    if kind == "must_pass":
        if limit is None:
            return "must find something relevant at any rank"
        return f"must reach {limit:g}" if metric else "must return nothing"
    if kind == "attempt":
        return "must not fail"
    if kind in _TESTS:
        return _TESTS[kind] if limit is None else f"{_TESTS[kind]} by more than {limit:.3g}"
    if limit is None:
        return "must have a value"
    if counts_queries(kind):
        return f"at most {limit:,.0f}"
    if kind == "slow":
        return f"at most {limit:g} times the baseline's"
    number = f"{limit:.1%}" if kind.endswith("_rel") else f"{limit:g}{' ms' if metric.startswith('latency.') else ''}"
    return f"{_LIMITS[kind.removesuffix('_abs').removesuffix('_rel')]} {number}"


def counts_queries(kind: str) -> bool:
    """Return whether the numbers of a check of this kind are numbers of queries.

    >>> counts_queries("empty"), counts_queries("min")
    (True, False)
    """
    return kind in _COUNTS
