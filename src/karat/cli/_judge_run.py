"""``karat judge run``: let judges judge the answers of a run."""

from __future__ import annotations

from typing import Any

import click

from karat.cli._asking import importable
from karat.cli._choosing import choose_run
from karat.cli._progress import Progress, say
from karat.cli._table import emit


@click.command("run", short_help="Judge every answer of a run.")
@click.argument("run", default=".", metavar="[RUN|DIR]")
@click.option(
    "-j", "--judge", "names", multiple=True, metavar="JUDGE", help="A judge such as faithfulness; can be repeated."
)
@click.option(
    "--golden", "--project", "folder", metavar="DIR", help="The project of the run, if the run is not in its folder."
)
@click.option(
    "--votes", type=click.IntRange(1), metavar="N", help="How often to ask each judge.  [default: the project's]"
)
@click.option("--dry-run", is_flag=True, help="Print what it would cost, and ask nothing.")
@click.option("--no-cache", is_flag=True, help="Ask everything again, and keep no reply.")
@click.option("--show", metavar="JUDGE", hidden=True, help="The same as karat judge show JUDGE.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(run: str, as_json: bool, **options: Any) -> None:
    """Judge every answer of RUN, a file that karat eval wrote, or of the newest run of the project DIR.

    The judges' scores are written beside the run, and are then measures like any other: Faithfulness, ContextRecall and
    so on, in karat eval --run, gate, compare and report. The model is set in [judges] of karat.toml; without one, the
    judge lexical_support compares words. The exit code is 3 if a judge failed on every answer that it should judge.

    Example: karat judge examples/hotel --judge faithfulness --dry-run
    """
    from karat.cli._judge_text import judge_text
    from karat.projects import open_project
    from karat.projects.judging import choose_judges, judge_run, list_mute, recording_judging
    from karat.schema import to_json

    if options["show"]:
        from karat.cli._judge_show import command as show

        click.get_current_context().invoke(show, judge=options["show"], run=run)
        return
    chosen = choose_run(run, options["folder"])
    project = open_project(chosen.project)
    importable(project.config.folder)
    judges = choose_judges(project, options["names"])
    with recording_judging(project, "judge run", say) as recording:
        with Progress() as progress:
            report = judge_run(
                project,
                chosen.path,
                judges,
                votes=options["votes"],
                dry_run=options["dry_run"],
                cache=not options["no_cache"],
                say=progress.say,
                progress=progress,
                recording=recording,
            )
        emit(to_json(report) if as_json else judge_text(report))
    if list_mute(report):
        click.get_current_context().exit(3)
