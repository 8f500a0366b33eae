"""``karat trec-eval``: a drop-in for NIST's trec_eval."""

from __future__ import annotations

from typing import Any

import click

from karat.cli._process import tune
from karat.cli._table import emit_data, tell

_VERSION = "9.0.8"
_LEFT_OUT = {
    "format": "-R {value}: karat trec-eval reads judgments in the qrels format only",
    "zscores": "-Z: karat trec-eval prints no Z scores; compute them from its output with -q",
    "debug": "-D: karat trec-eval prints no debugging output",
    "old_format": "-o: trec_eval 9 has dropped the old output format, and so has karat trec-eval",
}
_OTHER_FORMATS = ("prefs", "qrels_prefs", "qrels_jg")


class _Command(click.Command):
    """Takes long options by any unambiguous beginning, as C's getopt_long does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        names = [name for parameter in self.get_params(ctx) for name in parameter.opts if name.startswith("--")]
        end = args.index("--") if "--" in args else len(args)
        return super().parse_args(ctx, [*(_complete(argument, names, ctx) for argument in args[:end]), *args[end:]])


def _complete(argument: str, names: list[str], ctx: click.Context) -> str:
    """Return an argument with the full name of the long option that it begins."""
    beginning, equals, value = argument.partition("=")
    if not beginning.startswith("--") or beginning in names:
        return argument
    matches = [name for name in names if name.startswith(beginning)]
    if len(matches) > 1:
        raise click.NoSuchOption(beginning, possibilities=matches, ctx=ctx)
    return f"{matches[0]}{equals}{value}" if matches else argument


def _show_version(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:  # noqa: ARG001 (click's signature)
    if value and not ctx.resilient_parsing:
        tell(f"trec_eval version {_VERSION}")  # where trec_eval prints it
        ctx.exit()


def _check_format(ctx: click.Context, parameter: click.Parameter, value: str) -> None:  # noqa: ARG001 (click's signature)
    if value in _OTHER_FORMATS:
        raise click.UsageError(_LEFT_OUT["format"].format(value=value), ctx)
    if value != "qrels":
        raise click.UsageError(f"-R {value}: unknown format; karat trec-eval reads qrels", ctx)


def _refuse(ctx: click.Context, parameter: click.Parameter, value: object) -> None:
    if value:
        raise click.UsageError(_LEFT_OUT[str(parameter.name)], ctx)


@click.command("trec-eval", cls=_Command)
@click.argument("qrels")
@click.argument("run")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="MEASURE[.PARAMS]",
    help="A measure, or official (the default), set or all_trec; can be repeated.",
)
@click.option("-q", "--query_eval_wanted", "per_query", is_flag=True, help="Also print every query's values.")
@click.option(
    "-c",
    "--complete_rel_info_wanted",
    "complete",
    is_flag=True,
    help="Average over all judged queries; those missing from RUN count as 0.",
)
@click.option("-n", "--nosummary", "summary", flag_value=False, default=True, help="Print no averages.")
@click.option(
    "-l",
    "--level_for_rel",
    "level",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    metavar="N",
    help="Lowest grade that counts as relevant.",
)
@click.option(
    "-M",
    "--Max_retrieved_per_topic",
    "max_docs",
    type=click.IntRange(min=0),
    metavar="N",
    help="Use only the top N documents of each query.",
)
@click.option("-J", "--Judged_docs_only", "judged_only", is_flag=True, help="Remove unjudged documents first.")
@click.option(
    "-N",
    "--Number_docs_in_coll",
    "docs",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Documents in the collection, for utility.",
)
@click.option(
    "-R",
    "--Rel_info_format",
    "format",
    default="qrels",
    metavar="qrels",
    callback=_check_format,
    expose_value=False,
    help="Format of QRELS.",
)
@click.option("-T", "--Results_format", type=click.Choice(["trec_results"]), expose_value=False, help="Format of RUN.")
@click.option(
    "-v",
    "--version",
    is_flag=True,
    is_eager=True,
    callback=_show_version,
    expose_value=False,
    help="Print the version of trec_eval that the output follows.",
)
@click.option("-Z", "--Zscore", "zscores", callback=_refuse, expose_value=False, hidden=True)
@click.option("-D", "--Debug_level", "debug", callback=_refuse, expose_value=False, hidden=True)
@click.option("-o", "old_format", is_flag=True, callback=_refuse, expose_value=False, hidden=True)
@click.option("--Output_old_results_format", "old_format", callback=_refuse, expose_value=False, hidden=True)
def command(qrels: str, run: str, **options: Any) -> None:
    """Evaluate RUN against QRELS as trec_eval 9.0.8 does, and print the same bytes.

    Measures, parameters and options are written as for trec_eval. Files are TREC's, gzipped or not; - is standard
    input. What trec_eval would misread, such as a score that is not a number, is an error here.

    Example: karat trec-eval -q -m map -m P.5,10 -m ndcg_cut.10 qrels.txt run.txt
    """
    tune([run])
    from karat.core import UsageError
    from karat.measures import trec_eval

    if qrels == run == "-":
        raise UsageError("standard input (-) can be read only once; write it to a file first")
    emit_data(trec_eval(qrels, run, **options))
