"""Golden sets: read, write, check, make, sample and compare them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.core import open_lazily
from karat.files import Mistakes, Reading, Row
from karat.golden._assumed import list_assumptions
from karat.golden._fingerprint import digest_texts, fingerprint, identify
from karat.golden._format import FORMATS, Format, read, write
from karat.golden._questions import LISTED, Question, describe_questions, digest_judged_documents
from karat.golden._sample import restrict_queries, sample
from karat.golden._source import open_set

if TYPE_CHECKING:
    from karat.golden._blinding import BlindPassages, blind_passages, find_giveaway, measure_passage
    from karat.golden._deciding import PoolDecision, WeighedPool, decide_pool, weigh_pool
    from karat.golden._descriptions import (
        describe_conversion,
        describe_decision,
        describe_pool,
        describe_sample,
        describe_synthesis,
    )
    from karat.golden._diff import diff
    from karat.golden._documents import read_documents
    from karat.golden._merge import agreement, change_in_place, merge, merge_in_place
    from karat.golden._paraphrases import PARAPHRASES
    from karat.golden._passages import Passage, RankedRuns, read_runs
    from karat.golden._pool import Pooled, pool, pool_rows, pool_text, write_pool
    from karat.golden._release import propose_tag
    from karat.golden._synth import LONGEST_QUERY, SHORTEST_QUERY, needles, synthesise
    from karat.golden.lint import Report, ceiling, check

__all__ = [
    "FORMATS",
    "LISTED",
    "LONGEST_QUERY",
    "PARAPHRASES",
    "SHORTEST_QUERY",
    "BlindPassages",
    "Format",
    "Mistakes",
    "Passage",
    "PoolDecision",
    "Pooled",
    "Question",
    "RankedRuns",
    "Reading",
    "Report",
    "Row",
    "WeighedPool",
    "agreement",
    "blind_passages",
    "ceiling",
    "change_in_place",
    "check",
    "decide_pool",
    "describe_conversion",
    "describe_decision",
    "describe_pool",
    "describe_questions",
    "describe_sample",
    "describe_synthesis",
    "diff",
    "digest_judged_documents",
    "digest_texts",
    "find_giveaway",
    "fingerprint",
    "identify",
    "list_assumptions",
    "measure_passage",
    "merge",
    "merge_in_place",
    "needles",
    "open_set",
    "pool",
    "pool_rows",
    "pool_text",
    "propose_tag",
    "read",
    "read_documents",
    "read_runs",
    "restrict_queries",
    "sample",
    "synthesise",
    "weigh_pool",
    "write",
    "write_pool",
]

# Imported at first use: who reads a set mostly needs none of them.
_HOME = {
    **dict.fromkeys(("Report", "ceiling", "check"), "lint"),
    **dict.fromkeys(("PoolDecision", "WeighedPool", "decide_pool", "weigh_pool"), "_deciding"),
    **dict.fromkeys(
        (
            "describe_conversion",
            "describe_decision",
            "describe_pool",
            "describe_sample",
            "describe_synthesis",
        ),
        "_descriptions",
    ),
    "diff": "_diff",
    "read_documents": "_documents",
    **dict.fromkeys(("agreement", "change_in_place", "merge", "merge_in_place"), "_merge"),
    **dict.fromkeys(("BlindPassages", "blind_passages", "find_giveaway", "measure_passage"), "_blinding"),
    **dict.fromkeys(("Passage", "RankedRuns", "read_runs"), "_passages"),
    "PARAPHRASES": "_paraphrases",
    **dict.fromkeys(("Pooled", "pool", "pool_rows", "pool_text", "write_pool"), "_pool"),
    "propose_tag": "_release",
    **dict.fromkeys(("LONGEST_QUERY", "SHORTEST_QUERY", "needles", "synthesise"), "_synth"),
}

if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(__name__, _HOME)
