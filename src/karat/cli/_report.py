"""``karat report``: a gated run for people and for CI."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from karat.cli._asking import admit_system
from karat.cli._choice import Choice
from karat.cli._choosing import choose_run
from karat.cli._options import gate_options, run_project_option
from karat.cli._output import STDOUT, make_parents
from karat.cli._process import keep, tune, tune_imports
from karat.cli._progress import say
from karat.cli._scoring import scoring_options
from karat.cli._table import emit, emit_data
from karat.config import SCORING
from karat.files import shorten_path

if TYPE_CHECKING:
    from karat.schema import DecisionDocument

_INPUTS = (
    "karat.toml", "pyproject.toml", "baseline.json",
    "golden.toml", "queries.jsonl", "documents.jsonl", "judgments.jsonl",
)  # fmt: skip
FORMATS = ("md", "html", "json", "junit", "github", "csv", "latex", "blocks")


def _schema(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from karat.reports import decision_schema

        emit(decision_schema(), nl=False)
        context.exit()


@click.command("report")
@click.argument("path", metavar="RUN|DECISION")
@click.option(
    "--format", type=Choice(FORMATS, {"markdown": "md"}), help="What to write; markdown is md too.  [default: md]"
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Where to write it.  [default: standard output; for html reports/rag-eval-RUN.html in the project]",
)
@click.option("--html", "html", metavar="FILE", help="The same as --format html -o FILE.")
@click.option("--comment", is_flag=True, help="Markdown for a pull request: short, and with a mark to find it again.")
@run_project_option
@gate_options
@scoring_options
@click.option("--date", metavar="YYYY-MM-DD", help="The date of the report.  [default: today]")
@click.option("--schema", is_flag=True, is_eager=True, expose_value=False, callback=_schema,
              help="Print the JSON Schema of a decision and exit.")  # fmt: skip
def command(path: str, **options: Any) -> None:
    """Report on RUN, a file that karat eval wrote: the gate's decision, and everything that it is based on.

    Or report on DECISION, which karat check wrote as reports/rag-eval-RUN.json, or karat gate RUN --json printed (-
    reads it from standard input). It holds everything, and nothing is decided again.

    A report is not a gate: the exit code is 0 whatever the verdict. With --format github, karat prints the annotations
    and adds the summary to the file that GITHUB_STEP_SUMMARY names.

    Example: karat report examples/hotel/runs/pipeline-2026-11-16-0a1b2c3d.jsonl --format html
    """
    tune_imports()
    import msgspec

    from karat.core import UsageError
    from karat.projects import name_reports
    from karat.projects.saved_runs import find_run
    from karat.reports import iterate_json, read_document

    _take_html(options)
    chosen, day = _format(options), _day(options["date"])
    if options["output"] == "":
        raise UsageError("--output is empty; name a file, or - for standard output")
    path = str(find_run(path, golden=options["folder"], say=say))
    if chosen == "blocks":
        _write_blocks(path, options)
        return
    document = None if Path(path).is_dir() else read_document(path)
    path_is_run = document is None
    if document is None:
        document, folder = _decide(path, day, options)
        keep(document)
    else:
        _refuse_gate(options)
        document = msgspec.structs.replace(document, created=day or document.created)
        folder = Path() if path == "-" else Path(path).parent
    if chosen == "github" and (summary := os.environ.get("GITHUB_STEP_SUMMARY")):
        _spare("GITHUB_STEP_SUMMARY", summary)
    text = iterate_json(document) if chosen == "json" else _renderer(chosen, comment=options["comment"])(document)
    target = options["output"] or "-"
    if options["output"] is None and chosen == "html":
        own = "" if path == "-" or path_is_run else Path(path).name
        target = str(next(iter(name_reports(folder, document, {"html": str(text)}, decision=own))))
    if target in STDOUT:
        _print(text, chosen)
    else:
        _spare("--output", target)
        write_report(target, text)
    if chosen == "github":
        _summarise(document)


def _print(text: str | Iterable[str], format: str) -> None:
    if not isinstance(text, str):
        for piece in text:
            emit(piece, nl=False)
    elif format == "github":
        emit(text, nl=False, commands=True)
    else:
        emit_data(text)


def _decide(run: str, day: str | None, options: Mapping[str, Any]) -> tuple[DecisionDocument, Path]:
    """Decide on a run; return the document, and the folder of its reports."""
    from karat.projects import decide_run, report_document

    chosen = choose_run(run, options["folder"])
    tune([chosen.path])
    result = decide_run(
        chosen,
        policy=options["policy"],
        baseline=options["baseline"],
        scoring={name: options[name] for name in SCORING},
        admit=admit_system,
        say=say,
    )
    folder = shorten_path(result.project.config.folder / "reports")
    return report_document(result, created=day, file=chosen.path.name), folder


def _write_blocks(run: str, options: Mapping[str, Any]) -> None:
    """Write blocks' summary of a run, which is no decision: no policy and no baseline have a part in it."""
    from karat.core import UsageError
    from karat.projects import blocks_summary, open_project
    from karat.runs import read_any_run
    from karat.schema import to_json

    for name in ("baseline", "policy", "date"):
        if options[name] is not None:
            raise UsageError(
                f"--{name} has no part in blocks' summary, which holds a run against nothing; leave it out"
            )
    chosen = choose_run(run, options["folder"])
    project = open_project(chosen.project, **{name: options[name] for name in SCORING})
    text = to_json(blocks_summary(project, read_any_run(chosen.path, project.golden, say=say)))
    if options["output"] in (None, *STDOUT):
        emit(text)
    else:
        _spare("--output", options["output"])
        write_report(options["output"], f"{text}\n")


def _refuse_gate(options: Mapping[str, Any]) -> None:
    """Refuse options that would change a decision that is already made."""
    from karat.core import UsageError

    for name, value in (
        ("golden", options["folder"]),
        ("baseline", options["baseline"]),
        ("policy", options["policy"]),
        *((name.replace("_", "-"), options[name]) for name in SCORING),
    ):
        if value is not None:
            raise UsageError(f"--{name} is for a run, and this is a decision; name the run to decide again")


def _spare(option: str, target: str) -> None:
    """Refuse to overwrite what the report is made from, or a file whose name no report should have."""
    from karat.core import UsageError
    from karat.files import refuse_input

    if Path(target).name.casefold() in _INPUTS:
        raise UsageError(f"{option} {target} is a name of what a report is made from; choose another name")
    refuse_input(target, option)


def _take_html(options: dict[str, Any]) -> None:
    """Turn ``--html FILE`` into the format and the file that it stands for."""
    from karat.core import UsageError

    file = options.pop("html")
    if file is None:
        return
    if options["output"] is not None or options["format"] not in (None, "html") or options["as_json"]:
        raise UsageError("--html FILE is --format html -o FILE; leave out the other options of format and output")
    options["format"], options["output"] = "html", file


def _format(options: Mapping[str, Any]) -> str:
    from karat.core import UsageError

    if options["as_json"] and options["format"] not in (None, "json"):
        raise UsageError(f"--json and --format {options['format']} ask for two things")
    chosen = "json" if options["as_json"] else str(options["format"] or "md")
    if options["comment"] and chosen != "md":
        raise UsageError(f"--comment is for Markdown, and the format is {chosen}")
    return chosen


def _day(text: str | None) -> str | None:
    """Return a day in the form 2026-11-16, or raise UsageError: it becomes part of a file's name."""
    from datetime import date

    from karat.core import UsageError, shorten

    if text is None:
        return None
    try:
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            return date.fromisoformat(text).isoformat()
    except ValueError:
        pass  # such as 30 February, which is reported below
    raise UsageError(f"--date {shorten(text)} is not a day; write it as 2026-11-16")


def _renderer(format: str, *, comment: bool) -> Callable[[DecisionDocument], str]:
    from karat import reports

    if format == "md" and comment:
        return reports.render_comment
    renderers: dict[str, Callable[[DecisionDocument], str]] = {
        "csv": reports.render_csv,
        "github": reports.render_github,
        "html": reports.render_html,
        "junit": reports.render_junit,
        "latex": reports.render_latex,
        "md": reports.render_markdown,
    }
    return renderers[format]


def write_report(path: str, text: str | Iterable[str]) -> None:
    """Write a report, which may be in pieces, and print where."""
    from karat.files import write_file

    make_parents(path)
    write_file(path, text)
    say(f"report saved as {shorten_path(Path(path))}")


def _summarise(document: DecisionDocument) -> None:
    """Add the summary to the file that GitHub reads after the step; outside of GitHub do nothing."""
    from karat.core import InputError
    from karat.files import append_file
    from karat.reports import render_summary

    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    try:
        append_file(Path(path), render_summary(document).encode())
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", source=path) from None
