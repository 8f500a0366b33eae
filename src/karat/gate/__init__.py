"""The gate: whether a change may ship. Baselines, comparisons, policies and decisions."""

from typing import TYPE_CHECKING

from karat.core import open_lazily
from karat.gate._baseline import FIT, VERSION, Baseline, add_contents, write_baseline, write_fit
from karat.gate._baseline_reader import is_baseline, read_baseline
from karat.gate._caveats import find_caveats
from karat.gate._check import Check
from karat.gate._comparison import Comparison, Correction, align_changes, compare, compare_all
from karat.gate._corrected import correct_measures, describe_corrections, lacks_baseline_labels
from karat.gate._decision import Decision, decide
from karat.gate._growth import describe_growth, list_queries
from karat.gate._limits import is_unasked
from karat.gate._movers import describe_moves, find_movers
from karat.gate._named import require_named
from karat.gate._pairing import lower_is_better, pair_scores, scale_of
from karat.gate._policy import LIMITS, TESTS, Must, Policy, Rule, describe_rule
from karat.gate._policy_table import POLICIES, named_policy, read_policy
from karat.gate._unanswered import count_failures, count_refusals
from karat.gate._uncertainty import Uncertainty, describe_uncertainty, find_uncertainty

if TYPE_CHECKING:
    from karat.gate._blocks import BLOCKS, summarise_blocks
    from karat.gate._document import compare_document
    from karat.gate._unjudged import hold_at_bounds

__all__ = [
    "BLOCKS",
    "FIT",
    "LIMITS",
    "POLICIES",
    "TESTS",
    "VERSION",
    "Baseline",
    "Check",
    "Comparison",
    "Correction",
    "Decision",
    "Must",
    "Policy",
    "Rule",
    "Uncertainty",
    "add_contents",
    "align_changes",
    "compare",
    "compare_all",
    "compare_document",
    "correct_measures",
    "count_failures",
    "count_refusals",
    "decide",
    "describe_corrections",
    "describe_growth",
    "describe_moves",
    "describe_rule",
    "describe_uncertainty",
    "find_caveats",
    "find_movers",
    "find_uncertainty",
    "hold_at_bounds",
    "is_baseline",
    "is_unasked",
    "lacks_baseline_labels",
    "list_queries",
    "lower_is_better",
    "named_policy",
    "pair_scores",
    "read_baseline",
    "read_policy",
    "require_named",
    "scale_of",
    "summarise_blocks",
    "write_baseline",
    "write_fit",
]

# Imported at first use: a check prints none of it.
_HOME = {
    **dict.fromkeys(("BLOCKS", "summarise_blocks"), "_blocks"),
    "compare_document": "_document",
    "hold_at_bounds": "_unjudged",
}

if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(__name__, _HOME)
