"""The gate: may this change ship? Baselines, comparisons, policies and decisions."""

from karat.gate._baseline import FIT, Baseline, is_baseline, read_baseline, write_baseline, write_fit
from karat.gate._caveats import caveats
from karat.gate._comparison import (
    Compared,
    Correction,
    Pair,
    compare,
    compare_all,
    differences,
    generator,
    lower_is_better,
)
from karat.gate._decision import Check, Decision, decide
from karat.gate._document import compare_document
from karat.gate._lists import compare_lists
from karat.gate._movers import Mover, moved, movers
from karat.gate._plans import SPREADS, Aim, Reach, reach, reach_of_repeats, reach_of_runs
from karat.gate._policy import POLICIES, Must, Policy, Rule, policy, read_policy

__all__ = [
    "FIT",
    "POLICIES",
    "SPREADS",
    "Aim",
    "Baseline",
    "Check",
    "Compared",
    "Correction",
    "Decision",
    "Mover",
    "Must",
    "Pair",
    "Policy",
    "Reach",
    "Rule",
    "caveats",
    "compare",
    "compare_all",
    "compare_document",
    "compare_lists",
    "decide",
    "differences",
    "generator",
    "is_baseline",
    "lower_is_better",
    "moved",
    "movers",
    "policy",
    "reach",
    "reach_of_repeats",
    "reach_of_runs",
    "read_baseline",
    "read_policy",
    "write_baseline",
    "write_fit",
]
