"""Words and numbers of a report: text of unknown origin made safe, numbers formatted, and checks put into words."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import UNSET

from karat.core import count_things, counts_queries, describe_limit, format_ms, shorten_digest

if TYPE_CHECKING:
    from karat.schema import CheckRow, MeasureRow, SystemChange

_UNSAFE = frozenset(("Cc", "Cs", "Cn"))
_DIRECTION = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that change the direction of writing, with which a text can look like another."""


def clean(value: object, width: int | None = None) -> str:
    r"""Return text as one line that is safe in every format, cut to a width.

    White space becomes a single space, and a character that cannot be shown becomes U+FFFD.

    >>> clean("two\n lines\x00")
    'two lines\ufffd'
    >>> clean("a long sentence", 9)
    'a long...'
    """
    line = safe = " ".join(str(value).split())
    if not line.isprintable():  # which is quick, and true of nearly every text
        safe = "".join("\ufffd" if unicodedata.category(c) in _UNSAFE or c in _DIRECTION else c for c in line)
    return safe if width is None or len(safe) <= width else f"{safe[: width - 3].rstrip()}..."


def format_number(value: float | None) -> str:
    """Return a number as tables show it, or ``-`` if there is none.

    >>> format_number(0.52941), format_number(4281.27), format_number(4e12), format_number(None)
    ('0.5294', '4,281.3', '4e+12', '-')
    """
    if value is None:
        return "-"
    return f"{value:.4f}" if abs(value) < 10 else f"{value:,.1f}" if abs(value) < 1e7 else f"{value:.3g}"


def format_mean(measure: MeasureRow) -> str:
    """Return the mean that stands beside the baseline's; a judge's with what people's labels make of it."""
    shown = format_number(measure.current)
    by_labels = None if measure.by_labels is UNSET else measure.by_labels.mean
    return shown if by_labels is None else f"{shown} (by labels {format_number(by_labels)})"


def format_difference(value: float | None) -> str:
    """Return a difference with its sign, or ``-`` if there is none.

    >>> format_difference(-0.01758), format_difference(0.0)
    ('-0.0176', '+0.0000')
    """
    if value is None:
        return "-"
    return f"{value + 0.0:+.4f}" if abs(value) < 10 else f"{value:+,.1f}" if abs(value) < 1e7 else f"{value:+.3g}"


def format_percent(now: float | None, was: float | None) -> str:
    """Return the change in percent with its sign, or nothing if there is no baseline or the baseline is 0.

    >>> format_percent(0.84, 0.82), format_percent(0.66, 0.68), format_percent(0.5, None)
    ('+2.4%', '-2.9%', '')
    """
    if now is None or not was or not math.isfinite(now / was):
        return ""
    change = (now - was) / abs(was)
    if abs(change) < 1e-9:
        return "+0.0%"
    if change >= 10:
        return f"{now / was:,.0f} times"
    return f"{change:+.1%}" if abs(change) >= 0.0005 else f"{100 * change:+.1g}%"


def count(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun.

    >>> count(1, "query", "queries"), count(2000, "check")
    ('1 query', '2,000 checks')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def join_ids(ids: Sequence[str], most: int = 10) -> str:
    """Return ids in one line: the first of them, and how many more there are.

    >>> join_ids(["q1", "q2", "q3"], 2)
    'q1, q2 and 1 more'
    """
    more = f" and {len(ids) - most:,} more" if len(ids) > most else ""
    return ", ".join(clean(id_, 60) for id_ in ids[:most]) + more


def name_check(check: CheckRow) -> str:
    """Return the metric that a check is about, with its segment or its query.

    >>> from karat.schema import CheckRow
    >>> name_check(CheckRow(metric="R@5", where={"category": "cold-start"}, kind="min", outcome="pass", reason=""))
    'R@5 category=cold-start'
    """
    if check.query:
        return f"{clean(check.query)} {clean(check.metric)}".rstrip()
    where = "".join(f" {clean(field)}={clean(value)}" for field, value in (check.where or {}).items())
    return clean(check.metric) + where


def describe_rule(check: CheckRow) -> str:
    """Return what a check asks for, and of how many questions if not all of the run's are compared.

    >>> from karat.schema import CheckRow
    >>> describe_rule(CheckRow(metric="R@5", kind="min", limit=0.45, outcome="pass", reason=""))
    'at least 0.45'
    >>> describe_rule(CheckRow(metric="R@5", kind="max_drop_rel", limit=0.05, outcome="pass", reason=""))
    'falls by at most 5.0%'
    >>> describe_rule(CheckRow(metric="R@5", kind="max_drop_abs", limit=0.1, n=9, total=12, outcome="pass", reason=""))
    'falls by at most 0.1, on 9 of 12'
    >>> describe_rule(CheckRow(metric="CiteFirst", kind="min", limit=0.9, unanswered=3, outcome="pass", reason=""))
    'at least 0.9, 3 unanswered as worst'
    >>> describe_rule(CheckRow(metric="R@5", kind="min", limit=0.9, scored=1, answerable=21, outcome="pass", reason=""))
    'at least 0.9, mean of 1 of 21 queries'
    """
    compared = "" if check.total is None else f", on {check.n:,} of {check.total:,}"
    unanswered = f", {check.unanswered:,} unanswered as worst" if check.unanswered else ""
    unjudged = f", {check.unjudged:,} not judged as worst" if check.unjudged else ""
    unknown = f", {check.unknown:,} of unknown text as worst" if check.unknown else ""
    counts = check.scored, check.answerable
    scored = "" if None in counts else f", mean of {check.scored:,} of {check.answerable:,} queries"
    return _describe_limit(check) + scored + compared + unanswered + unjudged + unknown


def describe_limits(checks: Iterable[CheckRow], measure: MeasureRow) -> str:
    """Return the limits on the mean of a measure and on its change, as far as rules have some."""
    limits = [] if measure.floor is None else [f"{measure.floor:g}"]
    limits += [
        _describe_limit(check)
        for check in checks
        if check.metric == measure.name and check.kind not in ("min", "must_pass") and not check.where
        if check.limit is not None
    ]
    return ", ".join(limits) or "-"


def _describe_limit(check: CheckRow) -> str:
    return describe_limit(check.kind, check.metric, check.limit)


def is_timed(check: CheckRow) -> bool:
    """Return whether a check is about milliseconds."""
    return check.metric.startswith("latency.")


def format_value(check: CheckRow, value: float | None) -> str:
    """Return a number of a check as tables show it: a count as a whole number, a time in milliseconds.

    >>> from karat.schema import CheckRow
    >>> format_value(CheckRow(metric="empty", kind="empty", outcome="pass", reason=""), 4.0)
    '4'
    >>> format_value(CheckRow(metric="latency.p95", kind="max", outcome="pass", reason=""), 0.1955)
    '0.2 ms'
    """
    if value is None:
        return "-"
    if counts_queries(check.kind):
        return f"{value:,.0f}"
    return format_ms(value) if is_timed(check) else format_number(value)


def format_change(check: CheckRow) -> str:
    """Return the difference of a check with its sign, and its unit if it is about milliseconds."""
    if check.difference is None or not is_timed(check):
        return format_difference(check.difference)
    return f"{'+' if check.difference >= 0 else ''}{format_ms(check.difference)}"


def describe_reason(check: CheckRow) -> str:
    """Return why a check has its outcome, and how many queries would decide it if there are too few.

    >>> from karat.schema import CheckRow
    >>> describe_reason(CheckRow(kind="non_inferior", outcome="inconclusive", reason="neither shown nor ruled out",
    ...                          difference=-0.02, low=-0.07, limit=0.05, needed=1200))
    'neither shown nor ruled out; about 1,200 queries would rule out a drop of 0.05 if the true one is 0.02'
    """
    return f"{clean(check.reason, 1000)}{describe_need(check)}"


def describe_need(check: CheckRow) -> str:
    """Return how many queries would decide a check, as the end of a sentence; nothing if it is decided."""
    return (
        f"; about {count_things(check.needed, 'query', 'queries')} would {describe_aim(check)}" if check.needed else ""
    )


def describe_aim(check: CheckRow, name: str = "") -> str:
    """Return what the needed queries would do: show a drop as large as the observed one, or rule out the tolerated one.

    Which of the two it is, for which drop, and on what assumption keeps the number apart from others in the same
    report. ``name`` is what drops, if the sentence does not say it.

    >>> from karat.schema import CheckRow
    >>> describe_aim(CheckRow(metric="R@5", kind="non_inferior", outcome="inconclusive", reason="", difference=-0.02,
    ...                       low=-0.07, limit=0.05), "R@5")
    'rule out a drop of 0.05 in R@5 if the true one is 0.02'
    """
    if check.difference is None or check.limit is None:
        return f"decide {name}".rstrip()
    move, worse = ("drop", -check.difference) if check.high is None else ("rise", check.difference)
    of = f" in {name}" if name else ""
    if worse > check.limit:
        return f"show a {move} of {worse:.3g}{of}"
    true = f"the true one is {worse:.3g}" if worse > 0 else "there is none"
    return f"rule out a {move} of {check.limit:.3g}{of} if {true}"


def name_other_system(changes: Sequence[SystemChange]) -> tuple[str, str] | None:
    """Return what the system is now and what it was, if the changes show another one; None if it is the same.

    The kinds of two systems differ, or one of them is a function that describes nothing. Then a list of the parts that
    one has and the other does not have says little.

    >>> from karat.schema import SystemChange
    >>> name_other_system([SystemChange(key="kind", now="http", was="pipeline"),
    ...                    SystemChange(key="chunk.size", now=None, was=256)])
    ('http', 'pipeline')
    >>> name_other_system([SystemChange(key="chunk.size", now=384, was=256)])
    """
    values = {change.key: change for change in changes}
    function = values.get("callable")
    if "kind" not in values and (function is None or (function.now is not None and function.was is not None)):
        return None
    present = [values[key] for key in ("callable", "kind") if key in values]
    now = next((change.now for change in present if change.now is not None), "one that does not say its kind")
    was = next((change.was for change in present if change.was is not None), "one that does not say its kind")
    return str(now), str(was)


def format_part(value: object) -> str:
    """Return the value of a part of a system as text; ``not set`` where the system does not have the part."""
    return "not set" if value is None else shorten_digest(str(value))
