"""Rules on versions: documents that replace others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from karat.golden.lint._id_rules import counted
from karat.golden.lint._rule import Finding, Subject, flag, rule


@rule("superseding-cycle", "error")
def superseding_cycle(subject: Subject) -> Iterator[Finding]:
    """Documents replace each other in a circle.

    Why: none of them is the current one, so every hit is stale.
    Example: `rates-2024` is superseded by `rates-2025`, and that by `rates-2024`.
    Fix: remove `superseded_by` from the current document.
    """
    follows = {document.id: document.superseded_by for document in subject.golden.documents if document.superseded_by}
    cycles = list(_cycles(follows))
    if cycles:
        message = f"{counted(len(cycles), 'circle')} of documents that supersede each other"
        yield flag("superseding-cycle", message, [" -> ".join(cycle) for cycle in cycles])


def _cycles(follows: Mapping[str, str]) -> Iterator[list[str]]:
    """Yield each circle once, beginning and ending with the document that comes first in the set."""
    done: set[str] = set()
    for start in follows:
        walked: dict[str, None] = {}
        at = start
        while at in follows and at not in done and at not in walked:
            walked[at] = None
            at = follows[at]
        if at in walked:
            path = list(walked)
            yield [*path[path.index(at) :], at]
        done.update(walked)


@rule("superseded-judged-higher", "warning")
def superseded_judged_higher(subject: Subject) -> Iterator[Finding]:
    """A document that was replaced is relevant to a query, and better than what replaced it.

    Why: the set rewards the stale answer. It is right only where the question is about the past.
    Example: `rates-2024` has grade 3 for "what does a double room cost?", `rates-2025`, which supersedes it, has 1.
    Fix: judge the current document at least as high, or ask about the past in the query.
    """
    golden = subject.golden
    follows = {document.id: document.superseded_by for document in golden.documents if document.superseded_by}
    involved = follows.keys() | set(follows.values())
    grades: dict[tuple[str, str], int] = {}
    for (query, target), grade in golden.decided.items() if follows else ():
        if target.document in involved:
            pair = (query, target.document)
            grades[pair] = max(grade, grades.get(pair, grade))
    stale = []
    for (query, document), grade in grades.items():
        if grade >= golden.relevant and document in follows:
            asked = golden.query_by_id.get(query)
            newer = [
                grades.get((query, successor), 0)
                for successor in _successors(document, follows)
                if asked is None or golden.is_stored(successor, asked)
            ]
            if newer and max(newer) < grade:
                stale.append(f"{query}: {document}")
    if stale:
        message = f"{counted(len(stale), 'pair')} in which a superseded document is graded higher than its successors"
        yield flag("superseded-judged-higher", message, stale)


def _successors(document: str, follows: Mapping[str, str]) -> list[str]:
    successors: dict[str, None] = {}
    while document in follows and follows[document] not in successors:
        document = follows[document]
        successors[document] = None
    return list(successors)
