"""How stable the answers of a run are, and blocks' summary of it."""

from __future__ import annotations

from collections.abc import Sequence

from karat.core import InputError, Run
from karat.evaluation import default_measures, stability_report
from karat.gate import BLOCKS, summarise_blocks
from karat.projects._gating import evaluate_run
from karat.projects._project import Project
from karat.schema.stability import BlocksSummary, StabilityReport


def measure_stability(project: Project, run: Run, measures: Sequence[str] = ()) -> StabilityReport:
    """Return how the scores and citations of a run differ from wording to wording, and from repeat to repeat.

    Without ``measures`` those of the project count. A run that asked everything once is an error.
    """
    chosen = measures or project.config.eval.measures or default_measures(project.golden)
    evaluation = evaluate_run(project, run, chosen)
    if not evaluation.variants:
        raise InputError(
            f"run {run.provenance.title} asked every question once, which says nothing about stability",
            hint="ask with 'karat eval --paraphrases', with '--repeat 2', or with both",
        )
    return stability_report(evaluation, project.golden)


def blocks_summary(project: Project, run: Run) -> BlocksSummary:
    """Return blocks' compact summary of a run: recall, precision, citations, delta-S and bad questions, by type too."""
    return summarise_blocks(evaluate_run(project, run, BLOCKS))
