"""The spans of a trace as records: each retrieval with its channels, reranker, session and answer.

A retriever inside another is one of its channels, and so are retrievers side by side that were asked the same. What
the outermost span returned is what came back; a reranker after it, that was asked the same, has the last word.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from karat.online._drafts import EventDraft, QueryDraft, decode_draft
from karat.online.receiving._taking import ANSWER, EVENT, OUTPUT, RERANK, STEP, make_record_id, to_seconds
from karat.store import BufferedSpan

LATE_STAGE, LATE_ANSWER = "late_stage", "late_answer"
"""Events that say what came when the record of their query was written already."""
_RECENT = 8  # queries, or retrievers, that are looked back on


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """What the spans of a trace become."""

    drafts: list[QueryDraft | EventDraft]
    records: dict[str, str]
    """The record that each span is in."""
    counts: Counter[str]
    person: tuple[str, str]
    """The session and the user of the trace."""


@dataclass(slots=True)
class _Part:
    """A span that says something."""

    row: BufferedSpan
    draft: Any
    inner: list[_Part] = field(default_factory=list)
    is_leaf: bool = True

    @property
    def is_known(self) -> bool:
        return self.draft.count is not None

    @property
    def order(self) -> tuple[int, int, str]:
        return self.row.start, self.row.end, self.row.span


@dataclass(slots=True)
class _Group:
    """The spans of one query."""

    tops: list[_Part]
    reranks: list[_Part] = field(default_factory=list)
    answer: str | None = None

    @property
    def start(self) -> int:
        return self.tops[0].row.start

    def list_ids(self) -> set[str]:
        """Return the documents of the query, as far as it is known."""
        return {hit[0] for step in self.list_steps() for hit in step.draft.hits}

    def list_steps(self) -> list[_Part]:
        """Return all retrievers and rerankers of the query, in the order of time."""
        inner = (part for top in (*self.tops, *self.reranks) for part in top.inner)
        return sorted((*self.tops, *self.reranks, *inner), key=lambda part: part.order)


def join_trace(trace: str, rows: Sequence[BufferedSpan], written: Sequence[BufferedSpan]) -> Joined:
    """Return the records of the spans of a trace; ``written`` are those whose records are written already."""
    parts = {row.span: _Part(row, decode_draft(row.payload)) for row in rows if row.payload is not None}
    steps = {span: part for span, part in parts.items() if part.row.kind in (STEP, RERANK)}
    known = {row.span: row for row in written}
    done = {span for span, row in known.items() if row.kind in (STEP, RERANK)}
    above = _find_above(
        {**{row.span: row.parent for row in rows}, **{row.span: row.parent for row in written}}, {*steps, *done}
    )
    joining = _Joining(trace, _find_person(rows, written))
    tops: list[_Part] = []
    for span, top in _find_tops(above, steps.keys(), done).items():
        if top in done:
            joining.add_late_stage(steps[span], known[top].record)
        elif top == span:
            tops.append(steps[span])
        else:
            steps[top].inner.append(steps[span])
    _mark_leaves(steps, above)
    groups = _group(sorted(tops, key=lambda part: part.order))
    last = max((row for row in written if row.span in done), key=lambda row: row.start, default=None)
    texts = [part for part in parts.values() if part.row.kind in (ANSWER, OUTPUT) and part.row.span not in above]
    joining.add_answer(texts, groups, last)
    for group in groups:
        joining.add_query(group)
    for part in parts.values():
        if part.row.kind == EVENT:
            about = part.row.parent
            joining.add_event(part, [about, above.get(about, "")], known, last)
    return joining.joined


def _find_above(parents: dict[str, str], steps: set[str]) -> dict[str, str]:
    """Return for each span the nearest retriever or reranker around it, where there is one. Loops lead nowhere."""
    above: dict[str, str | None] = {}
    for span in parents:
        path = list[str]()
        at, result = span, None
        while at not in above:
            above[at] = None  # until it is known; a loop ends here
            path.append(at)
            parent = parents.get(at, "")
            if parent in steps and parent != at:
                result = parent
                break
            if parent not in parents:
                break
            at = parent
        else:
            result = above[at]
        for each in reversed(path):
            above[each] = result
            if each in steps:
                result = each
    return {span: step for span, step in above.items() if step is not None and step != span}


def _find_tops(above: dict[str, str], steps: Iterable[str], done: set[str]) -> dict[str, str]:
    """Return for each step the outermost one around it: itself, perhaps, or one that is done. A loop has one, too."""
    tops: dict[str, str] = {}
    for span in steps:
        path, at = dict.fromkeys([span]), span
        while at not in tops and at not in done and (over := above.get(at)) is not None and over not in path:
            path[over] = None
            at = over
        top = tops.get(at, at)
        tops |= dict.fromkeys(path, top)
    return {span: top for span, top in tops.items() if span not in done}


def _mark_leaves(steps: dict[str, _Part], above: dict[str, str]) -> None:
    """Mark the steps inside which no other says what came back."""
    for span, part in steps.items():
        at = span if part.is_known else ""
        while (over := steps.get(above.get(at, ""))) is not None and over.is_leaf:
            over.is_leaf = False
            at = over.row.span


def _find_person(rows: Sequence[BufferedSpan], written: Sequence[BufferedSpan]) -> tuple[str, str]:
    """Return the session and the user of a trace: those that its first span names."""
    ordered = sorted((*rows, *written), key=lambda row: (bool(row.parent), row.start))
    session = next((row.session for row in ordered if row.session), "")
    return session, next((row.user for row in ordered if row.user), "")


def _group(tops: Sequence[_Part]) -> list[_Group]:
    """Return the queries of a trace, in the order of time."""
    groups: list[_Group] = []
    by_text: dict[str, list[_Group]] = {}
    latest: dict[tuple[str, str], _Group] = {}
    for part in (part for part in tops if part.row.kind == STEP):
        key = part.row.parent, part.draft.text
        group = latest.get(key)
        if group is not None and part.draft.text and _belongs(part, group):
            group.tops.append(part)
            continue
        latest[key] = group = _Group([part])
        groups.append(group)
        by_text.setdefault(part.draft.text, []).append(group)
    recent = [(group, group.list_ids()) for group in groups[-_RECENT:]]
    for part in (part for part in tops if part.row.kind == RERANK):
        choices = by_text.get(part.draft.text, ()) or [group for group, ids in recent if _covers(ids, part)]
        place = bisect_right(choices, part.row.start, key=lambda group: group.start)
        if place:
            choices[place - 1].reranks.append(part)
        else:
            groups.append(_Group([part]))
    return sorted(groups, key=lambda group: group.tops[0].order)


def _covers(ids: set[str], part: _Part) -> bool:
    """Return whether a reranker may have got its documents from a query, although it was asked in other words."""
    return ids.issuperset(hit[0] for hit in part.draft.hits)


def _belongs(part: _Part, group: _Group) -> bool:
    """Return whether a retriever that was asked the same is another channel, and not the same one asked again."""
    last = group.tops[-1]
    return part.row.start < last.row.end or all(part.draft.tool != top.draft.tool for top in group.tops[-_RECENT:])


class _Joining:
    def __init__(self, trace: str, person: tuple[str, str]) -> None:
        self._trace, self._session, self._user = trace, *person
        self.joined = Joined(drafts=[], records={}, counts=Counter(), person=person)
        self._last: tuple[int, str, list[Any]] | None = None
        self._hits: dict[str, list[Any]] = {}

    def add_query(self, group: _Group) -> None:
        """Add the record of a query."""
        steps = group.list_steps()
        draft = _make_query(group, steps)
        draft.session, draft.user = self._fill(draft)
        self.joined.drafts.append(draft)
        self.joined.counts["queries"] += 1
        for step in steps:
            self.joined.records[step.row.span] = draft.id
        self._hits[draft.id] = draft.hits
        if self._last is None or self._last[0] <= group.start:
            self._last = group.start, draft.id, draft.hits

    def add_answer(self, texts: Iterable[_Part], groups: Sequence[_Group], last: BufferedSpan | None) -> None:
        """Add the last answer to the query before it; if that is written already, an event says it."""
        answers = sorted(texts, key=lambda part: (part.row.kind == ANSWER, part.row.end))
        if not answers:
            return
        part = answers[-1]
        before = [group for group in groups if group.start <= part.row.end] or groups[:1]
        if before:
            before[-1].answer = part.draft.answer
            record = make_record_id(self._trace, before[-1].tops[0].row.span)
        elif last is not None:
            record = last.record
            self._add_late(part, record, LATE_ANSWER, {"answer": part.draft.answer})
        else:
            return
        for each in answers:
            self.joined.records[each.row.span] = record

    def add_late_stage(self, part: _Part, record: str) -> None:
        """Add an event that says what a retriever returned, whose query is written already."""
        facts = {"stage": _label(part), "ids": [hit[0] for hit in part.draft.hits], "milliseconds": part.draft.latency}
        self._add_late(part, record, LATE_STAGE, facts)

    def _add_late(self, part: _Part, record: str, kind: str, facts: dict[str, Any]) -> None:
        session, user = self._fill(part.draft)
        at = to_seconds(part.row.start)
        self.joined.drafts.append(
            EventDraft(f"{part.draft.id}-late", at, kind, session, user, query=record, attributes=facts)
        )
        self.joined.counts["late"] += 1
        self.joined.records[part.row.span] = record

    def add_event(
        self, part: _Part, about: Sequence[str], known: dict[str, BufferedSpan], last: BufferedSpan | None
    ) -> None:
        """Add feedback, or what was done to a memory, with the query that it is about."""
        draft: EventDraft = part.draft
        named = (self.joined.records.get(span) or (known[span].record if span in known else "") for span in about)
        query = next((record for record in named if record), "")
        if not query:
            query = self._last[1] if self._last is not None else last.record if last is not None else ""
        draft.query = query
        draft.session, draft.user = self._fill(draft)
        hits = self._hits.get(query, [])
        if not draft.document and draft.rank and draft.rank <= len(hits):
            hit = hits[draft.rank - 1]
            draft.document = hit["id"] if isinstance(hit, dict) else hit[0]
        if not query:
            draft.attributes = {**(draft.attributes or {}), "trace": self._trace}
            self.joined.counts["unlinked"] += 1
        self.joined.drafts.append(draft)
        self.joined.counts["events"] += 1
        self.joined.records[part.row.span] = query or draft.id

    def _fill(self, draft: Any) -> tuple[str, str]:
        return draft.session or self._session, draft.user or self._user


def _make_query(group: _Group, steps: Sequence[_Part]) -> QueryDraft:
    first, result = group.tops[0], _find_result(group, steps)
    leaves = [part for part in steps if part.is_known and part.is_leaf]
    channels = _list_channels([part for part in leaves if part.row.kind == STEP]) if _is_fused(steps) else {}
    errors = {part.draft.tool: part.draft.error for part in steps if part.draft.error}
    outer = [*group.tops, *group.reranks]
    begin, end = min(part.row.start for part in outer), max(part.row.end for part in outer)
    draft: QueryDraft = first.draft
    draft.text = next((part.draft.text for part in steps if part.draft.text), "")
    draft.hits, draft.count, draft.error = result.draft.hits, result.draft.count, _find_error(group, result)
    draft.attributes = {**(result.draft.attributes or {}), **(first.draft.attributes or {})} or None
    if errors and not draft.error:
        draft.attributes = {**(draft.attributes or {}), "channel_errors": errors}
    if channels:
        draft.channels = channels
        draft.hits = _mark_channels(result.draft.hits, channels)
    draft.stages = _sum_stages(leaves or outer)
    draft.latency = max(0, end - begin) / 1e6 if end else None
    draft.session = next((part.draft.session for part in steps if part.draft.session), "")
    draft.user = next((part.draft.user for part in steps if part.draft.user), "")
    draft.answer = group.answer
    return draft


def _find_result(group: _Group, steps: Sequence[_Part]) -> _Part:
    """Return the span whose list came back: a reranker after all, else the outermost one that says it.

    What was found inside one that failed, and says nothing itself, did not come back.
    """
    outer = {id(part) for part in group.tops}
    after = {id(part) for part in group.reranks}
    failed = [top for top in (*group.tops, *group.reranks) if top.draft.error and not top.is_known]
    lost = {id(part) for top in failed for part in top.inner}

    def rank(part: _Part) -> tuple[bool, bool, bool, bool, int]:
        came_back = part.is_known and id(part) not in lost
        return came_back, id(part) in after, id(part) in outer, part.row.kind == RERANK, part.row.end

    return max(steps, key=rank)


def _find_error(group: _Group, result: _Part) -> str:
    """Return why a query failed: what came back says so, or all its outermost retrievers do, whatever came after."""
    if all(top.draft.error for top in group.tops):
        return str(result.draft.error or group.tops[-1].draft.error)
    return str(result.draft.error)


def _is_fused(steps: Sequence[_Part]) -> bool:
    return sum(part.is_known for part in steps) > 1


def _list_channels(leaves: Sequence[_Part]) -> dict[str, list[str]]:
    channels: dict[str, list[str]] = {}
    seen: Counter[str] = Counter()
    for part in leaves:
        name = part.draft.tool or "retriever"
        seen[name] += 1
        channels[name if seen[name] == 1 else f"{name}#{seen[name]}"] = [hit[0] for hit in part.draft.hits]
    return channels


def _mark_channels(hits: Sequence[Any], channels: dict[str, list[str]]) -> list[dict[str, Any]]:
    by_id: dict[str, list[str]] = {}
    for name, ids in channels.items():
        for id_ in dict.fromkeys(ids):
            by_id.setdefault(id_, []).append(name)
    return [{"id": hit[0], "score": hit[1], "channels": by_id.get(hit[0], [])} for hit in hits]


def _sum_stages(parts: Iterable[_Part]) -> dict[str, float]:
    times: dict[str, float] = {}
    for part in parts:
        if part.draft.latency is not None:
            times[_label(part)] = times.get(_label(part), 0.0) + part.draft.latency
    return times


def _label(part: _Part) -> str:
    return "rerank" if part.row.kind == RERANK else f"candidate.{part.draft.tool or 'retriever'}"
