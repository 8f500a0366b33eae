"""Shadow runs: a treatment is asked what the control was asked, off the caller's path, and their lists are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.core import open_lazily
from karat.online._shadow_records import CLASSES, STATUSES, LoggedShadow
from karat.online.shadow._limits import Limits
from karat.online.shadow._wrapper import Shadow

if TYPE_CHECKING:
    from karat.online.shadow._gate import gate_shadow
    from karat.online.shadow._judged import AnsweredQuery, score_lists
    from karat.online.shadow._replay import Replayed, list_golden, list_logged, read_queries, replay
    from karat.online.shadow._report import MEASURES, choose_feature, report_runs, report_shadow

__all__ = [
    "CLASSES",
    "MEASURES",
    "STATUSES",
    "AnsweredQuery",
    "Limits",
    "LoggedShadow",
    "Replayed",
    "Shadow",
    "choose_feature",
    "gate_shadow",
    "list_golden",
    "list_logged",
    "read_queries",
    "replay",
    "report_runs",
    "report_shadow",
    "score_lists",
]

# Imported on first use: a host that only has a shadow needs none of it.
_HOME = {
    **dict.fromkeys(("AnsweredQuery", "score_lists"), "_judged"),
    "gate_shadow": "_gate",
    **dict.fromkeys(("Replayed", "list_golden", "list_logged", "read_queries", "replay"), "_replay"),
    **dict.fromkeys(("MEASURES", "choose_feature", "report_runs", "report_shadow"), "_report"),
}
if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(__name__, _HOME)
