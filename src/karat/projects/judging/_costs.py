"""What it would take to decide: calls and money for more queries or more votes."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from karat.core import Trace, count_things
from karat.gate import Uncertainty
from karat.judges import JUDGES, Model, Usage
from karat.projects._project import Project

_REPLY_TOKENS = 200
_BYTES_PER_TOKEN = 4
_INSTRUCTIONS = 300  # tokens of a prompt


def estimate_costs(project: Project, uncertainty: Uncertainty, traces: Sequence[Trace]) -> dict[str, str]:
    """Return what more queries, and more votes, would cost: calls, and money where the project has prices."""
    judge = JUDGES.get(uncertainty.judge)
    if judge is not None and not judge.prompts:
        return {}
    calls = (judge.calls if judge is not None else 1) * max(len(traces) // max(uncertainty.n, 1), 1)
    extra: dict[str, int] = {}
    if uncertainty.needed_queries is not None:
        # Both runs are judged on the new queries.
        extra["queries"] = 2 * max(uncertainty.needed_queries - uncertainty.n, 0) * uncertainty.asked * calls
    if uncertainty.needed_votes is not None:
        extra["votes"] = 2 * (uncertainty.needed_votes - uncertainty.asked) * uncertainty.n * calls
    return {
        name: f"about {count_things(count, 'call')}{_price(project, traces, count)}" for name, count in extra.items()
    }


def _price(project: Project, traces: Sequence[Trace], calls: int) -> str:
    config = project.config.judges
    if not (config.url and config.model and (config.input_price or config.output_price) and traces):
        return ""
    size = fmean(len(trace.text) + len(trace.answer) + sum(len(hit.content) for hit in trace.hits) for trace in traces)
    usage = Usage(int(calls * (size / _BYTES_PER_TOKEN + _INSTRUCTIONS)), calls * _REPLY_TOKENS)
    return f", {Model.from_options(config).price(usage):.2f} in money"
