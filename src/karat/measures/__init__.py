"""The measure language, alignment, kernels, and the table of scores."""

from typing import TYPE_CHECKING

from karat.core import open_lazily

# Importing the kernels registers the measures.
from karat.measures import (
    _binary,
    _citations,
    _cite_precision,
    _distances,
    _experimental,
    _freshness,
    _graded,
    _incomplete,
    _judged,
    _memory,
    _pipelines,
    _refusals,
    _sets,
    _spans,
    _stability,
    _tiers,
    _unanswerable,
)
from karat.measures._alignment import Alignment, Judgments, Unjudged
from karat.measures._cited import SILENT, UNKNOWN_TEXT, find_invented
from karat.measures._classes import read_classes
from karat.measures._conventions import CONVENTIONS, Conventions
from karat.measures._distances import count_bands, interpolate
from karat.measures._fields import read_field
from karat.measures._files import FORMATS
from karat.measures._input import Rankings
from karat.measures._judged import BLIND, JUDGED, NO_OPINION, OVERLAP_AGREEMENT, is_excused
from karat.measures._measure import ANSWERABLE, JUDGED_ONLY, REL, UNANSWERABLE, Bound, measure, ratio
from karat.measures._repeats import pass_at_k
from karat.measures._score import (
    ScoreOptions,
    name_of,
    read_judgments,
    read_run,
    score,
    score_runs,
)
from karat.measures._stability import ASKED_LESS, ASKED_ONCE, STATES, observe_traces
from karat.measures._trace_fields import HIT_FIELDS, STAGE_SCORES, TRACE_FIELDS, TRACE_KEYS
from karat.measures._trusted import LAPSED, name_judge
from karat.measures._untestable import NOT_FOR, UNTESTABLE

if TYPE_CHECKING:
    from karat.measures._definitions import list_measures
    from karat.measures._differences import has_exact_difference, score_differences
    from karat.measures._document import measure_bounds, run_scores, score_report
    from karat.measures._hits import score_hits
    from karat.measures._linear import LinearMeasure, make_linear
    from karat.measures._overlap import Overlap
    from karat.measures._own import load_measures
    from karat.measures._parquet_size import refuse_bomb
    from karat.measures._parts import PART_COLUMNS, PART_SCHEMA, align_part, find_run_columns, join_parts
    from karat.measures._trec_eval import trec_eval

__all__ = [
    "ANSWERABLE",
    "ASKED_LESS",
    "ASKED_ONCE",
    "BLIND",
    "CONVENTIONS",
    "FORMATS",
    "HIT_FIELDS",
    "JUDGED",
    "JUDGED_ONLY",
    "LAPSED",
    "NOT_FOR",
    "NO_OPINION",
    "OVERLAP_AGREEMENT",
    "PART_COLUMNS",
    "PART_SCHEMA",
    "REL",
    "SILENT",
    "STAGE_SCORES",
    "STATES",
    "TRACE_FIELDS",
    "TRACE_KEYS",
    "UNANSWERABLE",
    "UNKNOWN_TEXT",
    "UNTESTABLE",
    "Alignment",
    "Bound",
    "Conventions",
    "Judgments",
    "LinearMeasure",
    "Overlap",
    "Rankings",
    "ScoreOptions",
    "Unjudged",
    "align_part",
    "count_bands",
    "find_invented",
    "find_run_columns",
    "has_exact_difference",
    "interpolate",
    "is_excused",
    "join_parts",
    "list_measures",
    "load_measures",
    "make_linear",
    "measure",
    "measure_bounds",
    "name_judge",
    "name_of",
    "observe_traces",
    "pass_at_k",
    "ratio",
    "read_classes",
    "read_field",
    "read_judgments",
    "read_run",
    "refuse_bomb",
    "run_scores",
    "score",
    "score_differences",
    "score_hits",
    "score_report",
    "score_runs",
    "trec_eval",
]

del (
    _binary,
    _citations,
    _cite_precision,
    _distances,
    _experimental,
    _freshness,
    _graded,
    _incomplete,
    _judged,
    _memory,
    _pipelines,
    _refusals,
    _sets,
    _spans,
    _stability,
    _tiers,
    _unanswerable,
)


# Loaded at first use: scoring plain files does not need them.
_HOME = {
    "LinearMeasure": "_linear",
    "Overlap": "_overlap",
    "has_exact_difference": "_differences",
    "make_linear": "_linear",
    "list_measures": "_definitions",
    "load_measures": "_own",
    "measure_bounds": "_document",
    "run_scores": "_document",
    "score_differences": "_differences",
    "score_hits": "_hits",
    "score_report": "_document",
    "trec_eval": "_trec_eval",
    "refuse_bomb": "_parquet_size",
    **dict.fromkeys(("PART_COLUMNS", "PART_SCHEMA", "align_part", "find_run_columns", "join_parts"), "_parts"),
}

if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(__name__, _HOME)
