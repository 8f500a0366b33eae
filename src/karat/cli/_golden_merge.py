"""``karat golden merge``: take back what annotators judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._output import write_set
from karat.cli._progress import say
from karat.cli._table import emit, escaped, printable, render

if TYPE_CHECKING:
    from karat.schema import AnnotatorAgreement, GoldenMerge

_SHOWN = 10


@click.command("merge", short_help="Merge judged pools into a golden set, and report agreement.")
@click.argument("set_", metavar="SET")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "--output", metavar="DIR", help="Write the merged set here; without it, only report.")
@click.option("--in-place", is_flag=True, help="Write the judgments into SET itself, which has karat's own format.")
@click.option("--annotator", default="", metavar="NAME", help="Who judged, if a row does not say.")
@click.option("--date", default="", metavar="DATE", help="When, if a row does not say.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def command(
    set_: str, files: tuple[str, ...], output: str | None, in_place: bool, annotator: str, date: str, as_json: bool
) -> None:
    """Add the judgments in FILEs (from 'karat golden pool', with grades filled in) to SET, or to that of a project.

    Rows without a grade are skipped. A folder among the FILEs is a candidate of 'karat harvest'. A query of it comes
    into the set, with its judgments, if a person has judged one of its documents, or has set "answerable": false. A
    paraphrase in its paraphrases.jsonl comes into the set if a person has set "accepted": true.

    If several annotators judged the same pairs, karat reports their agreement: Cohen's kappa with quadratic weights,
    and Krippendorff's alpha.

    Example: karat golden merge examples/hotel ana.jsonl --annotator ana -o merged
    """
    from karat import golden
    from karat.core import UsageError
    from karat.schema import to_json

    if in_place and output:
        raise UsageError("choose --output or --in-place")
    if in_place:
        merged = golden.merge_in_place(set_, files, annotator=annotator, date=date)
    else:
        merged = golden.merge(golden.open_set(set_), files, annotator=annotator, date=date)
        if output:
            write_set(merged.golden, output, option="--output")
    for note in (*merged.golden.notes, *merged.notes):
        say(note)
    document = merged.document()
    emit(to_json(document) if as_json else _text(document, set_ if in_place else output))


def _text(merge: GoldenMerge, where: str | None) -> str:
    counts = f"{merge.added:,} added, {merge.replaced:,} replaced, {merge.without_grade:,} without a grade"
    if merge.new_queries or merge.unseen_queries:
        new = f"{merge.new_queries:,} new {'query' if merge.new_queries == 1 else 'queries'}"
        counts += f"; {new}, {merge.unseen_queries:,} that nobody has judged left out"
    if merge.paraphrases:
        counts += f"; {merge.paraphrases:,} {'paraphrase' if merge.paraphrases == 1 else 'paraphrases'}"
    lines = [f"{escaped(where) if where else 'nothing written (name --output or --in-place)'}: {counts}"]
    if merge.agreement is None:
        return "\n".join([*lines, "agreement: no pair was judged by two annotators"])
    return "\n".join([*lines, "", *_agreement(merge.agreement)])


def _agreement(agreement: AnnotatorAgreement) -> list[str]:
    rows = [["annotators", "pairs", "kappa (quadratic)"]]
    rows += [
        [", ".join(map(printable, row.annotators)), f"{row.pairs:,}", _number(row.kappa)] for row in agreement.kappa
    ]
    same = "-" if agreement.same is None else f"{agreement.same:.1%}"
    settled = f", {agreement.settled:,} settled" if agreement.settled else ""
    lines = [
        render(rows),
        "",
        f"Krippendorff's alpha (ordinal): {_number(agreement.alpha)}; the same grade on {same}",
        f"disputed: {len(agreement.disputed):,} of {agreement.pairs:,} pairs{settled}",
    ]
    for pair in agreement.disputed[:_SHOWN]:
        grades = ", ".join(f"{printable(name)} {grade}" for name, grade in pair.grades.items())
        lines.append(f"  {printable(pair.query)} {printable(pair.target)}: {grades}")
    return lines


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
