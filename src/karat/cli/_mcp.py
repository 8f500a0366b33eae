"""``karat mcp``: a server for coding agents."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from karat.schema import DecisionDocument, ExplainDocument


@click.command("mcp")
@click.argument("folder", default=".", metavar="[DIR]")
def command(folder: str) -> None:
    """Serve project DIR to a coding agent with the Model Context Protocol, over standard input and output.

    The agent that starts it can check the project, decide on runs, compare and explain them, and propose judgments and
    queries. It cannot change the golden set or the baseline: only a person can. The server ends when its input ends. It
    needs the extra mcp.

    Example: karat mcp examples/hotel
    """
    from karat.net import require_package

    require_package("mcp", purpose="karat mcp", extra="mcp")
    from karat.mcp import serve

    serve(Path(folder), _texts())


def _texts() -> dict[str, Callable[[Any], str]]:
    """Return how a terminal shows the document of each tool, without colours."""
    from karat.cli._compare_text import comparison_text
    from karat.cli._label_next import task_text
    from karat.cli._label_show import proposal_text
    from karat.cli._runs_text import listing_text

    texts: dict[str, Callable[[Any], str]] = {
        "check": _decision_text,
        "gate": _decision_text,
        "compare_runs": comparison_text,
        "explain": _explain_text,
        "list_runs": listing_text,
        "next_pair": task_text,
        "propose_judgment": proposal_text,
        "propose_query": proposal_text,
    }
    return {name: _plain(render) for name, render in texts.items()}


def _decision_text(document: DecisionDocument) -> str:
    from karat.reports import render_text

    return render_text(document, run="")  # an agent cannot record a baseline


def _explain_text(document: ExplainDocument) -> str:
    from karat.cli._explain_text import explain_text

    return explain_text(document, single=bool(document.explained))


def _plain(render: Callable[[Any], str]) -> Callable[[Any], str]:
    """Return a renderer that uses no colours, whatever standard output is."""

    def render_plainly(document: Any) -> str:
        with redirect_stdout(io.StringIO()):
            return render(document)

    return render_plainly
