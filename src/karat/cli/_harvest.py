"""``karat harvest``: a golden-set candidate from live traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from karat.cli._engines import engine_option
from karat.cli._output import refuse_stdout
from karat.cli._progress import say
from karat.cli._table import emit, escaped, render
from karat.core import count_things

if TYPE_CHECKING:
    from karat.schema.feedback import HarvestReport

_COUNT = click.IntRange(min=1)


@click.command("harvest")
@click.argument("store", metavar="[STORE]", default="karat.db")
@click.option(
    "--golden", "set_", metavar="SET", help="Golden set or project whose queries to leave out, and whose texts to use."
)
@click.option(
    "--since", metavar="DAY", help="From this day on, such as 2026-11-01 (UTC), or 7d for the last seven days."
)
@click.option("--until", metavar="DAY", help="Up to this day, which is not included.")
@click.option("--size", type=_COUNT, default=200, show_default=True, help="Queries to take, failures first.")
@click.option(
    "--people", type=click.IntRange(min=0), default=50, show_default=True, help="Queries for people to judge."
)
@click.option("--depth", type=_COUNT, default=20, show_default=True, help="Documents of each list to judge.")
@click.option(
    "--least-sessions", type=_COUNT, default=1, show_default=True, help="Leave out what fewer sessions asked."
)
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed takes the same queries.")
@click.option("--whole", is_flag=True, help="Look at all sessions, however many there are.")
@engine_option
@click.option("-o", "--output", metavar="DIR", help="Write the candidate to this new folder.")
@click.option("--record", is_flag=True, help="Record the grades from behaviour in STORE, and which queries SET has.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def command(
    store: str, set_: str | None, address: str, output: str | None, record: bool, as_json: bool, **options: Any
) -> None:
    """Make a golden-set candidate from the log in STORE: queries that people asked, and what they then did.

    Queries that fail come first: nothing found, asked again, not useful. Grades come from behaviour, with their
    intervals in behaviour.jsonl. A person fills in to-judge.jsonl, the pool of the most diverse queries, and 'karat
    golden merge' takes both; what nobody has looked at stays out of the set. paraphrases.jsonl has other wordings of
    queries of SET, which 'karat golden merge' takes if a person has set "accepted": true.

    STORE may be a folder that 'karat online export --format parquet' wrote. karat then looks at all of its sessions, in
    a bounded amount of memory, in this process or by --engine.

    Example: karat harvest karat.db --golden examples/hotel --since 14d -o candidate
    """
    from karat import golden
    from karat.cli._days import parse_day
    from karat.core import UsageError
    from karat.engine import open_engine
    from karat.feedback import MOST_QUERIES, harvest_log, record_judgments
    from karat.files import refuse_input
    from karat.online import is_export
    from karat.schema import to_json

    since, until = (parse_day(options.pop(name), f"--{name}") for name in ("since", "until"))
    gold = golden.open_set(set_) if set_ else None
    if output:
        refuse_stdout(output)
        refuse_input(output, folder=True)
    most = None if options.pop("whole") else MOST_QUERIES
    if record and is_export(store):
        raise UsageError(f"--record writes into a store, and {store} is a folder of files: name the store")
    with open_engine(address) as engine:
        result = harvest_log(store, gold, since=since, until=until, most=most, engine=engine, **options)
    if output:
        result.write(output)
    if record:
        recorded = record_judgments(store, gold, since=since, until=until)
        grades = count_things(recorded.judgments, "grade")
        known = count_things(recorded.known, "query is", "queries are")
        say(f"recorded in {escaped(store)}: {grades}; {known} in the set")
    for note in result.report.notes:
        say(note)
    emit(to_json(result.report) if as_json else _text(result.report, output))


def _text(report: HarvestReport, output: str | None) -> str:
    unsure = f"{count_things(report.unsure, 'pair')} {'is' if report.unsure == 1 else 'are'} unsure"
    queries = count_things(report.asked, "query", "queries") + " in the log"
    people = report.for_people
    diverse = "most diverse query" if people == 1 else f"{people:,} most diverse queries"
    where = escaped(output) if output else "nothing written (name --output)"
    lines = [
        f"{where}: {count_things(report.chosen, 'query', 'queries')}, {report.failures:,} of them failures",
        f"{queries}, {report.distinct:,} different, {report.known:,} in the set already"
        + (f", {report.rare:,} of too few sessions" if report.rare else ""),
        f"behaviour proposes {count_things(report.proposals, 'grade')}; {unsure}",
        f"to judge: {count_things(report.pairs, 'pair')} of the {diverse}",
    ]
    if report.paraphrases:
        lines.append(f"to accept: {count_things(report.paraphrases, 'paraphrase')} of golden queries")
    lines += [f"odd records: {escaped(name.replace('_', ' '))} {count:,}" for name, count in report.oddities.items()]
    rows = [["outcome", "intent", "different", "taken"]]
    rows += [[g.outcome, g.intent or "-", f"{g.distinct:,}", f"{g.chosen:,}"] for g in report.groups]
    return "\n".join([*lines, "", render(rows, left=2)] if report.groups else lines)
