"""A golden-set candidate from live traffic, which a person looks at before anybody uses it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from msgspec.structs import replace

from karat.core import GoldenSet, Judgment, Query, Target, shorten
from karat.feedback._choosing import choose_diverse
from karat.feedback._gathering import Gathering, LiveQuery
from karat.feedback._judgments import BehaviourJudgment, judge_pairs
from karat.feedback._learning import DocumentConfidence, TriggerPhrase, Validation
from karat.feedback._picking import DEPTH, PEOPLE, SIZE, HarvestPicker, HarvestPlan, HarvestSums
from karat.feedback._rewording import Rewording, Rewordings
from karat.feedback._sessions import OUTCOMES, Oddities, Session
from karat.feedback._traffic import index_golden
from karat.files import write_file
from karat.golden import PARAPHRASES, pool, pool_rows, pool_text, write
from karat.text import folded

if TYPE_CHECKING:
    from karat.schema.feedback import BehaviourRow, HarvestReport

TO_JUDGE, BEHAVIOUR = "to-judge.jsonl", "behaviour.jsonl"
_NAMED = 10
"""How many queries without a document to judge are named."""
PHRASES, VALIDATIONS, CONFIDENCE = "phrases.jsonl", "validations.jsonl", "confidence.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Harvest:
    """Queries of live traffic with grades from behaviour, and the pairs that people should judge."""

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
    plan = HarvestPlan(size=size, people=people, depth=depth, least_sessions=least_sessions, seed=seed)
    gathering = Gathering(known=index_golden(golden))
    for session in sessions:
        gathering.add(session)
    picker = HarvestPicker(golden, plan)
    picker.add_gathered(gathering)
    return make_harvest(picker.sums, golden, plan, gathering, oddities or Oddities())


def make_harvest(
    sums: HarvestSums, golden: GoldenSet | None, plan: HarvestPlan, counts: QueryCounts, oddities: Oddities
) -> Harvest:
    """Return the harvest that sums over live queries stand for; ``counts`` has how many queries there were."""
    gold = golden or GoldenSet()
    chosen = sums.choice.choose()
    ids = {live.key: live.id for live in chosen}
    pairs = judge_pairs({live.key: live.pairs for live in chosen}, sums.totals)
    judgments = [(ids[folded(own.query)], own) for own in pairs]
    candidate = _make_candidate(gold, chosen, judgments)
    to_ask = choose_diverse(chosen, plan.people)
    rows = tuple(_make_pool(gold, candidate, to_ask, judgments, plan.depth))
    learnt = sums.list_learnt()
    report = _report(counts, sums, chosen, (to_ask, rows, judgments), oddities)
    proposed = Rewordings(gold).choose(sums.proposals)
    return Harvest(
        candidate=candidate,
        behaviour=tuple(_make_row(query, own) for query, own in judgments),
        to_judge=rows,
        report=replace(report, paraphrases=len(proposed), notes=(*report.notes, *learnt.notes)),
        rewordings=proposed,
        phrases=learnt.phrases,
        validations=learnt.validations,
        confidence=learnt.confidence,
    )


class QueryCounts(Protocol):
    """How many queries there were."""

    @property
    def total(self) -> int:
        """All of them."""

    @property
    def wordless(self) -> int:
        """Those without a word."""


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
    to_ask: Sequence[LiveQuery],
    judgments: Sequence[tuple[str, BehaviourJudgment]],
    depth: int,
) -> Iterable[Mapping[str, Any]]:
    """Return the rows of the pool: what any system returned, down to a depth, and all that behaviour is about."""
    systems = sorted({system for live in to_ask for system in live.lists})
    runs: list[dict[str, dict[str, float]]] = [
        {live.id: _score(live.lists[system].documents) for live in to_ask if system in live.lists} for system in systems
    ]
    touched: dict[str, list[str]] = {}
    names = {live.id for live in to_ask}
    for query, own in judgments:
        if query in names:
            touched.setdefault(query, []).append(own.document)
    behaviour = {query: _score(documents) for query, documents in touched.items()}
    runs.append(behaviour)
    runs.append(_search(gold, [live for live in to_ask if not live.lists], depth))
    whole = GoldenSet(
        grades=gold.grades, queries=tuple(query for query in candidate.queries if query.id in names),
        documents=gold.documents, classes=gold.classes,
    )  # fmt: skip
    order = {live.id: place for place, live in enumerate(to_ask)}
    pairs = pool(whole, runs, depth=depth)
    there = {(pair.query, pair.document) for pair in pairs}
    deepest = max(map(len, behaviour.values()), default=1)
    pairs += [pair for pair in pool(whole, [behaviour], depth=deepest) if (pair.query, pair.document) not in there]
    return pool_rows(whole, sorted(pairs, key=lambda pair: (order[pair.query], pair.rank, pair.document)))


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
    counts: QueryCounts,
    sums: HarvestSums,
    chosen: Sequence[LiveQuery],
    parts: tuple[Sequence[LiveQuery], Sequence[Mapping[str, Any]], Sequence[tuple[str, BehaviourJudgment]]],
    oddities: Oddities,
) -> HarvestReport:
    from karat.schema.feedback import HarvestGroup, HarvestReport

    for_people, rows, judgments = parts
    of = {(intent, outcome): n for intent, own in sums.choice.counts.items() for outcome, n in own.items()}
    taken = Counter((live.intent, str(live.outcome)) for live in chosen)
    order = {str(outcome): place for place, outcome in enumerate(OUTCOMES)}
    groups = sorted(of, key=lambda group: (order[group[1]], group[0]))
    wordless = (
        "1 query without a word is" if counts.wordless == 1 else f"{counts.wordless:,} queries without a word are"
    )
    notes = [f"{wordless} left out"] if counts.wordless else []
    if without := sum("text" not in row for row in rows):
        notes.append(f"{without:,} of {len(rows):,} pairs have no text to judge; name a golden set with documents")
    pooled = {row["query"] for row in rows}
    bare = [live for live in for_people if live.id not in pooled]
    notes += _note_bare(bare)
    graded = sum(own.grade is not None for _, own in judgments)
    return HarvestReport(
        asked=counts.total,
        distinct=sums.distinct,
        known=sums.known,
        rare=sums.rare,
        chosen=len(chosen),
        failures=sum(live.is_failure for live in chosen),
        for_people=len(for_people) - len(bare),
        pairs=len(rows),
        proposals=graded,
        unsure=len(judgments) - graded,
        groups=tuple(
            HarvestGroup(intent=intent, outcome=outcome, distinct=of[intent, outcome], chosen=taken[intent, outcome])
            for intent, outcome in groups
        ),
        oddities=oddities.describe(),
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
