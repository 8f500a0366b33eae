"""Queries that were asked before, asked of both systems now. A replay that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from karat import online
from karat.core import GoldenSet, InputError, SystemFailed, UsageError, count_things, is_text
from karat.files import read_bytes
from karat.online import Log, ingest, read_log
from karat.online._paths import find_paths
from karat.online._shadow_records import ANSWERED, CONTROL_FAILED, ShadowDraft
from karat.online.shadow._job import Job, Outcome, time_out
from karat.online.shadow._limits import EMPTY_FEATURE
from karat.online.shadow._sides import Side, open_side
from karat.online.shadow._threads import Runner

if TYPE_CHECKING:
    from karat.schema.shadow import ShadowReplay

TIMEOUT_SECONDS = 60.0
_PIECE = 500  # records between two steps into the store


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A query to ask again."""

    id: str
    """That of the log, of the golden set, or of the file."""
    text: str
    session: str = ""
    user: str = ""


def list_logged(
    store: str | os.PathLike[str], *, since: float | None = None, until: float | None = None, distinct: bool = False
) -> Iterator[Replayed]:
    """Yield the queries of a log; with ``distinct`` each text once."""
    seen: set[str] = set()
    with read_log(store) as log:
        for query in log.queries(since, until):
            if query.text and not (distinct and query.text in seen):
                seen.add(query.text)
                yield Replayed(id=query.id, text=query.text, session=query.session, user=query.user)


def list_golden(golden: GoldenSet, *, paraphrases: bool = False) -> Iterator[Replayed]:
    """Yield the queries of a golden set; with ``paraphrases`` in all of their wordings."""
    for query in golden.queries:
        yield Replayed(id=query.id, text=query.text)
        if paraphrases:
            for number, text in enumerate(query.paraphrases, 1):
                yield Replayed(id=f"{query.id}~{number}", text=text)


def read_queries(path: str | os.PathLike[str]) -> Iterator[Replayed]:
    """Yield the queries of a file, one in each line. Its id stands before a tab, or is the number of the line."""
    try:
        lines = read_bytes(path).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"is not text in UTF-8: {error}", source=os.fspath(path)) from None
    for number, line in enumerate(lines, 1):
        name, tab, text = line.partition("\t")
        text = (text if tab else name).strip()
        if text:
            yield Replayed(id=name.strip() if tab else str(number), text=text)


def replay(
    queries: Iterable[Replayed],
    control: object,
    treatment: object,
    *,
    feature: str,
    store: str | os.PathLike[str] = "karat.db",
    golden: GoldenSet | None = None,
    k: int = 10,
    timeout: float = TIMEOUT_SECONDS,
    say: Callable[[str], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ShadowReplay:
    """Ask both systems every query, one after the other, and write shadow runs into a store.

    Systems are those of :func:`open_side`; one that takes in documents gets those of ``golden``. Who is asked first
    alternates, so that neither always finds what the other one has warmed up. What the same two systems were asked
    before, with the same k, is not asked again; ``progress`` gets how many queries are done and how many there are.
    """
    from karat.schema.shadow import ShadowReplay

    if not is_text(feature):
        raise UsageError(EMPTY_FEATURE)
    sides = open_side(control, golden, say=say), open_side(treatment, golden, say=say)
    names = (sides[0].name, sides[1].name)
    if find_paths(store).is_log():
        ingest(store, wait=True)
    known = _list_known(store, feature)
    todo = {make_id(feature, query, k, names): query for query in queries}
    new = {name: query for name, query in todo.items() if name not in known}
    statuses: Counter[str] = Counter()
    asking = _Asking(sides, k, timeout, feature)
    with online.open(store, keep_ids=True) as log:
        for number, (name, query) in enumerate(new.items(), 1):
            statuses[asking.ask(log, name, query, swap=number % 2 == 0)] += 1
            if number % _PIECE == 0:
                ingest(store)
            if progress is not None:
                progress(len(todo) - len(new) + number, len(todo))
        dropped = log.dropped
    if find_paths(store).is_log():  # without a query to ask nothing was written
        ingest(store, wait=True)
    if dropped:
        raise SystemFailed(
            f"{count_things(sum(dropped.values()), 'shadow run')} could not be written: {', '.join(dropped)}"
        )
    if statuses and not statuses[ANSWERED]:
        reasons = ", ".join(f"{count:,} {status}" for status, count in statuses.items() if count)
        raise SystemFailed(f"of {len(new):,} queries none was answered by both systems: {reasons}")
    return ShadowReplay(
        store=os.fspath(store),
        feature=feature,
        control=names[0],
        treatment=names[1],
        queries=len(todo),
        before=len(todo) - len(new),
        asked=len(new),
        statuses=dict(statuses),
    )


def _list_known(store: str | os.PathLike[str], feature: str) -> set[str]:
    if not find_paths(store).has_store():
        return set()
    with read_log(store) as log:
        return log.shadow_ids(feature)


def make_id(feature: str, query: Replayed, k: int, systems: tuple[str, str]) -> str:
    """Return the id of a replayed query: the same for the same query, k and systems."""
    parts = "\0".join((feature, query.id, query.text, str(k), *systems))
    return f"replay-{hashlib.blake2b(parts.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}"


class _Asking:
    """Both systems, each asked in a thread of its own, which is replaced if it hangs."""

    def __init__(self, sides: tuple[Side, Side], k: int, timeout: float, feature: str) -> None:
        self._sides, self._k, self._timeout, self._feature = sides, k, timeout, feature
        self._runners: list[Runner | None] = [None, None]

    def ask(self, log: Log, id: str, query: Replayed, *, swap: bool) -> str:
        """Ask both systems a query, the treatment first if ``swap``; write the record, and return its status."""
        draft = ShadowDraft(id, time.time(), self._feature, query.text, query.session, query.user, query.id)
        draft.k, draft.source, draft.systems = self._k, "replay", (self._sides[0].name, self._sides[1].name)
        outcomes: dict[int, Outcome] = {}
        for side in (1, 0) if swap else (0, 1):
            outcomes[side] = self._ask(side, draft)
        control, treatment = outcomes[0], outcomes[1]
        draft.control, draft.control_latency = control.ids, control.latency
        draft.answers = control.answer, treatment.answer if control.status == ANSWERED else None
        if control.status == ANSWERED:
            draft.treatment, draft.treatment_latency = treatment.ids, treatment.latency
            draft.status, draft.error = treatment.status, treatment.error
        else:
            draft.status, draft.error = CONTROL_FAILED, control.error
        log.write(draft)
        return draft.status

    def _ask(self, side: int, draft: ShadowDraft) -> Outcome:
        runner = self._runners[side] or Runner(self._sides[side].call, self._timeout, lambda _: None)
        outcome = runner.run(Job(draft, (draft.text, self._k), {}))
        self._runners[side] = None if outcome is None else runner
        return outcome or time_out(self._timeout)
