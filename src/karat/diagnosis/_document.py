"""A diagnosis as the document that ``karat explain`` prints; what is worse than in an earlier run comes first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from msgspec import structs

from karat.causes import LOWER, UNANSWERABLE, UNKNOWN, Case, Diagnosis, find_fall
from karat.core import InputError, Run, Trace, did_you_mean, shorten
from karat.diagnosis._against import find_changes, find_moves
from karat.diagnosis._hints import find_hints
from karat.diagnosis._worse import Falls
from karat.reports import printable
from karat.schema import CauseGroup, ExplainDocument, ExplainedQuery, SystemChange

_NAMED = 4
Change = Literal["", "worse", "new", "old"]
_ORDER: tuple[Change, ...] = ("worse", "", "new", "old")


def make_document(
    diagnosis: Diagnosis,
    run: Run,
    *,
    query: str | None = None,
    against: Run | None = None,
    baseline: Run | None = None,
    cut: int | None = None,
    falls: Falls | None = None,
) -> ExplainDocument:
    """Return a diagnosis as the document that ``karat explain --json`` prints.

    With ``against``, another run, it is about the queries that became worse. ``baseline`` is an accepted run: what
    became worse than it comes first. ``falls`` has the measures by which queries became worse; without it, those that
    lost more are worse. ``cut`` is the rank below which both runs lose documents; by default that is the k of each.
    """
    earlier = _make_earlier(diagnosis, run, against or baseline, cut, falls, is_baseline=against is None)
    unjudged = frozenset(case.query.id for case in diagnosis.cases if case.is_unjudged and not case.trace.error)
    failed = len(diagnosis.causes.keys() - unjudged)
    diagnosis = _add_fallen(diagnosis, earlier)
    shown = sorted(_select(diagnosis, earlier, query), key=earlier.place)
    kept = {case.query.id for case in shown}
    known = replace(diagnosis, causes={id_: findings for id_, findings in diagnosis.causes.items() if id_ in kept})
    groups = tuple(_advise(shown, group, earlier, single=query is not None) for group in _group(known, earlier))
    return ExplainDocument(
        run=run.provenance.title,
        file="",
        against=None if against is None else against.provenance.title,
        baseline=None if baseline is None else baseline.provenance.title,
        method="trace" if diagnosis.lab.system is None else "counterfactual",
        note="",
        cut=diagnosis.cases[0].cut if diagnosis.cases else 1,
        queries=len(diagnosis.cases),
        failed=failed,
        summary=_summarise_query(query, shown[0], groups) if query else _summarise(groups, unjudged, earlier),
        hints=tuple(find_hints(diagnosis)),
        groups=groups,
        what_if=diagnosis.what_if,
        explained=tuple(_explain(case, diagnosis, earlier, full=query is not None) for case in shown),
        worse=earlier.worse,
        changes=earlier.changes,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Earlier:
    """What an earlier run says about the queries of this one; empty if there is none."""

    name: str = ""
    """What texts call it: "the other run" or "the baseline"; "" if there is none."""
    answers: Mapping[str, Trace]
    """Its answer to each query's own text, if it is another run, which has all that moved."""
    falls: Falls
    status: Mapping[str, Change]
    """What became of each query."""
    changes: tuple[SystemChange, ...] = ()

    @property
    def worse(self) -> int | None:
        """How many queries are worse than in it; None if that is not known, as of a baseline of means alone."""
        return sum(change == "worse" for change in self.status.values()) if self.status else None

    @property
    def is_other_run(self) -> bool:
        return self.name == "the other run"

    def change(self, query: str) -> Change:
        return self.status.get(query, "")

    def weigh(self, query: str) -> float:
        """Return the greatest fall of a query."""
        return max((abs(was - now) for was, now in self.falls.get(query, {}).values()), default=0.0)

    def place(self, case: Case) -> tuple[int, float]:
        """Return the sort key of a query: what is worse comes first, the greatest fall before others."""
        return _ORDER.index(self.change(case.query.id)), -self.weigh(case.query.id)


def _make_earlier(
    diagnosis: Diagnosis, run: Run, earlier: Run | None, cut: int | None, falls: Falls | None, *, is_baseline: bool
) -> _Earlier:
    if earlier is None:
        return _Earlier(answers={}, falls={}, status={})
    answers = {trace.query: trace for trace in reversed(earlier.traces) if not trace.paraphrase and not trace.repeat}
    places = _find_cut(earlier, cut, diagnosis)
    status: dict[str, Change] = {}
    for case in diagnosis.cases if answers else ():
        before = answers.get(case.query.id)
        if before is None:
            status[case.query.id] = "new"
        else:
            status[case.query.id] = "worse" if _became_worse(case, before, places, falls) else "old"
    return _Earlier(
        name="the baseline" if is_baseline else "the other run",
        answers={} if is_baseline else answers,
        falls=falls or {},
        status=status,
        changes=find_changes(run.provenance, earlier.provenance),
    )


def _became_worse(case: Case, before: Trace, cut: int, falls: Falls | None) -> bool:
    """Return whether a query fell by a measure, or failed; without measures, whether it lost more."""
    if case.trace.error and not before.error:
        return True
    return replace(case, trace=before, cut=cut).loss < case.loss if falls is None else case.query.id in falls


def _find_cut(run: Run, cut: int | None, diagnosis: Diagnosis) -> int:
    """Return the rank below which another run loses documents: a smaller k than its own is a reason to be worse."""
    k = run.provenance.settings.get("k")
    if isinstance(k, int) and k > 0:
        return min(cut or k, k)
    return diagnosis.cases[0].cut if diagnosis.cases else 1


def _add_fallen(diagnosis: Diagnosis, earlier: _Earlier) -> Diagnosis:
    """Return the diagnosis with the queries that became worse although they lost nothing that had been found."""
    causes = diagnosis.causes
    fallen = {
        case.query.id: (find_fall(case), *causes.get(case.query.id, ()))
        for case in diagnosis.cases
        if earlier.change(case.query.id) == "worse"
        and (case.query.id not in causes or (case.fallen and not case.was_found))
    }
    return replace(diagnosis, causes=causes | fallen)


def _select(diagnosis: Diagnosis, earlier: _Earlier, query: str | None) -> list[Case]:
    """Return the queries that the document is about."""
    if query is not None:
        return [_find_case(diagnosis, query)]
    failed = [case for case in diagnosis.cases if case.query.id in diagnosis.causes]
    if earlier.is_other_run:
        return [case for case in failed if earlier.change(case.query.id) == "worse"]
    return failed


def _find_case(diagnosis: Diagnosis, query: str) -> Case:
    for case in diagnosis.cases:
        if case.query.id == query:
            return case
    ids = [case.query.id for case in diagnosis.cases]
    known = did_you_mean(query, ids) or f"; it has {', '.join(map(shorten, ids[:3]))} ..."
    raise InputError(f"the run has no query {shorten(query)}{known}")


def _group(diagnosis: Diagnosis, earlier: _Earlier) -> Iterator[CauseGroup]:
    """Yield the queries by what became of them, then by cause; of those that became worse the greatest falls first."""
    for change in _ORDER:
        causes = {id_: findings for id_, findings in diagnosis.causes.items() if earlier.change(id_) == change}
        groups = list(replace(diagnosis, causes=causes).groups)
        if change == "worse" and earlier.falls:
            groups.sort(key=lambda group: -sum(map(earlier.weigh, group.queries)))
        for group in groups:
            yield structs.replace(
                group, change=change, queries=tuple(sorted(group.queries, key=lambda id_: -earlier.weigh(id_)))
            )


def _explain(case: Case, diagnosis: Diagnosis, earlier: _Earlier, *, full: bool) -> ExplainedQuery:
    id_ = case.query.id
    return structs.replace(
        diagnosis.explain(case, full=full),
        moved=find_moves(case, earlier.answers[id_], diagnosis.lab) if id_ in earlier.answers else (),
        change=earlier.change(id_) if id_ in diagnosis.causes else "",
        falls=dict(earlier.falls.get(id_, {})),
    )


def _advise(cases: Sequence[Case], group: CauseGroup, earlier: _Earlier, *, single: bool) -> CauseGroup:
    """Return a group without a known cause with what is known: that an earlier run had found what it lost."""
    names = [printable(change.part, 60) for change in earlier.changes[:_NAMED]]
    more = " ..." if len(earlier.changes) > _NAMED else ""
    since = ", ".join(["look at what changed since", *names]) + more
    if group.cause == LOWER:
        return structs.replace(group, fix=since)
    if group.cause != UNKNOWN:
        return group
    count = sum(case.was_found for case in cases if case.query.id in group.queries)
    if count:
        what = f"what {count:,} of them lost" if count < len(group.queries) else "what is lost"
        return structs.replace(group, fix=f"{earlier.name} had found {what}: {since}")
    return structs.replace(group, fix="look at what beat its relevant documents") if single else group


def _summarise_query(query: str, case: Case, groups: tuple[CauseGroup, ...]) -> str:
    """Return the first line about one query."""
    if not groups:
        rest = f"; all of it is among the first {case.cut}" if case.expected else ""
        return f"query {shorten(query)} lost nothing relevant{rest}"
    (group,) = groups
    return (
        f"{group.title}: {find_fall(case).evidence}; {group.fix}"
        if group.cause == LOWER
        else f"{group.title}: {group.fix}"
    )


def _summarise(groups: tuple[CauseGroup, ...], unjudged: frozenset[str], earlier: _Earlier) -> str:
    """Return the first line: what to fix."""
    if not groups and earlier.is_other_run:
        return "no query became worse by a measure of the project; karat compare shows what moved among the documents"
    if not groups:
        return "no query lost something relevant"
    first = groups[0]
    worse = first.change == "worse"
    if first.cause == UNANSWERABLE and not worse:
        count = len(first.queries)
        return (
            f"{first.title}: {count:,} {'query' if count == 1 else 'queries'} without an answer got some; {first.fix}"
        )
    # A query without an answer, or for which nothing is judged relevant, has nothing to lose.
    losing: dict[str, int] = {}
    for group in groups:
        if (group.change == "worse") == worse and (worse or group.cause != UNANSWERABLE):
            losing[group.cause] = losing.get(group.cause, 0) + len({*group.queries} - unjudged)
    if not losing.get(first.cause):
        return f"{first.title}: nothing is judged relevant for {len(first.queries):,} queries; {first.fix}"
    which = "became worse" if worse else "lost something relevant"
    than = " than the baseline" if worse and not earlier.is_other_run else ""
    total = f"{losing[first.cause]:,} of the {sum(losing.values()):,} queries that {which}{than}"
    others = [group for group in groups[1:] if group.cause in losing and (group.change == "worse") == worse]
    known = next((group for group in others if group.cause not in (UNANSWERABLE, first.cause)), None)
    more = f"; next is {known.title}: {losing[known.cause]:,}" if first.cause == UNKNOWN and known else ""
    if losing.get(UNKNOWN, 0) > losing[first.cause]:
        more = f"; {losing[UNKNOWN]:,} have no known cause"
    return f"{first.title}: {total}{more}; {first.fix}"
