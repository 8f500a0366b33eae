"""``karat init``: a project, a golden set to start with, and CI."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from karat.cli._table import bold, emit, escaped, printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from karat.start import Made, Start

_CI = ("github", "gitlab", "both", "none")


@click.command("init", short_help="Start a project: configuration, golden set and CI.")
@click.argument("folder", default=".", metavar="[DIR]")
@click.option(
    "--documents", metavar="PATH", help="Your documents: a folder, or JSONL; the first queries are from them."
)
@click.option("--system", metavar="MODULE:NAME", help="Your retriever.  [default: the built-in pipeline]")
@click.option("--ci", type=click.Choice(_CI), help="Whose workflow to write.  [default: github]")
@click.option("--karat", metavar="SPEC", help="What CI installs: a version, requirement, wheel or git+https://...")
@click.option("--yes", is_flag=True, help="Ask nothing; take the defaults for what is not given.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: what became of each file. Asks nothing.")
def command(folder: str, **options: Any) -> None:
    """Write karat.toml, a starter golden set and a CI workflow into DIR, and say what comes next.

    Asks at most three questions, for what the options leave open. A file that is there is never changed: what would
    have been written is shown as a diff.

    Example: karat init --documents docs --ci github --yes
    """
    from karat.start import Start, start_project

    if not options["yes"] and not options["as_json"]:
        options = {**options, **_answers(options)}
    start = Start(
        folder=Path(folder),
        documents=Path(options["documents"]) if options["documents"] else None,
        system=options["system"] or "",
        ci=options["ci"] or "github",
        karat=options["karat"] or "",
    )
    made = start_project(start)
    emit(json.dumps(_document(made), allow_nan=False) if options["as_json"] else _text(start, made))


def _answers(options: dict[str, Any]) -> dict[str, str]:
    """Ask for what was not given; each answer is looked at when it is given."""
    from karat.core import UsageError

    questions: dict[str, dict[str, Any]] = {
        "documents": {"text": "Your documents, a folder or JSONL (empty: an example)", "default": ""},
        "system": {"text": "Your retriever, MODULE:NAME (empty: the built-in)", "default": ""},
        "ci": {"text": f"CI ({', '.join(_CI)})", "default": "github"},
    }
    left = {name: how for name, how in questions.items() if options[name] is None}
    nobody = UsageError("nobody answers; give --yes, or --documents, --system and --ci")
    if left and sys.stdin is None:
        raise nobody
    try:
        return {name: click.prompt(**how, value_proc=_looked_at(name), err=True) for name, how in left.items()}
    except click.Abort:
        if sys.stdin.isatty():
            raise  # somebody changed their mind
        click.echo(err=True)  # the question stands there without an answer
        raise nobody from None


def _looked_at(question: str) -> Callable[[str], str]:
    """Give what takes an answer as it is meant, and has the question asked again where it cannot be."""
    from karat.core import UsageError
    from karat.start import Start

    def taken(answer: str) -> str:
        answer = answer.strip()
        if question == "documents" and answer:
            path = Path(os.path.expanduser(answer))  # noqa: PTH111 (pathlib raises for a user who is unknown)
            if not path.exists():
                raise click.UsageError(f"{path}: no such file or folder")
            return str(path)
        if question != "documents":
            try:
                given: Any = {question: answer}
                Start(folder=Path(), **given)
            except UsageError as error:
                raise click.UsageError(str(error)) from None
        return answer

    return taken


def _document(made: list[Made]) -> dict[str, Any]:
    return {"files": [_record(one) for one in made]}


def _record(one: Made) -> dict[str, Any]:
    more = {"diff": one.diff, "notes": list(one.notes), "todo": list(one.todo)}
    path = os.path.abspath(one.path)  # noqa: PTH100 (links stay what they are)
    return {"path": path, "state": one.state, **{name: value for name, value in more.items() if value}}


def _text(start: Start, made: list[Made]) -> str:
    words = {"written": "written", "same": "is there already", "kept": "is there and differs; left as it is"}
    lines = []
    for one in made:
        lines.append(f"{bold(printable(_shown(one.path), 80))}: {words[one.state]}")
        lines += [f"  {escaped(line)}" for line in (*one.diff.split("\n"), *one.notes) if line]
    folder = shlex.quote(printable(str(start.folder), 80))
    steps = [
        *dict.fromkeys(escaped(step) for one in made for step in one.todo),
        f"karat check {folder}, then karat baseline update {folder}, and commit baseline.json with the rest.",
    ]
    lines += ["", *(f"next: {step}" for step in steps)]
    lines.append(
        "The queries are sentences of the documents: they show that all works. Replace them with what people ask."
    )
    return "\n".join(lines)


def _shown(path: Path) -> str:
    """Give a path as short as it can be said from here."""
    here = Path.cwd()
    return str(path.resolve().relative_to(here)) if path.resolve().is_relative_to(here) else str(path)
