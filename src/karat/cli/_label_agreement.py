"""``karat label agreement``: how far people agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._options import project_option
from karat.cli._progress import end_incomplete
from karat.cli._table import emit, escaped, render

if TYPE_CHECKING:
    from karat.schema.labelling import LabelAgreement, LabelEstimate

_SHOWN = 10


@click.command("agreement", short_help="Show how far people agree, with intervals.")
@click.argument("queue", required=False, default="")
@project_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every dispute.")
def command(queue: str, folder: str, as_json: bool) -> None:
    """Show how far people agree on the pairs that several of them graded, in QUEUE or in all queues.

    The output has Cohen's kappa with quadratic weights, Fleiss' kappa and Krippendorff's alpha (ordinal), with 95 %
    intervals from resampled queries, by person and by category, and the disputes that nobody has settled.

    Example: karat label agreement --golden examples/hotel
    """
    from karat.labelling import measure_labels, open_desk
    from karat.schema import to_json

    document = measure_labels(open_desk(folder), queue)
    emit(to_json(document) if as_json else _text(document))
    end_incomplete(document.left_out)


def _text(document: LabelAgreement) -> str:
    if not document.pairs:
        return "\n".join(["no pair was graded by two people yet", *(f"note: {note}" for note in document.notes)])
    people = [["people", "pairs", "same", "kappa (quadratic)"]]
    people += [
        [", ".join(map(escaped, row.people)), f"{row.pairs:,}", f"{row.same:.1%}", _estimate(row.kappa)]
        for row in document.kappa
    ]
    persons = [["person", "graded", "shared", "kappa with all others", "mean grade", "of others"]]
    persons += [
        [escaped(row.who), f"{row.graded:,}", f"{row.shared:,}", _estimate(row.kappa), _number(row.mean_grade),
         _number(row.mean_grade_of_others)]
        for row in document.by_person
    ]  # fmt: skip
    categories = [["category", "pairs", "alpha"]]
    categories += [[escaped(row.category), f"{row.pairs:,}", _estimate(row.alpha)] for row in document.by_category]
    summary = (
        f"Krippendorff's alpha (ordinal): {_estimate(document.alpha)}; Fleiss' kappa: {_estimate(document.fleiss)}"
    )
    same = f"the same grade on {document.same:.1%} of {document.pairs:,} pairs" if document.same is not None else ""
    missing = dict.fromkeys(own.why for own in (document.alpha, document.fleiss) if own.why)
    lines = [render(people), "", render(persons), "", render(categories), "", summary, *missing, same]
    return "\n".join([*lines, *(f"note: {note}" for note in document.notes), *_list_disputes(document)])


def _list_disputes(document: LabelAgreement) -> list[str]:
    lines = [f"disputes to settle: {len(document.disputes):,}, settled: {document.settled:,}"]
    for row in document.disputes[:_SHOWN]:
        grades = ", ".join(
            f"{escaped(who)} {'cannot tell' if grade is None else grade}" for who, grade in row.grades.items()
        )
        lines.append(f"  {escaped(row.query)} {escaped(row.document)}: {grades}")
    more = len(document.disputes) - _SHOWN
    return [*lines, f"  and {more:,} more; --json lists all"] if more > 0 else lines


def _estimate(estimate: LabelEstimate) -> str:
    if estimate.value is None:
        return "-"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
