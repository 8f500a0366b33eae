"""A golden-set candidate from live traffic, which a person looks at before anybody uses it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from karat.core import GoldenSet, Judgment, Query, Target, UsageError, shorten
from karat.feedback._choosing import choose_diverse, choose_queries
from karat.feedback._gathering import Gathering, LiveQuery
from karat.feedback._judgments import BehaviourJudgment, judge_behaviour
from karat.feedback._learning import (
    LEAST_SESSIONS,
    DocumentConfidence,
    PhraseCounts,
    TriggerPhrase,
    Validation,
    list_validations,
    track_confidence,
)
from karat.feedback._pairs import count_pairs
from karat.feedback._rewording import Rewording, Rewordings
from karat.feedback._sessions import OUTCOMES, Oddities, Session
from karat.files import write_file
from karat.golden import PARAPHRASES, pool, pool_rows, pool_text, write
from karat.text import folded

if TYPE_CHECKING:
    from karat.schema.feedback import BehaviourRow, HarvestReport

PEOPLE = 50
"""For how many queries people are asked to judge the pool."""
SIZE = 200
DEPTH = 20
TO_JUDGE, BEHAVIOUR = "to-judge.jsonl", "behaviour.jsonl"
_NAMED = 10
"""How many queries without a document to judge are named."""
PHRASES, VALIDATIONS, CONFIDENCE = "phrases.jsonl", "validations.jsonl", "confidence.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Harvest:
    """Queries of live traffic with what behaviour says of their documents, and what people should judge."""

    candidate: GoldenSet
    """The queries, those that fail first, with implicit judgments; without documents."""
    behaviour: tuple[BehaviourRow, ...]
    """Where each judgment comes from, with its interval; and pairs of which too little is known for a grade."""
    to_judge: tuple[Mapping[str, Any], ...]
    """The rows of a pool, as :func:`karat.golden.pool_rows` writes them."""
    report: HarvestReport
    phrases: tuple[TriggerPhrase, ...] = ()
    """The phrases by which people reached documents, for an index that can learn them."""
    validations: tuple[Validation, ...] = ()
    """What people said of documents, each with its query, in the order of sessions."""
    confidence: tuple[DocumentConfidence, ...] = ()
    """How far all validations confirm each document."""
    rewordings: tuple[Rewording, ...] = ()
    """Texts of live traffic that may be paraphrases of golden queries."""

    def write(self, folder: str | Path) -> None:
        """Write the candidate to a new folder, with what to judge, where grades come from, and what could be learnt."""
        from karat.golden.formats import encode_line
        from karat.schema import to_plain

        write(self.candidate, folder)
        write_file(Path(folder, BEHAVIOUR), "".join(encode_line(to_plain(row)) for row in self.behaviour))
        learnt: dict[str, Sequence[TriggerPhrase | Validation | DocumentConfidence | Rewording]] = {
            PHRASES: self.phrases,
            VALIDATIONS: self.validations,
            CONFIDENCE: self.confidence,
            PARAPHRASES: self.rewordings,
        }
        for name, rows in learnt.items():
            write_file(Path(folder, name), "".join(encode_line(asdict(row)) for row in rows))
        write_file(Path(folder, TO_JUDGE), pool_text(self.to_judge))


def harvest(
    sessions: Iterable[Session],
    golden: GoldenSet | None = None,
    *,
    size: int = SIZE,
    people: int = PEOPLE,
    depth: int = DEPTH,
    least_sessions: int = 1,
    seed: int = 0,
    oddities: Oddities | None = None,
) -> Harvest:
    """Return a candidate for a golden set, made from sessions.

    Queries that differ in case, punctuation or articles are one, and those that ``golden`` has already are left out. Of
    the others ``size`` are taken: failures first, then every intent and outcome by its share. The ``people`` most
    diverse ones are to be judged: the union of the first ``depth`` documents of every system that answered them, or
    what their words find in the documents of ``golden`` if nothing came back. ``least_sessions`` leaves out what fewer
    sessions asked, which may be private.
    """
    if min(size, depth, least_sessions) < 1 or people < 0:
        raise UsageError("size, depth and least_sessions are at least 1, and people at least 0")
    gold = golden or GoldenSet()
    gathering = Gathering()
    phrases, validations, rewordings = PhraseCounts(), list[Validation](), Rewordings(gold)
    counts = count_pairs(_learn(rewordings.watch(gathering.watch(sessions)), phrases, validations))
    known = {folded(form) for query in gold.queries for form in (query.text, *query.paraphrases)}
    fresh = [live for key, live in gathering.queries.items() if key not in known]
    frequent = [live for live in fresh if live.sessions >= least_sessions]
    rare = {key for key, live in gathering.queries.items() if live.sessions < least_sessions}
    chosen = choose_queries(frequent, size, seed=seed)
    ids = {live.key: live.id for live in chosen}
    judgments = [(ids[key], own) for own in judge_behaviour(counts) if (key := folded(own.query)) in ids]
    candidate = _make_candidate(gold, chosen, judgments)
    asked = choose_diverse(chosen, people)
    rows = tuple(_make_pool(gold, candidate, asked, judgments, depth))
    proposed = rewordings.propose(frequent)
    report = _report(gathering, (fresh, frequent, chosen), (asked, rows, judgments), oddities)
    return Harvest(
        candidate=candidate,
        behaviour=tuple(_make_row(query, own) for query, own in judgments),
        to_judge=rows,
        report=replace(report, paraphrases=len(proposed)),
        rewordings=proposed,
        phrases=tuple(phrases.list_phrases(least=max(LEAST_SESSIONS, least_sessions))),
        validations=tuple(said for said in validations if folded(said.text) not in rare),
        confidence=tuple(track_confidence(validations)),
    )


def _learn(sessions: Iterable[Session], phrases: PhraseCounts, validations: list[Validation]) -> Iterator[Session]:
    """Yield sessions, and take note of what could be learnt from them."""
    for session in sessions:
        phrases.add(session)
        validations.extend(list_validations([session]))
        yield session


def _make_candidate(
    gold: GoldenSet, chosen: Sequence[LiveQuery], judgments: Sequence[tuple[str, BehaviourJudgment]]
) -> GoldenSet:
    days = {live.id: live.day for live in chosen}
    known = gold.document_by_id
    return GoldenSet(
        name=f"{gold.name} candidate" if gold.queries else "candidate",
        description="Harvested from live traffic. Judgments are from behaviour; a person has to look at them.",
        grades=gold.grades,
        relevant=gold.relevant,
        queries=tuple(
            Query(
                id=live.id, text=live.text, intent=live.intent, harvested=live.day,
                metadata={"outcome": live.outcome, "sessions": live.sessions, "failures": live.failures},
            )
            for live in chosen
        ),
        judgments=tuple(
            Judgment(
                query=query, target=Target(document=own.document), grade=_fit(own.grade, gold), source="implicit",
                annotator=f"behaviour {own.evidence}", confidence=round(own.low, 4), date=days[query],
            )
            for query, own in judgments
            if own.grade is not None and (not known or own.document in known)
        ),
    )  # fmt: skip


def _fit(grade: int, gold: GoldenSet) -> int:
    """Return a grade from 0 to 3 on the scale of a set, never higher than it is."""
    top = len(gold.grades) - 1
    return grade if top == 3 else grade * top // 3


def _make_pool(
    gold: GoldenSet,
    candidate: GoldenSet,
    asked: Sequence[LiveQuery],
    judgments: Sequence[tuple[str, BehaviourJudgment]],
    depth: int,
) -> Iterable[Mapping[str, Any]]:
    """Return the rows of the pool: what any system returned, and what behaviour is about."""
    systems = dict.fromkeys(system for live in asked for system in live.lists)
    runs: list[dict[str, dict[str, float]]] = [
        {live.id: _score(live.lists[system]) for live in asked if system in live.lists} for system in systems
    ]
    touched: dict[str, list[str]] = {}
    names = {live.id for live in asked}
    for query, own in judgments:
        if query in names:
            touched.setdefault(query, []).append(own.document)
    runs.append({query: _score(documents) for query, documents in touched.items()})
    runs.append(_search(gold, [live for live in asked if not live.lists], depth))
    whole = GoldenSet(
        grades=gold.grades, queries=tuple(query for query in candidate.queries if query.id in names),
        documents=gold.documents, classes=gold.classes,
    )  # fmt: skip
    order = {live.id: place for place, live in enumerate(asked)}
    pairs = sorted(pool(whole, runs, depth=depth), key=lambda pair: (order[pair.query], pair.rank, pair.document))
    return pool_rows(whole, pairs)


def _search(gold: GoldenSet, queries: Sequence[LiveQuery], depth: int) -> dict[str, dict[str, float]]:
    """Return what the words of queries find, for which nothing came back: somebody has to see what should have."""
    if not queries or not gold.documents:
        return {}
    from karat.systems.index import Lexical

    index = Lexical().build([f"{document.title} {document.text}" for document in gold.documents])
    return {
        live.id: {gold.documents[place].id: score for place, score in index.search(live.text, depth)}
        for live in queries
    }


def _score(documents: Sequence[str]) -> dict[str, float]:
    return {document: -float(place) for place, document in enumerate(documents)}


def _make_row(query: str, own: BehaviourJudgment) -> BehaviourRow:
    from karat.schema.feedback import BehaviourRow

    return BehaviourRow(
        query=query, document=own.document, grade=own.grade, evidence=own.evidence, estimate=own.estimate, low=own.low,
        high=own.high, n=own.n, estimator=own.estimator,
    )  # fmt: skip


def _report(
    gathering: Gathering,
    queries: tuple[Sequence[LiveQuery], Sequence[LiveQuery], Sequence[LiveQuery]],
    parts: tuple[Sequence[LiveQuery], Sequence[Mapping[str, Any]], Sequence[tuple[str, BehaviourJudgment]]],
    oddities: Oddities | None,
) -> HarvestReport:
    from karat.schema.feedback import HarvestGroup, HarvestReport

    (fresh, frequent, chosen), (asked, rows, judgments) = queries, parts
    of, taken = (Counter((live.intent, live.outcome) for live in own) for own in (frequent, chosen))
    order = {outcome: place for place, outcome in enumerate(OUTCOMES)}
    groups = sorted(of, key=lambda group: (order[group[1]], group[0]))
    wordless = (
        "1 query without a word is" if gathering.wordless == 1 else f"{gathering.wordless:,} queries without a word are"
    )
    notes = [f"{wordless} left out"] if gathering.wordless else []
    if without := sum("text" not in row for row in rows):
        notes.append(f"{without:,} of {len(rows):,} pairs have no text to judge; name a golden set with documents")
    pooled = {row["query"] for row in rows}
    bare = [live for live in asked if live.id not in pooled]
    notes += _note_bare(bare)
    graded = sum(own.grade is not None for _, own in judgments)
    return HarvestReport(
        asked=gathering.asked,
        distinct=len(gathering.queries),
        known=len(gathering.queries) - len(fresh),
        rare=len(fresh) - len(frequent),
        chosen=len(chosen),
        failures=sum(live.is_failure for live in chosen),
        for_people=len(asked) - len(bare),
        pairs=len(rows),
        proposals=graded,
        unsure=len(judgments) - graded,
        groups=tuple(
            HarvestGroup(intent=intent, outcome=outcome, distinct=of[intent, outcome], chosen=taken[intent, outcome])
            for intent, outcome in groups
        ),
        oddities=oddities.describe() if oddities else {},
        notes=tuple(notes),
        nothing_to_judge=tuple(live.id for live in bare),
    )


def _note_bare(queries: Sequence[LiveQuery]) -> Iterator[str]:
    """Yield what to do about queries without a document to judge, which would else stay out of every set."""
    if not queries:
        return
    names = ", ".join(f"{live.id} ({shorten(live.text)})" for live in queries[:_NAMED])
    more = f" and {len(queries) - _NAMED:,} more" if len(queries) > _NAMED else ""
    single = len(queries) == 1
    have, them = ("1 query has", "it") if single else (f"{len(queries):,} queries have", "them")
    yield (
        f"{have} nothing to judge, since nothing was shown and no document has {'its' if single else 'their'} words: "
        f'{names}{more}; if no document can answer {them}, set "answerable": false in queries.jsonl, otherwise add '
        f"rows to {TO_JUDGE}"
    )
