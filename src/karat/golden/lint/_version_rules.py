"""Rules on versions: documents that replace others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from karat.core import GoldenSet
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
    lines = _Lines(follows)
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for (query, target), grade in golden.decided.items() if follows else ():
        if target.document in lines:
            own = grades[query]
            own[target.document] = max(grade, own.get(target.document, grade))
    stale = [
        f"{query}: {document}"
        for query, own in grades.items()
        for document in lines.find_stale(own)
        if own[document] >= golden.relevant and _is_replaced(golden, document, follows, query)
    ]
    if stale:
        message = f"{counted(len(stale), 'pair')} in which a superseded document is graded higher than its successors"
        yield flag("superseded-judged-higher", message, stale)


def _is_replaced(golden: GoldenSet, document: str, follows: Mapping[str, str], query: str) -> bool:
    """Return whether the successor of a document is there when the query is asked; a session may store it later."""
    question = golden.query_by_id.get(query)
    return question is None or golden.is_stored(follows[document], question)


class _Lines:
    """Documents and what replaced them, numbered so that the successors of one are found without walking to them.

    Each document has a range of numbers that lies within those of its successors. The members of a circle, each of
    which follows itself, share one.
    """

    def __init__(self, follows: Mapping[str, str]) -> None:
        self._follows, self._ranges = follows, dict[str, tuple[int, int]]()
        self._circles = [cycle[:-1] for cycle in _cycles(follows)]
        self._circular = {document for circle in self._circles for document in circle}
        older: dict[str, list[str]] = defaultdict(list)
        for document, newer in follows.items():
            if document not in self._circular:
                older[newer].append(document)
        newest = dict.fromkeys(newer for newer in follows.values() if newer not in follows)
        for members in (*self._circles, *([document] for document in newest)):
            self._number(members, older)

    def _number(self, members: list[str], older: Mapping[str, list[str]]) -> None:
        """Number the members, which come last, and all that they follow."""
        first = len(self._ranges)
        stack = [child for member in members for child in older.get(member, ())]
        for member in members:
            self._ranges[member] = (first, first)
        while stack:
            document = stack.pop()
            if document in self._ranges:  # all that it follows has been numbered
                self._ranges[document] = (self._ranges[document][0], len(self._ranges))
                continue
            self._ranges[document] = (len(self._ranges), 0)
            stack += [document, *older.get(document, ())]
        for member in members:
            self._ranges[member] = (first, len(self._ranges))

    def __contains__(self, document: object) -> bool:
        return document in self._ranges

    def find_stale(self, grades: Mapping[str, int]) -> list[str]:
        """Return the graded documents that were replaced, and have a higher grade than all that replaced them."""
        stale, newer = set[str](), list[tuple[int, int]]()
        for document in sorted(grades, key=lambda document: self._ranges[document][0]):
            first, end = self._ranges[document]
            while newer and newer[-1][0] <= first:
                newer.pop()
            best = newer[-1][1] if newer else 0
            if document in self._follows and document not in self._circular and grades[document] > best:
                stale.add(document)
            newer.append((end, max(best, grades[document])))
        return [document for document in grades if document in stale]
