"""The values that every package works with, and the errors that karat raises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.core._doors import open_lazily
from karat.core._errors import (
    GateFailed,
    InputError,
    KaratError,
    MeasureError,
    SystemFailed,
    UsageError,
    did_you_mean,
    find_similar,
)
from karat.core._version import __version__

if TYPE_CHECKING:
    from karat.core._answer import Answer
    from karat.core._bounds import Bounds
    from karat.core._context import Context
    from karat.core._drafts import make_hits, make_query
    from karat.core._golden import GRADES, HIGHEST_GRADE, NORMALISER, Document, GoldenSet, Query, Session, Unit
    from karat.core._hit import BLOCK_TYPES, SCHEMES, Hit, Ids, Place, document_of
    from karat.core._hit_list import HitList, list_documents, list_scores
    from karat.core._hit_table import HitTable, TableRows, find_table_rows
    from karat.core._judgment import SOURCES, Judgment, Source, Span, Target, make_judgment
    from karat.core._judgment_table import Grades, JudgmentTable
    from karat.core._limits import counts_queries, describe_limit
    from karat.core._measure import MEASURES, Definition, Measure, Parameter, Undefined
    from karat.core._notebook import Markup, draw_bars, draw_interval, show_table
    from karat.core._registry import Registry
    from karat.core._run import Origin, Provenance, Run
    from karat.core._scores import LOWEST_FOR_GEOMETRIC_MEAN, Floats, Scores, average
    from karat.core._sums import ExactSum
    from karat.core._trace import Citation, Stage, Trace
    from karat.core._trace_draft import make_trace
    from karat.core._trace_table import TracesByQuery, TraceTable, list_hits, list_queries, map_hits, select_detailed
    from karat.core._values import (
        check_id,
        count_things,
        format_ms,
        is_blank,
        is_digest,
        is_missing,
        is_number,
        is_text,
        name_type,
        shorten,
        shorten_digest,
        unwrap,
    )

__all__ = [
    "BLOCK_TYPES",
    "GRADES",
    "HIGHEST_GRADE",
    "LOWEST_FOR_GEOMETRIC_MEAN",
    "MEASURES",
    "NORMALISER",
    "SCHEMES",
    "SOURCES",
    "Answer",
    "Bounds",
    "Citation",
    "Context",
    "Definition",
    "Document",
    "ExactSum",
    "Floats",
    "GateFailed",
    "GoldenSet",
    "Grades",
    "Hit",
    "HitList",
    "HitTable",
    "Ids",
    "InputError",
    "Judgment",
    "JudgmentTable",
    "KaratError",
    "Markup",
    "Measure",
    "MeasureError",
    "Origin",
    "Parameter",
    "Place",
    "Provenance",
    "Query",
    "Registry",
    "Run",
    "Scores",
    "Session",
    "Source",
    "Span",
    "Stage",
    "SystemFailed",
    "TableRows",
    "Target",
    "Trace",
    "TraceTable",
    "TracesByQuery",
    "Undefined",
    "Unit",
    "UsageError",
    "__version__",
    "average",
    "check_id",
    "count_things",
    "counts_queries",
    "describe_limit",
    "did_you_mean",
    "document_of",
    "draw_bars",
    "draw_interval",
    "find_similar",
    "find_table_rows",
    "format_ms",
    "is_blank",
    "is_digest",
    "is_missing",
    "is_number",
    "is_text",
    "list_documents",
    "list_hits",
    "list_queries",
    "list_scores",
    "make_hits",
    "make_judgment",
    "make_query",
    "make_trace",
    "map_hits",
    "name_type",
    "open_lazily",
    "select_detailed",
    "shorten",
    "shorten_digest",
    "show_table",
    "unwrap",
]

# Imported at first use: these modules import NumPy, which takes longer than `karat --help` should.
_HOME = {
    **dict.fromkeys(("MEASURES", "Definition", "Measure", "Parameter", "Undefined"), "_measure"),
    "Registry": "_registry",
    "ExactSum": "_sums",
    **dict.fromkeys(("Markup", "draw_bars", "draw_interval", "show_table"), "_notebook"),
    **dict.fromkeys(("counts_queries", "describe_limit"), "_limits"),
    "Answer": "_answer",
    "Bounds": "_bounds",
    "Context": "_context",
    **dict.fromkeys(("LOWEST_FOR_GEOMETRIC_MEAN", "Floats", "Scores", "average"), "_scores"),
    **dict.fromkeys(
        (
            "check_id",
            "count_things",
            "format_ms",
            "is_blank",
            "is_digest",
            "is_missing",
            "is_number",
            "is_text",
            "name_type",
            "shorten",
            "shorten_digest",
            "unwrap",
        ),
        "_values",
    ),
    **dict.fromkeys(
        ("GRADES", "HIGHEST_GRADE", "NORMALISER", "Document", "GoldenSet", "Query", "Session", "Unit"), "_golden"
    ),
    **dict.fromkeys(("SOURCES", "Judgment", "Source", "Span", "Target", "make_judgment"), "_judgment"),
    **dict.fromkeys(("BLOCK_TYPES", "SCHEMES", "Hit", "Ids", "Place", "document_of"), "_hit"),
    **dict.fromkeys(("Grades", "JudgmentTable"), "_judgment_table"),
    **dict.fromkeys(("HitList", "list_documents", "list_scores"), "_hit_list"),
    **dict.fromkeys(("HitTable", "TableRows", "find_table_rows"), "_hit_table"),
    **dict.fromkeys(("make_hits", "make_query"), "_drafts"),
    "make_trace": "_trace_draft",
    **dict.fromkeys(
        ("TraceTable", "TracesByQuery", "list_hits", "list_queries", "map_hits", "select_detailed"), "_trace_table"
    ),
    **dict.fromkeys(("Origin", "Provenance", "Run"), "_run"),
    **dict.fromkeys(("Citation", "Stage", "Trace"), "_trace"),
}

if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(__name__, _HOME)
