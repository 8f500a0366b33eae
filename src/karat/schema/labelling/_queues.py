"""What ``karat label`` prints of queues and labels."""

from __future__ import annotations

from msgspec import Struct

from karat.schema._types import Count
from karat.schema.labelling._lines import Bytes, QueueKind, Verdict


class DecidedRuns(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known by now of two runs that a queue decides between. Who labels is not told which run is which."""

    measure: str
    confidence: float
    """The least probability that the run that looks better by what is judged is better; 0.5 if it is not known."""
    difference: float
    sd: float


class LabellerStatus(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one person has done in a queue."""

    who: str
    graded: Count
    skipped: Count
    cannot_tell: Count
    seconds: float | None
    """The lower median of the seconds that a label took; null if nobody took the time."""


class LabelQueue(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far a queue is done."""

    queue: str
    kind: QueueKind
    about: str
    """What its labels decide, in words."""
    pairs: Count
    several: Count
    """How many pairs several people label."""
    finished: Count
    """How many pairs have all the labels that they need."""
    labels: Count
    """How many labels there are: grades, and pairs of which somebody cannot tell."""
    needed: Count
    """How many labels are needed in all."""
    people: tuple[LabellerStatus, ...]
    decides: DecidedRuns | None
    """Null unless the queue decides between two runs."""
    adjudicator: str
    left_out: tuple[str, ...] = ()
    """Files whose labels are not counted, since they cannot be read, and what to do."""


class OtherLabel(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What somebody said of a pair that is disputed, without a name."""

    grade: Count | None
    """Null if that person cannot tell."""
    note: str


class LabelTask(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pair to label, with the texts to read, but without system and rank."""

    queue: str
    query: str
    query_text: str
    document: str
    title: str
    text: str
    """The document's canonical text; the passage alone, if the golden set does not have the document."""
    passage: Bytes | None
    """The bytes of ``text`` that a system returned; null if that is not known."""
    why: str
    grades: tuple[str, ...]
    """The meaning of each grade, from 0 up."""
    guideline: str
    """The version of the guidelines."""
    left: Count
    """How many pairs this person can label, with this one."""
    others: tuple[OtherLabel, ...]
    """What others said, where this person settles a dispute."""


class LabelSaved(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A label that is on the disk."""

    key: str
    who: str
    queue: str
    verdict: Verdict
    query: str
    document: str
    grade: Count | None
    span: Bytes | None
    repeated: bool
    """Whether it was saved before, with the same key."""
    notes: tuple[str, ...]
    """What was repaired, and whether the golden set still has what was taken back."""


class LabelStatus(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The queues of a project."""

    queues: tuple[LabelQueue, ...]
    people: tuple[str, ...]
    disputes: Count
    """Pairs on which people disagree, or of which nobody can tell, that nobody has settled."""
    guideline: str
    notes: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    """Files of labels and queues that cannot be read, and are left out, and what to do."""
