"""``karat golden pool``: what to judge next."""

from __future__ import annotations

from pathlib import Path

import click

from karat.cli._progress import say
from karat.cli._table import emit, escaped

_TABLES = (".csv", ".tsv", ".json", ".parquet", ".pq", ".xlsx")


@click.command("pool", short_help="List what to judge next, from the runs of several systems.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--golden",
    "set_",
    metavar="SET",
    help="Golden set or project, for texts and judgments.  [default: the project of the first RUN]",
)
@click.option("--depth", type=click.IntRange(min=1), default=20, show_default=True, help="Ranks of each run to pool.")
@click.option(
    "--all", "everything", is_flag=True, help="Also list the pairs that are judged already, after the others."
)
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead, whole or not at all.")
@click.option("--json", "as_json", is_flag=True, help="Print only counts, as JSON; needs --output.")
def command(
    runs: tuple[str, ...], set_: str | None, depth: int, everything: bool, output: str | None, as_json: bool
) -> None:
    """Write a file of the pairs of query and document that the RUNs have in their first ranks and nobody judged.

    A RUN is a file in any format that karat score reads, a folder of such files, or a project, which stands for the
    folder of its runs. Without --golden the set is that of the project that the first RUN is in, or of the current
    folder.

    The file has one JSON record per line, with the texts to read. Annotators fill in "grade", and 'karat golden merge'
    takes the file back. The best ranks of all queries come first, so that whoever stops early has judged the top of
    each. Ranks and systems are not shown, because they sway the judge.

    Example: karat golden pool bm25.txt dense.txt --golden examples/hotel --depth 20 -o to-judge.jsonl
    """
    from karat import golden
    from karat.core import GoldenSet, UsageError
    from karat.files import refuse_input
    from karat.schema import GoldenPool, to_json

    if as_json and output is None:
        raise UsageError("--json prints counts; name the file of pairs with --output")
    _check_ending(output)
    source = set_ or _find_project(runs[0])
    gold = golden.open_set(source) if source else GoldenSet()
    ranked = golden.read_runs(runs)
    pairs = golden.pool(gold, ranked.tables, depth=depth)
    unjudged = sum(pair.grade is None for pair in pairs)
    rows = list(golden.pool_rows(gold, pairs if everything else pairs[:unjudged], ranked.passages))
    strangers = {query for run in ranked.tables for query in run} - gold.query_by_id.keys() if source else set()
    notes = [] if set_ or source is None else [f"the golden set is that of {source}"]
    for note in (*notes, *ranked.notes, *_notes(rows, len(strangers))):
        say(note)
    if output is None:
        emit(golden.pool_text(rows), nl=False)
        return
    refuse_input(output)
    golden.write_pool(output, rows)
    counts = GoldenPool(pairs=len(pairs), unjudged=unjudged, written=len(rows))
    line = f"{escaped(output)}: {len(rows):,} of {len(pairs):,} pairs, {unjudged:,} not judged yet"
    emit(to_json(counts) if as_json else line)


def _check_ending(output: str | None) -> None:
    """Refuse a name that promises a table: the file has one JSON record per line, whatever it is called."""
    from karat.core import UsageError

    ending = Path(output or "").suffix.lower()
    if ending in _TABLES:
        raise UsageError(f"--output {output}: a pool has one JSON record per line, not {ending[1:]}; name it .jsonl")


def _find_project(run: str) -> str | None:
    """Return the project that a run is in, or the current folder if that is one; None if there is no project."""
    from karat.core import InputError
    from karat.projects import find_project

    runs = Path(run, "runs")
    try:
        folder = find_project(runs if runs.is_dir() else run)
    except InputError:  # there is no project; a run that is not there is reported when it is read
        return None
    return str(folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder)


def _notes(rows: list[dict[str, object]], strangers: int) -> list[str]:
    notes = [f"{strangers:,} queries of the runs are not in the set, left out"] if strangers else []
    without = sum("text" not in row for row in rows)
    if without:
        notes.append(f"{without:,} of {len(rows):,} pairs have no text to judge; --golden names a set with documents")
    return notes
