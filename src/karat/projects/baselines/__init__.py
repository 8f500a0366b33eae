"""The baseline of a project: accept a run as one, show it, compare with it, and bring it to a changed golden set."""

from karat.projects.baselines._acceptance import accept_run, summarise_acceptance
from karat.projects.baselines._bridge import bridge_judges
from karat.projects.baselines._rebasing import rebase_baseline, rebase_document
from karat.projects.baselines._summary import diff_baseline, read_project_baseline, summarise_baseline

__all__ = [
    "accept_run",
    "bridge_judges",
    "diff_baseline",
    "read_project_baseline",
    "rebase_baseline",
    "rebase_document",
    "summarise_acceptance",
    "summarise_baseline",
]
