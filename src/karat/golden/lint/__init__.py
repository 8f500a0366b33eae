"""The linter: what is wrong with a golden set, and what it can decide.

A package adds rules of its own with the decorator :func:`rule`.
"""

from karat.golden.lint._asking import ALIKE
from karat.golden.lint._ceiling import Ceiling, ceiling
from karat.golden.lint._check import (
    PROFILES,
    Report,
    check,
    check_configured,
    explain,
    find_errors,
    find_rule,
    read_gate,
    read_index,
    rules,
    sections,
    unread,
)
from karat.golden.lint._resolution import Detectable, Resolution, resolution
from karat.golden.lint._rule import Finding, Rule, Subject, flag, rule
from karat.golden.lint._similar import clusters, near_duplicates

__all__ = [
    "ALIKE",
    "PROFILES",
    "Ceiling",
    "Detectable",
    "Finding",
    "Report",
    "Resolution",
    "Rule",
    "Subject",
    "ceiling",
    "check",
    "check_configured",
    "clusters",
    "explain",
    "find_errors",
    "find_rule",
    "flag",
    "near_duplicates",
    "read_gate",
    "read_index",
    "resolution",
    "rule",
    "rules",
    "sections",
    "unread",
]
