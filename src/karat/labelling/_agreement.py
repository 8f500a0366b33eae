"""How far people agree, from their labels."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from karat.core import count_things
from karat.labelling._book import Pair, list_grades, list_labels, settle
from karat.labelling._desk import Desk
from karat.labelling._state import list_disputes
from karat.schema.labelling import (
    CategoryAgreement,
    LabelAgreement,
    LabelDispute,
    LabelEstimate,
    LabellerAgreement,
    LabelPair,
)
from karat.stats.trust import LEAST_GROUPS, Estimate, RaterAgreement, measure_raters

_NOTHING = LabelEstimate(value=None, low=None, high=None)
NO_CATEGORY = "no category"
_FEW = 30  # pairs below which a few more change everything
_ACCEPTABLE = 2 / 3  # the alpha below which Krippendorff draws no conclusion
_MOSTLY = 0.8  # the share of one grade from which on chance explains most of the agreement


def measure_labels(desk: Desk, queue: str = "", *, seed: int = 0) -> LabelAgreement:
    """Return how far people agree on what several of them graded, in one queue or in all.

    The numbers are those of ``karat golden merge`` for the same grades. Intervals are from resampled queries. They are
    computed again when there is another label, or the golden set was changed. Labels of a file that cannot be read are
    left out, which it says.
    """
    with desk.lock:
        desk.book.refresh()
        mark = (desk.book.edition, len(desk.book.changes), seed, desk.left_out, desk.list_queues())
        golden = desk.golden
    kept = desk.agreements.get(queue)
    if kept is None or kept[0] != mark or kept[1] is not golden:
        kept = (mark, golden, _measure(desk, queue, seed))
        desk.agreements[queue] = kept
    return kept[2]


def _measure(desk: Desk, queue: str, seed: int) -> LabelAgreement:
    scope = desk.open_queue(queue).queue if queue else None
    advice = _advise_more(desk, queue)
    with desk.lock:
        desk.book.refresh()
        # In an order of their own, or the intervals would depend on who labelled what first.
        pairs = sorted(
            ((pair, votes) for pair, votes in desk.book.pairs() if scope is None or scope.find(pair) is not None),
            key=lambda own: own[0],
        )
        votes = {pair: list_grades(own) for pair, own in pairs}
        settled = sum(settle(own) is not None for _, own in pairs)
        chosen = {pair for pair, _ in pairs}
        disputes = [_make_dispute(desk, pair) for pair in list_disputes(desk.book) if pair in chosen]
        categories = {name: query.category for name, query in desk.golden.query_by_id.items()}
        left_out = desk.left_out
    people = sorted({who for grades in votes.values() for who in grades})
    shared = {pair: grades for pair, grades in votes.items() if len(grades) > 1}
    queries = len({query for query, _ in shared})
    table = _make_table(people, list(shared.values()))
    measured = (
        measure_raters(table, [query for query, _ in shared], rng=np.random.default_rng(seed)) if shared else None
    )
    return LabelAgreement(
        people=tuple(people),
        pairs=len(shared),
        same=None if measured is None else measured.same,
        alpha=_write(measured.alpha if measured else None, queries),
        fleiss=_write(measured.fleiss if measured else None, queries),
        kappa=tuple(_list_kappas(people, measured, queries)),
        by_person=tuple(_compare_people(people, votes, table, measured, queries)),
        by_category=tuple(_compare_categories(list(shared), table, categories, seed)),
        settled=settled,
        disputes=tuple(disputes),
        notes=tuple(_list_notes(shared, measured, advice)) if measured else (advice,),
        left_out=left_out,
    )


def _advise_more(desk: Desk, queue: str) -> str:
    """Return what to do to have more pairs that several people graded: go on with a queue, or make one."""
    states = [desk.open_queue(queue)] if queue else desk.open_queues()[0]
    with desk.lock:
        waiting = {state.queue.name: count for state in states if (count := state.count_shared_left())}
        if not waiting:
            share = min(1.0, 2 * max((state.queue.head.overlap for state in states), default=0.1))
            command = f"karat label queue NAME RUN --overlap {share or 0.2:g}"
            return f"Let more pairs of a queue be graded by two people: `{command}`."
        name = max(waiting, key=lambda own: waiting[own])
        state = next(state for state in states if state.queue.name == name)
        lacking = state.count_lacking()
        who = max(sorted(lacking), key=lambda own: lacking[own]) if any(lacking.values()) else "people"
        more = count_things(waiting[name], "more pair", "more pairs")
        is_one = waiting[name] == 1
        return f"{more} of {name} {'is' if is_one else 'are'} for {state.queue.head.people} people: let {who} go on."


def _list_notes(shared: Mapping[Pair, Mapping[str, int]], measured: RaterAgreement, advice: str) -> Iterator[str]:
    """Yield what to know before the numbers are believed, and what to do."""
    if len(shared) < _FEW:
        yield (
            f"{len(shared)} shared {'pair is' if len(shared) == 1 else 'pairs are'} few: a few more may change every "
            f"number. {advice}"
        )
    counts = Counter(grade for grades in shared.values() for grade in grades.values())
    total = counts.total()
    (grade, most), chance = counts.most_common(1)[0], sum((count / total) ** 2 for count in counts.values())
    if len(counts) == 1:
        yield f"Every grade is {grade}: nothing tells agreement from chance. Ask about pairs that differ."
    elif most / total >= _MOSTLY and measured.alpha.value < _ACCEPTABLE:
        yield (
            f"{most} of {total} grades are {grade}, so that people would give {chance:.0%} of the pairs the same grade "
            "by chance alone. Alpha and kappa count only what is beyond that, and can be low, even below zero, "
            "although people nearly always agree. Ask about pairs of which more are relevant, such as those that "
            "systems rank first; until then read the share of the same grade."
        )
    elif measured.alpha.value < _ACCEPTABLE:
        yield (
            "An alpha below 0.667 is too low to rely on the grades. Settle the disputes, and say in the guidelines "
            "what people took differently."
        )


def _make_table(people: Sequence[str], votes: Sequence[dict[str, int]]) -> np.ndarray:
    """Return the grades: a row for each person, a column for each pair, NaN where there is none."""
    rows = {who: place for place, who in enumerate(people)}
    table = np.full((len(people), len(votes)), np.nan)
    for column, grades in enumerate(votes):
        for who, grade in grades.items():
            table[rows[who], column] = grade
    return table


def _list_kappas(people: Sequence[str], measured: RaterAgreement | None, queries: int) -> list[LabelPair]:
    return [
        LabelPair(people=(people[a], people[b]), pairs=pairs, kappa=_write(kappa, queries), same=same)
        for (a, b), (kappa, pairs, same) in (measured.kappa.items() if measured else ())
    ]


def _compare_people(
    people: Sequence[str],
    votes: dict[Pair, dict[str, int]],
    table: np.ndarray,
    measured: RaterAgreement | None,
    queries: int,
) -> list[LabellerAgreement]:
    rows = []
    for place, who in enumerate(people):
        own = ~np.isnan(table[place])
        others = np.delete(table, place, axis=0)[:, own]
        rows.append(
            LabellerAgreement(
                who=who,
                graded=sum(who in grades for grades in votes.values()),
                shared=int(own.sum()),
                kappa=_write(measured.against_others[place] if measured else None, queries),
                mean_grade=float(table[place, own].mean()) if own.any() else None,
                mean_grade_of_others=float(np.nanmean(others)) if own.any() else None,
            )
        )
    return rows


def _compare_categories(
    pairs: Sequence[Pair], table: np.ndarray, categories: dict[str, str], seed: int
) -> list[CategoryAgreement]:
    places: dict[str, list[int]] = {}
    for column, (query, _) in enumerate(pairs):
        places.setdefault(categories.get(query) or NO_CATEGORY, []).append(column)
    rows = []
    for category in sorted(places):
        columns = places[category]
        names = [pairs[column][0] for column in columns]
        measured = measure_raters(table[:, columns], names, rng=np.random.default_rng(seed))
        alpha = _write(measured.alpha if measured else None, len({*names}))
        rows.append(CategoryAgreement(category=category, pairs=len(columns), alpha=alpha))
    return rows


def _make_dispute(desk: Desk, pair: Pair) -> LabelDispute:
    labels = list_labels(desk.book.votes(pair))
    grades = {who: line.grade for who, line in sorted(labels.items())}
    return LabelDispute(query=pair[0], document=pair[1], grades=grades)


def _write(estimate: Estimate | None, queries: int) -> LabelEstimate:
    if estimate is None:
        return _NOTHING
    value, low, high = (
        float(own) if math.isfinite(own) else None for own in (estimate.value, estimate.low, estimate.high)
    )
    return LabelEstimate(value=value, low=low, high=high, why=_explain_gap(value, low, queries))


def _explain_gap(value: float | None, low: float | None, queries: int) -> str:
    """Return why a number has no value, or no interval; empty if it has both."""
    if value is None:
        return "every grade is the same"
    if low is not None:
        return ""
    if queries < LEAST_GROUPS:
        return f"no interval: fewer than {LEAST_GROUPS} queries"
    return "no interval: in many resamples every grade is the same"
