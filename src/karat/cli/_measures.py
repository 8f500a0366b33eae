"""``karat measures``: the list of measures."""

from __future__ import annotations

import click

from karat.cli._options import load_named_measures
from karat.cli._table import emit, printable, render
from karat.core import MEASURES, Definition


@click.command("measures")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(context: click.Context, name: str | None, as_json: bool) -> None:
    """List the measures, or explain the one called NAME; MODULE:NAME is one of your own.

    Example: karat measures nDCG
    """
    name, *_ = load_named_measures(context, context.command.params[0], [name]) if name else [name]
    definitions = [MEASURES.get(name)] if name else list(MEASURES)
    if as_json:
        from karat.measures import list_measures
        from karat.schema import to_json

        emit(to_json(list_measures(definitions), indent=1))
    elif name:
        emit(explain(definitions[0]))
    else:
        rows = [["measure", "also known as", "what it is"]]
        rows += [[usage(d), ", ".join(d.aliases), d.doc.split("\n", 1)[0]] for d in definitions]
        emit(render(rows, left=3))


def usage(definition: Definition) -> str:
    """Return how a measure is written."""
    at = {"none": "", "optional": "[@k]", "required": "@k", "recall": "@recall"}[definition.cutoff]
    return definition.name + at


def explain(definition: Definition) -> str:
    """Return the documentation of a measure."""
    import inspect

    parts = [usage(definition), "", inspect.cleandoc(definition.doc)]
    if definition.parameters:
        rows = [["parameter", "default", "meaning"]]
        rows += [[p.name, printable(repr(p.default)), p.help] for p in definition.parameters]
        parts += ["", render(rows, left=3)]
    if definition.aliases:
        parts += ["", f"Also known as: {', '.join(definition.aliases)}"]
    return "\n".join(parts)
