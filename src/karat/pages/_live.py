"""The pages of live traffic: are people served, sessions as timelines, and cases for the golden set."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct, structs

from karat.config import read_config
from karat.feedback import AskedQuery, Session, SessionRecords, describe_line, find_session
from karat.index import Index, Indexer
from karat.labelling import Desk, describe_proposal, propose_case
from karat.monitoring import SPANS, Watched, find_span, take_snapshot
from karat.online import RE_SEARCH, LoggedEvent, LoggedQuery, read_log
from karat.pages._addresses import fill_address
from karat.pages._errors import NotReady, NotThere
from karat.pages._golden import PROPOSAL, Reason, Words
from karat.pages._judging import Id, Name
from karat.pages._store import LiveStore, find_store
from karat.pages._tables import Table
from karat.schema.labelling import LabelProposal
from karat.schema.pages import LivePage, QueryUse, SessionLine, SessionPage, TimelineHit, TimelineStep, TrafficSnapshot
from karat.store import is_address
from karat.text import folded

SESSION = "/sessions/{session:path}"
_HITS, _STEPS, _LONGEST = 10, 200, 2_000
_ORDER = {RE_SEARCH: 0, "query": 1}  # of what happened at the same time
_REFRESH = 30.0  # seconds after which a store at an address is taken for changed: nothing cheaper tells


class LiveRequest(Struct, frozen=True, kw_only=True):
    """Which span of time, and which sessions of it."""

    span: Annotated[
        Literal["", "day", "week", "month", "all"],
        Meta(description="Until now; empty for the shortest in which somebody asked something."),
    ] = ""
    outcome: Annotated[
        Literal["", "error", "nothing found", "not useful", "asked again", "unknown", "used"],
        Meta(description="Sessions with a query that ended so."),
    ] = ""
    q: Annotated[str, Meta(max_length=200, description="Words of a query.")] = ""
    after: Annotated[str, Meta(max_length=11_000, description="Where the last page ended: its field more.")] = ""
    limit: Annotated[int, Meta(ge=1, le=200)] = 25


class SessionRequest(Struct, frozen=True, kw_only=True):
    """Which session, and when it began."""

    session: Annotated[str, Meta(min_length=1, max_length=10_000, description="The field key of its line.")]
    at: Annotated[float, Meta(description="The field at of its line.")]


class CaseSent(Struct, frozen=True, kw_only=True):
    """A query of somebody, with grades of documents, for the golden set."""

    query: Id
    text: Words
    grades: Annotated[
        dict[str, Annotated[int, Meta(ge=0, le=99)]],
        Meta(max_length=50, description="By document. A form sends each as grades[DOCUMENT]; empty ones are left out."),
    ] = {}
    reason: Reason = ""
    who: Name = ""


def name_traffic(span: str) -> tuple[str, ...]:
    """Return the job that brings the traffic of a span up to date."""
    return "traffic", span


def keep_traffic(indexer: Indexer, store: str, span: str) -> None:
    """Look at the traffic of a span, and keep it in the index; the one without a name also counts golden queries."""
    place = find_store(indexer.folder, store)
    if not place.has_store:
        return
    project, now = indexer.open_project(), time.time()
    config = read_config(indexer.folder).online if project is None else project.config.online
    chosen = span if span in SPANS else find_span(place.place, now)
    watched = Watched(config=config, project=project)
    traffic = take_snapshot(place.place, watched, span=chosen, now=now)  # type: ignore[arg-type]
    indexer.keep(f"traffic {span}", {place.place: traffic.snapshot})
    if not span:
        indexer.keep("use", {_name_use(place, use.query): use for use in traffic.uses})


def sign_traffic(folder: Path, store: str) -> str:
    """Return a text that changes when the store does; empty if there is none."""
    place = find_store(folder, store)
    if not place.has_store:
        return ""
    if is_address(place.place):
        return f"{time.time() // _REFRESH}"
    stamps = []
    for path in (Path(place.place), Path(f"{place.place}-wal")):
        try:
            status = path.stat()
            stamps.append(f"{status.st_mtime_ns} {status.st_size}")
        except FileNotFoundError:
            stamps.append("")
    return " ".join(stamps)


def read_traffic(index: Index, store: LiveStore, span: str = "") -> TrafficSnapshot | None:
    """Return the traffic of a store and a span as it was last looked at; None if nobody looked yet."""
    return index.read_kept(f"traffic {span}", store.place, TrafficSnapshot)


def read_use(index: Index, store: LiveStore, query: str) -> QueryUse | None:
    """Return what people did who asked a golden query, with the titles of documents; None if nobody did."""
    use = index.read_kept("use", _name_use(store, query), QueryUse)
    if use is None:
        return None
    known = index.read_documents(own.document for own in use.documents)
    named = (
        structs.replace(own, title=known[own.document].title) if own.document in known else own for own in use.documents
    )
    return structs.replace(use, documents=tuple(named))


def _name_use(store: LiveStore, query: str) -> str:
    return f"{store.place}\n{query}"


def show_live(index: Index, store: LiveStore, request: LiveRequest) -> LivePage:
    """Return live traffic, with the sessions that the filters keep, a page at a time."""
    snapshot = read_traffic(index, store, request.span) if store.has_store else None
    if store.has_store and snapshot is None:
        raise NotReady("The log of live traffic is being read.", name_traffic(request.span))
    listed = snapshot.sessions if snapshot else ()
    words = request.q.casefold()
    kept = [
        line
        for line in listed
        if (not request.outcome or request.outcome in line.outcomes)
        and (not words or any(words in text.casefold() for text in line.texts))
    ]
    start = next((place + 1 for place, line in enumerate(kept) if _name_line(line.key, line.at) == request.after), 0)
    shown = kept[start : start + request.limit]
    has_more = start + request.limit < len(kept)
    return LivePage(
        project=index.meta.get("name", index.folder.name),
        store=store.name,
        exists=store.exists,
        has_store=store.has_store,
        span=request.span,
        traffic=None if snapshot is None else _name_store(snapshot, store.name, shown),
        matching=len(kept),
        listed=len(listed),
        more=_name_line(shown[-1].key, shown[-1].at) if has_more else None,
    )


def _name_store(snapshot: TrafficSnapshot, store: str, sessions: Sequence[SessionLine]) -> TrafficSnapshot:
    """Return a look at traffic with some of its sessions, and with the store as people call it."""
    return structs.replace(
        snapshot,
        report=structs.replace(snapshot.report, store=store),
        watch=structs.replace(snapshot.watch, store=store),
        sessions=tuple(sessions),
    )


def _name_line(key: str, at: float) -> str:
    return f"{at!r} {key}"


def link_session(key: str, at: float) -> str:
    """Return the address of a session."""
    return fill_address(SESSION, {"session": key, "at": repr(at)})


def show_session(index: Index, store: LiveStore, request: SessionRequest) -> SessionPage:
    """Return a session as a timeline: what was asked, what came back, and what somebody did with it."""
    if not store.has_store:
        raise NotThere(f"there is no store {store.name}, and no session")
    with read_log(store.place) as log:
        records = find_session(log, request.session, request.at)
    if records is None or not records.session.queries:
        raise NotThere("there is no such session in the log; it may have expired, or been forgotten")
    session = records.session
    steps = sorted(_list_steps(index, records), key=lambda step: (step.after, _ORDER.get(step.kind, 2)))
    first = session.queries[0].query
    return SessionPage(
        project=index.meta.get("name", index.folder.name),
        line=describe_line(session, records.events),
        user=first.user,
        system=first.system,
        steps=tuple(steps[:_STEPS]),
        more=max(0, len(steps) - _STEPS),
        grades=msgspec.json.decode(index.meta.get("grades", "[]"), type=tuple[str, ...]),
    )


def _list_steps(index: Index, records: SessionRecords) -> Iterator[TimelineStep]:
    session = records.session
    named = {hit.document for search in session.queries for hit in search.query.hits[:_HITS]}
    documents = index.read_documents((*named, *(event.document for event in records.events if event.document)))
    titles = {id_: document.title for id_, document in documents.items()}
    for search in session.queries:
        yield _describe_query(index, session, search, titles)
    for event in records.events:
        yield _describe_event(session, event, titles)


def _describe_query(index: Index, session: Session, search: AskedQuery, titles: Mapping[str, str]) -> TimelineStep:
    query = search.query
    return TimelineStep(
        after=max(0.0, query.time - session.start),
        kind="query",
        text=query.text[:_LONGEST],
        query=query.id,
        outcome=search.outcome,
        error=query.error[:_LONGEST],
        repeats=bool(search.repeats),
        milliseconds=query.latency,
        answer=(query.answer or "")[:_LONGEST],
        hits=tuple(_describe_hits(search, titles)),
        total=max(len(query.hits), query.count or 0),
        golden=_find_golden(index, query),
        proposed=f"live-{blake2b(folded(query.text).encode(), digest_size=6).hexdigest()}",
    )


def _describe_hits(search: AskedQuery, titles: Mapping[str, str]) -> Iterator[TimelineHit]:
    said = dict.fromkeys(search.not_useful, False) | dict.fromkeys(search.useful, True)
    seen: set[str] = set()
    for hit in search.query.hits:
        if hit.document in seen or len(seen) == _HITS:
            continue
        seen.add(hit.document)
        yield TimelineHit(
            document=hit.document,
            title=titles.get(hit.document, ""),
            rank=hit.rank,
            read=hit.document in search.read,
            useful=said.get(hit.document),
            passed=hit.document in search.passed,
            reused=hit.document in search.reused,
        )


def _describe_event(session: Session, event: LoggedEvent, titles: Mapping[str, str]) -> TimelineStep:
    return TimelineStep(
        after=max(0.0, event.time - session.start),
        kind=event.kind[:100],
        query=event.query,
        document=event.document[:_LONGEST],
        title=titles.get(event.document, ""),
        rank=event.rank,
        value=event.value,
    )


def _find_golden(index: Index, query: LoggedQuery) -> str:
    """Return the golden query that has the same words; empty if there is none."""
    key, positions = folded(query.text), index.search_queries(query.text.strip()[:_LONGEST])
    for own in index.read_queries(positions[:_HITS].tolist() if positions is not None else ()):
        if key in map(folded, (own.text, *own.paraphrases)):
            return own.id
    return ""


def send_case(desk: Desk, who: str, sent: CaseSent) -> tuple[LabelProposal, str]:
    """Propose a query of somebody as a golden one; return the proposal with its address."""
    proposal = propose_case(
        desk, sent.query.strip(), text=sent.text.strip(), grades=sent.grades, by=who, reason=sent.reason
    )
    return describe_proposal(desk, proposal), fill_address(PROPOSAL, {"proposal": proposal.head.name})


def table_live(page: LivePage) -> Table:
    """Return the sessions as rows."""
    head = ("session", "start", "seconds", "queries", "outcomes", "read", "task", "asked")
    rows = [
        (own.key, own.start, own.seconds, own.queries, "; ".join(own.outcomes), own.read, own.task,
         " | ".join(own.texts))
        for own in (page.traffic.sessions if page.traffic else ())
    ]  # fmt: skip
    return Table(head=head, rows=rows)


def table_session(page: SessionPage) -> Table:
    """Return the steps as rows."""
    head = ("after", "kind", "text", "outcome", "document", "rank", "value", "milliseconds")
    rows = [
        (own.after, own.kind, own.text, own.outcome, own.document, own.rank, own.value, own.milliseconds)
        for own in page.steps
    ]
    return Table(head=head, rows=rows)
