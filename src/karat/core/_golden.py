"""A golden set: documents, queries, and judgments of how well the documents answer the queries."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from karat.core._judgment import SOURCES, Judgment, Source, Target
from karat.core._values import count_things

if TYPE_CHECKING:
    from karat.core._judgment_table import Grades, JudgmentTable

Unit = Literal["document", "target"]

GRADES = ("not relevant", "tangential", "answers part", "answers directly")
"""The meaning of the grades 0 to 3, unless a golden set declares its own."""
HIGHEST_GRADE = 255
"""The best grade that a golden set can have if its file does not declare a scale."""

_COLUMNS = "_judgment_table"
NORMALISER = "karat-1"
"""The version of the rules for canonical text (see :mod:`karat.text`), in which the bytes of a span are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document of the collection. ``text`` is the original text; spans count bytes of its canonical form."""

    id: str
    text: str = ""
    title: str = ""
    type: str = ""
    """The kind of record, such as KNOWLEDGE_ARTIFACT."""
    format: str = ""
    """markdown, text or json."""
    domain: str = ""
    tags: tuple[str, ...] = ()
    tier: str = ""
    """How important it is that the document is found: constitutional, critical, important, normal, temporary."""
    version: str = ""
    superseded_by: str = ""
    """The id of the document that replaces this one."""
    path: str = ""
    """The file of the text, relative to the golden set, if the text has its own file."""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def source_id(self) -> str:
        """The id under which a system can keep it apart from its own documents: ``golden:`` and its id."""
        return f"golden:{self.id}"

    @property
    def source_hash(self) -> str:
        """The SHA-256 of its text, by which a system can tell that it has changed."""
        return f"sha256:{hashlib.sha256(self.text.encode()).hexdigest()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The session that a query belongs to, and what the agent knows at that turn."""

    id: str
    documents: tuple[str, ...] = ()
    """The documents in working memory."""
    turn: int = 1
    remember: tuple[str, ...] = ()
    """The documents that the agent stores as memories before this turn. Before that, a live system has not got them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question that people ask, with everything about it except the judgments."""

    id: str
    text: str
    paraphrases: tuple[str, ...] = ()
    """The same question in other words."""
    category: str = ""
    type: str = ""
    """Such as factual, comparative, troubleshooting, sentiment, definition or how-to."""
    intent: str = ""
    answer: str = ""
    """The reference answer."""
    negatives: tuple[Target, ...] = ()
    """Hard negatives: targets that look relevant and are not."""
    anchors: tuple[Target, ...] = ()
    """The sections that contain the answer."""
    must_show: tuple[str, ...] = ()
    """Documents that must be among the hits."""
    chain: tuple[str, ...] = ()
    """Documents that answer the query only together, the cause first."""
    top_chunk: str = ""
    """The chunk that should come first."""
    session: Session | None = None
    answerable: bool = True
    """False if the right answer is no answer: the system should return nothing, or refuse."""
    harvested: str = ""
    """When the query was taken from live traffic; empty for a query that was written for the set."""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class GoldenSet:
    """Documents, queries and judgments, and the meaning of the grades.

    A golden set may contain mistakes, such as unknown or repeated ids; :func:`karat.golden.check` reports them.
    """

    name: str = "golden"
    version: str = ""
    description: str = ""
    created: str = ""
    grades: tuple[str, ...] = GRADES
    """The meaning of each grade, from 0 up."""
    relevant: int = 2
    """The lowest grade that counts as relevant."""
    normaliser: str = NORMALISER
    documents: tuple[Document, ...] = ()
    queries: tuple[Query, ...] = ()
    judgments: tuple[Judgment, ...] = ()
    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Documents that can stand for each other, by the name of their class."""
    gate: Mapping[str, float] = field(default_factory=dict)
    """The floors that a system has to reach on this set, by measure."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """What the reader noticed: unknown keys, rows that it left out."""

    def __post_init__(self) -> None:
        held: Any = self.judgments
        if hasattr(held, "grades"):  # a JudgmentTable, whose module is not imported without need
            vars(self)[_COLUMNS] = vars(self).pop("judgments")  # the objects are made when somebody asks for them

    def __repr__(self) -> str:
        """Return the name and the numbers of documents, queries and judgments: the fields would fill screens."""
        label = f"{self.name!r} {self.version}".strip()
        return (
            f"<GoldenSet {label}, {count_things(len(self.documents), 'document')}, "
            f"{count_things(len(self.queries), 'query', 'queries')}, {count_things(self.judgment_count, 'judgment')}>"
        )

    @property
    def _table(self) -> JudgmentTable | None:
        return vars(self).get(_COLUMNS)

    @property
    def held_judgments(self) -> Any:
        """The judgments as they are held, in columns or as objects; ``GoldenSet`` and ``replace`` take either."""
        return self.judgments if self._table is None else self._table

    @property
    def judgment_count(self) -> int:
        """How many judgments there are."""
        return len(self.held_judgments)

    @property
    def judgment_sources(self) -> set[Source]:
        """Where the judgments come from, without an object for each."""
        table = self._table
        return {judgment.source for judgment in self.judgments} if table is None else table.sources()

    @cached_property
    def judged_targets(self) -> tuple[Target, ...]:
        """Every target that has a judgment, in the order of the first ones; equal ones may come again."""
        if self._table is not None:
            return self._table.used_targets()
        return tuple({id(judgment.target): judgment.target for judgment in self.judgments}.values())

    @cached_property
    def used_grades(self) -> frozenset[int]:
        """Every grade that a judgment has."""
        if self._table is not None:
            return frozenset(self._table.grade.tolist())
        return frozenset(judgment.grade for judgment in self.judgments)

    def list_grades(self) -> Iterator[tuple[str, Target, int]]:
        """Yield query, target and grade of each judgment, without an object for each."""
        if self._table is None:
            yield from ((judgment.query, judgment.target, judgment.grade) for judgment in self.judgments)
            return
        queries, targets = self._table.queries, self._table.targets
        columns = (self._table.query, self._table.target, self._table.grade)
        for query, target, grade in zip(*(column.tolist() for column in columns), strict=True):
            yield queries[query], targets[target], grade

    def restrict(self, queries: Set[str]) -> GoldenSet:
        """Return the set with only some of its queries, and their judgments."""
        held: Any = None if self._table is None else self._table.select(queries)
        if held is None:
            held = tuple(judgment for judgment in self.judgments if judgment.query in queries)
        return replace(self, queries=tuple(query for query in self.queries if query.id in queries), judgments=held)

    @cached_property
    def document_by_id(self) -> dict[str, Document]:
        """The documents by id; the first one, if several have the same id."""
        return _index_by_id(self.documents)

    @cached_property
    def query_by_id(self) -> dict[str, Query]:
        """The queries by id; the first one, if several have the same id."""
        return _index_by_id(self.queries)

    @cached_property
    def memories(self) -> frozenset[str]:
        """The ids of the documents that agents store in the course of a session; the others are there from the start.

        >>> session = Session(id="s", turn=2, remember=("allergy",))
        >>> sorted(GoldenSet(queries=(Query(id="q", text="dinner?", session=session),)).memories)
        ['allergy']
        """
        return frozenset(document for _, document in self._stored)

    def is_stored(self, document: str, query: Query) -> bool:
        """Return whether a document is there when a query is asked: from the start, or as a memory of its session.

        >>> told = Query(id="q2", text="dinner?", session=Session(id="s", turn=2, remember=("allergy",)))
        >>> golden = GoldenSet(queries=(told,))
        >>> golden.is_stored("allergy", told), golden.is_stored("allergy", Query(id="q", text="dinner?"))
        (True, False)
        """
        if document not in self.memories:
            return True
        session = query.session
        return session is not None and self._stored.get((session.id, document), session.turn + 1) <= session.turn

    @cached_property
    def _stored(self) -> dict[tuple[str, str], int]:
        """The first turn before which a session stores a memory, by the ids of both."""
        stored: dict[tuple[str, str], int] = {}
        for session in [query.session for query in self.queries if query.session]:
            for document in session.remember:
                pair = (session.id, document)
                stored[pair] = min(session.turn, stored.get(pair, session.turn))
        return stored

    @cached_property
    def unanswerable(self) -> frozenset[str]:
        """The ids of the queries to which the right answer is no answer."""
        return frozenset(query.id for query in self.queries if not query.answerable)

    @cached_property
    def decided(self) -> dict[tuple[str, Target], int]:
        """The grade of each pair: that of the most trusted source, or the lower median of its annotators.

        >>> wifi = Target(document="wifi")
        >>> votes = [Judgment(query="q", target=wifi, grade=g, annotator=a) for g, a in [(3, "ana"), (2, "bo")]]
        >>> GoldenSet(judgments=tuple(votes)).decided[("q", wifi)]
        2
        >>> votes.append(Judgment(query="q", target=wifi, grade=3, source="validated"))
        >>> GoldenSet(judgments=tuple(votes)).decided[("q", wifi)]
        3
        """
        unique = self._unique_grades
        if unique is None or not unique.grouped:
            return self._count_votes()
        return {(query, target): grade for query, targets in unique.items() for target, grade in targets.items()}

    @property
    def grades_by_query(self) -> Grades:
        """The same for each query that has judgments; it takes a fraction of the time where there are very many."""
        return self._grades

    @property
    def repeats_pairs(self) -> bool:
        """Whether a query and a target were judged together more than once."""
        return self._unique_grades is None

    @cached_property
    def _grades(self) -> Grades:
        if self._unique_grades is not None:
            return self._unique_grades
        from karat.core._judgment_table import Grades

        grades: dict[str, dict[Target, int]] = {}
        for (query, target), grade in self.decided.items():
            grades.setdefault(query, {})[target] = grade
        return Grades.from_dict(grades, grouped=False)

    @cached_property
    def _unique_grades(self) -> Grades | None:
        """The grades by query and target; None if a pair was judged twice."""
        from karat.core._judgment_table import Grades

        if self._table is not None:
            return self._table.grades()
        grades: dict[str, dict[Target, int]] = {}
        query, own, groups = None, dict[Target, int](), 0
        for judgment in self.judgments:
            if judgment.query != query:
                query, groups = judgment.query, groups + 1
                own = grades.setdefault(query, {})
            size = len(own)
            own[judgment.target] = judgment.grade
            if len(own) == size:
                return None
        return Grades.from_dict(grades, grouped=groups == len(grades))

    def _count_votes(self) -> dict[tuple[str, Target], int]:
        votes: dict[tuple[str, Target], tuple[int, list[int]]] = {}
        for judgment in self.judgments:
            pair, trust = (judgment.query, judgment.target), SOURCES.index(judgment.source)
            best = votes.get(pair)
            if best is None or trust < best[0]:
                votes[pair] = (trust, [judgment.grade])
            elif trust == best[0]:
                best[1].append(judgment.grade)
        return {pair: grades[0] if len(grades) == 1 else _median_low(grades) for pair, (_, grades) in votes.items()}

    def relevant_targets(self) -> Iterator[tuple[str, list[Target]]]:
        """Yield queries with relevant targets, in the order of the judgments; a query comes again if they do."""
        if not self._grades.grouped:
            yield from ((query, [target]) for (query, target), grade in self.decided.items() if grade >= self.relevant)
            return
        yield from self._grades.at_least(self.relevant).targets_by_query()

    @cached_property
    def findable(self) -> frozenset[str]:
        """The ids of the queries that have a relevant target."""
        return frozenset(self._grades.at_least(self.relevant).queries_with_targets())

    def qrels(self, unit: Unit = "document") -> dict[str, dict[str, int]]:
        """Return ``{query: {unit: grade}}``. A document has the best grade of its parts.

        Every query is a key, including those without judgments.

        >>> part = Target(document="wifi", section="S.2")
        >>> golden = GoldenSet(queries=(Query(id="q", text="reset?"),),
        ...                    judgments=(Judgment(query="q", target=part, grade=3),))
        >>> golden.qrels(), golden.qrels("target")
        ({'q': {'wifi': 3}}, {'q': {'wifi#S.2': 3}})
        """
        qrels: dict[str, dict[str, int]] = {query.id: {} for query in self.queries}
        for query in self._grades.queries:
            if unit == "document":
                qrels[query] = self._grades.by_document(query)
            else:
                qrels[query] = {str(target): grade for target, grade in self._grades.pairs(query)}
        return qrels

    @cached_property
    def class_of(self) -> dict[str, str]:
        """The class of each document that is in one."""
        return {member: name for name, members in self.classes.items() for member in members}


class _Judgments:
    """Makes the objects of judgments that are held in columns, at the first use, as a cached property would."""

    def __get__(self, golden: GoldenSet | None, owner: type) -> tuple[Judgment, ...]:
        if golden is None:
            return ()  # the default of the field
        table = golden._table
        judgments: tuple[Judgment, ...] = table.judgments() if table is not None else ()
        vars(golden)["judgments"] = judgments
        return judgments


GoldenSet.judgments = _Judgments()  # type: ignore[assignment]


def _index_by_id(values: Iterable[Any]) -> dict[str, Any]:
    index: dict[str, Any] = {}
    for value in values:
        index.setdefault(value.id, value)
    return index


def _median_low(grades: list[int]) -> int:
    """Return the middle grade, or the lower of the two in the middle."""
    return sorted(grades)[(len(grades) - 1) // 2]
