"""What each tool and resource does: its arguments and its function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from karat.mcp import _arguments as arguments
from karat.mcp import _projects as projects
from karat.mcp import _proposals as proposals
from karat.mcp._place import Place

ACTIONS: Mapping[str, tuple[type[Any], Callable[[Place, Any], Any]]] = {
    "check": (arguments.CheckArguments, projects.check),
    "gate": (arguments.GateArguments, projects.gate),
    "compare_runs": (arguments.CompareArguments, projects.compare),
    "explain": (arguments.ExplainArguments, projects.explain),
    "list_runs": (arguments.ListArguments, projects.list_saved),
    "next_pair": (arguments.NextArguments, proposals.next_pair),
    "propose_judgment": (arguments.JudgmentArguments, proposals.propose_judgment),
    "propose_query": (arguments.QueryArguments, proposals.propose_query),
    "policy": (arguments.NoArguments, projects.show_policy),
    "datasheet": (arguments.NoArguments, projects.read_datasheet),
    "guidelines": (arguments.NoArguments, proposals.read_guidelines),
}
