"""The gate: may this change ship? Baselines, comparisons, policies and decisions."""

from karat.gate._baseline import Baseline, read_baseline, write_baseline, write_fit
from karat.gate._caveats import caveats
from karat.gate._comparison import Compared, Segment, compare, differences, lower_is_better
from karat.gate._decision import Check, Decision, decide
from karat.gate._movers import Mover, moved, movers
from karat.gate._policy import POLICIES, Must, Policy, Rule, policy, read_policy
from karat.gate._snapshot import Snapshot, changes, check_comparable, flat

__all__ = [
    "POLICIES",
    "Baseline",
    "Check",
    "Compared",
    "Decision",
    "Mover",
    "Must",
    "Policy",
    "Rule",
    "Segment",
    "Snapshot",
    "caveats",
    "changes",
    "check_comparable",
    "compare",
    "decide",
    "differences",
    "flat",
    "lower_is_better",
    "moved",
    "movers",
    "policy",
    "read_baseline",
    "read_policy",
    "write_baseline",
    "write_fit",
]
