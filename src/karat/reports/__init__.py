"""Reports: the decision document, and renderings of it for people, CI, papers and terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.core import open_lazily

if TYPE_CHECKING:
    from karat.reports._comment import render_comment
    from karat.reports._csv import disarm, render_csv
    from karat.reports._document import add_conclusions, add_failures, decision_schema, read_document
    from karat.reports._explanation import explain_checks, render_refusal, summarise_check
    from karat.reports._failures import OF_REFUSED, OF_UNANSWERABLE, QueryStanding, query_limits
    from karat.reports._floor import describe_rest
    from karat.reports._gain import render_gain
    from karat.reports._github import annotation, render_github, render_summary
    from karat.reports._html import render_html
    from karat.reports._json import iterate_json, render_json
    from karat.reports._junit import render_junit
    from karat.reports._latex import render_latex
    from karat.reports._markdown import render_markdown
    from karat.reports._online import (
        describe_estimate,
        describe_sample,
        describe_traffic,
        format_rate,
        list_traffic_facts,
        render_online_html,
    )
    from karat.reports._patterns import hints
    from karat.reports._policy import describe_policy
    from karat.reports._recommendations import RULES
    from karat.reports._score_files import SCORE_FORMATS, render_scores
    from karat.reports._scores import (
        ScoreTable,
        list_bounds_notes,
        list_bounds_rows,
        list_score_notes,
        list_score_tables,
    )
    from karat.reports._shadow import describe_shadow, list_shadow_facts, list_shadow_tables, render_shadow_html
    from karat.reports._sparkline import Chart, Sparkline, bars, render_sparklines
    from karat.reports._terminal import (
        COLOUR,
        PLAIN,
        Style,
        align,
        defuse,
        escaped,
        number,
        printable,
        quantity,
        show_safely,
    )
    from karat.reports._text import render_text
    from karat.reports._trial import (
        describe_trial,
        describe_wins,
        explain_futility,
        format_odds,
        list_harmed,
        render_trial_html,
        render_trial_svg,
    )
    from karat.reports._verdict import explain_outcome, is_observed_drop
    from karat.reports._watch import (
        describe_alert,
        describe_canary,
        describe_state,
        describe_watch,
        format_signal,
        list_canary_tables,
        list_watch_tables,
        render_canary_html,
        render_watch_html,
    )
    from karat.reports._words import describe_rule, name_check

__all__ = [
    "COLOUR",
    "OF_REFUSED",
    "OF_UNANSWERABLE",
    "PLAIN",
    "RULES",
    "SCORE_FORMATS",
    "Chart",
    "QueryStanding",
    "ScoreTable",
    "Sparkline",
    "Style",
    "add_conclusions",
    "add_failures",
    "align",
    "annotation",
    "bars",
    "decision_schema",
    "defuse",
    "describe_alert",
    "describe_canary",
    "describe_estimate",
    "describe_policy",
    "describe_rest",
    "describe_rule",
    "describe_sample",
    "describe_shadow",
    "describe_state",
    "describe_traffic",
    "describe_trial",
    "describe_watch",
    "describe_wins",
    "disarm",
    "escaped",
    "explain_checks",
    "explain_futility",
    "explain_outcome",
    "format_odds",
    "format_rate",
    "format_signal",
    "hints",
    "is_observed_drop",
    "iterate_json",
    "list_bounds_notes",
    "list_bounds_rows",
    "list_canary_tables",
    "list_harmed",
    "list_score_notes",
    "list_score_tables",
    "list_shadow_facts",
    "list_shadow_tables",
    "list_traffic_facts",
    "list_watch_tables",
    "name_check",
    "number",
    "printable",
    "quantity",
    "query_limits",
    "read_document",
    "render_canary_html",
    "render_comment",
    "render_csv",
    "render_gain",
    "render_github",
    "render_html",
    "render_json",
    "render_junit",
    "render_latex",
    "render_markdown",
    "render_online_html",
    "render_refusal",
    "render_scores",
    "render_shadow_html",
    "render_sparklines",
    "render_summary",
    "render_text",
    "render_trial_html",
    "render_trial_svg",
    "render_watch_html",
    "show_safely",
    "summarise_check",
]

# Loaded at first use: a command pays only for the format that it renders.
_HOME = {
    **dict.fromkeys(
        (
            "describe_trial",
            "describe_wins",
            "explain_futility",
            "format_odds",
            "list_harmed",
            "render_trial_html",
            "render_trial_svg",
        ),
        "_trial",
    ),
    "render_comment": "_comment",
    **dict.fromkeys(("disarm", "render_csv"), "_csv"),
    "render_gain": "_gain",
    **dict.fromkeys(("add_conclusions", "add_failures", "decision_schema", "read_document"), "_document"),
    **dict.fromkeys(("OF_REFUSED", "OF_UNANSWERABLE", "QueryStanding", "query_limits"), "_failures"),
    **dict.fromkeys(("explain_checks", "render_refusal", "summarise_check"), "_explanation"),
    **dict.fromkeys(("annotation", "render_github", "render_summary"), "_github"),
    "render_html": "_html",
    "iterate_json": "_json",
    "render_json": "_json",
    "render_junit": "_junit",
    "render_latex": "_latex",
    "render_markdown": "_markdown",
    **dict.fromkeys(
        (
            "describe_estimate",
            "describe_sample",
            "describe_traffic",
            "format_rate",
            "list_traffic_facts",
            "render_online_html",
        ),
        "_online",
    ),
    "hints": "_patterns",
    "describe_policy": "_policy",
    "describe_rest": "_floor",
    "RULES": "_recommendations",
    **dict.fromkeys(("SCORE_FORMATS", "render_scores"), "_score_files"),
    **dict.fromkeys(
        ("ScoreTable", "list_bounds_notes", "list_bounds_rows", "list_score_notes", "list_score_tables"), "_scores"
    ),
    **dict.fromkeys(("describe_shadow", "list_shadow_facts", "list_shadow_tables", "render_shadow_html"), "_shadow"),
    **dict.fromkeys(
        (
            "describe_alert",
            "describe_state",
            "describe_canary",
            "describe_watch",
            "format_signal",
            "list_canary_tables",
            "list_watch_tables",
            "render_canary_html",
            "render_watch_html",
        ),
        "_watch",
    ),
    **dict.fromkeys(("Chart", "Sparkline", "bars", "render_sparklines"), "_sparkline"),
    **dict.fromkeys(("COLOUR", "PLAIN", "Style", "align", "number", "quantity"), "_terminal"),
    **dict.fromkeys(("defuse", "escaped", "printable", "show_safely"), "_terminal"),
    "render_text": "_text",
    **dict.fromkeys(("explain_outcome", "is_observed_drop"), "_verdict"),
    **dict.fromkeys(("describe_rule", "name_check"), "_words"),
}

if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(__name__, _HOME)
