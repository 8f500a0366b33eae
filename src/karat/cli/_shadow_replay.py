"""``karat shadow replay``: ask two systems what was asked before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from karat.cli._asking import importable
from karat.cli._progress import Progress
from karat.cli._table import emit, escaped

if TYPE_CHECKING:
    from karat.schema.shadow import ShadowReplay


@click.command("replay", short_help="Ask two systems what people asked before.")
@click.argument("store", metavar="[STORE]", default="karat.db")
@click.option(
    "--control", required=True, metavar="SYSTEM", help="Your current system: MODULE:NAME, or a project's folder."
)
@click.option("--treatment", required=True, metavar="SYSTEM", help="The system that you want to try.")
@click.option("--feature", required=True, metavar="NAME", help="The name of what you try; reports are by feature.")
@click.option("--golden", "set_", metavar="SET", help="Ask the queries of a golden set or project instead.")
@click.option("--paraphrases", is_flag=True, help="Ask every wording of the queries of --golden.")
@click.option(
    "--queries", metavar="FILE", help="Ask the queries of a file: one per line, optionally after an id and a tab."
)
@click.option("--since", metavar="DAY", help="Logged queries from this day on, such as 2026-11-01 (UTC), or 7d.")
@click.option("--until", metavar="DAY", help="Logged queries up to this day, which is not included.")
@click.option("--distinct", is_flag=True, help="Ask each text once, however often it was asked.")
@click.option(
    "-k", "--k", type=click.IntRange(min=1), default=10, show_default=True, help="Hits to ask for and compare."
)
@click.option("--timeout", type=float, default=60.0, show_default=True, help="Seconds for an answer.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(store: str, control: str, treatment: str, as_json: bool, **options: Any) -> None:
    """Ask two systems the queries that are logged in STORE, or others, and write into it how their lists differ.

    Each SYSTEM is package.module:name, or a folder with karat.toml, whose documents it ingests. If the command is
    stopped, repeat it to continue where it was; a system whose code has changed is asked everything again.

    Example: karat shadow replay karat.db --golden examples/hotel --control examples/hotel --treatment mine:search
    --feature mine
    """
    from karat import golden
    from karat.core import UsageError
    from karat.online.shadow import replay
    from karat.schema import to_json

    if options["set_"] and options["queries"]:
        raise UsageError("--golden and --queries both say what to ask; give one of them")
    if options["paraphrases"] and not options["set_"]:
        raise UsageError("--paraphrases are those of a golden set; name it with --golden")
    if not options["timeout"] > 0:
        raise UsageError("--timeout is not above 0")
    gold = golden.open_set(options["set_"]) if options["set_"] else None
    folders = [Path(name) for name in (control, treatment, options["set_"] or "") if Path(name).is_dir()]
    for folder in folders or [Path()]:
        importable(folder)
    with Progress() as progress:
        document = replay(
            _list_queries(store, gold, options),
            control,
            treatment,
            feature=options["feature"],
            store=store,
            golden=gold,
            k=options["k"],
            timeout=options["timeout"],
            say=progress.say,
            progress=lambda done, total: progress("asking", done, total),
        )
    emit(to_json(document) if as_json else _text(document))


def _list_queries(store: str, gold: Any, options: dict[str, Any]) -> list[Any]:
    from karat.cli._days import parse_day
    from karat.core import InputError
    from karat.online import ingest
    from karat.online.shadow import list_golden, list_logged, read_queries

    if gold is not None:
        queries = list(list_golden(gold, paraphrases=options["paraphrases"]))
    elif options["queries"]:
        queries = list(read_queries(options["queries"]))
    else:
        since, until = parse_day(options["since"], "--since"), parse_day(options["until"], "--until")
        ingest(store, wait=True)
        queries = list(list_logged(store, since=since, until=until, distinct=options["distinct"]))
    if not queries:
        raise InputError("no queries to ask", source=options["set_"] or options["queries"] or store)
    return queries


def _text(document: ShadowReplay) -> str:
    lines = [
        f"{document.asked:,} of {document.queries:,} queries were asked {escaped(document.control)} and "
        f"{escaped(document.treatment)}"
    ]
    if document.before:
        lines.append(f"{document.before:,} had been asked before")
    lines += [f"{status}: {count:,}" for status, count in document.statuses.items()]
    lines.append(f"karat shadow report {escaped(document.store)} --feature {escaped(document.feature)}")
    return "\n".join(lines)
