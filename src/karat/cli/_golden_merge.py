"""``karat golden merge``: take back what annotators judged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from karat.cli._table import emit, escaped, printable, render

if TYPE_CHECKING:
    from karat.golden import Agreement, Merged

_SHOWN = 10


@click.command("merge", short_help="Take judged pools into a golden set, and report agreement.")
@click.argument("set_", metavar="SET")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "--output", metavar="DIR", help="Write the merged set here; without it only the report is made.")
@click.option("--in-place", is_flag=True, help="Write the judgments into SET itself, which has karat's own format.")
@click.option("--annotator", default="", metavar="NAME", help="Who judged, where a row does not say.")
@click.option("--date", default="", metavar="DATE", help="When, where a row does not say.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def command(
    set_: str, files: tuple[str, ...], output: str | None, in_place: bool, annotator: str, date: str, as_json: bool
) -> None:
    """Add the judgments in FILEs (from 'karat golden pool', with grades filled in) to SET.

    Rows without a grade are skipped. Where several annotators judged the same pairs, their agreement is reported:
    Cohen's kappa with quadratic weights, and Krippendorff's alpha.

    Example: karat golden merge examples/hotel ana.jsonl --annotator ana -o merged
    """
    from karat import golden
    from karat.core import UsageError

    if in_place and output:
        raise UsageError("choose --output or --in-place")
    if in_place:
        merged = golden.merge_in_place(set_, files, annotator=annotator, date=date)
    else:
        merged = golden.merge(golden.read(set_), files, annotator=annotator, date=date)
        if output:
            golden.write(merged.golden, output)
    for note in (*merged.golden.notes, *merged.notes):
        click.echo(f"karat: {escaped(note)}", err=True)
    emit(json.dumps(_document(merged), allow_nan=False) if as_json else _text(merged, set_ if in_place else output))


def _document(merged: Merged) -> dict[str, object]:
    agreed = merged.agreement
    counts = {"added": merged.added, "replaced": merged.replaced, "without_grade": merged.empty}
    return {**counts, "agreement": agreed.to_dict() if agreed else None}


def _text(merged: Merged, where: str | None) -> str:
    counts = f"{merged.added:,} added, {merged.replaced:,} replaced, {merged.empty:,} without a grade"
    lines = [f"{escaped(where) if where else 'nothing written (name --output or --in-place)'}: {counts}"]
    if merged.agreement is None:
        return "\n".join([*lines, "agreement: no pair was judged by two annotators"])
    return "\n".join([*lines, "", *_agreement(merged.agreement)])


def _agreement(found: Agreement) -> list[str]:
    rows = [["annotators", "pairs", "kappa (quadratic)"]]
    rows += [[f"{printable(a)}, {printable(b)}", f"{n:,}", _number(k)] for (a, b), (k, n) in found.kappa.items()]
    lines = [render(rows), ""]
    lines.append(f"Krippendorff's alpha (ordinal): {_number(found.alpha)}; the same grade on {found.same:.1%}")
    settled = f", {found.settled:,} settled" if found.settled else ""
    lines.append(f"disputed: {len(found.disputed):,} of {found.pairs:,} pairs{settled}")
    for query, target, grades in found.disputed[:_SHOWN]:
        said = ", ".join(f"{printable(name)} {grade}" for name, grade in grades.items())
        lines.append(f"  {printable(query)} {printable(str(target))}: {said}")
    return lines


def _number(value: float) -> str:
    return "-" if value != value else f"{value:.3f}"
