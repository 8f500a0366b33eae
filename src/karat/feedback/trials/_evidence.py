"""What the sessions of a log say about two systems, by the source of the trial."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from karat.core import document_of
from karat.feedback._rebuild import rebuild_sessions
from karat.feedback._sessions import MOST_PER_SESSION, AskedQuery, Session
from karat.feedback.trials._outcomes import measure_behaviour
from karat.online import LoggedEvent, LoggedQuery, Record
from karat.online.interleaving import TEAMS, Interleaved, compare_session
from karat.online.shadow import AnsweredQuery, LoggedShadow
from karat.online.trials import SUCCESS, TrialPlan, is_behavioural
from karat.stats import pick_evenly

_TIMED = ("answered", "timeout")
"""What has a latency to compare: to fail may take no time."""


class Unreadable(Exception):
    """Variants of a session that make no sense, or a task outcome that is not from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What one session says. Lists stand for scores, so that all sessions are scored at once."""

    end: float
    variant: str = ""
    """The variant that it got first; empty where every session sees both."""
    mixed: bool = False
    values: Mapping[str, float] = field(default_factory=dict)
    """By measure: what it came to, or the difference where it saw both."""
    lists: Mapping[str, Sequence[AnsweredQuery]] = field(default_factory=dict)
    """By variant, what it was answered."""
    latencies: Mapping[str, Sequence[float]] = field(default_factory=dict)


def read_arms(records: Sequence[Record], plan: TrialPlan, measures: Collection[str]) -> Evidence:
    """Return what a session says that got one of the variants."""
    (session,) = _rebuild(records)
    if SUCCESS in measures and session.task_value is not None and session.task_outcome is None:
        raise Unreadable
    arms = [arm for search in session.queries if (arm := _find_arm(search.query, plan)) is not None]
    return replace(describe_session(session, arms[0], measures), end=records[-1].time, mixed=len(set(arms)) > 1)


def describe_session(session: Session, variant: str, measures: Iterable[str]) -> Evidence:
    """Return what a session came to, which got a variant."""
    queries = [search.query for search in session.queries]
    return Evidence(
        end=session.start + session.seconds,
        variant=variant,
        values=measure_behaviour(session, filter(is_behavioural, measures)),
        lists={variant: [_to_answered(query) for query in queries]},
        latencies={variant: _list_times(query.latency for query in queries)},
    )


def is_assigned(record: object, plan: TrialPlan) -> bool:
    """Return whether a record says which variant a session got."""
    return isinstance(record, LoggedQuery) and plan.feature in record.flags


def _find_arm(query: LoggedQuery, plan: TrialPlan) -> str | None:
    arm = query.flags.get(plan.feature)
    if arm is None or arm in plan.planned:
        return arm
    raise Unreadable


def read_teams(records: Sequence[Record], plan: TrialPlan, control: str, treatment: str) -> Evidence:
    """Return what a session says that saw both systems in one list."""
    (session,) = _rebuild(records)
    noted = [(search, _find_teams(search.query, plan.feature)) for search in session.queries]
    shown = [(search, teams) for search, teams in noted if teams is not None]
    pages = [_to_page(search, teams, (control, treatment)) for search, teams in shown]
    queries = [search.query for search, _ in shown]
    return Evidence(
        end=records[-1].time,
        values={plan.measure: compare_session(pages, treatment, control)},
        lists={name: [_to_channel(query, name) for query in queries] for name in (control, treatment)},
        latencies={name: _list_times(query.stages.get(name) for query in queries) for name in (control, treatment)},
    )


def is_interleaved(record: object, plan: TrialPlan) -> bool:
    """Return whether a record is a query with a list of both systems."""
    return isinstance(record, LoggedQuery) and _find_teams(record, plan.feature) is not None


def _to_page(search: AskedQuery, teams: Any, systems: tuple[str, str]) -> tuple[Interleaved, set[str]]:
    documents = search.query.documents
    known = (None, *systems)
    if not isinstance(teams, list) or len(teams) != len(documents) or any(team not in known for team in teams):
        raise Unreadable
    chosen = {*search.read, *search.helpful, *search.useful} - {*search.not_useful}
    start = _find_end(search.query, teams, *systems)
    fair = [None if place >= start and team == systems[1] else team for place, team in enumerate(teams)]
    return Interleaved(systems=systems, documents=documents, teams=tuple(fair)), chosen


def _find_end(query: LoggedQuery, teams: Sequence[str | None], control: str, treatment: str) -> int:
    """Return the place from which on the control had no document left when a round of the draft began.

    What the treatment adds from there on is compared with nothing: by chance alone, a longer list is clicked more.
    """
    documents = query.documents
    known = {document_of(name) for name in query.channels.get(control, ())}
    known.update(name for name, team in zip(documents, teams, strict=True) if team == control)
    places = {name: place for place, name in enumerate(documents)}
    last = max((places.get(name, len(documents)) for name in known), default=-1)
    place = next((place for place, team in enumerate(teams) if team is not None), len(teams))
    while place < len(teams) and place <= last:
        both = place + 1 < len(teams) and {teams[place], teams[place + 1]} == {control, treatment}
        place += 2 if both else 1
    return place


def read_shadows(records: Sequence[LoggedShadow], control: str, treatment: str) -> Evidence:
    """Return what a session says whose calls were answered by both systems, of which it saw the control."""
    runs = [run for run in records if run.is_comparable]
    latencies = {
        control: _list_times(run.control_latency for run in runs),
        treatment: _list_times(run.treatment_latency for run in runs if run.status in _TIMED),
    }
    lists = {
        control: [AnsweredQuery(text=run.text, documents=run.control[: run.k]) for run in runs],
        treatment: [
            AnsweredQuery(text=run.text, documents=run.treatment[: run.k], failed=run.status != "answered")
            for run in runs
        ],
    }
    return Evidence(end=records[-1].time, lists=lists, latencies=latencies)


def _list_times(latencies: Iterable[float | None]) -> list[float]:
    """Return the latencies that were measured; one below 0 is that of a clock that was set back meanwhile.

    Of very many, quantiles stand for all: a session is one of many, however much it asks.
    """
    measured = sorted(latency for latency in latencies if latency is not None and latency >= 0)
    return pick_evenly(measured, MOST_PER_SESSION)


def _rebuild(records: Sequence[Record]) -> list[Session]:
    queries = [record for record in records if isinstance(record, LoggedQuery)]
    events = [record for record in records if isinstance(record, LoggedEvent)]
    return list(rebuild_sessions(queries, events, idle=float("inf")))


def _find_teams(query: LoggedQuery, feature: str) -> Any:
    """Return whose each document is, in a list of a feature's trial; None in another list."""
    noted = query.attributes.get(TEAMS)
    return noted.get(feature) if isinstance(noted, Mapping) else None


def _to_answered(query: LoggedQuery) -> AnsweredQuery:
    return AnsweredQuery(text=query.text, documents=_once(query.documents), failed=bool(query.error))


def _to_channel(query: LoggedQuery, name: str) -> AnsweredQuery:
    """Return what one system found before the lists were put together."""
    ids = query.channels.get(name, ())
    return AnsweredQuery(text=query.text, documents=_once(map(document_of, ids)), failed=bool(query.error))


def _once(documents: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(documents))
