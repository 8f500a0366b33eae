"""Pages as HTML: templates that escape everything, and the words and numbers that they share."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from msgspec import UNSET

from karat.core import count_things, format_ms, shorten_digest
from karat.pages import link_session, show_value
from karat.reports import (
    describe_alert,
    describe_rule,
    describe_state,
    describe_trial,
    explain_futility,
    explain_outcome,
    format_odds,
    format_signal,
    list_harmed,
    name_check,
)
from karat.server._charts import DRAWN
from karat.server._differences import describe_comparison, head_comparison, rate_difference
from karat.server._live_charts import draw_latency, draw_session, draw_timeline, draw_traffic
from karat.server._markdown import show_markdown
from karat.server._parallel import draw_parallel
from karat.server._text import (
    NONE,
    begin_sentence,
    clip,
    defuse,
    format_change,
    format_number,
    format_time,
    strip_markup,
)
from karat.server._trials import draw_trial

_ASSETS = {
    "report.css": ("karat.reports", "assets"),
    "theme.js": ("karat.reports", "assets"),
    "server.css": ("karat.server", "static"),
    "server.js": ("karat.server", "static"),
    "stream.js": ("karat.server", "static"),
    "live.css": ("karat.server", "static"),
    "judge.css": ("karat.server", "static"),
    "judge.js": ("karat.server", "static"),
}
_KINDS = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
_SIGNS = {"pass": "✓", "fail": "✗", "inconclusive": "?", "error": "✗", "degraded": "↓", "unchecked": NONE}
_OUTCOMES = {"pass": "Pass", "fail": "Fail", "inconclusive": "Inconclusive", "error": "No decision"}


@cache
def read_static() -> Mapping[str, tuple[bytes, str]]:
    """Return all styles and scripts by their hashed names, each with its type; a name never changes its meaning."""
    kept = {}
    for name, (package, folder) in _ASSETS.items():
        body = files(package).joinpath(folder, name).read_bytes()
        stem, _, kind = name.rpartition(".")
        kept[f"{stem}-{hashlib.sha256(body).hexdigest()[:16]}.{kind}"] = (body, _KINDS[kind])
    return kept


@cache
def name_static() -> Mapping[str, str]:
    """Return the address of each style and script by its plain name."""
    return {re.sub(r"-[0-9a-f]{16}\.", ".", name): f"/static/{name}" for name in read_static()}


@cache
def make_environment() -> Environment:
    """Return the templates. Every value is escaped, and defused before; an unknown name is an error."""
    environment = Environment(
        loader=PackageLoader("karat.server", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: defuse(value) if type(value) is str else "" if value is UNSET else value,
    )
    environment.filters.update(
        number=format_number,
        change=format_change,
        p=lambda value: NONE if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}",
        time=format_time,
        clip=clip,
        sentence=begin_sentence,
        plain=strip_markup,
        ticks=_show_code,
        markdown=show_markdown,
        odds=format_odds,
        share=lambda value: NONE if value is None else f"{100 * value:.1f} %",
        setting=show_value,
        digest=shorten_digest,
        breaks=_show_breaks,
        count=lambda value: f"{value:,}",
        things=count_things,
        ms=lambda value: NONE if value is None else format_ms(value),
        outcome=lambda value: _OUTCOMES.get(value or "", "Not decided"),
        sign=lambda value: _SIGNS.get((value or "").lower(), NONE),
        tone=lambda value: {"error": "fail", "": "none", "unchecked": "none"}.get(
            (value or "").lower(), (value or "").lower()
        ),
        picture=lambda chart: Markup(chart.render()),  # noqa: S704 (every text in it is escaped)
    )
    environment.globals.update(DRAWN, draw_parallel=draw_parallel)
    environment.globals.update(
        draw_trial=draw_trial,
        list_harmed=list_harmed,
        describe_trial=describe_trial,
        explain_futility=explain_futility,
        link_session=link_session,
    )
    environment.globals.update(describe_rule=describe_rule, explain_outcome=explain_outcome, name_check=name_check)
    environment.globals.update(
        describe_comparison=describe_comparison, head_comparison=head_comparison, rate_difference=rate_difference
    )
    environment.globals.update(
        describe_alert=describe_alert, describe_state=describe_state, format_signal=format_signal
    )
    environment.globals.update(draw_traffic=draw_traffic, draw_latency=draw_latency)
    environment.globals.update(draw_session=draw_session, draw_timeline=draw_timeline)
    return environment


def _show_code(text: str) -> Markup:
    """Return a text in which what stands between backticks is code.

    >>> print(_show_code("judge (`a<b`)"), _show_code("a ` alone"))
    judge (<code>a&lt;b</code>) a ` alone
    """
    parts = defuse(text).split("`")
    if len(parts) % 2 == 0:  # one has no partner
        return escape(defuse(text))
    tags = ("<code>", "</code>")
    pieces = [escape(parts[0])]
    pieces += [Markup(tags[place % 2]) + escape(part) for place, part in enumerate(parts[1:])]  # noqa: S704 (our own)
    return Markup("").join(pieces)


def _show_breaks(text: str) -> Markup:
    """Return a name that a narrow column breaks after a sign, and not within a word.

    >>> print(_show_breaks("<b>.bm25:Search"))
    &lt;b&gt;.<wbr>bm25:<wbr>Search
    """
    pieces = re.findall(r"[^.:/_]*[.:/_]|[^.:/_]+", defuse(text))
    return Markup("<wbr>").join(pieces)


def render(template: str, **values: Any) -> str:
    """Return a page."""
    return make_environment().get_template(template).render(static=name_static(), **values)
