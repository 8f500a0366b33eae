"""Files that list what is relevant, grade it, or do both and may contradict themselves.

- Grades count. A listed id without a grade gets the lowest relevant grade, since the list says no more than that. A
  file with lists only has a binary scale, on which that grade is 1.
- Where list and grades disagree, the list is kept in the query's metadata, so that the linter can report it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from karat.core import GoldenSet, InputError, Judgment, Query, Target, check_id, shorten
from karat.files import Reading, Row
from karat.golden._questions import LISTED
from karat.golden.formats._json import Named, Record
from karat.golden.formats._karat import lowest_relevant
from karat.golden.formats._scale import Scale


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A query as it was read, before the meaning of the file's grades is known."""

    row: Row
    """Its row, for messages."""
    query: Query
    listed: tuple[str, ...] | None
    """The ids that are listed as relevant, or None without a list."""
    grades: Mapping[str, int]

    def all_grades(self, relevant: int) -> dict[str, int]:
        """Return the grade of every id that is graded or listed."""
        return {**self.grades, **{name: relevant for name in self.listed or () if name not in self.grades}}

    def agrees(self, relevant: int) -> bool:
        """Return whether the list, if there is one, holds exactly the ids that the grades call relevant."""
        good = {name for name, grade in self.all_grades(relevant).items() if grade >= relevant}
        return self.listed is None or set(self.listed) == good


D = TypeVar("D", bound=Draft)


def read_list(row: Row, reading: Reading, name: str) -> tuple[str, ...] | None:
    """Return a list of ids without repetitions, or None if the field is missing."""
    if not row.has(name):
        row.ignore(name)
        return None
    ids = row.ids(name)
    distinct = tuple(dict.fromkeys(ids))
    if len(distinct) < len(ids):
        reading.note(str(row.error(f"{shorten(name)} names an id twice; it is read once")))
    return distinct


def read_grades(row: Row, name: str, top: int) -> dict[str, int]:
    """Return an object of grades from 0 to ``top`` by id, empty if the field is missing."""
    nested = row.row(name)
    if nested is None:
        return {}
    grades = {}
    for key, value in row.mapping(name).items():
        if value is None or not 0 <= (grade := nested.integer(key)) <= top:
            raise nested.error(f"{shorten(key)} has grade {shorten(value)}, not one from 0 to {top}")
        grades[nested.nested({"id": key}, shorten(key)).id("id")] = grade
    return grades


def best_grade(drafts: Iterable[Draft]) -> int:
    """Return the best grade of a file, or 0 if it has no grades."""
    return max(best_grades(drafts), default=0)


def best_grades(drafts: Iterable[Draft]) -> list[int]:
    """Return the best grade of each query of a file, or 0 if it has none."""
    return [max(draft.grades.values(), default=0) for draft in drafts]


def fit_scale(drafts: Sequence[Draft], assumed: Scale) -> Scale | None:
    """Return the scale on which lists and grades agree, by changing where relevant begins, or None.

    Relevant may begin above the scale if nothing is listed. A listed id without a grade needs one on the scale.
    """
    top = len(assumed["grades"]) - 1
    for relevant in (assumed["relevant"], *range(top + 2)):
        on_scale = relevant <= top or all(draft.listed is None or not draft.listed for draft in drafts)
        if on_scale and all(draft.agrees(relevant) for draft in drafts):
            return {**assumed, "relevant": relevant}
    return None


def read_scale(head: Row, assumed: Scale) -> Scale:
    """Return the scale that a file's head declares, which is karat's extension, or else the one its format assumes."""
    grades = head.texts("grades")
    relevant = lowest_relevant(len(grades) - 1) if grades else assumed["relevant"]
    return {"grades": grades or assumed["grades"], "relevant": head.integer("relevant", default=relevant)}


def declare_scale(golden: GoldenSet, assumed: Scale) -> dict[str, Any]:
    """Return the fields of a head that declare a set's scale, or none if the format assumes it anyway."""
    if not golden.grades:
        raise InputError("the set has no grades", hint="declare at least one")
    own: Scale = {"grades": golden.grades, "relevant": golden.relevant}
    return {} if own == assumed else {"grades": list(golden.grades), "relevant": golden.relevant}


def declare_answerable(query: Query) -> dict[str, bool]:
    """Return the field by which a record says that its query has no answer, which is karat's extension."""
    return {} if query.answerable else {"answerable": False}


def settle(
    drafts: Iterable[D], meaning: Scale, reading: Reading, target_of: Callable[[D, str], Target]
) -> tuple[tuple[Query, ...], tuple[Judgment, ...]]:
    """Return the queries and judgments of drafts, now that the scale is known."""
    queries, judgments = [], []
    top, relevant = len(meaning["grades"]) - 1, meaning["relevant"]
    for draft in drafts:
        over = [name for name, grade in draft.grades.items() if grade > top]
        if over:
            problem = f"{shorten(over[0])} has grade {draft.grades[over[0]]}, and the scale ends at {top}"
            reading.errors.append(draft.row.error(problem))
        query = draft.query
        if not draft.agrees(relevant):
            query = replace(query, metadata={**query.metadata, LISTED: list(draft.listed or ())})
        queries.append(query)
        judgments += [
            Judgment(query=query.id, target=target_of(draft, name), grade=grade)
            for name, grade in draft.all_grades(relevant).items()
        ]
    return tuple(queries), tuple(judgments)


def target_document(_: Draft, name: str) -> Target:
    """Return the target of an id that is a document's."""
    return Target(document=name)


def contradicted_list(query: Query) -> list[str] | None:
    """Return the list that a query's grades contradict, or None if no such list was kept."""
    listed = query.metadata.get(LISTED)
    usable = isinstance(listed, list) and all(isinstance(name, str) and name for name in listed)
    return listed if usable else None


def choose_list(query: Query, grades: Mapping[str, int], relevant: int) -> list[str]:
    """Return the ids to list for a query: the list that was kept, else what the grades call relevant."""
    listed = contradicted_list(query)
    return [name for name, grade in grades.items() if grade >= relevant] if listed is None else listed


def check_queries(golden: GoldenSet) -> None:
    """Refuse a set that cannot be written as queries with their judgments inside."""
    seen = set()
    for query in golden.queries:
        if check_id(query.id, "a query") in seen:
            raise InputError(f"query {shorten(query.id)} appears twice", hint="run 'karat golden check' on the set")
        seen.add(query.id)
    for judgment in golden.judgments:
        if judgment.query not in seen:
            problem = f"a judgment names query {shorten(judgment.query)}, which the set does not have"
            raise InputError(problem, hint="run 'karat golden check' on the set")


def check_grade(query: str, name: str, grade: int, top: int) -> None:
    """Refuse an id or a grade that could not be read back."""
    check_id(name, f"query {shorten(query)}")
    if not 0 <= grade <= top:
        raise InputError(f"query {shorten(query)} gives {shorten(name)} grade {grade}, not one from 0 to {top}")


def graded_queries(golden: GoldenSet, top: int) -> Iterator[tuple[Query, dict[str, int]]]:
    """Yield each query with the checked grades of its documents. A document has the best grade of its parts."""
    check_queries(golden)
    qrels = golden.qrels()
    for query in golden.queries:
        for name, grade in qrels[query.id].items():
            check_grade(query.id, name, grade, top)
        yield query, qrels[query.id]


def name_record(query: Query, record: Record) -> Named:
    """Return the record of a query with its name for messages."""
    return f"query {shorten(query.id)}", record
