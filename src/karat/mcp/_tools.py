"""The tools: what an agent may call, with which arguments, and which document it gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from karat.mcp import _arguments as arguments
from karat.schema import ComparisonDocument, DecisionDocument, ExplainDocument, RunListing, json_schema
from karat.schema.labelling import LabelProposal, LabelTask

_WORDS = ("description", "title", "$schema")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool, and what clients may assume about it."""

    name: str
    title: str
    description: str
    arguments: type[Struct]
    document: type[Struct]
    """The published document that it returns."""
    asks: bool = False
    """Whether it asks the system of the project, which may take long and reach outside."""
    writes: bool = False
    """Whether it leaves something in the project: a run, or a proposal."""

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return json_schema(self.arguments, title=self.name)

    @property
    def output_schema(self) -> dict[str, Any]:
        """The JSON Schema of the document, without its words: an agent's context is small, and the docs have them."""
        schema: dict[str, Any] = _strip(json_schema(self.document))
        return schema


def _strip(part: Any, *, names: bool = False) -> Any:
    """Return a part of a schema without words; with ``names`` its keys are names of fields, and all stay."""
    if isinstance(part, list):
        return [_strip(item) for item in part]
    if not isinstance(part, dict):
        return part
    return {
        key: _strip(value, names=key in ("properties", "$defs") and not names)
        for key, value in part.items()
        if names or key not in _WORDS
    }


TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            name="check",
            title="Check the project",
            description="Ask the project's retrieval system, as the code is now, every query of the golden set; score "
            "it, and decide by the gate: pass, fail or inconclusive, with the interval of each difference from the "
            "baseline. Saves the run. May take minutes.",
            arguments=arguments.CheckArguments,
            document=DecisionDocument,
            asks=True,
            writes=True,
        ),
        Tool(
            name="gate",
            title="Verdict on a saved run",
            description="Decide on a saved run by the project's gate, against its baseline: verdict, each rule with "
            "its difference and interval, and the queries that failed. Asks the system nothing.",
            arguments=arguments.GateArguments,
            document=DecisionDocument,
        ),
        Tool(
            name="compare_runs",
            title="Compare two runs",
            description="Compare two saved runs, or a run and the baseline: each measure with the difference, its 95 % "
            "interval and corrected p, and the queries that lost and won most.",
            arguments=arguments.CompareArguments,
            document=ComparisonDocument,
        ),
        Tool(
            name="explain",
            title="Explain why queries fail",
            description="Say why a query lost relevant documents and what to fix first, or group all failures by "
            "cause. Asks the system again with one thing changed, unless ask is false.",
            arguments=arguments.ExplainArguments,
            document=ExplainDocument,
            asks=True,
        ),
        Tool(
            name="list_runs",
            title="List saved runs",
            description="List the newest saved runs with date, branch, commit and means; the run of the baseline is "
            "marked.",
            arguments=arguments.ListArguments,
            document=RunListing,
        ),
        Tool(
            name="next_pair",
            title="Next pair to judge",
            description="Show the next pair of query and document that a person has put into a queue and nobody has "
            "judged, with its text and the meaning of the grades; systems and ranks are hidden. Read the resource "
            "guidelines first.",
            arguments=arguments.NextArguments,
            document=LabelTask,
        ),
        Tool(
            name="propose_judgment",
            title="Propose a judgment",
            description="Propose a grade for a pair of query and document. It is marked as a machine's, and comes into "
            "the golden set only when a person accepts it.",
            arguments=arguments.JudgmentArguments,
            document=LabelProposal,
            writes=True,
        ),
        Tool(
            name="propose_query",
            title="Propose a query",
            description="Propose a query that the golden set lacks, with a document that answers it, or a paraphrase "
            "of one that it has. A person decides.",
            arguments=arguments.QueryArguments,
            document=LabelProposal,
            writes=True,
        ),
    )
}
"""The tools by name, in the order in which they are listed."""
