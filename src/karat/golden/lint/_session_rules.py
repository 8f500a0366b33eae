"""Rules on sessions: the order of their turns, and the memories that are stored between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from karat.core import GoldenSet, Query
from karat.golden.lint._id_rules import counted
from karat.golden.lint._rule import Finding, Subject, flag, rule


@rule("repeated-turn", "warning")
def repeated_turn(subject: Subject) -> Iterator[Finding]:
    """Two queries of a session have the same turn.

    Why: a system that remembers is asked the turns one after the other, and nothing says which of the two comes first.
        They are asked in the order of the set.
    Example: `q1` and `q2` of session `ana` both have turn 1, which is the default.
    Fix: number the turns of each session from 1.
    """
    turns = Counter((query.session.id, query.session.turn) for query in subject.golden.queries if query.session)
    repeated = [f"{session}: turn {turn}" for (session, turn), count in turns.items() if count > 1]
    if repeated:
        yield flag("repeated-turn", f"{counted(len(repeated), 'turn')} of a session with several queries", repeated)


@rule("memory-not-stored", "warning")
def memory_not_stored(subject: Subject) -> Iterator[Finding]:
    """A query should find a memory that its session has not stored by then.

    Relevant memories are checked, and those of must-show lists and chains.

    Why: a live memory cannot return what it does not have yet, or what belongs to another session, so the query lowers
        every recall, whatever the system does.
    Example: session `ana` stores `allergy` before turn 3, and `allergy` is relevant to the query of turn 2.
    Fix: store the memory earlier, or judge it for the queries that come later.
    """
    golden = subject.golden
    if not golden.memories:
        return
    wanted: dict[str, list[str]] = {}
    for query_id, targets in golden.relevant_targets():
        wanted.setdefault(query_id, []).extend(target.document for target in targets)
    missing = [
        f"{query.id}: {document}"
        for query in golden.queries
        for document in dict.fromkeys((*wanted.get(query.id, ()), *query.must_show, *query.chain))
        if not golden.is_stored(document, query) and not _has_twin(golden, document, query)
    ]
    if missing:
        message = f"{counted(len(missing), 'memory', 'memories')} that should be found before the session stores them"
        yield flag("memory-not-stored", message, missing)


def _has_twin(golden: GoldenSet, document: str, query: Query) -> bool:
    """Return whether another document of the same class, which counts as well, is stored by then."""
    members = golden.classes.get(golden.class_of.get(document, ""), ())
    return any(golden.is_stored(member, query) for member in members)
