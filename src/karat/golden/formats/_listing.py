"""Files that list what is relevant, that grade it, or that do both, and then may contradict themselves.

- Grades count. What is listed and has no grade gets the lowest grade that is relevant: the list says that much, and
  no more. A file that only lists has a binary scale, on which that grade is 1.
- Where list and grades disagree, the list is kept in the query's metadata, so that the linter can tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from karat.core import GoldenSet, InputError, Judgment, Query, Target, check_id, shorten
from karat.files import Reading, Row
from karat.golden.formats._json import Named, Record
from karat.golden.formats._karat import relevant_from
from karat.golden.formats._scale import Scale, scale

LISTED = "relevant_entities"
"""The key of a query's metadata under which a list is kept that the grades contradict."""

HIGHEST = 255
"""The best grade that a file can have which does not say where its scale ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A query as it was read, before it is known what the file's grades mean."""

    row: Row
    """Where it stands, for messages."""
    query: Query
    listed: tuple[str, ...] | None
    """What is listed as relevant; None where there is no list."""
    grades: Mapping[str, int]

    def graded(self, relevant: int) -> dict[str, int]:
        """Give the grade of all that is graded or listed."""
        return {**self.grades, **{name: relevant for name in self.listed or () if name not in self.grades}}

    def agrees(self, relevant: int) -> bool:
        """Say whether the list, if there is one, holds what the grades call relevant."""
        good = {name for name, grade in self.graded(relevant).items() if grade >= relevant}
        return self.listed is None or set(self.listed) == good


D = TypeVar("D", bound=Draft)


def listed(row: Row, reading: Reading, name: str) -> tuple[str, ...] | None:
    """Read a list of ids, each taken once; None where there is no list."""
    if not row.has(name):
        row.ignore(name)
        return None
    found = row.ids(name)
    once = tuple(dict.fromkeys(found))
    if len(once) < len(found):
        reading.note(str(row.error(f"{shorten(name)} names an id twice; it is taken once")))
    return once


def grades_of(row: Row, name: str, top: int) -> dict[str, int]:
    """Read an object of grades from 0 to ``top`` by id, empty where there is none."""
    nested = row.row(name)
    if nested is None:
        return {}
    found = {}
    for key, value in row.mapping(name).items():
        if value is None or not 0 <= (grade := nested.integer(key)) <= top:
            raise nested.error(f"{shorten(key)} has grade {shorten(value)}, not one from 0 to {top}")
        found[nested.nested({"id": key}, shorten(key)).id("id")] = grade
    return found


def best(drafts: Iterable[Draft]) -> int:
    """Give the best grade of a file, 0 where there is none."""
    return max((grade for draft in drafts for grade in draft.grades.values()), default=0)


def inferred(top: int, source: str = "") -> Scale:
    """Give the scale of a file that declares none: binary up to 1, karat's four grades up to 3, else its own."""
    return scale(3 if top == 2 else top, source)


def fitting(drafts: Sequence[Draft], assumed: Scale) -> Scale | None:
    """Let relevant begin where lists and grades agree that it does; None where they agree nowhere.

    It may begin above the scale, when nothing is listed; but what is listed without a grade needs one on the scale.
    """
    top = len(assumed["grades"]) - 1
    for relevant in (assumed["relevant"], *range(top + 2)):
        on_scale = relevant <= top or all(draft.listed is None or not draft.listed for draft in drafts)
        if on_scale and all(draft.agrees(relevant) for draft in drafts):
            return {**assumed, "relevant": relevant}
    return None


def declared(head: Row, assumed: Scale) -> Scale:
    """Give the scale that a file's head declares, an extension of karat's, or the one that its format assumes."""
    grades = head.texts("grades")
    relevant = relevant_from(len(grades) - 1) if grades else assumed["relevant"]
    return {"grades": grades or assumed["grades"], "relevant": head.integer("relevant", default=relevant)}


def declaration(golden: GoldenSet, assumed: Scale) -> dict[str, Any]:
    """Give the fields of a head that declare a set's scale: none where the format assumes it anyway."""
    if not golden.grades:
        raise InputError("the set has no grades", hint="declare at least one")
    own: Scale = {"grades": golden.grades, "relevant": golden.relevant}
    return {} if own == assumed else {"grades": list(golden.grades), "relevant": golden.relevant}


def settled(
    drafts: Iterable[D], meaning: Scale, reading: Reading, target: Callable[[D, str], Target]
) -> tuple[tuple[Query, ...], tuple[Judgment, ...]]:
    """Make queries and judgments, now that the scale is known."""
    queries, judgments = [], []
    top, relevant = len(meaning["grades"]) - 1, meaning["relevant"]
    for draft in drafts:
        over = [name for name, grade in draft.grades.items() if grade > top]
        if over:
            what = f"{shorten(over[0])} has grade {draft.grades[over[0]]}, and the scale ends at {top}"
            reading.errors.append(draft.row.error(what))
        query = draft.query
        if not draft.agrees(relevant):
            query = replace(query, metadata={**query.metadata, LISTED: list(draft.listed or ())})
        queries.append(query)
        judgments += [
            Judgment(query=query.id, target=target(draft, name), grade=grade)
            for name, grade in draft.graded(relevant).items()
        ]
    return tuple(queries), tuple(judgments)


def whole(_: Draft, name: str) -> Target:
    """Take an id for that of a document."""
    return Target(document=name)


def contradicted(query: Query) -> list[str] | None:
    """Give the list of a query that its grades contradict, where one was kept."""
    kept = query.metadata.get(LISTED)
    usable = isinstance(kept, list) and all(isinstance(name, str) and name for name in kept)
    return kept if usable else None


def list_of(query: Query, grades: Mapping[str, int], relevant: int) -> list[str]:
    """Give what to list for a query: the list that was kept, else what the grades call relevant."""
    kept = contradicted(query)
    return [name for name, grade in grades.items() if grade >= relevant] if kept is None else kept


def check_queries(golden: GoldenSet) -> None:
    """Refuse what no file can hold whose records are queries with their judgments inside."""
    seen = set()
    for query in golden.queries:
        if check_id(query.id, "a query") in seen:
            raise InputError(f"query {shorten(query.id)} stands twice", hint="run 'karat golden check' on the set")
        seen.add(query.id)
    for judgment in golden.judgments:
        if judgment.query not in seen:
            what = f"a judgment names query {shorten(judgment.query)}, which the set does not have"
            raise InputError(what, hint="run 'karat golden check' on the set")


def check_grade(query: str, name: str, grade: int, top: int) -> None:
    """Refuse an id or a grade that would not be read again."""
    check_id(name, f"query {shorten(query)}")
    if not 0 <= grade <= top:
        raise InputError(f"query {shorten(query)} gives {shorten(name)} grade {grade}, not one from 0 to {top}")


def graded_queries(golden: GoldenSet, top: int) -> Iterator[tuple[Query, dict[str, int]]]:
    """Give each query with the grades of its documents, checked; a document has the best grade of its parts."""
    check_queries(golden)
    qrels = golden.qrels()
    for query in golden.queries:
        for name, grade in qrels[query.id].items():
            check_grade(query.id, name, grade, top)
        yield query, qrels[query.id]


def named(query: Query, record: Record) -> Named:
    """Give the record of a query with what to call it in a message."""
    return f"query {shorten(query.id)}", record
