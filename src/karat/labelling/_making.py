"""Making queues: from runs, from files of rows, from what machines graded, and from what people disagree on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import numpy as np

from karat.core import NORMALISER, Document, GoldenSet, InputError, Span, UsageError, count_things, shorten
from karat.files import Reading, Row
from karat.golden import (
    Passage,
    Pooled,
    WeighedPool,
    blind_passages,
    find_giveaway,
    measure_passage,
    open_set,
    pool,
    read_runs,
    weigh_pool,
)
from karat.golden.formats import encode_query
from karat.labelling._desk import Desk
from karat.labelling._journal import check_name
from karat.labelling._queue import MOST_PEOPLE, VERSION, Queue, check_queue_name, choose_several, write_queue
from karat.schema.labelling import NewQuery, QueueHead, QueueRow
from karat.text import canonical

TO_JUDGE = "to-judge.jsonl"
"""The file of a candidate of ``karat harvest`` with what people should judge."""
DEPTH = 20
MEASURE = "DCG@10"
_PEOPLE = ("manual", "validated")
_SOURCES = {
    "pool": "runs, such as bm25.txt",
    "decide": "two runs",
    "rows": "files of 'karat golden pool', or candidates of 'karat harvest'",
    "uncertain": "files of 'karat golden judge'",
}
"""What a queue of each kind is made of."""
_NOTHING = {
    "rows": "the files have no row",
    "uncertain": "no row has the grade of a machine, as 'karat golden judge' writes it",
}
"""Why a queue would be empty."""
_IGNORED = ("title", "judged", "date", "section", "block", "span", "channels")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePlan:
    """How a queue is made."""

    name: str
    kind: str
    """pool, decide, rows, uncertain or disputes."""
    sources: tuple[str, ...] = ()
    """Runs for pool and decide; files of rows, or candidates of ``karat harvest``, for rows and uncertain."""
    depth: int = DEPTH
    measure: str = MEASURE
    overlap: float = 0.2
    """The share of the pairs that several people label."""
    people: int = 2
    """How many people label such a pair."""
    seed: int = 0
    adjudicator: str = ""

    def __post_init__(self) -> None:
        check_queue_name(self.name)
        if not 0 <= self.overlap <= 1:
            raise UsageError(f"overlap {self.overlap:g}: name a share from 0 to 1")
        if not 1 <= self.people <= MOST_PEOPLE:
            raise UsageError(f"people {self.people}: name how many label the same pair, such as 2")
        if self.kind == "disputes":
            if self.sources:
                raise UsageError("disputes come from the labels of people; leave out runs and files")
            if not self.adjudicator:
                raise UsageError("say who settles disputes: name an adjudicator, such as --adjudicator cy")
            check_name(self.adjudicator)
        elif self.adjudicator:
            raise UsageError("an adjudicator settles disputes; choose that kind of queue")
        elif not self.sources:
            raise UsageError(f"a queue of kind {shorten(self.kind)} needs {_SOURCES.get(self.kind, 'runs or files')}")


def make_queue(desk: Desk, plan: QueuePlan) -> tuple[Queue, tuple[str, ...]]:
    """Make a queue and write it to the project; return it, with notes on what was left out.

    Which pairs are in it is decided now, and so is which of them several people label: whoever comes later is asked the
    same.
    """
    if plan.adjudicator:
        desk.check_person(plan.adjudicator)
    rows, notes, more = _MAKERS[_check_kind(plan)](desk.golden, plan)
    if not rows and plan.kind != "disputes":
        why = "; ".join(notes) or _NOTHING.get(plan.kind, "all pairs are judged, or none of them can be")
        raise UsageError(f"there is nothing to label: {why}")
    head = QueueHead(
        karat="label-queue",
        version=VERSION,
        name=plan.name,
        kind=cast("Any", plan.kind),
        at=f"{datetime.now(tz=UTC):%Y-%m-%dT%H:%M:%SZ}",
        seed=plan.seed,
        overlap=plan.overlap,
        people=plan.people,
        adjudicator=plan.adjudicator,
        **{"sources": plan.sources, **more},
    )
    queue = Queue(head=head, rows=tuple(choose_several(rows, plan.overlap, plan.seed)))
    desk.prepare()
    write_queue(desk.queue_path(plan.name), queue)
    return queue, notes


def _check_kind(plan: QueuePlan) -> str:
    if plan.kind not in _MAKERS:
        raise UsageError(f"no kind of queue {shorten(plan.kind)}; choose {', '.join(_MAKERS)}")
    return plan.kind


Made = tuple[list[QueueRow], tuple[str, ...], dict[str, Any]]
"""Rows, notes, and what else the head of the queue says."""


@dataclass(slots=True)
class _Draft:
    """The row of a query while its documents are collected."""

    query: str
    documents: dict[str, None] = field(default_factory=dict)
    weights: list[float] = field(default_factory=list)
    spans: list[tuple[int, int] | None] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    judged: list[tuple[float, float]] = field(default_factory=list)
    lacking: list[float] = field(default_factory=list)
    new: NewQuery | None = None

    def finish(self) -> QueueRow:
        return QueueRow(
            query=self.query,
            documents=tuple(self.documents),
            weights=tuple(self.weights) if any(self.weights) else (),
            spans=tuple(self.spans) if any(self.spans) else (),
            texts=tuple(self.texts) if any(self.texts) else (),
            judged=tuple(self.judged),
            lacking=tuple(self.lacking),
            new=self.new,
        )


class _Drafts(dict[str, _Draft]):
    """The rows of queries, by id."""

    def __missing__(self, query: str) -> _Draft:
        return self.setdefault(query, _Draft(query))

    def finish(self) -> list[QueueRow]:
        return [draft.finish() for draft in self.values() if draft.documents or draft.judged or draft.lacking]


def _pool_runs(golden: GoldenSet, plan: QueuePlan) -> Made:
    ranked = read_runs(plan.sources)
    drafts = _Drafts()
    pairs = [pair for pair in pool(golden, ranked.tables, depth=plan.depth) if pair.grade is None]
    blind = blind_passages(golden, ranked, pairs)
    for pair in pairs:
        _add_pair(drafts[pair.query], golden, pair, blind.passages)
    return drafts.finish(), (*ranked.notes, *blind.notes), {"depth": plan.depth, "sources": ranked.files}


def _decide_runs(golden: GoldenSet, plan: QueuePlan) -> Made:
    ranked = read_runs(plan.sources)
    if len(ranked.tables) != 2:
        raise UsageError(f"a queue decides between two runs, and there are {len(ranked.tables):,}")
    weighed = weigh_pool(golden, (ranked.tables[0], ranked.tables[1]), plan.measure)
    drafts = _Drafts()
    blind = blind_passages(golden, ranked, _list_askable(golden, weighed))
    for pair, weight, gain in zip(weighed.pairs, weighed.weights.tolist(), weighed.gains.tolist(), strict=True):
        draft = drafts[pair.query]
        if gain == gain:
            draft.judged.append((weight, gain))
        elif golden.documents and pair.document not in golden.document_by_id:
            draft.lacking.append(weight)
        else:
            _add_pair(draft, golden, pair, blind.passages, weight)
    lacking = sum(len(draft.lacking) for draft in drafts.values())
    many = count_things(lacking, "pair that tells", "pairs that tell")
    note = f"{many} the runs apart cannot be judged: the set lacks the documents"
    notes = (*ranked.notes, *blind.notes, *([note] if lacking else []))
    return drafts.finish(), notes, {"measure": str(weighed.measure), "gains": weighed.gain_of_grade}


def _list_askable(golden: GoldenSet, weighed: WeighedPool) -> Iterator[Pooled]:
    """Yield the pairs that people can be asked about: nobody judged them, and the set has their documents."""
    for pair, gain in zip(weighed.pairs, weighed.gains.tolist(), strict=True):
        if gain != gain and not (golden.documents and pair.document not in golden.document_by_id):
            yield pair


def _add_pair(
    draft: _Draft,
    golden: GoldenSet,
    pair: Pooled,
    passages: Mapping[tuple[str, str], Passage],
    weight: float = 0.0,
) -> None:
    document = golden.document_by_id.get(pair.document)
    hits = [passages[pair.query, hit] for hit in pair.hits if (pair.query, hit) in passages]
    place = next((span for hit in hits if (span := _find(golden, document, hit.span, hit.text))), None)
    text = next((hit.text for hit in hits if hit.text), "") if document is None or not document.text else ""
    draft.documents[pair.document] = None
    draft.weights.append(weight)
    draft.spans.append(place)
    draft.texts.append(text)
    if not draft.new and pair.query not in golden.query_by_id:
        draft.new = NewQuery(text=next((hit.query_text for hit in hits if hit.query_text), ""))


def _find(golden: GoldenSet, document: Document | None, span: Span | None, text: str) -> tuple[int, int] | None:
    """Return where a passage stands in a document; None if it is all of it, or nobody knows."""
    if document is None or not document.text or golden.normaliser != NORMALISER:
        return None
    whole = canonical(document.text)
    data = whole.encode()
    if span is None and text.strip():
        start = whole.find(words := canonical(text).strip())
        offset = len(whole[: max(start, 0)].encode())
        span = Span(offset, offset + len(words.encode())) if start >= 0 else None
    if span is None or not 0 <= span.start < span.end <= len(data) or len(span) >= len(data.strip()):
        return None
    return span.start, span.end


def _read_rows(golden: GoldenSet, plan: QueuePlan) -> Made:
    drafts = _Drafts()
    rows = {source: list(_list_rows(Path(source))) for source in plan.sources}
    ungraded = {source: [row for row in own if row["grade"] is None] for source, own in rows.items()}
    giveaway = _blind_rows(golden, ungraded)
    for source, own in ungraded.items():
        fresh = _read_candidate(Path(source))
        for row in own:
            _add_row(drafts[row["query"]], golden, row, fresh)
    done = sum(map(len, rows.values())) - sum(map(len, ungraded.values()))
    notes = [f"{count_things(done, 'row has', 'rows have')} a grade already, left out"] if done else []
    return drafts.finish(), (*giveaway, *notes), {}


def _blind_rows(golden: GoldenSet, sources: Mapping[str, Sequence[dict[str, Any]]]) -> tuple[str, ...]:
    """Take the passages out of rows if they would tell which file a pair is from; return why, if that is so."""
    sizes = {
        source: [
            measure_passage(golden.document_by_id.get(row["document"]), Passage(text=row["passage"])) for row in rows
        ]
        for source, rows in sources.items()
    }
    giveaway = find_giveaway(sizes)
    for row in (row for rows in sources.values() if giveaway for row in rows):
        document = golden.document_by_id.get(row["document"])
        if document is not None and document.text:
            row["passage"] = ""
    return (giveaway,) if giveaway else ()


def _read_candidate(path: Path) -> Mapping[str, Mapping[str, Any]]:
    """Return the rows of the queries of a candidate, by id; nothing for a file."""
    return {query.id: encode_query(query) for query in open_set(path).queries} if path.is_dir() else {}


def _list_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file of ``karat golden pool`` or ``judge``, or of what a candidate has to judge."""
    file = path / TO_JUDGE if path.is_dir() else path
    reading = Reading()
    rows = []
    for row in reading.jsonl(file):
        with row:
            rows.append(_read_row(row))
    if reading.errors and not rows:
        hint = "a queue of runs has the kind pool or decide"
        raise InputError("has no rows as 'karat golden pool' writes them", source=str(file), hint=hint)
    reading.finish()
    yield from rows


def _read_row(row: Row) -> dict[str, Any]:
    row.ignore(*_IGNORED)
    return {
        "query": row.id("query"),
        "document": row.id("document"),
        "query_text": row.text("query_text", default=""),
        "text": row.text("text", default=""),
        "passage": row.text("passage", default=""),
        "grade": row.integer("grade", default=-1) if row.has("grade") else None,
        "source": row.text("source", default="manual"),
        "annotator": row.text("annotator", default=""),
        "confidence": row.number("confidence", default=None),
    }


def _add_row(
    draft: _Draft,
    golden: GoldenSet,
    row: Mapping[str, Any],
    fresh: Mapping[str, Mapping[str, Any]],
    weight: float = 0.0,
) -> None:
    if row["document"] in draft.documents:
        return
    document = golden.document_by_id.get(row["document"])
    draft.documents[row["document"]] = None
    draft.weights.append(weight)
    draft.spans.append(_find(golden, document, None, row["passage"]))
    draft.texts.append("" if document is not None and document.text else row["text"] or row["passage"])
    if draft.new is None and draft.query not in golden.query_by_id:
        own = fresh.get(draft.query, {"id": draft.query, "text": row["query_text"]})
        draft.new = NewQuery(text=str(own["text"]), row=dict(own) if own["text"] else {})


def _rank_uncertain(golden: GoldenSet, plan: QueuePlan) -> Made:
    """Return the pairs that machines graded and no person did, the least certain first.

    First come those on which judges differ most, then those with the lowest confidence, and then those whose grade is
    nearest to the border between relevant and not relevant.
    """
    by_people = {(own.query, own.target.document) for own in golden.judgments if own.source in _PEOPLE}
    graded: dict[tuple[str, str], list[dict[str, Any]]] = {}
    sources = {
        source: [row for row in _list_rows(Path(source)) if row["grade"] is not None and row["source"] not in _PEOPLE]
        for source in plan.sources
    }
    giveaway = _blind_rows(golden, sources)
    for row in (row for rows in sources.values() for row in rows):
        graded.setdefault((row["query"], row["document"]), []).append(row)
    drafts = _Drafts()
    for (query, document), rows in graded.items():
        if (query, document) not in by_people:
            _add_row(drafts[query], golden, rows[0], {}, _weigh_doubt(rows, golden))
    skipped = sum(pair in by_people for pair in graded)
    notes = [f"{count_things(skipped, 'pair has', 'pairs have')} grades of people, left out"] if skipped else []
    return drafts.finish(), (*giveaway, *notes), {}


def _weigh_doubt(rows: Sequence[Mapping[str, Any]], golden: GoldenSet) -> float:
    """Return how uncertain judges are of a pair, above 0."""
    grades = np.array([row["grade"] for row in rows], np.float64)
    surest = [row["confidence"] for row in rows if row["confidence"] is not None]
    doubt = 1 - min(max(min(surest), 0.0), 1.0) if surest else 0.0
    border = 1 / (1 + abs(float(grades.mean()) - (golden.relevant - 0.5)))
    return float(np.ptp(grades)) * 100 + doubt * 10 + border


def _list_nothing(golden: GoldenSet, plan: QueuePlan) -> Made:  # noqa: ARG001 (as the others)
    """Return no rows: what people disagree on is found while they label."""
    return [], (), {}


_MAKERS = {
    "pool": _pool_runs,
    "decide": _decide_runs,
    "rows": _read_rows,
    "uncertain": _rank_uncertain,
    "disputes": _list_nothing,
}
