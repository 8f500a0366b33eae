"""The JSON of labelling: lines of the files of labels, queues and proposals, and what ``karat label`` prints."""

from karat.schema.labelling._agreement import (
    CategoryAgreement,
    LabelAgreement,
    LabelDispute,
    LabelEstimate,
    LabellerAgreement,
    LabelPair,
)
from karat.schema.labelling._lines import (
    LabelHead,
    LabelLine,
    NewQuery,
    ProposalChange,
    ProposalDecision,
    ProposalHead,
    QueueHead,
    QueueRow,
)
from karat.schema.labelling._proposals import LabelProposal, LabelProposals, ProposalSummary, ProposedPair
from karat.schema.labelling._queues import (
    DecidedRuns,
    LabellerStatus,
    LabelQueue,
    LabelSaved,
    LabelStatus,
    LabelTask,
    OtherLabel,
)

__all__ = [
    "CategoryAgreement",
    "DecidedRuns",
    "LabelAgreement",
    "LabelDispute",
    "LabelEstimate",
    "LabelHead",
    "LabelLine",
    "LabelPair",
    "LabelProposal",
    "LabelProposals",
    "LabelQueue",
    "LabelSaved",
    "LabelStatus",
    "LabelTask",
    "LabellerAgreement",
    "LabellerStatus",
    "NewQuery",
    "OtherLabel",
    "ProposalChange",
    "ProposalDecision",
    "ProposalHead",
    "ProposalSummary",
    "ProposedPair",
    "QueueHead",
    "QueueRow",
]
