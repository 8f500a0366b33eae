"""``karat golden pool``: what to judge next."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from karat.cli._output import STDOUT
from karat.cli._progress import say
from karat.cli._table import emit, escaped
from karat.core import count_things, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from karat.core import GoldenSet
    from karat.golden import PoolDecision, Pooled, RankedRuns
    from karat.schema import GoldenDecision

_DEPTH, _MEASURE, _SURE, _SHOWN, _MOSTLY, _NAMED = 20, "DCG@10", 0.999, 0.00005, 0.8, 3
_TABLES = (".csv", ".tsv", ".json", ".parquet", ".pq", ".xlsx")


@click.command("pool", short_help="List what to judge next, from the runs of several systems.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--golden",
    "set_",
    metavar="SET",
    help="Golden set or project, for texts and judgments.  [default: the project of the first RUN]",
)
@click.option("--depth", type=click.IntRange(min=1), help="Ranks of each run to pool.  [default: 20]")
@click.option(
    "--all", "everything", is_flag=True, help="Also list the pairs that are already judged, after the others."
)
@click.option(
    "--decide",
    is_flag=True,
    help="For two RUNs: list the pairs that decide which is better, and show how sure that is so far.",
)
@click.option("-m", "--measure", metavar="MEASURE", help="With --decide: DCG, nDCG, P, R or RBP.  [default: DCG@10]")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="List at most N pairs, for instance one batch.")
@click.option(
    "-o", "--output", metavar="FILE", help="Write to FILE instead, completely or not at all; - is standard output."
)
@click.option("--json", "as_json", is_flag=True, help="Print only counts, as JSON; needs --output.")
def command(runs: tuple[str, ...], set_: str | None, output: str | None, as_json: bool, **options: Any) -> None:
    """List the pairs of query and document that the RUNs have in their first ranks and nobody has judged.

    A RUN is a file in any format that karat score reads, a baseline file, a folder of such files, a project, which
    stands for the folder of its runs, or the label, title or commit of a run of the project. Without --golden, karat
    uses the set of the project that the first RUN is in, or of the current folder.

    The file has one JSON record per line, with the texts to read. Annotators fill in "grade", and 'karat golden merge'
    takes the file back. The best ranks of all queries come first, so that an annotator who stops early has judged the
    top of each query. Ranks and systems are not shown, because they sway the judge.

    With --decide, karat lists the pairs that two RUNs rank differently, starting with those whose grade would move the
    difference most, and leaves out what both rank alike. Repeat the command after you merge a batch: it shows how sure
    it is by now which run is better.

    Example: karat golden pool bm25.txt dense.txt --golden examples/hotel --depth 20 -o to-judge.jsonl
    """
    from karat import golden
    from karat.core import GoldenSet, UsageError
    from karat.files import refuse_input

    if as_json and output in (None, *STDOUT):
        raise UsageError("--json prints counts; name the file of pairs with --output")
    _check_ending(output)
    _check_options(options)
    files = tuple(_find_file(run, set_) for run in runs)
    source = set_ or _find_project(files[0])
    gold = golden.open_set(source) if source else GoldenSet()
    ranked = golden.read_runs(files)
    chosen = _decide(gold, ranked, options) if options["decide"] else _pool(gold, ranked, options)
    blind = golden.blind_passages(gold, ranked, chosen.pairs)
    rows = list(golden.pool_rows(gold, chosen.pairs, blind.passages))
    strangers = {query for run in ranked.tables for query in run} - gold.query_by_id.keys() if source else set()
    notes = [] if set_ or source is None else [f"the golden set is that of {source}"]
    for note in (*notes, *ranked.notes, *blind.notes, *_notes(rows, sorted(strangers)), *chosen.notes):
        say(note)
    if output in (None, *STDOUT):
        emit(golden.pool_text(rows), nl=False)
        return
    refuse_input(output)
    golden.write_pool(output, rows)
    emit(chosen.json if as_json else f"{escaped(output)}: {chosen.line}")


class _Chosen(NamedTuple):
    """The pairs to write, and what to say about them."""

    pairs: Sequence[Pooled]
    line: str
    json: str
    notes: Sequence[str] = ()


def _pool(gold: GoldenSet, ranked: RankedRuns, options: dict[str, Any]) -> _Chosen:
    from karat import golden
    from karat.schema import to_json

    pairs = golden.pool(gold, ranked.tables, depth=options["depth"] or _DEPTH)
    chosen = pairs if options["everything"] else [pair for pair in pairs if pair.grade is None]
    written = chosen[: options["limit"]]
    document = golden.describe_pool(pairs, len(written))
    is_whole = document.written == document.unjudged
    judged = ": those that are not judged yet" if is_whole else f", {document.unjudged:,} not judged yet"
    line = f"{document.written:,} of {document.pairs:,} pairs{judged}"
    return _Chosen(written, line, to_json(document))


def _decide(gold: GoldenSet, ranked: RankedRuns, options: dict[str, Any]) -> _Chosen:
    from karat import golden
    from karat.core import UsageError
    from karat.schema import to_json

    if len(ranked.tables) != 2:
        raise UsageError(f"--decide is about two runs, and there are {len(ranked.tables):,}")
    first, second = ranked.tables
    decision = golden.decide_pool(gold, (first, second), options["measure"] or _MEASURE)
    written = decision.pairs[: options["limit"]]
    document = golden.describe_decision(decision, (ranked.files[0], ranked.files[1]), len(written))
    line = f"{len(written):,} of {len(decision.pairs):,} pairs that are not judged yet and tell the runs apart"
    return _Chosen(written, line, to_json(document), list(_describe(document, decision)))


def _describe(document: GoldenDecision, decision: PoolDecision) -> Iterator[str]:
    """Yield what is known about which run is better, and what that assumes."""
    total = document.judged + document.unjudged + document.lacking
    judged = f"{document.judged:,} of {total:,} pairs that tell them apart are judged"
    apart = _name_better(document, document.judged_difference)
    if document.better is not None:
        assumed = f" if up to {document.highest_share:.0%} of the others are relevant" if document.sd else ""
        sure = f"{_percent(document)}{assumed}"
        yield f"{document.measure}: by the judged documents, {apart}, confidence {sure}; {judged}"
    elif document.difference == document.judged_difference == 0:
        yield f"{document.measure}: nothing tells the runs apart yet; {judged}"
    else:
        yield f"{document.measure}: it is not known yet which run is better; {judged}"
        yield f"by the judged documents alone, {apart}; {_suppose(document)}"
    if document.lacking:
        yield f"{document.lacking:,} of them cannot be: the set lacks the document; --golden names a set with documents"
    if document.better is None and decision.judged and decision.relevant >= _MOSTLY * decision.judged:
        yield f"{_count_relevant(decision)} relevant, which tells nothing of the others; judge on"


def _name_better(document: GoldenDecision, difference: float) -> str:
    """Return which run a difference makes the better one, and by how much."""
    if abs(difference) < _SHOWN:
        return "the runs do not differ"
    return f"{document.runs[difference > 0]} is better by {abs(difference):.4f}"


def _suppose(document: GoldenDecision) -> str:
    """Return what the difference is if unjudged documents are as good as the judged ones."""
    likewise = f"if the others are as good ({document.share:.0%} relevant)"
    return f"{likewise}, {_name_better(document, document.difference)} ± {document.sd:.4f}"


def _count_relevant(decision: PoolDecision) -> str:
    if decision.relevant == decision.judged:
        return "every judged pair is"
    return f"{decision.relevant:,} of {decision.judged:,} judged pairs are"


def _percent(document: GoldenDecision) -> str:
    """Return the confidence, which is not rounded up to certainty while something is unknown."""
    unknown = document.sd > 0 and document.confidence > _SURE
    return f"above {_SURE:.1%}" if unknown else f"{document.confidence:.1%}"


def _check_options(options: dict[str, Any]) -> None:
    """Refuse options of the one way to list pairs with the other."""
    from karat.core import UsageError

    if options["decide"] and (options["everything"] or options["depth"]):
        raise UsageError("--decide lists only unjudged pairs that the measure looks at; leave out --all and --depth")
    if options["measure"] and not options["decide"]:
        raise UsageError("--measure says by what two runs are compared; add --decide")


def _check_ending(output: str | None) -> None:
    """Refuse a name that promises a table: the file has one JSON record per line, whatever it is called."""
    from karat.core import UsageError

    ending = Path(output or "").suffix.lower()
    if ending in _TABLES:
        raise UsageError(f"--output {output}: a pool has one JSON record per line, not {ending[1:]}; name it .jsonl")


def _find_file(run: str, folder: str | None) -> str:
    """Return a path as it is, and otherwise the file of the run of the project that has this label, title or commit."""
    from karat.projects.saved_runs import find_run

    return run if run == "-" or os.path.lexists(run) else str(find_run(run, golden=folder, say=say))


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


def _notes(rows: list[dict[str, object]], strangers: list[str]) -> list[str]:
    notes = []
    if strangers:
        examples = f"{', '.join(map(shorten, strangers[:_NAMED]))}{' ...' if len(strangers) > _NAMED else ''}"
        count = count_things(len(strangers), "query", "queries")
        notes.append(f"{count} of the runs left out: not in the set ({examples})")
    without = sum("text" not in row for row in rows)
    if without:
        notes.append(f"{without:,} of {len(rows):,} pairs have no text to judge; --golden names a set with documents")
    return notes
