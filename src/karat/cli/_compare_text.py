"""Comparisons as a terminal shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from karat.cli._table import bold, escaped, number, printable, render
from karat.core import count_things

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from karat.schema import ComparedMeasure, ComparedPair, ComparedRun, ComparisonDocument, ListSummary, MovedQuery

_SHOWN, _PLACES, _KEYS = 5, 4, 20
_CORRECTIONS = {"westfall-young": "W-Y", "holm": "Holm", "bonferroni": "Bonferroni", "bh": "BH", "none": ""}


def comparison_text(comparison: ComparisonDocument) -> str:
    """Render a comparison: of two runs all that is known, of more runs a matrix for each measure."""
    runs, pairs = comparison.runs, comparison.pairs
    parts = ["\n".join(f"{run.label}  {name}" for run, name in zip(runs, _names(runs), strict=True))]
    if len(runs) == 2:
        (pair,) = pairs
        correction = comparison.correction
        parts += [
            _measures(pair, correction), _answered(pair), _by_labels(pair), _conclusion(pair, comparison),
            _bounds(pair), _segments(pair, correction), _per_query(pair), _movers(pair), _lists(pair.lists),
        ]  # fmt: skip
    else:
        by_labels = {(pair.baseline, pair.candidate): pair for pair in pairs}
        parts += _matrices(comparison, by_labels)
        parts += [_legend(comparison), _list_matrix(runs, by_labels)]
    parts += [_systems(comparison), _latency(runs), _notes(pairs)]
    return "\n\n".join(part for part in parts if part)


def _names(runs: Sequence[ComparedRun]) -> list[str]:
    """Return the title of each run, with its file if that says more."""
    files = [printable(run.name, 80) for run in runs]
    titles = [printable(run.title, 80) for run in runs]
    return [title if title == file else f"{title} ({file})" for title, file in zip(titles, files, strict=True)]


def _columns(pair: ComparedPair, correction: str) -> list[str]:
    a, b = pair.baseline, pair.candidate
    return [a, b, f"{b} - {a}", "95 % interval", *_p_names(correction), "d_z", "won/tied/lost", "queries"]


def _p_names(correction: str) -> list[str]:
    return ["two-sided p", *([f"p {_CORRECTIONS[correction]}"] if _CORRECTIONS[correction] else []), "p t"]


def _p_values(test: ComparedMeasure, correction: str) -> list[str]:
    return [_p(test.p), *([_p(test.p_corrected)] if _CORRECTIONS[correction] else []), _p(test.p_t)]


def _measures(pair: ComparedPair, correction: str) -> str:
    rows = [["measure", *_columns(pair, correction)]]
    return render([*rows, *([test.measure, *_row(test, correction)] for test in pair.measures)])


def _row(test: ComparedMeasure, correction: str) -> list[str]:
    return [
        number(test.baseline),
        number(test.candidate),
        _signed(test.difference),
        "-"
        if test.low is None or test.high is None
        else f"{round(test.low, 3) + 0.0:+.3f} to {round(test.high, 3) + 0.0:+.3f}",
        *_p_values(test, correction),
        "-" if test.effect is None else f"{round(test.effect, 2) + 0.0:+.2f}",
        _count_wins(test),
        f"{test.n:,}" if test.n else "-",
    ]


def _count_wins(test: ComparedMeasure) -> str:
    """Return how many queries won, tied and lost; "-" for a count, of which more is neither better nor worse."""
    from karat.core import Measure

    judged = test.n and Measure.parse(test.measure).definition.higher_is_better is not None
    return f"{test.wins}/{test.ties}/{test.losses}" if judged else "-"


def _bounds(pair: ComparedPair) -> str:
    """Return the worst and the best differences over all grades of unjudged documents; "" if nobody asked."""
    rows = [["if unjudged documents were judged", "worst", "now", "best", "unjudged", "decided"]]
    for test in pair.measures:
        if (ends := test.bounds) is not UNSET:
            signed = map(_signed, (ends.worst, test.difference, ends.best))
            rows.append([test.measure, *signed, f"{ends.unjudged:,}", "yes" if ends.decided else "no"])
    return f"{render(rows)}{_name_loose(pair)}" if len(rows) > 1 else ""


def _name_loose(pair: ComparedPair) -> str:
    """Return a line that names the measures whose ends may be too far apart; "" if there are none."""
    loose = [
        test.measure
        for test in pair.measures
        if (ends := test.bounds) is not UNSET and not ends.exact and None is not ends.worst != ends.best
    ]
    return f"\n{', '.join(loose)}: the ends are bounds, which no grades may reach" if loose else ""


def _answered(pair: ComparedPair) -> str:
    """Return the measures of answers on what both runs answered; "" if neither left anything unanswered."""
    a, b = pair.baseline, pair.candidate
    rows = [["only what both answered", a, b, f"{b} - {a}", "queries"]]
    for test in pair.measures:
        if (own := test.answered) is not UNSET:
            values = number(own.baseline), number(own.candidate), _signed(own.difference)
            rows.append([test.measure, *values, f"{own.n:,}"])
    note = f"the table above counts what {b} does not answer as worst, as the gate does, where {a} answers"
    return f"{render(rows)}\n{note}" if len(rows) > 1 else ""


def _by_labels(pair: ComparedPair) -> str:
    """Return the differences of judges' measures as people's labels correct them, which is what the gate tests."""
    a, b = pair.baseline, pair.candidate
    rows = [["corrected by labels", a, b, f"{b} - {a}", "95 % interval", "two-sided p", "labels"]]
    notes = []
    for test in pair.measures:
        own = test.by_labels
        if own is UNSET:
            continue
        if own.difference is None:
            notes.append(f"{test.measure} is the judge's alone: labels do not correct its change ({own.problem})")
            if not own.problem:
                notes[-1] = f"{test.measure}: neither the judge nor the labels see a change"
            continue
        ends = own.difference_low, own.difference_high
        interval = "-" if None in ends else f"{_signed(ends[0])} to {_signed(ends[1])}"
        now = None if own.baseline is None else own.baseline + own.difference
        means = number(own.baseline), number(now), _signed(own.difference)
        rows.append([test.measure, *means, interval, _p(own.p), f"{own.labels:,}"])
    if len(rows) > 1:
        notes.insert(0, "these are the numbers that the gate uses; above, the same measures are the judge's alone")
    return "\n".join([*([render(rows)] if len(rows) > 1 else []), *map(escaped, notes)])


def _conclusion(pair: ComparedPair, comparison: ComparisonDocument) -> str:
    """Return in words what the tests found, and that finding no difference does not mean that there is none."""
    # What a judge alone says of a measure that people have labels for is no conclusion: see above.
    tests = [test for test in pair.measures if test.p is not None and test.by_labels is UNSET]
    if not tests:
        return ""
    a, b = pair.baseline, pair.candidate
    if not any(test.wins or test.losses for test in tests):
        return f"{a} and {b} score the same on every query"
    measures: dict[str, list[str]] = {"better": [], "worse": [], "different": [], "": []}
    for test in tests:
        measures[_direction(test) if test.significant else ""].append(test.measure)
    name = _CORRECTIONS[comparison.correction]
    level = f"p{' ' + name if name else ''} at most {comparison.alpha:g}"
    parts = [
        f"{b} is {word} {'from' if word == 'different' else 'than'} {a} in {', '.join(names)} ({level})"
        for word, names in measures.items()
        if word and names
    ]
    if unclear := measures[""]:
        rest = ", ".join(unclear) if parts else "any measure" if len(tests) > 1 else unclear[0]
        between = "" if parts else f" between {a} and {b}"
        parts.append(
            f"no difference{between} is shown in {rest}, which does not mean that there is none: see karat power"
        )
    drops = [test for test in tests if test.measure in unclear and _direction(test) == "worse"]
    notes = _explain_gate(drops, comparison.alpha), _explain_intervals(tests, comparison.alpha)
    return "\n".join(filter(None, ["; ".join(parts), *notes]))


def _explain_intervals(tests: Sequence[ComparedMeasure], alpha: float) -> str:
    """Return of which measures the interval and the uncorrected p seem to contradict each other, and which to trust."""
    apart = []
    for test in tests:
        if test.low is None or test.high is None or test.p is None:
            continue
        if (test.low > 0 or test.high < 0) != (test.p <= alpha):
            where = "leaves out" if test.low > 0 or test.high < 0 else "includes"
            apart.append(f"{test.measure} {where} 0 with p {_p(test.p)} ({test.n - test.ties:,} of {test.n:,} changed)")
    return f"trust p, and not the interval, where they disagree: that of {'; that of '.join(apart)}" if apart else ""


def _explain_gate(drops: Sequence[ComparedMeasure], alpha: float) -> str:
    """Return the p of the gate for drops that only its one-sided test can show, so that it is not contradicted."""
    halves = {test.measure: test.p / 2 for test in drops if test.p is not None and test.p / 2 <= alpha}
    if not halves:
        return ""
    values = ", ".join(f"{name} {_p(p)}" for name, p in halves.items())
    return f"the gate looks for drops only: its one-sided p, before correction, is half of the two-sided one: {values}"


def _direction(test: ComparedMeasure) -> str:
    from karat.core import Measure

    higher = Measure.parse(test.measure).definition.higher_is_better
    return "different" if higher is None else "better" if ((test.difference or 0.0) > 0) == higher else "worse"


def _segments(pair: ComparedPair, correction: str) -> str:
    rows: list[list[str]] = []
    for test in pair.segments:
        ((field, value),) = (test.segment or {"": ""}).items()
        rows = rows or [[field, "measure", *_columns(pair, correction)]]
        rows.append([printable(value), test.measure, *_row(test, correction)])
    return render(rows, left=2) if rows else ""


def _per_query(pair: ComparedPair) -> str:
    if not pair.queries:  # not asked for, or none in common
        return ""
    a, b = pair.baseline, pair.candidate
    measures = [test.measure for test in pair.measures]
    alone = len(measures) == 1
    rows = [["query", *([a, b, f"{b} - {a}"] if alone else measures), "lists"]]
    for row in pair.queries:
        cells = [row.measures.get(name) for name in measures]
        values = [number(cells[0].baseline), number(cells[0].candidate)] if alone and cells[0] else []
        values += [_signed(cell.difference if cell else None) for cell in cells]
        rows.append([printable(row.query), *values, row.list.similarity_class if row.list else "-"])
    title = f"{measures[0]}, query by query" if alone else f"{b} - {a}, query by query"
    return f"{bold(title)}\n{render(rows)}"


def _movers(pair: ComparedPair) -> str:
    lost = [mover for mover in pair.movers if mover.gain < 0]
    won = [mover for mover in reversed(pair.movers) if mover.gain > 0]
    lines = []
    for title, movers in (("lost most", lost), ("won most", won)):
        if movers:
            lines += [bold(f"{title} ({len(movers):,} in all)"), *map(_mover, movers[:_SHOWN])]
    return "\n".join(lines)


def _mover(mover: MovedQuery) -> str:
    change = f"{mover.measure} {mover.baseline:.3f} to {mover.candidate:.3f}"
    head = f"  {printable(mover.query)}  {change}  {escaped(mover.text)[:80]}".rstrip()
    if mover.failed:
        return f"{head}\n      failed: {escaped(mover.failed)[:120]}"
    if not mover.moved:
        return head
    return f"{head}\n      {escaped('; '.join(mover.moved[:_PLACES]))}{' ...' if len(mover.moved) > _PLACES else ''}"


def _lists(lists: ListSummary | None) -> str:
    if lists is None:
        return ""
    means = (lists.rbo, lists.kendall_tau, lists.spearman, lists.jaccard)
    rows = [
        ["lists", "RBO", "tau", "Spearman", "Jaccard", "other on top", "unchanged", *lists.classes],
        [
            count_things(lists.queries, "query", "queries"), *map(_three_digits, means),
            "-" if lists.top1_changed_share is None else f"{lists.top1_changed_share:.1%}", f"{lists.unchanged:,}",
            *(f"{count:,}" for count in lists.classes.values()),
        ],
    ]  # fmt: skip
    empty = f"with hits in one run only: {lists.one_empty:,}" if lists.one_empty else ""
    return "\n".join(filter(None, [render(rows), empty]))


def _matrices(comparison: ComparisonDocument, pairs: Mapping[tuple[str, str], ComparedPair]) -> list[str]:
    """Return for each measure a matrix with the row's mean minus the column's, marked where it is significant."""
    runs = comparison.runs
    tests = {labels: {test.measure: test for test in pair.measures} for labels, pair in pairs.items()}
    matrices = []
    for measure in comparison.measures:
        rows = [[measure, "mean", *(f"- {run.label} " for run in runs)]]
        for i, run in enumerate(runs):
            cells = []
            for j, other in enumerate(runs):
                if i == j:
                    cells.append(". ")
                    continue
                test = tests[_labels(i, run, j, other)][measure]
                change = test.difference if i > j or test.difference is None else -test.difference
                cells.append(_signed(change) + ("*" if test.significant else " "))
            rows.append([run.label, number(run.means[measure]), *cells])
        matrices.append(render(rows))
    return matrices


def _labels(place: int, run: ComparedRun, other_place: int, other: ComparedRun) -> tuple[str, str]:
    """Return the labels of two runs, the earlier first, as pairs have them."""
    return (run.label, other.label) if place < other_place else (other.label, run.label)


def _legend(comparison: ComparisonDocument) -> str:
    name = _CORRECTIONS[comparison.correction]
    name = "Westfall-Young" if name == "W-Y" else name
    how = (
        f"corrected by {name} for {count_things(comparison.tests, 'test')}"
        if name
        else "not corrected for the number of tests"
    )
    return f"row minus column; * p at most {comparison.alpha:g}, {how}"


def _list_matrix(runs: Sequence[ComparedRun], pairs: Mapping[tuple[str, str], ComparedPair]) -> str:
    """Show how alike the lists of all pairs are."""
    if not any(pair.lists for pair in pairs.values()):
        return ""
    rows = [["RBO of the lists", *(run.label for run in runs)]]
    for i, run in enumerate(runs):
        lists = [None if i == j else pairs[_labels(i, run, j, other)].lists for j, other in enumerate(runs)]
        rows.append([run.label, *("." if summary is None else _three_digits(summary.rbo) for summary in lists)])
    return render(rows)


def _systems(comparison: ComparisonDocument) -> str:
    """Show what the systems are made of, where they differ."""
    values = dict[str, dict[str, Any]]()
    for pair in comparison.pairs:
        for change in pair.changes:
            row = values.setdefault(change.key, {})
            row[pair.baseline], row[pair.candidate] = change.was, change.now
    if not values:
        return ""
    rows = [["the systems differ in", *(run.label for run in comparison.runs)]]
    for key, row in list(values.items())[:_KEYS]:
        parts = [row.get(run.label, "") for run in comparison.runs]
        rows.append([printable(key), *("-" if value is None else printable(str(value)) for value in parts)])
    return render(rows) + (f"\n... and {len(values) - _KEYS:,} more" if len(values) > _KEYS else "")


def _latency(runs: Sequence[ComparedRun]) -> str:
    names = ("p50", "p95", "p99")
    if not all("total" in run.latency for run in runs):
        return ""
    rows = [["latency (ms)", *names]]
    rows += [[run.label, *(_milliseconds(run.latency["total"].get(name)) for name in names)] for run in runs]
    return render(rows)


def _notes(pairs: Iterable[ComparedPair]) -> str:
    return "\n".join(map(escaped, dict.fromkeys(note for pair in pairs for note in pair.notes)))


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{round(value, 4) + 0.0:+.4f}"  # never -0.0000


def _three_digits(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _p(value: float | None) -> str:
    return "-" if value is None else "<.0001" if value < 0.0001 else f"{value:.4f}"


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
