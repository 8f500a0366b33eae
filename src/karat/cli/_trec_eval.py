"""``karat trec-eval``: a drop-in for NIST's trec_eval."""

from __future__ import annotations

from typing import Any

import click

from karat.cli._process import tune
from karat.cli._table import emit


@click.command("trec-eval", short_help="Print what NIST's trec_eval prints, byte for byte.")
@click.argument("qrels")
@click.argument("run")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="MEASURE[.PARAMS]",
    help="A measure, or official (the default), set or all_trec; repeat for more.",
)
@click.option("-q", "--query_eval_wanted", "per_query", is_flag=True, help="Print every query's values too.")
@click.option(
    "-c",
    "--complete_rel_info_wanted",
    "complete",
    is_flag=True,
    help="Average over all judged queries; those that RUN does not have count as 0.",
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
    help="Look at the top N documents of each query only.",
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
@click.option("-R", "--Rel_info_format", type=click.Choice(["qrels"]), expose_value=False, help="Format of QRELS.")
@click.option("-T", "--Results_format", type=click.Choice(["trec_results"]), expose_value=False, help="Format of RUN.")
def command(qrels: str, run: str, **options: Any) -> None:
    """Evaluate RUN against QRELS as trec_eval 9.0.8 does, and print the same bytes.

    Measures, parameters and options are written as for trec_eval. Files are TREC's, gzipped or not; - is standard
    input. What trec_eval would misread, such as a score that is no number, is an error here.

    Example: karat trec-eval -q -m map -m P.5,10 -m ndcg_cut.10 qrels.txt run.txt
    """
    tune([run])
    from karat.core import UsageError
    from karat.measures import trec_eval

    if qrels == run == "-":
        raise UsageError("standard input (-) can be read only once; write it to a file first")
    # As bytes: the output is the same whatever the encoding and the line ends of the terminal.
    emit(trec_eval(qrels, run, **options).encode(), nl=False)
