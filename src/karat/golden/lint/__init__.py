"""The linter: what is wrong with a golden set, and what it can decide."""

from karat.golden.lint._asking import ALIKE
from karat.golden.lint._ceiling import Ceiling, ceiling
from karat.golden.lint._check import Report, check, find_rule, read_gate, read_index, rules, sections, unread
from karat.golden.lint._resolution import Resolution, Seen, resolution
from karat.golden.lint._rule import Finding, Rule
from karat.golden.lint._similar import clusters, near_duplicates

__all__ = [
    "ALIKE",
    "Ceiling",
    "Finding",
    "Report",
    "Resolution",
    "Rule",
    "Seen",
    "ceiling",
    "check",
    "clusters",
    "find_rule",
    "near_duplicates",
    "read_gate",
    "read_index",
    "resolution",
    "rules",
    "sections",
    "unread",
]
