"""Labelling: ask people about pairs of query and document, and propose their labels as judgments."""

from typing import TYPE_CHECKING

from karat.core import open_lazily

if TYPE_CHECKING:
    from karat.labelling._agreement import measure_labels
    from karat.labelling._asking import (
        LONGEST_NOTE,
        Answer,
        find_last,
        next_task,
        save_label,
        show_task,
        undo_label,
    )
    from karat.labelling._desk import Desk, Guidelines, list_people, open_desk
    from karat.labelling._journal import check_namesake, fold_name
    from karat.labelling._making import DEPTH, MEASURE, QueuePlan, make_queue
    from karat.labelling._proposal import (
        Proposal,
        accept_proposal,
        apply_changes,
        describe_proposal,
        list_proposals,
        propose,
        read_proposal,
        refuse_proposal,
        show_proposal,
    )
    from karat.labelling._proposing import propose_case, propose_grade, propose_labels, propose_wording
    from karat.labelling._status import measure_queue, measure_status

__all__ = [
    "DEPTH",
    "LONGEST_NOTE",
    "MEASURE",
    "Answer",
    "Desk",
    "Guidelines",
    "Proposal",
    "QueuePlan",
    "accept_proposal",
    "apply_changes",
    "check_namesake",
    "describe_proposal",
    "find_last",
    "fold_name",
    "list_people",
    "list_proposals",
    "make_queue",
    "measure_labels",
    "measure_queue",
    "measure_status",
    "next_task",
    "open_desk",
    "propose",
    "propose_case",
    "propose_grade",
    "propose_labels",
    "propose_wording",
    "read_proposal",
    "refuse_proposal",
    "save_label",
    "show_proposal",
    "show_task",
    "undo_label",
]

# Imported at first use: each verb needs a few of them.
_HOME = {
    "measure_labels": "_agreement",
    **dict.fromkeys(
        ("LONGEST_NOTE", "Answer", "find_last", "next_task", "save_label", "show_task", "undo_label"),
        "_asking",
    ),
    **dict.fromkeys(("Desk", "Guidelines", "list_people", "open_desk"), "_desk"),
    **dict.fromkeys(("check_namesake", "fold_name"), "_journal"),
    **dict.fromkeys(("DEPTH", "MEASURE", "QueuePlan", "make_queue"), "_making"),
    **dict.fromkeys(
        (
            "Proposal",
            "accept_proposal",
            "apply_changes",
            "describe_proposal",
            "list_proposals",
            "propose",
            "read_proposal",
            "refuse_proposal",
            "show_proposal",
        ),
        "_proposal",
    ),
    **dict.fromkeys(("propose_case", "propose_grade", "propose_labels", "propose_wording"), "_proposing"),
    **dict.fromkeys(("measure_queue", "measure_status"), "_status"),
}

if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(__name__, _HOME)
