"""Words and numbers of unknown origin, made fit for one line of a report."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from typing import Any

_UNFIT = frozenset(("Cc", "Cs", "Cn"))
_TURNS = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that turn the direction of writing: with them a text can look like another."""


def plain(value: object, width: int | None = None) -> str:
    r"""Give text as one line that no format can object to: white space is one space, what is no character is U+FFFD.

    >>> plain("two\n lines\x00")
    'two lines\ufffd'
    >>> plain("a long sentence", 9)
    'a long...'
    """
    line = " ".join(str(value).split())
    safe = "".join("\ufffd" if unicodedata.category(c) in _UNFIT or c in _TURNS else c for c in line)
    return safe if width is None or len(safe) <= width else f"{safe[: width - 3].rstrip()}..."


def figure(value: float | None) -> str:
    """Give a number as tables show it, ``-`` where there is none.

    >>> figure(0.52941), figure(4281.27), figure(4e12), figure(None)
    ('0.5294', '4,281.3', '4e+12', '-')
    """
    if value is None:
        return "-"
    return f"{value:.4f}" if abs(value) < 10 else f"{value:,.1f}" if abs(value) < 1e7 else f"{value:.3g}"


def signed(value: float | None) -> str:
    """Give a difference with its sign.

    >>> signed(-0.01758), signed(0.0)
    ('-0.0176', '+0.0000')
    """
    if value is None:
        return "-"
    return f"{value + 0.0:+.4f}" if abs(value) < 10 else f"{value:+,.1f}" if abs(value) < 1e7 else f"{value:+.3g}"


def percent(now: float | None, was: float | None) -> str:
    """Give a signed change in percent; nothing where there is no baseline, or one of 0.

    >>> percent(0.84, 0.82), percent(0.66, 0.68), percent(0.5, None)
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


def counted(number: int, noun: str, plural: str = "") -> str:
    """Give a number with its noun.

    >>> counted(1, "query", "queries"), counted(2000, "check")
    ('1 query', '2,000 checks')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(ids: tuple[str, ...] | list[str], most: int = 10) -> str:
    """Give ids in one line, the first of them where there are many.

    >>> listed(["q1", "q2", "q3"], 2)
    'q1, q2 and 1 more'
    """
    more = f" and {len(ids) - most:,} more" if len(ids) > most else ""
    return ", ".join(plain(id_, 60) for id_ in ids[:most]) + more


def check_name(check: Mapping[str, Any]) -> str:
    """Give the number that a check is about, with the part of the queries or the one query.

    >>> check_name({"metric": "R@5", "where": {"category": "cold-start"}})
    'R@5 category=cold-start'
    """
    metric = plain(check.get("metric", ""))
    if check.get("query"):
        return f"{plain(check['query'])} {metric}".rstrip()
    where = "".join(f" {plain(field)}={plain(value)}" for field, value in (check.get("where") or {}).items())
    return metric + where


def rule_words(check: Mapping[str, Any]) -> str:
    """Give what a check asks for.

    >>> rule_words({"kind": "min", "limit": 0.45}), rule_words({"kind": "max_drop_rel", "limit": 0.05})
    ('at least 0.45', 'falls by at most 5.0%')
    """
    kind, limit = check.get("kind", ""), check.get("limit")
    if kind == "must_pass":
        return "must find something relevant" if limit is None else f"must reach {limit:g}"
    if kind in ("significant_drop", "non_inferior"):
        words = "no significant drop" if kind == "significant_drop" else "not worse"
        return words if limit is None else f"{words} by more than {limit:.3g}"
    if limit is None:
        return plain(kind).replace("_", " ")
    shown = f"{limit:.1%}" if kind.endswith("_rel") else f"{limit:g}"
    starts = {"min": "at least", "max": "at most", "max_drop": "falls by at most", "max_rise": "rises by at most"}
    return f"{starts.get(kind.removesuffix('_abs').removesuffix('_rel'), plain(kind))} {shown}"


def reason(check: Mapping[str, Any]) -> str:
    """Give why a check has its outcome, and how many queries would decide it where they are too few.

    >>> reason({"reason": "neither shown nor ruled out", "needed": 1200})
    'neither shown nor ruled out; about 1,200 queries would tell'
    """
    more = f"; about {check['needed']:,} queries would tell" if check.get("needed") else ""
    return f"{plain(check['reason'], 1000)}{more}"


def gain(measure: Mapping[str, Any], difference: float | None) -> float:
    """Give how much better a difference is: its opposite where less of the measure is better; 0 where there is none."""
    if difference is None:
        return 0.0
    return -difference if measure.get("lower_is_better") else difference
