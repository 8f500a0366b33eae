"""``karat init``: a project, a golden set to start with, and CI."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from karat.cli._table import bold, emit, escaped, printable, tell

if TYPE_CHECKING:
    from collections.abc import Callable

    from karat.start import FileResult, Start

_UNSURE = ("pass", "fail")
_CI = ("github", "gitlab", "both", "none")


@click.command("init")
@click.argument("folder", default=".", metavar="[DIR]")
@click.option(
    "--documents", metavar="PATH", help="Your documents: a folder, or JSONL; the first queries come from them."
)
@click.option("--golden", metavar="PATH", help="Your golden set, in any format.  [default: made from the documents]")
@click.option("--system", metavar="MODULE:NAME", help="Your retriever.  [default: the built-in pipeline]")
@click.option("--ci", type=click.Choice(_CI), help="The CI to write a workflow for.  [default: github]")
@click.option(
    "--on-inconclusive",
    type=click.Choice(_UNSURE),
    help="If there are too few queries to tell: pass is exit code 0 with a warning, so that a small loss stays green; "
    "fail is exit code 4.  [default: pass]",
)
@click.option("--karat", metavar="SPEC", help="What CI installs: a version, requirement, wheel or git+https://...")
@click.option("--yes", is_flag=True, help="Ask nothing; use the defaults for options that you do not give.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: what happened to each file. Asks nothing.")
def command(folder: str, **options: Any) -> None:
    """Write karat.toml, a starter golden set and a CI workflow into DIR, and print what comes next.

    Asks at most four questions, about what the options leave open. Never changes an existing file, but shows what it
    would have written as a diff. Only adds missing lines to .gitignore.

    Example: karat init --documents docs --ci github --yes
    """
    from karat.schema import to_json
    from karat.start import Start, describe_start, start_project

    if not options["yes"] and not options["as_json"]:
        options = {**options, **_ask_options(options)}
    start = Start(
        folder=Path(folder),
        documents=Path(options["documents"]) if options["documents"] else None,
        golden=Path(options["golden"]) if options["golden"] else None,
        system=options["system"] or "",
        ci=options["ci"] or "github",
        on_inconclusive=options["on_inconclusive"] or "pass",
        karat=options["karat"] or "",
    )
    results = start_project(start)
    emit(to_json(describe_start(results)) if options["as_json"] else _text(start, results))


def _ask_options(options: dict[str, Any]) -> dict[str, str]:
    """Ask for the options that were not given; each answer is checked at once."""
    from karat.core import UsageError

    questions: dict[str, dict[str, Any]] = {
        "documents": {"text": "Your documents, a folder or JSONL (empty: an example)", "default": ""},
        "system": {"text": "Your retriever, MODULE:NAME (empty: the built-in)", "default": ""},
        "ci": {"text": f"CI ({', '.join(_CI)})", "default": "github"},
        "on_inconclusive": {
            "text": "If the queries are too few to tell whether it got worse (pass: exit code 0 with a warning; "
            "fail: exit code 4)",
            "default": "pass",
        },
    }
    open_ = {name: prompt for name, prompt in questions.items() if options[name] is None}
    nobody = UsageError("there is nobody to ask; pass --yes, or --documents, --system, --ci and --on-inconclusive")
    if open_ and sys.stdin is None:
        raise nobody
    try:
        return {name: click.prompt(**prompt, value_proc=_check_reply(name), err=True) for name, prompt in open_.items()}
    except click.Abort:
        if sys.stdin.isatty():
            raise  # somebody changed their mind
        tell("")  # ends the line of the question
        raise nobody from None


def _check_reply(question: str) -> Callable[[str], str]:
    """Return a function that cleans an answer, or raises click.UsageError, so that the question is repeated."""
    from karat.core import UsageError
    from karat.start import Start

    def clean(reply: str) -> str:
        reply = reply.strip()
        if question == "documents" and reply:
            path = Path(os.path.expanduser(reply))  # noqa: PTH111 (pathlib raises for an unknown user)
            if not path.exists():
                raise click.UsageError(f"{path}: no such file or folder")
            return str(path)
        if question != "documents":
            try:
                choice: Any = {question: reply}
                Start(folder=Path(), **choice)
            except UsageError as error:
                raise click.UsageError(str(error)) from None
        return reply

    return clean


_STATES = {
    "written": "written",
    "extended": "extended",
    "same": "exists already",
    "kept": "exists and differs; left as it is",
}


def _text(start: Start, results: list[FileResult]) -> str:
    from karat.start import name_next_steps

    lines = []
    for result in results:
        lines.append(f"{bold(printable(_shorten(result.path), 80))}: {_STATES[result.state]}")
        lines += [f"  {escaped(line)}" for line in (*result.diff.split("\n"), *result.notes) if line]
    steps = name_next_steps(start, results)
    return "\n".join([*lines, "", *(f"next: {escaped(step)}" for step in steps)])


def _shorten(path: Path) -> str:
    """Return a path relative to the current folder, if it is in it."""
    here = Path.cwd()
    return str(path.resolve().relative_to(here)) if path.resolve().is_relative_to(here) else str(path)
