"""Evaluation: a run with its scores by query, repeat and segment, its latency, and its failures."""

from typing import TYPE_CHECKING

from karat.core import open_lazily
from karat.evaluation._averages import average_variants
from karat.evaluation._comparable import (
    FIT_PARTS,
    assume_depth,
    comparison_key,
    find_other_judges,
    find_unjudged,
    flatten,
    list_changes,
    name_parts,
    require_comparable,
    system_changes,
    withhold_scores,
    word_changes,
)
from karat.evaluation._depth import deepest_cutoff, describe_depth, looks_at_whole_lists
from karat.evaluation._difference_ends import find_difference_ends
from karat.evaluation._distances import cited_distances, list_tables
from karat.evaluation._ends import count_unjudged, find_bounds, find_ends
from karat.evaluation._evaluation import (
    Evaluation,
    Segment,
    Segments,
    describe_definitions,
    describe_failed,
    empty_scores,
)
from karat.evaluation._floor import LEXICAL, compare_floor, find_floor
from karat.evaluation._latency import summarise_latency
from karat.evaluation._lists import needed_depth
from karat.evaluation._ranked import PairedLists, RankedLists, StoredLists
from karat.evaluation._renamed import digest_listed
from karat.evaluation._rescoring import add_measures, revise_evaluation
from karat.evaluation._returned import describe_order
from karat.evaluation._revision import Revision
from karat.evaluation._scoring import (
    MEASURES,
    UnknownDocuments,
    default_measures,
    pass_rates,
    score_run,
)
from karat.evaluation._segments import FIELDS, find_segments, queries_by_segment, segment_queries, segments_by_query
from karat.evaluation._texts import describe_altered, describe_returned, describe_unknown_texts
from karat.evaluation._worst import NOT_JUDGED, UNANSWERED, UNKNOWN, fill_worst, find_worst

if TYPE_CHECKING:
    from karat.evaluation._document import evaluation_report
    from karat.evaluation._stability import stability_report

__all__ = [
    "FIELDS",
    "FIT_PARTS",
    "LEXICAL",
    "MEASURES",
    "NOT_JUDGED",
    "UNANSWERED",
    "UNKNOWN",
    "Evaluation",
    "PairedLists",
    "RankedLists",
    "Revision",
    "Segment",
    "Segments",
    "StoredLists",
    "UnknownDocuments",
    "add_measures",
    "assume_depth",
    "average_variants",
    "cited_distances",
    "compare_floor",
    "comparison_key",
    "count_unjudged",
    "deepest_cutoff",
    "default_measures",
    "describe_altered",
    "describe_definitions",
    "describe_depth",
    "describe_failed",
    "describe_order",
    "describe_returned",
    "describe_unknown_texts",
    "digest_listed",
    "empty_scores",
    "evaluation_report",
    "fill_worst",
    "find_bounds",
    "find_difference_ends",
    "find_ends",
    "find_floor",
    "find_other_judges",
    "find_segments",
    "find_unjudged",
    "find_worst",
    "flatten",
    "list_changes",
    "list_tables",
    "looks_at_whole_lists",
    "name_parts",
    "needed_depth",
    "pass_rates",
    "queries_by_segment",
    "require_comparable",
    "revise_evaluation",
    "score_run",
    "segment_queries",
    "segments_by_query",
    "stability_report",
    "summarise_latency",
    "system_changes",
    "withhold_scores",
    "word_changes",
]

# Imported at first use: a check prints none of it.
_HOME = {
    "evaluation_report": "_document",
    "stability_report": "_stability",
}

if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(__name__, _HOME)
