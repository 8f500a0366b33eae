"""The gate: whether a change may ship. Baselines, comparisons, policies and decisions."""

from karat.gate._baseline import FIT, VERSION, Baseline, is_baseline, read_baseline, write_baseline, write_fit
from karat.gate._caveats import find_caveats
from karat.gate._comparison import (
    Comparison,
    Correction,
    Pair,
    align_changes,
    compare,
    compare_all,
    lower_is_better,
    make_generator,
    pair_scores,
    scale_of,
)
from karat.gate._decision import Check, Decision, decide
from karat.gate._document import compare_document
from karat.gate._growth import describe_growth, list_queries
from karat.gate._lists import compare_lists
from karat.gate._movers import Mover, describe_moves, find_movers
from karat.gate._operations import Operations
from karat.gate._plans import SPREADS, Aim, Reach, compute_reach, compute_reach_of_repeats, compute_reach_of_runs
from karat.gate._policy import LIMITS, TESTS, Must, Policy, Rule, describe_rule
from karat.gate._policy_table import POLICIES, named_policy, read_policy
from karat.gate._simulation import LOSSES, GateRates, describe_rates, simulate_losses, simulate_noise

__all__ = [
    "FIT",
    "LIMITS",
    "LOSSES",
    "POLICIES",
    "SPREADS",
    "TESTS",
    "VERSION",
    "Aim",
    "Baseline",
    "Check",
    "Comparison",
    "Correction",
    "Decision",
    "GateRates",
    "Mover",
    "Must",
    "Operations",
    "Pair",
    "Policy",
    "Reach",
    "Rule",
    "align_changes",
    "compare",
    "compare_all",
    "compare_document",
    "compare_lists",
    "compute_reach",
    "compute_reach_of_repeats",
    "compute_reach_of_runs",
    "decide",
    "describe_growth",
    "describe_moves",
    "describe_rates",
    "describe_rule",
    "find_caveats",
    "find_movers",
    "is_baseline",
    "list_queries",
    "lower_is_better",
    "make_generator",
    "named_policy",
    "pair_scores",
    "read_baseline",
    "read_policy",
    "scale_of",
    "simulate_losses",
    "simulate_noise",
    "write_baseline",
    "write_fit",
]
